"""Checks of what responses say about payments and transactions: pages, days, values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date
from typing import Any

from chalicelib.openbanking.protocol.payment_statuses import NUMBERS
from chalicelib.openbanking.protocol.version import Version
from infra.conformance.check import Check, CheckFailed, CheckSkipped, Evidence
from infra.conformance.checks import content_rows
from infra.conformance.checks.content_rows import Row, answered
from infra.conformance.checks.judging import RunOnSubject, demand, require_answer, require_refused
from infra.conformance.requests import UNKNOWN_ID
from infra.conformance.session import Session
from infra.conformance.subjects import Subject

PAGE_LIMIT = 100
_LAST_PAGE = 999
_PAYMENT_TYPES = ("Bank transfer", "Card transfer", "Internal transfer", "Load", "Withdrawal", "Other")


def checks(version: Version, subject: Subject) -> list[Check]:
    """The checks of one webhook's contents."""
    return content_rows.build(version, subject, _ROWS.get(subject.name, ()))


# -- payments and transactions


def _page(session: Session, subject: Subject) -> Evidence:
    call, answer = answered(session, subject)
    page = answer["paginator"]
    if not all(str(page[name]).isdecimal() for name in ("limit", "current_page")):
        raise CheckFailed(call.evidence, "paginator.limit and current_page must be whole numbers")
    limit, current = int(str(page["limit"])), int(str(page["current_page"]))
    if current != call.members["current_page"]:
        raise CheckFailed(call.evidence, "paginator.current_page is not the requested page")
    if not 1 <= limit <= PAGE_LIMIT:
        raise CheckFailed(call.evidence, f"paginator.limit is not from 1 to {PAGE_LIMIT}")
    return demand(len(answer["payments"]) <= limit, call.evidence, "there are more payments than paginator.limit")


def _small_page(session: Session, subject: Subject) -> Evidence:
    call, answer = answered(session, subject, record_count=1)
    return demand(len(answer["payments"]) <= 1, call.evidence, "there are more payments than record_count")


def _past_the_end(session: Session, subject: Subject) -> Evidence:
    call, answer = answered(session, subject, current_page=_LAST_PAGE)
    return demand(not answer["payments"], call.evidence, f"page {_LAST_PAGE} is not empty")


def _payment_values(session: Session, subject: Subject) -> Evidence:
    call, answer = answered(session, subject)
    rows = answer["payments"] if "payments" in answer else [answer["payment"]]
    problems = [problem for index, row in enumerate(rows) for problem in _wrong_payment(f"{index}", row)]
    return demand(not problems, call.evidence, "; ".join(problems[:10]))


def _wrong_payment(place: str, payment: Mapping[str, Any]) -> Iterator[str]:
    if not _is_day(payment["date_created"]):
        yield f"{place}: date_created is not YYYY-MM-DD"
    if payment.get("status") is not None and NUMBERS.read(_as_int(payment["status"])) is None:
        yield f"{place}: status is not one of {', '.join(map(str, NUMBERS.meanings))}"
    if payment.get("type") is not None and payment["type"] not in _PAYMENT_TYPES:
        yield f"{place}: type is not one of {', '.join(_PAYMENT_TYPES)}"


def _as_int(value: Any) -> Any:
    return int(value) if str(value).isdecimal() else value


def _is_day(value: object) -> bool:
    try:
        return isinstance(value, str) and date.fromisoformat(value).isoformat() == value
    except ValueError:
        return False


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


def _transactions(answer: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    found = answer["transactions"]
    return [*(found.get("booked") or ()), *(found.get("pending") or ())]


def _small_transactions(session: Session, subject: Subject) -> Evidence:
    call, answer = answered(session, subject, page_size=1)
    return demand(len(_transactions(answer)) <= 1, call.evidence, "there are more transactions than page_size")


def _next_page(session: Session, subject: Subject) -> Evidence:
    _, first = answered(session, subject, page_size=1)
    if not first.get("page_key"):
        raise CheckSkipped("a page of one transaction has no page_key: there is one page only")
    call, second = answered(session, subject, page_size=1, page_key=first["page_key"])
    ids = [each.get("transaction_id") for each in _transactions(second)]
    before = [each.get("transaction_id") for each in _transactions(first)]
    is_other = not ids or None in ids or not set(ids) & set(before)
    return demand(is_other, call.evidence, "the next page has the transaction of the first")


def _one_day(session: Session, subject: Subject) -> Evidence:
    """Booked transactions between two days; the days are those of a transaction in the first response."""
    _, answer = answered(session, subject)
    days = [_booking_day(each) for each in answer["transactions"].get("booked") or ()]
    day = next((each for each in days if each), None)
    if day is None:
        raise CheckSkipped("no booked transaction has a booking_date")
    call, found = answered(session, subject, booking_status="booked", date_from=day, date_to=day)
    other = [each for each in map(_booking_day, found["transactions"]["booked"]) if each not in (None, day)]
    return demand(not other, call.evidence, f"there are transactions of other days than {day}")


def _booking_day(transaction: Mapping[str, Any]) -> str | None:
    day = transaction["transaction_amount"].get("booking_date")
    return day if _is_day(day) else None


def _transaction_days(session: Session, subject: Subject) -> Evidence:
    call, answer = answered(session, subject)
    days = [
        each["transaction_amount"].get(name)
        for each in _transactions(answer)
        for name in ("value_date", "booking_date")
    ]
    wrong = [each for each in days if each is not None and not _is_day(each)]
    return demand(not wrong, call.evidence, "value_date or booking_date is not YYYY-MM-DD")


_PAGES = "Bank integration: Webhooks, /account_payments"
_ROWS: Mapping[str, tuple[Row, ...]] = {
    "account_payments": (
        (
            "page",
            "answers the requested page with the limit that it applied",
            _PAGES,
            "mandatory",
            f"paginator has the requested page and a limit of at most {PAGE_LIMIT}, and not more payments are listed",
            _page,
        ),
        ("page-size", "respects record_count", "", "mandatory", "At most record_count payments", _small_page),
        ("past-the-end", "has empty pages after the last", _PAGES, "mandatory", "payments is empty", _past_the_end),
        (
            "values",
            "has known dates, statuses and types",
            "Specification, Enumerations: payment status, payment type",
            "advice",
            "date_created is a day, status and type are of the tables",
            _payment_values,
        ),
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
        ("page-size", "respects page_size", "", "mandatory", "At most page_size transactions", _small_transactions),
        (
            "next-page",
            "leads to the next page",
            "",
            "mandatory",
            "A request with page_key is answered with other transactions",
            _next_page,
        ),
        ("days", "respects date_from and date_to", "", "advice", "No transaction of another day is listed", _one_day),
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
