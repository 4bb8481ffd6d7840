"""A bank that implements every function passes all required and recommended checks of the conformance kit."""

import re
from html import unescape
from io import StringIO
from pathlib import Path
from urllib.parse import urljoin

import pytest
import requests

from chalicelib.foundation.crypto import signatures
from infra.conformance import bank_file, kit
from infra.conformance.checks import checks_of
from infra.conformance.psu import PsuOutcome, Task
from infra.conformance.session import Limits
from tests.kit.http import free_port
from tests.kit.time import PATIENCE_SECONDS
from tests.sdk.bank import full_bank
from tests.sdk.bank.full_bank import API_KEY, CURRENCY, IBANS, KEY, NUMBERS, SORT_CODE, public_pem

ALWAYS_SKIPPED = ("address.", "tls.", "bank-report_day.", "bank-list_states.")


class FormPsu:
    """A PSU who opens the bank's pages and submits the forms with all checkboxes selected."""

    def __init__(self, base_url: str) -> None:
        self._base_url = base_url

    def act(self, task: Task) -> PsuOutcome:
        with requests.Session() as browser:
            browser.trust_env = False
            page = browser.get(task.url or f"{self._base_url}/consents", timeout=PATIENCE_SECONDS)
            action = re.search(r'action="([^"]+)"', page.text)
            if action is None:
                return PsuOutcome("failed", f"status {page.status_code}: {page.text}")
            form = [("decision", "no" if task.decision == "refuse" else "yes")]
            form += re.findall(r'type="(?:checkbox|radio)" name="(\w+)" value="(\w+)" checked', page.text)
            ended = browser.post(urljoin(page.url, unescape(action[1])), data=form, timeout=PATIENCE_SECONDS)
            return PsuOutcome("done" if ended.status_code == 200 else "failed", f"status {ended.status_code}")


@pytest.mark.parametrize("version", [1, 2])
def test_a_bank_that_implements_every_function_passes_every_conformance_check(version: int) -> None:
    port, hub_port = free_port(), free_port()
    base_url, hub = f"http://127.0.0.1:{port}", f"http://127.0.0.1:{hub_port}"
    described = bank_file.parse(_text(version, base_url, hub_port), Path())
    hub_key = signatures.load_private_key(signatures.generate_private_pem())
    limits = Limits(answer=3.0, report=0.5, arrival=0.5)
    made = full_bank.make_bank(version, hub, base_url)
    with (
        full_bank.serving(made.bank, port),
        kit.open_session(described, hub_key, StringIO(), psu=FormPsu(base_url), limits=limits) as session,
    ):
        run = kit.run(session, checks_of(session.version), lambda _: None)

    assert [(each.check.check_id, each.problem) for each in run.results if each.outcome == "failed"] == []
    skipped = [each.check.check_id for each in run.results if each.outcome == "skipped"]
    skipped = [each for each in skipped if not each.startswith(ALWAYS_SKIPPED)]
    assert {each.rpartition(".")[2] for each in skipped} <= {"scope-not-approved", "types"}
    assert run.count("passed") >= 300


def _text(version: int, base_url: str, hub_port: int) -> str:
    """Return the conformance kit's file for the bank."""
    pem = public_pem(KEY).strip().replace("\n", "\n  ")
    accounts = "".join(
        f"""\
    - account_id: "{1001 + number}"
      iban: {IBANS[number]}
      account_number: "{NUMBERS[number]}"
      sort_code: "{SORT_CODE}"
      currency: {CURRENCY}
"""
        for number in range(2)
    )
    return f"""\
version: {version}
bic: FULLGB2L
base_url: {base_url}
api_key: {API_KEY}
hub:
  listen: 127.0.0.1:{hub_port}
bank_public_key: |
  {pem}
authorization_url: {base_url}/consent
customer:
  accounts:
{accounts}"""
