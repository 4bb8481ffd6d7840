"""An event receiver that verifies signatures with the Standard Webhooks library."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from queue import Empty, SimpleQueue
from typing import Any

from standardwebhooks.webhooks import Webhook, WebhookVerificationError

from infra.tour import calls
from infra.tour.calls import TourFailed


@dataclass(frozen=True, slots=True)
class ReceivedEvent:
    """An event with a verified signature; repeats have the same ``message_id``."""

    message_id: str
    type: str
    data: Mapping[str, Any]


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
        """Process a request, with ``headers`` by lower-case name. Returns the HTTP status."""
        try:
            told = Webhook(self.secret).verify(body, dict(headers))
            event = ReceivedEvent(headers["webhook-id"], told["type"], told["data"])
        except (WebhookVerificationError, ValueError, LookupError):
            self._arrivals.put(None)
            return 400
        with self._lock:
            is_new = event.message_id not in self._known
            self._known.add(event.message_id)
            self.count += is_new
        if is_new:
            self._arrivals.put(event)
        return 204

    def wait_for_event(self, type_: str, **members: Any) -> ReceivedEvent:
        """Wait for an event of a type whose data contain these members; other events are kept for later calls.

        Raises:
            TourFailed: no such event arrived in time, or a signature was invalid.
        """
        deadline = time.monotonic() + calls.SECONDS
        while True:
            for event in self._waiting:
                if event.type == type_ and all(event.data.get(name) == value for name, value in members.items()):
                    self._waiting.remove(event)
                    return event
            try:
                arrived = self._arrivals.get(timeout=max(deadline - time.monotonic(), 0))
            except Empty:
                raise TourFailed(f"no {type_} event arrived within {calls.SECONDS:.0f} seconds") from None
            if arrived is None:
                raise TourFailed("an event arrived that is not signed with the receiver's secret")
            self._waiting.append(arrived)


@contextmanager
def listen() -> Iterator[EventReceiver]:
    """Run a receiver on a free local port."""
    door = _ReceiverServer(("127.0.0.1", 0), _Handler)
    door.receiver = EventReceiver(f"http://127.0.0.1:{door.server_port}/events")
    threading.Thread(target=door.serve_forever, args=(0.05,), name="receiver", daemon=True).start()
    try:
        yield door.receiver
    finally:
        door.shutdown()
        door.server_close()


class _ReceiverServer(ThreadingHTTPServer):
    daemon_threads = True
    receiver: EventReceiver


class _Handler(BaseHTTPRequestHandler):
    server: _ReceiverServer
    timeout = 10

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.send_response(self.server.receiver.receive(headers, body))
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing: the tour prints the events."""
