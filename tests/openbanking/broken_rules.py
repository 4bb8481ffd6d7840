"""Values that violate the rule of a request member, and boundary values that follow the rule."""

from typing import Any

from chalicelib.foundation.jsontext import Number
from tests.openbanking.kit import IBAN
from tests.openbanking.specification import TABLES, Member

MAY_BE_EMPTY = ("receiver_iban", "receiver_account_number", "receiver_sort_code")
"""The members of version 1 in which an empty text means that the member is absent."""

NO_TEXT: dict[str, Any] = {"a number": 7, "true": True, "a list": [], "an object": {}}
NO_LIST: dict[str, Any] = {"an object": {}, "a text": "x", "a number": 7}
NO_OBJECT: dict[str, Any] = {"a list": [], "a text": "x", "a number": 7, "true": True}

NO_IBAN: dict[str, Any] = {
    "wrong check digits": "GB34BUKB20201555555555",
    "too short": IBAN[:-1],
    "too long": IBAN + "0" * 13,
    "of an unknown country": "XX33BUKB20201555555555",
    "other script": "GB33BUKB2020155555555\u0665",
    **NO_TEXT,
}
NO_CURRENCY: dict[str, Any] = {"long": "EURO", "short": "EU", "small": "eur", "unknown": "ZZZ", "empty": "", **NO_TEXT}
NO_COUNTRY: dict[int | None, dict[str, Any]] = {
    2: {"alpha-3": "DEU", "small": "de", "unknown": "ZZ", "empty": "", **NO_TEXT},
    3: {"alpha-2": "DE", "small": "deu", "unknown": "ZZZ", "empty": "", **NO_TEXT},
}
NO_ADDRESS: dict[str, Any] = {
    "no address": "nonsense",
    "another scheme": "ftp://127.0.0.1:8000/",
    "no host": "http:///done",
    "a fragment": "http://127.0.0.1:8000/#done",
    "a user": "http://tpp@127.0.0.1:8000/",
    "a line break": "http://127.0.0.1:8000/\r\nX: y",
    "empty": "",
    **NO_TEXT,
}
NO_NAME: dict[str, Any] = {
    "digits": "R2D2",
    "a line break": "Zoë\nO'Brien",
    "an at sign": "Zoë @ home",
    "blank": " ",
    "empty": "",
    **NO_TEXT,
}
NO_PAYEE = {label: value for label, value in NO_NAME.items() if label != "digits"}
NO_LETTERS: dict[str, Any] = {"digits": "SC0R", "a space": "SC OR", "empty": "", **NO_TEXT}
NO_PRINTABLE_TEXT: dict[str, Any] = {
    "a zero byte": "a\u0000b",
    "a line break": "a\nb",
    "a hidden turn": "a\u202eb",
    "empty": "",
    **NO_TEXT,
}
NO_DIGITS: dict[str, Any] = {
    "letters": "12a",
    "a sign": "-1",
    "a dot": Number("1.5"),
    "other script": "\u0661\u0662",
    "empty": "",
    "true": True,
    "a list": [],
    "an object": {},
}
NO_AMOUNT: dict[str, Any] = {
    "zero": 0,
    "zero in words": "0",
    "zero with a fraction": Number("0.00"),
    "negative": -1,
    "negative in words": "-0.01",
    "an exponent": Number("1e2"),
    "an exponent in words": "1E2",
    "a comma": "1,50",
    "a plus": "+1",
    "spaces": " 1 ",
    "no digit before the dot": ".5",
    "no digit after the dot": "5.",
    "two dots": "1.2.3",
    "an underscore": "1_000",
    "hexadecimal": "0x10",
    "other script": "\u0661\u0662",
    "not a number": "NaN",
    "endless": "Infinity",
    "letters": "ten",
    "empty": "",
    "true": True,
    "a list": [],
    "an object": {},
}
NO_COUNT: dict[str, Any] = {
    "zero": "0",
    "negative": "-1",
    "a fraction": "1.5",
    "a plus": "+1",
    "letters": "ten",
    "other script": "\u0661",
    "an exponent": "1e2",
    "empty": "",
}
HIGHEST = {"record_count": 100, "current_page": 999, "page_size": 999}
NO_DAY: dict[str, Any] = {
    "no such day": "2026-02-30",
    "short": "2026-1-1",
    "turned round": "31-01-2026",
    "with a time": "2026-01-31T00:00:00",
    "no dashes": "20260131",
    "other script": "\u0662026-01-31",
    "empty": "",
}
NO_BOOKING_STATUS: dict[str, Any] = {"unknown": "all", "capitals": "BOOKED", "empty": ""}


