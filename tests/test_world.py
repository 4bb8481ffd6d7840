"""The world of the tests does not depend on how long a test takes."""

from __future__ import annotations

import time

import moto.sqs.models
import pytest

from tests.world import World


def test_a_delayed_message_does_not_become_visible_by_real_time(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.queued()
    world.hub.delivery.queue.send("later", delay=10)
    world.hub.delivery.queue.send("now")
    monkeypatch.setattr(moto.sqs.models, "unix_time_millis", lambda: (time.time() + 20) * 1000)

    assert world.queued() == ["now"]
    assert world.queued() == []
