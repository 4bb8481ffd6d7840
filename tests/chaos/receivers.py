"""HTTP receivers that fail a third of their calls: a TPP's Events URL, and banks of both protocol versions.

The run's seed, the call's id and the number of calls with that id determine whether and how a call fails.
"""

from __future__ import annotations

import json
import random
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal

import standardwebhooks.webhooks
from standardwebhooks import Webhook

from tests.openbanking.examples import BY_WEBHOOK

EVENTS = "/events/"
NO_ANSWER = b"no answer"
"""The content that represents a missing response. The worker waits for the timeout in simulated time."""
FAILING = 1 / 3
Act = Literal["answer", "drop", "hang"]
Behaviour = tuple[str, Act, int, dict[str, str], bool]
"""The name of a behaviour, the action on the connection, the status, the headers, and whether the request is executed.
"""
_ACCEPTED: Behaviour = ("200", "answer", 200, {}, True)
_REFUSED: Behaviour = ("refused", "answer", 400, {}, False)
_FAULTS: Sequence[Behaviour] = (
    ("500", "answer", 500, {}, False),
    ("500 after it was done", "answer", 500, {}, True),
    ("503, Retry-After", "answer", 503, {"Retry-After": "7"}, False),
    ("429, Retry-After", "answer", 429, {"Retry-After": "4"}, False),
    ("dropped", "drop", 0, {}, False),
    ("dropped after it was done", "drop", 0, {}, True),
    ("no answer", "hang", 0, {}, False),
    ("no answer, but done", "hang", 0, {}, True),
)


@dataclass(frozen=True)
class Call:
    """A call to a receiver.

    Attributes:
        id: ``webhook-id``, or ``X-Request-Id`` at a bank. A retry has the same id.
        response: the name of the response.
        status: the HTTP status; 0 if the receiver sent no response.
        subject: an event's body, a bank's token, or an order's reference.
        done: whether the receiver executed the request.
    """

    path: str
    id: str
    subject: str
    body: bytes
    response: str
    status: int
    done: bool


@dataclass
class CallLog:
    """All calls to receivers, in order, and the problems found in the calls.

    The fraction ``failing`` of the calls fails. If ``failing`` is 0, a retry gets the response of the first call.
    """

    seed: str
    failing: float = FAILING
    calls: list[Call] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    events_secrets: dict[str, str] = field(default_factory=dict)
    _times: Counter[str] = field(default_factory=Counter)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def take(self, path: str, headers: Mapping[str, str], body: bytes) -> tuple[Act, int, dict[str, str], Any]:
        with self._lock:
            call_id, subject = self._event(path, headers, body) if path.startswith(EVENTS) else _at_bank(headers, body)
            self._times[call_id] += 1
            drawn = random.Random(f"{self.seed}/{call_id}/{self._times[call_id] if self.failing else 0}")
            response, act, status, more, done = _ACCEPTED
            if drawn.random() < self.failing:
                (behaviour,) = drawn.choices(_FAULTS, [2 if fault[1] == "answer" else 1 for fault in _FAULTS])
                response, act, status, more, done = behaviour
            elif "payment" in path and drawn.random() < 0.05:
                response, act, status, more, done = _REFUSED
            self.calls.append(Call(path, call_id, subject, body, response, status, done))
            return act, status, more, _answer(path, status, subject)

    def _event(self, path: str, headers: Mapping[str, str], body: bytes) -> tuple[str, str]:
        try:
            Webhook(self.events_secrets[path.removeprefix(EVENTS)]).verify(body, dict(headers))
        except Exception as error:  # the summary shows any
            self.problems.append(f"an event was not accepted: {error!r}")
        return headers.get("webhook-id", ""), body.decode()


def payment_id_of(reference: str) -> str:
    return f"P-{reference}"


def _at_bank(headers: Mapping[str, str], body: bytes) -> tuple[str, str]:
    members = json.loads(body)
    reference = members.get("reference") or members.get("remittance_information_unstructured")
    return headers.get("x-request-id", ""), reference or members.get("access_token") or body.decode()


def _answer(path: str, status: int, subject: str) -> Any:
    if path.startswith(EVENTS):
        return {}
    version_1 = "/bank-1/" in path
    if status != 200:
        error = {"status": "error", "error_code": "5001", "message": "not now"}
        return error if version_1 else {"code": "SERVICE_UNAVAILABLE", "title": "not now"}
    webhook = "/" + path.split("/", 2)[-1]
    if webhook not in BY_WEBHOOK:
        return {"status": "success"}
    answer = BY_WEBHOOK[webhook].answer
    return answer | ({"payment_id": payment_id_of(subject)} if "payment_id" in answer else {})


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1
    server: Receivers

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        headers = {name.lower(): value for name, value in self.headers.items()}
        act, status, more, answer = self.server.log.take(self.path, headers, body)
        if act == "answer":
            self._respond(status, more, json.dumps(answer).encode())
            return
        self.close_connection = True
        if act == "hang":
            self.wfile.write(NO_ANSWER)

    def _respond(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        self.send_response(status)
        for name, value in {**headers, "Content-Type": "application/json", "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing."""


class Receivers(ThreadingHTTPServer):
    """A server on the loopback interface that simulates one receiver, with one thread per connection."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, log: CallLog) -> None:
        self.log = log
        super().__init__(("127.0.0.1", 0), _Handler)
        threading.Thread(target=self.serve_forever, daemon=True, name="receiver").start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore connection errors of killed workers. The final check detects other problems as missing calls."""

    def stop(self) -> None:
        self.shutdown()
        self.server_close()


def verify_in(now: Callable[[], datetime]) -> None:
    """Set the clock for event verification. The event library rejects events older than five minutes."""

    class Simulated(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> datetime:  # type: ignore[override]
            return now()

    standardwebhooks.webhooks.datetime = Simulated  # type: ignore[attr-defined]
