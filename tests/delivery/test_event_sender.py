"""Tests of the event sender: the bodies of events, and the responses that mark an event as delivered."""

from typing import Any

import pytest

from chalicelib.delivery import event_sender
from chalicelib.delivery.outcomes import Dispatch, Undeliverable
from chalicelib.foundation import jsontext
from chalicelib.foundation.crypto import event_signing
from chalicelib.foundation.http.outbound import Reply, TimedOut
from tests.causeway import START, Causeway
from tests.delivery.conftest import record_delivery

SECRETS = [event_signing.new_secret()]
NOW = int(START.timestamp())


def posted(causeway: Causeway, answer: Reply | Exception) -> Any:
    causeway.receiver.answers = [answer]
    dispatch = Dispatch(causeway.delivery(record_delivery(causeway)), "{}")
    return event_sender.post(causeway.hub.outbound, causeway.receiver.url, SECRETS, dispatch, NOW)


def test_an_event_body_has_the_type_the_timestamp_and_every_member_with_a_value() -> None:
    text = event_sender.body("a.type", NOW, {"zero": 0, "none": None, "empty": "", "word": "Zoë", "no": False})

    assert list(jsontext.loads(text).items()) == [
        ("type", "a.type"),
        ("timestamp", "2026-03-02T09:00:00+00:00"),
        ("data", {"zero": 0, "word": "Zoë", "no": False}),
    ]


@pytest.mark.parametrize("status", [200, 204, 299])
def test_a_2xx_response_counts_as_delivered(causeway: Causeway, status: int) -> None:
    assert posted(causeway, Reply(status, b"", {}, 0)).status == status


@pytest.mark.parametrize(("status", "final"), [(199, False), (300, False), (410, True), (500, False)])
def test_a_non_2xx_status_is_a_failure_and_status_410_is_a_final_failure(
    causeway: Causeway, status: int, final: bool
) -> None:
    with pytest.raises(Undeliverable, match=f"responded with status {status}") as failed:
        posted(causeway, Reply(status, b"words of the receiver", {"Retry-After": "7"}, 0))

    assert failed.value.status == status
    assert failed.value.final == final
    assert failed.value.retry_after == 7
    assert "words" not in str(failed.value)


def test_a_timeout_is_a_failure_that_can_be_retried(causeway: Causeway) -> None:
    with pytest.raises(Undeliverable, match="in time") as failed:
        posted(causeway, TimedOut("no answer came in time"))

    assert (failed.value.status, failed.value.final) == (None, False)
