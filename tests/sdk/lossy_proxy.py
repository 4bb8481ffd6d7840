"""A proxy between two parties that drops connections, loses answers and repeats requests, as a plan says."""

from __future__ import annotations

import itertools
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Literal

import requests

from tests.http_servers import serving
from tests.patience import PATIENCE_SECONDS

Fate = Literal["pass", "drop", "unavailable", "lose", "cut", "gateway", "garbage", "twice", "late", "never"]
"""``drop``: the connection closes before the other side sees the request. ``unavailable``: a gateway's own 503, without
asking. ``lose``: the other side answers, and the connection closes. ``cut``: half of the answer arrives. ``gateway``: a
gateway's own 502 takes the answer's place. ``garbage``: a page with status 200 does. ``twice``: the other side gets the
request two times, and its second answer arrives. ``late``: the answer arrives after ``LATE_SECONDS``. ``never``: it
does not arrive before the client gives up."""
UNSENT: tuple[Fate, ...] = ("drop", "unavailable")
LOST: tuple[Fate, ...] = ("lose", "cut", "gateway", "garbage")
LOSSES: tuple[Fate, ...] = (*UNSENT, *LOST, "twice")
LATE_SECONDS = 1.2
PAGE = b"<!doctype html><title>Maintenance</title><p>Back soon!"
Plan = Callable[[str, int], Fate]
"""The fate of an attempt: a path, and how many attempts of the same request were before it."""


class LossyProxy(ThreadingHTTPServer):
    """Forwards requests to ``hub``, or any other party. ``plan`` can be changed at any time.

    ``forwarded`` are the headers and bodies that the other side got, ``statuses`` what it answered.
    """

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, hub: str) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.hub = hub
        self.plan: Plan = lambda path, attempts: "pass"
        self.seen: list[tuple[str, Fate]] = []
        self.forwarded: list[tuple[Mapping[str, str], bytes]] = []
        self.statuses: list[int] = []
        self._attempts: Counter[str] = Counter()
        self._lock = threading.Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def fate(self, path: str, request_id: str) -> Fate:
        """The fate of this attempt of a request, which is known by its X-Request-Id."""
        with self._lock:
            fate = self.plan(path, self._attempts[request_id])
            self._attempts[request_id] += 1
            self.seen.append((path, fate))
        return fate

    def count(self, path: str, *fates: Fate) -> int:
        """How many attempts at a path there were, with one of these fates."""
        return sum(one == path and (not fates or fate in fates) for one, fate in self.seen)


def each_in_turn(fates: Sequence[Fate], *, attempts: int = 1) -> Plan:
    """The first attempts of each request have these fates, one after the other and again; all others pass."""
    turns = itertools.cycle(fates)
    return lambda path, before: next(turns) if before < attempts else "pass"


def lossy_proxy(hub: str) -> AbstractContextManager[LossyProxy]:
    """A running proxy."""
    return serving(LossyProxy(hub))


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: LossyProxy

    def do_GET(self) -> None:
        self._forward(None)

    def do_POST(self) -> None:
        self._forward(self.rfile.read(int(self.headers.get("Content-Length", 0))))

    def _forward(self, body: bytes | None) -> None:
        fate = self.server.fate(self.path.partition("?")[0], self.headers.get("X-Request-Id", ""))
        if fate == "drop":
            self._hang_up()
        elif fate == "unavailable":
            self._answer(503, {"Content-Type": "text/html"}, PAGE)
        else:
            self._forward_really(fate, body)

    def _forward_really(self, fate: Fate, body: bytes | None) -> None:
        try:
            answer = [self._ask(body) for _ in range(2 if fate == "twice" else 1)][-1]
            self.server.forwarded.append((dict(self.headers.items()), body or b""))
            self.server.statuses.append(answer.status_code)
        except requests.ConnectionError:  # there is nobody
            self._hang_up()
            return
        if fate == "never":
            self.connection.settimeout(PATIENCE_SECONDS)
            self.connection.recv(1)  # until the client has given up
            self.close_connection = True
            return
        if fate == "late":
            time.sleep(LATE_SECONDS)
        if fate in ("gateway", "garbage"):
            self._answer(502 if fate == "gateway" else 200, {"Content-Type": "text/html"}, PAGE)
        elif fate in ("lose", "cut"):
            if fate == "cut":
                head = f"HTTP/1.1 {answer.status_code} OK\r\nContent-Length: {len(answer.content)}\r\n\r\n"
                self.wfile.write(head.encode() + answer.content[: len(answer.content) // 2])
            self._hang_up()
        else:
            self._answer(answer.status_code, dict(answer.headers), answer.content)

    def _ask(self, body: bytes | None) -> requests.Response:
        headers = {name: value for name, value in self.headers.items() if name.lower() not in ("host", "connection")}
        with requests.Session() as session:
            session.trust_env = False
            url = self.server.hub + self.path
            return session.request(
                self.command, url, data=body, headers=headers, timeout=PATIENCE_SECONDS, allow_redirects=False
            )

    def _answer(self, status: int, headers: dict[str, str], content: bytes) -> None:
        self.send_response_only(status)
        for name, value in headers.items():
            if name.lower() not in ("content-length", "transfer-encoding", "connection", "content-encoding"):
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        with suppress(OSError):  # the other side gave up already
            self.end_headers()
            self.wfile.write(content)

    def _hang_up(self) -> None:
        self.close_connection = True
        with suppress(OSError):  # the other side gave up already
            self.connection.shutdown(socket.SHUT_RDWR)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing."""
