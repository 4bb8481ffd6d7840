"""Examples of all refusals.

The refusals are taken from the protocol's table, and from flows and models that process an invalid request or a bank
failure. Each case describes when the refusal occurs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from chalicelib.foundation.call_limits import LimitReached
from chalicelib.foundation.fields.field_types import Message
from chalicelib.foundation.fields.problems import InvalidMessage
from chalicelib.foundation.http.outbound import GivenUp
from chalicelib.foundation.http.web import BODY_BYTES, FORM, JSON, Incoming, UnreadableBody
from chalicelib.openbanking.api.answers import as_refusal
from chalicelib.openbanking.bank_client.bank_circuits import NO_SLOT
from chalicelib.openbanking.bank_client.bank_failures import BankFailed, CircuitOpen
from chalicelib.openbanking.flows.payments.execution import refuse_payment
from chalicelib.openbanking.flows.reads.relay import refuse_access
from chalicelib.openbanking.flows.tpp_authentication import refuse_call
from chalicelib.openbanking.protocol import bank_calls, refusals, tpp_calls, v1_account_messages
from chalicelib.openbanking.protocol.bank_calls import DailyPerformance, SaveConsent
from chalicelib.openbanking.protocol.errors import Detail, Fault, OauthError, Refusal, refuse_fields, refuse_parameters
from chalicelib.openbanking.protocol.refusals import RefusalRow
from chalicelib.openbanking.protocol.tpp_calls import AuthorizeRequest, BankPath, BanksQuery, ScopeQuery, TokenRequest
from chalicelib.openbanking.protocol.v2_account_messages import TransactionsRequest
from chalicelib.openbanking.unified.transaction_cursors import LONGEST_PAGE_KEY, MOST_EMPTY_PAGES
from chalicelib.openbanking.unified.transaction_pages import PAGE_FAULTS
from chalicelib.openbanking.unified.versions import UNIFIED_VERSIONS
from infra.render.openapi import row_docs


@dataclass(frozen=True, slots=True)
class Case:
    """A refusal with its name.

    Attributes:
        text: a description of when the refusal occurs; empty if the docstring below the row contains it.
        row: the name of the row.
    """

    name: str
    text: str
    refusal: Refusal
    row: str = ""

    def when(self) -> str:
        """Return a description of when the refusal occurs. Raises: LookupError, if the row has no docstring."""
        return self.text or row_docs.text(self.row, refusals.__name__).removesuffix(".")


def _body(model: type[Message], members: Mapping[str, object]) -> Refusal:
    return refuse_fields(_misfit(model, members), {**tpp_calls.FIELD_FAULTS, **bank_calls.FIELD_FAULTS})


def _query(model: type[Message], members: Mapping[str, object]) -> Refusal:
    return refuse_parameters(_misfit(model, members))


def _misfit(model: type[Message], members: Mapping[str, object]) -> InvalidMessage:
    try:
        model.read(dict(members))
    except InvalidMessage as error:
        return error
    raise AssertionError(f"{members} fit {model.__name__}")


def _unreadable(
    read: Callable[[Incoming], object], body: bytes = b"", kind: str = JSON, query: tuple[tuple[str, str], ...] = ()
) -> Refusal:
    try:
        read(Incoming("POST", "/tpp/token", {"content-type": kind}, query, body, {}, {}))
    except UnreadableBody as error:
        return as_refusal(error)
    raise AssertionError("the request can be read")


def _field(text: str, fault: Fault) -> Refusal:
    """Return a refusal for the two protocol versions, which use different names for the member."""
    return Refusal(fault, text, [Detail(fault, text)])


def _with_oauth_error(refusal: Refusal, error: OauthError) -> Refusal:
    refusal.oauth_error = error
    return refusal


def _case(name: str, row: RefusalRow, **values: Any) -> Case:
    """Return a row's refusal, with ``values`` as an example. The docstring below the row describes when it occurs."""
    return Case(name, "", row(**values), row_docs.name_of(row, refusals.__name__))


def _by_name(*cases: Case) -> Mapping[str, Case]:
    return {case.name: case for case in cases}


_AUTHORIZE = {"bic": "DEMODEF1", "scopes": ["accounts"]}
_REQUEST_URL = "https://bank.example/authorize"
_TRANSACTIONS = {"account_id": "1", "booking_status": "both"}
_NO_BBAN = next(
    row for row in UNIFIED_VERSIONS[1].payments["single"].refused if row.unified == "creditor.bban"
).problem()
_NOT_ASKED = BankFailed.of_open_circuit(CircuitOpen(17))

