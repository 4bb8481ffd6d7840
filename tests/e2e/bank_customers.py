"""Customers of banks of each kind: demonstration banks, fault banks, and the bank of the guide for banks."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

from chalicelib import bootstrap
from chalicelib.foundation.crypto import signatures
from chalicelib.openbanking.records.bank_record import NewBank
from infra.psu_browser import approve_consent, confirm_payment
from tests.e2e.parties import send
from tests.e2e.sdk_users import browser
from tests.kit.documents import ROOT
from tests.kit.http import free_port
from tests.kit.processes import SDK_SOURCE
from tests.kit.time import wait_for

PATIENT_CUSTOMER = "revokes-after-a-day"
"""A customer of the fault banks for whom nothing fails on the first day."""


def bic_of(stack: dict[str, Any], banks: str, version: int) -> str:
    """Return the BIC of the bank of a version among the ``banks`` or ``fault_banks`` of a stack."""
    (bic,) = [bank["bic"] for bank in stack[banks] if bank["api_version"] == version]
    return str(bic)


@dataclass(frozen=True)
class Psu:
    """A customer of a bank. ``approve`` and ``confirm`` return the address to which the bank redirects the browser."""

    bic: str
    approve: Callable[[str], str]
    confirm: Callable[[str], str]


def demonstration_psu(stack: dict[str, Any], bic: str, customer: str = "") -> Psu:
    return Psu(
        bic,
        lambda url: approve_consent(browser(stack, "/authorize/callback"), url, customer),
        lambda url: confirm_payment(browser(stack, "/payments/callback"), url, customer),
    )


@contextmanager
def guide_bank(operator: bootstrap.Hub, hub: str, version: int, folder: Path) -> Iterator[Psu]:
    """Start the bank of the guide, and register it at the hub."""
    pem, port = signatures.generate_private_pem(), free_port()
    (folder / ".local").mkdir()
    (folder / ".local" / "bank.pem").write_text(pem, "utf-8")
    bank, api_key = operator.openbanking.banks.add(
        NewBank(
            bic=f"TESTDE{uuid.uuid4().hex[:5].upper()}",
            name="Example Bank",
            country="DE",
            api_version=version,
            domain=f"http://127.0.0.1:{port}",
            authorization_url=f"http://127.0.0.1:{port}/consent",
            public_keys=[signatures.public_pem(signatures.load_private_key(pem).public_key())],
        )
    )
    environ = {**os.environ, "VERSION": str(version), "API_KEY": api_key, "HUB": hub, "PYTHONPATH": str(SDK_SOURCE)}
    command = [sys.executable, str(ROOT / "docs" / "guides" / "bank.py"), str(port)]
    with (folder / "log").open("wb") as log, subprocess.Popen(command, cwd=folder, env=environ, stdout=log) as running:
        try:
            wait_for(lambda: running.poll() is None and is_reachable(port), "the bank does not start")
            yield Psu(bank.bic, decide, decide)
        finally:
            running.terminate()


def is_reachable(port: int) -> bool:
    with socket.socket() as found:
        return found.connect_ex(("127.0.0.1", port)) == 0


def decide(url: str) -> str:
    """Approve on a page of the guide's bank. Return the address to which the bank redirects the browser."""
    form = re.search('action="([^"]+)"', send("GET", url).text)
    assert form is not None
    answer = send("POST", urljoin(url, form[1]), data={"decision": "yes"}, allow_redirects=False)
    return answer.headers["Location"]
