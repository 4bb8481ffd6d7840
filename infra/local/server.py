"""The HTTP server of the one-machine stack: Chalice's local gateway on a robust server.

Chalice's own handler trusts ``Content-Length``, leaves Nagle's algorithm on (40 ms per kept-alive request), answers
``HEAD`` with a body and ``OPTIONS`` by itself, and has a backlog of five. Routes, events and answers stay Chalice's, as
does the 403 that API Gateway gives for a path that no route matches.
"""

from __future__ import annotations

import itertools
import json
import logging
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, HTTPServer
from socketserver import ThreadingMixIn
from typing import Any

from chalice.app import Chalice
from chalice.config import Config
from chalice.local import ChaliceRequestHandler, ForbiddenError, LocalGateway, LocalGatewayException

from infra.local.stackfile import HEADER

HOST = "127.0.0.1"
LARGEST_BODY = 10 * 1024 * 1024
"""API Gateway's own limit on a request's body, in bytes."""

_WITHOUT_BODY = (HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED)
_DRAINED = 1024 * 1024
_CHUNK = 64 * 1024
_NO_ROUTE = b'{"message": "Missing Authentication Token"}'
_FAILED = b'{"message": "Internal server error"}'

Answer = tuple[int, dict[str, Any], str | bytes | None]
logger = logging.getLogger(__name__)


class Unreadable(Exception):
    """A request that HTTP does not allow, or that is too large; its connection cannot be used any further."""

    def __init__(self, status: HTTPStatus, message: str) -> None:
        self.status = status
        super().__init__(message)


class ApiHandler(ChaliceRequestHandler):
    """One connection: reads requests, hands them to the gateway, writes the answers."""

    disable_nagle_algorithm = True
    wbufsize = -1
    timeout = 60
    server: ApiServer

    def __init__(self, request: Any, client_address: Any, server: HTTPServer, gateway: LocalGateway) -> None:
        self.local_gateway = gateway
        BaseHTTPRequestHandler.__init__(self, request, client_address, server)

    def __getattr__(self, name: str) -> Any:
        """Any other method reaches the application too, which knows how to refuse it."""
        if name.startswith("do_"):
            return self._handle
        raise AttributeError(name)

    def _handle(self) -> None:
        with self.server.in_flight():
            self._answer()
            self.wfile.flush()  # the answer has left when the request is no longer in flight

    def _answer(self) -> None:
        try:
            body = self._read_body()
        except Unreadable as error:
            self._refuse(error)
            return
        try:
            status, headers, content = self._gateway_answer(body)
        except Exception:
            logger.exception("the gateway failed")
            status, headers, content = 502, {}, _FAILED
        if self.path == "/health":
            headers[HEADER] = self.server.stack_id
        self._send_http_response(status, headers, content)

    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = _handle  # noqa: N815 - http.server's names

    def _gateway_answer(self, body: bytes | None) -> Answer:
        try:
            response = self.local_gateway.handle_request(
                method=self.command, path=self.path, headers=dict(self.headers), body=body
            )
        except LocalGatewayException as error:
            return error.CODE, error.headers, error.body
        response = self._handle_binary(response)
        return response["statusCode"], {**response["headers"], **response["multiValueHeaders"]}, response["body"]

    def _read_body(self) -> bytes | None:
        """The body, or ``None``. Raises: Unreadable."""
        if self.headers.get("Transfer-Encoding"):
            raise Unreadable(HTTPStatus.LENGTH_REQUIRED, "Length Required")
        lengths = set(self.headers.get_all("Content-Length") or ["0"])
        length = lengths.pop().strip()
        if lengths or not (length.isascii() and length.isdigit()):
            raise Unreadable(HTTPStatus.BAD_REQUEST, "Bad Request")
        if len(length) > 18 or int(length) > LARGEST_BODY:
            raise Unreadable(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "Request Too Long")
        body = self.rfile.read(int(length))
        if len(body) < int(length):
            raise Unreadable(HTTPStatus.BAD_REQUEST, "Bad Request")
        return body or None

    def _refuse(self, error: Unreadable) -> None:
        """Answer, then read on a little: an answer sent against a full pipe would be lost with the connection."""
        self.send_error(error.status, str(error))
        try:
            self.wfile.flush()
            self.connection.settimeout(1)
            self.connection.shutdown(socket.SHUT_WR)
            left = _DRAINED
            while left > 0 and (read := self.connection.recv(_CHUNK)):
                left -= len(read)
        except OSError:
            return

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Refuse what is not a request at all, in API Gateway's format, and close the connection."""
        self.close_connection = True
        self.command = getattr(self, "command", None) or "GET"
        self.request_version = self.protocol_version  # an unreadable first line passes for HTTP/0.9, without headers
        status = code if code < 500 else int(HTTPStatus.BAD_REQUEST)
        body = json.dumps({"message": message or HTTPStatus(status).phrase})
        self._send_http_response(status, {"Connection": "close"}, body)

    def _send_http_response_with_body(self, code: int, headers: dict[str, Any], body: str | bytes) -> None:
        content = body.encode() if isinstance(body, str) else body
        self.send_response(code)
        if content or not (self.command == "HEAD" or code in _WITHOUT_BODY):  # they would say what GET's body is
            self.send_header("Content-Length", str(len(content)))
        self.send_header("Content-Type", headers.pop("Content-Type", "application/json"))
        self._send_headers(headers)
        if self.command != "HEAD":
            self.wfile.write(content)

    def version_string(self) -> str:
        return "Causeway"

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing: the application logs requests without their addresses, which may carry codes."""


class Gateway(LocalGateway):
    """Chalice's local gateway, whose own 403 fails on a header that is not ASCII, and which answers OPTIONS itself."""

    def handle_request(self, method: str, path: str, headers: dict[str, str], body: bytes | None) -> dict[str, Any]:
        try:
            response: dict[str, Any] = super().handle_request(method, path, headers, body)
        except UnicodeEncodeError:
            raise ForbiddenError({}, _NO_ROUTE) from None
        return response

    def _has_user_defined_options_method(self, lambda_event: Any) -> bool:
        """Whether OPTIONS is the application's: it is a method like any other, since no route allows other origins."""
        return True