CASES = _by_name(
    # everywhere
    _case("failed", refusals.SERVICE_FAILED),
    _case("storage", refusals.STORAGE_FAILED),
    _case("request_id", refusals.REQUEST_ID_NOT_UUID),
    # TPPs
    _case("client_missing", refusals.CLIENT_MISSING),
    _case("client_unknown", refusals.CLIENT_UNKNOWN),
    _case("secret_wrong", refusals.SECRET_WRONG),
    _case("client_proves_nothing", refusals.CLIENT_PROVES_NOTHING),
    _case("certificate_wrong", refusals.TPP_CERTIFICATE_WRONG),
    _case("assertion_wrong", refusals.ASSERTION_WRONG),
    Case(
        "call_limit",
        "The client has made more calls than its limit allows: repeat the request after the seconds in Retry-After",
        refuse_call(LimitReached(3_000, retry_after=1)),
    ),
    _case("bearer_missing", refusals.BEARER_MISSING),
    _case("bearer_spent", refusals.BEARER_SPENT),
    _case("bearer_invalid", refusals.BEARER_INVALID),
    _case("proof_wrong", refusals.PROOF_WRONG),
    _case("nonce_needed", refusals.NONCE_NEEDED),
    _case("proof_wrong_for_token", refusals.PROOF_WRONG_FOR_TOKEN),
    _case("nonce_needed_for_token", refusals.NONCE_NEEDED_FOR_TOKEN),
    Case("parameter_wrong", "A query parameter is missing or wrong", _query(ScopeQuery, {"bic": "bank"})),
    Case(
        "parameter_unknown",
        "The call does not have this query parameter",
        _query(ScopeQuery, {"bic": "DEMODEF1", "colour": "red"}),
    ),
    Case(
        "filter_unknown",
        "A filter is not a country code, or not a scope or scheme of any version",
        _query(BanksQuery, {"scheme": "GIRO"}),
    ),
    Case("bic_wrong", "The BIC in the path is not a BIC", _query(BankPath, {"bic": "bank"})),
    _case("cursor_invalid", refusals.CURSOR_INVALID),
    _case("events_cursor_invalid", refusals.EVENTS_CURSOR_INVALID),
    _case("parameters_none", refusals.PARAMETERS_NOT_ALLOWED),
    Case(
        "parameter_repeated",
        "A query parameter was sent twice",
        _unreadable(Incoming.parameters, query=(("bic", "DEMODEF1"), ("bic", "DEMOGB21"))),
    ),
    Case(
        "parameter_date",
        "A date in the query is invalid",
        _query(TransactionsRequest, {**_TRANSACTIONS, "date_from": "2026-02-30"}),
    ),
    Case("not_json", "The body is not JSON", _unreadable(Incoming.json)),
    Case("too_large", "The body is too large", _unreadable(Incoming.json, bytes(BODY_BYTES + 1))),
    Case("not_a_form", "The body is not a form", _unreadable(Incoming.form, b"\xff", FORM)),
    Case(
        "member_wrong", "A member of the body is missing or wrong", _body(AuthorizeRequest, {**_AUTHORIZE, "state": 17})
    ),
    Case(
        "member_unknown", "The call does not have this member", _body(AuthorizeRequest, {**_AUTHORIZE, "colour": "red"})
    ),
    Case("content_type", "Content-Type is not supported", _unreadable(Incoming.json, kind="text/plain")),
    Case("content_type_form", "Content-Type is not that of a form", _unreadable(Incoming.form)),
    _case("psu_headers", refusals.PSU_HEADERS_WRONG, problems="PSU-IP-Address must be an IP address"),
    Case(
        "access_exceeded",
        "The bank's limit of reads without the PSU is reached for today",
        refuse_access(4, seconds=3600),
    ),
    _case("bank_unknown", refusals.BANK_UNKNOWN),
    _case("bank_gone", refusals.CONSENT_BANK_GONE),
    _case("version", refusals.CALL_NOT_IN_VERSION, version=1),
    _case("scope", refusals.SCOPE_NOT_GRANTED, scope="accounts.balances"),
    _case("account", refusals.ACCOUNT_NOT_APPROVED, member="iban"),
    _case("unified_scope", refusals.UNIFIED_SCOPE_NOT_GRANTED, scope="balances:read", native="accounts.balances"),
    _case("account_id_too_long", refusals.ACCOUNT_ID_TOO_LONG, longest=34),
    _case("from_too_early", refusals.FROM_TOO_EARLY, earliest="2026-08-23"),
    _case("transactions_cursor", refusals.TRANSACTIONS_CURSOR_INVALID),
    _case("pages_too_many", refusals.PAGES_TOO_MANY, last=v1_account_messages.LAST_PAGE),
    Case(
        "page_repeated",
        "The bank repeats its page or page_key (`page_repeated`)",
        BankFailed(PAGE_FAULTS["page_repeated"], reason_code="page_repeated"),
    ),
    Case(
        "pages_empty",
        f"The bank sent {MOST_EMPTY_PAGES} empty pages in a row (`pages_empty`)",
        BankFailed(PAGE_FAULTS["pages_empty"], reason_code="pages_empty"),
    ),
    Case(
        "page_key_too_long",
        f"The bank's page_key has more than {LONGEST_PAGE_KEY} bytes (`page_key_too_long`)",
        BankFailed(PAGE_FAULTS["page_key_too_long"], reason_code="page_key_too_long"),
    ),
    Case(
        "bank_failed",
        "The bank refused the request, failed, or did not respond in time",
        BankFailed("4305: Parameter iban not correct", "refused"),
    ),
    Case(
        "bank_not_asked",
        "The bank failed to respond several times in a row; no requests are sent to it for some seconds",
        _NOT_ASKED,
    ),
    Case(
        "bank_slow",
        "The bank has not responded within 3 s, and too many other calls wait for it",
        BankFailed.of_given_up_call(GivenUp(NO_SLOT)),
    ),
    Case(
        "bank_token",
        "The bank no longer accepts the PSU's token",
        BankFailed(
            "AUTHENTICATION_REQUIRED: X-Auth-Token is not the token of a consent that is in force", authorize_again=True
        ),
    ),
    Case(
        "unknown_to_bank",
        "The bank does not know the account or payment",
        BankFailed("4001: there is no such payment", "refused", unknown_resource=True),
    ),
    # authorization
    Case("scopes_missing", "scopes is missing", _body(AuthorizeRequest, {"bic": "DEMODEF1"})),
    _case("scopes_wrong", refusals.SCOPES_EMPTY),
    _case("scopes_mixed", refusals.SCOPES_MIXED),
    _case("scopes_of_no_version", refusals.SCOPES_OF_NO_VERSION),
    _case("response_type", refusals.RESPONSE_TYPE_WRONG, oauth_error="unsupported_response_type"),
    _case(
        "parameter_not_supported",
        refusals.PARAMETER_NOT_SUPPORTED,
        parameter="request_uri",
        oauth_error="request_uri_not_supported",
    ),
    _case("not_pushed", refusals.REQUEST_NOT_PUSHED),
    _case("jkt_other", refusals.DPOP_JKT_OTHER),
    _case("redirect_uri_missing", refusals.REDIRECT_URI_MISSING),
    _case("redirect_uri_foreign", refusals.REDIRECT_URI_FOREIGN),
    _case("challenge_missing", refusals.CODE_CHALLENGE_MISSING),
    _case("state_used", refusals.STATE_USED),
    _case("grant_invalid", refusals.CODE_EXPIRED),
    Case(
        "grant_type",
        "grant_type is not supported",
        _with_oauth_error(_body(TokenRequest, {"grant_type": "password"}), "unsupported_grant_type"),
    ),
    # payments
    _case("scheme", refusals.SCHEME_NOT_OFFERED, member="payment_scheme", scheme="CHAPS", possible="SCT, SCTI, SWIFT"),
    _case("unified_scheme", refusals.SCHEME_NOT_OFFERED, member="scheme", scheme="CHAPS", possible="SCT, SCTI, SWIFT"),
    Case(
        "not_at_this_bank",
        "Banks of this version cannot carry a member (`not_at_this_bank`)",
        refuse_fields(InvalidMessage([_NO_BBAN]), reason_code="not_at_this_bank"),
    ),
    _case("callback_foreign", refusals.CALLBACK_URL_FOREIGN),
    _case("key_wrong", refusals.IDEMPOTENCY_KEY_WRONG, most=255),
    _case("key_used", refusals.IDEMPOTENCY_KEY_USED),
    _case("order_id_used", refusals.ORDER_ID_USED),
    _case("still_running", refusals.STILL_RUNNING),
    _case("never_ended", refusals.NEVER_ENDED),
    _case("not_stored", refusals.PAYMENT_NOT_STORED),
    Case(
        "token_refused",
        "The bank no longer accepts the PSU's token",
        refuse_payment(BankFailed("4202: Access token not found", "refused", authorize_again=True)),
    ),
    Case("not_sent", "The payment was not sent", refuse_payment(BankFailed("no connection could be made", "never"))),
    Case(
        "not_sent_for_now",
        "The bank failed to respond several times in a row; no requests are sent to it for some seconds, and the "
        "payment was not sent",
        refuse_payment(_NOT_ASKED),
    ),
    Case(
        "refused_by_bank",
        "The bank refused the payment",
        refuse_payment(BankFailed("5101: insufficient funds", "refused")),
    ),
    Case(
        "outcome_unknown",
        "It is unknown whether the bank received the payment",
        refuse_payment(BankFailed("no answer came in time")),
    ),
    Case(
        "bad_answer",
        "The bank's response cannot be used, and it is unknown whether the bank has the payment",
        refuse_payment(BankFailed("the bank's response has no usable payment_id", status=200)),
    ),
    _case("payment_unknown", refusals.PAYMENT_UNKNOWN),
    # deferred calls
    _case("acceptance_unknown", refusals.ACCEPTANCE_UNKNOWN),
    _case("bearer_of_request", refusals.REQUEST_BEARER_MISSING),
    _case("request_unknown", refusals.REQUEST_UNKNOWN),
    # banks
    _case("bank_key_missing", refusals.BANK_KEY_MISSING),
    _case("bank_key_wrong", refusals.BANK_KEY_WRONG),
    _case("other_version", refusals.OTHER_VERSION, version="the other version"),
    _case("certificate", refusals.CERTIFICATE_WRONG),
    _case("signature", refusals.SIGNATURE_WRONG),
    _case("request_id_used", refusals.REQUEST_ID_USED),
    Case("url_missing", "The request URL is missing", _field("the request URL is required", Fault.URL_MISSING)),
    _case("url_not_valid", refusals.REQUEST_URL_INVALID),
    _case("tpp_gone", refusals.TPP_GONE),
    Case("approved_scopes_missing", "scopes is missing", _body(SaveConsent, {"request_url": _REQUEST_URL})),
    _case("approved_scopes_wrong", refusals.APPROVED_SCOPES_WRONG),
    Case(
        "iban",
        "An IBAN fails its check",
        _body(
            SaveConsent, {"scopes": ["account.list"], "request_url": _REQUEST_URL, "ibans": ["GB33BUKB2020155555555"]}
        ),
    ),
    _case("scopes_others", refusals.APPROVED_SCOPES_OTHER),
    _case("accounts_missing", refusals.ACCOUNTS_MISSING),
    _case("consent_given", refusals.CONSENT_SAVED_BEFORE),
    _case("token_malformed", refusals.TOKEN_MALFORMED),
    _case("token_unknown", refusals.TOKEN_UNKNOWN),
    _case("payment_id", refusals.PAYMENT_ID_UNKNOWN),
    Case(
        "payment_status",
        "The status does not exist in this version",
        _field("the payment status must be one of the table's", Fault.PAYMENT_STATUS),
    ),
    Case("day", "The date is invalid or out of range", _body(DailyPerformance, {"date": "2026-02-30"})),
)

BODY = ("not_json", "too_large", "member_wrong", "member_unknown", "content_type")
QUERY = ("parameter_wrong", "parameter_unknown", "parameter_repeated")
NAMED = ("client_missing", "client_unknown", "secret_wrong", "certificate_wrong", "assertion_wrong", "request_id")
LIMIT = ("call_limit",)
CLIENT = (*NAMED, *LIMIT)
PROOF = ("proof_wrong", "nonce_needed")
PROOF_FOR_TOKEN = ("proof_wrong_for_token", "nonce_needed_for_token")
CONSENT = (*NAMED, "bearer_missing", "bearer_invalid", *PROOF, *LIMIT, "bearer_spent")
REQUEST = ("redirect_uri_foreign", "scopes_wrong", "scopes_mixed", "challenge_missing")
TOKEN_CLIENT = (*NAMED, *BODY, "not_a_form")
