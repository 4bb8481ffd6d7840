"""Checks of a consent's permissions: the calls of its version and scopes, its bank, and the approved accounts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from chalicelib.foundation import log
from chalicelib.foundation.fields.ibans import compact_iban
from chalicelib.openbanking.protocol import refusals
from chalicelib.openbanking.protocol.british_accounts import account_from_members, read_approved_account
from chalicelib.openbanking.protocol.version import Version
from chalicelib.openbanking.protocol.webhooks import PaymentCall, RelayedCall, Webhook
from chalicelib.openbanking.records.bank_record import Bank
from chalicelib.openbanking.records.banks import Banks
from chalicelib.openbanking.records.consents import Accounts, Consent

_HOLDERS = ("account", "debtor_account")
_KINDS = {"iban": "ibans", "sender_iban": "ibans", "account_id": "account_ids"}


def require_scope(call: RelayedCall | PaymentCall, consent: Consent, unified: str | None = None) -> Webhook:
    """Return the webhook for a call in the consent's version, if the consent's scopes allow it.

    Args:
        call: a native call, or a unified payment.
        unified: the unified scope of a unified call, which the refusal names as well.

    Raises:
        Refusal.
    """
    webhook = require_webhook(call, consent.version)
    if webhook.scope_name not in consent.scopes:
        native = str(webhook.scope)
        if unified is None:
            raise refusals.SCOPE_NOT_GRANTED(scope=native)
        raise refusals.UNIFIED_SCOPE_NOT_GRANTED(scope=unified, native=native)
    return webhook


def require_webhook(call: RelayedCall | PaymentCall, version: Version) -> Webhook:
    """Return the webhook for a call in ``version``, for a payment that of its kind. Raises: Refusal."""
    by_kind, by_call = version.payments, version.webhook_by_call
    webhook = by_kind.get(call.kind) if isinstance(call, PaymentCall) else by_call.get(call)
    if webhook is None:
        raise refusals.CALL_NOT_IN_VERSION(version=version.number)
    return webhook


def require_bank(banks: Banks, consent: Consent) -> Bank:
    """Return the consent's bank. Raises: Refusal."""
    bank = banks.find(consent.bic)
    if bank is None:
        raise refusals.CONSENT_BANK_GONE()
    return bank


def check_accounts(consent: Consent, request: Mapping[str, Any], spell: Callable[[str], str] = str) -> None:
    """Refuse a request for an account that the PSU did not approve, before the bank is called.

    If the consent has no identifiers of a kind, the bank decides. ``spell`` converts a member of the request to the
    TPP's name for it.

    Raises:
        Refusal: the account is not approved. The message names the member.
    """
    holders = {"": request} | {f"{name}.": request[name] for name in _HOLDERS if name in request}
    for place, holder in holders.items():
        for member in _unapproved_members(consent, holder):
            raise refusals.ACCOUNT_NOT_APPROVED(member=spell(f"{place}{member}"))


def withhold_unapproved(consent: Consent, webhook: Webhook, answer: Mapping[str, Any]) -> Mapping[str, Any]:
    """Remove accounts that the PSU did not approve from a response (see ``withhold_entries``)."""
    if webhook.account_id is None:
        return answer
    approved = withhold_entries(consent, webhook, [*enumerate(answer["accounts"])])
    return {**answer, "accounts": [account for _, account in approved]}


def withhold_entries(
    consent: Consent, webhook: Webhook, listed: Sequence[tuple[int, Any]]
) -> Sequence[tuple[int, Any]]:
    """Return the listed accounts, each with its position, without those that the PSU did not approve.

    An account is withheld if the consent lists identifiers of the same kinds and none of them matches. All other
    accounts are passed on, so that the bank decides whether to include them.
    """
    id_member = webhook.account_id or ""
    approved = [
        (place, account)
        for place, account in listed
        if not isinstance(account, dict) or is_approved(consent.accounts, account, id_member)
    ]
    if len(approved) < len(listed):
        log.warning("accounts withheld", bic=consent.bic, webhook=webhook.path, accounts=len(listed) - len(approved))
    return approved


def _unapproved_members(consent: Consent, holder: Mapping[str, Any]) -> Iterator[str]:
    for member, kind in _KINDS.items():
        approved = consent.accounts.get(kind)
        if approved and member in holder and holder[member] not in approved:
            yield member
    numbers = consent.accounts.get("account_numbers")
    if numbers and "account_number" in holder and not _is_among(numbers, holder):
        yield "account_number"


def is_approved(approved: Accounts, account: Mapping[str, Any], id_member: str) -> bool:
    """Whether an account matches the ``approved`` accounts.

    An account that has no kind of identifier in common with the approved accounts counts as approved. ``id_member`` is
    the member with the account's id.
    """
    compared = list(_compare_identifiers(approved, account, id_member))
    return any(compared) or not compared


def _compare_identifiers(approved: Accounts, account: Mapping[str, Any], id_member: str) -> Iterator[bool]:
    """Yield whether the consent lists the account's value, for each kind of identifier that the consent and the account
    have.
    """
    ibans, ids, numbers = (approved.get(kind) for kind in ("ibans", "account_ids", "account_numbers"))
    iban, account_id = account.get("iban"), account.get(id_member)
    if ibans and isinstance(iban, str) and iban:
        yield compact_iban(iban) in ibans
    if ids and account_id not in (None, ""):
        yield str(account_id) in ids
    if numbers and account.get("account_number") not in (None, ""):
        yield _is_among(numbers, account)


def _is_among(approved: Sequence[str], holder: Mapping[str, Any]) -> bool:
    """Whether the British account in a request or response is one of the ``approved`` accounts."""
    named = account_from_members(holder["account_number"], holder.get("sort_code"))
    return any(not read_approved_account(text).is_other_than(named) for text in approved)
