"""Field types accept valid values. The error for an invalid value names the member and the rule, but not the value."""

import contextlib
import tracemalloc
import unicodedata
from decimal import Decimal
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.cards.protocol import fields as card_fields
from chalicelib.foundation import jsontext
from chalicelib.foundation.fields.decimal_rules import decimal, exact_sum
from chalicelib.foundation.fields.field_types import Message, OpenMessage
from chalicelib.foundation.fields.problems import InvalidMessage, Problem, fault
from chalicelib.foundation.fields.written_text import is_blank
from chalicelib.foundation.jsontext import Number as Written
from chalicelib.openbanking.protocol import fields
from chalicelib.openbanking.protocol.fields import (
    AN,
    A,
    Amount,
    Bic,
    Country,
    Currency,
    Day,
    Digits,
    Iban,
    N,
    Name,
    WebAddress,
    Whole,
)


class Text(Message):
    value: AN[8]


class Letters(Message):
    value: A[3]


class Number(Message):
    value: N[8]


class Pages(Message):
    value: Whole[10]


class Account(Message):
    value: Iban


class Institution(Message):
    value: Bic


class Money(Message):
    value: Currency


class Person(Message):
    value: Name[12]


class Cardholder(Message):
    value: card_fields.AS[1, 12]


class AccountNumber(Message):
    value: Digits[8]


class Price(Message):
    value: Amount[10]


class Birthday(Message):
    value: Day


class Place(Message):
    value: Country[2]


class PlaceOfThree(Message):
    value: Country[3]


class Link(Message):
    value: WebAddress


EVERY = (
    *(Cardholder, Text, Letters, Number, Account, Institution, Money, Person, AccountNumber),
    *(Price, Birthday, Place, PlaceOfThree, Link),
)


class Entry(OpenMessage):
    name: AN[5]
    note: AN[5] | None = None


class Book(Message):
    title: AN[10]
    kind: Literal["paper", "digital"]
    pages: Whole[10]
    entries: list[Entry]
    extra: list[Any] | dict[str, Any] | None = None


def problems(model: type[Message], value: object) -> list[Problem]:
    with pytest.raises(InvalidMessage) as caught:
        model.read(value)
    return caught.value.problems


def refused(model: type[Message], value: object) -> tuple[str, str]:
    (problem,) = problems(model, {"value": value})
    assert problem.field == "value"
    return problem.kind, problem.reason


@pytest.mark.parametrize(
    ("model", "value"),
    [
        (Text, "a"),
        (Text, "12345678"),
        (Text, "Zoë & Co"),
        (Text, "東京都港区"),
        (Letters, "EUR"),
        (Number, 0),
        (Number, 12345678),
        (Number, -5),
        (Number, "12345678"),
        (Number, Decimal("123456.78")),
        (Number, "0.10"),
        (Number, Decimal("1E+7")),
        (Money, "EUR"),
        (Money, "GBP"),
        (Person, "A"),
        (Person, "Zoë O'Brien"),
        (Person, "Zoe\u0308"),
        (Person, "O\u2019Neill, J."),
        (Person, "A & B (Ltd)"),
        (Person, "c/o Ruiz-Mey"),
        (Person, "東京都港区"),
        (Person, "हिन्दी"),
        (AccountNumber, "00012345"),
        (AccountNumber, "0"),
        (AccountNumber, 12345678),
        (AccountNumber, 0),
        (Price, "0.10"),
        (Price, "1"),
        (Price, "1234567890"),
        (Price, "12345678.90"),
        (Price, "0.000000001"),
        (Price, "007"),
        (Price, 1),
        (Price, 1234567890),
        (Price, Decimal("0.10")),
        (Birthday, "2024-02-29"),
        (Birthday, "0001-01-01"),
        (Birthday, "9999-12-31"),
        (Place, "DE"),
        (PlaceOfThree, "DEU"),
        (Link, "https://tpp.example.com"),
        (Link, "http://127.0.0.1:8000/callback?a=b&c=%20d|{}"),
        (Link, "https://[2606:4700::1111]:8443/?back=https://user@example.com"),
    ],
)
def test_valid_field_values_are_returned_unchanged(model: type[Message], value: object) -> None:
    taken = model.read({"value": value}).model_dump()["value"]

    assert taken == value
    assert type(taken) is type(value)


