"""Tests of the operator's command line: effects of commands, error messages, and secrets that are printed only once."""

import contextlib
import json
import os
import random
import re
import string
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import certifi
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from chalicelib import bootstrap
from chalicelib.demo_bank.profiles import PROFILES
from chalicelib.foundation.aws.calls import Call, Members, Proceed, observe
from chalicelib.foundation.aws.errors import ErrorResponse, NotConfigured, NotSent
from chalicelib.foundation.clock import timestamp
from chalicelib.foundation.crypto import signatures
from chalicelib.foundation.http.outbound import NotReached, Reply, TimedOut
from chalicelib.foundation.identifiers import OpaqueToken, digest, new_id
from chalicelib.foundation.settings import Settings
from chalicelib.openbanking.records.banks import UnknownBank
from chalicelib.openbanking.records.client_record import Client
from chalicelib.website.accounts import account_flow
from infra.admin import connection, probe
from tests.causeway import START, Causeway
from tests.infra.admin.command_line import done, refused, run
from tests.kit.certificates import self_signed
from tests.kit.emulator import FakeKms, FakeSecrets
from tests.kit.http import server_context, socket_server, stack_health
from tests.kit.time import ManualClock

ROOT = Path(__file__).parents[3]
PASSWORD = "correct horse battery"
GROUPS = {
    "banks": (
        "add",
        "list",
        "show",
        "update",
        "test",
        "rotate-key",
        "install-demo",
        "add-public-key",
        "remove-public-key",
        "remove",
        "logo",
    ),
    "certificates": ("issue", "block", "unblock", "blocked"),
    "clients": (
        "add",
        "list",
        "show",
        "activate",
        "deactivate",
        "archive",
        "restore",
        "registration-number",
        "update",
        "rotate-secret",
        "events-url",
        "rotate-events-secret",
        "test-event",
    ),
    "consents": ("show", "revoke"),
    "keys": ("init", "rotate-signing", "rotate-data", "reseal", "data", "remove-data", "rotate-card", "show"),
    "ledger": ("verify", "show"),
    "programme": ("load", "show", "rotate-key", "drop-key"),
    "users": ("add", "show", "link", "unlink", "deactivate", "activate", "reset-password"),
}
EVENTS_URL = "http://127.0.0.1:9/events"
COMMANDS = [(group, command) for group, commands in GROUPS.items() for command in commands]


@pytest.fixture(autouse=True)
def connected(causeway: Causeway, monkeypatch: pytest.MonkeyPatch) -> Causeway:
    monkeypatch.setattr(connection, "connect", lambda: causeway.hub)
    return causeway


@pytest.fixture
def elsewhere(causeway: Causeway, monkeypatch: pytest.MonkeyPatch) -> bootstrap.Hub:
    """Connect the operator's commands with a deployed stage that uses the same tables."""
    settings = {"STAGE": "dev", "PUBLIC_URL": "https://dev.example.com", "RESOURCE_PREFIX": "causeway-local"}
    hub = bootstrap.Hub(Settings.from_environment(settings), ManualClock(START))
    monkeypatch.setattr(connection, "connect", lambda: hub)
    return hub


@pytest.fixture
def bic(causeway: Causeway) -> Iterator[str]:
    """Provide an unused BIC. After the test, remove a bank registered with the BIC, because other tests count banks."""
    made = "".join(random.choices(string.ascii_uppercase, k=4)) + "GB21"
    yield made
    with contextlib.suppress(UnknownBank):
        causeway.hub.openbanking.banks.remove(made)


@pytest.fixture(scope="session")
def key_pair() -> tuple[str, str]:
    private = signatures.generate_private_pem()
    return private, signatures.public_pem(signatures.load_private_key(private).public_key())


@pytest.fixture
def key_file(tmp_path: Path, key_pair: tuple[str, str]) -> Path:
    path = tmp_path / "bank.pem"
    path.write_text(key_pair[1])
    return path


def new_bank(bic: str, *more: str, version: int = 1, domain: str = "http://127.0.0.1:9/bank") -> list[str]:
    arguments = ["banks", "add", bic, "--name", "Example Bank", "--country", "gb", "--api-version", str(version)]
    return [*arguments, "--domain", domain, "--authorization-url", f"{domain}/authorize", *more]


# -- help


def test_help_lists_all_command_groups_and_examples() -> None:
    text = run("--help").stdout

    assert "Examples:" in text
    assert all(group in text for group in GROUPS)


@pytest.mark.parametrize("group", GROUPS)
def test_group_help_lists_each_command_on_one_line(group: str) -> None:
    text = run(group, "--help").stdout

    for command in GROUPS[group]:
        assert re.search(rf"^  {command}  +[A-Z].*", text, re.MULTILINE), command


@pytest.mark.parametrize(("group", "command"), COMMANDS)
def test_command_help_shows_an_example_and_the_json_option(group: str, command: str) -> None:
    text = run(group, command, "--help").stdout

    assert f".venv/bin/python -m infra.admin {group} {command}" in text
    assert "--json" in text
    assert "\b" not in text


@pytest.mark.parametrize(("group", "command"), [("banks", "show"), ("banks", "add"), ("clients", "add")])
def test_a_command_without_its_required_arguments_exits_with_code_2_and_a_message(group: str, command: str) -> None:
    spoken, printed = run(group, command), run(group, command, "--json")

    assert (spoken.exit_code, printed.exit_code) == (2, 2)
    assert "Missing" in spoken.stderr
    assert json.loads(printed.stdout)["error"].startswith("Missing ")


# -- banks


def test_banks_add_stores_the_bank_and_shows_its_api_key_once(causeway: Causeway, bic: str, key_file: Path) -> None:
    made = done(*new_bank(bic, "--public-key", str(key_file), "--scheme", "FPS", "--consent-days", "90"))
    limited = done("banks", "update", bic, "--unattended-reads", "1000")["bank"]
    assert limited == made["bank"] | {"unattended_reads": 1000}
    assert re.search(r"^unattended reads +1000$", run("banks", "show", bic).stdout, re.MULTILINE)
    done("banks", "update", bic, "--unattended-reads", "0")

    bank = causeway.hub.openbanking.banks.get(bic)
    credential = OpaqueToken.parse(made["api_key"], 1)
    assert credential is not None
    assert bank.accepts_key(credential)
    assert made["bank"] == done("banks", "show", bic)["bank"]
    assert made["bank"]["public_keys"] == [signatures.key_id(bank.verification_keys[0])]
    assert bank.country == "GB"
    assert bank.schemes == ("FPS",)
    assert bank.consent_days == 90
    assert bank.active is True
    for command in (["show", bic], ["list"]):
        for flags in ([], ["--json"]):
            shown = run("banks", *command, *flags).output
            assert made["api_key"] not in shown
            assert bank.api_keys[0]["digest"] not in shown


def test_banks_add_prints_the_api_key_and_that_the_key_is_displayed_only_once(bic: str) -> None:
    text = run(*new_bank(bic)).stdout

    assert re.search(rf"The bank's API key: {bic}\.[\w-]{{43}}\nIt is shown only once", text)
    assert re.search(r"^name +Example Bank$", text, re.MULTILINE)
    assert re.search(r"^active +yes$", text, re.MULTILINE)


def test_a_bank_can_be_registered_as_inactive(causeway: Causeway, bic: str) -> None:
    assert done(*new_bank(bic, "--inactive"))["bank"]["active"] is False
    assert causeway.hub.openbanking.banks.find(bic) is None


def test_banks_are_listed_in_a_table(causeway: Causeway, bic: str) -> None:
    done(*new_bank(bic, "--history-days", "30"))
    lines = run("banks", "list").stdout.splitlines()

    assert re.split(r"  +", lines[0]) == [
        *("bic", "name", "country", "api version", "active", "domain", "history days", "logo type")
    ]
    assert [bic, "Example Bank", "GB", "1", "yes", "http://127.0.0.1:9/bank", "30", "-"] in [
        re.split(r"  +", line) for line in lines
    ]
    assert bic in [bank["bic"] for bank in done("banks", "list")["banks"]]


