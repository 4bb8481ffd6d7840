"""JSON Schemas of the field types of both APIs accept every valid value and reject most invalid values."""

import re
import subprocess
import sys
import unicodedata
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from pydantic import create_model

from chalicelib.cards.protocol import fields as card_fields
from chalicelib.foundation import jsontext
from chalicelib.foundation.fields.field_types import Message
from chalicelib.foundation.fields.problems import InvalidMessage
from chalicelib.foundation.fields.written_text import is_written
from chalicelib.openbanking.protocol import fields
from chalicelib.openbanking.protocol.fields import Bic, Currency, Day, Iban, WebAddress

F: Any = fields
C: Any = card_fields
"""The field types of the card API as ``Any``, because the type checker accepts types with a length only in annotations.
"""
TYPES: dict[str, Any] = {
    "AN": F.AN[18],
    "Text": F.Text[18],
    "A": F.A[3],
    "Name": F.Name[40],
    "PayeeName": F.PayeeName[40],
    "N": F.N[8],
    "Digits": F.Digits[8],
    "Id": F.Id[20],
    "Amount": F.Amount[10],
    "Whole": F.Whole[100],
    "Iban": Iban,
    "Bic": Bic,
    "Currency": Currency,
    "Country2": F.Country[2],
    "Country3": F.Country[3],
    "Day": Day,
    "WebAddress": WebAddress,
    "card AN": C.AN[1, 18],
    "card A": C.A[1, 3],
    "card ANS": C.ANS[1, 18],
    "card AS": C.AS[1, 40],
    "card N": C.N[1, 8],
    "card N of one length": C.N[4],
    "card Digits": C.Digits[8],
    "card Range": C.Range[1, 100],
    "card Iban": card_fields.Iban,
    "card Day": card_fields.Day,
    "card Email": card_fields.Email,
    "card Ipv4": card_fields.Ipv4,
    "card Mccs": card_fields.Mccs,
    "card Countries": card_fields.Countries,
}
SHORTEST = {
    "AN": F.AN[1],
    "A": F.A[1],
    "Name": F.Name[1],
    "N": F.N[1],
    "Digits": F.Digits[1],
    "Amount": F.Amount[1],
    "card AN": C.AN[1],
    "card ANS": C.ANS[1],
    "card AS": C.AS[1],
    "card N": C.N[1],
    "card Digits": C.Digits[1],
}
MODELS = {name: create_model(name, __base__=Message, value=(kind, ...)) for name, kind in TYPES.items()}
VALIDATORS = {name: Draft202012Validator(model.model_json_schema()) for name, model in MODELS.items()}
CHARACTERS = [chr(code) for code in range(sys.maxunicode + 1)]


def schema_of(kind: Any) -> dict[str, Any]:
    schema = create_model("Sample", __base__=Message, value=(kind, ...)).model_json_schema()
    found: dict[str, Any] = schema["properties"]["value"]
    return schema["$defs"][found["$ref"].rpartition("/")[2]] if "$ref" in found else found


def is_taken(name: str, value: object) -> bool:
    try:
        MODELS[name].read({"value": value})
    except InvalidMessage:
        return False
    return True


def is_described(name: str, value: object) -> bool:
    return bool(VALIDATORS[name].is_valid({"value": value}))


@pytest.mark.parametrize("name", TYPES)
def test_every_field_type_has_a_valid_schema_with_a_valid_example(name: str) -> None:
    schema = schema_of(TYPES[name])
    Draft202012Validator.check_schema(schema)

    assert schema["type"]
    assert schema["description"]
    (example,) = schema["examples"]
    assert is_taken(name, example)
    assert is_described(name, example)


@pytest.mark.parametrize("name", SHORTEST)
def test_the_example_of_a_field_type_respects_the_minimum_length(name: str) -> None:
    model = create_model("Sample", __base__=Message, value=(SHORTEST[name], ...))

    model.read({"value": schema_of(SHORTEST[name])["examples"][0]})


@pytest.mark.parametrize("name", TYPES)
def test_an_optional_member_has_a_schema(name: str) -> None:
    model = create_model("Sample", __base__=Message, value=(TYPES[name] | None, None))
    validator = Draft202012Validator(model.model_json_schema())

    assert validator.is_valid({"value": None})
    assert validator.is_valid({"value": schema_of(TYPES[name])["examples"][0]})
    assert not validator.is_valid({"value": []})


