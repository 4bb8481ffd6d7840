"""Checks of payments and transactions in responses: statuses, dates, values and signs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal, InvalidOperation
from typing import Any

from chalicelib.openbanking.protocol.payment_statuses import NUMBERS
from chalicelib.openbanking.protocol.version import Version
from infra.conformance.check import Check
from infra.conformance.checks import content_rows
from infra.conformance.checks.content_rows import Row, answered
from infra.conformance.checks.entries import booked_transactions, booking_day, count_absent, is_day, transactions
from infra.conformance.checks.judging import RULES, RunOnSubject, demand, join_first, require_answer, require_refused
from infra.conformance.checks.pages import PAGE_LIMIT, keyed_pages
from infra.conformance.evidence import CheckSkipped, Evidence
from infra.conformance.requests import UNKNOWN_ID
from infra.conformance.session import Session
from infra.conformance.subjects import Subject

_PAYMENT_TYPES = ("Bank transfer", "Card transfer", "Internal transfer", "Load", "Withdrawal", "Other")


def checks(version: Version, subject: Subject) -> list[Check]:
    """Return the checks of one webhook's response content."""
    return content_rows.build(version, subject, _ROWS.get(subject.name, ()))


# -- payments and transactions


def _payment_values(session: Session, subject: Subject) -> Evidence:
    call, answer = answered(session, subject)
    rows = answer["payments"] if "payments" in answer else [answer["payment"]]
    problems = [problem for index, row in enumerate(rows) for problem in _wrong_payment(f"{index}", row)]
    return demand(not problems, call.evidence, "; ".join(problems[:10]))


def _wrong_payment(place: str, payment: Mapping[str, Any]) -> Iterator[str]:
    if not is_day(payment["date_created"]):
        yield f"{place}: date_created is not YYYY-MM-DD"
    if payment.get("status") is not None and NUMBERS.read(_as_int(payment["status"])) is None:
        yield f"{place}: status is not one of {', '.join(map(str, NUMBERS.meanings))}"
    if payment.get("type") is not None and payment["type"] not in _PAYMENT_TYPES:
        yield f"{place}: type is not one of {', '.join(_PAYMENT_TYPES)}"


def _as_int(value: Any) -> Any:
    return int(value) if str(value).isdecimal() else value


def _signs(session: Session, subject: Subject) -> Evidence:
    call, answer = answered(session, subject)
    found = [(place, amount, _direction(session, parties)) for place, amount, parties in _movements(answer)]
    known = [(place, _sign(amount), direction) for place, amount, direction in found if direction]
    if not known:
        raise CheckSkipped("no entry says whether the account of the file sends or receives it")
    wrong = [f"{place}.amount" for place, sign, direction in known if sign == -direction]
    said = f"{join_first(wrong)} must be negative when money left the account, else positive"
    return demand(not wrong, call.evidence, said)


def _sign(amount: object) -> int:
    try:
        number = Decimal(str(amount))
    except InvalidOperation:
        return 0
    return (number > 0) - (number < 0)


def _movements(answer: Mapping[str, Any]) -> Iterator[_Movement]:
    if "transactions" in answer:
        for index, row in enumerate(transactions(answer)):
            yield str(index), row["transaction_amount"]["amount"], [row]
    else:
        for index, row in enumerate(answer["payments"] if "payments" in answer else [answer["payment"]]):
            entries = row.get("additional_data")
            yield str(index), row["amount"], entries if isinstance(entries, list) else []


_Movement = tuple[str, object, list[Any]]
"""A payment or transaction in a response: its location, its amount, and the objects that describe sender and receiver.
"""
_SENDER, _RECEIVER = ("sender_data", "debtor_account"), ("receiver_data", "creditor_account")


def _direction(session: Session, parties: list[Any]) -> int:
    """Return 1 if the account in the file receives a payment, -1 if the account sends the payment, 0 if unknown."""

    def is_own(names: tuple[str, ...]) -> bool:
        found = [each.get(name) for each in parties if isinstance(each, dict) for name in names]
        return any(_is_account(session, party) for party in found if isinstance(party, dict))

    return is_own(_RECEIVER) - is_own(_SENDER)


def _is_account(session: Session, party: Mapping[str, Any]) -> bool:
    account = session.account
    pairs = (
        (party.get("iban"), account.iban),
        (party.get("bban"), account.bban),
        (party.get("internal_account_id"), account.account_id),
    )
    return any(given is not None and str(given).replace(" ", "") == own for given, own in pairs)


def _same_payment(session: Session, subject: Subject) -> Evidence:
    call, answer = answered(session, subject)
    is_same = str(answer["payment"]["id"]) == call.members["payment_id"]
    return demand(is_same, call.evidence, "payment.id is not the requested payment_id")


def _unknown_payment(session: Session, subject: Subject) -> Evidence:
    call = session.send(subject, {**session.request(subject), "payment_id": UNKNOWN_ID})
    return require_refused(session, subject, call)


