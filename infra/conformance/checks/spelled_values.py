"""Checks of the notation of amounts, IBANs and absent values in responses."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal, InvalidOperation
from typing import Any

from chalicelib.foundation.fields.registries import decimals
from chalicelib.openbanking.protocol.version import Version
from infra.conformance.answers import read_object
from infra.conformance.check import Check
from infra.conformance.checks import content_rows
from infra.conformance.checks.content_rows import Row, answered
from infra.conformance.checks.judging import RULES, demand, join_first
from infra.conformance.evidence import Evidence
from infra.conformance.session import Session
from infra.conformance.subjects import Subject

_AMOUNTS = ("account_balance", "account_payments", "account_payment", "account_transactions", "funds_confirmations")
_IBANS = ("accounts", "account", "account_payments", "account_payment", "account_transactions")
_PAGE_KEYS = ("page_key", "pageKey")
"""The member that a mandatory check judges: ``last-page``."""
Found = tuple[str, Mapping[str, Any]]
"""An object in a response, with its location."""


def checks(version: Version, subject: Subject) -> list[Check]:
    """Return the checks of one webhook's amounts, IBANs and absent values."""
    named = ((_AMOUNT_ROW, _AMOUNTS), (_DECIMAL_ROW, _AMOUNTS), (_IBAN_ROW, _IBANS), (_NULL_ROW, _IBANS + _AMOUNTS))
    return content_rows.build(version, subject, [row for row, names in named if subject.name in names])


def has_blanks(iban: object) -> bool:
    """Return whether an IBAN is not in the electronic format (ISO 13616), which has upper-case letters and no
    spaces.
    """
    return isinstance(iban, str) and iban != "".join(iban.split()).upper()


def _objects(value: Any, place: str = "") -> Iterator[Found]:
    if isinstance(value, Mapping):
        yield place, value
    inner: Iterable[tuple[Any, Any]] = ()
    if isinstance(value, Mapping | list):
        inner = value.items() if isinstance(value, Mapping) else enumerate(value)
    for name, each in inner:
        yield from _objects(each, f"{place}.{name}" if place else str(name))


def _amounts(session: Session, subject: Subject) -> Evidence:
    call, answer = answered(session, subject)
    wrong = [
        f"{place} has {written} decimal places, {currency} has {decimals()[currency]}"
        for place, amount, currency in _found_amounts(session, answer)
        if currency in decimals() and (written := _decimal_places(amount)) > decimals()[currency]
    ]
    return demand(not wrong, call.evidence, join_first(wrong, "; "))


def _found_amounts(session: Session, answer: Mapping[str, Any]) -> Iterator[tuple[str, object, str]]:
    """Yield the location, the value and the currency of each amount."""
    for place, found in _objects(answer):
        for name in ("amount", "balance"):
            if isinstance(found.get(name), str | int | Decimal):
                currency = str(found.get("currency", session.account.currency))
                yield f"{place}.{name}".lstrip("."), found[name], currency


def _decimal_places(amount: object) -> int:
    try:
        exponent = Decimal(str(amount)).normalize().as_tuple().exponent
    except InvalidOperation:
        return 0
    return max(0, -exponent) if isinstance(exponent, int) else 0


def _decimals(session: Session, subject: Subject) -> Evidence:
    call, answer = answered(session, subject)
    odd = [
        f"{place} {fault}"
        for place, amount, currency in _found_amounts(session, answer)
        if (fault := _odd_notation(amount, decimals().get(currency)))
    ]
    return demand(not odd, call.evidence, f"{join_first(odd)}: write {_NOTATION}")


def _odd_notation(amount: object, most: int | None) -> str:
    """Return how an amount deviates from digits with a dot and at most ``most`` decimals; empty if it does not."""
    text = str(amount)
    places = len(text.partition(".")[2])
    if re.search(r"[0-9][eE]", text):
        return "has an exponent"
    return f"has {places} decimals" if most is not None and places > most else ""


def _nulls(session: Session, subject: Subject) -> Evidence:
    call, _ = answered(session, subject)
    assert call.reply is not None
    found = [place for place in _null_places(read_object(call.reply)) if place not in _PAGE_KEYS]
    first_places = {re.sub(r"[0-9]+", "", place): place for place in reversed(found)}.values()
    said = f"null in {join_first(sorted(first_places, key=found.index))}: leave out members without a value"
    return demand(not found, call.evidence, said)


def _null_places(answer: Any) -> list[str]:
    return [
        f"{place}.{name}".lstrip(".")
        for place, found in _objects(answer)
        for name, value in found.items()
        if value is None
    ]


def _ibans(session: Session, subject: Subject) -> Evidence:
    call, answer = answered(session, subject)
    wrong = [f"{place}.iban" for place, found in _objects(answer) if has_blanks(found.get("iban"))]
    said = f"{join_first(wrong)}: an IBAN has capitals and digits, without blanks"
    return demand(not wrong, call.evidence, said)


_NOTATION = 'amounts such as "12.50", without an exponent, and with no more decimals than their currency'
_AMOUNT_ROW: Row = (
    "amounts",
    "has amounts with the decimal places of their currency",
    RULES.format(section="Answers, Amounts"),
    "mandatory",
    "Amounts are exact decimal numbers: none has more decimal places than its currency (ISO 4217), such as 2 for EUR",
    _amounts,
)
_DECIMAL_ROW: Row = (
    "decimals",
    "writes amounts with the decimals of their currency",
    RULES.format(section="Answers, Amounts"),
    "advice",
    f"An amount is {_NOTATION}",
    _decimals,
)
_NULL_ROW: Row = (
    "nulls",
    "leaves out members without a value",
    RULES.format(section="Answers"),
    "advice",
    "No member is null: many programs of TPPs expect a value where there is a member",
    _nulls,
)
_IBAN_ROW: Row = (
    "ibans",
    "has IBANs without blanks",
    RULES.format(section="Answers, IBANs"),
    "advice",
    "Every IBAN is written with capitals and digits only (ISO 13616), so that TPPs can compare it",
    _ibans,
)
