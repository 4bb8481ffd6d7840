"""An event receiver that verifies events with the Python package."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import ThreadingHTTPServer
from queue import Empty, SimpleQueue
from typing import Any

from causeway.tpp import EventVerifier, InvalidEvent, ReceivedEvent
from infra.strict_http import StrictHandler
from infra.tour import polling
from infra.tour.polling import TourFailed


class EventReceiver:
    """Receives events at ``url``.

    Attributes:
        secret: the signing secret (``whsec_…``); set it once ``url`` is registered.
        count: the number of distinct events.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        self.secret = ""
        self.count = 0
        self._known: set[str] = set()
        self._lock = threading.Lock()
        self._arrivals: SimpleQueue[ReceivedEvent | None] = SimpleQueue()  # None: an event that failed verification
        self._waiting: list[ReceivedEvent] = []

    def receive(self, headers: Mapping[str, str], body: bytes) -> int:
        """Process a request. Returns the HTTP status."""
        try:
            received = EventVerifier(self.secret).verify(headers, body)
        except InvalidEvent:
            self._arrivals.put(None)
            return 400
        with self._lock:
            is_new = received.id not in self._known
            self._known.add(received.id)
            self.count += is_new
        if is_new:
            self._arrivals.put(received)
        return 204

    def wait_for_event(self, type_: str, **members: Any) -> ReceivedEvent:
        """Wait for an event of a type whose data contain these members; other events are kept for later calls.

        Raises:
            TourFailed: no such event arrived in time, or a signature was invalid.
        """
        deadline = time.monotonic() + polling.SECONDS
        while True:
            for received in self._waiting:
                told = received.event.to_json()
                if told["type"] == type_ and members.items() <= told["data"].items():
                    self._waiting.remove(received)
                    return received
            try:
                arrived = self._arrivals.get(timeout=max(deadline - time.monotonic(), 0))
            except Empty:
                raise TourFailed(f"no {type_} event arrived within {polling.SECONDS:.0f} seconds") from None
            if arrived is None:
                raise TourFailed("an event arrived that is not signed with the receiver's secret")
            self._waiting.append(arrived)


@contextmanager
def listen() -> Iterator[EventReceiver]:
    """Run a receiver on a free local port."""
    server = _ReceiverServer(("127.0.0.1", 0), _Handler)
    server.receiver = EventReceiver(f"http://127.0.0.1:{server.server_port}/events")
    threading.Thread(target=server.serve_forever, args=(0.05,), name="receiver", daemon=True).start()
    try:
        yield server.receiver
    finally:
        server.shutdown()
        server.server_close()


class _ReceiverServer(ThreadingHTTPServer):
    daemon_threads = True
    receiver: EventReceiver


class _Handler(StrictHandler):
    server: _ReceiverServer
    timeout = 10

    def _handle(self) -> None:
        body = self.read_body()
        self.send_response(self.server.receiver.receive(dict(self.headers), body))
        self.end_headers()

    do_POST = _handle  # noqa: N815 - http.server's name

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing: the tour prints the events."""
