"""Which of a PSU's accounts a call is about, and whether the PSU approved them (decisions: account identifiers)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from chalicelib.openbanking.consents import Consent
from chalicelib.openbanking.protocol.errors import Fault, Refusal

_HOLDERS = ("account", "debtor_account")
_SORT_CODE = 6
_KINDS = {"iban": "ibans", "sender_iban": "ibans", "account_id": "account_ids"}


def check_accounts(consent: Consent, request: Mapping[str, Any]) -> None:
    """Refuse a call about an account of the PSU's that was not approved, before the bank is called.

    Where the consent names no identifier of a kind, the bank decides.

    Raises:
        Refusal: naming the member.
    """
    holders = {"": request} | {f"{name}.": request[name] for name in _HOLDERS if name in request}
    for place, holder in holders.items():
        for member in _refused(consent, holder):
            raise Refusal(Fault.FORBIDDEN, f"the PSU did not approve the account that {place}{member} names")


def _refused(consent: Consent, holder: Mapping[str, Any]) -> Iterator[str]:
    for member, kind in _KINDS.items():
        approved = consent.accounts.get(kind)
        if approved and member in holder and holder[member] not in approved:
            yield member
    numbers = consent.accounts.get("account_numbers")
    if numbers and "account_number" in holder:
        named = str(holder["account_number"]), str(holder.get("sort_code", ""))
        if not any(_is_number(approved, *named) for approved in numbers):
            yield "account_number"


def _is_number(approved: str, number: str, sort_code: str) -> bool:
    """Whether an approved account number, which may begin with its sort code, is the one that a request names."""
    digits = "".join(character for character in approved if character.isdigit())
    if digits in (number, sort_code + number):
        return True
    return not sort_code and len(digits) == _SORT_CODE + len(number) and digits.endswith(number)
