"""The AWS emulator: moto's server in a separate process.

Requests run one at a time, because moto's backends are not thread-safe and concurrent conditional transactions would
interleave. Connections are kept alive, Nagle's algorithm is off, and a receive call that waits for a message does not
block other requests.

The command prints its address when it is ready, and exits when its standard input closes.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import io
import json
import logging
import os
import secrets
import sys
import threading
import time
import uuid
import warnings
from collections.abc import Callable, Iterable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from infra import command
from infra.local import moto_patches
from infra.local.process import exit_with_parent
from infra.local.stackfile import write_private

Environ = dict[str, Any]
Answer = tuple[str, list[tuple[str, str]], bytes]

ACCOUNT = "123456789012"
LONGEST_WAIT = 20.0
_LOOK_AGAIN = 0.5  # a message can become visible without being sent, after a timeout
_READING = ("secretsmanager.Get", "secretsmanager.List", "secretsmanager.Describe")
_RECEIVE = "AmazonSQS.ReceiveMessage"


class EmulatorState:
    """The part of the emulator's state that must survive restarts if the tables do: key material and secrets.

    Stored records are sealed with a data key, which is wrapped by a KMS key and stored in a secret. To read the records
    after a restart, both must be restored exactly. One file holds the seed from which key material and key ids are
    derived, and the values of all secrets. It is read before the first request and saved whenever a secret changes.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._state: dict[str, Any] = {"seed": secrets.token_hex(32), "secrets": {}}
        with contextlib.suppress(FileNotFoundError):
            self._state = json.loads(path.read_text(encoding="utf-8"))

    def restore(self) -> None:
        """Restore the secrets, and make moto create the same KMS keys as before."""
        self._derive_keys()
        for region, kept in self._state["secrets"].items():
            for name, value in kept.items():
                _secrets_backend(region).create_secret(
                    name=name,
                    secret_string=value,
                    secret_binary=None,
                    description=None,
                    tags=None,
                    kms_key_id=None,
                    client_request_token=None,
                    replica_regions=[],
                    force_overwrite=False,
                )
        self._save()

    def record_call(self, target: str) -> None:
        """Save the secrets if the call ``target`` may have changed one."""
        if not target.startswith("secretsmanager.") or target.startswith(_READING):
            return
        region = os.environ.get("AWS_DEFAULT_REGION", "eu-west-1")
        stored = _secrets_backend(region).secrets
        values = {secret.name: _secret_text(secret) for secret in stored.values()}
        self._state["secrets"][region] = {name: value for name, value in values.items() if value is not None}
        self._save()

    def _derive_keys(self) -> None:
        """Make moto derive the material and id of each KMS key from the seed and the key's description."""
        from moto.kms import models

        seed = bytes.fromhex(self._state["seed"])

        class Key(models.Key):
            __module__ = models.__name__  # moto derives the service from it

            def __init__(self, *args: Any, **kwargs: Any) -> None:
                super().__init__(*args, **kwargs)
                self.key_material = hmac.digest(seed, self.description.encode(), hashlib.sha256)
                self.id = str(uuid.UUID(bytes=hashlib.sha256(self.key_material).digest()[:16], version=4))
                self.arn = f"{self.arn.rpartition('/')[0]}/{self.id}"

        models.Key = Key  # type: ignore[misc]

    def _save(self) -> None:
        write_private(self._path, json.dumps(self._state))


def _secrets_backend(region: str) -> Any:
    from moto.secretsmanager.models import secretsmanager_backends

    return secretsmanager_backends[ACCOUNT][region]


def _secret_text(secret: Any) -> str | None:
    """The current text of a secret; ``None`` if it is empty."""
    version = secret.versions.get(secret.default_version_id) or {}
    value: str | None = version.get("secret_string")
    return value


class Emulator:
    """Calls moto's WSGI application, one request at a time."""

    def __init__(self, application: Callable[..., Iterable[bytes]], state: EmulatorState | None = None) -> None:
        self._application = application
        self._state = state
        self._turn = threading.Condition()

    def __call__(self, environ: Environ, body: bytes) -> Answer:
        """Run one request."""
        target = environ.get("HTTP_X_AMZ_TARGET", "")
        if target == _RECEIVE:
            return self._receive(environ, body)
        with self._turn:
            answer = self._run(environ, body)
            if self._state:
                self._state.record_call(target)
            if target.startswith("AmazonSQS."):
                self._turn.notify_all()
            return answer

    def _receive(self, environ: Environ, body: bytes) -> Answer:
        """Long polling: wait here with the lock released, because moto would block all other requests."""
        request = json.loads(body or b"{}")
        deadline = time.monotonic() + min(float(request.get("WaitTimeSeconds") or 0), LONGEST_WAIT)
        body = json.dumps({**request, "WaitTimeSeconds": 0}).encode()
        with self._turn:
            while True:
                answer = self._run(environ, body)
                left = deadline - time.monotonic()
                if left <= 0 or not answer[0].startswith("200") or json.loads(answer[2]).get("Messages"):
                    return answer
                self._turn.wait(min(left, _LOOK_AGAIN))

    def _run(self, environ: Environ, body: bytes) -> Answer:
        begun: list[tuple[str, list[tuple[str, str]]]] = []

        def start_response(status: str, headers: list[tuple[str, str]], exc_info: Any = None) -> None:
            begun.append((status, headers))

        request = {**environ, "CONTENT_LENGTH": str(len(body)), "wsgi.input": io.BytesIO(body)}
        chunks = b"".join(self._application(request, start_response))
        status, headers = begun[-1]
        return status, headers, chunks


class EmulatorHandler(BaseHTTPRequestHandler):
    """Handles one connection: HTTP/1.1 with keep-alive."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1
    server: EmulatorServer

    def _answer(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        status, headers, body = self.server.emulator(self._environ(), self.rfile.read(length))
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
        """Log nothing: the service's own log contains the calls."""


class EmulatorServer(ThreadingHTTPServer):
    """An HTTP server with one thread per connection, on the loopback interface only."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, emulator: Emulator, port: int = 0) -> None:
        self.emulator = emulator
        super().__init__(("127.0.0.1", port), EmulatorHandler)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore disconnected clients; log other errors."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


def load_moto() -> Callable[..., Iterable[bytes]]:
    """Patch moto and return its server application, with CloudFormation already imported."""
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    moto_patches.patch_moto()
    import moto.cloudformation.responses  # noqa: F401 - the slowest import; the first call should not wait for it
    from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app

    found: Callable[..., Iterable[bytes]] = DomainDispatcherApplication(create_backend_app)
    return found


def main(arguments: list[str] | None = None) -> None:
    """Serve until standard input closes."""
    parser = command.parser("infra.local.emulator", __doc__)
    parser.add_argument("--port", type=int, default=0, help="a free one when left out")
    parser.add_argument("--state", type=Path, help="keep key material and secrets in this file")
    options = parser.parse_args(arguments)
    exit_with_parent()
    served = load_moto()
    state: EmulatorState | None = None
    if options.state:
        state = EmulatorState(options.state)
        state.restore()
    server = EmulatorServer(Emulator(served, state), options.port)
    print(f"http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    command.run(main)