@pytest.mark.parametrize(
    ("model", "value", "taken"),
    [
        (Account, "GB33BUKB20201555555555", "GB33BUKB20201555555555"),
        (Account, "gb33 bukb 2020 1555 5555 55", "GB33BUKB20201555555555"),
        (Account, "DE89370400440532013000", "DE89370400440532013000"),
        (Account, "IBAN DE89 3704 0044 0532 0130 00", "DE89370400440532013000"),
        (Account, "Iban: de89-3704-0044-0532-0130-00", "DE89370400440532013000"),
        (Account, "\ufeffDE89\u00a03704\u202f0044\u20090532\u201301\u00ad30\u200b00\r\n", "DE89370400440532013000"),
        (Institution, "DEUTDEFF", "DEUTDEFF"),
        (Institution, "deutdeff500", "DEUTDEFF500"),
    ],
)
def test_ibans_and_bics_are_normalized(model: type[Message], value: str, taken: str) -> None:
    assert model.read({"value": value}).model_dump()["value"] == taken


@pytest.mark.parametrize(
    ("model", "value", "problem"),
    [
        (Text, "", ("length", "must not be empty")),
        (Text, "123456789", ("length", "must have at most 8 characters")),
        (Text, "a\nb", ("characters", "must be printable text")),
        (Text, "a\x00b", ("characters", "must be printable text")),
        (Text, "a\u202eb", ("characters", "must be printable text")),
        (Text, "\ud800", ("characters", "must be printable text")),
        (Text, 5, ("type", "must be a string")),
        (Text, None, ("type", "must be a string")),
        (Text, ["a"], ("type", "must be a string")),
        (Letters, "E1R", ("characters", "must be letters only")),
        (Letters, "EU R", ("length", "must have at most 3 characters")),
        (Number, True, ("type", "must be a number")),
        (Number, None, ("type", "must be a number")),
        (Number, "", ("type", "must be a number")),
        (Number, "1,5", ("type", "must be a number")),
        (Number, ".5", ("type", "must be a number")),
        (Number, "1e5", ("type", "must be a number")),
        (Number, " 1", ("type", "must be a number")),
        (Number, "1\n", ("type", "must be a number")),
        (Number, "١٢", ("type", "must be a number")),
        (Number, 1.5, ("type", "must be a number")),
        (Number, {}, ("type", "must be a number")),
        (Number, 123456789, ("length", "must have at most 8 digits")),
        (Number, "123456.789", ("length", "must have at most 8 digits")),
        (Number, Decimal("1E+8"), ("length", "must have at most 8 digits")),
        (Number, Decimal("1E-8"), ("length", "must have at most 8 digits")),
        (Account, "GB33BUKB20201555555556", ("value", "is not a valid IBAN")),
        (Account, "XX00", ("value", "is not a valid IBAN")),
        (Account, "G" * 65, ("length", "must have at most 64 characters")),
        (Institution, "DEUT", ("value", "is not a BIC of 8 or 11 characters")),
        (Institution, "DEUTDEFF5", ("value", "is not a BIC of 8 or 11 characters")),
        (Institution, "DEUT00FF", ("value", "is not a BIC of 8 or 11 characters")),
        (Money, "EURO", ("length", "must have at most 3 characters")),
        (Money, "XYZ", ("value", "is not a currency code (ISO 4217)")),
        (Money, "XXX", ("value", "is not a currency code (ISO 4217)")),
        (Money, "XAU", ("value", "is not a currency code (ISO 4217)")),
        (Money, "eur", ("value", "is not a currency code (ISO 4217)")),
        (Account, "GB33_BUKB_2020_1555_5555_55", ("value", "is not a valid IBAN")),
        (Account, "BBAN GB33BUKB20201555555555", ("value", "is not a valid IBAN")),
        (Account, "\u0131e29aibk93115212345678", ("value", "is not a valid IBAN")),
        (Institution, "deutdef\u017f", ("value", "is not a BIC of 8 or 11 characters")),
        (Person, "", ("length", "must not be empty")),
        (Person, "  ", ("characters", "must not be blank")),
        (Person, "Anna 2", ("characters", "must contain only letters, spaces and the punctuation used in names")),
        (Person, "Anna ٢", ("characters", "must contain only letters, spaces and the punctuation used in names")),
        (Person, "Anna Ⅷ", ("characters", "must contain only letters, spaces and the punctuation used in names")),
        (Person, "Anna_Ruiz", ("characters", "must contain only letters, spaces and the punctuation used in names")),
        (Person, "Anna\n", ("characters", "must contain only letters, spaces and the punctuation used in names")),
        (
            Person,
            "Anna\u2003Ruiz",
            ("characters", "must contain only letters, spaces and the punctuation used in names"),
        ),
        (Person, "Anna\u202e", ("characters", "must contain only letters, spaces and the punctuation used in names")),
        (Person, "Anna Maria Ruiz", ("length", "must have at most 12 characters")),
        (Person, 5, ("type", "must be a string")),
        (AccountNumber, "", ("length", "must not be empty")),
        (AccountNumber, "123456789", ("length", "must have at most 8 digits")),
        (AccountNumber, 123456789, ("length", "must have at most 8 digits")),
        (AccountNumber, -1, ("characters", "must be digits only")),
        (AccountNumber, "1234 567", ("characters", "must be digits only")),
        (AccountNumber, "12-34-56", ("characters", "must be digits only")),
        (AccountNumber, "١٢", ("characters", "must be digits only")),
        (AccountNumber, "1\n", ("characters", "must be digits only")),
        (AccountNumber, True, ("type", "must be digits")),
        (AccountNumber, None, ("type", "must be digits")),
        (AccountNumber, Decimal("1.0"), ("type", "must be digits")),
        (AccountNumber, 1.0, ("type", "must be digits")),
        (Price, "", ("value", "must be an amount: digits with an optional decimal point")),
        (Price, "-1", ("value", "must be an amount: digits with an optional decimal point")),
        (Price, -1, ("value", "must be an amount: digits with an optional decimal point")),
        (Price, "+1", ("value", "must be an amount: digits with an optional decimal point")),
        (Price, ".5", ("value", "must be an amount: digits with an optional decimal point")),
        (Price, "5.", ("value", "must be an amount: digits with an optional decimal point")),
        (Price, "1,50", ("value", "must be an amount: digits with an optional decimal point")),
        (Price, "1 000", ("value", "must be an amount: digits with an optional decimal point")),
        (Price, "1e3", ("value", "must be an amount: digits with an optional decimal point")),
        (Price, "١٢", ("value", "must be an amount: digits with an optional decimal point")),
        (Price, "1\n", ("value", "must be an amount: digits with an optional decimal point")),
        (Price, Written("1e3"), ("value", "must be an amount: digits with an optional decimal point")),
        (Price, Decimal("1E+999999999"), ("value", "must be an amount: digits with an optional decimal point")),
        (Price, Decimal("NaN"), ("value", "must be an amount: digits with an optional decimal point")),
        (Price, "12345678901", ("length", "must have at most 10 digits")),
        (Price, 12345678901, ("length", "must have at most 10 digits")),
        (Price, "123456789.01", ("length", "must have at most 10 digits")),
        (Price, "0", ("value", "must be greater than zero")),
        (Price, 0, ("value", "must be greater than zero")),
        (Price, "0.00", ("value", "must be greater than zero")),
        (Price, Decimal("0.00"), ("value", "must be greater than zero")),
        (Price, True, ("type", "must be an amount of money")),
        (Price, None, ("type", "must be an amount of money")),
        (Price, 1.5, ("type", "must be an amount of money")),
        (Price, ["1"], ("type", "must be an amount of money")),
        (Birthday, "", ("date", "must be a date, YYYY-MM-DD")),
        (Birthday, "2023-02-29", ("date", "must be a date, YYYY-MM-DD")),
        (Birthday, "2024-13-01", ("date", "must be a date, YYYY-MM-DD")),
        (Birthday, "0000-01-01", ("date", "must be a date, YYYY-MM-DD")),
        (Birthday, "20240229", ("date", "must be a date, YYYY-MM-DD")),
        (Birthday, "2024-W01-1", ("date", "must be a date, YYYY-MM-DD")),
        (Birthday, "2024-2-29", ("date", "must be a date, YYYY-MM-DD")),
        (Birthday, "2024-02-29\n", ("date", "must be a date, YYYY-MM-DD")),
        (Birthday, "2024-02-29T00:00:00", ("date", "must be a date, YYYY-MM-DD")),
        (Birthday, "٢٠٢٤-02-29", ("date", "must be a date, YYYY-MM-DD")),
        (Birthday, 20240229, ("type", "must be a string")),
        (Place, "de", ("value", "is not a country code (ISO 3166-1 alpha-2)")),
        (Place, "XX", ("value", "is not a country code (ISO 3166-1 alpha-2)")),
        (Place, "DEU", ("length", "must have at most 2 characters")),
        (PlaceOfThree, "DE", ("value", "is not a country code (ISO 3166-1 alpha-3)")),
        (Link, "", ("length", "must not be empty")),
        (Link, "https://tpp.example.com/" + "a" * 2048, ("length", "must have at most 2048 characters")),
        (Link, 5, ("type", "must be a string")),
    ],
)
def test_an_invalid_field_value_is_rejected_with_the_violated_rule(
    model: type[Message], value: object, problem: tuple[str, str]
) -> None:
    assert refused(model, value) == problem


