"""HTTP servers for tests: valid servers, stacks that only serve ``/health``, and servers that violate HTTP."""

import contextlib
import itertools
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypeVar

import pytest

from chalicelib.foundation.http import deadline_connections, outbound
from chalicelib.foundation.http.deadline_connections import Exchange
from chalicelib.foundation.http.outbound import Outbound, Reply
from infra.local.stackfile import HEADER
from tests.kit.time import PATIENCE_SECONDS

AMPLE = float(PATIENCE_SECONDS)
_LEFT_SECONDS = 0.3
_PAUSE_SECONDS = 0.02
_Server = TypeVar("_Server", bound=HTTPServer)

BODY = b'{"iban":"GB33BUKB20201555555555"}'
EITHER_WAY = pytest.mark.parametrize("fresh", [False, True], ids=["kept", "fresh"])


@contextlib.contextmanager
def serving(server: _Server) -> Iterator[_Server]:
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


@contextlib.contextmanager
def stack_health(
    stack_id: str | None = "the-stack", server: str = "Causeway", status: int = 200
) -> Iterator[dict[str, Any]]:
    """Run a server that returns the ``/health`` response of a stack. Yield the content of the stack file."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            if stack_id:
                self.send_header(HEADER, stack_id)
            self.end_headers()

        def version_string(self) -> str:
            return server

        def log_message(self, format: str, *args: object) -> None:
            """Write no log."""

    with serving(HTTPServer(("127.0.0.1", 0), Handler)) as running:
        content = {"pid": 1, "environment": {"STAGE": "local", "PORT": str(running.server_port)}}
        yield {**content, "id": stack_id} if stack_id else content


# -- servers that misbehave: each is a function of one accepted connection

Behaviour = Callable[["Connection"], None]


@dataclass
class Connection:
    """An accepted connection that reads whole requests and writes raw bytes."""

    sock: socket.socket
    number: int
    stop: threading.Event

    def request(self) -> bytes:
        """Return the next request with its body. Return no bytes if the client has disconnected."""
        content = b""
        while b"\r\n\r\n" not in content:
            chunk = self.sock.recv(65536)
            if not chunk:
                return b""
            content += chunk
        head, _, body = content.partition(b"\r\n\r\n")
        lines = head.lower().split(b"\r\n")
        length = next((int(line.split(b":")[1]) for line in lines if line.startswith(b"content-length")), 0)
        while len(body) < length:
            body += self.sock.recv(65536)
        return head + b"\r\n\r\n" + body

    def send(self, content: bytes) -> None:
        self.sock.sendall(content)

    def answer(self, body: bytes = b"{}", status: str = "200 OK", headers: bytes = b"") -> None:
        self.send(f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n".encode() + headers + b"\r\n" + body)

    def pause(self) -> bool:
        time.sleep(_PAUSE_SECONDS)
        return self.stop.is_set()

    def trickle(self, content: bytes) -> None:
        """Send the content byte by byte until the client disconnects or the test ends."""
        for byte in content:
            if self.pause():
                return
            self.send(bytes([byte]))


@dataclass
class SocketServer:
    """A listening server. ``requests`` contains each received request with the number of the connection."""

    port: int
    scheme: str
    requests: list[tuple[int, bytes]] = field(default_factory=list)
    connections: int = 0
    _arrival: threading.Condition = field(default_factory=threading.Condition)

    def note(self, number: int, request: bytes) -> None:
        with self._arrival:
            self.requests.append((number, request))
            self._arrival.notify_all()

    def wait_for(self, count: int) -> None:
        with self._arrival:
            assert self._arrival.wait_for(lambda: len(self.requests) >= count, PATIENCE_SECONDS), self.requests

    @property
    def url(self) -> str:
        return f"{self.scheme}://127.0.0.1:{self.port}/bank"

    @property
    def served(self) -> list[int]:
        """The connection number of each request."""
        return [number for number, _ in self.requests]


@contextlib.contextmanager
def socket_server(behaviour: Behaviour, tls: ssl.SSLContext | None = None) -> Iterator[SocketServer]:
    """Run ``behaviour`` in a separate thread for every connection until the block ends."""
    listener = socket.create_server(("127.0.0.1", 0))
    server = SocketServer(listener.getsockname()[1], "https" if tls else "http")
    stop = threading.Event()
    open_sockets: list[socket.socket] = []
    threads: list[threading.Thread] = []

    def serve(sock: socket.socket, number: int) -> None:
        with contextlib.suppress(OSError, ValueError), contextlib.closing(sock):
            wrapped = tls.wrap_socket(sock, server_side=True) if tls else sock
            open_sockets.append(wrapped)
            with contextlib.closing(wrapped):
                behaviour(_Recording(wrapped, number, stop, server))

    def accept() -> None:
        with contextlib.suppress(OSError):
            while True:
                sock, _ = listener.accept()
                server.connections += 1
                threads.append(threading.Thread(target=serve, args=(sock, server.connections), daemon=True))
                threads[-1].start()

    acceptor = threading.Thread(target=accept, daemon=True)
    acceptor.start()
    try:
        yield server
    finally:
        stop.set()
        with contextlib.suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        for sock in open_sockets:
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)
        for thread in (acceptor, *threads):
            thread.join(PATIENCE_SECONDS)


@dataclass
class _Recording(Connection):
    server: SocketServer

    def request(self) -> bytes:
        content = super().request()
        if content:
            self.server.note(self.number, content)
        return content


def server_context(certificate: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    return context


# -- calls to them


def set_clock_of_calls(monkeypatch: pytest.MonkeyPatch, clock: Any) -> None:
    for module in (deadline_connections, outbound):
        monkeypatch.setattr(module, "time", clock)


def let_time_run_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stop the clock of outbound calls until a request is sent. Afterwards, ten clock reads use up the rest of
    ``AMPLE``.
    """
    looks, sent = itertools.count(1), threading.Event()
    record_begin = Exchange.record_begin

    def note_begin(exchange: Exchange, head: bytes) -> None:
        sent.set()
        record_begin(exchange, head)

    monkeypatch.setattr(Exchange, "record_begin", note_begin)

    def monotonic() -> float:
        if not sent.is_set():
            return 0.0
        return AMPLE - _LEFT_SECONDS + _LEFT_SECONDS * next(looks) / 10

    set_clock_of_calls(monkeypatch, SimpleNamespace(monotonic=monotonic))


def post(
    url: str, *, repeat: bool = False, total: float = AMPLE, public_only: bool = False, fresh: bool = False
) -> Reply:
    caller = Outbound(public_only=public_only, total_seconds=total)
    return caller.post(url, BODY, {"X-A": "b"}, repeat=repeat, fresh=fresh)


def good(connection: Connection) -> None:
    while connection.request():
        connection.answer(b'{"status":"success"}')


def once(behaviour: Callable[[Connection], None]) -> Callable[[Connection], None]:
    def serve(connection: Connection) -> None:
        (behaviour if connection.number == 1 else good)(connection)

    return serve


def hang_up(connection: Connection) -> None:
    connection.request()


def half_an_answer(connection: Connection) -> None:
    connection.request()
    connection.send(b'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"status":')
