"""The AWS emulator, which runs moto's server in a separate process.

Requests run one at a time, because moto's backends are not thread-safe and concurrent conditional transactions would
interleave. Calls for messages are handled by the module ``sqs``, not by moto. Connections are persistent, and Nagle's
algorithm is disabled.

The command prints its address when it is ready, and exits when its standard input closes. If the emulator cannot start,
or can no longer save its state, it prints the reason in one sentence and exits with code 1.
"""

from __future__ import annotations

import io
import logging
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterable
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from infra import command
from infra.local import moto_patches
from infra.local.emulator_state import EmulatorState, StateUnusable
from infra.local.process import exit_with_parent
from infra.local.sqs import Answer, Sqs
from infra.strict_http import StrictHandler

Environ = dict[str, Any]


class Emulator:
    """Calls moto's WSGI application for one request at a time. Calls for messages are handled without moto.

    ``now`` returns the time at which messages become visible.
    """

    def __init__(
        self,
        application: Callable[..., Iterable[bytes]],
        state: EmulatorState | None = None,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._application = application
        self._state = state
        self._turn = threading.Lock()
        self.sqs = Sqs(state, now)

    def __call__(self, environ: Environ, body: bytes) -> Answer:
        target = environ.get("HTTP_X_AMZ_TARGET", "")
        if self.sqs.handles(target):
            return self.sqs.answer(target, body)
        with self._turn:
            answer = self._run(environ, body)
            if self._state and answer[0].startswith("200"):
                self._state.record_call(target, body)
            return answer

    def _run(self, environ: Environ, body: bytes) -> Answer:
        begun: list[tuple[str, list[tuple[str, str]]]] = []

        def start_response(status: str, headers: list[tuple[str, str]], exc_info: Any = None) -> None:
            begun.append((status, headers))

        request = {**environ, "CONTENT_LENGTH": str(len(body)), "wsgi.input": io.BytesIO(body)}
        chunks = b"".join(self._application(request, start_response))
        status, headers = begun[-1]
        return status, headers, chunks


class EmulatorHandler(StrictHandler):
    """Handles one persistent HTTP/1.1 connection."""

    protocol_version = "HTTP/1.1"
    largest_body = 100_000_000  # Lambda takes archives of 50 MB, here in Base64
    disable_nagle_algorithm = True
    wbufsize = -1
    server: EmulatorServer

    def _answer(self) -> None:
        sent = self.read_body()
        status, headers, body = self.server.emulator(self._environ(), sent)
        code, _, phrase = status.partition(" ")
        self.send_response(int(code), phrase)
        for name, value in headers:
            if name.lower() not in ("content-length", "connection", "date", "server"):
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = do_PATCH = do_OPTIONS = _answer  # noqa: N815 - http.server's names

    def _environ(self) -> Environ:
        path, _, query = self.path.partition("?")
        host, port = self.server.server_address[:2]
        environ: Environ = {
            "REQUEST_METHOD": self.command,
            "SCRIPT_NAME": "",
            "PATH_INFO": unquote(path, "latin-1"),
            "RAW_URI": self.path,
            "REQUEST_URI": self.path,
            "QUERY_STRING": query,
            "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "SERVER_NAME": host,
            "SERVER_PORT": str(port),
            "SERVER_PROTOCOL": self.request_version,
            "REMOTE_ADDR": self.client_address[0],
            "wsgi.version": (1, 0),
            "wsgi.url_scheme": "http",
            "wsgi.errors": sys.stderr,
            "wsgi.multithread": False,
            "wsgi.multiprocess": False,
            "wsgi.run_once": False,
        }
        environ.update((f"HTTP_{name.upper().replace('-', '_')}", value) for name, value in self.headers.items())
        return environ

    def log_message(self, format: str, *args: Any) -> None:
        """Disable logging, because the service's own log contains the calls."""


class EmulatorServer(ThreadingHTTPServer):
    """An HTTP server with one thread per connection, on the loopback interface only."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, emulator: Callable[[Environ, bytes], Answer], port: int = 0) -> None:
        self.emulator = emulator
        super().__init__(("127.0.0.1", port), EmulatorHandler)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore disconnected clients; log other errors."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


def load_moto() -> Callable[..., Iterable[bytes]]:
    """Patch moto and return its server application."""
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    moto_patches.patch_moto()
    from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app

    found: Callable[..., Iterable[bytes]] = DomainDispatcherApplication(create_backend_app)
    return found


def main(arguments: list[str] | None = None) -> None:
    """Serve requests until standard input closes."""
    parser = command.parser("infra.local.emulator", __doc__)
    parser.add_argument("--port", type=int, default=0, help="default: any free one")
    parser.add_argument("--state", type=Path, help="keep tables, queues, secrets and key material in this file")
    options = parser.parse_args(arguments)
    exit_with_parent()
    try:
        state = EmulatorState(options.state) if options.state else None  # first, since moto takes time to load
        served = load_moto()
        if state:
            state.restore()
    except StateUnusable as error:
        print(error, flush=True)  # in place of the address
        sys.exit(1)
    server = EmulatorServer(Emulator(served, state), options.port)
    print(f"http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    command.run(main)
