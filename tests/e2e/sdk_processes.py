"""Processes that use the SDK: a bank of ``causeway.bank`` behind two proxies, and ``causeway listen``."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import requests
from standardwebhooks.webhooks import Webhook

from causeway import tpp as sdk
from chalicelib import bootstrap
from chalicelib.foundation.crypto import signatures
from chalicelib.openbanking.records.bank_record import NewBank
from tests.e2e.durable_bank import books
from tests.e2e.parties import send
from tests.kit.documents import ROOT
from tests.kit.http import free_port, serving
from tests.kit.lossy_proxy import LossyProxy, lossy_proxy
from tests.kit.processes import SDK_SOURCE
from tests.kit.time import PATIENCE_SECONDS, wait_for

SCOPES: dict[int, Any] = {
    1: ["account.list", "account.balance", "payment.init"],
    2: ["accounts", "accounts.balances", "payments.single", "payments.bulk"],
}


@dataclass
class DurableBank:
    """The bank process and its proxies: ``webhooks`` (from hub to bank) and ``calls`` (from bank to hub)."""

    folder: Path
    version: int
    bic: str
    api_key: str
    port: int
    webhooks: LossyProxy
    calls: LossyProxy
    api_keys: list[str] = field(default_factory=list)
    _process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        settings = {"version": self.version, "hub": self.calls.url, "base_url": self.url, "port": self.port}
        settings |= {"api_key": self.api_keys or [self.api_key]}
        (self.folder / "settings.json").write_text(json.dumps(settings), "utf-8")
        environ = {**os.environ, "PYTHONPATH": os.pathsep.join((str(ROOT), str(SDK_SOURCE))), "NO_PROXY": "127.0.0.1"}
        command = [sys.executable, "-m", "tests.e2e.durable_bank", str(self.folder)]
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(command, cwd=ROOT, env=environ, stdout=log, stderr=log)
        wait_for(self._is_reachable, f"the bank does not start: {(self.folder / 'log').read_text('utf-8')}")

    def _is_reachable(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, (self.folder / "log").read_text("utf-8")
        try:
            return bool(send("GET", self.url).status_code)
        except requests.ConnectionError:
            return False

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait(PATIENCE_SECONDS)

    def restart(self) -> None:
        self.kill()
        self.start()

    def die_at(self, step: str) -> None:
        """Make the bank process kill itself after the next storage write of the given processing step."""
        (self.folder / f"die-at-{step}").touch()

    def wait_until_dead(self) -> None:
        assert self._process is not None
        self._process.wait(PATIENCE_SECONDS)

    def books(self, what: str) -> list[str]:
        """Return the lines of one kind from the bank's books: ``accepted`` orders, ``booked`` payments, or ``revoked``
        consents.
        """
        return books(self.folder / "bank.sqlite", what)

    # -- the customer

    def open(self, url: str) -> str:
        """Open the customer's page, with retries after network failures. Return the secret address of the page."""

        def look() -> str:
            found = re.search('action="([^"]+)"', send("GET", url).text)
            return found[1] if found else ""

        return self.url + wait_for(look, f"there is no page at {url}")

    def click(self, page: str, decision: str = "yes") -> str:
        """Send the customer's decision. Return the redirect address, or an empty string if the bank cannot respond."""
        try:
            answer = send("POST", page, data={"decision": decision}, allow_redirects=False)
        except requests.ConnectionError:
            return ""
        return answer.headers.get("Location", "")

    def decide(self, url: str, decision: str = "yes") -> str:
        page = self.open(url)
        return wait_for(lambda: self.click(page, decision), "the bank takes no decision")

    def end_consent(self, consent_id: str) -> None:
        self.click(self.open(f"{self.url}/consents"), consent_id)


@contextmanager
def durable_bank(
    operator: bootstrap.Hub, hub: str, version: int, folder: Path, **members: Any
) -> Iterator[DurableBank]:
    """Start a bank, and register it at the hub with the address of its proxy."""
    pem, port = signatures.generate_private_pem(), free_port()
    bic = f"TESTGB{uuid.uuid4().hex[:5].upper()}"
    with ExitStack() as ending:
        webhooks = ending.enter_context(lossy_proxy(f"http://127.0.0.1:{port}"))
        calls = ending.enter_context(lossy_proxy(hub))
        _, api_key = operator.openbanking.banks.add(
            NewBank(
                bic=bic,
                name="Durable Bank",
                country="GB",
                api_version=version,
                domain=webhooks.url,
                authorization_url=f"http://127.0.0.1:{port}/consent",
                **members,
                public_keys=[signatures.public_pem(signatures.load_private_key(pem).public_key())],
            )
        )
        (folder / "bank.pem").write_text(pem, "utf-8")
        bank = DurableBank(folder, version, bic, api_key, port, webhooks, calls)
        ending.callback(bank.kill)
        bank.start()
        yield bank


def consent_at(bank: DurableBank, tpp: sdk.Tpp, scopes: Sequence[str] = ()) -> sdk.Consent:
    wanted: Any = list(scopes or SCOPES[bank.version])
    asked = tpp.authorize(bic=bank.bic, scopes=wanted)
    back = bank.decide(asked.redirect_url)
    return tpp.redeem_callback(back, state=state_in(back))


def state_in(callback: str) -> str:
    return parse_qs(urlsplit(callback).query)["state"][0]


# -- causeway listen


class ForwardReceiver(ThreadingHTTPServer):
    """A receiver that stores its requests. ``behaviour`` returns the status of a response and can delay it."""

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
        """Suppress the request log."""


def receiving(port: int = 0) -> AbstractContextManager[ForwardReceiver]:
    return serving(ForwardReceiver(port))


class ListenProcess:
    """A process of ``causeway listen``. ``printed`` is its output, and ``lines`` is the output without timestamps."""

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

        def look() -> str:
            return next((line for line in list(self.lines) if re.search(pattern, line)), "")

        return wait_for(look, f"no line {pattern} in {self.lines}")

    @property
    def secret(self) -> str:
        return self.wait_for_line("Signing secret").partition(": ")[2]

    def kill(self) -> None:
        self._process.kill()
        self._end()

    def interrupt(self) -> int:
        self._process.send_signal(signal.SIGINT)
        return self._end()

    def wait(self) -> int:
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
    process = ListenProcess(environ, *options)
    try:
        yield process
    finally:
        if process.is_running:
            process.kill()


def environment(hub: str, client_id: str, secret: str, state: Path) -> dict[str, str]:
    return {
        **os.environ,
        "PYTHONPATH": str(SDK_SOURCE),
        "NO_PROXY": "127.0.0.1",
        "CAUSEWAY_BASE_URL": hub,
        "CAUSEWAY_CLIENT_ID": client_id,
        "CAUSEWAY_CLIENT_SECRET": secret,
        "CAUSEWAY_LISTEN_STATE": str(state),
    }
