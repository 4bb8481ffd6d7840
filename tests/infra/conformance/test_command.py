"""The conformance command has documented exit codes, and its errors name a remedy."""

import json
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from chalicelib.openbanking.protocol.versions import VERSIONS
from infra.conformance.__main__ import main
from tests.infra.conformance.broken_banks import SignsWithAnotherKey
from tests.infra.conformance.faults import AcceptsAnySignature
from tests.infra.conformance.kit_runs import running, text_of
from tests.infra.conformance.small_bank import SmallBank
from tests.kit.documents import ROOT
from tests.kit.http import free_port

PSU = """\
import sys, urllib.parse, urllib.request

def load(url, data=None):
    return urllib.request.urlopen(url, data, timeout=10).read().decode()

base, action, *rest = sys.argv[1:]
if action == "revoke":
    load(base + "/end", b"")
elif action == "consent":
    form = urllib.parse.urljoin(rest[0], load(rest[0]))
    load(form, b"decision=" + (b"no" if rest[1] == "refuse" else b"yes"))
else:
    load(rest[0], b"decision=" + (b"no" if rest[1] == "refuse" else b"yes"))
"""


@pytest.fixture
def bank() -> Iterator[SmallBank]:
    with running(SmallBank(VERSIONS[2])) as found:
        yield found


def write(bank: SmallBank, folder: Path, more: str = "") -> Path:
    """Write the bank file. A script makes the decisions of the PSU."""
    port = free_port()
    bank.hub = f"http://127.0.0.1:{port}"
    (folder / "psu.py").write_text(PSU, "utf-8")
    command = f"{sys.executable} {folder / 'psu.py'} {bank.own}"
    file = folder / "bank.yaml"
    file.write_text(text_of(bank, port, f"psu: {{mode: script, command: '{command}'}}\n{more}"), "utf-8")
    return file


def run(file: Path, folder: Path, *arguments: str) -> int:
    return main([str(file), "--output", str(folder / "reports"), *arguments])