@pytest.mark.parametrize(
    "address",
    [
        "tpp.example.com",
        "//tpp.example.com",
        "/callback",
        "ftp://tpp.example.com",
        "javascript:alert(1)",
        "https://",
        "https:///callback",
        "https://:8000",
        "https://tpp.example.com:99999",
        "https://tpp.example.com:",
        "https://tpp.example.com:a",
        "https://[::1",
        "https://user@tpp.example.com",
        "https://user:word@tpp.example.com",
        "https://tpp.example.com\\@evil.example",
        "https://tpp.example.com#part",
        "https://tpp.example.com/callback#",
        "https://tpp.example.com/a b",
        "https://tpp.example.com/\n",
        "https://tpp.example.com\n",
        "https://bänk.example.com",
        "https://tpp.example.com/ä",
    ],
)
def test_an_invalid_web_address_is_rejected(address: str) -> None:
    assert refused(Link, address) == (
        "value",
        "must be an http or https URL with a host and without user information or fragment",
    )


@pytest.mark.parametrize("text", ["0.10", "12", "100.00", "12345678.90", "0.000000001"])
def test_an_amount_is_returned_with_the_same_digits_as_in_the_request(text: str) -> None:
    value = Price.read(jsontext.loads(f'{{"value":{text}}}')).value

    assert jsontext.dumps(value) == text
    assert Price.read({"value": text}).value == text
    assert decimal(value) == decimal(text) == Decimal(text)