def test_banks_update_changes_only_the_specified_members(causeway: Causeway, bic: str, key_file: Path) -> None:
    before = done(*new_bank(bic, "--public-key", str(key_file), "--certificate-subject", "CN=bank"))["bank"]

    assert done("banks", "update", bic, "--name", "Other Bank", "--consent-days", "30")["bank"] == {
        **before,
        "name": "Other Bank",
        "consent_days": 30,
    }
    assert done("banks", "update", bic, "--certificate-subject", "")["bank"]["certificate_subject"] is None
    assert done("banks", "update", bic, "--unattended-reads", "4")["bank"]["unattended_reads"] == 4
    assert done("banks", "update", bic, "--name", "Third Bank")["bank"]["unattended_reads"] == 4
    assert done("banks", "update", bic, "--unattended-reads", "0")["bank"]["unattended_reads"] is None
    assert done("banks", "update", bic, "--signature-required")["bank"]["signature_required"] is True
    assert done("banks", "update", bic, "--inactive")["bank"]["active"] is False
    assert done("banks", "update", bic, "--active")["bank"]["active"] is True
    assert refused("banks", "update", bic) == "no change was specified: see --help for the options"


def test_a_bank_with_a_changed_api_version_has_the_scopes_of_the_new_version(bic: str, key_file: Path) -> None:
    done(*new_bank(bic, "--public-key", str(key_file), "--scope", "account.list"))

    bank = done("banks", "update", bic, "--api-version", "2")["bank"]
    assert (bank["api_version"], bank["signature_required"]) == (2, True)
    assert "accounts" in bank["scopes"]
    assert "account.list" not in bank["scopes"]


def accepted(causeway: Causeway, bic: str, keys: list[str]) -> list[bool]:
    bank = causeway.hub.openbanking.banks.get(bic)
    return [bank.accepts_key(credential) for key in keys if (credential := OpaqueToken.parse(key, 1))]


def test_both_api_keys_are_accepted_after_a_rotation_and_the_new_key_is_used_after_a_day(
    causeway: Causeway, bic: str
) -> None:
    old = done(*new_bank(bic))["api_key"]
    rotated = done("banks", "rotate-key", bic.lower())

    assert (rotated["bic"], rotated["shown_from"]) == (bic, "2026-03-03T09:00:00+00:00")
    assert accepted(causeway, bic, [old, rotated["api_key"]]) == [True, True]
    assert done("banks", "show", bic)["bank"]["api_keys_shown_from"] == [
        "2026-03-02T09:00:00+00:00",
        "2026-03-03T09:00:00+00:00",
    ]
    bank = causeway.hub.openbanking.banks.get(bic)
    assert causeway.hub.openbanking.banks.outbound_key(bank) == old
    causeway.clock.advance(86399)
    assert causeway.hub.openbanking.banks.outbound_key(bank) == old
    causeway.clock.advance(1)
    assert causeway.hub.openbanking.banks.outbound_key(bank) == rotated["api_key"]


def test_only_the_two_newest_api_keys_are_valid_after_two_rotations_without_an_overlap(
    causeway: Causeway, bic: str
) -> None:
    keys = [done(*new_bank(bic))["api_key"], done("banks", "rotate-key", bic)["api_key"]]
    keys += [done("banks", "rotate-key", bic, "--overlap", "0")["api_key"] for _ in range(2)]

    assert accepted(causeway, bic, keys) == [False, False, True, True]
    assert causeway.hub.openbanking.banks.outbound_key(causeway.hub.openbanking.banks.get(bic)) == keys[-1]


def test_rotate_key_prints_the_new_api_key_and_the_time_of_its_first_use(bic: str) -> None:
    done(*new_bank(bic))
    later, at_once = (run("banks", "rotate-key", bic, "--overlap", seconds).stdout for seconds in ("3600", "0"))

    for text in (later, at_once):
        assert re.match(rf"The new API key of {bic}: {bic}\.[\w-]{{43}}\nIt is shown only once", text)
    assert "Give it to the bank: the service uses it from 2026-03-02T10:00:00+00:00 on." in later
    assert "Give it to the bank: the service uses it from now on." in at_once


@pytest.mark.parametrize(
    "command",
    [("banks", "rotate-key", "ZZZZGB99"), ("clients", "rotate-events-secret", "nobody"), ("keys", "rotate-signing")],
)
@pytest.mark.parametrize("seconds", ["-1", "2592001", "a day"])
def test_a_key_rotation_with_an_overlap_outside_0_to_30_days_exits_with_code_2(
    command: tuple[str, ...], seconds: str
) -> None:
    assert run(*command, "--overlap", seconds).exit_code == 2


@pytest.fixture
def forgetting(causeway: Causeway) -> Iterator[None]:
    """Remove the demonstration banks after the test, because other tests count banks."""
    yield
    for profile in PROFILES:
        with contextlib.suppress(UnknownBank):
            causeway.hub.openbanking.banks.remove(profile.bic)
    causeway.hub.secrets.put(causeway.hub.settings.demo_banks_secret, {})


@pytest.mark.usefixtures("forgetting")
def test_install_demo_registers_the_demonstration_banks_once(elsewhere: bootstrap.Hub) -> None:
    banks = done("banks", "install-demo")["banks"]

    assert [(bank["bic"], bank["domain"]) for bank in banks] == [
        ("DEMOGB21", "https://dev.example.com/demo-bank/one"),
        ("DEMODEF1", "https://dev.example.com/demo-bank/two"),
        ("DEMOGB2F", "https://dev.example.com/demo-bank/faults-one"),
        ("DEMODE2F", "https://dev.example.com/demo-bank/faults-two"),
    ]
    secret = elsewhere.secrets.get(elsewhere.settings.demo_banks_secret)
    assert done("banks", "install-demo")["banks"] == banks
    assert elsewhere.secrets.get(elsewhere.settings.demo_banks_secret) == secret
    said = run("banks", "install-demo").stdout
    assert [line.split()[0] for line in said.splitlines()] == ["bic", *(profile.bic for profile in PROFILES)]
    assert not [kept for kept in secret.values() if kept["api_key"] in said or kept["storage_key"] in said]


