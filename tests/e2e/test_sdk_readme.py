"""The SDK's README: its example TPP runs without changes, and all examples pass type checks."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from chalicelib import bootstrap
from tests.e2e.bank_customers import PATIENT_CUSTOMER, Psu, bic_of, demonstration_psu, guide_bank
from tests.kit.documents import ROOT, blocks
from tests.kit.processes import SDK_SOURCE, check_types
from tests.kit.time import PATIENCE_SECONDS

pytestmark = [pytest.mark.e2e, pytest.mark.sdk]
README = ROOT / "sdk" / "README.md"
EXAMPLES = blocks(README.read_text("utf-8"), "python")
PROGRAM = EXAMPLES[0]
LINES = 25


def test_the_example_tpp_has_at_most_25_lines() -> None:
    assert len(PROGRAM.strip().splitlines()) <= LINES


@pytest.fixture(params=[1, 2], ids=["version 1", "version 2"])
def version(request: pytest.FixtureRequest) -> int:
    number: int = request.param
    return number


@pytest.fixture(params=["demonstration bank", "fault bank", "guide bank"])
def psu(
    request: pytest.FixtureRequest, stack: dict[str, Any], operator: bootstrap.Hub, version: int, tmp_path: Path
) -> Iterator[Psu]:
    """Return a customer of a bank of either version."""
    if request.param == "guide bank":
        with guide_bank(operator, stack["base_url"], version, tmp_path) as found:
            yield found
    elif request.param == "fault bank":
        yield demonstration_psu(stack, bic_of(stack, "fault_banks", version), PATIENT_CUSTOMER)
    else:
        yield demonstration_psu(stack, bic_of(stack, "banks", version))


def test_the_example_tpp_reads_and_pays_at_every_bank(
    stack: dict[str, Any], operator: bootstrap.Hub, psu: Psu, tmp_path: Path
) -> None:
    made = operator.openbanking.clients.create(owner="readme@example.com", title="README", secret=True)
    program = tmp_path / "tpp.py"
    program.write_text(PROGRAM, "utf-8")
    environ = {
        **os.environ,
        "PYTHONPATH": str(SDK_SOURCE),
        "HUB": stack["base_url"],
        "CLIENT_ID": made.client.client_id,
        "CLIENT_SECRET": str(made.secret),
        "BIC": psu.bic,
    }
    command = [sys.executable, "-u", str(program)]
    with subprocess.Popen(
        command, env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as running:
        assert running.stdin is not None
        assert running.stdout is not None
        assert running.stderr is not None
        asked = running.stdout.readline().removeprefix("Consent at ").strip()
        assert asked, running.stderr.read()
        running.stdin.write(psu.approve(asked) + "\n")
        running.stdin.flush()
        told = []
        while line := running.stdout.readline():
            told.append(line.strip())
            if found := re.match(r"Confirm at (\S+)", line):
                psu.confirm(found[1])
        assert running.wait(PATIENCE_SECONDS) == 0, running.stderr.read()

    account, *transactions = told[:-2]
    assert re.fullmatch(r"(You came back to: )?[A-Z]{2}\d\d[A-Z0-9]+ .+( -?\d+(\.\d+)?)+ [A-Z]{3}", account)
    assert transactions
    assert all(re.match(r"[\d-]{10} (debit|credit) \d", each) for each in transactions)
    assert told[-1] == "Paid"


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda text: text.strip().splitlines()[-1])
def test_a_readme_example_passes_strict_type_checks(example: str, tmp_path: Path) -> None:
    program = tmp_path / "example.py"
    known = "\n".join(f"    {name} as given_{name}," for name in ("consent", "order", "tpp"))
    (tmp_path / "given.py").write_text(GIVEN, "utf-8")
    needed = "" if "tpp = Tpp(" in example else f"from given import (\n{known}\n)\n{SAME_NAMES}"
    program.write_text(needed + example, "utf-8")

    assert "Success" in (found := check_types(program)), found


SAME_NAMES = "consent = given_consent\norder = given_order\ntpp = given_tpp\n"
GIVEN = """
from causeway.tpp import Consent, Payment, Tpp

tpp: Tpp
consent: Consent
order: Payment
"""
