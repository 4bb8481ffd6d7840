"""The properties of banks in plain words."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from chalicelib.openbanking.protocol.own_answers import BankEntry
from chalicelib.openbanking.protocol.unified_scopes import to_native
from chalicelib.openbanking.records.bank_record import Bank

RESULTS: Mapping[str, tuple[str, str]] = {
    "conforms": ("Conforms", "good"),
    "fails": ("Does not conform", "bad"),
    "unknown": ("Not all checks could run", "note"),
    "partial": ("Selected checks only", "plain"),
}
"""The label of each result of a conformance report, and the kind of its tag."""


def unified_scopes_of(native: str, entry: BankEntry) -> Sequence[str]:
    """Return the unified scopes, among those of the bank, that include a native scope."""
    version = entry["api_version"]
    return [name for name in entry["unified_scopes"] if native in to_native([name], version)]


def history_text(entry: BankEntry) -> str:
    """Describe how far back the bank lists transactions."""
    days = entry["history_days"]
    return "The bank does not say how far back" if days is None else f"The last {_count(days, 'day')}"


def unattended_text(reads: int | None) -> str:
    """Describe a bank's limit of unattended reads."""
    if reads is None:
        return "This service sets no limit"
    return f"At most {_count(reads, 'time')} a day, for each consent, account and call"


def describe_switches(bank: Bank, entry: BankEntry) -> Mapping[str, str]:
    """Describe the differences to which the unified API adapts."""
    own = bank.version.switches
    return {
        "Amounts": _amounts(entry),
        "Balances": _balance(entry) if "balance_type" in own else "Each balance has its type",
        "Credit limit": _CREDIT_LIMIT[entry["credit_limit_included"]],
        "Last day": _last_day(entry) if "no_date_to" in own else f"Version {bank.version} has no date_to: {_LEFT_OUT}",
    }


_CREDIT_LIMIT: Mapping[bool | None, str] = {
    True: "Included in balances",
    False: "Not included in balances",
    None: "Unknown for the whole bank; a balance may say whether it is included",
}
_LEFT_OUT = "the unified API leaves out later transactions"


def _amounts(entry: BankEntry) -> str:
    if entry["unsigned_amounts"]:
        return "Transactions have no sign: the unified API takes the direction from the named parties"
    return "Transactions are signed: negative if money left the account"


def _balance(entry: BankEntry) -> str:
    return f"The only balance is the {entry['balance_type']} balance"


def _last_day(entry: BankEntry) -> str:
    return f"The bank does not accept date_to: {_LEFT_OUT}" if entry["no_date_to"] else "The bank accepts date_to"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


FILTERS: Mapping[str, Callable[..., Any]] = {"conformance": RESULTS.__getitem__}
