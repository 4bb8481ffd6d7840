"""A proxy that drops connections, loses responses and duplicates requests according to a plan."""

import itertools
import socket
import struct
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, closing, suppress
from http.client import HTTPConnection, HTTPException
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Literal, NamedTuple
from urllib.parse import urlsplit

from tests.kit.http import serving
from tests.kit.time import PATIENCE_SECONDS

Fate = Literal[
    "pass",
    "drop",
    "unavailable",
    "swallow",
    "lose",
    "cut",
    "reset",
    "gateway",
    "garbage",
    "drip",
    "twice",
    "late",
    "never",
]
"""The fault of an attempt.

- ``pass``: no fault.
- ``drop``: the connection closes before the server receives the request.
- ``unavailable``: the proxy returns a 503 response and does not forward the request.
- ``swallow``: the connection stays open, but the server does not receive the request.
- ``lose``: the server responds, but the connection closes without a response.
- ``cut``: the client receives only half of the response.
- ``reset``: the client receives half of the response, and then the connection is reset.
- ``gateway``: a 502 response of the proxy replaces the response.
- ``garbage``: an HTML page with status 200 replaces the response.
- ``drip``: the response begins with one byte per second.
- ``twice``: the server receives the request two times, and the client receives the second response.
- ``late``: the client receives the response after ``late_seconds``.
- ``never``: the client does not receive the response before the client's timeout.
"""
UNSENT: tuple[Fate, ...] = ("drop", "unavailable")
LOST: tuple[Fate, ...] = ("lose", "cut", "gateway", "garbage")
LOSSES: tuple[Fate, ...] = (*UNSENT, *LOST, "twice")
LATE_SECONDS = 1.2
_DRIPPED = 25
_RESET = struct.pack("ii", 1, 0)
"""The value of the socket option that resets a connection when the socket is closed."""
PAGE = b"<!doctype html><title>Maintenance</title><p>Back soon!"
Plan = Callable[[str, int], Fate]
"""A function that returns the fault of an attempt, for a path and the number of earlier attempts of the same request.
"""


class LossyProxy(ThreadingHTTPServer):
    """A proxy that forwards requests to ``hub``, or to any other server. ``plan`` can be changed at any time.

    ``forwarded`` contains the forwarded headers and bodies, ``statuses`` the returned statuses, and ``attempts`` the
    number of attempts by request id. ``pause`` waits for seconds, and ``hang`` waits until a client times out.
    """

    daemon_threads = True
    request_queue_size = 128

    def __init__(
        self, hub: str, pause: Callable[[float], None] = time.sleep, hang: Callable[[socket.socket], None] | None = None
    ) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.hub = hub
        self.pause, self.hang = pause, hang or _until_given_up
        self.late_seconds = LATE_SECONDS
        self.plan: Plan = lambda path, attempts: "pass"
        self.seen: list[tuple[str, Fate]] = []
        self.forwarded: list[tuple[Mapping[str, str], bytes]] = []
        self.statuses: list[int] = []
        self.attempts: Counter[str] = Counter()
        self._lock = threading.Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def fate(self, path: str, request_id: str) -> Fate:
        """Return the fault of an attempt. Attempts are counted by X-Request-Id or webhook-id."""
        with self._lock:
            fate = self.plan(path, self.attempts[request_id])
            self.attempts[request_id] += 1
            self.seen.append((path, fate))
        return fate

    def count(self, path: str, *fates: Fate) -> int:
        """Return the number of attempts at a path. If faults are given, count only attempts with one of the faults."""
        return sum(one == path and (not fates or fate in fates) for one, fate in self.seen)


def each_in_turn(fates: Sequence[Fate], *, attempts: int = 1) -> Plan:
    """Return a plan that cycles through the given faults for the first attempts of each request. Later attempts have no
    fault.
    """
    turns = itertools.cycle(fates)
    return lambda path, before: next(turns) if before < attempts else "pass"


def lossy_proxy(hub: str) -> AbstractContextManager[LossyProxy]:
    return serving(LossyProxy(hub))


def _until_given_up(connection: socket.socket) -> None:
    connection.settimeout(PATIENCE_SECONDS)
    connection.recv(1)


class _Answer(NamedTuple):
    status: int
    headers: Sequence[tuple[str, str]] = (("Content-Type", "text/html"),)
    content: bytes = PAGE


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: LossyProxy

    def do_GET(self) -> None:
        self._forward(None)

    def do_POST(self) -> None:
        self._forward(self.rfile.read(int(self.headers.get("Content-Length", 0))))

    def _forward(self, body: bytes | None) -> None:
        request_id = self.headers.get("X-Request-Id") or self.headers.get("webhook-id") or ""
        fate = self.server.fate(self.path.partition("?")[0], request_id)
        if fate == "drop":
            self._hang_up()
        elif fate == "swallow":
            self._hang()
        elif fate == "unavailable":
            self._answer(_Answer(503))
        else:
            self._forward_really(fate, body)

    def _forward_really(self, fate: Fate, body: bytes | None) -> None:
        try:
            answer = [self._ask(body) for _ in range(2 if fate == "twice" else 1)][-1]
            self.server.forwarded.append((dict(self.headers.items()), body or b""))
            self.server.statuses.append(answer.status)
        except (OSError, HTTPException):  # there is nobody
            self._hang_up()
            return
        if fate == "never":
            self._hang()
            return
        if fate == "late":
            self.server.pause(self.server.late_seconds)
        if fate in ("gateway", "garbage"):
            self._answer(_Answer(502 if fate == "gateway" else 200))
        elif fate == "lose":
            self._hang_up()
        elif fate in ("cut", "reset", "drip"):
            self._answer_slowly_or_in_part(fate, answer)
        else:
            self._answer(answer)

    def _answer_slowly_or_in_part(self, fate: Fate, answer: _Answer) -> None:
        content, self.close_connection = answer.content, True
        head = f"HTTP/1.1 {answer.status} OK\r\nContent-Length: {len(content)}\r\n\r\n".encode()
        with suppress(OSError):  # the other side gave up already
            if fate == "drip":
                self.wfile.write(head)
                for number in range(len(content[:_DRIPPED])):
                    self.server.pause(1)
                    self.wfile.write(content[number : number + 1])
                self.wfile.write(content[_DRIPPED:])
            else:
                self.wfile.write(head + content[: len(content) // 2])
        if fate == "reset":
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
            self.rfile.close()
            self.connection.close()
        else:
            self._hang_up()

    def _hang(self) -> None:
        self.close_connection = True
        with suppress(OSError):  # the other side gave up already
            self.server.hang(self.connection)

    def _ask(self, body: bytes | None) -> _Answer:
        headers = {name: value for name, value in self.headers.items() if name.lower() not in ("host", "connection")}
        with closing(HTTPConnection(urlsplit(self.server.hub).netloc, timeout=PATIENCE_SECONDS)) as connection:
            connection.request(self.command, self.path, body, headers)
            response = connection.getresponse()
            return _Answer(response.status, response.getheaders(), response.read())

    def _answer(self, answer: _Answer) -> None:
        self.send_response_only(answer.status)
        for name, value in answer.headers:
            if name.lower() not in ("content-length", "transfer-encoding", "connection"):
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(answer.content)))
        with suppress(OSError):  # the other side gave up already
            self.end_headers()
            self.wfile.write(answer.content)

    def _hang_up(self) -> None:
        self.close_connection = True
        with suppress(OSError):  # the other side gave up already
            self.connection.shutdown(socket.SHUT_RDWR)

    def log_message(self, format: str, *args: object) -> None:
        """Write no log."""
