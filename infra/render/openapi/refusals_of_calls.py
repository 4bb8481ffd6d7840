"""The refusals of each call: names from ``refusal_cases``, in the order of the checks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from chalicelib.openbanking.protocol.bank_calls import BankCall
from chalicelib.openbanking.protocol.webhooks import PaymentCall, RelayedCall
from infra.render.openapi.own_calls import ACCEPTED_REQUEST, webhooks_of
from infra.render.openapi.refusal_cases import CASES, Case

_BODY = ("not_json", "too_large", "member_wrong", "member_unknown", "content_type")
_QUERY = ("parameter_wrong", "parameter_unknown", "parameter_repeated")
_NAMED = ("client_missing", "client_unknown", "secret_wrong", "certificate_wrong", "assertion_wrong", "request_id")
_LIMIT = ("call_limit",)
_CLIENT = (*_NAMED, *_LIMIT)
_PROOF = ("proof_wrong", "nonce_needed")
_PROOF_FOR_TOKEN = ("proof_wrong_for_token", "nonce_needed_for_token")
_CONSENT = (*_NAMED, "bearer_missing", "bearer_invalid", *_PROOF, *_LIMIT, "bearer_spent")
_REQUEST = ("redirect_uri_foreign", "scopes_wrong", "challenge_missing")
_BANK_FAILS = ("bank_gone", "bank_failed", "bank_not_asked", "bank_slow", "bank_token")
_KEYS = ("key_wrong", "key_used", "still_running", "never_ended")
_PAYMENT = (
    *("callback_foreign", "scheme", "order_id_used", "not_sent", "not_sent_for_now"),
    *("refused_by_bank", "outcome_unknown", "bad_answer", "not_stored", "acceptance_unknown"),
)
_ACCOUNTS = {"iban", "account_id", "account"}
_OURS = ("failed", "storage")
_TOKEN_CLIENT = (*_NAMED, *_BODY, "not_a_form")

_OWN: Mapping[str, tuple[str, ...]] = {
    "/tpp/authorize": (
        *(*_NAMED, *_PROOF_FOR_TOKEN, *_LIMIT, *_BODY, "scopes_missing", "jkt_other", "bank_unknown", "not_pushed"),
        *(*_REQUEST, "state_used"),
    ),
    "/oauth/par": (
        *(*_NAMED, *_PROOF_FOR_TOKEN, *_LIMIT, "too_large", "content_type_form", "not_a_form"),
        *(
            "parameter_not_supported",
            "response_type",
            "member_wrong",
            "jkt_other",
            "bank_unknown",
            "redirect_uri_missing",
            *_REQUEST,
        ),
        "scopes_of_no_version",
    ),
    "/oauth/introspect": (*_TOKEN_CLIENT, *_LIMIT),
    "/tpp/token": (*_TOKEN_CLIENT, *_PROOF_FOR_TOKEN, *_LIMIT, "redirect_uri_missing", "grant_type", "grant_invalid"),
    "/tpp/token/revoke": (*_TOKEN_CLIENT, *_LIMIT),
    "/tpp/scope": (*_CLIENT, *_QUERY, "bank_unknown"),
    "/tpp/banks": (*_CLIENT, *_QUERY, "filter_unknown"),
    "/tpp/banks/{bic}": (*_CLIENT, "parameters_none", "bic_wrong", "bank_unknown"),
    "/tpp/consent": (*_CONSENT, "parameters_none"),
    "/tpp/consents": (*_CLIENT, *_QUERY, "cursor_invalid"),
    "/tpp/events": (*_CLIENT, "client_proves_nothing", *_QUERY, "events_cursor_invalid"),
    ACCEPTED_REQUEST: (
        *(*_NAMED, "bearer_of_request", "bearer_invalid", *_PROOF, *_LIMIT, "parameters_none", "request_unknown"),
    ),
}
_GATE = (
    *("bank_key_missing", "bank_key_wrong", "other_version", "certificate", "request_id", "signature"),
    *("not_json", "too_large", "content_type", "member_wrong", "member_unknown"),
)
_BANK: Mapping[str, tuple[str, ...]] = {
    "initiate": ("url_missing", "url_not_valid", "tpp_gone"),
    "save_consent": (
        *("url_missing", "url_not_valid", "tpp_gone", "approved_scopes_missing", "approved_scopes_wrong"),
        *("iban", "scopes_others", "accounts_missing", "consent_given"),
    ),
    "revoke_token": ("token_malformed", "token_unknown"),
    "report_status": ("payment_id", "payment_status"),
    "report_day": ("day",),
    "list_states": (),
}


def of_own_call(path: str) -> list[Case]:
    """The refusals of a call that the service handles itself."""
    return _cases(_OWN.get(path, ()), _OURS)


def of_relayed_call(call: RelayedCall) -> list[Case]:
    """The refusals of a call that is relayed to a bank."""
    members = {name for row in webhooks_of(call).values() for name in row.request.model_fields}
    query = _QUERY if members else ("parameter_unknown", "parameter_repeated")
    asked = query if call.method == "GET" else ("parameters_none", *_BODY)
    dates = ("parameter_date",) if "date_from" in members else ()
    accounts = ("account",) if members & _ACCOUNTS else ()
    limit = ("access_exceeded",) if call.reads_accounts else ()
    unknown = ("unknown_to_bank",) if any(row.unknown for row in webhooks_of(call).values()) else ()
    read = (*dates, *accounts, *unknown)
    return _cases(_CONSENT, ("version", "scope", "psu_headers"), asked, read, _BANK_FAILS, limit, _OURS)


def of_payment_call(call: PaymentCall) -> list[Case]:
    """The refusals of a payment initiation."""
    admitted = (*_CLIENT, "bank_unknown") if call.kind == "direct" else (*_CONSENT, "scope", "account", "bank_gone")
    consented = () if call.kind == "direct" else ("token_refused",)
    return _cases(admitted, ("parameters_none",), _KEYS, ("psu_headers",), _BODY, _PAYMENT, consented, _OURS)


def of_payment_status() -> list[Case]:
    """The refusals of the payment status call."""
    return _cases(_CONSENT, _QUERY, ("psu_headers", "bank_unknown", "payment_unknown"), _BANK_FAILS, _OURS)


def of_bank_call(call: BankCall) -> list[Case]:
    """The refusals of a bank's call."""
    return _cases(_GATE, () if call.is_read else ("request_id_used",), _BANK[call.name], _OURS)


def _cases(*names: Sequence[str]) -> list[Case]:
    return [CASES[name] for group in names for name in group]