@pytest.mark.parametrize(
    ("name", "described"),
    [
        ("AN", {"type": "string", "minLength": 1, "maxLength": 18}),
        ("Digits", {"type": ["string", "integer"], "maxLength": 8, "minimum": 0, "maximum": 99_999_999}),
        ("Id", {"type": ["string", "integer"], "minLength": 1, "maxLength": 20}),
        ("Amount", {"type": ["number", "string"], "exclusiveMinimum": 0}),
        ("N", {"type": ["number", "string"]}),
        ("Whole", {"type": "integer", "minimum": 1, "maximum": 100}),
        ("Day", {"type": "string", "format": "date"}),
        ("WebAddress", {"type": "string", "format": "uri", "maxLength": 2048}),
        ("Iban", {"type": "string", "format": "iban", "maxLength": 64}),
        ("card AN", {"type": "string", "minLength": 1, "maxLength": 18}),
        ("card N of one length", {"type": ["integer", "string"], "minimum": 1000, "maximum": 9999}),
        ("card Digits", {"type": ["string", "integer"], "pattern": "^[0-9]{8,8}$"}),
        ("card Range", {"type": ["integer", "string"], "minimum": 1, "maximum": 100}),
        ("card Day", {"type": "string", "format": "date"}),
        ("card Email", {"type": "string", "format": "email", "minLength": 6, "maxLength": 100}),
    ],
)
def test_a_field_schema_states_types_lengths_and_limits(name: str, described: dict[str, Any]) -> None:
    assert described.items() <= schema_of(TYPES[name]).items()


TEXTS = [
    st.text(max_size=20),
    st.text("AZaz09 .,'-&()/_@:", max_size=20),
    st.from_regex(r"\A-?[0-9]{1,12}(\.[0-9]{1,12})?\Z"),
    st.dates().map(str),
    st.sampled_from(
        ["EUR", "DE", "DEU", "GB33 bukb 20201555555555", "DEUTDEFF500", "https://a.example/?b", "deutdeff"]
    ),
]
NUMBERS = [
    st.integers(-(10**12), 10**12),
    st.integers(0, 120),
    st.from_regex(r"\A-?(0|[1-9][0-9]{0,9})\.[0-9]{1,8}\Z").map(jsontext.loads),
]


@settings(max_examples=200)
@given(st.one_of(*TEXTS, *NUMBERS, st.none(), st.booleans(), st.lists(st.none(), max_size=1)))
def test_a_field_schema_accepts_every_value_that_the_field_accepts(value: object) -> None:
    for name in TYPES:
        if name == "Whole" and isinstance(value, str):
            continue  # described as it reads in a query, where every number is text
        assert is_described(name, value) or not is_taken(name, value)


@pytest.mark.parametrize(
    ("kind", "belongs"),
    [
        (F.AN[2_000_000], str.isprintable),
        (F.Text[2_000_000], is_written),
        (F.A[2_000_000], str.isalpha),
        (F.PayeeName[2_000_000], lambda character: unicodedata.category(character)[0] in "LM" or character.isdecimal()),
        (F.Name[2_000_000], lambda character: unicodedata.category(character)[0] in "LM"),
        (C.ANS[1, 2_000_000], is_written),
        (C.AS[1, 2_000_000], lambda character: unicodedata.category(character)[0] in "LM"),
    ],
)
def test_a_field_pattern_accepts_every_accepted_character(kind: Any, belongs: Callable[[str], bool]) -> None:
    everything = "".join(filter(belongs, CHARACTERS))
    model = create_model("Sample", __base__=Message, value=(kind, ...))

    assert model.read({"value": everything}).model_dump() == {"value": everything}
    assert re.search(schema_of(kind)["pattern"], everything)


@pytest.mark.parametrize("name", ["AN", "Text", "A", "Name", "PayeeName", "card AN", "card A", "card ANS"])
def test_a_field_pattern_and_the_field_accept_the_same_latin_1_characters(name: str) -> None:
    for character in CHARACTERS[:256]:
        assert is_described(name, f"a{character}a") == is_taken(name, f"a{character}a")


