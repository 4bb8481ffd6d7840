"""Tests of funds confirmation: response formats of banks, exact comparison, and no additional data in responses."""

from typing import Any

import pytest

from chalicelib.foundation.http.outbound import Reply
from chalicelib.foundation.jsontext import Number
from tests.causeway import Answer
from tests.kit.logs import Lines
from tests.openbanking.examples import BY_WEBHOOK, Json
from tests.openbanking.kit import IBAN
from tests.openbanking.relay import Relay, details_of, json_bytes

ONE = BY_WEBHOOK["/funds_confirmations"]
TWO = BY_WEBHOOK["/v2_funds_confirmations"]
YES, NO = '{"funds_available":true}', '{"funds_available":false}'


def asked(relay: Relay, amount: Any, answer: Json, currency: str = "GBP") -> Answer:
    question = {"account": {"iban": IBAN}, "instructed_amount": {"amount": amount, "currency": currency}}
    return relay.call(ONE, question, {"status": "success", **answer})


# -- version 1: the bank says so itself


@pytest.mark.parametrize(("said", "told_tpp"), [(True, YES), (False, NO)])
def test_a_version_1_bank_can_confirm_funds_with_true_or_false(relay: Relay, said: bool, told_tpp: str) -> None:
    answer = asked(relay, "12.50", {"funds_available": said})

    assert (answer.status, answer.text) == (200, told_tpp)


@pytest.mark.parametrize(("said", "told_tpp"), [(True, YES), (False, NO)])
def test_the_member_funds_available_has_precedence_over_a_balance(relay: Relay, said: bool, told_tpp: str) -> None:
    for balance in (0, 1_000_000):
        answer = asked(relay, "12.50", {"funds_available": said, "balance": balance, "currency": "GBP"})
        assert answer.text == told_tpp


@pytest.mark.parametrize("said", ["true", "yes", 1, 0, [], {}, ""], ids=repr)
def test_a_member_funds_available_of_the_wrong_type_returns_502(relay: Relay, said: Any) -> None:
    both = {"funds_available": said, "balance": 1_000_000, "currency": "GBP"}

    assert "funds_available" in details_of(asked(relay, 1, both))


# -- version 1: the service compares

NINES = Number("99.9" + "9" * 66)
COMPARED: list[tuple[Any, Any, str]] = [
    (100, 100, YES),
    (100, "100", YES),
    ("100", 100, YES),
    (100, Number("100.00"), YES),
    ("100.00", "100.0", YES),
    (Number("0.1"), "0.10", YES),
    ("0.10", Number("0.1"), YES),
    (Number("0.3"), Number("0.30"), YES),
    (100, Number("99.99"), NO),
    (100, Number("100.01"), YES),
    ("0.02", "0.01", NO),
    (9, "10", YES),
    (10, "9", NO),
    ("10", "9", NO),
    (1, 0, NO),
    (1, "0.00", NO),
    (1, -5, NO),
    (1, "-5.00", NO),
    (9999999999, 9999999999, YES),
    (9999999999, 9999999998, NO),
    ("99999999.99", "99999999.98", NO),
    (100, NINES, NO),
    (100, "100." + "0" * 66 + "1", YES),
    (100, "99.9" + "9" * 66, NO),
    (1, "9" * 70, YES),
]


@pytest.mark.parametrize(("amount", "balance", "told_tpp"), COMPARED, ids=repr)
def test_a_funds_confirmation_compares_the_balance_without_rounding(
    relay: Relay, amount: Any, balance: Any, told_tpp: str
) -> None:
    answer = asked(relay, amount, {"balance": balance, "currency": "GBP"})

    assert (answer.status, answer.text) == (200, told_tpp)


def test_the_balance_is_used_if_the_member_funds_available_is_null(relay: Relay) -> None:
    answer = asked(relay, 1, {"funds_available": None, "balance": 1, "currency": "GBP"})

    assert answer.text == YES


@pytest.mark.parametrize("currency", ["EUR", "gbp", "GBPX", 826, []], ids=repr)
def test_a_balance_in_another_currency_returns_502(relay: Relay, currency: Any) -> None:
    for balance in (0, 1_000_000):
        answer = asked(relay, 1, {"balance": balance, "currency": currency})
        assert "currency" in details_of(answer)


NO_BALANCE: list[Any] = ["ten", "", "1,50", "1e3", " 1 ", "1_000", "NaN", "sNaN", "Infinity", "-Infinity", "0x10"]


@pytest.mark.parametrize("balance", [*NO_BALANCE, "\u0661", True, False, [], {}, [1], {"amount": 1}], ids=repr)
def test_a_balance_that_is_not_a_number_returns_502(relay: Relay, balance: Any) -> None:
    answer = asked(relay, 1, {"balance": balance, "currency": "GBP"})

    assert "balance" in details_of(answer)


def test_a_balance_with_a_huge_exponent_returns_200_if_valid_or_502_if_invalid(relay: Relay) -> None:
    for balance in (Number("1e999999"), Number("-1e999999"), Number("1e-999999"), Number("0e999999")):
        answer = asked(relay, 1, {"balance": balance, "currency": "GBP"})
        assert answer.status in (200, 502)
        assert answer.text in (YES, NO) or "balance" in details_of(answer)


@pytest.mark.parametrize(
    "answer",
    [{}, {"balance": 100}, {"currency": "GBP"}, {"balance": None, "currency": None}, {"funds_available": None}],
    ids=repr,
)
def test_a_version_1_response_without_a_confirmation_or_balance_returns_502(relay: Relay, answer: Json) -> None:
    assert "neither" in details_of(asked(relay, 1, answer))


# -- version 2


@pytest.mark.parametrize(("said", "told_tpp"), [(True, YES), (False, NO)])
@pytest.mark.parametrize("name", ["funds_available", "fundsAvailable"])
def test_version_2_bank_confirms_funds_with_true_or_false(relay: Relay, name: str, said: bool, told_tpp: str) -> None:
    answer = relay.call(TWO, answer={name: said})

    assert (answer.status, answer.text) == (200, told_tpp)


@pytest.mark.parametrize(
    "answer", [{}, {"balance": 100, "currency": "EUR"}, *({"funds_available": said} for said in ("true", 1, 0, None))]
)
def test_a_version_2_response_without_a_valid_confirmation_returns_502(relay: Relay, answer: Json) -> None:
    assert "funds_available" in details_of(relay.call(TWO, answer=answer))


# -- nothing else is told

SECRET = {"balance": Number("73519.42"), "currency": "EUR", "name": "Jane Doe", "limit": 73519}


@pytest.mark.parametrize("row", [ONE, TWO], ids=str)
@pytest.mark.parametrize("said", [True, False])
def test_other_members_of_a_funds_confirmation_reach_neither_the_tpp_nor_the_log(
    relay: Relay, row: Any, said: bool, lines: Lines
) -> None:
    given = {"status": "success", **SECRET, "funds_available": said}

    answer = relay.call(row, answer=Reply(200, json_bytes(given), {"X-Balance": "73519.42"}, 0.01))

    assert answer.text == (YES if said else NO)
    assert "73519" not in str(answer.headers) + lines.text


def test_the_balance_compared_in_a_funds_check_reaches_neither_the_tpp_nor_the_log(relay: Relay, lines: Lines) -> None:
    compared = asked(relay, 1, SECRET, "EUR")
    of_another_currency = asked(relay, 1, SECRET, "GBP")

    assert compared.text == YES
    details_of(of_another_currency)
    assert "73519" not in str(compared.headers) + of_another_currency.text + lines.text