class ApiServer(ThreadingMixIn, HTTPServer):
    """A thread per connection, on a socket that was taken before."""

    daemon_threads = True
    request_queue_size = 512

    def __init__(
        self, taken: socket.socket, handler: Callable[[Any, Any, Any], ApiHandler], stack_id: str = ""
    ) -> None:
        self.stack_id = stack_id
        self._numbers = itertools.count()
        self._running: set[int] = set()
        self._changed = threading.Condition()
        super().__init__(taken.getsockname(), handler, bind_and_activate=False)
        self.socket.close()
        self.socket = taken
        self.server_name, self.server_port = taken.getsockname()
        self.server_activate()

    @contextmanager
    def in_flight(self) -> Iterator[None]:
        """A request, from its headers to the last byte of its answer."""
        number = next(self._numbers)
        with self._changed:
            self._running.add(number)
        try:
            yield
        finally:
            with self._changed:
                self._running.discard(number)
                self._changed.notify_all()

    def count_in_flight(self) -> int:
        """How many requests are in flight."""
        return len(self._running)

    def drain(self, timeout: float) -> bool:
        """Wait for the requests that are in flight now; answers whether all of them ended within ``timeout`` seconds.

        Others are answered meanwhile: a relayed request needs the demonstration banks, which this server has, too.
        """
        with self._changed:
            begun = set(self._running)
            return self._changed.wait_for(lambda: not begun & self._running, timeout)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore clients that went away; log other errors."""
        if not isinstance(sys.exc_info()[1], (ConnectionError, TimeoutError)):
            logger.exception("a connection failed")


def take_port(port: int) -> socket.socket:
    """Hold a port of this machine, any free one for 0, until a server is made of it. Raises: OSError."""
    return socket.create_server((HOST, port))


def build_server(application: Chalice, config: Config, taken: socket.socket, stack_id: str = "") -> ApiServer:
    """A server for ``application``; it answers once ``serve_forever`` runs, ``/health`` with the stack's id."""
    return ApiServer(taken, partial(ApiHandler, gateway=Gateway(application, config)), stack_id)
