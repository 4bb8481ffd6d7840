"""Display texts of card pages: amounts, states, kinds and response codes.

Currencies are numeric ISO 4217 codes; amounts are in minor units.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

from chalicelib.cards.protocol import states, values
from chalicelib.foundation.fields.registries import currency_numbers, minor_units

_WRITTEN = re.compile(r"(?:[0-9]{1,13}|[1-9][0-9]{0,2}(?:,[0-9]{3}){1,3}|[1-9](?:,[0-9]{3}){4})(?:\.[0-9]{1,4})?")
"""A pattern for an amount with up to 13 integer digits and 4 decimals. Commas are allowed only as thousands separators.
"""
_MINUS = "\u2212"


class InvalidAmount(ValueError):
    """The input is not an amount in the currency. The message contains the expected format."""


def amount_text(amount: int, currency: int) -> str:
    """Format an amount with separators: ``1,234.50`` for 123450 euro cents."""
    decimals = minor_units().get(currency, 0)
    text = f"{Decimal(abs(amount)).scaleb(-decimals):,.{decimals}f}"
    return f"{_MINUS}{text}" if amount < 0 else text


def decimal_amount(amount: int, currency: int) -> Decimal:
    """Format an amount with all decimals of its currency: ``1234.50`` for 123450 euro cents."""
    return Decimal(amount).scaleb(-minor_units().get(currency, 0))


def currency_code(currency: int) -> str:
    """Return the alphabetic currency code: ``EUR`` for 978."""
    return currency_numbers().get(currency, str(currency))


def money(amount: int, currency: int) -> str:
    """Format an amount with its currency: ``1,234.50 EUR`` for 123450 euro cents."""
    return f"{amount_text(amount, currency)} {currency_code(currency)}"


def parse_amount(written: str, currency: int) -> int:
    """Parse ``1234.5`` or ``1,234.50`` into minor units. Raises: InvalidAmount."""
    decimals = minor_units().get(currency, 0)
    text = written.strip()
    if not _WRITTEN.fullmatch(text) or len(text.partition(".")[2]) > decimals:
        example = f"{Decimal(2500).scaleb(-decimals):.{decimals}f}"
        raise InvalidAmount(f"Enter an amount of {currency_code(currency)} such as {example}.")
    return int(Decimal(text.replace(",", "")).scaleb(decimals))


ENTRIES: Mapping[str, str] = {
    "card_programme": "Programme",
    "product": "Product",
    "design": "Design",
    "fee_group": "Fees",
    "limit_group": "Limits",
    "usage_group": "Usage",
    "risk_group": "Risk rules",
}
"""Labels of the entries in a programme manager's configuration that a card uses."""
MESSAGES: Mapping[int, str] = {
    values.AUTHORIZATION: "authorization",
    values.ADVICE: "advice",
    values.INCREMENT: "increment",
    values.REVERSAL: "reversal",
    values.EXPIRY: "end of the hold",
}
"""Labels of network messages, including messages that the service generates on behalf of the network."""
_RELEASES = (values.REVERSAL, values.EXPIRY)
PIN: Mapping[int, str] = {states.PIN_OK: "OK", states.PIN_IS_BLOCKED: "Blocked"}  # the states of a PIN
_WORDS = ("description", "reference_number")
_DISPUTED = 1442  # the message type of a dispute's transactions
RISK: Mapping[str, str] = {
    "mark_transaction_as_suspicious": "marked as suspicious",
    "notify_cardholder_by_sending_tais_notification": "the cardholder was notified",
    "change_card_status_to_risk": "the card's status is now at risk",
    "change_account_status_to_suspended": "the account is now suspended",
    "reject_transaction": "rejected",
}
"""Labels of risk rule actions."""


def card_tag(letter: str) -> str:
    return {states.ACTIVE: "good", states.NEW: "note"}.get(letter, "bad")


def response_meaning(number: str) -> str:
    return values.RESPONSE_CODES.get(number, "")


def is_approved(number: str) -> bool:
    return number in values.APPROVALS


def response_tag(row: Mapping[str, Any]) -> str:
    """Return the colour tag for a message's response. The release of a hold gets a neutral colour."""
    if not is_approved(row["response_code"]):
        return "bad"
    return "plain" if row["authorize_type"] in _RELEASES else "good"


def risk_summary(actions: list[Mapping[str, int]]) -> str:
    """Summarise the actions that risk rules took on a message, or return an empty text without such actions."""
    return ", ".join(words for name, words in RISK.items() if any(each.get(name) for each in actions))


def bank_details(account: Mapping[str, Any], prefix: str = "") -> str:
    """Return the IBAN, or sort code and account number, from the members whose names start with ``prefix``."""
    british = (account.get(f"{prefix}{name}") for name in ("sort_code", "account_number"))
    return str(account.get(f"{prefix}iban") or " ".join(filter(None, british)))


def purpose(row: Mapping[str, Any]) -> str:
    """Return the merchant, counterparty or description of a transaction, or an empty text if all are unknown."""
    if row["mti"] == _DISPUTED:
        return str(row["description"]).capitalize()
    return _first(row, "merchant", "counterparty_name", *_WORDS)


def remark(row: Mapping[str, Any]) -> str:
    """Return details of an external payment: the counterparty's account number, the scheme, and the description."""
    if "counterparty_name" not in row:
        return ""
    parts = (bank_details(row, "counterparty_"), row.get("scheme"), _first(row, *_WORDS))
    return ", ".join(filter(None, parts))


def _first(row: Mapping[str, Any], *names: str) -> str:
    return str(next((row[name] for name in names if row.get(name)), ""))


FILTERS: Mapping[str, Callable[..., Any]] = {
    "money": money,
    "currency": currency_code,
    "card_status": states.CARD_STATES.__getitem__,
    "card_tag": card_tag,
    "card_kind": values.KINDS_OF_CARD.__getitem__,
    "account_status": states.ACCOUNT_STATES.__getitem__,
    "pin_status": PIN.__getitem__,
    "reason": values.REASONS.__getitem__,
    "response": response_meaning,
    "is_approved": is_approved,
    "response_tag": response_tag,
    "risk": risk_summary,
    "purpose": purpose,
    "remark": remark,
    "message_kind": MESSAGES.__getitem__,
    "transaction_kind": values.TRANSACTION_TYPES.__getitem__,
    "entry_mode": values.ENTRY_MODES.__getitem__,
    "authorization_state": states.AUTHORIZATION_STATES.__getitem__,
}