@pytest.mark.parametrize("name", ["AN", "Text", "A", "Name", "PayeeName", "card AN", "card A", "card AS"])
def test_a_field_pattern_and_the_validation_agree_on_blank_text(name: str) -> None:
    assert is_described(name, " ") == is_taken(name, " ")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("AN", ""),
        ("AN", "a" * 19),
        ("AN", "a\u2028b"),
        ("A", "EU R"),
        ("Name", "Anna 2"),
        ("PayeeName", "Anna @ 2"),
        ("PayeeName", " "),
        ("Name", "\u00a0\u00ad\u200c\u200d"),
        ("AN", "a\u00adb"),
        ("AN", "a\u200db"),
        ("Text", "a\u200bb"),
        ("N", "1e5"),
        ("N", "123456.789"),
        ("N", 100_000_000),
        ("N", True),
        ("Digits", "123456789"),
        ("Digits", 123456789),
        ("Digits", -1),
        ("Digits", Decimal("1.5")),
        ("Digits", "12 34"),
        ("Id", ""),
        ("Id", "a" * 21),
        ("Id", "a\u2028b"),
        ("Id", True),
        ("Id", Decimal("1.5")),
        ("Amount", "0"),
        ("Amount", "0.00"),
        ("Amount", 0),
        ("Amount", -1),
        ("Amount", "12345678901"),
        ("Amount", "123456789.01"),
        ("Amount", ".5"),
        ("Amount", "1e3"),
        ("Amount", True),
        ("Whole", 0),
        ("Whole", 101),
        ("Whole", Decimal("1.5")),
        ("Iban", "GB"),
        ("Iban", "GB33BUKB2020_1555555555"),
        ("Bic", "DEUTDEFF5"),
        ("Currency", "XYZ"),
        ("Country2", "XX"),
        ("Country3", "DE"),
        ("Day", "2024-2-29"),
        ("WebAddress", "ftp://a.example"),
        ("WebAddress", "https://user@a.example"),
        ("WebAddress", "https://a.example/#part"),
        ("WebAddress", "https://a.example/a b"),
        ("card AN", ""),
        ("card AN", "a" * 19),
        ("card AN", "a b"),
        ("card A", "a1"),
        ("card ANS", "a\u200bb"),
        ("card AS", "Anna 2"),
        ("card AS", "A & B"),
        ("card AS", " "),
        ("card N", -1),
        ("card N", 100_000_000),
        ("card N", "1.5"),
        ("card N of one length", 999),
        ("card N of one length", "12345"),
        ("card Digits", "1234567"),
        ("card Range", 0),
        ("card Range", 101),
        ("card Iban", "GB33_BUKB_2020_1555_5555_55"),
        ("card Day", "2024-2-29"),
        ("card Email", "a b@example.com"),
        ("card Ipv4", "203.0.113"),
        ("card Mccs", "541"),
    ],
)
def test_a_field_schema_rejects_invalid_values_if_json_schema_can_express_the_rule(name: str, value: object) -> None:
    assert not is_taken(name, value)
    assert not is_described(name, value)


@pytest.mark.parametrize(("value", "text"), [(4711, "4711"), (0, "0"), ("0047", "0047"), (-5, "-5")])
def test_a_numeric_identifier_is_read_as_text(value: object, text: str) -> None:
    assert MODELS["Id"].read({"value": value}).model_dump() == {"value": text}


def test_a_code_list_that_several_members_share_appears_only_once_in_a_schema() -> None:
    model = create_model(
        "Money", __base__=Message, asked=(Currency, ...), paid=(Currency | None, None), home=(F.Country[2], ...)
    )

    definitions = model.model_json_schema()["$defs"]
    assert definitions.keys() == {"Currency", "CountryAlpha2"}
    assert "EUR" in definitions["Currency"]["enum"]
    assert "DE" in definitions["CountryAlpha2"]["enum"]


def test_importing_field_types_does_not_load_the_code_registries() -> None:
    code = "import sys, chalicelib.openbanking.protocol.fields; print({'pycountry', 'stdnum'} & sys.modules.keys())"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert found.stdout == "set()\n"
