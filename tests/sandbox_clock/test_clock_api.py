"""``/sandbox/clock``: authentication, limits of a clock advance, and rejected requests."""

from typing import Any

import pytest

from chalicelib.foundation import jsontext
from chalicelib.foundation.moved_clock import ClockOffset
from chalicelib.sandbox_clock.clock_api import read_seconds
from tests.kit.logs import Lines
from tests.sandbox_clock.conftest import Operator

START = {"now": "2026-03-02T09:00:00+00:00", "offset_seconds": 0}
HOUR, DAY = 3600, 86_400


def test_a_clock_advance_returns_the_reached_time_and_offset(operator: Operator) -> None:
    assert operator.move("P1D") == {"now": "2026-03-03T09:00:00+00:00", "offset_seconds": 86_400}
    assert operator.move("PT1H") == {"now": "2026-03-03T10:00:00+00:00", "offset_seconds": 90_000}


def test_the_clock_can_be_read_without_an_operator_key(operator: Operator) -> None:
    assert operator.time == START
    operator.move("P1D")
    assert operator.time == {"now": "2026-03-03T09:00:00+00:00", "offset_seconds": DAY}


@pytest.mark.parametrize(
    ("duration", "seconds"),
    [
        ("P7D", 7 * DAY),
        ("P2W", 14 * DAY),
        ("P1DT12H", DAY + 12 * HOUR),
        ("PT90M", 5400),
        ("PT30S", 30),
        ("P400D", 400 * DAY),
        ("PT9600H", 400 * DAY),
        ("PT34560000S", 400 * DAY),
        ("PT61M", 3660),
        ("61m", 3660),
        ("7d", 7 * DAY),
        ("2w", 14 * DAY),
        ("90s", 90),
    ],
)
def test_a_clock_duration_consists_of_weeks_or_of_days_and_times(duration: str, seconds: int) -> None:
    assert read_seconds({"advance": duration}) == seconds


@pytest.mark.parametrize(
    "body",
    [
        *("", "{", "[]", "null", '"P1D"', "{}", '{"advance": 7}', '{"advance": null}', '{"advance": ["P1D"]}'),
        *('{"advance": "P1D", "by": "me"}', '{"advance": "P1D", "advance": "P2D"}'),
        *(f'{{"advance": "{text}"}}' for text in ("", "P", "PT", "7", "P1M", "P1Y", "-P1D", "P-1D", "+P1D", "P1.5D")),
        *(f'{{"advance": "{text}"}}' for text in ("p1d", "P1D ", "P1DT", "P1H", "PT1D", "P1W2D", "P٣D", "P99999D")),
        *(f'{{"advance": "{text}"}}' for text in ("7D", "7 d", "1d12h", "0d", "401d")),
        *(f'{{"advance": "{text}"}}' for text in ("PT0S", "P0D", "P401D", "P400DT1S", "P58W")),
    ],
)
def test_an_invalid_clock_duration_returns_400_and_leaves_the_clock_unchanged(operator: Operator, body: str) -> None:
    answer = operator.ask(body)

    assert answer.status == 400
    assert answer.body["error"] == "invalid_request"
    assert operator.time == START


def test_a_clock_request_with_a_content_type_other_than_json_returns_415(operator: Operator) -> None:
    answer = operator.ask("advance=P1D", content_type="application/x-www-form-urlencoded")

    assert (answer.status, answer.body["error"]) == (415, "invalid_request")
    assert operator.time == START


@pytest.mark.parametrize("key", [None, "", "another", "the-operators-ke", "the-operators-keyy"])
def test_a_clock_advance_with_a_wrong_operator_key_returns_401(operator: Operator, key: str | None) -> None:
    answer = operator.ask({"advance": "P1D"}, key)

    assert (answer.status, answer.body["error"]) == (401, "invalid_key")
    assert answer.headers["www-authenticate"] == "Bearer"
    assert operator.time == START


def test_the_operator_key_is_checked_before_the_request_body(operator: Operator) -> None:
    assert operator.ask("{", "another").status == 401


def test_every_clock_advance_returns_401_if_no_operator_key_is_configured(operator: Operator) -> None:
    hub = operator.causeway.hub
    object.__setattr__(hub.settings, "operator_key", None)

    assert operator.ask({"advance": "P1D"}, "").status == 401


def test_an_unsupported_method_of_the_clock_api_returns_405_as_json(operator: Operator) -> None:
    answer = operator.causeway.call("PUT", "/sandbox/clock", b"{}")

    assert (answer.status, answer.body["error"]) == (405, "method_not_allowed")
    assert answer.headers["allow"] == "GET, POST, HEAD, OPTIONS"


def test_a_concurrent_clock_advance_returns_409(operator: Operator) -> None:
    ClockOffset(operator.causeway.hub.store).claim("another", operator.causeway.clock.time())
    answer = operator.ask({"advance": "P1D"})

    assert (answer.status, answer.body["error"]) == (409, "clock_busy")
    assert operator.time == START


def test_a_storage_failure_returns_503_and_is_logged(operator: Operator, lines: Lines) -> None:
    with operator.causeway.storage_gone("update"):
        answer = operator.ask({"advance": "P1D"})

    assert (answer.status, answer.body["error"]) == (503, "temporarily_unavailable")
    assert "clock not moved" in lines.text


def test_a_clock_response_is_json_with_cache_control_no_store(operator: Operator) -> None:
    answer = operator.ask({"advance": "PT1H"})
    body: Any = jsontext.loads(answer.text)

    assert list(body) == ["now", "offset_seconds"]
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["cache-control"] == "no-store"