def test_install_demo_is_refused_in_production(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = Settings.from_environment({"STAGE": "prod", "PUBLIC_URL": "https://example.com"})
    monkeypatch.setattr(connection, "connect", lambda: bootstrap.Hub(settings))

    assert refused("banks", "install-demo") == "the stage prod has no demonstration banks"


def test_public_keys_of_a_bank_are_added_and_removed(bic: str, key_file: Path, tmp_path: Path) -> None:
    done(*new_bank(bic, "--public-key", str(key_file)))
    other = tmp_path / "other.pem"
    other.write_text(signatures.public_pem(signatures.load_private_key(signatures.generate_private_pem()).public_key()))

    new, old = done("banks", "add-public-key", bic, str(other))["public_keys"]
    assert refused("banks", "add-public-key", bic, str(other)).startswith("at most 2 public keys can be active")
    assert done("banks", "remove-public-key", bic, old)["public_keys"] == [new]
    assert refused("banks", "remove-public-key", bic, old) == f"{bic} has no key {old}"


def test_banks_remove_requests_a_confirmation(causeway: Causeway, bic: str) -> None:
    done(*new_bank(bic))

    result = run("banks", "remove", bic, stdin="n\n")
    assert result.exit_code == 1
    assert f"{bic} was not removed" in result.stderr
    assert causeway.hub.openbanking.banks.get(bic)
    assert run("banks", "remove", bic, "--json").exit_code == 1
    assert causeway.hub.openbanking.banks.get(bic)

    result = run("banks", "remove", bic, stdin="y\n")
    assert result.exit_code == 0
    assert result.stdout.endswith(f"{bic} is removed.\n")
    assert refused("banks", "show", bic) == f"no bank has the BIC {bic}"
    done(*new_bank(bic))
    assert done("banks", "remove", bic, "--yes") == {"removed": bic}


@pytest.mark.parametrize(
    "arguments",
    [
        ("show", "ZZZZGB99"),
        ("update", "ZZZZGB99", "--name", "a"),
        ("test", "ZZZZGB99"),
        ("rotate-key", "ZZZZGB99"),
        ("remove-public-key", "ZZZZGB99", "a"),
        ("remove", "ZZZZGB99", "--yes"),
        ("show", "no such thing"),
    ],
)
def test_a_command_for_an_unknown_bank_is_rejected(arguments: tuple[str, ...]) -> None:
    assert refused("banks", *arguments) == f"no bank has the BIC {arguments[1]}"


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        (["--country", "GBR"], "country must be a two-letter code"),
        (["--api-version", "3"], "api_version must be 1 or 2"),
        (["--name", ""], "name must be 1 to 128 printable characters"),
        (
            ["--name", "Bank\u3164"],
            "name must not have invisible characters, except joiners where letters or emoji join",
        ),
        (["--domain", "ftp://bank.example.com"], "domain must begin with https://"),
        (["--authorization-url", "https://user@bank.example.com"], "authorization_url must not contain user"),
        (["--scheme", "CASH"], "schemes not available in the bank's version: CASH"),
        (["--scope", "everything"], "scopes not available in the bank's version: everything"),
        (["--consent-days", "0"], "consent_days must be from 1 to 365"),
        (["--consent-days", "366"], "consent_days must be from 1 to 365"),
        (["--unattended-reads", "-1"], "unattended_reads must be from 1 to 1000, or 0 for no limit"),
        (["--unattended-reads", "1001"], "unattended_reads must be from 1 to 1000, or 0 for no limit"),
        (["--signature-required"], "a bank that must sign its calls needs a public key"),
        (["--api-version", "2"], "a bank that must sign its calls needs a public key"),
        (["--public-key", "no-such-file.pem"], "no-such-file.pem cannot be read: No such file or directory"),
    ],
)
def test_registering_a_bank_with_an_invalid_member_is_rejected(bic: str, more: list[str], reason: str) -> None:
    assert refused(*new_bank(bic, *more)).startswith(reason)
    assert refused("banks", "show", bic) == f"no bank has the BIC {bic}"


@pytest.mark.parametrize("bad", ["DEUT", "DEUTDEFF5", "DEUT00FF", "", "ÄÖÜßDEFF"])
def test_registering_a_bank_with_an_invalid_bic_is_rejected(bad: str) -> None:
    assert "bic " in refused(*new_bank(bad))


def test_a_second_registration_of_the_same_bank_is_refused(bic: str) -> None:
    done(*new_bank(bic))

    assert refused(*new_bank(bic)) == f"{bic} is already registered"


@pytest.mark.parametrize(
    ("domain", "reason"),
    [
        ("http://bank.example.com", "domain must use https outside the local stage"),
        ("https://127.0.0.1", "domain must not point to a private address outside the local stage"),
        ("https://10.0.0.1", "domain must not point to a private address outside the local stage"),
        ("https://localhost", "domain must not point to a private address outside the local stage"),
        ("https://[::1]", "domain must not point to a private address outside the local stage"),
    ],
)
@pytest.mark.usefixtures("elsewhere")
def test_bank_domains_that_are_private_or_use_http_are_refused_outside_the_local_stage(
    bic: str, domain: str, reason: str
) -> None:
    assert refused(*new_bank(bic, domain=domain)) == reason


@pytest.mark.usefixtures("elsewhere")
def test_a_bank_domain_that_is_public_and_uses_https_is_accepted_outside_the_local_stage(bic: str) -> None:
    assert done(*new_bank(bic, domain="https://bank.example.com"))["bank"]["domain"] == "https://bank.example.com"


def pem(key: rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey) -> bytes:
    return key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)


def test_unusable_key_files_are_refused(bic: str, tmp_path: Path, key_pair: tuple[str, str]) -> None:
    done(*new_bank(bic))
    weak = rsa.generate_private_key(public_exponent=65537, key_size=1024)  # noqa: S505 - weak on purpose
    file = tmp_path / "key.pem"
    cases: list[tuple[bytes, str]] = [
        (pem(weak), "the public key has 1024 bits; at least 2048 are required"),
        (pem(ec.generate_private_key(ec.SECP256R1())), "the public key must be an RSA key"),
        (b"", "this is not a PEM public key"),
        (b"garbage", "this is not a PEM public key"),
        (b"-----BEGIN PUBLIC KEY-----\n", "this is not a PEM public key"),
    ]
    for content, reason in cases:
        file.write_bytes(content)
        assert refused("banks", "add-public-key", bic, str(file)) == f"{file}: {reason}"
    file.write_bytes(b"\xff\xfe")
    assert refused("banks", "add-public-key", bic, str(file)) == f"{file} is not a PEM file"
    file.write_text(key_pair[0])
    assert refused("banks", "add-public-key", bic, str(file)).startswith(f"{file} contains a private key")
    assert refused("banks", "add-public-key", bic, str(tmp_path)) == f"{tmp_path} cannot be read: Is a directory"


# -- the test of a bank


REFUSAL = {
    1: {"status": "error", "error_code": 4201, "message": "Authentication required"},
    2: {"code": "AUTHENTICATION_REQUIRED", "title": "X-Auth-Token is required"},
}
WEBHOOKS = {1: "/accounts", 2: "/v2_accounts"}


@pytest.mark.parametrize("version", [1, 2])
def test_banks_test_reports_a_bank_with_a_protocol_error_response_as_reachable(
    causeway: Causeway, version: int
) -> None:
    side = causeway.banks[version]
    side.answers[WEBHOOKS[version]] = lambda sent: Reply(401, json.dumps(REFUSAL[version]).encode(), {}, 0.0123)

    found = done("banks", "test", side.bic)

    (sent,) = side.received
    assert (sent.path, sent.body) == (WEBHOOKS[version], b"{}")
    assert "X-Auth-Token" not in sent.headers
    assert signatures.verify(causeway.hub.keyring.public_keys(), sent.body, sent.headers["X-Signature"])
    assert sent.headers["X-Api-Key"] == side.api_key
    assert found == {
        "bic": side.bic,
        "reachable": True,
        "accepted": True,
        "url": f"{side.record.domain}{WEBHOOKS[version]}",
        "api_key_fingerprint": digest(side.api_key)[:16],
        "signed_with": signatures.key_id(causeway.hub.keyring.signing_key().public_key()),
        "public_keys": [signatures.key_id(side.key.public_key())],
        "certificate_subject": None,
        "milliseconds": 12.3,
        "status": 401,
        "answer": {1: "4201: Authentication required", 2: "AUTHENTICATION_REQUIRED: X-Auth-Token is required"}[version],
    }


@pytest.mark.parametrize("version", [1, 2])
def test_banks_test_reports_a_bank_with_a_success_response_as_reachable(causeway: Causeway, version: int) -> None:
    side = causeway.banks[version]
    side.answers[WEBHOOKS[version]] = lambda sent: {"status": "success", "accounts": []}

    result = run("banks", "test", side.bic)
    assert result.exit_code == 0
    verdict, *_ = result.stdout.splitlines()
    assert verdict == f"{side.bic} responds. The request has no consent, so a refusal is the expected response."
    assert side.api_key not in result.stdout


