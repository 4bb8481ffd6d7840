"""Runs of the kit in this process, against the small bank, with a PSU that decides at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import StringIO
from pathlib import Path
from urllib.parse import urljoin

import requests

from chalicelib.foundation.crypto import signatures
from infra.conformance import bank_file, kit
from infra.conformance.bank_file import BankUnderTest
from infra.conformance.check import Check, Result
from infra.conformance.checks import checks_of
from infra.conformance.psu import PsuOutcome, Task
from infra.conformance.runner import Run
from infra.conformance.selection import select
from infra.conformance.session import Limits, Session
from tests.http_servers import free_port
from tests.infra.conformance.small_bank import (
    ACCOUNT_ID,
    API_KEY,
    CURRENCY,
    IBAN,
    KEY,
    NUMBER,
    OTHER_KEY,
    SORT_CODE,
    SmallBank,
)
from tests.patience import PATIENCE_SECONDS

HUB_KEY = signatures.load_private_key(signatures.generate_private_pem())
LIMITS = Limits(answer=PATIENCE_SECONDS, report=0.15, arrival=0.15)
"""Reports and arrivals come before the PSU is done, or never."""


class InstantPsu:
    """A PSU who opens the bank's page and decides, over HTTP."""

    def __init__(self, bank: SmallBank) -> None:
        self._bank = bank

    def act(self, task: Task) -> PsuOutcome:
        with requests.Session() as browser:
            browser.trust_env = False
            if task.action == "revoke":
                browser.post(f"{self._bank.own}/end", timeout=PATIENCE_SECONDS)
                return PsuOutcome("done")
            form = task.url
            if task.action == "consent":
                page = browser.get(task.url, timeout=PATIENCE_SECONDS)
                if page.status_code != 200:
                    return PsuOutcome("failed", f"the bank's page has status {page.status_code}")
                form = urljoin(task.url, page.text)
            decision = "no" if task.decision == "refuse" else "yes"
            ended = browser.post(form, data={"decision": decision}, timeout=PATIENCE_SECONDS)
            return PsuOutcome("done" if ended.status_code == 200 else "failed", f"status {ended.status_code}")


def text_of(bank: SmallBank, port: int, more: str = "") -> str:
    """The bank's file."""
    pem = signatures.public_pem(KEY.public_key()).strip().replace("\n", "\n  ")
    return f"""\
version: {bank.version}
bic: SMALLGB2
base_url: {bank.own}
api_key: {API_KEY}
hub:
  listen: 127.0.0.1:{port}
bank_public_key: |
  {pem}
authorization_url: {bank.own}/consent
customer:
  accounts:
    - account_id: "{ACCOUNT_ID}"
      iban: {IBAN}
      account_number: "{NUMBER}"
      sort_code: "{SORT_CODE}"
      currency: {CURRENCY}
{more}"""


def file_of(bank: SmallBank, more: str = "") -> BankUnderTest:
    return bank_file.parse(text_of(bank, free_port(), more), Path())


@contextmanager
def playing(bank: SmallBank, more: str = "") -> Iterator[Session]:
    """A session of the kit with a running bank."""
    described = file_of(bank, more)
    bank.hub = described.public_url
    with kit.open_session(described, HUB_KEY, StringIO(), psu=InstantPsu(bank), limits=LIMITS) as session:
        session.other_key = OTHER_KEY  # making one takes time
        yield session


def play(bank: SmallBank, only: str = "", more: str = "") -> Run:
    """A whole run, or one of chosen checks."""
    return play_checks(bank, select(checks_of(bank.version), only), more)


def play_mandatory(bank: SmallBank, check_id: str) -> Run:
    """A run of all mandatory checks, and of one other."""
    chosen = [each for each in checks_of(bank.version) if each.level == "mandatory" or each.check_id == check_id]
    return play_checks(bank, chosen)


def play_checks(bank: SmallBank, chosen: Sequence[Check], more: str = "") -> Run:
    with playing(bank, more) as session:
        return kit.run(session, chosen, lambda _: None)


def failed(run: Run) -> dict[str, str]:
    """The mandatory checks that failed, and why."""
    return {each.check.check_id: each.problem for each in run.results if each.fails_run}


def found(run: Run, check_id: str) -> Result:
    return next(each for each in run.results if each.check.check_id == check_id)
