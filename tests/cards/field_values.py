"""Valid and invalid values of request members, by the member type in the specification's table."""

from collections.abc import Callable, Mapping
from typing import Any

from chalicelib.foundation.jsontext import Number
from tests.cards.specification import Member

MISSING, TYPE, LENGTH, CHARACTERS, VALUE, REQUIRED, EXCLUDED, UNKNOWN = range(2001, 2009)

Refused = list[tuple[Any, int]]
LISTS_LONGEST = 65536

NOT_EVEN_A_VALUE: Refused = [(True, TYPE), (False, TYPE), ({}, TYPE), ({"a": 1}, TYPE)]
NO_TEXT: Refused = [*NOT_EVEN_A_VALUE, (7, TYPE), (Number("1.5"), TYPE), ([], TYPE), (["Zoë"], TYPE), ("", LENGTH)]
NO_NUMBER: Refused = [
    *NOT_EVEN_A_VALUE,
    *((number, TYPE) for number in (-1, Number("1.0"), Number("1e2"), Number("0.5"))),
    *((text, TYPE) for text in ("-1", "+1", "1.0", "1e2", " 1", "1 ", "x", "0x1", "1_0", "\u0661", "\uff11")),
    ("", LENGTH),
]
NO_LIST: Refused = [([], TYPE), ([1], TYPE)]

