"""Items are converted as boto3 converts them; whole numbers and binary values come back as Python's own."""

from __future__ import annotations

from decimal import Decimal, DecimalException
from typing import Any

import pytest
from boto3.dynamodb.types import TypeSerializer

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
    b"x",
    {1, 2},
    [1, ["a"]],
    {"a": {"b": False, "c": []}},
]
REFUSED = [1.5, [1.5], {"a": 1.5}, 10**39 + 1, -(10**39) - 1, object()]


@pytest.mark.parametrize("value", VALUES, ids=str)
def test_a_value_is_converted_as_by_boto3_and_read_as_it_was(value: Any) -> None:
    packed = pack({"name": value})

    assert packed == {"name": TypeSerializer().serialize(value)}
    assert unpack(packed) == {"name": value}
    assert type(unpack(packed)["name"]) is type(value)


@pytest.mark.parametrize("value", REFUSED, ids=lambda value: type(value).__name__)
def test_a_value_that_boto3_refuses_is_refused_alike(value: Any) -> None:
    with pytest.raises((TypeError, DecimalException)) as expected:
        TypeSerializer().serialize(value)
    with pytest.raises(expected.type):
        pack({"name": value})
