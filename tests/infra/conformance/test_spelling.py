"""Tests of request bodies in an unusual JSON format, for example with escaped characters. The bodies have the same
content.
"""

import json
from decimal import Decimal

import pytest

from chalicelib.foundation import jsontext
from infra.conformance.spelling import respell

MEMBERS = {
    "creditor_name": "Zoë & Söhne",
    "callback_url": "https://tpp.example/a?b=1",
    "instructed_amount": {"amount": "1.10", "currency": "EUR"},
    "payments": [{"amount": "0.50"}, {}],
    "page_size": 100,
    "empty": "",
}


def test_the_unusual_json_format_preserves_the_members_and_the_exact_amounts() -> None:
    body = respell(MEMBERS)
    read = jsontext.loads(body)

    assert str(read["instructed_amount"]["amount"]) == "1.10"
    assert read["payments"] == [{"amount": Decimal("0.50")}, {}]
    assert {**read, "instructed_amount": None, "payments": None} == {
        **MEMBERS,
        "instructed_amount": None,
        "payments": None,
    }


@pytest.mark.parametrize("separators", [(",", ":"), (", ", ": ")])
@pytest.mark.parametrize("ensure_ascii", [True, False])
def test_re_serialised_json_differs_from_the_unusual_json_format(
    separators: tuple[str, str], ensure_ascii: bool
) -> None:
    body = respell(MEMBERS).decode()
    again = json.dumps(json.loads(body), separators=separators, ensure_ascii=ensure_ascii)

    assert again != body
    assert all(part in body for part in ("1.10", "\\u005a", "\\/"))


def test_an_amount_with_leading_zeros_remains_a_string_in_the_unusual_json_format() -> None:
    assert jsontext.loads(respell({"amount": "007.00"})) == {"amount": "007.00"}
