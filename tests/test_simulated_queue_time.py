"""In tests, message delays do not depend on the real time that a test takes."""

import time

import moto.sqs.models
import pytest

from tests.causeway import Causeway


def test_a_delayed_queue_message_does_not_become_visible_by_real_time(
    causeway: Causeway, monkeypatch: pytest.MonkeyPatch
) -> None:
    causeway.queued()
    causeway.hub.delivery.queue.send("later", delay=10)
    causeway.hub.delivery.queue.send("now")
    monkeypatch.setattr(moto.sqs.models, "unix_time_millis", lambda: (time.time() + 20) * 1000)

    assert causeway.queued() == ["now"]
    assert causeway.queued() == []