def test_a_sum_of_amounts_is_not_rounded() -> None:
    amounts = ["9" * 70, Written("0." + "0" * 68 + "1"), 1]

    assert f"{exact_sum(amounts):f}" == "1" + "0" * 70 + "." + "0" * 68 + "1"
    assert exact_sum(["0.10"] * 3) == Decimal("0.3")
    assert exact_sum([]) == 0


NAMES = pytest.mark.parametrize(
    ("model", "punctuation"), [(Person, "'\u2019-.,&/()"), (Cardholder, "'\u2019-.")], ids=["open banking", "cards"]
)


def is_in_names(character: str, punctuation: str) -> bool:
    return unicodedata.category(character)[0] in "LM" or character in f" {punctuation}\u00a0\u00ad\u200c\u200d"


@NAMES
@pytest.mark.parametrize("block", range(0, 0x3000, 0x400))
def test_a_name_accepts_characters_by_unicode_category(model: type[Message], punctuation: str, block: int) -> None:
    for character in map(chr, range(block, block + 0x400)):
        belongs = is_in_names(character, punctuation)
        try:
            model.read({"value": f"A{character}"})
        except InvalidMessage:
            assert not belongs
        else:
            assert belongs


@NAMES
@given(value=st.text(max_size=12))
def test_a_name_accepts_letters_marks_spaces_and_punctuation_only(
    model: type[Message], punctuation: str, value: str
) -> None:
    has_enough = any(map(str.isalpha, value)) if model is Cardholder else not is_blank(value)
    belongs = has_enough and all(is_in_names(character, punctuation) for character in value)
    try:
        taken = model.read({"value": value}).model_dump()
    except InvalidMessage:
        assert not belongs
    else:
        assert taken == {"value": value}
        assert belongs


@pytest.mark.parametrize("text", ["1E+999999999", "1E-999999999", "-1E+999999999999"])
def test_an_amount_with_a_huge_exponent_is_rejected_without_expanding_the_number(text: str) -> None:
    tracemalloc.start()
    try:
        assert refused(Number, Decimal(text)) == ("length", "must have at most 8 digits")
        _, most_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most_bytes < 1_000_000


@given(st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**12), max_value=10**12))
def test_a_number_with_valid_digits_is_accepted_unchanged(value: Decimal) -> None:
    digits = sum(map(str.isdigit, f"{value:f}"))
    if digits <= 8:
        assert str(Number.read({"value": value}).value) == str(value)
    else:
        assert refused(Number, value)[0] == "length"


@given(st.text(max_size=12))
def test_printable_text_of_valid_length_is_accepted(value: str) -> None:
    try:
        taken = Text.read({"value": value}).value
    except InvalidMessage:
        assert not value.isprintable() or not 1 <= len(value) <= 8
    else:
        assert taken == value
        assert value.isprintable()


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists))
def test_a_random_field_value_is_accepted_or_rejected_without_an_exception(value: object) -> None:
    for model in (*EVERY, Book):
        with contextlib.suppress(InvalidMessage):
            model.read({"value": value})


