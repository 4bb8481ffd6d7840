"""Conversions of a bank's values: digits are never changed, and a value that cannot be used is none."""

from decimal import Decimal
from typing import Any

import pytest

from chalicelib.foundation import jsontext
from chalicelib.openbanking.unified import values

BLANKS = ["", " ", " \t\n", "\u00a0", "\u200b\u2003"]
NOT_TEXT: list[Any] = [None, 7, True, Decimal("1.5"), [], ["a"], {}, {"a": "b"}]
NOT_BOOLEAN: list[Any] = [None, 0, 1, "true", "", [], {}]
NOT_TEXTS: list[Any] = [None, "SCT", 7, True, {}, {"SCT": True}, [7], [None], [[]], ["", " "]]
NOT_DIGITS: list[Any] = [None, True, [], {}, ["1"]]
IBAN = "GB10DEMO04000431926801"


def number_of(written: str) -> Any:
    """Return a JSON number as the service reads it."""
    return jsontext.loads(written)


@pytest.mark.parametrize("value", ["Invoice 17", " Invoice 17 ", "\u200bA", "null", "0", "\U0001f600", "x" * 10_000])
def test_text_is_unchanged(value: str) -> None:
    assert values.text(value) == value


@pytest.mark.parametrize("value", [*BLANKS, *NOT_TEXT])
def test_blank_text_and_other_types_are_no_text(value: Any) -> None:
    assert values.text(value) is None


NUMBERS = {
    "0": "0",
    "7": "7",
    "-7": "-7",
    "12.50": "12.50",
    "0.10": "0.10",
    "-0": "-0",
    "-0.00": "-0.00",
    "1E+2": "100",
    "1e2": "100",
    "1.5E1": "15",
    "5E-3": "0.005",
    "-5E-3": "-0.005",
    "1.50E1": "15.0",
    "0E-2": "0.00",
    "-0E-2": "-0.00",
    "12345678901234567890.10": "12345678901234567890.10",
    "1E99": "1" + "0" * 99,
    "1E-99": "0." + "0" * 98 + "1",
    "9" * 100: "9" * 100,
}


@pytest.mark.parametrize(("written", "digits"), NUMBERS.items(), ids=[each[:20] for each in NUMBERS])
def test_json_number_keeps_its_digits_without_an_exponent(written: str, digits: str) -> None:
    assert values.number(number_of(written)) == digits


@pytest.mark.parametrize("value", ["0", "12.50", "-12.50", "-0.00", "007.10", "0.0", "9" * 100, "1." + "0" * 99])
def test_string_of_digits_is_a_number_with_the_same_digits(value: str) -> None:
    assert values.number(value) == value


@pytest.mark.parametrize(
    "value",
    [
        *("", " ", "+12.50", ".50", "12.", "12,50", "1E+2", "1e2", " 12.50", "12.50 ", "--1", "1.2.3", "-", "NaN", "x"),
        *("\u0661\u0662", "1_000", "1 000.00", "0x10", "12.50\n"),
        *(None, True, False, [], {}, ["1"], 1.5),
    ],
)
def test_other_notations_and_types_are_no_numbers(value: Any) -> None:
    assert values.number(value) is None


@pytest.mark.parametrize(
    "written", ["1E100", "1E-100", "1E999999999", "1E-999999999", "9" * 101, "-" + "9" * 101, "1." + "0" * 100]
)
def test_number_of_more_than_100_digits_is_none(written: str) -> None:
    assert values.number(number_of(written)) is None


@pytest.mark.parametrize("value", ["9" * 101, "1." + "0" * 100, "0" * 101])
def test_string_of_more_than_100_digits_is_no_number(value: str) -> None:
    assert values.number(value) is None


@pytest.mark.parametrize(
    ("value", "digits"),
    [("-12.50", "12.50"), ("12.50", "12.50"), ("-0.00", "0.00"), (-7, "7"), (Decimal("-1E+2"), "100"), ("+1", None)],
)
def test_unsigned_number_has_no_sign(value: Any, digits: str | None) -> None:
    assert values.unsigned(value) == digits


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ("A/1 %?#", "A/1 %?#"),
        ("0077", "0077"),
        (" 77 ", " 77 "),
        (1031926801, "1031926801"),
        (-1, "-1"),
        (number_of("1031926801.0"), "1031926801.0"),
        *((each, None) for each in (*BLANKS, *NOT_DIGITS)),
    ],
)
def test_identifier_is_text_digit_for_digit(value: Any, found: str | None) -> None:
    assert values.identifier(value) == found