def _only(status: str) -> RunOnSubject:
    other = {"booked": "pending", "pending": "booked"}[status]

    def run(session: Session, subject: Subject) -> Evidence:
        call = session.send(subject, {**session.request(subject), "booking_status": status})
        found = require_answer(session, subject, call)["transactions"]
        return demand(not found.get(other), call.evidence, f"transactions.{other} was not requested")

    return run


def _both(session: Session, subject: Subject) -> Evidence:
    everything = keyed_pages(session, subject, "both", PAGE_LIMIT)
    if not everything.is_complete:
        raise CheckSkipped("there are too many transactions to read them all")
    listed = everything.entries(transactions)
    for status in ("pending", "booked"):
        call, answer = answered(session, subject, booking_status=status)
        left_out = count_absent(answer["transactions"].get(status) or (), listed)
        said = f"both leaves out {left_out} transactions that {status} lists"
        demand(not left_out, call.evidence, said)
    return everything.last_call.evidence


def _one_day(session: Session, subject: Subject) -> Evidence:
    _, answer = answered(session, subject)
    days = map(booking_day, booked_transactions(answer))
    day = next((each for each in days if each), None)
    if day is None:
        raise CheckSkipped("no booked transaction has a booking_date")
    call, found = answered(session, subject, booking_status="booked", date_from=day, date_to=day)
    other = [each for each in map(booking_day, found["transactions"]["booked"]) if each not in (None, day)]
    return demand(not other, call.evidence, f"there are transactions of other days than {day}")


def _last_day(session: Session, subject: Subject) -> Evidence:
    _, answer = answered(session, subject)
    days = [booking_day(each) for each in booked_transactions(answer) if _is_of_one_day(each)]
    day = next((each for each in days if each), None)
    if day is None:
        raise CheckSkipped("no booked transaction has a booking_date that is also its value_date")
    call, found = answered(session, subject, booking_status="booked", date_from=day, date_to=day)
    listed = [booking_day(each) for each in found["transactions"]["booked"]]
    return demand(day in listed, call.evidence, f"no transaction of {day} is listed, though one was booked on it")


def _is_of_one_day(transaction: Mapping[str, Any]) -> bool:
    amount = transaction["transaction_amount"]
    return amount.get("value_date") in (None, amount.get("booking_date"))


def _transaction_days(session: Session, subject: Subject) -> Evidence:
    call, answer = answered(session, subject)
    days = [
        each["transaction_amount"].get(name) for each in transactions(answer) for name in ("value_date", "booking_date")
    ]
    wrong = [each for each in days if each is not None and not is_day(each)]
    return demand(not wrong, call.evidence, "value_date or booking_date is not YYYY-MM-DD")


_SIGN: Row = (
    "sign",
    "has negative amounts for money that leaves the account",
    RULES.format(section="Webhooks, the account's history"),
    "advice",
    "amount is negative where the account pays (sender_data, debtor_account), and positive where it is paid",
    _signs,
)
_ROWS: Mapping[str, tuple[Row, ...]] = {
    "account_payments": (
        (
            "values",
            "has known dates, statuses and types",
            "Specification, Enumerations: payment status, payment type",
            "advice",
            "date_created is a day, status and type are of the tables",
            _payment_values,
        ),
        _SIGN,
    ),
    "account_payment": (
        ("same-payment", "answers with the requested payment", "", "mandatory", "id is payment_id", _same_payment),
        (
            "unknown-payment",
            "refuses an unknown payment",
            "",
            "advice",
            "The call is refused with an error",
            _unknown_payment,
        ),
        (
            "values",
            "has known dates, statuses and types",
            "Specification, Enumerations: payment status, payment type",
            "advice",
            "date_created is a day, status and type are of the tables",
            _payment_values,
        ),
        _SIGN,
    ),
    "account_transactions": (
        (
            "booked-only",
            "lists booked transactions alone",
            "",
            "mandatory",
            "pending is absent or empty",
            _only("booked"),
        ),
        (
            "pending-only",
            "lists pending transactions alone",
            "",
            "mandatory",
            "booked is absent or empty",
            _only("pending"),
        ),
        (
            "both",
            "lists booked and pending transactions if both are asked for",
            "",
            "mandatory",
            "both has every transaction that booked and pending have",
            _both,
        ),
        ("days", "respects date_from and date_to", "", "advice", "No transaction of another day is listed", _one_day),
        (
            "last-day",
            "includes the days of date_from and date_to",
            RULES.format(section="Webhooks, /v2_account_transactions"),
            "mandatory",
            "If date_from and date_to are the day of a transaction, it is listed",
            _last_day,
        ),
        _SIGN,
        ("dates", "writes days as YYYY-MM-DD", "", "advice", "Days are YYYY-MM-DD", _transaction_days),
    ),
    "status-single": (
        (
            "unknown-payment",
            "refuses an unknown payment",
            "",
            "advice",
            "The call is refused with an error",
            _unknown_payment,
        ),
    ),
    "status-bulk": (
        (
            "unknown-payment",
            "refuses an unknown payment",
            "",
            "advice",
            "The call is refused with an error",
            _unknown_payment,
        ),
    ),
}
