"""Strict parsing of requests (RFC 9112) for the local servers: ambiguous requests get 400 and end the connection.

``http.server`` treats a line that it cannot parse as the end of the headers. A ``Content-Length`` after such a line is
ignored, and the body is executed as a second request.
"""

from __future__ import annotations

import io
import re
import socket
from collections.abc import Iterator
from contextlib import suppress
from http import HTTPStatus
from http.client import HTTPMessage
from http.server import BaseHTTPRequestHandler
from typing import NamedTuple
from urllib.parse import urlsplit

LARGEST_BODY = 10 * 1024 * 1024
"""API Gateway's limit on the request body, in bytes."""

LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
"""Host names of this machine that no external domain can use (RFC 6761, 6.3)."""

_LONGEST_LINE = 65536
_MOST_HEADERS = 100
_LONGEST_NUMBER = 18
_DRAINED = 1024 * 1024
_PIECE = 64 * 1024
_TOKEN = rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
_REQUEST_LINE = re.compile(_TOKEN + rb" [\x21-\x7e\x80-\xff]+ HTTP/[0-9]\.[0-9]")
_HEADER = re.compile(rb"(%s):([\t\x20-\x7e\x80-\xff]*)" % _TOKEN)
_CHUNK_SIZE = re.compile(rb"([0-9A-Fa-f]{1,8})[ \t]*(?:;[\t\x20-\x7e\x80-\xff]*)?")
_AUTHORITY = re.compile(r"(?:\[([0-9A-Fa-f:.]+)\]|([A-Za-z0-9._~%-]+))(?::[0-9]*)?")

Headers = list[tuple[str, str]]


class Unreadable(Exception):
    """A request is invalid HTTP, too large, or for a different host. The connection must be closed."""

    def __init__(self, status: HTTPStatus, message: str) -> None:
        self.status = status
        super().__init__(message)


class Head(NamedTuple):
    """The request line and headers of a request. Header values have no surrounding blanks."""

    target: str
    version: str
    headers: Headers

    def values(self, name: str) -> list[str]:
        """Return all values of the header with the given lower-case name."""
        return [value for each, value in self.headers if each.lower() == name]

    def encode(self) -> bytes:
        """Encode the header lines, followed by an empty line."""
        lines = [f"{name}: {value}\r\n".encode("latin-1") for name, value in self.headers]
        return b"".join(lines) + b"\r\n"


class StrictHandler(BaseHTTPRequestHandler):
    """Handles one connection. Subclasses read a request's body with ``read_body``.

    Attributes:
        largest_body: the maximum size of a body in bytes. Larger bodies get status 413.
        reads_chunks: whether ``Transfer-Encoding: chunked`` is supported. If not, such requests get status 411.
        hosts: the permitted host names, in lower case; ``None`` permits any host name.
    """

    largest_body = LARGEST_BODY
    reads_chunks = False
    hosts: frozenset[str] | None = LOOPBACK
    raw_requestline: bytes
    _length: int | None = 0
    """The length of the body in bytes; ``None`` if the body is sent in chunks."""

    def handle_one_request(self) -> None:
        """Read and handle a request. If an error occurs before the headers are read, no data of the previous request is
        used.
        """
        self.requestline, self.command, self.path, self.headers = "", "", "", HTTPMessage()
        self.request_version = self.protocol_version
        try:
            super().handle_one_request()
        except Unreadable as error:
            self.refuse(error)

    def parse_request(self) -> bool:
        """Read the request line and the headers. Return whether there is a request to handle."""
        try:
            head = read_head(self.raw_requestline, self.rfile)
            check_host(head, self.hosts)
            self._length = body_length(head, self.largest_body, self.reads_chunks)
        except Unreadable as error:
            self.refuse(error)
            return False
        connection, self.rfile = self.rfile, io.BytesIO(head.encode())
        try:
            return super().parse_request()
        finally:
            self.rfile = connection

    def read_body(self) -> bytes:
        """Read the body of the request. Raises: Unreadable, which is answered with an error response if it is not
        caught.
        """
        if self._length is None:
            return read_chunks(self.rfile, self.largest_body)
        body = self.rfile.read(self._length)
        if len(body) < self._length:
            raise _bad("The body is shorter than Content-Length.")
        return body

    def refuse(self, error: Unreadable) -> None:
        """Send an error and close the connection."""
        self.send_error(error.status, str(error))
        self.close_connection = True
        with suppress(OSError):
            self.wfile.flush()
            end_connection(self.connection)


def read_head(request_line: bytes, lines: io.BufferedIOBase) -> Head:
    """Read the request line and the headers of a request. Raises: Unreadable."""
    first = _strip_end(request_line)
    if not _REQUEST_LINE.fullmatch(first):
        raise _bad("The request line is not that of HTTP/1.1.")
    _, target, version = first.decode("latin-1").split(" ")
    return Head(target, version, list(_read_headers(lines)))


