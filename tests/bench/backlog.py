"""A backlog of events for a receiver that takes a while for each, on a stack as ``make run`` starts it.

Its pace is compared with that of a short backlog on the same stack; another receiver gets one event meanwhile.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from unittest.mock import patch

from chalicelib.bootstrap import Hub
from chalicelib.delivery.outbox import RecordedDeliveries
from chalicelib.foundation.settings import Settings
from chalicelib.openbanking.protocol.tpp_events import TestEvent
from chalicelib.openbanking.records.client_record import Client
from infra.local.background import run_stack
from tests.kit.http import serving

EVENTS, SHORT = 10_000, 200
SECONDS = 0.05
"""How long the receiver takes for an event."""
GOAL = 0.8
_TOGETHER = 40
"""Events per transaction: an event is two items."""
_PATIENCE = 3600


@dataclass
class Arrivals:
    """When each event arrived, by the path of its receiver; repeats are not counted."""

    times: dict[str, dict[str, float]] = field(default_factory=dict)
    changed: threading.Condition = field(default_factory=threading.Condition)

    def note(self, path: str, event_id: str) -> None:
        with self.changed:
            self.times.setdefault(path, {}).setdefault(event_id, time.monotonic())
            self.changed.notify_all()

    def wait(self, path: str, count: int) -> Sequence[float]:
        """The times, in order, of so many events."""
        with self.changed:
            if not self.changed.wait_for(lambda: len(self.times.get(path, ())) >= count, _PATIENCE):
                raise AssertionError(f"{count} events do not arrive")
            return sorted(self.times[path].values())


class _Receiver(BaseHTTPRequestHandler):
    """Takes an event; the path ``/slow`` takes a while for it."""

    protocol_version = "HTTP/1.1"
    server: Receivers

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        if self.path == "/slow":
            time.sleep(SECONDS)
        self.server.arrivals.note(self.path, self.headers["webhook-id"])
        self.send_response(204)
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing."""


class Receivers(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        self.arrivals = Arrivals()
        super().__init__(("127.0.0.1", 0), _Receiver)


@dataclass(frozen=True)
class Drained:
    """Events a second from the backlog, the same from a short one, and how many had arrived before the other event."""

    pace: float
    short_pace: float
    before: int

    def __str__(self) -> str:
        return (
            f"{self.pace / self.short_pace:.2f} of the pace of {SHORT} events   ({self.pace:.1f} and "
            f"{self.short_pace:.1f} a second); another receiver's event arrives after {self.before} of them"
        )


def drained(count: int = EVENTS) -> Drained:
    """Drain ``SHORT`` events, then ``count`` with one for another receiver behind them."""
    with run_stack() as stack, _hub(stack) as hub, serving(Receivers()) as receivers:
        address = f"http://127.0.0.1:{receivers.server_port}"
        slow, other = (_client(hub, f"{address}{path}") for path in ("/slow", "/other"))
        _send(hub, slow, SHORT)
        first = receivers.arrivals.wait("/slow", SHORT)
        _send(hub, slow, count)
        _send(hub, other, 1)
        (arrived,) = receivers.arrivals.wait("/other", 1)
        then = receivers.arrivals.wait("/slow", SHORT + count)[SHORT:]
        return Drained(_pace(then), _pace(first), sum(at < arrived for at in then))


@contextlib.contextmanager
def _hub(stack: Mapping[str, Any]) -> Iterator[Hub]:
    with patch.dict(os.environ, stack["environment"]):
        yield Hub(Settings.from_environment(os.environ))


def _client(hub: Hub, events_url: str) -> Client:
    made = hub.openbanking.clients.create(owner="bench@example.com", title="Bench", events_url=events_url)
    return made.client


def _send(hub: Hub, client: Client, count: int) -> None:
    """Record events and queue them in the end."""
    record = partial(hub.openbanking.tpp_events.record, client, "test")
    recorded = [record(TestEvent(message=f"event {number}")) for number in range(count)]
    for start in range(0, count, _TOGETHER):
        together = sum(recorded[start : start + _TOGETHER], RecordedDeliveries())
        hub.store.transact(together.operations)
    hub.delivery.outbox.queue([delivery_id for each in recorded for delivery_id in each.delivery_ids])


def _pace(times: Sequence[float]) -> float:
    return (len(times) - 1) / (times[-1] - times[0])