@pytest.mark.parametrize(
    ("version", "body"),
    [
        (1, {"error_code": 4200, "message": "Wrong credentials"}),
        (1, {"error_code": "4200", "message": "Wrong credentials"}),
        (2, {"code": "WRONG_CREDENTIALS", "title": "X-Api-Key"}),
        (2, {"code": "HEADERS_ERROR", "title": "X-Signature"}),
    ],
)
def test_banks_test_exits_with_1_if_the_bank_rejects_the_key_or_signature(
    causeway: Causeway, version: int, body: dict[str, Any]
) -> None:
    side = causeway.banks[version]
    side.answers[WEBHOOKS[version]] = lambda sent: Reply(401, json.dumps(body).encode(), {}, 0.01)

    spoken, printed = run("banks", "test", side.bic), run("banks", "test", side.bic, "--json")
    found = json.loads(printed.stdout)
    assert (spoken.exit_code, printed.exit_code) == (1, 1)
    assert (found["reachable"], found["accepted"]) == (True, False)
    assert f"{side.bic} responds, but does not accept the API key or the signature.\n" in spoken.stdout


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (Reply(200, b"<html>", {}, 0.01), "not valid JSON"),
        (Reply(200, b"[]", {}, 0.01), "not a JSON object"),
        (Reply(500, b"{}", {}, 0.01), "neither a success nor an error response of the protocol"),
        (Reply(200, b'{"accounts": []}', {}, 0.01), "neither a success nor an error response of the protocol"),
        (NotReached("no connection could be made"), "no connection could be made"),
        (TimedOut("no answer came in time"), "no answer came in time"),
    ],
)
def test_banks_test_exits_with_1_if_the_bank_is_unreachable_or_violates_the_protocol(
    causeway: Causeway, answer: object, said: str
) -> None:
    side = causeway.banks[1]
    side.answers["/accounts"] = lambda sent: answer

    spoken, printed = run("banks", "test", side.bic), run("banks", "test", side.bic, "--json")
    found = json.loads(printed.stdout)
    assert (spoken.exit_code, printed.exit_code) == (1, 1)
    assert found["reachable"] is False
    assert found["accepted"] is False
    assert found["answer"] == said
    assert "is unreachable, or does not implement the protocol" in spoken.stdout
    assert said in spoken.stdout


def test_banks_test_removes_control_characters_from_the_message_of_a_bank(causeway: Causeway) -> None:
    side = causeway.banks[1]
    side.answers["/accounts"] = lambda sent: {"error_code": 4000, "message": "\x1b[2J\n" + "x" * 10_000}

    answer = done("banks", "test", side.bic)["answer"]
    assert answer.isprintable()
    assert len(answer) <= 200