def meaning(member: Member) -> str:
    """Return the meaning of a request member, which determines rules in addition to the type."""
    if member.name.endswith("iban"):
        return "iban"
    if member.name in ("currency", "country", "amount", "payment_scheme", "callback_url", "booking_status"):
        return member.name
    if member.name in HIGHEST:
        return "count"
    if member.name in ("date_from", "date_to"):
        return "day"
    if member.type == "A" and member.name in ("receiver_name", "town_name"):
        return "payee" if member.name == "receiver_name" else "name"
    return "digits" if member.type == "N" else member.type


def refused_values(member: Member, *, in_query: bool) -> dict[str, Any]:
    """Return invalid values of a request member by description. For a query parameter, return only texts."""
    refused = _BY_MEANING[meaning(member)](member) | _too_long(member)
    if member.requirement == "M" and not in_query and member.name != "payment_scheme":
        refused = {**refused, "null": None}
    if member.name in MAY_BE_EMPTY:
        refused = {label: value for label, value in refused.items() if value != ""}
    return {label: value for label, value in refused.items() if not in_query or isinstance(value, str)}


_BY_MEANING: dict[str, Any] = {
    "iban": lambda member: NO_IBAN,
    "currency": lambda member: NO_CURRENCY,
    "country": lambda member: NO_COUNTRY[member.length],
    "amount": lambda member: NO_AMOUNT,
    "payment_scheme": lambda member: NO_TEXT,
    "callback_url": lambda member: NO_ADDRESS,
    "booking_status": lambda member: NO_BOOKING_STATUS,
    "count": lambda member: NO_COUNT | {"too high": str(HIGHEST[member.name] + 1)},
    "day": lambda member: NO_DAY,
    "name": lambda member: NO_NAME,
    "payee": lambda member: NO_PAYEE,
    "digits": lambda member: NO_DIGITS,
    "A": lambda member: NO_LETTERS,
    "AN": lambda member: NO_PRINTABLE_TEXT,
    "LIST": lambda member: NO_LIST | {"empty": [], "of texts": ["x"]},
    "OBJECT": lambda member: NO_OBJECT,
}


PAYMENT_ASKED_FOR = TABLES[2]["/v2_payment_single_status"].request[0]
LONGEST_PAYMENT_ID = 1024
LONGEST_ID = 255
"""The maximum length of an account or payment id in a request, longer than documented because banks may issue such ids.
"""


def _too_long(member: Member) -> dict[str, Any]:
    if member.length is None:
        return {}
    length = LONGEST_ID if member.name in ("account_id", "payment_id") else member.length
    length = LONGEST_PAYMENT_ID if member == PAYMENT_ASKED_FOR else length
    long = longest(member, length + 1)
    return {} if long is None else {"too long": long}


def longest(member: Member, length: int) -> Any:
    """Return a value of the given length that is otherwise valid for a member, or ``None`` if no value exists."""
    made = {
        "amount": Number("9" * (length - 2) + ".10"),
        "digits": "0" * length,
        "name": ("Zoë " * length)[: length - 1] + "Z",
        "payee": ("Zoë 5 " * length)[: length - 1] + "5",
        "A": "S" * length,
        "AN": ("Straße 5!@." * length)[:length],
    }
    return made.get(meaning(member))
