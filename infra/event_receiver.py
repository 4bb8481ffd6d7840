"""An HTTP server that receives events and verifies them with the ``causeway`` Python package."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import ThreadingHTTPServer
from typing import Any

from causeway.tpp import EventVerifier, InvalidEvent, ReceivedEvent
from infra.strict_http import StrictHandler

SECONDS = 60.0
"""Maximum time to wait for an event. On a busy machine, it covers a second attempt 5 seconds after the first."""


class EventMissing(Exception):
    """An event did not arrive in time, or an unsigned event arrived. The message is one sentence."""


class EventReceiver:
    """Receives events at ``url``. Set ``secret`` to the signing secret (``whsec_…``) after ``url`` is registered.

    ``show`` is called with each expected event.
    """

    def __init__(self, url: str, show: Callable[[ReceivedEvent], None]) -> None:
        self.url = url
        self._show = show
        self.secret = ""
        self._changed = threading.Condition()
        self._received: dict[str, ReceivedEvent | None] = {}  # by id; None: was waited for
        self._is_forged = False

    def receive(self, headers: Mapping[str, str], body: bytes) -> int:
        """Process a request. Returns the HTTP status."""
        with self._changed:
            self._changed.notify_all()
            try:
                received = EventVerifier(self.secret).verify(headers, body)
            except InvalidEvent:
                self._is_forged = True
                return 400
            self._received.setdefault(received.id, received)
            return 204

    def wait_for_event(self, type_: str, **members: Any) -> ReceivedEvent:
        """Wait for an event that has the given type and data members. Other events are stored for later calls.

        Raises: EventMissing, if no such event arrives in time, or a signature is invalid.
        """

        def find() -> ReceivedEvent | None:
            if self._is_forged:
                raise EventMissing("an event arrived that is not signed with the receiver's secret")
            for received in filter(None, self._received.values()):
                event = received.event.to_json()
                if event["type"] == type_ and members.items() <= event["data"].items():
                    return received
            return None

        with self._changed:
            found = self._changed.wait_for(find, SECONDS)
            if found is None:
                raise EventMissing(f"no {type_} event arrived within {SECONDS:.0f} seconds")
            self._received[found.id] = None
        self._show(found)
        return found


@contextmanager
def listen(show: Callable[[ReceivedEvent], None] = lambda _: None) -> Iterator[EventReceiver]:
    """Run a receiver on a free local port."""

    class Handler(StrictHandler):
        timeout = 10

        def _handle(self) -> None:
            self.send_response(receiver.receive(dict(self.headers), self.read_body()))
            self.end_headers()

        do_POST = _handle  # noqa: N815 - http.server's name

        def log_message(self, format: str, *args: Any) -> None:
            """Disable request logging, because ``show`` prints the event."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        receiver = EventReceiver(f"http://127.0.0.1:{server.server_port}/events", show)
        threading.Thread(target=server.serve_forever, args=(0.05,), name="receiver", daemon=True).start()
        try:
            yield receiver
        finally:
            server.shutdown()
