"""The HTTP server of the one-machine stack: Chalice's local gateway behind a robust server.

With TLS, the connection's thread performs the handshake, and the client's certificate is passed to the application in
API Gateway's format.

Chalice's own handler uses Nagle's algorithm (40 ms per request on a persistent connection), sends a body in response to
``HEAD``, handles ``OPTIONS`` itself, and has a backlog of five. This server replaces that handler. Chalice still
handles routes, events and responses, including API Gateway's status 403 for an unknown path.
"""

from __future__ import annotations

import itertools
import json
import logging
import socket
import ssl
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import partial
from http import HTTPStatus
from http.server import HTTPServer
from socketserver import ThreadingMixIn
from typing import Any
from urllib.parse import urlsplit

from chalice.app import Chalice
from chalice.config import Config
from chalice.local import ChaliceRequestHandler, ForbiddenError, LocalGateway, LocalGatewayException
from cryptography import x509

from infra.local.client_certificate import describe_certificate
from infra.local.compression import compress
from infra.local.stackfile import HEADER
from infra.strict_http import LOOPBACK, StrictHandler, end_connection

HOST = "127.0.0.1"
HANDSHAKE_SECONDS = 10.0
"""Maximum duration of a TLS handshake in seconds."""

_WITHOUT_BODY = (HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED)
_NO_ROUTE = b'{"message": "Missing Authentication Token"}'
_FAILED = b'{"message": "Internal server error"}'

Answer = tuple[int, dict[str, Any], str | bytes | None]
logger = logging.getLogger(__name__)
_client_cert: ContextVar[dict[str, Any] | None] = ContextVar("client_cert", default=None)
"""The client certificate of the connection that this thread serves, in API Gateway's format."""
_all_headers: ContextVar[Mapping[str, list[str]]] = ContextVar("all_headers", default={})  # noqa: B039 - replaced only
"""All header values of the request that this thread handles, in API Gateway's format (``multiValueHeaders``)."""


class ApiHandler(StrictHandler, ChaliceRequestHandler):
    """Handles one connection: reads requests, passes them to the gateway, and writes the responses."""

    disable_nagle_algorithm = True
    wbufsize = -1
    timeout = 60
    server: ApiServer

    def __init__(self, request: Any, client_address: Any, server: ApiServer, gateway: LocalGateway) -> None:
        self.local_gateway = gateway
        self.hosts = server.hosts
        StrictHandler.__init__(self, request, client_address, server)

    def __getattr__(self, name: str) -> Any:
        """Pass unknown methods to the application, which refuses them."""
        if name.startswith("do_"):
            return self._handle
        raise AttributeError(name)

    def handle_expect_100(self) -> bool:
        """Send ``100 Continue`` immediately. The client then sends the body (RFC 9110, section 10.1.1)."""
        goes_on = super().handle_expect_100()
        self.wfile.flush()
        return goes_on

    def _handle(self) -> None:
        with self.server.in_flight():
            self._answer()
            self.wfile.flush()  # send the response before the request stops counting as in flight

    def _answer(self) -> None:
        body = self.read_body() or None
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
        several = {name: self.headers.get_all(name) or [] for name in self.headers}
        _all_headers.set(several)
        last = {name: values[-1] for name, values in several.items()}
        try:
            response = self.local_gateway.handle_request(method=self.command, path=self.path, headers=last, body=body)
        except LocalGatewayException as error:
            return error.CODE, error.headers, error.body
        response = self._handle_binary(response)
        return response["statusCode"], {**response["headers"], **response["multiValueHeaders"]}, response["body"]

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Send an error in API Gateway's format for an unreadable request, and close the connection."""
        self.close_connection = True
        self.command = self.command or "GET"
        self.request_version = self.protocol_version  # http.server treats an unreadable first line as HTTP/0.9
        status = code if code < 500 else int(HTTPStatus.BAD_REQUEST)
        body = json.dumps({"message": message or HTTPStatus(status).phrase})
        self._send_http_response(status, {"Connection": "close"}, body)

    def _send_http_response_with_body(self, code: int, headers: dict[str, Any], body: str | bytes) -> None:
        content = body.encode() if isinstance(body, str) else body
        content = compress(content, headers, self.headers.get_all("Accept-Encoding"), self.server.compressed_from)
        self.send_response(code)
        if content or not (self.command == "HEAD" or code in _WITHOUT_BODY):  # 0 would misstate the length for GET
            self.send_header("Content-Length", str(len(content)))
        self.send_header("Content-Type", headers.pop("Content-Type", "application/json"))
        self._send_headers(headers)
        if self.command != "HEAD":
            self.wfile.write(content)

    def version_string(self) -> str:
        return "Causeway"

    def log_message(self, format: str, *args: Any) -> None:
        """Disable request logging, because URLs may contain codes. The application logs requests without their URLs."""


