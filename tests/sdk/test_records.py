"""SDK records have exact amounts, are immutable, and preserve all members."""

import dataclasses
from decimal import Decimal
from typing import Any

import pytest

from causeway import _json
from causeway._records import RecordError
from causeway.tpp import (
    AccountReferenceV2,
    AdditionalError,
    BalanceAmountV2,
    BankEntry,
    Error,
    InstructedAmountV2,
    IntrospectionAnswer,
    TokenAnswer,
    TransactionsV2,
)

AMOUNT = {"amount": "1.10", "currency": "EUR"}


@pytest.mark.parametrize("digits", ["0.1", "1250.750", "-42.90", "9" * 70, "0.1234567890123456789012345678901", "1E+2"])
def test_an_amount_preserves_every_digit_from_text_and_number(digits: str) -> None:
    as_number = BalanceAmountV2.from_json(_json.loads(f'{{"amount": {digits}, "currency": "EUR"}}'))
    as_text = BalanceAmountV2.from_json({"amount": digits, "currency": "EUR"})

    assert as_number.amount == as_text.amount == Decimal(digits)
    assert as_text.to_json()["amount"] == format(Decimal(digits), "f")


@pytest.mark.parametrize(
    "wrong", [0.1, True, None, [], "one", {}, "1_000", "١٢", " 1", "NaN", "1E+999999999", "1E9999999999"]
)
def test_an_invalid_amount_of_a_record_is_rejected(wrong: Any) -> None:
    with pytest.raises(RecordError, match=r"BalanceAmountV2\.amount"):
        BalanceAmountV2.from_json({"amount": wrong, "currency": "EUR"})


def test_a_missing_member_is_reported_by_name() -> None:
    with pytest.raises(RecordError, match=r"BalanceAmountV2\.currency is missing"):
        BalanceAmountV2.from_json({"amount": "1"})


@pytest.mark.parametrize("wrong", [None, [], "text", 1])
def test_a_record_can_be_parsed_only_from_a_json_object(wrong: Any) -> None:
    with pytest.raises(RecordError, match="object"):
        BalanceAmountV2.from_json(wrong)


def test_a_float_in_a_record_raises_type_error_on_serialization() -> None:
    amount: Any = 0.1
    with pytest.raises(TypeError, match="Decimal"):
        InstructedAmountV2(amount=amount, currency="EUR").to_json()


@pytest.mark.parametrize("amount", [Decimal("NaN"), Decimal("Infinity")])
def test_nan_and_infinity_raise_value_error_on_serialization(amount: Decimal) -> None:
    with pytest.raises(ValueError, match="not a number"):
        InstructedAmountV2(amount=amount, currency="EUR").to_json()


def test_a_record_is_frozen_hashable_and_comparable() -> None:
    one, same = BalanceAmountV2.from_json(AMOUNT), BalanceAmountV2.from_json(AMOUNT)

    assert one == same
    assert len({one, same}) == 1
    with pytest.raises(dataclasses.FrozenInstanceError):
        one.currency = "GBP"  # type: ignore[misc]
    with pytest.raises((AttributeError, TypeError)):
        one.other = 1  # type: ignore[attr-defined]


def test_unknown_members_are_preserved_at_every_depth_and_serialized() -> None:
    data = {"booked": [{"transaction_amount": {**AMOUNT, "rate": "1.2"}, "colour": {"red": 1}}], "pages": 3}
    found = TransactionsV2.from_json(data)

    assert found.booked is not None
    assert found.extra == {"pages": 3}
    assert found.booked[0].extra == {"colour": {"red": 1}}
    assert found.booked[0].transaction_amount.extra == {"rate": "1.2"}
    assert found.to_json() == data


def test_an_unknown_enum_value_is_preserved() -> None:
    error = AdditionalError.from_json({"code": "A_NEW_CODE"})
    assert str(error.code) == "A_NEW_CODE"


def test_camel_case_members_have_snake_case_names() -> None:
    body = {
        "code": "FORMAT_ERROR",
        "title": "t",
        "timestamp": "2026-11-21T09:30:00+00:00",
        "requestId": "id",
        "additionalErrors": [{"code": "FORMAT_ERROR", "details": "d"}],
    }
    error = Error.from_json(body)

    assert error.request_id == "id"
    assert error.additional_errors is not None
    assert error.additional_errors[0].details == "d"
    assert error.to_json() == body


def test_a_numeric_identifier_is_converted_to_text() -> None:
    assert AccountReferenceV2.from_json({"resource_id": 17, "currency": "EUR"}).resource_id == "17"


def test_an_unset_optional_member_is_omitted_and_a_mandatory_member_has_no_default() -> None:
    assert BankEntry.__dataclass_fields__["history_days"].default is dataclasses.MISSING
    assert IntrospectionAnswer(active=False).to_json() == {"active": False}


def test_secrets_of_responses_are_hidden_in_repr() -> None:
    answer = TokenAnswer.from_json(
        {
            "access_token": "the-access-token",
            "token_type": "Bearer",
            "expires_in": 1,
            "refresh_token": "the-refresh-token",
            "scope": "accounts",
            "consent_id": "c",
            "valid_until": "2027-05-20T09:30:00+00:00",
        }
    )
    assert "the-" not in repr(answer)


@pytest.mark.parametrize(
    "text",
    [r'"\ud800"', rb'{"\uDFFF": 1}', '"\ud800"', b'"\xed\xa0\x80"', '{"a": 1}'.encode("utf-16"), r'["\ud83d \ude00"]'],
)
def test_json_with_invalid_unicode_is_rejected(text: str | bytes) -> None:
    with pytest.raises(ValueError, match="codec"):
        _json.loads(text)


def test_an_escaped_surrogate_pair_in_json_is_parsed_as_one_character() -> None:
    assert _json.loads(r'["\ud83d\ude00", 1.10]') == _json.loads('["\U0001f600", 1.10]'.encode())


@pytest.mark.parametrize("text", ["NaN", "[Infinity]", "{", ""])
def test_invalid_json_is_rejected(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        _json.loads(text)


def test_json_is_serialized_with_exact_numbers_and_unescaped_letters() -> None:
    value = {"n": Decimal("1.10"), "t": 'ü"', "l": [True, None, 3], "o": {}}

    assert _json.dumps(value) == '{"n":1.10,"t":"ü\\"","l":[true,null,3],"o":{}}'
    assert _json.loads(_json.dumps(value)) == value


@pytest.mark.parametrize(
    "text", ["[" * 100_000, '{"a": 1E+999999999}', '{"a": 1E9999999999999999999}', "1" * 5000, "NaN"]
)
def test_json_with_excessive_depth_or_digits_is_rejected(text: str) -> None:
    with pytest.raises(ValueError, match=r"deep|digits|JSON"):
        _json.loads(text)


def test_negative_zero_and_exponents_are_preserved_and_written_without_an_exponent() -> None:
    found = _json.loads('{"a": -0.0, "b": 1E-3, "c": 12E2}')

    assert [str(found[name]) for name in "abc"] == ["-0.0", "0.001", "1.2E+3"]
    assert _json.dumps(found) == '{"a":-0.0,"b":0.001,"c":1200}'
