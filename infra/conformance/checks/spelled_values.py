"""Checks of the notation of amounts and IBANs in responses."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal, InvalidOperation
from typing import Any

from chalicelib.foundation.fields.registries import decimals
from chalicelib.openbanking.protocol.version import Version
from infra.conformance.check import Check
from infra.conformance.checks import content_rows
from infra.conformance.checks.content_rows import Row, answered
from infra.conformance.checks.judging import RULES, demand
from infra.conformance.evidence import Evidence
from infra.conformance.session import Session
from infra.conformance.subjects import Subject

_SHOWN = 10
_AMOUNTS = ("account_balance", "account_payments", "account_payment", "account_transactions", "funds_confirmations")
_IBANS = ("accounts", "account", "account_payments", "account_payment", "account_transactions")
Found = tuple[str, Mapping[str, Any]]
"""An object in a response, with its location."""


def checks(version: Version, subject: Subject) -> list[Check]:
    """Return the checks of one webhook's amounts and IBANs."""
    rows = [row for row, names in ((_AMOUNT_ROW, _AMOUNTS), (_IBAN_ROW, _IBANS)) if subject.name in names]
    return content_rows.build(version, subject, rows)


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
        f"{place}.{name} has {written} decimal places, {currency} has {decimals()[currency]}".lstrip(".")
        for place, found in _objects(answer)
        for name in ("amount", "balance")
        if (currency := str(found.get("currency", session.account.currency))) in decimals()
        and (written := _decimal_places(found.get(name))) > decimals()[currency]
    ]
    return demand(not wrong, call.evidence, "; ".join(wrong[:_SHOWN]))


def _decimal_places(amount: object) -> int:
    try:
        exponent = Decimal(str(amount)).normalize().as_tuple().exponent
    except InvalidOperation:
        return 0
    return max(0, -exponent) if isinstance(exponent, int) else 0


def _ibans(session: Session, subject: Subject) -> Evidence:
    call, answer = answered(session, subject)
    wrong = [f"{place}.iban" for place, found in _objects(answer) if has_blanks(found.get("iban"))]
    said = f"{', '.join(wrong[:_SHOWN])}: an IBAN has capitals and digits, without blanks"
    return demand(not wrong, call.evidence, said)


_AMOUNT_ROW: Row = (
    "amounts",
    "has amounts with the decimal places of their currency",
    RULES.format(section="Answers, Amounts"),
    "mandatory",
    "Amounts are exact decimal numbers: none has more decimal places than its currency (ISO 4217), such as 2 for EUR",
    _amounts,
)
_IBAN_ROW: Row = (
    "ibans",
    "has IBANs without blanks",
    RULES.format(section="Answers, IBANs"),
    "advice",
    "Every IBAN is written with capitals and digits only (ISO 13616), so that TPPs can compare it",
    _ibans,
)
