"""Servers that misbehave, on real sockets of this machine; each is a function of one accepted connection."""

from __future__ import annotations

import contextlib
import datetime
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from tests.patience import PATIENCE_SECONDS

_PAUSE_SECONDS = 0.02

Behaviour = Callable[["Connection"], None]


@dataclass
class Connection:
    """One accepted connection: read whole requests, write bytes as they are."""

    sock: socket.socket
    number: int
    stop: threading.Event

    def request(self) -> bytes:
        """The next request with its body; empty when the caller has hung up."""
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
        """Let a moment pass. Returns whether the test has ended."""
        time.sleep(_PAUSE_SECONDS)
        return self.stop.is_set()

    def trickle(self, content: bytes) -> None:
        """One byte after the other, until the caller hangs up or the test ends."""
        for byte in content:
            if self.pause():
                return
            self.send(bytes([byte]))


@dataclass
class Server:
    """A listening server; ``requests`` has what every connection received, by connection number."""

    port: int
    scheme: str
    requests: list[tuple[int, bytes]] = field(default_factory=list)
    connections: int = 0
    _arrival: threading.Condition = field(default_factory=threading.Condition)

    def note(self, number: int, request: bytes) -> None:
        """Note what a connection received."""
        with self._arrival:
            self.requests.append((number, request))
            self._arrival.notify_all()

    def wait_for(self, count: int) -> None:
        """Wait until so many requests have arrived; it fails where they do not."""
        with self._arrival:
            assert self._arrival.wait_for(lambda: len(self.requests) >= count, PATIENCE_SECONDS), self.requests

    @property
    def url(self) -> str:
        return f"{self.scheme}://127.0.0.1:{self.port}/bank"

    @property
    def served(self) -> list[int]:
        """The connection that each request came by."""
        return [number for number, _ in self.requests]


@contextlib.contextmanager
def serving(behaviour: Behaviour, tls: ssl.SSLContext | None = None) -> Iterator[Server]:
    """Run ``behaviour`` for every connection, each in a thread, until the block ends."""
    listener = socket.create_server(("127.0.0.1", 0))
    server = Server(listener.getsockname()[1], "https" if tls else "http")
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
    server: Server

    def request(self) -> bytes:
        content = super().request()
        if content:
            self.server.note(self.number, content)
        return content


def unused_port() -> int:
    """A port of this machine that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


def self_signed(folder: Path) -> Path:
    """A PEM file with a key and a certificate of bank.example.com at 127.0.0.1 that vouches for itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    return _write(
        folder / "certificate.pem", _sign("bank.example.com", key, "bank.example.com", key, _THIS_MACHINE), key
    )


def bare_chain(folder: Path) -> tuple[Path, Path]:
    """PEM files of an authority and of a server's key and certificate, with none of the extensions that name keys."""
    above, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    constraints = x509.BasicConstraints(ca=True, path_length=None)
    authority = _write(folder / "authority.pem", _sign("Bank CA", above, "Bank CA", above, constraints))
    made = _sign("bank.example.com", key, "Bank CA", above, _THIS_MACHINE)
    return authority, _write(folder / "certificate.pem", made, key)


_THIS_MACHINE = x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))])


def _sign(
    subject: str,
    key: ec.EllipticCurvePrivateKey,
    issuer: str,
    by: ec.EllipticCurvePrivateKey,
    extension: x509.ExtensionType,
) -> x509.Certificate:
    names = [x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, each)]) for each in (subject, issuer)]
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(names[0])
        .issuer_name(names[1])
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(hours=1))
        .add_extension(extension, critical=isinstance(extension, x509.BasicConstraints))
        .sign(by, hashes.SHA256())
    )


def _write(path: Path, made: x509.Certificate, key: ec.EllipticCurvePrivateKey | None = None) -> Path:
    pem, pkcs8, plain = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    private = key.private_bytes(pem, pkcs8, plain) if key else b""
    path.write_bytes(private + made.public_bytes(pem))
    return path


def server_context(certificate: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    return context
