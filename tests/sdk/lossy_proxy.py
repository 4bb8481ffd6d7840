"""A proxy between the SDK and a hub that drops connections and loses answers, as a plan says."""

from __future__ import annotations

import socket
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Literal

import requests

Fate = Literal["pass", "drop", "lose", "cut", "gateway"]
"""``drop``: the connection closes before the hub sees the request. ``lose``: the hub answers, and the connection
closes. ``cut``: half of the answer arrives. ``gateway``: a gateway's own 502 takes the answer's place."""
LOSSES: tuple[Fate, ...] = ("drop", "lose", "cut", "gateway")
Plan = Callable[[str, int], Fate]
"""The fate of an attempt: a path, and how many attempts of the same request were before it."""


class LossyProxy(ThreadingHTTPServer):
    """Forwards requests to ``hub``. ``plan`` can be changed at any time."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, hub: str) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.hub = hub
        self.plan: Plan = lambda path, attempts: "pass"
        self.seen: list[tuple[str, Fate]] = []
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


@contextmanager
def lossy_proxy(hub: str) -> Iterator[LossyProxy]:
    """A running proxy."""
    proxy = LossyProxy(hub)
    thread = threading.Thread(target=proxy.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield proxy
    finally:
        proxy.shutdown()
        thread.join()
        proxy.server_close()


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
            return
        answer = self._ask(body)
        if fate == "gateway":
            self._answer(502, {"Content-Type": "text/html"}, b"<html>Bad gateway</html>")
        elif fate == "pass":
            self._answer(answer.status_code, dict(answer.headers), answer.content)
        else:
            if fate == "cut":
                head = f"HTTP/1.1 {answer.status_code} OK\r\nContent-Length: {len(answer.content)}\r\n\r\n"
                self.wfile.write(head.encode() + answer.content[: len(answer.content) // 2])
            self._hang_up()

    def _ask(self, body: bytes | None) -> requests.Response:
        headers = {name: value for name, value in self.headers.items() if name.lower() not in ("host", "connection")}
        with requests.Session() as session:
            session.trust_env = False
            url = self.server.hub + self.path
            return session.request(self.command, url, data=body, headers=headers, timeout=60, allow_redirects=False)

    def _answer(self, status: int, headers: dict[str, str], content: bytes) -> None:
        self.send_response_only(status)
        for name, value in headers.items():
            if name.lower() not in ("content-length", "transfer-encoding", "connection", "content-encoding"):
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def _hang_up(self) -> None:
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing."""