@pytest.mark.parametrize(("value", "found"), [(True, True), (False, False), *((each, None) for each in NOT_BOOLEAN)])
def test_only_true_and_false_are_booleans(value: Any, found: bool | None) -> None:
    assert values.boolean(value) is found


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ([], []),
        (["SCT", "SCTI"], ["SCT", "SCTI"]),
        (["SCT", "", " ", 7, None, ["FPS"], "FPS"], ["SCT", "FPS"]),
        *((each, None) for each in NOT_TEXTS),
    ],
)
def test_list_of_texts_has_only_texts_and_is_none_if_there_are_none(value: Any, found: list[str] | None) -> None:
    assert values.texts(value) == found


@pytest.mark.parametrize(
    ("value", "found"),
    [
        (IBAN, IBAN),
        ("gb10 demo 0400 0431 9268 01", IBAN),
        (" GB10\u00a0DEMO\t0400043192 6801\n", IBAN),
        ("not an IBAN", "NOTANIBAN"),
        *((each, None) for each in (*BLANKS, *NOT_TEXT)),
    ],
)
def test_iban_is_in_capitals_and_without_blanks(value: Any, found: str | None) -> None:
    assert values.iban(value) == found


@pytest.mark.parametrize(
    ("value", "sort_code", "account_number"),
    [
        (IBAN, "040004", "31926801"),
        ("gb10 demo 0400 0431 9268 01", "040004", "31926801"),
        ("GB33BUKB20201555555555", "202015", "55555555"),
        ("DE61100999000004711001", None, None),
        ("GB10DEMO0400043192680", None, None),
        ("GB10DEMO040004319268012", None, None),
        ("GB10DEMO0400O431926801", None, None),
        *((each, None, None) for each in (*BLANKS, *NOT_TEXT)),
    ],
)
def test_sort_code_and_account_number_are_those_of_a_british_iban(
    value: Any, sort_code: str | None, account_number: str | None
) -> None:
    assert values.sort_code_of_iban(value) == sort_code
    assert values.account_number_of_iban(value) == account_number


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ("2026-01-31", "2026-01-31"),
        ("2024-02-29", "2024-02-29"),
        ("2026-01-31T09:30:00+01:00", "2026-01-31"),
        ("2026-01-31T23:59:59.999Z", "2026-01-31"),
        ("2026-01-31 09:30:00", "2026-01-31"),
        ("2026-01-31T09:30", "2026-01-31"),
        ("2026-01-31T09:30Z", "2026-01-31"),
        ("2026-01-31 09:30:00.123456+01", "2026-01-31"),
        ("2026-01-31T09:30:00-0330", "2026-01-31"),
        *(
            (each, None)
            for each in (
                *("2026-02-30", "2026-13-01", "2025-02-29", "0000-01-01", "2026-1-31", "26-01-31", "2026-01-31x"),
                *(
                    "2026-01-31Z",
                    "20260131",
                    "2026-W05-6",
                    " 2026-01-31",
                    "2026-01-31x",
                    "20\uff126-01-31",
                    "2026/01/31",
                ),
                *("2026-01-31Tgarbage", "2026-01-31 ", "2026-01-31T", "2026-01-31T09", "2026-01-31 x", "2026-01-31\n"),
                *("2026-01-31T09:30:00.", "2026-01-31T09:30:00+", "2026-01-31T09:30:00Zx", "2026-01-31T09:30\n"),
                *BLANKS,
                *NOT_TEXT,
                20260131,
            )
        ),
    ],
)
def test_date_is_cut_to_its_day_and_another_form_is_none(value: Any, found: str | None) -> None:
    assert values.day(value) == found


@pytest.mark.parametrize(
    ("value", "found"), [("interimBooked", "booked"), ("interimbooked", "other"), ("new", "other"), (" ", "other")]
)
def test_code_becomes_a_word_and_any_other_code_becomes_other(value: str, found: str) -> None:
    assert values.OneOf({"interimBooked": "booked"}, "other")(value) == found


@pytest.mark.parametrize(
    ("digits", "shortest"),
    [
        ("42.90", "42.9"),
        ("42.9", "42.9"),
        ("100", "100"),
        ("100.00", "100"),
        ("0100", "100"),
        ("0", "0"),
        ("0.00", "0"),
        ("000.000", "0"),
        ("0.50", "0.5"),
        ("00.05", "0.05"),
        ("1000000.0000001", "1000000.0000001"),
    ],
)
def test_shortest_notation_of_a_number_has_no_superfluous_zeros(digits: str, shortest: str) -> None:
    assert values.shortest(digits) == shortest