def test_banks_test_reads_the_certificate_subject_of_a_trusted_bank(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    certificate = self_signed(tmp_path)

    with socket_server(lambda connection: None, server_context(certificate)) as server:
        assert probe.certificate_subject(server.url) is None
        monkeypatch.setattr(certifi, "where", lambda: str(certificate))
        assert probe.certificate_subject(server.url) == "commonName=bank.example.com"
    assert probe.certificate_subject(server.url) is None


# -- users and clients


@pytest.fixture
def owner() -> str:
    email = f"{new_id()}@example.com"
    done("users", "add", email, "--terms-accepted", "--password-stdin", stdin=f"{PASSWORD}\n")
    return email


def test_users_add_reads_the_password_from_standard_input(causeway: Causeway, owner: str) -> None:
    assert causeway.hub.website.users.find(owner) is not None


def test_users_add_prints_a_link_to_set_a_password(causeway: Causeway) -> None:
    email = f"{new_id()}@example.com"
    text = run("users", "add", email).stdout

    match = re.search(
        r"^Link to set a password: (http\S+/reset/([\w-]{43}))\nIt can be used once, within 24 h", text, re.MULTILINE
    )
    assert match is not None
    assert text.startswith(f"{email} is registered.\n")
    assert match[1].startswith(causeway.hub.settings.public_url)
    assert (
        causeway.hub.website.call(account_flow.reset_password, match[2], PASSWORD, terms_accepted=True).email == email
    )
    assert causeway.hub.website.users.authenticate(email, PASSWORD) is not None
    made = done("users", "add", f"x{email}")
    assert made["user"]["made_by_operator"] is True
    secret = made["password_link"].rpartition("/")[2]
    assert causeway.hub.website.call(account_flow.find_reset_user, secret).email == f"x{email}"


def test_reset_password_with_the_option_at_once_deletes_the_password_and_all_sessions(
    causeway: Causeway, owner: str
) -> None:
    session = causeway.hub.website.sessions.begin(causeway.hub.website.users.get(owner))
    kept = done("users", "reset-password", owner)
    assert kept["user"]["has_password"] is True
    assert causeway.hub.website.users.authenticate(owner, PASSWORD) is not None
    assert causeway.hub.website.sessions.find(session.cookie) is not None

    made = done("users", "reset-password", owner, "--at-once")
    assert made["user"]["has_password"] is False
    assert causeway.hub.website.users.authenticate(owner, PASSWORD) is None
    assert causeway.hub.website.sessions.find(session.cookie) is None
    secret = made["password_link"].rpartition("/")[2]
    causeway.hub.website.call(account_flow.reset_password, secret, "rain on a tin roof", terms_accepted=False)
    assert causeway.hub.website.users.authenticate(owner, "rain on a tin roof") is not None


def test_users_show_omits_the_password_hash(causeway: Causeway, owner: str) -> None:
    shown = done("users", "show", owner.upper())["user"]

    assert shown == {
        "email": owner,
        "active": True,
        "manager_id": None,
        "made_by_operator": True,
        "has_password": True,
        "created_at": "2026-03-02T09:00:00+00:00",
        "confirmed_at": None,
        "terms_accepted_at": "2026-03-02T09:00:00+00:00",
    }
    assert "argon2" not in run("users", "show", owner).output
    assert refused("users", "show", "nobody@example.com").startswith("no user has the email nobody@example.com")


def test_users_add_refuses_invalid_users(owner: str) -> None:
    add = ("users", "add", f"{new_id()}@example.com", "--password-stdin")

    assert refused(*add, stdin=f"{PASSWORD}\n") == "the terms must be accepted"
    assert refused(*add, "--terms-accepted", stdin="short\n").startswith("password must have 10 to 256 characters")
    assert refused("users", "add", "ada", *add[3:], "--terms-accepted", stdin=f"{PASSWORD}\n").startswith("email must")
    assert refused("users", "add", owner, *add[3:], "--terms-accepted", stdin=f"{PASSWORD}\n") == (
        f"{owner} is already registered"
    )
    assert refused("users", "add", owner) == f"{owner} is already registered"


def test_a_user_is_linked_to_a_programme_manager_and_unlinked(causeway: Causeway, owner: str) -> None:
    assert done("users", "link", owner.upper(), "--manager", "1")["user"]["manager_id"] == 1
    spoken = run("users", "link", owner, "--manager", "2")
    assert spoken.stdout == f"{owner} sees the cards of Other Programme (2).\n"
    assert causeway.hub.website.users.get(owner).manager_id == 2
    assert done("users", "unlink", owner)["user"]["manager_id"] is None

    assert refused("users", "link", owner, "--manager", "77").startswith("there is no programme manager 77")
    assert refused("users", "link", "nobody@example.com", "--manager", "1") == (
        "no user has the email nobody@example.com: register one with `users add`"
    )
    assert refused("users", "unlink", "nobody").startswith("email must be an email address")


def test_a_user_is_deactivated_and_activated(causeway: Causeway, owner: str) -> None:
    assert run("users", "deactivate", owner).stdout.startswith(f"{owner} is signed out everywhere")
    assert done("users", "show", owner)["user"]["active"] is False
    assert refused("users", "reset-password", owner).startswith(f"{owner} is deactivated: activate the user first")
    assert done("users", "activate", owner)["user"]["active"] is True
    for command in ("deactivate", "activate", "reset-password"):
        assert refused("users", command, "nobody@example.com").startswith("no user has the email nobody@example.com")


def test_reset_password_prints_a_link_and_the_old_password_is_valid_until_the_reset(
    causeway: Causeway, owner: str
) -> None:
    made = done("users", "reset-password", owner)
    assert causeway.hub.website.users.authenticate(owner, PASSWORD) is not None, "the password stays until then"
    secret = made["password_link"].rpartition("/")[2]
    causeway.hub.website.call(account_flow.reset_password, secret, "rain on a tin roof", terms_accepted=False)

    assert causeway.hub.website.users.authenticate(owner, PASSWORD) is None
    assert causeway.hub.website.users.authenticate(owner, "rain on a tin roof") is not None


@pytest.fixture
def stranger(causeway: Causeway) -> str:
    email = f"{new_id()}@example.com"
    causeway.hub.website.users.register(email, PASSWORD, terms_accepted=True)
    return email


def test_a_user_with_an_unconfirmed_email_can_have_neither_a_programme_manager_nor_a_client(
    causeway: Causeway, stranger: str
) -> None:
    reason = f"{stranger} does not identify the user, who registered without confirming it: use a code"

    assert refused("users", "link", stranger, "--manager", "1").startswith(reason)
    assert refused("clients", "add", "--owner", stranger, "--title", "Budget Friend").startswith(reason)
    assert causeway.hub.website.users.get(stranger).manager_id is None
    assert causeway.hub.openbanking.clients.all(stranger) == []


def test_a_code_from_the_account_page_can_link_a_user_only_once(causeway: Causeway, stranger: str) -> None:
    code = causeway.hub.website.call(account_flow.issue_code, causeway.hub.website.users.get(stranger))
    written = code.lower().replace("-", " ")

    linked = done("users", "link", written, "--manager", "1")
    assert (linked["user"]["email"], linked["user"]["manager_id"]) == (stranger, 1)
    assert refused("users", "link", code, "--manager", "2").startswith("this code is not valid: it has been used")
    assert causeway.hub.website.users.get(stranger).manager_id == 1


def test_a_code_from_the_account_page_is_valid_after_a_link_to_an_unknown_programme_manager(
    causeway: Causeway, stranger: str
) -> None:
    code = causeway.hub.website.call(account_flow.issue_code, causeway.hub.website.users.get(stranger))

    assert refused("users", "link", code, "--manager", "77").startswith("there is no programme manager 77")
    assert done("users", "link", code, "--manager", "1")["user"]["email"] == stranger


def test_clients_add_accepts_a_code_from_the_account_page_of_the_owner_only_once(
    causeway: Causeway, stranger: str
) -> None:
    code = causeway.hub.website.call(account_flow.issue_code, causeway.hub.website.users.get(stranger))

    made = done("clients", "add", "--owner", code, "--title", "Budget Friend")
    assert made["client"]["owner"] == stranger
    assert refused("clients", "add", "--owner", code, "--title", "Again").startswith("this code is not valid")
    assert len(causeway.hub.openbanking.clients.all(stranger)) == 1


def test_a_client_is_registered_for_a_user(causeway: Causeway, owner: str) -> None:
    made = done("clients", "add", "--owner", owner.upper(), "--title", "Budget Friend")

    client = causeway.hub.openbanking.clients.get(made["client"]["client_id"])
    assert client.owner == owner
    assert client.title == "Budget Friend"
    assert client.active is True
    assert client.has_secret is False
    assert made["client_secret"] is None
    assert made["client"] == done("clients", "show", client.client_id)["client"]


def test_the_secret_of_a_new_client_is_printed_only_once(causeway: Causeway, owner: str) -> None:
    text = run("clients", "add", "--owner", owner, "--title", "Budget Friend", "--secret").stdout

    match = re.search(r"The client's secret: ([\w-]{43})\nIt is shown only once", text)
    assert match is not None
    (row,) = done("clients", "list", "--owner", owner)["clients"]
    client = causeway.hub.openbanking.clients.get(row["client_id"])
    assert row["has_secret"] is True
    assert client.accepts_secret(match[1], causeway.clock.time())
    for flags in ([], ["--json"]):
        shown = run("clients", "show", client.client_id, *flags).output
        assert match[1] not in shown
        assert client.secrets[0].digest not in shown


def test_clients_list_shows_the_clients_of_one_user_or_of_all_users(causeway: Causeway, owner: str) -> None:
    for title in ("One", "Two"):
        done("clients", "add", "--owner", owner, "--title", title, "--inactive")

    assert sorted(row["title"] for row in done("clients", "list", "--owner", owner)["clients"]) == ["One", "Two"]
    assert len(done("clients", "list")["clients"]) > 2
    lines = run("clients", "list", "--owner", owner).stdout.splitlines()
    assert lines[0].split("  ")[0] == "client id"
    assert len(lines) == 3
    assert run("clients", "list", "--owner", "nobody@example.com").stdout == "There are no clients.\n"


def test_a_client_is_deactivated_and_activated(causeway: Causeway) -> None:
    client_id = causeway.tpp.client_id

    assert run("clients", "deactivate", client_id).stdout == "Budget Friend is no longer active.\n"
    assert causeway.hub.openbanking.clients.get(client_id).active is False
    assert done("clients", "activate", client_id)["client"]["active"] is True
    assert causeway.hub.openbanking.clients.get(client_id).active is True


def test_a_client_title_similar_to_a_title_of_another_owner_prints_a_warning(causeway: Causeway) -> None:
    clients, owner = causeway.hub.openbanking.clients, causeway.tpp.client.owner
    twin = clients.create(owner="mallory@example.com", title="\u0412udget\u2011Fr1end", active=False).client
    same = clients.create(owner=owner, title="Budget Friend").client
    warning = f"Warning: the title looks like that of the client {causeway.tpp.client_id}: Budget Friend"

    assert warning in run("clients", "activate", twin.client_id).stdout.splitlines()
    found = [
        each["client_id"]
        for each in done("clients", "update", twin.client_id, "--title", "Budget  Friend")["lookalikes"]
    ]
    assert found == sorted((causeway.tpp.client_id, same.client_id))
    assert done("clients", "update", twin.client_id, "--title", "Mallory")["lookalikes"] == []
    assert done("clients", "activate", same.client_id)["lookalikes"] == []


def test_clients_list_omits_archived_clients_unless_they_are_requested_or_restored(causeway: Causeway) -> None:
    client_id, owner = causeway.tpp.client_id, causeway.tpp.client.owner

    def listed(*flags: str) -> bool:
        return client_id in [row["client_id"] for row in done("clients", "list", "--owner", owner, *flags)["clients"]]

    assert (listed(), listed("--archived")) == (True, False)
    assert run("clients", "archive", client_id).stdout == "Budget Friend is archived.\n"
    assert (listed(), listed("--archived")) == (False, True)
    assert done("clients", "show", client_id)["client"]["archived_at"] == timestamp(causeway.clock.time())
    assert refused("clients", "activate", client_id) == "the client is archived: restore it first"
    assert run("clients", "restore", client_id).stdout == "Budget Friend is restored, and inactive.\n"
    assert "archived_at" not in done("clients", "activate", client_id)["client"]
    assert listed()


@pytest.mark.parametrize(
    "arguments",
    [
        ("show", "nobody"),
        ("activate", "nobody"),
        ("deactivate", "nobody"),
        ("archive", "nobody"),
        ("restore", "nobody"),
        ("update", "nobody", "--title", "a"),
        ("rotate-secret", "nobody"),
        ("events-url", "nobody", "http://127.0.0.1:9/events"),
        ("rotate-events-secret", "nobody"),
        ("test-event", "nobody"),
    ],
)
def test_a_command_for_an_unknown_client_is_rejected(arguments: tuple[str, ...]) -> None:
    assert refused("clients", *arguments) == "no client has the id nobody"


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        (["--title", " "], "title must be 1 to 128 printable characters"),
        (["--title", "a", "--callback-url", "tpp.example.com"], "callback_url must begin with https://"),
        (["--title", "a", "--events-url", "javascript:alert(1)"], "events_url must begin with https://"),
        (["--title", "a", "--registration-number", "a\nb"], "registration_number must be 1 to 128 printable"),
    ],
)
def test_registering_a_client_with_an_invalid_member_is_rejected(owner: str, more: list[str], reason: str) -> None:
    assert refused("clients", "add", "--owner", owner, *more).startswith(reason)


