"""Payments and transactions in lists: their ids, their contents, and the comparison of two reads."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from chalicelib.foundation.fields.field_types import read_day
from chalicelib.openbanking.protocol.v1_account_messages import PaymentRecord
from chalicelib.openbanking.protocol.v2_account_messages import Transaction

Entry = Mapping[str, Any]
_SETTLED = 4
"""The version 1 status of payments that are booked."""
_CONTENT = (PaymentRecord.model_fields.keys() | Transaction.model_fields.keys()) - {"id", "transaction_id"}
"""The members that make up an entry's content. Members that only the bank knows may change with each read."""


def payments(answer: Mapping[str, Any]) -> list[Entry]:
    """Return the payments of a response."""
    found: list[Entry] = answer["payments"]
    return found


def booked_payments(answer: Mapping[str, Any]) -> list[Entry]:
    """Return the payments of a response that are booked."""
    return [each for each in payments(answer) if each.get("status") is None or str(each["status"]) == str(_SETTLED)]


def transactions(answer: Mapping[str, Any]) -> list[Entry]:
    """Return the booked and the pending transactions of a response."""
    return [*booked_transactions(answer), *(answer["transactions"].get("pending") or ())]


def booked_transactions(answer: Mapping[str, Any]) -> list[Entry]:
    """Return the booked transactions of a response."""
    return list(answer["transactions"].get("booked") or ())


def booking_day(transaction: Entry) -> str | None:
    """Return the booking date of a transaction; ``None`` if it is missing or no day."""
    day = transaction["transaction_amount"].get("booking_date")
    return day if is_day(day) else None


def is_day(value: object) -> bool:
    """Return whether a value is a day, YYYY-MM-DD."""
    return isinstance(value, str) and read_day(value) is not None


def entry_id(entry: Entry) -> str:
    """Return the id of a payment or transaction; empty if it is missing or blank."""
    given = entry.get("transaction_id" if "transaction_amount" in entry else "id")
    return str(given) if isinstance(given, str | int) and str(given).strip() else ""


def content_of(entry: Entry) -> str:
    """Return the members of the specification without the id."""
    return _text({name: value for name, value in entry.items() if name in _CONTENT})


def count_absent(entries: Iterable[Entry], read: Iterable[Entry]) -> int:
    """Return how many of ``entries`` another read lacks.

    Ids may change between two reads, and so may other members: an entry is absent if neither is found.
    """
    entries, read = list(entries), list(read)
    return min(_count_absent(each, entries, read) for each in (_identity, content_of))


def _count_absent(key: Callable[[Entry], str], entries: Iterable[Entry], read: Iterable[Entry]) -> int:
    return (Counter(map(key, entries)) - Counter(map(key, read))).total()


def _identity(entry: Entry) -> str:
    return entry_id(entry) or _text(entry)


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True, default=str)


def find_shared_entry(pages: Sequence[Sequence[Entry]]) -> int:
    """Return the number of the first page with an entry, by id and content, of the page before; 0 if there is none."""
    entries = [{(entry_id(each), content_of(each)) for each in page if entry_id(each)} for page in pages]
    return next((number for number, (before, page) in enumerate(pairwise(entries), start=2) if before & page), 0)


def find_repeated_page(pages: Sequence[Sequence[Entry]], allowed: int) -> int:
    """Return the number of the first page that repeats the page before; 0 if there is none.

    A page of one entry or of equal entries can follow itself. ``allowed`` is how often in a row another page can, too.
    """
    repeats = 0
    for number, (before, page) in enumerate(pairwise(pages), start=2):
        repeats = repeats + 1 if page == before and any(each != page[0] for each in page) else 0
        if repeats > allowed:
            return number
    return 0
