"""Runs a bank of ``causeway.bank`` on the stack, with a proxy on each way, and acts as its customer."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import uuid
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import requests

from causeway import tpp as sdk
from chalicelib import bootstrap
from chalicelib.foundation.crypto import signatures
from chalicelib.openbanking.records.bank_record import NewBank
from tests.e2e import sqlite_storage
from tests.kit.documents import ROOT
from tests.kit.http import free_port
from tests.kit.lossy_proxy import LossyProxy, lossy_proxy
from tests.kit.time import PATIENCE_SECONDS, wait_for
from tests.sdk.user_programs import SOURCE

SCOPES: dict[int, Any] = {
    1: ["account.list", "account.balance", "payment.init"],
    2: ["accounts", "accounts.balances", "payments.single", "payments.bulk"],
}


@dataclass
class DurableBank:
    """The bank: ``webhooks`` is the way from the hub to it, ``calls`` that to the hub."""

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
        environ = {**os.environ, "PYTHONPATH": os.pathsep.join((str(ROOT), str(SOURCE))), "NO_PROXY": "127.0.0.1"}
        command = [sys.executable, "-m", "tests.e2e.durable_bank", str(self.folder)]
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(command, cwd=ROOT, env=environ, stdout=log, stderr=log)
        wait_for(self._is_reachable, f"the bank does not start: {(self.folder / 'log').read_text('utf-8')}")

    def _is_reachable(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, (self.folder / "log").read_text("utf-8")
        try:
            return bool(_browser().get(self.url, timeout=PATIENCE_SECONDS).status_code)
        except requests.ConnectionError:
            return False

    def kill(self) -> None:
        """End it as a power failure does."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(PATIENCE_SECONDS)

    def restart(self) -> None:
        self.kill()
        self.start()

    def die_at(self, step: str) -> None:
        """Have the process kill itself the next time it has written a step."""
        (self.folder / f"die-at-{step}").touch()

    def wait_until_dead(self) -> None:
        assert self._process is not None
        self._process.wait(PATIENCE_SECONDS)

    def books(self, what: str) -> list[str]:
        """The bank's own books: ``accepted`` orders, ``booked`` payments, ``revoked`` consents."""
        return sqlite_storage.books(self.folder / "bank.sqlite", what)

    # -- the customer

    def open(self, url: str) -> str:
        """The secret address of the page that the customer sees, opened again after a failure of the network."""

        def look() -> str:
            found = re.search('action="([^"]+)"', _browser().get(url, timeout=PATIENCE_SECONDS).text)
            return found[1] if found else ""

        return self.url + wait_for(look, f"there is no page at {url}")

    def click(self, page: str, decision: str = "yes") -> str:
        """Where the browser goes; empty if the bank is not able to say it."""
        try:
            answer = _browser().post(page, data={"decision": decision}, timeout=PATIENCE_SECONDS, allow_redirects=False)
        except requests.ConnectionError:
            return ""
        return answer.headers.get("Location", "")

    def decide(self, url: str, decision: str = "yes") -> str:
        """Open a page and decide, again and again until the bank takes it."""
        page = self.open(url)
        return wait_for(lambda: self.click(page, decision), "the bank takes no decision")

    def end_consent(self, consent_id: str) -> None:
        """End one of several consents on the bank's own page."""
        self.click(self.open(f"{self.url}/consents"), consent_id)


def _browser() -> requests.Session:
    session = requests.Session()
    session.trust_env = False
    return session


@contextmanager
def durable_bank(
    operator: bootstrap.Hub, hub: str, version: int, folder: Path, **members: Any
) -> Iterator[DurableBank]:
    """A running bank, registered at the hub at the address of its proxy."""
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
    """The consent of the bank's customer, for everything."""
    wanted: Any = list(scopes or SCOPES[bank.version])
    asked = tpp.authorize(bic=bank.bic, scopes=wanted)
    back = bank.decide(asked.redirect_url)
    return tpp.redeem_callback(back, state=state_in(back))


def state_in(callback: str) -> str:
    return parse_qs(urlsplit(callback).query)["state"][0]
