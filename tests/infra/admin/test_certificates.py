"""The operator's commands for certificates of the development CA and for the blocklist."""

import json
import stat
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from chalicelib.foundation.crypto.certificates import TrustedAuthorities, read_certificate
from chalicelib.foundation.settings import Settings
from chalicelib.openbanking.protocol.psd2_statement import read_roles
from chalicelib.openbanking.records.certificate_blocklist import blocklist_key
from infra.admin import connection
from infra.local.development_ca import DevelopmentCa
from tests.causeway import Causeway
from tests.infra.admin.command_line import done, refused, run
from tests.kit.time import ManualClock

TPP = ("--organization-identifier", "PSDGB-FCA-123456", "--common-name", "Budget Friend")
ISSUER = "CN=Example CA,C=GB"


@pytest.fixture(autouse=True)
def connected(causeway: Causeway, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Causeway:
    monkeypatch.setattr(connection, "connect", lambda: causeway.hub)
    monkeypatch.setenv("CAUSEWAY_STACK_FILE", str(tmp_path / "local" / "stack.json"))
    return causeway


def issue(out: Path, *options: str) -> dict[str, str]:
    made: dict[str, str] = done("certificates", "issue", "--out", str(out), *options)["certificate"]
    return made


def is_blocked(causeway: Causeway, issuer: str, serial_number: str) -> bool:
    return causeway.hub.store.get(*blocklist_key(issuer, serial_number)) is not None


def test_an_issued_tpp_certificate_has_the_roles_and_the_development_ca_as_issuer(tmp_path: Path) -> None:
    made = issue(tmp_path, "--role", "PSP_AI", "--role", "PSP_PI", *TPP, "--days", "30")

    pem = (tmp_path / "tpp.pem").read_text()
    found = read_certificate(pem)
    assert (made["certificate"], made["key"]) == (str(tmp_path / "tpp.pem"), str(tmp_path / "tpp-key.pem"))
    assert (made["thumbprint"], made["subject"]) == (found.thumbprint, found.subject)
    assert (made["issuer"], made["serial_number"]) == (found.issuer, found.serial_number)
    assert made["organization_identifier"] == "PSDGB-FCA-123456"
    assert read_roles(pem) == {"PSP_AI", "PSP_PI"}
    assert Path(made["ca"]) == tmp_path / "local" / "tls" / "ca.pem"
    TrustedAuthorities(Path(made["ca"]).read_text())
    assert {stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("tpp.pem", "tpp-key.pem")} == {0o600}


def test_an_issued_bank_certificate_has_no_roles_and_prints_its_subject(tmp_path: Path) -> None:
    made = issue(tmp_path, "--bank", "--common-name", "api.bank.example")

    assert made["certificate"] == str(tmp_path / "bank.pem")
    assert made["certificate_subject"] == "O=api.bank.example,CN=api.bank.example"
    assert read_roles((tmp_path / "bank.pem").read_text()) == frozenset()


def test_issued_certificates_have_the_same_issuer_but_different_keys(tmp_path: Path) -> None:
    first, second = issue(tmp_path / "a", *TPP), issue(tmp_path / "b", *TPP)

    assert first["issuer"] == second["issuer"]
    assert first["thumbprint"] != second["thumbprint"]


def test_certificates_issue_prints_paths_thumbprint_and_subject(tmp_path: Path) -> None:
    said = run("certificates", "issue", "--out", str(tmp_path), "--role", "PSP_IC", *TPP).stdout

    found = read_certificate((tmp_path / "tpp.pem").read_text())
    for part in (str(tmp_path / "tpp.pem"), str(tmp_path / "tpp-key.pem"), found.thumbprint, found.subject):
        assert part in said


def test_certificates_issue_is_refused_in_production(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STAGE", "prod")

    sentence = refused("certificates", "issue", "--out", str(tmp_path), *TPP)

    assert sentence.startswith("the development CA issues no certificates in prod")
    assert list(tmp_path.iterdir()) == []


def test_certificates_issue_with_an_unwritable_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    assert "cannot be written to" in refused("certificates", "issue", "--out", str(tmp_path / "file"), *TPP)


@pytest.mark.parametrize(
    "options",
    [
        ("--common-name", ""),
        ("--common-name", "a" * 65),
        ("--common-name", "TPP", "--role", "PSP_AI"),
        ("--common-name", "TPP", "--organization-identifier", "FCA-123456"),
        ("--common-name", "TPP", "--organization-identifier", "PSDGB-FCA-1", "--role", "PSP_XX"),
        ("--common-name", "Bank", "--bank", "--organization-identifier", "PSDGB-FCA-1"),
        ("--common-name", "TPP", "--days", "0"),
    ],
)
def test_certificates_issue_with_conflicting_options_exits_with_code_2(
    tmp_path: Path, options: tuple[str, ...]
) -> None:
    assert run("certificates", "issue", "--out", str(tmp_path), *options).exit_code == 2
    assert list(tmp_path.iterdir()) == []


def test_a_certificate_is_blocked_listed_and_unblocked(causeway: Causeway) -> None:
    blocked = done("certificates", "block", ISSUER, "0A:1B", "--reason", "key lost")["blocked"]

    assert is_blocked(causeway, ISSUER, "a1b")
    assert blocked in done("certificates", "blocked")["blocked"]
    assert (blocked["issuer"], blocked["serial_number"], blocked["reason"]) == (ISSUER, "a1b", "key lost")
    assert "key lost" in run("certificates", "blocked").stdout
    assert done("certificates", "unblock", "cn=Example CA,c=GB", "a1b")["unblocked"]
    assert not is_blocked(causeway, ISSUER, "a1b")
    assert refused("certificates", "unblock", ISSUER, "a1b") == f"a1b of {ISSUER} is not blocked"


def test_a_certificate_is_blocked_and_unblocked_by_file(causeway: Causeway, tmp_path: Path) -> None:
    made = issue(tmp_path, *TPP)

    done("certificates", "block", "--file", made["certificate"])
    assert is_blocked(causeway, made["issuer"], made["serial_number"])
    done("certificates", "unblock", "--file", made["certificate"])
    assert not is_blocked(causeway, made["issuer"], made["serial_number"])


@pytest.mark.parametrize(
    ("which", "reason"),
    [
        (("no name", "1"), "'no name' is not a distinguished name such as"),
        ((ISSUER, "serial"), "'serial' is not a hexadecimal serial number such as"),
        (("--file", "/no/such/file.pem"), "/no/such/file.pem cannot be read"),
        (("--file", __file__), "this is not a PEM certificate"),
    ],
)
def test_an_invalid_certificate_identification_is_rejected(which: tuple[str, ...], reason: str) -> None:
    for command in ("block", "unblock"):
        assert reason in refused("certificates", command, *which)


@pytest.mark.parametrize("which", [(), (ISSUER,), (ISSUER, "1", "--file", "a.pem")])
def test_certificates_block_needs_either_issuer_and_serial_number_or_a_file(which: tuple[str, ...]) -> None:
    for command in ("block", "unblock"):
        assert run("certificates", command, *which).exit_code == 2


@pytest.fixture
def trusting(shared_causeway: Causeway, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Causeway:
    """Return a stage whose TPP and bank CA bundles contain the development CA."""
    ca = str(DevelopmentCa(tmp_path / "local" / "tls").file)
    causeway = shared_causeway.again(Settings.from_environment({"TPP_CA_BUNDLE": ca, "BANK_CA_BUNDLE": ca}))
    causeway.clock = ManualClock(datetime.now(UTC))
    causeway.hub.clock = causeway.clock
    monkeypatch.setattr(connection, "connect", lambda: causeway.hub)
    return causeway


def explain(*options: str) -> tuple[int, Any]:
    ran = run("certificates", "explain", *options, "--json")
    return ran.exit_code, json.loads(ran.stdout)


def test_certificates_explain_reports_whether_a_tpp_certificate_is_accepted(trusting: Causeway, tmp_path: Path) -> None:
    file = issue(tmp_path, *TPP)["certificate"]
    assert explain(file) == (0, {**explain(file)[1], "accepted": True, "reason": None})

    done("certificates", "block", "--file", file)
    trusting.clock.advance(60)
    code, answer = explain(file)
    assert (code, answer["accepted"], answer["reason"]) == (1, False, "it is on the blocklist")


def test_certificates_explain_compares_a_certificate_with_the_record_of_the_bank(
    trusting: Causeway, tmp_path: Path
) -> None:
    bic = trusting.banks[1].bic
    made = issue(tmp_path, "--bank", "--common-name", "api.bank.example")
    assert "names no certificate subject" in refused("certificates", "explain", made["certificate"], "--bank", bic)
    done("banks", "update", bic, "--certificate-subject", made["certificate_subject"])
    other = issue(tmp_path / "other", "--bank", "--common-name", "api.other.example")["certificate"]
    try:
        assert explain(made["certificate"], "--bank", bic)[1]["accepted"] is True
        code, answer = explain(other, "--bank", bic)
        assert code == 1
        assert "is not that of the bank's record" in answer["reason"]
        assert "It is refused" in run("certificates", "explain", other, "--bank", bic).stdout
    finally:
        done("banks", "update", bic, "--certificate-subject", "")
