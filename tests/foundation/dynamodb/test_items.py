"""Items have the same serialised form as in boto3, and are read back as Python values."""

import base64
import json
from decimal import Decimal, DecimalException
from typing import Any

import pytest
from boto3.dynamodb.types import TypeSerializer
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.foundation.dynamodb.items import pack, unpack

VALUES = [
    "",
    "a",
    0,
    -5,
    10**38 - 1,
    True,
    None,
    Decimal("1.5"),
    Decimal("1E+40"),
    b"x",
    {1, 2},
    {Decimal("1.5")},
    {"a", "b"},
    {b"a"},
    [1, ["a"]],
    {"a": {"b": False, "c": []}},
]
REFUSED = [1.5, [1.5], {"a": 1.5}, 10**39 + 1, -(10**39) - 1, object(), Decimal("NaN"), Decimal("Infinity")]
REFUSED += [10**38, {1, "a"}, {1.5}]

stored = st.recursive(
    st.one_of(st.text(), st.integers(-(10**38) + 1, 10**38 - 1), st.booleans(), st.none(), st.binary()),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(), inner, max_size=3)),
    max_leaves=8,
)


def on_the_wire(value: object) -> Any:
    return json.loads(json.dumps(TypeSerializer().serialize(value), default=_base64))


def _base64(value: Any) -> str:
    return base64.b64encode(value if isinstance(value, bytes) else value.value).decode()


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_an_item_value_has_the_serialised_form_of_boto3_and_is_read_back(value: Any) -> None:
    packed = pack({"name": value})

    assert packed == {"name": on_the_wire(value)}
    assert unpack(packed) == {"name": value}
    assert type(unpack(packed)["name"]) is type(value)


@given(st.dictionaries(st.text(), stored, max_size=4))
def test_random_items_have_the_serialised_form_of_boto3_and_are_read_back(item: dict[str, Any]) -> None:
    assert pack(item) == {name: on_the_wire(value) for name, value in item.items()}
    assert unpack(json.loads(json.dumps(pack(item)))) == item


@pytest.mark.parametrize("value", REFUSED, ids=lambda value: type(value).__name__)
def test_an_item_value_that_boto3_rejects_raises_the_error_of_boto3(value: Any) -> None:
    with pytest.raises((TypeError, DecimalException)) as expected:
        TypeSerializer().serialize(value)
    with pytest.raises(expected.type):
        pack({"name": value})


def test_an_empty_set_is_rejected_as_an_item_value() -> None:
    """DynamoDB does not support empty sets."""
    with pytest.raises(TypeError, match="set"):
        pack({"name": set()})