def body_length(head: Head, largest: int, reads_chunks: bool = False) -> int | None:
    """Return the length of the body in bytes; ``None`` for a chunked body (RFC 9112, 6.3). Raises: Unreadable."""
    lengths, encodings = head.values("content-length"), head.values("transfer-encoding")
    if lengths and encodings:
        raise _bad("Content-Length and Transfer-Encoding exclude each other.")
    if encodings:
        _check_encodings(encodings, reads_chunks)
        return None
    if len(lengths) > 1:
        raise _bad("Content-Length is repeated.")
    return _read_length(lengths[0], largest) if lengths else 0


def check_host(head: Head, hosts: frozenset[str] | None) -> None:
    """Check that the request is for this server (RFC 9112, 3.2). Raises: Unreadable.

    Without this check, an external domain that is redirected to this machine's address (DNS rebinding) would allow any
    web page to read the responses.
    """
    given = head.values("host")
    if len(given) > 1 or (not given and head.version != "HTTP/1.0"):
        raise _bad("A request has exactly one Host header.")
    named = [_read_host(each) for each in (*given, *_authority(head.target))]
    if hosts is not None and not hosts.issuperset(named):
        names = ", ".join(sorted(hosts))
        raise _bad(f"The Host header must name this server: {names}. Behind a tunnel, set PUBLIC_URL.")


def read_chunks(lines: io.BufferedIOBase, largest: int) -> bytes:
    """Read a chunked body (RFC 9112, 7.1). Trailers are discarded. Raises: Unreadable."""
    body = bytearray()
    while size := _read_chunk_size(lines):
        if len(body) + size > largest:
            raise _too_large()
        body += lines.read(size)
        if lines.readline(3) not in (b"\r\n", b"\n"):
            raise _bad("A chunk of the body has another length than it says.")
    list(_read_headers(lines))  # the trailers
    return bytes(body)


def end_connection(connection: socket.socket) -> None:
    """Shut down sending and read part of the remaining input, because closing a connection with unread data could
    discard the response.
    """
    connection.settimeout(1)
    connection.shutdown(socket.SHUT_WR)
    left = _DRAINED
    while left > 0 and (read := connection.recv(_PIECE)):
        left -= len(read)


def _read_headers(lines: io.BufferedIOBase) -> Iterator[tuple[str, str]]:
    for _ in range(_MOST_HEADERS + 1):
        line = _strip_end(_read_line(lines))
        if not line:
            return
        if (found := _HEADER.fullmatch(line)) is None:
            raise _bad(_explain_header(line))
        yield found[1].decode("ascii"), found[2].decode("latin-1").strip(" \t")
    raise Unreadable(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, f"There are more than {_MOST_HEADERS} headers.")


def _explain_header(line: bytes) -> str:
    name, colon, _ = line.partition(b":")
    if line[:1] in (b" ", b"\t"):
        return "A header is folded over two lines."
    if not colon:
        return "A header line has no colon."
    if name != name.rstrip():
        return "A header has a blank before its colon."
    return "A header holds a character that headers cannot hold."


def _read_line(lines: io.BufferedIOBase) -> bytes:
    line = lines.readline(_LONGEST_LINE + 1)
    if len(line) > _LONGEST_LINE:
        raise Unreadable(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, "A header is too long.")
    if not line.endswith(b"\n"):
        raise _bad("The request ends too early.")
    return line


def _strip_end(line: bytes) -> bytes:
    """Return a line without its line ending, which may be a single line feed (RFC 9112, 2.2)."""
    return line.removesuffix(b"\n").removesuffix(b"\r")


def _check_encodings(encodings: list[str], reads_chunks: bool) -> None:
    if not reads_chunks:
        raise Unreadable(HTTPStatus.LENGTH_REQUIRED, "A body needs a Content-Length.")
    if [each.lower() for each in encodings] != ["chunked"]:
        raise _bad("Transfer-Encoding is not chunked.")


def _read_length(length: str, largest: int) -> int:
    if not (length.isascii() and length.isdigit()):
        raise _bad("Content-Length is not a number of bytes.")
    if len(length) > _LONGEST_NUMBER or int(length) > largest:
        raise _too_large()
    return int(length)


def _read_chunk_size(lines: io.BufferedIOBase) -> int:
    found = _CHUNK_SIZE.fullmatch(_strip_end(_read_line(lines)))
    if found is None:
        raise _bad("A chunk of the body does not begin with its length.")
    return int(found[1], 16)


def _authority(target: str) -> list[str]:
    """Return the host of a target in absolute form, which overrides the Host header (RFC 9112, 3.2.2)."""
    return [] if target.startswith("/") or "://" not in target else [urlsplit(target).netloc]


def _read_host(text: str) -> str:
    found = _AUTHORITY.fullmatch(text)
    if found is None:
        raise _bad("The Host header is not a host and a port.")
    return (found[1] or found[2]).lower().removesuffix(".")


def _bad(message: str) -> Unreadable:
    return Unreadable(HTTPStatus.BAD_REQUEST, message)


def _too_large() -> Unreadable:
    return Unreadable(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "Request Too Long")
