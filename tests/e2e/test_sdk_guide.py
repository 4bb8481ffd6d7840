"""The guide for TPPs at fault banks and at the bank of the guide for banks; ``test_guides`` has the other banks."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from chalicelib import bootstrap
from tests.e2e.bank_customers import PATIENT_CUSTOMER, bic_of, guide_bank
from tests.kit.documents import ROOT, PythonSession, Step, steps, with_addresses
from tests.kit.processes import SDK_SOURCE

pytestmark = [pytest.mark.e2e, pytest.mark.sdk]
GUIDE = (ROOT / "docs" / "guides" / "tpp.md").read_text("utf-8")
PATIENT = f"""
import functools, infra.psu_browser as pages
pages.approve_consent = functools.partial(pages.approve_consent, customer="{PATIENT_CUSTOMER}")
pages.confirm_payment = functools.partial(pages.confirm_payment, customer="{PATIENT_CUSTOMER}")
"""
"""The customer whom the browser of the guide signs in at a fault bank."""
AT_GUIDE_BANK = """
import infra.psu_browser as pages
from tests.e2e.bank_customers import decide
pages.approve_consent = pages.confirm_payment = lambda _, url: decide(url)
"""
"""The browser of the guide on the pages of the guide's bank, which have one button."""


@contextmanager
def bank_of(
    kind: str, version: int, stack: dict[str, Any], operator: bootstrap.Hub, folder: Path
) -> Iterator[tuple[str, str]]:
    """Yield the BIC of a bank, and the code that lets the guide's browser act as its customer."""
    if kind == "fault bank":
        yield bic_of(stack, "fault_banks", version), PATIENT
    else:
        with guide_bank(operator, stack["base_url"], version, folder) as psu:
            yield psu.bic, AT_GUIDE_BANK


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("kind", ["fault bank", "guide bank"])
def test_the_program_of_the_guide_for_tpps_runs_unchanged_at_every_bank(
    stack: dict[str, Any], operator: bootstrap.Hub, tmp_path: Path, kind: str, version: int
) -> None:
    program = [step for step in steps(GUIDE) if step.language == "python"]
    (tmp_path / ".local").mkdir()
    made = operator.openbanking.clients.create(owner="guide@example.com", title="Guide", secret=True)
    client = {"client": {"client_id": made.client.client_id}, "client_secret": made.secret}
    (tmp_path / ".local" / "client.json").write_text(json.dumps(client), "utf-8")
    bank_folder = tmp_path / "bank"
    bank_folder.mkdir()

    with bank_of(kind, version, stack, operator, bank_folder) as (bic, customer):
        printed = run(tmp_path, stack, program, bic, customer)

    account, paid, revoked = printed[-3:]
    assert account.splitlines()[1].split()[0] in ("booked", "pending"), account
    assert "executed True" in paid or "settled True" in paid, paid
    assert revoked.startswith("401 AUTHENTICATION_REQUIRED")


def run(folder: Path, stack: dict[str, Any], program: list[Step], bic: str, customer: str) -> list[str]:
    """Run the blocks of the guide in one session, with another BIC. Return what each block prints."""
    path = os.pathsep.join([str(ROOT), str(SDK_SOURCE)])
    session = PythonSession(folder, {**os.environ, "PYTHONPATH": path, "NO_PROXY": "127.0.0.1"})
    port = {"8000": stack["base_url"].rpartition(":")[2]}
    try:
        blocks = [customer, *(with_addresses(step.commands, port).replace("DEMODEF1", bic) for step in program)]
        printed = [session.run(block) for block in blocks]
    finally:
        session.end()
    assert {code for _, code in printed} == {0}, printed
    return [text for text, _ in printed]
