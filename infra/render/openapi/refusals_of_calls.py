"""The refusals of each call: names of cases in ``refusal_cases``, in the order of the checks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from chalicelib.foundation.fields.field_types import Message
from chalicelib.openbanking.protocol.bank_calls import BankCall
from chalicelib.openbanking.protocol.webhooks import PaymentCall, RelayedCall
from chalicelib.openbanking.unified.calls import UnifiedCall, UnifiedPaymentCall
from infra.render.openapi.own_calls import webhooks_of
from infra.render.openapi.refusal_cases import BODY, CASES, CLIENT, CONSENT, QUERY, Case

_BANK_FAILS = ("bank_gone", "bank_failed", "bank_not_asked", "bank_slow", "bank_token")
_KEYS = ("key_wrong", "key_used", "still_running", "never_ended")
_PAYMENT = (
    *("callback_foreign", "scheme", "order_id_used", "not_sent", "not_sent_for_now"),
    *("refused_by_bank", "outcome_unknown", "bad_answer", "not_stored", "acceptance_unknown"),
)
_PAGES = ("pages_too_many", "page_repeated", "pages_empty", "page_key_too_long")
_ACCOUNTS = {"iban", "account_id", "account"}
_OURS = ("failed", "storage")

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


def of_own_call(names: Sequence[str]) -> list[Case]:
    """Return the refusals of a call that the service handles itself, including the refusals that all calls share."""
    return _cases(names, _OURS)


def of_relayed_call(call: RelayedCall) -> list[Case]:
    """Return the refusals of a call that the service relays to a bank."""
    members = {name for row in webhooks_of(call).values() for name in row.request.model_fields}
    query = QUERY if members else ("parameter_unknown", "parameter_repeated")
    asked = query if call.method == "GET" else ("parameters_none", *BODY)
    dates = ("parameter_date",) if "date_from" in members else ()
    accounts = ("account",) if members & _ACCOUNTS else ()
    limit = ("access_exceeded",) if call.reads_accounts else ()
    unknown = ("unknown_to_bank",) if any(row.unknown for row in webhooks_of(call).values()) else ()
    read = (*dates, *accounts, *unknown)
    return _cases(CONSENT, ("version", "scope", "psu_headers"), asked, read, _BANK_FAILS, limit, _OURS)


def of_unified_read(call: UnifiedCall, request: type[Message]) -> list[Case]:
    """Return the refusals of a unified call that the service relays to a bank, by the model of its request."""
    members = request.model_fields
    if call.method == "POST":
        read = ("parameters_none", *BODY, "not_at_this_bank", "account")
        return _cases(CONSENT, ("unified_scope", "psu_headers"), read, _BANK_FAILS, _OURS)
    account = ("account_id_too_long", "account") if "account_id" in members else ()
    pages = ("parameter_date", "transactions_cursor", "from_too_early", *_PAGES) if "cursor" in members else ()
    unknown = ("unknown_to_bank",) if account else ()
    limit = ("access_exceeded",) if call.reads_accounts else ()
    read = (*account, *pages, *unknown)
    return _cases(CONSENT, ("unified_scope", "psu_headers"), QUERY, read, _BANK_FAILS, limit, _OURS)


def of_unified_payment(call: UnifiedPaymentCall) -> list[Case]:
    """Return the refusals of a unified payment initiation."""
    names = {"scope": "unified_scope", "scheme": "unified_scheme"}
    cases = [CASES[names.get(case.name, case.name)] for case in of_payment_call(call)]
    place = next(number for number, case in enumerate(cases) if case.name == "unified_scheme")
    return [*cases[:place], CASES["not_at_this_bank"], *cases[place:]]


def of_payment_call(call: PaymentCall) -> list[Case]:
    """Return the refusals of a payment initiation."""
    admitted = (*CLIENT, "bank_unknown") if call.kind == "direct" else (*CONSENT, "scope", "account", "bank_gone")
    consented = () if call.kind == "direct" else ("token_refused",)
    return _cases(admitted, ("parameters_none",), _KEYS, ("psu_headers",), BODY, _PAYMENT, consented, _OURS)


def of_payment_status() -> list[Case]:
    """Return the refusals of the payment status call."""
    return _cases(CONSENT, QUERY, ("psu_headers", "bank_unknown", "payment_unknown"), _BANK_FAILS, _OURS)


def of_bank_call(call: BankCall) -> list[Case]:
    """Return the refusals of a bank's call."""
    return _cases(_GATE, () if call.is_read else ("request_id_used",), _BANK[call.name], _OURS)


def _cases(*names: Sequence[str]) -> list[Case]:
    return [CASES[name] for group in names for name in group]
