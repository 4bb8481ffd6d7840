"""Requests over persistent connections. A connection is reused for later requests with the same route."""

from __future__ import annotations

import contextlib
import http.client
import select
import socket
import threading
import time
from base64 import b64encode
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from functools import lru_cache
from math import inf
from typing import NamedTuple
from urllib.parse import quote, unquote, urlsplit

from chalicelib.foundation.http.deadline_connections import Connection, Exchange, TlsConnection

CONNECTIONS_PER_HOST, _ROUTES = 64, 32
_TARGET_CHARACTERS = "%/?:@!$&'()*+,;=~[]"
"""Characters of paths and queries that are sent without percent-encoding (RFC 3986, 3.3 and 3.4)."""
_CHUNK = 65536
wall_time = time.time


class AddressUnusable(ValueError):
    """The address has no host, or a scheme other than http and https."""


class _Route(NamedTuple):
    scheme: str
    host: str
    port: int
    proxy: str | None

    def connection(self) -> Connection:
        kind = _KINDS[self.scheme]
        if self.proxy is None:
            return kind(self.host, self.port)
        via = urlsplit(self.proxy)
        connection = kind(str(via.hostname), via.port or http.client.HTTP_PORT)
        user = unquote(f"{via.username}:{via.password or ''}") if via.username else None
        basic = {"Proxy-Authorization": f"Basic {b64encode(user.encode()).decode()}"} if user else {}
        connection.set_tunnel(self.host, self.port, basic)
        return connection


@lru_cache(maxsize=1024)
def _route(url: str, proxy: str | None) -> tuple[_Route, str]:
    """Return the route for a URL, and the request target (path and query). Raises: ValueError."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise AddressUnusable("the address cannot be used") from None
    if parts.scheme not in _KINDS or not parts.hostname:
        raise AddressUnusable("the address cannot be used")
    if parts.scheme == "http":
        proxy = None
    port = port or _KINDS[parts.scheme].default_port
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return _Route(parts.scheme, parts.hostname, port, proxy), quote(target, safe=_TARGET_CHARACTERS)


class BodyTooLarge(OSError):
    """The response is larger than the permitted size."""


def read_body(response: http.client.HTTPResponse, largest: int, content: bytearray | None = None) -> bytes:
    """Read the whole body of a response. After a failure, ``content`` has the received part.

    Raises: BodyTooLarge, OSError, http.client.HTTPException.
    """
    content = bytearray() if content is None else content
    while chunk := response.read(_CHUNK):
        content += chunk
        if len(content) > largest:
            raise BodyTooLarge(f"the response has more than {largest} bytes")
    if response.length:
        raise http.client.IncompleteRead(bytes(content), response.length)
    return bytes(content)


class Connections:
    """Reuses connections: at most 64 for each route, and only for the 32 most recently used routes.

    Args:
        idle_seconds: the maximum idle time of a connection in wall-clock seconds. The monotonic clock stops while the
            process is frozen.
    """

    def __init__(self, idle_seconds: float = inf) -> None:
        self._idle_seconds = idle_seconds
        self._lock = threading.Lock()
        self._idle: OrderedDict[_Route, list[Connection]] = OrderedDict()

    def __del__(self) -> None:
        for idle in self._idle.values():
            for connection in idle:
                connection.close()

    @contextlib.contextmanager
    def response(
        self,
        method: str,
        url: str,
        body: bytes | None,
        headers: Mapping[str, str],
        exchange: Exchange,
        *,
        fresh: bool = False,
        proxy: str | None = None,
    ) -> Iterator[http.client.HTTPResponse]:
        """Send a request within the limits of ``exchange``. Read the response inside the context.

        If ``fresh`` is true, the request uses a new connection, which is not reused. A ``proxy`` is used only for
        https.

        Raises: OSError, http.client.HTTPException, ValueError.
        """
        exchange.sent = False
        route, target = _route(url, proxy)
        connection = (None if fresh else self._take(route)) or route.connection()
        connection.begin_exchange(exchange)
        try:
            connection.request(method, target, body, headers)
            response = connection.getresponse()
            yield response
        except BaseException:
            connection.close()
            raise
        if fresh or response.will_close or not response.isclosed():
            response.close()
            connection.close()
        else:
            self._keep(route, connection)

    def _take(self, route: _Route) -> Connection | None:
        """Take the most recently used connection, unless it is too old or the peer has closed it."""
        while True:
            with self._lock:
                idle = self._idle.get(route)
                if not idle:
                    return None
                self._idle.move_to_end(route)
                connection = idle.pop()
            if not self._is_old(connection) and not is_readable(connection.sock):
                return connection
            connection.close()

    def _is_old(self, connection: Connection) -> bool:
        return not 0 <= wall_time() - connection.idle_since <= self._idle_seconds

    def _keep(self, route: _Route, connection: Connection) -> None:
        connection.idle_since = wall_time()
        with self._lock:
            idle = self._idle.setdefault(route, [])
            self._idle.move_to_end(route)
            idle.append(connection)
            left_over = [idle.pop(0)] if len(idle) > CONNECTIONS_PER_HOST else []
            while idle and self._is_old(idle[0]):
                left_over.append(idle.pop(0))
            left_over += self._idle.popitem(last=False)[1] if len(self._idle) > _ROUTES else []
        for each in left_over:
            each.close()


def is_readable(sock: socket.socket) -> bool:
    """Whether the peer has sent data, or closed the connection."""
    waiting = select.poll()
    waiting.register(sock, select.POLLIN)
    return bool(waiting.poll(0))


_KINDS = {"http": Connection, "https": TlsConnection}
