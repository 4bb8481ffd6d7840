"""Conforming banks pass every check, including advisory checks."""

import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from chalicelib.foundation.crypto import signatures
from chalicelib.openbanking.protocol.version import Version
from chalicelib.openbanking.protocol.versions import VERSIONS
from infra.conformance.checks import checks_of
from tests.infra.conformance.faults import CountsPendingInPages
from tests.infra.conformance.kit_runs import connected, run_checks, run_kit
from tests.infra.conformance.small_bank import SmallBank
from tests.kit.documents import ROOT
from tests.kit.http import free_port
from tests.kit.time import wait_for

GUIDES = ROOT / "docs" / "guides"
API_KEY = "key-for-the-conformance-kit"
SCOPES = {1: "account.list, account.payments, payment.init", 2: "accounts, payments.single"}
ALWAYS_SKIPPED = ("address.", "tls.", "bank-report_day.", "bank-list_states.")


@pytest.mark.parametrize("version", VERSIONS.values(), ids=str)
def test_a_conforming_bank_passes_every_conformance_check(version: Version) -> None:
    with connected(SmallBank(version)) as session:
        run = run_checks(session, checks_of(version))

    assert [(each.check.check_id, each.problem) for each in run.results if each.outcome == "failed"] == []
    skipped = [each.check.check_id for each in run.results if each.outcome == "skipped"]
    skipped = [each for each in skipped if not each.startswith(ALWAYS_SKIPPED)]
    assert {each.rpartition(".")[2] for each in skipped} <= {"scope-not-approved", "types"}
    assert run.count("passed") >= 300


def test_banks_that_count_pending_transactions_in_the_page_size_and_banks_that_do_not_pass() -> None:
    for bank in (SmallBank, CountsPendingInPages):
        run = run_kit(bank(VERSIONS[2]), "account_transactions")

        assert [(each.check.check_id, each.problem) for each in run.results if each.outcome == "failed"] == []


@pytest.mark.parametrize("number", SCOPES)
def test_the_example_bank_of_the_guide_passes_the_conformance_command(number: int, tmp_path: Path) -> None:
    ports = {"9713": str(free_port()), "9700": str(free_port())}
    folder = tmp_path / "docs" / "guides"
    folder.mkdir(parents=True)
    for name in ("bank.py", "psu.py", "bank.yaml"):
        text = re.sub("|".join(ports), lambda found: ports[found[0]], (GUIDES / name).read_text("utf-8"))
        text = text.replace(".venv/bin/python", sys.executable)
        if name == "bank.yaml":
            text = text.replace("version: 2", f"version: {number}")
            text = re.sub(r"accounts, .*payments\.single", SCOPES[number], text)
        (folder / name).write_text(text, "utf-8")
    with _guide_bank(tmp_path, number, ports):
        ended = subprocess.run(
            [sys.executable, "-m", "infra.conformance", "docs/guides/bank.yaml"],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=False,
        )

    assert ended.returncode == 0, ended.stdout[-3000:] + ended.stderr
    assert "conforms to version" in ended.stdout
    assert " 0 failed, 0 advised" in ended.stdout
    assert API_KEY not in ended.stdout
    assert (tmp_path / "build/conformance/report.html").exists()


def test_the_example_bank_of_the_guide_has_fewer_than_125_lines() -> None:
    assert len((GUIDES / "bank.py").read_text("utf-8").splitlines()) < 125


@contextmanager
def _guide_bank(folder: Path, number: int, ports: dict[str, str]) -> Iterator[None]:
    """Run the guide's bank, which stores its key in ``.local``."""
    pem = signatures.generate_private_pem()
    (folder / ".local").mkdir()
    (folder / ".local/bank.pem").write_text(pem, "ascii")
    public = signatures.public_pem(signatures.load_private_key(pem).public_key())
    (folder / ".local/bank.public.pem").write_text(public, "ascii")
    environ = {"VERSION": str(number), "API_KEY": API_KEY, "HUB": f"http://127.0.0.1:{ports['9700']}"}
    bank = subprocess.Popen(
        [sys.executable, "docs/guides/bank.py", ports["9713"]],
        cwd=folder,
        env={**os.environ, **environ, "PYTHONPATH": str(ROOT / "sdk" / "src")},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        _wait_for(int(ports["9713"]))
        yield
    finally:
        bank.kill()
        bank.wait()


def _wait_for(port: int) -> None:
    def listens() -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", port)) == 0

    wait_for(listens, "the bank does not listen")