TRANSACTION_TYPES = (0, 1, 2, 9, 10, 11, 12, 19, 20, 21, 22, 23, 26, 28, 30, 39)
ENTRY_MODES = (0, 1, 2, 5, 7, 10, 80, 81, 90, 91)
RESPONSE_CODES = (
    *("00", "10", "14", "41", "43", "46", "51", "54", "55", "57", "59", "61", "62", "65", "75", "78", "91", "96"),
    *("1A", "N7"),
)
ARUDD_REASONS = ("0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "A", "B")
SEPA_REASONS = ("AC01", "AC04", "AC06", "AM04", "AM05", "MD06", "MD07", "MS02", "MS03")
SCHEMES = ("FPS", "BACS", "CHAPS", "SCTINST", "SCT")
RESULTS = ("settled", "rejected", "returned")
STEPS = ("opened", "won", "lost")


def refused(member: Member) -> Refused:
    """Return the rejected values of a member, each with the expected status code."""
    kind, _, rest = member.type.partition(":")
    return _VALUES[kind][0](member, rest)


def taken(member: Member) -> dict[str, tuple[Any, Any]]:
    """Return the accepted values of a member, each with the parsed value."""
    kind, _, rest = member.type.partition(":")
    return {f"{value!r:.40}": (value, meant) for value, meant in _VALUES[kind][1](member, rest)}


# -- numbers


def _no_number(member: Member, _: str = "") -> Refused:
    found = [*NO_NUMBER, *NO_LIST]
    if member.longest:
        found += [("1" * (member.longest + 1), LENGTH), (10**member.longest, LENGTH)]
    if member.shortest > 1:
        short = member.shortest - 1
        found += [("1" * short, LENGTH), (10**short - 1, LENGTH)]
    return found


def _numbers(member: Member, _: str = "") -> list[tuple[Any, Any]]:
    shortest, longest = member.shortest or 1, member.longest or 4
    low, high = "1" * shortest, "9" * longest
    return [(int(low), int(low)), (low, int(low)), (int(high), int(high)), (high, int(high)), ("0" * longest, 0)]


def _digits(member: Member, _: str = "") -> list[tuple[Any, Any]]:
    shortest, longest = member.shortest or 4, member.longest or 11
    zeros = "0" * (longest - 1) + "7"
    return [("1" * shortest, "1" * shortest), (zeros, zeros), (int("9" * longest), "9" * longest)]


def _no_code(member: Member, _: str = "") -> Refused:
    return [*NO_NUMBER, *NO_LIST, ("0978", LENGTH), (1000, LENGTH), (1, VALUE), ("001", VALUE)]


def _no_currency(member: Member, _: str = "") -> Refused:
    return [*_no_code(member), *((code, VALUE) for code in (999, "999", 959, 960, 963, 964, 994))]


def _one_of(member: Member, values: str) -> list[tuple[Any, Any]]:
    found: list[tuple[Any, Any]] = []
    for value in values.split(","):
        found += [(int(value), int(value)), (value, int(value))] if value.isdigit() else [(value, value)]
    return found


def _none_of(member: Member, values: str) -> Refused:
    if values[0].isdigit():
        return [*NO_NUMBER, *NO_LIST, (3, VALUE), ("9", VALUE), ("00", LENGTH), (10, LENGTH)]
    return [*NO_TEXT, ("X", VALUE), (values[0].lower(), VALUE), (values[:1] * 2, LENGTH), ("\u0410", VALUE)]


def _none_of_these(*wrong: Any) -> Any:
    return lambda member, _: [*_no_number(member), *((value, VALUE) for value in wrong)]


def _no_amount(member: Member, _: str) -> Refused:
    return [*_no_number(member), (0, VALUE), ("0", VALUE), ("000", VALUE)]


def _amounts(member: Member, _: str) -> list[tuple[Any, Any]]:
    return [(value, meant) for value, meant in _numbers(member) if meant]


def _each_of(values: tuple[int, ...]) -> Any:
    return lambda member, _: [*((value, value) for value in values), *((str(value), value) for value in values)]


# -- texts


def _bounds(member: Member, letter: str) -> Refused:
    found: Refused = [(letter * (member.longest + 1), LENGTH)] if member.longest else []
    return found + ([(letter * (member.shortest - 1), LENGTH)] if member.shortest > 1 else [])


def _no_text_of(wrong: str, letter: str = "a") -> Any:
    """Return a function that returns rejected texts, including texts of a valid length with one forbidden character."""

    def refused(member: Member, _: str) -> Refused:
        length = max(member.shortest, min(member.longest or 4, 4))
        texts = [(f"{character}{letter * (length - 1)}", CHARACTERS) for character in wrong]
        return [*NO_TEXT, *_bounds(member, letter), *texts]

    return refused


def _texts_of(*letters: str) -> Any:
    def taken(member: Member, _: str) -> list[tuple[Any, Any]]:
        texts = {letter * length for letter in letters for length in (member.shortest or 1, member.longest or 20)}
        return [(text, text) for text in sorted(texts)]

    return taken


def _no_word(member: Member, _: str) -> Refused:
    wrong = [*NOT_EVEN_A_VALUE, (Number("1.5"), TYPE), ([], TYPE), (["Zoë"], TYPE), (-1, TYPE), ("", LENGTH)]
    return [*wrong, *_bounds(member, "S"), *((word, VALUE) for word in ("Z" * member.shortest, "Z" * member.longest))]


def _words(*words: str) -> Any:
    numbers = [(int(word), word) for word in words if word.isdigit()]
    spellings = {spelt: word for word in words for spelt in (word, word.lower(), word.upper())}
    return lambda member, _: [*spellings.items(), *numbers]


_IBANS = ("GB29NWBK60161331926819", "DE89370400440532013000", "NO9386011117947", "MT84MALT011000012345MTLCAST001S")
"""Example IBANs from the IBAN registry."""


def _no_iban(member: Member, _: str) -> Refused:
    wrong = [("GB29NWBK601613", LENGTH), ("DE89" + "0" * 31, LENGTH), ("GB29_NWBK_6016_1331_9268_19", CHARACTERS)]
    wrong += [("GB29/NWBK60161331926819", CHARACTERS), ("\uff27B29NWBK60161331926819", CHARACTERS)]
    others = ("GB28NWBK60161331926819", "DE8937040044053201300", "XX89370400440532013000", "GB29601613319268NWBK19")
    return [*NO_TEXT, *wrong, *((iban, VALUE) for iban in others)]


def _ibans(member: Member, _: str) -> list[tuple[Any, Any]]:
    return [(spelt, iban) for iban in _IBANS for spelt in (iban, iban.lower())]


# -- addresses


def _no_email(member: Member, _: str) -> Refused:
    wrong = ["ada.example.com", "@example.com", "ada.okafor@", "ada@localhost", "ada@@example.com", "a b@example.com"]
    wrong += [".ada@example.com", "ada.@example.com", "a..da@example.com", "ada@example..com", "ada@.example.com"]
    wrong += ["ada@-example.com", "ada@example-.com", "ada@192.0.2.1", "ada@[192.0.2.1]", "Ada <ada@example.com>"]
    wrong += ["ada@exam_ple.com", "ada@example.com.", "a,da@example.com", "ada@example.com,eve@example.com", "a" * 100]
    wrong += [f"{'a' * 65}@example.com", f"ada@{'a' * 64}.com"]
    marks = [(f"ada{mark}@example.com", CHARACTERS) for mark in "\x00\n\t\x7f\u202e\u200b\u00a0"]
    long = f"{'a' * 60}@{'b' * 36}.com"
    return [*NO_TEXT, ("a@b.c", LENGTH), (long, LENGTH), *marks, *((text, VALUE) for text in wrong)]


def _emails(member: Member, _: str) -> list[tuple[Any, Any]]:
    plain = ["a@b.de", "Ada.O'Neil+cards@mail.example.co.uk", "x_1-2@1a.example", "zo\u00eb@b\u00fccher.example"]
    long = [f"{'a' * 64}@{'b' * 31}.com", f"ada@{'c' * 63}.com", "ada@xn--bcher-kva.example", "a!#$%&*/=?^`{|}~@b.org"]
    return [(text, text) for text in (*plain, *long)]


def _no_ipv4(member: Member, _: str) -> Refused:
    wrong = ["203.0.113", "203.0.113.", "256.1.1.1", "203.0.113.07", "0x7f.0.0.1", "203.0.113.1/8", "2001:db8::1"]
    wrong += ["203,0,113,1", "203.0.113.1 ", " 1.1.1.1", "1.1.1.1.1", "203.0.113.-1", "1.1.1.\u0661", "localhost"]
    marks = [(f"1.1.1.1{mark}", CHARACTERS) for mark in "\x00\n\u200b"]
    return [*NO_TEXT, ("1.1.1", LENGTH), ("203.0.113.254.9x", LENGTH), *marks, *((text, VALUE) for text in wrong)]


def _ipv4(member: Member, _: str) -> list[tuple[Any, Any]]:
    return [(text, text) for text in ("1.1.1.1", "10.0.0.255", "203.0.113.77", "255.255.255.255")]


# -- pages


def _page_of(item_count: Any, offset: Any, **others: Any) -> dict[str, Any]:
    return {"item_count": item_count, "offset": offset, **others}


_NO_PAGE: Refused = [
    *((value, TYPE) for value in (True, 7, "20,0", [], [20, 0], Number("1.5"))),
    *((value, MISSING) for value in ({}, {"item_count": 20}, {"offset": 0}, _page_of(None, 0), _page_of(20, None))),
    *((_page_of(count, 0), TYPE) for count in (True, "x", [20])),
    *((page, TYPE) for page in (_page_of(20, -1), _page_of(20, Number("1.0")), _page_of(20, {}))),
    *((_page_of(*pair), LENGTH) for pair in (("", 0), ("0" * 12, 0), (20, ""), (20, 10**11), (20, "0" * 12))),
    *((_page_of(*pair), VALUE) for pair in ((0, 0), (101, 0), ("101", 0), (10**10, 0))),
    (_page_of(20, 0, last_id=7), UNKNOWN),
]
_PAGES = [
    (_page_of(1, 0), (1, 0)),
    (_page_of("100", "99999999999"), (100, 99_999_999_999)),
    (_page_of("07", 3), (7, 3)),
]


def _no_item_count(member: Member, _: str) -> Refused:
    return [*NO_NUMBER, *NO_LIST, (0, VALUE), (101, VALUE), ("101", VALUE), (10**10, VALUE), (10**11, LENGTH)]


# -- objects

_NO_OBJECT: Refused = [
    *((value, TYPE) for value in (True, 7, "nights", [], [{"nights": 2}], Number("1.5"))),
    *((value, LENGTH) for value in ({}, {"a": "x" * 1993}, {"a": "\u00e9" * 997}, {str(n): n for n in range(500)})),
]
_OBJECTS = [
    (value, value) for value in ({"nights": 2}, {"a": "x" * 1992}, {"": None}, {"a": [{"b": Number("1.50")}, False]})
]

# -- lists

_TRIMMED = ("", " 1", "1 ")  # an empty list, and one entry with spaces around it


def _inner(member: Member, kind: str) -> Member:
    return Member(member.name, member.requirement, kind, member.shortest, member.longest)


def _no_list_of(member: Member, kind: str) -> Refused:
    inner = _inner(member, kind)
    single = [(value, code) for value, code in refused(inner) if not isinstance(value, list) and value not in _TRIMMED]
    good, other = ("SCTINST", "SCT") if kind == "SCHEME" else ("978", "826")
    several = [([good, value], code) for value, code in single]
    commas = [(f"{good},{value}", code) for value, code in single if isinstance(value, str)]
    eleven = _eleven(kind)
    return [
        *single,
        *several,
        *commas,
        (",".join(eleven), LENGTH),
        (eleven, LENGTH),
        ([[good]], TYPE),
        (f"{good},,{other}", LENGTH),
    ]


def _eleven(kind: str) -> list[str]:
    if kind == "CURRENCY":
        return ["978", "826", "840", "036", "124", "208", "392", "578", "752", "756", "985"]
    return [f"X{number}" if kind == "SCHEME" else str(number) for number in range(1, 12)]


def _lists_of(member: Member, kind: str) -> list[tuple[Any, Any]]:
    return [
        *(([value], (meant,)) for value, meant in taken(_inner(member, kind)).values()),
        *((value, (meant,)) for value, meant in taken(_inner(member, kind)).values()),
        *(_lists_of_schemes() if kind == "SCHEME" else _lists_of_numbers(_eleven(kind)[:10])),
        ("", None),
        ([], None),
    ]


def _lists_of_numbers(ten: list[str]) -> list[tuple[Any, Any]]:
    return [
        ("978,826", (978, 826)),
        (" 978 , 826 ", (978, 826)),
        ([978, "826"], (978, 826)),
        (ten, tuple(map(int, ten))),
    ]


def _lists_of_schemes() -> list[tuple[Any, Any]]:
    return [
        ("SCTINST,SCT", ("SCTINST", "SCT")),
        (" sct , SctInst ", ("SCT", "SCTINST")),
        (["CHAPS", "fps"], ("CHAPS", "FPS")),
        ([*SCHEMES], SCHEMES),
    ]


def _series(good: str, wrong: tuple[str, ...], *, long: str) -> tuple[Any, Any]:
    """Return invalid and valid values of a comma-separated list. ``long`` is repeated up to the maximum length."""
    longest = (f"{long}," * LISTS_LONGEST)[: LISTS_LONGEST // (len(long) + 1) * (len(long) + 1) - 1]
    longest += " " * (LISTS_LONGEST - len(longest))

    def refused(member: Member, _: str) -> Refused:
        bad = [(text, VALUE) for text in (*wrong, f"{good},", f",{good}", f"{good},,{good}", f"{good};{good}")]
        return [*NO_TEXT, *bad, (f"{longest} ", LENGTH)]

    def taken(member: Member, _: str) -> list[tuple[Any, Any]]:
        return [(good, (good,)), (f"{good}, {good}", (good,)), (longest, (long,))]

    return refused, taken


_PAIRS = _series("400012+SHOP0001", ("400012", "400012 SHOP", "+SHOP", "400012+", "ABCD+SHOP"), long="400012+SHOP0001")
_MCCS = _series("5411", ("541", "54111", "54a1", "5411 5812", "\u0665411"), long="5411")
_COUNTRIES = _series("276", ("999", "1", "0276", "DEU", "27 6"), long="276")


def _no_names(member: Member, _: str) -> Refused:
    wrong = [*NOT_EVEN_A_VALUE, (7, TYPE), ("Corner Shop", TYPE), ([7], TYPE), ([None], TYPE), ([["x"]], TYPE)]
    return [*wrong, ([""], LENGTH), (["x" * (LISTS_LONGEST + 1)], LENGTH), (["a\nb"], CHARACTERS)]


def _names(member: Member, _: str) -> list[tuple[Any, Any]]:
    whole = "x" * LISTS_LONGEST
    return [(["Corner Shop"], ("Corner Shop",)), (["Zoë", "Books, etc."], ("Zoë", "Books, etc.")), ([whole], (whole,))]


_NO_DAYS = ("1990-02-30", "31-01-1990", "1990/01/31", "1990-13-01", "\u0661990-01-31", "0000-00-00")
_NO_DATE: Refused = [
    *NO_TEXT,
    *((text, LENGTH) for text in ("1990-1-31", "1990-01-31T", "19900131")),
    *((text, VALUE) for text in _NO_DAYS),
]
_CODES = [(978, 978), ("978", 978), (826, 826), (36, 36), ("36", 36), ("036", 36), ("008", 8), (8, 8)]

_VALUES: Mapping[str, tuple[Callable[[Member, str], Refused], Any]] = {
    "ID": (_no_number, _numbers),
    "N": (_no_number, _numbers),
    "DIGITS": (_no_number, _digits),
    "CURRENCY": (_no_currency, lambda member, _: [*_CODES, *((code, code) for code in (532, 950, 951, 952, 953))]),
    "COUNTRY": (_no_code, lambda member, _: [(code, meant) for code, meant in _CODES if meant != 978]),
    "LEVEL": (
        lambda member, _: [*NO_NUMBER, *NO_LIST, ("1001", VALUE), (1001, VALUE)],
        lambda member, _: [(0, 0), ("0", 0), (1000, 1000), ("1000", 1000), ("0300", 300)],
    ),
    "MONTHS": (
        lambda member, _: [*NO_NUMBER, *NO_LIST, (0, VALUE), (301, VALUE), ("999", VALUE)],
        lambda member, _: [(1, 1), ("1", 1), (300, 300), ("300", 300), ("036", 36)],
    ),
    "MONTH": (
        lambda member, _: [*NO_NUMBER, *NO_LIST, (0, VALUE), ("00", VALUE), (13, VALUE), ("012", LENGTH)],
        lambda member, _: [(1, 1), ("01", 1), ("1", 1), (12, 12), ("12", 12)],
    ),
    "FLAG": (lambda member, _: _none_of(member, "0,1"), lambda member, _: _one_of(member, "0,1")),
    "OF": (_none_of, _one_of),
    "REASON": (_none_of_these(0, 999, "21"), _each_of(tuple(range(1, 21)))),
    "TRANSACTION_TYPE": (_none_of_these(3, 60, 70, "99"), _each_of(TRANSACTION_TYPES)),
    "ENTRY_MODE": (_none_of_these(3, "99"), _each_of(ENTRY_MODES)),
    "RESPONSE_CODE": (
        lambda member, _: [*NO_TEXT, ("0", LENGTH), ("000", LENGTH), ("Z9", VALUE), ("0-", VALUE)],
        lambda member, _: [(code, code) for code in RESPONSE_CODES],
    ),
    "DATE": (
        lambda member, _: _NO_DATE,
        lambda member, _: [(day, day) for day in ("1990-01-31", "2024-02-29", "2099-12-31")],
    ),
    "AN": (_no_text_of(" -_.\u00e9\u0661\n"), _texts_of("a", "Z", "7")),
    "BRITISH_NUMBER": (
        lambda member, _: [*NO_TEXT, *((text, VALUE) for text in ("1", "12345", "1234567A", "123456789"))],
        lambda member, _: [(text, text.zfill(8)) for text in ("31926819", "1926819", "926819")],
    ),
    "A": (_no_text_of(" 1-\u00e9"), _texts_of("e", "N")),
    "ANS": (_no_text_of("\x00\n\t\x7f\u202e\u200b"), _texts_of("a", "\u00eb", "\u6771", "'", "7")),
    "AS": (_no_text_of("1@_/,\n\x00\u0661\u00d7"), _texts_of("a", "\u00eb", "\u6771", "\u0416", "\u0627")),
    "PASSWORD": (_no_text_of("\x00\n\u202e"), _texts_of("a", "7", "!")),
    "AMOUNT": (_no_amount, _amounts),
    "METHOD": (_none_of_these(0, 3, "03"), _each_of((1, 2))),
    "LIMIT_TYPE": (_none_of_these(0, 4, "9"), _each_of((1, 2, 3))),
    "ARUDD": (_none_of_these(10, "11", 999_999), _each_of(tuple(range(10)))),
    "DEBIT_REASON": (_no_word, _words(*ARUDD_REASONS, *SEPA_REASONS)),
    "SCHEME": (_no_word, _words(*SCHEMES)),
    "RESULT": (_no_word, _words(*RESULTS)),
    "STEP": (_no_word, _words(*STEPS)),
    "IBAN": (_no_iban, _ibans),
    "EMAIL": (_no_email, _emails),
    "IPV4": (_no_ipv4, _ipv4),
    "PAGINATOR": (lambda member, _: _NO_PAGE, lambda member, _: _PAGES),
    "ITEM_COUNT": (_no_item_count, lambda member, _: [(1, 1), ("1", 1), (100, 100), ("00000000100", 100)]),
    "OBJECT": (lambda member, _: _NO_OBJECT, lambda member, _: _OBJECTS),
    "EXT-LIST": (_no_list_of, _lists_of),
    "PAIRS": _PAIRS,
    "MCCS": _MCCS,
    "COUNTRIES": _COUNTRIES,
    "NAMES": (_no_names, _names),
}
"""The functions that return the rejected and the accepted values of a member, by member type."""
