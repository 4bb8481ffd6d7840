"""Parsers of text: addresses, account numbers, dates, amounts and titles."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache

from pydantic import TypeAdapter, ValidationError

from chalicelib.foundation.durations import InvalidDuration, read_duration
from chalicelib.foundation.fields.field_types import AN, Amount, Bic, Day, Iban, N, Name, PayeeName, Text, WebAddress
from chalicelib.foundation.fields.written_text import InvalidTitle, read_title
from chalicelib.foundation.http.addresses import InvalidAddress, check_address, check_query
from chalicelib.foundation.http.pages import safe_origin
from chalicelib.foundation.search_text import fold
from chalicelib.openbanking.oauth import dpop
from chalicelib.openbanking.protocol.payment_enumerations import is_confirmation_url
from chalicelib.openbanking.records import authorization_requests
from chalicelib.statistics.days import days_of_quarter, parse_day
from chalicelib.website.cards.card_text import InvalidAmount, parse_amount
from chalicelib.website.events.event_filter import EventFilter
from chalicelib.website.form_fields import first_second, last_second
from chalicelib.website.pagination import clamp_page_number
from tests.parsers.target import Target, text

ADDRESS_CHARACTERS = 2_048


def read_address(content: bytes) -> None:
    """An address of callbacks, events or key sets, or one that a bank sends a browser to."""
    url = text(content)
    is_confirmation_url(url, local=False)
    safe_origin(url)
    dpop._canonical(url)
    authorization_requests._canonical(url)
    authorization_requests.with_query(url, {"code": "1"})
    with suppress(InvalidAddress):
        check_query(check_address(url, local=True), ("code",))
    check_address(url, local=False)


@cache
def _fields() -> list[TypeAdapter[object]]:
    kinds = (AN[18], Text[140], Name[40], PayeeName[40], N[20], Amount[10], Iban, Bic, Day, WebAddress)
    return [TypeAdapter(kind) for kind in kinds]


def read_field(content: bytes) -> None:
    """A member of a message, of any type."""
    for field in _fields():
        with suppress(ValidationError):
            field.validate_python(text(content))


def read_time(content: bytes) -> None:
    """A day, a quarter, a moment, a duration or a page's number."""
    written = text(content)
    readers: list[Callable[[str], object]] = [read_day, days_of_quarter, read_filter, read_duration]
    for reader in readers:
        with suppress(ValueError):
            reader(written)
    clamp_page_number(written, 7)


def read_day(written: str) -> None:
    day = parse_day(written)
    first_second(day), last_second(day)


def read_filter(written: str) -> None:
    """The filter of the events page, which raises nothing."""
    try:
        EventFilter.of(lambda _: written).search("client")
    except ValueError as error:
        raise AssertionError("a filter must not raise") from error


def read_amount(content: bytes) -> None:
    for currency in (978, 392, 48, 0):
        with suppress(InvalidAmount):
            parse_amount(text(content), currency)


def read_written_title(content: bytes) -> None:
    """A title, and the words of a search, which fit into an address."""
    fold(text(content)[:ADDRESS_CHARACTERS])
    read_title(text(content), 100)


TARGETS: Mapping[str, Target] = {
    "address": Target(read_address, (InvalidAddress,)),
    "field": Target(read_field),
    "time": Target(read_time, (InvalidDuration,)),
    "amount": Target(read_amount),
    "title": Target(read_written_title, (InvalidTitle,)),
}
