"""The HTTP server of the hub that the kit plays."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote, urlsplit

from chalicelib.openbanking.protocol.bank_calls import CONSENT_BYTES
from infra.conformance.hub import Hub
from infra.conformance.hub_state import HttpAnswer

_READ_SECONDS = 20
_LONGEST_LINE = 65536
_LARGEST = 2 * CONSENT_BYTES
"""The most bytes of a body that are read; the hub refuses larger ones."""


class PortTaken(Exception):
    """The kit cannot listen; the message says where and why."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64
    hub: Hub


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    timeout = _READ_SECONDS
    protocol_version = "HTTP/1.1"  # with which clients may ask before they send a body
    disable_nagle_algorithm = True

    def _handle(self) -> None:
        parts = urlsplit(self.path)
        body = self._read_body()
        headers = {name.lower(): value for name, value in self.headers.items()}
        self._send(self.server.hub.handle(self.command, unquote(parts.path), parts.query, headers, body))

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _handle  # noqa: N815 - http.server's names

    def _read_body(self) -> bytes:
        """The body, in one piece or in chunks (RFC 9112, 7.1); the connection ends after one that is too large."""
        if "chunked" in self.headers.get("Transfer-Encoding", "").lower():
            return self._read_chunks()
        length = self.headers.get("Content-Length", "0")
        wanted = int(length) if length.isdecimal() else 0
        self.close_connection = self.close_connection or wanted > _LARGEST
        return self.rfile.read(min(wanted, _LARGEST))

    def _read_chunks(self) -> bytes:
        body = b""
        while size := _chunk_size(self.rfile.readline(_LONGEST_LINE)):
            body += self.rfile.read(min(size, _LARGEST))
            self.rfile.readline(_LONGEST_LINE)
            if len(body) > _LARGEST:
                self.close_connection = True
                return body
        while self.rfile.readline(_LONGEST_LINE).strip():
            """Skip the trailers."""
        return body

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


def _chunk_size(line: bytes) -> int:
    """The size of a chunk from its first line; 0 for the last chunk, or a line that is none."""
    try:
        return int(line.partition(b";")[0], 16)
    except ValueError:
        return 0


@contextmanager
def serving(hub: Hub) -> Iterator[None]:
    """Serve ``hub`` at its address. Raises: PortTaken."""
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