def test_the_conformance_command_for_a_conforming_bank_exits_with_0_and_writes_three_reports(
    bank: SmallBank, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    chosen = "accounts,consent,cancel,payment-single.confirmed-report,end-at-bank"

    assert run(write(bank, tmp_path), tmp_path, "--only", chosen) == 0
    said = capsys.readouterr().out
    assert re.search(r"SMALLGB2, version 2, [0-9]+ chosen checks: no mandatory check failed; ", said)
    assert "conforms to version" not in said
    assert {file.name for file in (tmp_path / "reports").iterdir()} == {
        *("hub.pem", "report.html", "report.json", "report.xml")
    }
    for name in ("report.html", "report.json", "report.xml"):
        assert f"{tmp_path}/reports/{name}" in said


def test_a_run_with_a_failed_mandatory_check_exits_with_1_and_explains_the_failure(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with running(AcceptsAnySignature(VERSIONS[2])) as bank:
        assert run(write(bank, tmp_path), tmp_path, "--only", "accounts.signature-wrong") == 1

    said = capsys.readouterr().out
    for part in ("FAILED accounts.signature-wrong", "the bank accepted the call", "POST /v2_accounts", "mandatory"):
        assert part in said
    (check,) = json.loads((tmp_path / "reports/report.json").read_text("utf-8"))["checks"]
    assert check["outcome"] == "failed"
    assert check["sent"].startswith("# X-Signature is wrong\nPOST /v2_accounts")
    assert check["received"].startswith("the bank accepted the call\n\n200 after")


def test_a_run_with_blocked_mandatory_checks_exits_with_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with running(SignsWithAnotherKey(VERSIONS[2])) as bank:
        assert run(write(bank, tmp_path), tmp_path, "--only", "accounts.answer-form,consent") == 1

    said = capsys.readouterr().out
    assert "could not be made because a step before failed" in said
    assert "see bank-initiate.signature" in said
    assert "conforms to version" not in said
    assert "could not be made" in (tmp_path / "reports/report.html").read_text("utf-8")
    assert 'class="verdict bad"' in (tmp_path / "reports/report.html").read_text("utf-8")


@pytest.mark.parametrize("chosen", ["accounts", "consent", "payment-single", "consent,accounts"])
def test_a_run_with_a_wrong_api_key_exits_with_1_for_any_selection_of_checks(
    bank: SmallBank, tmp_path: Path, capsys: pytest.CaptureFixture[str], chosen: str
) -> None:
    file = write(bank, tmp_path)
    file.write_text(file.read_text("utf-8").replace("api_key: ", "api_key: other-"), "utf-8")

    assert run(file, tmp_path, "--only", chosen) == 1
    assert "X-Api-Key is not the key of a bank: see bank-initiate.key" in capsys.readouterr().out


def test_a_full_conformance_run_reports_omitted_scopes_and_webhooks(
    bank: SmallBank, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write(bank, tmp_path, "not_offered: [/v2_payment_direct_single]\n")
    file.write_text(file.read_text("utf-8").replace("customer:\n", "customer:\n  scopes: [accounts]\n"), "utf-8")

    assert run(file, tmp_path) == 0
    left_out = "as far as the file goes: in the scopes accounts, without /v2_payment_direct_single"
    said = capsys.readouterr().out
    assert "SMALLGB2 conforms to version 2: " in said
    assert left_out in said


def test_a_run_in_which_only_advisory_conformance_checks_fail_exits_with_0(bank: SmallBank, tmp_path: Path) -> None:
    file = write(bank, tmp_path, "payment: {declined_amount: '9.00'}\n")

    assert run(file, tmp_path, "--only", "funds_confirmations.too-much") == 0
    (check,) = json.loads((tmp_path / "reports/report.json").read_text("utf-8"))["checks"]
    assert (check["level"], check["outcome"]) == ("advice", "failed")


def test_a_run_with_an_invalid_bank_file_exits_with_2_and_prints_one_error_per_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "bank.yaml").write_text("version: 3\nbic: x\n", "utf-8")

    assert run(tmp_path / "bank.yaml", tmp_path) == 2
    said = capsys.readouterr().err.splitlines()
    assert said[0] == f"causeway: {tmp_path}/bank.yaml cannot be used:"
    assert said[1:4] == [
        "  version must be one of 1, 2",
        "  bic must have 8 or 11 capitals or digits",
        "  base_url is missing",
    ]
    assert not (tmp_path / "reports").exists()


def test_a_run_with_an_unknown_conformance_check_exits_with_2_before_any_call(
    bank: SmallBank, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(write(bank, tmp_path), tmp_path, "--only", "acounts") == 2
    assert (
        "no check of this version is named acounts (accounts?); the groups are address, tls" in capsys.readouterr().err
    )
    assert not (tmp_path / "reports").exists()


def test_a_run_with_a_port_of_the_conformance_hub_that_is_in_use_exits_with_2(
    bank: SmallBank, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write(bank, tmp_path)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", int(bank.hub.rpartition(":")[2])))
        taken.listen()
        assert run(file, tmp_path) == 2

    assert "the kit cannot listen at 127.0.0.1:" in capsys.readouterr().err


def test_a_run_with_an_unreachable_bank_exits_with_2(
    bank: SmallBank, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bank.own = f"http://127.0.0.1:{free_port()}"

    assert run(write(bank, tmp_path), tmp_path) == 2
    assert f"the bank cannot be reached at {bank.own}: " in capsys.readouterr().err
    assert not (tmp_path / "reports/report.json").exists()


def test_a_run_with_an_unwritable_conformance_report_folder_exits_with_2(
    bank: SmallBank, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "reports").write_text("", "ascii")

    assert run(write(bank, tmp_path), tmp_path, "--only", "accounts.answer-form") == 2
    assert "cannot be read or written" in capsys.readouterr().err


def test_the_conformance_command_without_a_bank_file_argument_exits_with_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert "make conformance BANK=bank.yaml" in capsys.readouterr().err


def test_the_list_option_of_the_conformance_command_prints_all_checks(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--list"]) == 0
    assert "2  mandatory  accounts.answer-form" in capsys.readouterr().out


def test_make_conformance_passes_the_bank_file_and_the_selection() -> None:
    said = subprocess.run(
        ["make", "-n", "conformance", "BANK=my bank.yaml", "ONLY=accounts,*.key-wrong"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout

    assert '-m infra.conformance "my bank.yaml" --only "accounts,*.key-wrong"' in said