def test_clients_update_changes_the_title_the_callback_urls_and_the_events_url(causeway: Causeway) -> None:
    update = ("clients", "update", causeway.tpp.client_id)

    urls = ["https://a.example/", "https://b.example/"]
    found = done(*update, "--title", "Renamed", "--callback-url", urls[0], "--callback-url", urls[1])
    assert (found["client"]["title"], found["client"]["callback_urls"]) == ("Renamed", urls)
    secret = done(*update, "--events-url", EVENTS_URL)["events_secret"]
    assert [secret] == causeway.hub.openbanking.clients.events_secrets(
        causeway.hub.openbanking.clients.get(causeway.tpp.client_id)
    )
    found = done(*update, "--no-events-url")
    assert (found["client"]["events_url"], found["events_secret"]) == (None, None)
    assert found["client"]["title"] == "Renamed"


def test_clients_update_sets_and_removes_a_limit_of_calls_per_minute(causeway: Causeway) -> None:
    update = ("clients", "update", causeway.tpp.client_id, "--calls-per-minute")

    assert done(*update, "1")["client"]["calls_per_minute"] == 1
    assert [causeway.tpp.call("GET", "/tpp/banks").status for _ in range(2)] == [200, 429]
    assert done("clients", "show", causeway.tpp.client_id)["history"][0]["after"] == {"calls_per_minute": 1}
    assert done(*update, "0")["client"]["calls_per_minute"] is None
    causeway.clock.advance(60)
    assert [causeway.tpp.call("GET", "/tpp/banks").status for _ in range(3)] == [200, 200, 200]
    for wrong in ("-1", "1000001", "many"):
        assert run(*update, wrong).exit_code == 2


@pytest.mark.parametrize("options", [[], ["--events-url", EVENTS_URL, "--no-events-url"]])
def test_clients_update_without_changes_or_with_conflicting_options_exits_with_code_2(
    causeway: Causeway, options: list[str]
) -> None:
    assert run("clients", "update", causeway.tpp.client_id, *options).exit_code == 2


@pytest.mark.parametrize("options", [["--title", " "], ["--callback-url", "ftp://x"], ["--events-url", "ftp://x"]])
def test_an_invalid_client_update_changes_nothing(causeway: Causeway, options: list[str]) -> None:
    assert "must" in refused("clients", "update", causeway.tpp.client_id, *options)
    assert causeway.hub.openbanking.clients.get(causeway.tpp.client_id) == causeway.tpp.client


def test_a_secret_rotation_without_an_overlap_invalidates_all_older_client_secrets(
    causeway: Causeway, owner: str
) -> None:
    made = done("clients", "add", "--owner", owner, "--title", "Careful", "--secret")
    client_id, old = made["client"]["client_id"], made["client_secret"]

    rotated = done("clients", "rotate-secret", client_id, "--overlap", "3600")
    text = run("clients", "rotate-secret", client_id, "--overlap", "0").stdout

    now = causeway.clock.time()
    assert rotated["old_until"] == timestamp(now + 3600)
    match = re.search(r"The new secret of Careful: ([\w-]{43})\nIt is shown only once", text)
    assert match is not None
    assert text.endswith("It is accepted from now on, alone.\n")
    client = causeway.hub.openbanking.clients.get(client_id)
    secrets = (old, rotated["client_secret"], match[1])
    assert [client.accepts_secret(secret, now) for secret in secrets] == [False, False, True]
    shown = run("clients", "show", client_id).output + run("clients", "show", client_id, "--json").output
    assert not [secret for secret in secrets if secret in shown]


def test_clients_show_lists_the_changes_of_a_client_with_author_time_and_values(causeway: Causeway) -> None:
    client_id = causeway.tpp.client_id
    causeway.hub.openbanking.clients.update(client_id, owner=causeway.tpp.client.owner, title="Renamed")
    causeway.clock.advance(60)
    done("clients", "deactivate", client_id)

    found = done("clients", "show", client_id)["history"]
    lines = run("clients", "show", client_id).stdout.splitlines()[-3:]

    assert [(each["by"], each["action"], each["before"], each["after"]) for each in found] == [
        ("operator", "deactivated", {}, {}),
        (causeway.tpp.client.owner, "updated", {"title": "Budget Friend"}, {"title": "Renamed"}),
    ]
    assert [each["at"] for each in found] == [timestamp(causeway.clock.time()), timestamp(causeway.clock.time() - 60)]
    assert lines[0].split() == ["at", "by", "action", "what"]
    assert lines[2].endswith("updated      title: Renamed")


def test_registering_a_client_with_an_unknown_owner_is_rejected() -> None:
    assert refused("clients", "add", "--owner", "nobody@example.com", "--title", "a") == (
        "no user has the email nobody@example.com: register one with `users add`"
    )


# -- the events of clients

EVENTS_SECRET = r"(whsec_[A-Za-z0-9+/]{43}=)"


def signing(causeway: Causeway) -> list[str]:
    return causeway.hub.openbanking.clients.events_secrets(causeway.hub.openbanking.clients.get(causeway.tpp.client_id))


def test_clients_add_with_an_events_url_shows_the_events_secret_once(causeway: Causeway, owner: str) -> None:
    add = ("clients", "add", "--owner", owner, "--title", "Budget Friend", "--events-url", EVENTS_URL)
    made, text = done(*add), run(*add).stdout

    client_id = made["client"]["client_id"]
    assert [made["events_secret"]] == causeway.hub.openbanking.clients.events_secrets(
        causeway.hub.openbanking.clients.get(client_id)
    )
    assert re.search(rf"The secret of its events: {EVENTS_SECRET}\nIt is shown only once", text)
    for command in (["show", client_id], ["list", "--owner", owner]):
        shown = run("clients", *command, "--json").output
        assert '"has_events_secret": true' in shown
        assert "whsec_" not in shown + run("clients", *command).output
        assert "sealed" not in shown


def test_a_client_without_an_events_url_has_no_events_secret(owner: str) -> None:
    made = done("clients", "add", "--owner", owner, "--title", "Budget Friend")

    assert made["events_secret"] is None
    assert made["client"]["has_events_secret"] is False


def test_clients_events_url_sets_changes_and_removes_the_url(causeway: Causeway) -> None:
    set_url = ("clients", "events-url", causeway.tpp.client_id)
    first, moved = done(*set_url, EVENTS_URL), run(*set_url, f"{EVENTS_URL}/2").stdout

    assert (first["client"]["events_url"], [first["events_secret"]]) == (EVENTS_URL, signing(causeway))
    assert moved == f"The events of Budget Friend go to {EVENTS_URL}/2.\n"
    assert run(*set_url, "--none").stdout == "The events of Budget Friend are no longer sent.\n"
    assert done("clients", "show", causeway.tpp.client_id)["client"]["events_url"] is None
    assert [first["events_secret"]] == signing(causeway)


def test_clients_events_url_prints_the_first_secret_and_that_it_is_displayed_only_once(causeway: Causeway) -> None:
    text = run("clients", "events-url", causeway.tpp.client_id, EVENTS_URL).stdout

    assert re.search(rf"\n\nThe secret of its events: {EVENTS_SECRET}\nIt is shown only once", text)


def test_registering_an_invalid_events_url_is_rejected(causeway: Causeway) -> None:
    set_url = ("clients", "events-url", causeway.tpp.client_id)

    for wrong in (set_url, (*set_url, EVENTS_URL, "--none")):
        result = run(*wrong)
        assert result.exit_code == 2
        assert "pass either the URL or --none" in result.stderr
    assert refused(*set_url, "tpp.example.com").startswith("events_url must begin with https://")


