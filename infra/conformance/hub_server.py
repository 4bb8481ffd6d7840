"""The HTTP server of the hub that the kit plays."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote, urlsplit

from infra.conformance.hub import BODY_BYTES, Hub
from infra.conformance.hub_state import HttpAnswer

_READ_SECONDS = 20


class PortTaken(Exception):
    """The kit cannot listen; the message says where and why."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64
    hub: Hub


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    timeout = _READ_SECONDS

    def _handle(self) -> None:
        parts = urlsplit(self.path)
        length = self.headers.get("Content-Length", "0")
        body = self.rfile.read(min(int(length), BODY_BYTES + 1)) if length.isdecimal() else b""
        headers = {name.lower(): value for name, value in self.headers.items()}
        self._send(self.server.hub.handle(self.command, unquote(parts.path), parts.query, headers, body))

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _handle  # noqa: N815 - http.server's names

    def _send(self, answer: HttpAnswer) -> None:
        content = answer.body.encode()
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.content_type)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Cache-Control", "no-store")
        if answer.location:
            self.send_header("Location", answer.location)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:
        """Disable request logging: URLs contain codes."""


@contextmanager
def serving(hub: Hub) -> Iterator[None]:
    """Serve ``hub`` at its address. Raises: PortTaken."""
    host, port = hub.bank.listen
    try:
        server = _Server((host, port), _Handler)
    except OSError as error:
        raise PortTaken(f"the kit cannot listen at {host}:{port}: {error.strerror or error}") from None
    server.hub = hub
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
