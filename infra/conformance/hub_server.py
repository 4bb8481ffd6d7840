"""The HTTP server of the kit's simulated hub."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import ThreadingHTTPServer
from urllib.parse import unquote, urlsplit

from chalicelib.openbanking.protocol.bank_calls import CONSENT_BYTES
from infra.conformance.hub import Hub
from infra.conformance.hub_state import HttpAnswer
from infra.strict_http import StrictHandler

_READ_SECONDS = 20


class PortTaken(Exception):
    """The kit cannot listen on the port. The message contains the reason."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64
    hub: Hub


class _Handler(StrictHandler):
    server: _Server
    hosts = None  # banks may reach the kit through a tunnel of any name
    largest_body = 2 * CONSENT_BYTES  # the hub answers those above its own limits in its own format
    reads_chunks = True
    timeout = _READ_SECONDS
    protocol_version = "HTTP/1.1"  # with which clients may ask before they send a body
    disable_nagle_algorithm = True

    def _handle(self) -> None:
        body = self.read_body()
        parts = urlsplit(self.path)
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
        """Disable request logging, because URLs contain authorization codes."""


@contextmanager
def serving(hub: Hub) -> Iterator[None]:
    """Run an HTTP server for ``hub`` at its address. Raises: PortTaken."""
    host, port = hub.bank.listen
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        server = type("Server", (_Server,), {"address_family": family})((host, port), _Handler)
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