def test_an_events_secret_is_rotated_with_an_overlap(causeway: Causeway) -> None:
    rotate = ("clients", "rotate-events-secret", causeway.tpp.client_id)
    first = done("clients", "events-url", causeway.tpp.client_id, EVENTS_URL)["events_secret"]
    rotated = done(*rotate)

    assert rotated["old_until"] == "2026-03-03T09:00:00+00:00"
    assert signing(causeway) == [rotated["events_secret"], first]
    text = run(*rotate, "--overlap", "3600").stdout
    assert re.match(rf"The new secret of the events of Budget Friend: {EVENTS_SECRET}\nIt is shown only once", text)
    assert text.endswith("It signs from now on, together with the old one until 2026-03-02T10:00:00+00:00.\n")


def test_an_events_secret_rotation_without_an_overlap_removes_the_old_secret(causeway: Causeway) -> None:
    rotate = ("clients", "rotate-events-secret", causeway.tpp.client_id, "--overlap", "0")
    done("clients", "events-url", causeway.tpp.client_id, EVENTS_URL)
    rotated = done(*rotate)

    assert rotated["old_until"] is None
    assert signing(causeway) == [rotated["events_secret"]]
    assert run(*rotate).stdout.endswith("It signs from now on, alone.\n")


def test_clients_test_event_sends_a_test_event(causeway: Causeway) -> None:
    asked: list[Client] = []

    def send_test(client: Client) -> str:
        asked.append(client)
        return "the-delivery"

    causeway.hub.openbanking.__dict__["tpp_events"] = SimpleNamespace(send_test=send_test)
    done("clients", "events-url", causeway.tpp.client_id, EVENTS_URL)

    assert done("clients", "test-event", causeway.tpp.client_id) == {"delivery_id": "the-delivery"}
    assert [client.client_id for client in asked] == [causeway.tpp.client_id]
    assert run("clients", "test-event", causeway.tpp.client_id).stdout == (
        f"A test event is being sent to {EVENTS_URL}: the-delivery\n"
        "Its result: .venv/bin/python -m infra.admin deliveries show the-delivery\n"
    )


def test_clients_registration_number_sets_the_number_that_banks_receive(causeway: Causeway) -> None:
    found = done("clients", "registration-number", causeway.tpp.client_id, "PSDGB-FCA-123456")

    assert found["client"]["registration_number"] == "PSDGB-FCA-123456"
    asked = causeway.tpp.authorize(1)
    told = causeway.banks[1].call("/init_authorization", {"request_url": asked["redirect_url"]}).body
    assert told["tpp_registration_number"] == "PSDGB-FCA-123456"
    assert "printable" in refused("clients", "registration-number", causeway.tpp.client_id, " ")
    assert refused("clients", "registration-number", "nobody", "X")


def test_commands_for_the_events_of_a_client_without_an_events_url_are_refused(causeway: Causeway) -> None:
    assert refused("clients", "test-event", causeway.tpp.client_id).startswith("the client has no Events URL")
    assert refused("clients", "rotate-events-secret", causeway.tpp.client_id).startswith("the client has no Events URL")


# -- keys


@pytest.fixture
def fresh(causeway: Causeway, monkeypatch: pytest.MonkeyPatch) -> bootstrap.Hub:
    """Connect the commands with a stage without keys. The secrets and the KMS of the stage are in memory."""
    hub = bootstrap.Hub(causeway.hub.settings, ManualClock(START))
    hub.__dict__ |= {"secrets": FakeSecrets(), "kms": FakeKms()}
    monkeypatch.setattr(connection, "connect", lambda: hub)
    return hub


def test_consents_revoke_invalidates_the_access_token_and_notifies_the_bank(causeway: Causeway) -> None:
    tokens, _ = causeway.tpp.tokens(1), causeway.queued()
    consent_id, bearer = tokens["consent_id"], tokens["access_token"]
    shown = done("consents", "show", consent_id)["consent"]
    assert (shown["status"], shown["client_id"]) == ("authorised", causeway.tpp.client_id)
    assert shown["last_used_on"] == "2026-03-02"

    assert done("consents", "revoke", consent_id)["consent"] == {"consent_id": consent_id, "status": "revoked"}

    assert causeway.tpp.call("GET", "/tpp/consent", bearer=bearer).status == 401
    assert len(causeway.queued()) == 1  # the bank is told
    assert "is revoked" in run("consents", "revoke", consent_id).stdout
    assert causeway.queued() == []


def test_revoking_an_expired_consent_changes_no_status_and_does_not_notify_the_bank(causeway: Causeway) -> None:
    tokens, _ = causeway.tpp.tokens(1), causeway.queued()
    causeway.clock.advance(180 * 24 * 3600)

    assert done("consents", "revoke", tokens["consent_id"])["consent"]["status"] == "expired"
    assert done("consents", "show", tokens["consent_id"])["consent"]["status"] == "expired"
    assert causeway.queued() == []


def test_consents_show_prints_no_last_used_day_for_an_unused_consent(causeway: Causeway) -> None:
    consent_id = causeway.psu.approve(1).bank_token.partition(".")[0]

    assert done("consents", "show", consent_id)["consent"]["last_used_on"] is None
    assert "None" not in run("consents", "show", consent_id).stdout


@pytest.mark.parametrize("command", ["show", "revoke"])
def test_a_command_for_an_unknown_consent_is_rejected(command: str) -> None:
    assert refused("consents", command, "nobody") == "there is no consent nobody"


@pytest.mark.usefixtures("fresh")
def test_keys_init_creates_the_keys_once_and_keys_show_prints_only_public_keys() -> None:
    assert refused("keys", "show").endswith("contains no keys yet: run `.venv/bin/python -m infra.admin keys init`")
    made = done("keys", "init")
    assert made["made"] is True
    assert run("keys", "init").stdout == "The keys already exist: nothing was changed.\n"

    ((key),) = done("keys", "show")["keys"]
    assert key == made["keys"][0]
    assert key["signs"] is True
    assert signatures.key_id(signatures.load_public_key(key["pem"])) == key["key_id"]
    assert "PRIVATE" not in run("keys", "show").output
    assert re.match(rf"key id +{key['key_id']}\nsigns +yes\n-----BEGIN PUBLIC KEY-----", run("keys", "show").stdout)


def test_a_signing_key_is_rotated_with_an_overlap(fresh: bootstrap.Hub) -> None:
    first = done("keys", "init")["keys"][0]["key_id"]
    rotated = done("keys", "rotate-signing", "--overlap", "3600")

    assert rotated["signs_from"] == "2026-03-02T10:00:00+00:00"
    assert [(key["key_id"], key["signs"]) for key in rotated["keys"]] == [(rotated["key_id"], False), (first, True)]
    fresh.clock.advance(3600)  # type: ignore[attr-defined]
    assert [key["signs"] for key in done("keys", "show")["keys"]] == [True, False]
    assert "is published and signs from" in run("keys", "rotate-signing").stdout


@pytest.mark.usefixtures("fresh")
def test_a_signing_key_rotation_without_an_overlap_removes_the_old_key() -> None:
    done("keys", "init")
    rotated = done("keys", "rotate-signing", "--overlap", "0")

    assert [(key["key_id"], key["signs"]) for key in rotated["keys"]] == [(rotated["key_id"], True)]
    assert "the old key has been withdrawn" in run("keys", "rotate-signing", "--overlap", "0").stdout


def test_a_data_key_is_rotated(fresh: bootstrap.Hub) -> None:
    done("keys", "init")

    assert done("keys", "rotate-data") == {"data_key": 2}
    assert fresh.keyring.current_data_key()[0] == 2