class Gateway(LocalGateway):
    """Chalice's local gateway with fixes: repeated headers, client certificates and OPTIONS requests are passed on.

    Non-ASCII headers do not break the gateway's 403 response.
    """

    def handle_request(self, method: str, path: str, headers: dict[str, str], body: bytes | None) -> dict[str, Any]:
        try:
            response: dict[str, Any] = super().handle_request(method, path, headers, body)
        except UnicodeEncodeError:
            raise ForbiddenError({}, _NO_ROUTE) from None
        return response

    def _generate_lambda_event(self, *request: Any) -> dict[str, Any]:
        event: dict[str, Any] = super()._generate_lambda_event(*request)
        event["multiValueHeaders"] = _all_headers.get()
        if certificate := _client_cert.get():
            event["requestContext"]["identity"]["clientCert"] = certificate
        return event

    def _has_user_defined_options_method(self, lambda_event: Any) -> bool:
        """Return true, so that the application handles OPTIONS like any other method. No route allows other origins."""
        return True


class ApiServer(ThreadingMixIn, HTTPServer):
    """An HTTP server with one thread per connection, on a bound socket. With ``tls``, the server uses https."""

    daemon_threads = True
    request_queue_size = 512

    def __init__(
        self,
        taken: socket.socket,
        handler: Callable[[Any, Any, Any], ApiHandler],
        stack_id: str = "",
        tls: ssl.SSLContext | None = None,
        compressed_from: int | None = None,
        hosts: frozenset[str] = LOOPBACK,
    ) -> None:
        self.stack_id = stack_id
        self.hosts = hosts
        self.compressed_from = compressed_from
        self._tls = tls
        self._numbers = itertools.count()
        self._running: set[int] = set()
        self._changed = threading.Condition()
        super().__init__(taken.getsockname(), handler, bind_and_activate=False)
        self.socket.close()
        self.socket = taken
        self.server_name, self.server_port = taken.getsockname()
        self.server_activate()

    def finish_request(self, request: Any, client_address: Any) -> None:
        """Handle a connection in a separate thread: the TLS handshake, if any, and then the requests."""
        if self._tls is None:
            super().finish_request(request, client_address)
        elif secured := _shake_hands(request, self._tls):
            try:
                _client_cert.set(_read_client_cert(secured))
                super().finish_request(secured, client_address)
            finally:
                _close_secured(secured)

    @contextmanager
    def in_flight(self) -> Iterator[None]:
        """Count a request as in flight from its headers to the last byte of its response."""
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
        """Return the number of requests in flight."""
        return len(self._running)

    def drain(self, timeout: float) -> bool:
        """Wait for the current requests in flight. Return whether all of them ended within ``timeout`` seconds.

        New requests are still served, because a relayed request needs the demonstration banks on the same server.
        """
        with self._changed:
            begun = set(self._running)
            return self._changed.wait_for(lambda: not begun & self._running, timeout)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore disconnected clients; log other errors."""
        if not isinstance(sys.exc_info()[1], (ConnectionError, TimeoutError, ssl.SSLError)):
            logger.exception("a connection failed")


def take_port(port: int) -> socket.socket:
    """Bind a local port for a server. Port 0 selects any free port. Raises: OSError."""
    return socket.create_server((HOST, port))


def build_server(
    application: Chalice,
    config: Config,
    taken: socket.socket,
    stack_id: str = "",
    tls: ssl.SSLContext | None = None,
    own_urls: Iterable[str] = (),
) -> ApiServer:
    """Build a server for ``application``; call ``serve_forever`` to start it. Responses of ``/health`` have
    ``stack_id`` in a header.

    Bodies of at least the configured ``minimum_compression_size`` are compressed. The host of a request must be this
    machine or a host in ``own_urls``, with any port.
    """
    hosts = {urlsplit(url).hostname or "" for url in own_urls}
    handler = partial(ApiHandler, gateway=Gateway(application, config))
    return ApiServer(taken, handler, stack_id, tls, config.minimum_compression_size, LOOPBACK | hosts)


def _shake_hands(connection: socket.socket, tls: ssl.SSLContext) -> ssl.SSLSocket | None:
    connection.settimeout(HANDSHAKE_SECONDS)
    secured = tls.wrap_socket(connection, server_side=True, do_handshake_on_connect=False)
    try:
        secured.do_handshake()
    except OSError:
        with suppress(OSError):
            end_connection(secured)
        secured.close()
        return None
    return secured


def _read_client_cert(secured: ssl.SSLSocket) -> dict[str, Any] | None:
    der = secured.getpeercert(binary_form=True)
    return describe_certificate(x509.load_der_x509_certificate(der)) if der else None


def _close_secured(secured: ssl.SSLSocket) -> None:
    """Close a connection with a TLS closing message, so that the client can detect truncation."""
    with suppress(OSError, ValueError):
        secured.settimeout(1)
        secured.unwrap()
    secured.close()
