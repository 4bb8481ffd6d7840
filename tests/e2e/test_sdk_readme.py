"""The SDK's README: its example TPP runs without changes, and all examples pass type checks."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from chalicelib import bootstrap
from infra.psu_browser import approve_consent, confirm_payment
from tests.e2e.sdk_users import browser
from tests.kit.documents import blocks
from tests.kit.processes import SDK_SOURCE, check_types
from tests.kit.time import PATIENCE_SECONDS

pytestmark = [pytest.mark.e2e, pytest.mark.sdk]
README = Path(__file__).parents[2] / "sdk" / "README.md"
EXAMPLES = blocks(README.read_text("utf-8"), "python")
PROGRAM = EXAMPLES[0]
LINES = 25


def test_the_example_tpp_has_at_most_25_lines() -> None:
    assert len(PROGRAM.strip().splitlines()) <= LINES


def test_the_example_tpp_obtains_a_consent_reads_accounts_and_pays(
    stack: dict[str, Any], operator: bootstrap.Hub, tmp_path: Path
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
        callback = approve_consent(browser(stack, "/authorize/callback"), asked)
        running.stdin.write(callback + "\n")
        running.stdin.flush()
        told = []
        while line := running.stdout.readline():
            told.append(line.strip())
            if found := re.match(r"Confirm at (\S+)", line):
                confirm_payment(browser(stack, "/payments/callback"), found[1])
        assert running.wait(PATIENCE_SECONDS) == 0, running.stderr.read()

    assert any("DE61100999000004711001 EUR Girokonto" in line for line in told)
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
from causeway.tpp import Consent, SinglePaymentV2, Tpp

tpp: Tpp
consent: Consent
order: SinglePaymentV2
"""
