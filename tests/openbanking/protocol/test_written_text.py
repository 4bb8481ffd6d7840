"""Tests of free text, which reaches the bank unchanged, and of identifiers, which must be printable."""

import json

import pytest

from tests.openbanking.examples import BY_WEBHOOK
from tests.openbanking.relay import Relay, error_of

WRITTEN = "\u0646\u0631\u0645\u200c\u0627\u0641\u0632\u0627\u0631 5\u00a0€ Donau\u00addampf \u2764\u200d\u2764"


@pytest.mark.parametrize(
    ("webhook", "member", "text"),
    [
        ("/payment_initiation", "message_for_receiver", WRITTEN[:35]),
        ("/payment_initiation", "reference", WRITTEN[:18]),
        ("/payment_initiation", "receiver_name", "\u0646\u0631\u0645\u200c\u0627\u0641\u0632\u0627\u0631"),
        ("/v2_payment_single", "remittance_information_unstructured", WRITTEN),
        ("/v2_payment_single", "creditor_name", "\u0646\u0631\u0645\u200c\u0627\u0641\u0632\u0627\u0631\u00a0\u06f2"),
    ],
)
def test_free_text_reaches_the_bank_unchanged(relay: Relay, webhook: str, member: str, text: str) -> None:
    row = BY_WEBHOOK[webhook]

    answer = relay.call(row, {**row.request, member: text})

    assert answer.status == 200, answer
    assert json.loads(relay.received(row)[-1].body)[member] == text


@pytest.mark.parametrize("odd", ["A\u00a01", "A\u00ad1", "A\u200c1", "A\u200d1"], ids=ascii)
def test_an_identifier_with_unprintable_characters_returns_400(relay: Relay, odd: str) -> None:
    row = BY_WEBHOOK["/account"]

    answer = relay.call(row, {"account_id": odd})

    assert answer.status == 400
    assert error_of(answer)