def test_all_problems_of_a_message_are_listed_in_member_order() -> None:
    value = {
        "title": "",
        "kind": "stone",
        "pages": 11,
        "entries": [{"name": "good"}, {"name": "too long", "note": 5}, "none"],
        "extra": 5,
        "colour": "red",
    }

    assert [(problem.field, problem.kind, problem.reason) for problem in problems(Book, value)] == [
        ("title", "length", "must not be empty"),
        ("kind", "value", "must be 'paper' or 'digital'"),
        ("pages", "value", "must be a whole number from 1 to 10"),
        ("entries.1.name", "length", "must have at most 5 characters"),
        ("entries.1.note", "type", "must be a string"),
        ("entries.2", "type", "must be an object"),
        ("extra", "type", "must be a list"),
        ("colour", "unknown", "is not recognised"),
    ]


def test_at_most_50_problems_of_a_message_are_listed() -> None:
    few, many = ({"title": "a"} | {f"colour{number}": 1 for number in range(count)} for count in (40, 5000))

    assert len(problems(Book, few)) == 43
    assert len(problems(Book, many)) == 50


@pytest.mark.parametrize("value", [1, 10, "1", "10", "07"])
def test_a_whole_number_in_a_message_is_read_as_an_integer(value: object) -> None:
    taken = Pages.read({"value": value}).value

    assert type(taken) is int
    assert taken == int(str(value))


@pytest.mark.parametrize(
    "value",
    [
        0,
        11,
        -1,
        "0",
        "11",
        "",
        " 1",
        "1 ",
        "+1",
        "1.0",
        "1_0",
        "1e0",
        "\u0661",
        "1\n",
        True,
        None,
        1.0,
        "9" * 400,
        ["1"],
        {},
    ],
)
def test_a_whole_number_in_an_invalid_format_or_out_of_range_is_rejected(value: object) -> None:
    assert refused(Pages, value) == ("value", "must be a whole number from 1 to 10")


def test_missing_members_of_a_message_are_listed_as_missing() -> None:
    assert [(problem.field, problem.kind) for problem in problems(Book, {})] == [
        ("title", "missing"),
        ("kind", "missing"),
        ("pages", "missing"),
        ("entries", "missing"),
    ]


@pytest.mark.parametrize("value", [None, [], "text", 5, True])
def test_a_message_that_is_not_an_object_is_rejected(value: object) -> None:
    assert problems(Text, value) == [Problem("", "type", "the body must be a JSON object")]


@pytest.mark.parametrize("name", ["street", "string", "str", "list[int]", "function-after", "constrained", "0", ""])
def test_an_unknown_member_of_a_message_is_listed_by_name(name: str) -> None:
    assert problems(Text, {"value": "a", name: 1}) == [Problem(name, "unknown", "is not recognised")]


def test_the_name_of_an_unknown_member_is_shortened_and_made_printable() -> None:
    (problem,) = problems(Text, {"value": "a", "x\n" * 200: 1})

    assert problem.field == ("x?" * 64)


def test_a_message_type_that_permits_unknown_members_preserves_the_unknown_members() -> None:
    entry = Entry.read({"name": "a", "colour": "red"})

    assert entry.model_dump() == {"name": "a", "note": None, "colour": "red"}


def test_a_problem_states_whether_the_member_is_mandatory() -> None:
    value = {"title": "a", "kind": "paper", "pages": 1, "entries": [{"name": 5, "note": 5}], "extra": 5}

    assert {problem.field: problem.mandatory for problem in problems(Book, value)} == {
        "entries.0.name": True,
        "entries.0.note": False,
        "extra": False,
    }


def test_problems_of_a_message_never_quote_values() -> None:
    for model in EVERY:
        with pytest.raises(InvalidMessage) as caught:
            model.read({"value": "hunter2-" * 20})
        assert "hunter2" not in str(caught.value)
        assert "hunter2" not in repr(caught.value)


def test_a_parsed_message_is_immutable() -> None:
    message = Text.read({"value": "a"})

    with pytest.raises(ValueError, match="frozen"):
        message.value = "b"


def test_braces_in_the_message_of_a_validation_error_are_not_interpreted() -> None:
    from pydantic_core import PydanticCustomError

    with pytest.raises(PydanticCustomError, match=r"must be \{odd\} even in braces"):
        fault("value", "must be {odd} even in braces")


def test_a_country_code_of_four_letters_raises_key_error() -> None:
    with pytest.raises(KeyError):
        fields.Country[4]
