"""Tests of nearly valid and hostile orders, queries, reports and responses, which must not cause an internal error."""

from urllib.parse import urlencode

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chalicelib.foundation.http.outbound import Reply
from tests.kit.inputs import spoil
from tests.openbanking.examples import ROWS, Row
from tests.openbanking.kit import VERSIONS
from tests.openbanking.odd_input import documented, near, near_within, odd_text, relaxed
from tests.openbanking.relay import Relay, error_of, json_bytes

short = settings(relaxed, max_examples=12)
"""Hypothesis settings with few examples, for tests that run for each of many webhooks."""


# -- reports of banks


@VERSIONS
@short
@given(data=st.data())
def test_a_status_report_with_random_input_returns_a_documented_response(
    relay: Relay, version: int, data: st.DataObject
) -> None:
    names = ("payment_id", "payment_status") if version == 1 else ("paymentId", "paymentStatus")
    body = data.draw(near(dict(zip(names, ("P-1", 4), strict=True))))

    documented(relay.causeway.banks[version].call("/payments/status", body), version)


@short
@given(data=st.data())
def test_a_daily_performance_with_random_input_returns_a_documented_response(relay: Relay, data: st.DataObject) -> None:
    body = data.draw(near({"date": "2026-03-01", "consentDuration": 45_000, "paymentDuration": 30_000}))

    documented(relay.causeway.banks[2].call("/daily_performance", body), 2)


# -- orders and questions of TPPs, answers of banks


@pytest.mark.parametrize("row", [row for row in ROWS if not row.in_query], ids=str)
@short
@given(data=st.data())
def test_an_order_with_random_input_reaches_the_bank_only_when_valid(
    relay: Relay, row: Row, data: st.DataObject
) -> None:
    answer = relay.call(row, data.draw(near(row.request)))

    documented(answer, 2)
    assert len(relay.received(row)) == (answer.status == 200)


@pytest.mark.parametrize("row", [row for row in ROWS if row.in_query and row.table.request], ids=str)
@short
@given(data=st.data())
def test_a_read_with_random_input_reaches_the_bank_only_when_valid(relay: Relay, row: Row, data: st.DataObject) -> None:
    pairs = data.draw(st.lists(st.tuples(st.sampled_from([*row.request, "colour"]), odd_text), max_size=3))

    answer = relay.call(row, raw_query=urlencode([*row.request.items(), *pairs], errors="replace"))

    documented(answer, 2)
    assert len(relay.received(row)) == (answer.status == 200)


@pytest.mark.parametrize("row", ROWS, ids=str)
@short
@given(data=st.data())
def test_a_call_with_a_random_bank_response_returns_200_if_it_is_valid_and_otherwise_502(
    relay: Relay, row: Row, data: st.DataObject
) -> None:
    given = data.draw(st.one_of(near(row.answer), near_within(row.answer)))

    answer = relay.call(
        row, answer=Reply(data.draw(st.sampled_from([200, 200, 200, 400, 500])), json_bytes(given), {}, 0)
    )

    assert answer.status in (200, 502), answer
    if answer.status == 502:
        assert error_of(answer)[1] == "ASPSP_UNKNOWN_ERROR"


# -- text that is not UTF-8


@pytest.mark.parametrize("row", [row for row in ROWS if not row.in_query], ids=str)
def test_an_order_with_invalid_utf_8_returns_400_and_is_not_sent(relay: Relay, row: Row) -> None:
    for body in spoil(row.request):
        answer = relay.call(row, body)
        assert error_of(answer)[:2] == (400, "FORMAT_ERROR"), body
        assert relay.received(row) == []


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_a_bank_response_with_invalid_utf_8_returns_502(relay: Relay, row: Row) -> None:
    for sent in spoil(row.answer):
        answer = relay.call(row, answer=Reply(200, json_bytes(sent), {}, 0))
        assert error_of(answer)[:2] == (502, "ASPSP_UNKNOWN_ERROR"), sent
