"""JSON is read and written without loss of digits. Invalid JSON is rejected."""

import contextlib
import json
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.foundation import jsontext

AMOUNTS = st.from_regex(r"\A-?(0|[1-9][0-9]{0,20})\.[0-9]{1,4}\Z").filter(lambda text: not text.startswith("-0."))
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.decimals(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(AMOUNTS)
def test_an_amount_is_written_to_json_with_every_digit(amount: str) -> None:
    assert jsontext.dumps(jsontext.loads(f'{{"amount":{amount}}}')) == f'{{"amount":{amount}}}'


@given(VALUES)
def test_a_value_written_to_json_is_read_back(value: Any) -> None:
    again = jsontext.loads(jsontext.dumps(value))

    assert again == value
    assert jsontext.dumps(again) == jsontext.dumps(value)


@pytest.mark.parametrize("text", ["1.10", "100.00", "0.000001", "12345678901234567890.12", "1234567890123456789012"])
def test_json_numbers_are_never_read_as_float(text: str) -> None:
    value = jsontext.loads(text)

    assert isinstance(value, int | Decimal)
    assert jsontext.dumps(value) == text


def test_written_json_is_compact_and_ascii() -> None:
    assert jsontext.dumps({"name": "Zoë", "list": [1, None, True]}) == '{"name":"Zoë","list":[1,null,true]}'


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "it is empty"),
        (b"", "it is empty"),
        (" ", "Expecting value"),
        ("{", "Expecting property name"),
        ("{'a': 1}", "Expecting property name"),
        ('{"a": 1} x', "Extra data"),
        ("[1,]", "trailing comma"),
        ('"\x01"', "Invalid control character"),
        ("NaN", "it has NaN, which is not a JSON number"),
        ("[Infinity]", "it has Infinity, which is not a JSON number"),
        ("-Infinity", "it has -Infinity, which is not a JSON number"),
        ('{"a": 1, "a": 2}', "it has the member a twice"),
        ('{"b": [{"a": 1, "b": 2, "a": 1}]}', "it has the member a twice"),
        ('{"Ada Okafor": 1, "Ada Okafor": 2}', "it has a member twice"),
        ('{"GB10DEMO04000431926801": 1, "GB10DEMO04000431926801": 2}', "it has a member twice"),
        ("[" * 100_000, "it is nested too deeply"),
        ('{"a":' * 100_000, "it is nested too deeply"),
        ("1" * 10_000, "it has a number that is too long"),
        ("1e99999999999999999999", "it has a number that is too long"),
        (b'"\xff"', "it is not UTF-8"),
        ('{"a": 1}'.encode("utf-16"), "it begins with a byte order mark of UTF-16"),
        ('{"a": "é"}'.encode("latin-1"), "it is not UTF-8"),
        (r'"\ud800"', "half of a surrogate pair"),
        (rb'"\uDFFF"', "half of a surrogate pair"),
        (r'{"a": ["\uD83D \uDE00"]}', "half of a surrogate pair"),
        (r'{"\udc00": 1}', "half of a surrogate pair"),
        ('"\ud800"', "half of a surrogate pair"),
        (b'"\xed\xa0\x80"', "it is not UTF-8"),
    ],
)
def test_invalid_json_is_rejected_with_the_reason(text: str | bytes, reason: str) -> None:
    with pytest.raises(jsontext.InvalidJson, match=reason):
        jsontext.loads(text)


def test_a_byte_order_mark_before_json_is_ignored() -> None:
    assert jsontext.loads(b'\xef\xbb\xbf{"a": 1.10}') == jsontext.loads('\ufeff{"a": 1.10}') == {"a": Decimal("1.10")}


@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}"), ('[{"a":', "}]")])
def test_json_of_100_levels_is_read_and_json_of_101_levels_is_rejected(opening: str, closing: str) -> None:
    levels = 2 if opening.startswith("[{") else 1
    deepest = opening * (100 // levels) + "1" + closing * (100 // levels)

    assert jsontext.dumps(jsontext.loads(deepest)) == deepest
    assert jsontext.loads(deepest.encode()) == jsontext.loads(deepest)
    for text in (f"[{deepest}]", f'{{"a":{deepest}}}', f"[[],{deepest}]"):
        for content in (text, text.encode()):
            with pytest.raises(jsontext.InvalidJson, match="it is nested too deeply"):
                jsontext.loads(content)


@pytest.mark.parametrize("text", ["[" + "[]," * 500 + "1]", '["' + "[" * 500 + '"]', "[" + "{}," * 500 + "[]]"])
def test_many_members_do_not_increase_the_nesting_depth_of_json(text: str) -> None:
    assert jsontext.dumps(jsontext.loads(text)) == text


def test_a_json_error_does_not_quote_the_text() -> None:
    with pytest.raises(jsontext.InvalidJson) as caught:
        jsontext.loads('{"password": hunter2}')

    assert "hunter2" not in str(caught.value)


@given(st.binary(max_size=64))
def test_random_bytes_are_read_as_json_or_rejected(content: bytes) -> None:
    with contextlib.suppress(jsontext.InvalidJson):
        jsontext.loads(content)


@pytest.mark.parametrize(
    "text", ["1e5", "1E+5", "0.0000001", "-0.0", "-0", "[-0,0]", "0.10", "1.50e-7", "123456789012345678901234567890.10"]
)
def test_a_parsed_json_number_is_serialised_with_the_same_digits(text: str) -> None:
    assert jsontext.dumps(jsontext.loads(text)) == text


@pytest.mark.parametrize("text", [r'"\ud83d\ude00"', r'{"\uD83D\uDE00":"\\ud800"}', '"\U0001f600"', r'"\u00e9"'])
def test_escaped_and_plain_json_characters_are_parsed_equally(text: str) -> None:
    assert jsontext.loads(text) == jsontext.loads(text.encode()) == json.loads(text)


def test_stored_json_text_with_an_unpaired_surrogate_is_readable() -> None:
    text = '{"name":"Zo\\u00eb \\ud83d"}'

    assert jsontext.dumps(jsontext.read_stored(text)) == text
