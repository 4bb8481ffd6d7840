"""A receiver of events that verifies each with a library of others, and a process of ``causeway listen``."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from standardwebhooks.webhooks import Webhook

from tests.kit.http import serving
from tests.kit.time import PATIENCE_SECONDS, wait_for
from tests.sdk.user_programs import SOURCE


class ForwardReceiver(ThreadingHTTPServer):
    """Keeps what comes. ``behaviour`` gives the status of an answer, and may take its time."""

    daemon_threads = True

    def __init__(self, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.behaviour: Callable[[str], int] = lambda event_id: 204
        self.received: list[tuple[str, Mapping[str, str], bytes]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/events"

    @property
    def ids(self) -> list[str]:
        return [event_id for event_id, _, _ in self.received]

    def verified(self, secret: str) -> list[Any]:
        """All events, verified."""
        return [Webhook(secret).verify(body, dict(headers)) for _, headers, body in self.received]


class _Handler(BaseHTTPRequestHandler):
    server: ForwardReceiver

    def do_POST(self) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        body = self.rfile.read(int(headers["content-length"]))
        self.server.received.append((headers["webhook-id"], headers, body))
        self.send_response(self.server.behaviour(headers["webhook-id"]))
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Nothing."""


def receiving(port: int = 0) -> AbstractContextManager[ForwardReceiver]:
    """A running receiver."""
    return serving(ForwardReceiver(port))


class ListenProcess:
    """``causeway listen`` as its users run it. ``printed`` is what it prints, ``lines`` the same without times."""

    def __init__(self, environ: Mapping[str, str], *options: str, command: Sequence[str] = ()) -> None:
        self.printed: list[str] = []
        self.lines: list[str] = []
        command = command or [sys.executable, "-m", "causeway", "listen", *options]
        self._process = subprocess.Popen(
            command, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        for line in self._process.stdout or ():
            self.printed.append(line.rstrip())
            self.lines.append(line.partition("Z  ")[2].strip() or line.strip())

    def wait_for_line(self, pattern: str) -> str:
        """The first line that matches."""

        def look() -> str:
            return next((line for line in list(self.lines) if re.search(pattern, line)), "")

        return wait_for(look, f"no line {pattern} in {self.lines}")

    @property
    def secret(self) -> str:
        return self.wait_for_line("Signing secret").partition(": ")[2]

    def kill(self) -> None:
        """End it as a power failure does."""
        self._process.kill()
        self._end()

    def interrupt(self) -> int:
        """Press Ctrl-C. Returns the exit code."""
        self._process.send_signal(signal.SIGINT)
        return self._end()

    def wait(self) -> int:
        """The exit code of a command that ends by itself."""
        return self._end()

    def _end(self) -> int:
        code = self._process.wait(PATIENCE_SECONDS)
        self._reader.join()
        assert self._process.stderr is not None
        assert self._process.stdout is not None
        complaint = self._process.stderr.read()
        self._process.stdout.close()
        self._process.stderr.close()
        assert "Traceback" not in complaint, complaint
        self.lines += complaint.splitlines()
        return code

    @property
    def is_running(self) -> bool:
        return self._process.poll() is None


@contextmanager
def listening(environ: Mapping[str, str], *options: str) -> Iterator[ListenProcess]:
    """A running ``causeway listen``, which is killed in the end if it still runs."""
    process = ListenProcess(environ, *options)
    try:
        yield process
    finally:
        if process.is_running:
            process.kill()


def environment(hub: str, client_id: str, secret: str, state: Path) -> dict[str, str]:
    """The settings of a client that fetches its events."""
    return {
        **os.environ,
        "PYTHONPATH": str(SOURCE),
        "NO_PROXY": "127.0.0.1",
        "CAUSEWAY_BASE_URL": hub,
        "CAUSEWAY_CLIENT_ID": client_id,
        "CAUSEWAY_CLIENT_SECRET": secret,
        "CAUSEWAY_LISTEN_STATE": str(state),
    }
