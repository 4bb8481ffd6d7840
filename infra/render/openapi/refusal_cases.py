"""An example of every refusal.

The refusals come from the protocol's table, and from flows and models that process an invalid request or a bank
failure. Each case states when its refusal occurs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from chalicelib.foundation.call_limits import LimitReached
from chalicelib.foundation.fields.message import Message
from chalicelib.foundation.fields.problems import InvalidMessage
from chalicelib.foundation.http.outbound import GivenUp
from chalicelib.foundation.http.web import BODY_BYTES, FORM, JSON, Incoming, UnreadableBody
from chalicelib.openbanking.api.answers import as_refusal
from chalicelib.openbanking.bank_client.bank_circuits import NO_SLOT
from chalicelib.openbanking.bank_client.bank_failures import BankFailed, CircuitOpen
from chalicelib.openbanking.flows.payments.execution import refuse_payment
from chalicelib.openbanking.flows.reads.relay import refuse_access
from chalicelib.openbanking.flows.tpp_authentication import refuse_call
from chalicelib.openbanking.protocol import bank_calls, refusals, tpp_calls
from chalicelib.openbanking.protocol.bank_calls import DailyPerformance, SaveConsent
from chalicelib.openbanking.protocol.errors import Detail, Fault, OauthError, Refusal, refuse_fields, refuse_parameters
from chalicelib.openbanking.protocol.tpp_calls import AuthorizeRequest, BankPath, BanksQuery, ScopeQuery, TokenRequest
from chalicelib.openbanking.protocol.v2_account_messages import TransactionsRequest


@dataclass(frozen=True, slots=True)
class Case:
    """A refusal with its name and a description of when it occurs."""

    name: str
    when: str
    refusal: Refusal


def _body(model: type[Message], members: Mapping[str, object]) -> Refusal:
    """The refusal of a body that does not match its model."""
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
    """The refusal of an unreadable request."""
    try:
        read(Incoming("POST", "/tpp/token", {"content-type": kind}, query, body, {}, {}))
    except UnreadableBody as error:
        return as_refusal(error)
    raise AssertionError("the request can be read")


def _field(text: str, fault: Fault) -> Refusal:
    """A refusal for both versions, which spell the member differently."""
    return Refusal(fault, text, [Detail(fault, text)])


def _with_oauth_error(refusal: Refusal, error: OauthError) -> Refusal:
    refusal.oauth_error = error
    return refusal


def _by_name(*cases: Case) -> Mapping[str, Case]:
    return {case.name: case for case in cases}


_AUTHORIZE = {"bic": "DEMODEF1", "scopes": ["accounts"]}
_REQUEST_URL = "https://bank.example/authorize"
_TRANSACTIONS = {"account_id": "1", "booking_status": "both"}
_NOT_ASKED = BankFailed.of_open_circuit(CircuitOpen(17))

CASES = _by_name(
    # everywhere
    Case("failed", "Internal failure of the service", refusals.SERVICE_FAILED()),
    Case(
        "storage",
        "The service's storage did not respond; the same request may succeed a moment later",
        refusals.STORAGE_FAILED(),
    ),
    Case("request_id", "X-Request-Id is not a UUID", refusals.REQUEST_ID_NOT_UUID()),
    # TPPs
    Case("client_missing", "No Client ID", refusals.CLIENT_MISSING()),
    Case("client_unknown", "The Client ID is unknown or not active", refusals.CLIENT_UNKNOWN()),
    Case(
        "secret_wrong",
        "The client secret is missing or wrong, or was sent for a client without a secret",
        refusals.SECRET_WRONG(),
    ),
    Case(
        "client_proves_nothing",
        "The client has no secret, key or certificate to authenticate with",
        refusals.CLIENT_PROVES_NOTHING(),
    ),
    Case(
        "certificate_wrong",
        "The client certificate that the client's record demands is missing, expired, revoked, of an unknown authority "
        "or another client's, or lacks the PSD2 role for the scopes",
        refusals.TPP_CERTIFICATE_WRONG(),
    ),
    Case(
        "assertion_wrong",
        "The client assertion is missing, expired, used before, wrongly signed or not for this service, or was sent "
        "for a client with another method",
        refusals.ASSERTION_WRONG(),
    ),
    Case(
        "call_limit",
        "The client has made more calls than its limit allows: repeat the request after the seconds in Retry-After",
        refuse_call(LimitReached(3_000, retry_after=1)),
    ),
    Case("bearer_missing", "No bearer", refusals.BEARER_MISSING()),
    Case("bearer_spent", "The bearer's one-time consent has been used for a payment", refusals.BEARER_SPENT()),
    Case(
        "bearer_invalid",
        "The bearer is unknown, expired, revoked or spent, belongs to another client, or is bound to a key of which "
        "the request has no proof",
        refusals.BEARER_INVALID(),
    ),
    Case(
        "proof_wrong",
        "The DPoP proof is missing, too old, used before, wrongly signed, or for another request or token",
        refusals.PROOF_WRONG(),
    ),
    Case(
        "nonce_needed",
        "The DPoP proof needs a nonce, or a newer one: repeat the request with that of the header DPoP-Nonce",
        refusals.NONCE_NEEDED(),
    ),
    Case(
        "proof_wrong_for_token",
        "The DPoP proof is missing, too old, used before, wrongly signed, or for another request",
        refusals.PROOF_WRONG_FOR_TOKEN(),
    ),
    Case(
        "nonce_needed_for_token",
        "The DPoP proof needs a nonce, or a newer one: repeat the request with that of the header DPoP-Nonce",
        refusals.NONCE_NEEDED_FOR_TOKEN(),
    ),
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
    Case("cursor_invalid", "after is not the `next` of an earlier response to this client", refusals.CURSOR_INVALID()),
    Case(
        "events_cursor_invalid",
        "after is not the `next` of an earlier response to this client",
        refusals.EVENTS_CURSOR_INVALID(),
    ),
    Case("parameters_none", "A query parameter was sent, but the call has none", refusals.PARAMETERS_NOT_ALLOWED()),
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
    Case(
        "psu_headers",
        "A header about the PSU is not valid",
        refusals.PSU_HEADERS_WRONG(problems="PSU-IP-Address must be an IP address"),
    ),
    Case(
        "access_exceeded",
        "The bank's limit of reads without the PSU is reached for today",
        refuse_access(4, seconds=3600),
    ),
    Case("bank_unknown", "No bank with this BIC can be reached", refusals.BANK_UNKNOWN()),
    Case("bank_gone", "The bank of the consent is no longer reachable", refusals.CONSENT_BANK_GONE()),
    Case("version", "The bank's protocol version does not support this call", refusals.CALL_NOT_IN_VERSION(version=1)),
    Case("scope", "The consent does not include the scope", refusals.SCOPE_NOT_GRANTED(scope="accounts.balances")),
    Case("account", "The PSU did not approve this account", refusals.ACCOUNT_NOT_APPROVED(member="iban")),
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
    Case(
        "scopes_wrong",
        "scopes is empty, contains a duplicate, or contains a scope that the bank does not provide",
        refusals.SCOPES_EMPTY(),
    ),
    Case(
        "scopes_of_no_version",
        "No bank is named, and no version of the bank protocol has all of the scopes",
        refusals.SCOPES_OF_NO_VERSION(),
    ),
    Case(
        "response_type",
        "response_type is not `code`",
        refusals.RESPONSE_TYPE_WRONG(oauth_error="unsupported_response_type"),
    ),
    Case(
        "parameter_not_supported",
        "`request`, `request_uri` or `registration` was sent",
        refusals.PARAMETER_NOT_SUPPORTED(parameter="request_uri", oauth_error="request_uri_not_supported"),
    ),
    Case("not_pushed", "The client must push its authorization requests (RFC 9126)", refusals.REQUEST_NOT_PUSHED()),
    Case("jkt_other", "dpop_jkt is not the thumbprint of the DPoP proof's key", refusals.DPOP_JKT_OTHER()),
    Case(
        "redirect_uri_missing",
        "redirect_uri is missing, which the request named, or which a client with the profile `fapi2` must send",
        refusals.REDIRECT_URI_MISSING(),
    ),
    Case(
        "redirect_uri_foreign", "redirect_uri is not one of the client's Callback URLs", refusals.REDIRECT_URI_FOREIGN()
    ),
    Case(
        "challenge_missing",
        "code_challenge is missing: it is mandatory in production, and for a client with the profile `fapi2`",
        refusals.CODE_CHALLENGE_MISSING(),
    ),
    Case("state_used", "The client has used this state before", refusals.STATE_USED()),
    Case(
        "grant_invalid",
        "The code or refresh token is unknown, expired, used or revoked, belongs to another client, or is bound to "
        "another key",
        refusals.CODE_EXPIRED(),
    ),
    Case(
        "grant_type",
        "grant_type is not supported",
        _with_oauth_error(_body(TokenRequest, {"grant_type": "password"}), "unsupported_grant_type"),
    ),
    # payments
    Case(
        "scheme",
        "The bank or this type of payment does not support the payment scheme",
        refusals.SCHEME_NOT_OFFERED(scheme="CHAPS", possible="SCT, SCTI, SWIFT"),
    ),
    Case(
        "callback_foreign",
        "callback_url does not match any of the client's Callback URLs",
        refusals.CALLBACK_URL_FOREIGN(),
    ),
    Case("key_wrong", "Idempotency-Key is empty, too long, or not printable", refusals.IDEMPOTENCY_KEY_WRONG(most=255)),
    Case("key_used", "Idempotency-Key was used with another body", refusals.IDEMPOTENCY_KEY_USED()),
    Case(
        "order_id_used",
        "X-Request-Id was used for a different order at this bank (client, call, consent or body differs)",
        refusals.ORDER_ID_USED(),
    ),
    Case("still_running", "The first request with this Idempotency-Key is still running", refusals.STILL_RUNNING()),
    Case("never_ended", "The first request with this Idempotency-Key never finished", refusals.NEVER_ENDED()),
    Case(
        "not_stored", "The bank responded, but the service could not store the response", refusals.PAYMENT_NOT_STORED()
    ),
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
    Case("payment_unknown", "This client has no such payment at this bank", refusals.PAYMENT_UNKNOWN()),
    # deferred calls
    Case(
        "acceptance_unknown",
        "A payment without an Idempotency-Key may have been accepted for deferred execution",
        refusals.ACCEPTANCE_UNKNOWN(),
    ),
    Case(
        "bearer_of_request",
        "The call was made with a bearer, but this request has none",
        refusals.REQUEST_BEARER_MISSING(),
    ),
    Case("request_unknown", "The caller has no such request, or it is more than a day old", refusals.REQUEST_UNKNOWN()),
    # banks
    Case("bank_key_missing", "No X-Api-Key", refusals.BANK_KEY_MISSING()),
    Case("bank_key_wrong", "X-Api-Key does not belong to a bank", refusals.BANK_KEY_WRONG()),
    Case(
        "other_version",
        "The bank is registered for the other version",
        refusals.OTHER_VERSION(version="the other version"),
    ),
    Case(
        "certificate",
        "The client certificate that the bank's record demands is missing, expired, revoked, of an unknown authority "
        "or not the bank's",
        refusals.CERTIFICATE_WRONG(),
    ),
    Case(
        "signature",
        "X-Signature is required but missing, or is not the bank's signature of this body",
        refusals.SIGNATURE_WRONG(),
    ),
    Case("request_id_used", "X-Request-Id was used before with a different body", refusals.REQUEST_ID_USED()),
    Case("url_missing", "The request URL is missing", _field("the request URL is required", Fault.URL_MISSING)),
    Case(
        "url_not_valid",
        "The request URL is unknown, altered, expired, used, or was issued for another bank",
        refusals.REQUEST_URL_INVALID(),
    ),
    Case("tpp_gone", "The TPP is no longer active", refusals.TPP_GONE()),
    Case("approved_scopes_missing", "scopes is missing", _body(SaveConsent, {"request_url": _REQUEST_URL})),
    Case(
        "approved_scopes_wrong",
        "scopes is empty, contains a duplicate, or contains a scope of the other version",
        refusals.APPROVED_SCOPES_WRONG(),
    ),
    Case(
        "iban",
        "An IBAN fails its check",
        _body(
            SaveConsent, {"scopes": ["account.list"], "request_url": _REQUEST_URL, "ibans": ["GB33BUKB2020155555555"]}
        ),
    ),
    Case("scopes_others", "The approved scopes differ from those requested", refusals.APPROVED_SCOPES_OTHER()),
    Case("accounts_missing", "Account scopes were approved without an account", refusals.ACCOUNTS_MISSING()),
    Case("consent_given", "A consent has already been saved for this request", refusals.CONSENT_SAVED_BEFORE()),
    Case("token_malformed", "The access token is malformed", refusals.TOKEN_MALFORMED()),
    Case("token_unknown", "The access token does not belong to this bank", refusals.TOKEN_UNKNOWN()),
    Case("payment_id", "The bank has not returned a payment with this id", refusals.PAYMENT_ID_UNKNOWN()),
    Case(
        "payment_status",
        "The status does not exist in this version",
        _field("the payment status must be one of the table's", Fault.PAYMENT_STATUS),
    ),
    Case("day", "The date is invalid or out of range", _body(DailyPerformance, {"date": "2026-02-30"})),
)