def test_keys_init_creates_the_card_keys_and_rotate_card_adds_a_new_key(fresh: bootstrap.Hub) -> None:
    assert refused("keys", "rotate-card").endswith(
        "contains no keys yet: run `.venv/bin/python -m infra.admin keys init`"
    )
    done("keys", "init")

    assert done("keys", "rotate-card") == {"card_keys": 2}
    assert fresh.cards.keys.current() == 2


# -- what the commands work on, and what is missing there


@pytest.mark.parametrize(
    ("failure", "said"),
    [
        (NotConfigured("You must specify a region."), "AWS cannot be used: You must specify a region"),
        (NotConfigured("Unable to locate credentials"), "AWS cannot be used: Unable to locate credentials"),
        (
            NotSent("could not connect to http://127.0.0.1:1: refused"),
            "AWS cannot be used: could not connect to http://127.0.0.1:1: refused",
        ),
        (
            ErrorResponse("Scan", "ResourceNotFoundException"),
            "a resource of this stage does not exist (Scan: ResourceNotFoundException): create the resources",
        ),
        (
            ErrorResponse("Scan", "UnrecognizedClientException"),
            "AWS refuses these credentials (Scan: UnrecognizedClientException)",
        ),
        (ErrorResponse("Scan", "InternalFailure"), "AWS refused Scan: InternalFailure"),
        (ErrorResponse("Scan", "ThrottlingException"), "DynamoDB takes no more calls of this table for now"),
        (ErrorResponse("Scan", "TransactionConflictException"), "the record was changed concurrently: try again"),
    ],
)
def test_aws_errors_are_reported_as_a_one_line_error_message(
    causeway: Causeway, failure: Exception, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(call: Call, proceed: Proceed) -> Members:
        raise failure

    with observe(fail):
        assert refused("banks", "list").startswith(said)


def test_missing_aws_resources_are_reported_as_a_one_line_error_message(
    elsewhere: bootstrap.Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = Settings.from_environment({"STAGE": "dev", "PUBLIC_URL": "https://dev.example.com"})
    monkeypatch.setattr(connection, "connect", lambda: bootstrap.Hub(settings))

    for command in (["banks", "list"], ["clients", "show", "a"], ["keys", "init"]):
        assert "a resource of this stage does not exist" in refused(*command)


@pytest.fixture
def stack_file(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "stack.json"
    with stack_health() as stack:
        stack["environment"] |= {"AWS_ENDPOINT_URL": "http://127.0.0.1:1", "AWS_ACCESS_KEY_ID": "local"}
        path.write_text(json.dumps({**stack, "pid": None}))
        yield path


def test_operator_commands_without_settings_use_the_running_local_stack(stack_file: Path) -> None:
    environ = {"CAUSEWAY_STACK_FILE": str(stack_file)}

    for stage in ({}, {"STAGE": "local"}):
        assert connection.settings_of_local_stack({**environ, **stage}) == the_stacks(stack_file)


def test_the_local_stack_is_used_only_if_its_endpoint_matches_aws_endpoint_url(stack_file: Path) -> None:
    environ = {"CAUSEWAY_STACK_FILE": str(stack_file)}

    own = connection.settings_of_local_stack({**environ, "AWS_ENDPOINT_URL": "http://127.0.0.1:1"})
    other = connection.settings_of_local_stack({**environ, "AWS_ENDPOINT_URL": "http://127.0.0.1:2"})

    assert own == the_stacks(stack_file)
    assert other == {}


def the_stacks(file: Path) -> Any:
    return json.loads(file.read_text())["environment"]


@pytest.mark.parametrize("unset", [{}, {"STAGE": ""}])
@pytest.mark.parametrize(
    "credentials",
    [
        {"AWS_PROFILE": "production"},
        {"AWS_ACCESS_KEY_ID": "AKIAIOSFODNN7EXAMPLE"},
        {"AWS_SESSION_TOKEN": "a"},
        {"AWS_CONTAINER_CREDENTIALS_FULL_URI": "http://localhost:1338"},
    ],
)
def test_a_command_with_aws_credentials_but_without_a_stage_is_refused(
    stack_file: Path, credentials: dict[str, str], unset: dict[str, str]
) -> None:
    environ = {"CAUSEWAY_STACK_FILE": str(stack_file), **credentials}
    for endpoint in ({}, {"AWS_ENDPOINT_URL": "http://127.0.0.1:1"}):
        with pytest.raises(
            connection.StageUnknown, match=f"^{next(iter(credentials))} is set but STAGE is not: set STAGE to"
        ):
            connection.settings_of_local_stack({**environ, **unset, **endpoint})

    assert connection.settings_of_local_stack({**environ, "STAGE": "local"}) == the_stacks(stack_file)
    assert connection.settings_of_local_stack({**environ, "STAGE": "prod"}) == {}


def test_placeholder_credentials_select_the_local_stack(stack_file: Path) -> None:
    environ = {"CAUSEWAY_STACK_FILE": str(stack_file), "AWS_ACCESS_KEY_ID": "test"}

    assert connection.settings_of_local_stack(environ) == the_stacks(stack_file)


def test_a_separate_dynamodb_endpoint_selects_the_local_stack(stack_file: Path) -> None:
    environ = {"CAUSEWAY_STACK_FILE": str(stack_file), "AWS_ENDPOINT_URL_DYNAMODB": "http://127.0.0.1:1"}

    assert connection.settings_of_local_stack(environ) == the_stacks(stack_file)


@pytest.mark.parametrize("named", [{"STAGE": "dev"}, {"AWS_ENDPOINT_URL": "http://a"}])
def test_a_stage_or_endpoint_option_overrides_the_local_stack(stack_file: Path, named: dict[str, str]) -> None:
    assert connection.settings_of_local_stack({"CAUSEWAY_STACK_FILE": str(stack_file), **named}) == {}


@pytest.mark.parametrize("content", [None, "", "[]", "{}", '{"pid": null, "environment": {}}', '{"pid": 1}'])
def test_the_error_of_a_command_without_a_running_stack_names_make_run(tmp_path: Path, content: str | None) -> None:
    path = tmp_path / "stack.json"
    if content is not None:
        path.write_text(content)

    with pytest.raises(
        connection.StageUnknown, match="no local stack is running: start it with `make run`, or set STAGE"
    ):
        connection.settings_of_local_stack({"CAUSEWAY_STACK_FILE": str(path)})


def as_a_process(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "STAGE"))}
    command = [sys.executable, "-m", "infra.admin", *arguments]
    return subprocess.run(command, env=environ | variables, cwd=ROOT, capture_output=True, text=True, check=False)


def test_an_operator_command_without_a_running_stack_prints_the_error_as_json(tmp_path: Path) -> None:
    result = as_a_process("banks", "list", "--json", CAUSEWAY_STACK_FILE=str(tmp_path / "none"))

    assert (result.returncode, result.stderr) == (1, "")
    assert json.loads(result.stdout)["error"].startswith("no local stack is running")


def test_a_missing_operator_setting_is_reported_as_a_one_line_error_message() -> None:
    result = as_a_process("banks", "list", STAGE="dev")

    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr == "Error: PUBLIC_URL: must be set outside the local stage\n"


def test_an_operator_command_with_aws_credentials_and_no_stage_exits_with_1(stack_file: Path) -> None:
    result = as_a_process("keys", "show", CAUSEWAY_STACK_FILE=str(stack_file), AWS_PROFILE="production")

    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr == (
        "Error: AWS_PROFILE is set but STAGE is not: set STAGE to the intended stage; STAGE=local is the local stack\n"
    )


def test_a_local_stack_that_does_not_respond_is_reported_as_a_one_line_error_message(stack_file: Path) -> None:
    result = as_a_process("keys", "show", CAUSEWAY_STACK_FILE=str(stack_file), AWS_MAX_ATTEMPTS="1")

    assert result.returncode == 1
    assert result.stderr.count("\n") == 1
    assert result.stderr.startswith("Error: AWS cannot be used: ")
