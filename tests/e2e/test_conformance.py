"""Both demonstration banks pass the conformance kit on a stack with TLS."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import yaml

from chalicelib import bootstrap
from chalicelib.demo_bank.customers import CUSTOMERS
from chalicelib.demo_bank.profiles import PROFILES, Profile
from chalicelib.foundation.aws.secrets import Secrets
from chalicelib.foundation.crypto import signatures
from chalicelib.foundation.settings import Settings
from infra.local.background import run_stack
from infra.repository import ROOT
from tests.conftest import ENDPOINT
from tests.kit.endpoint import of_a_stack
from tests.kit.http import free_port

PYTHON = Path(sys.executable)


@contextmanager
def demonstration_stack(folder: Path, kit_port: int, **elsewhere: str) -> Iterator[dict[str, Any]]:
    """Start a stack without fault banks. ``BANK_API_URL`` is the address of the conformance kit.

    Fault banks would also send their calls to the kit.
    """
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "STAGE"))}
    there = {"BANK_API_URL": f"http://127.0.0.1:{kit_port}", **elsewhere}
    with run_stack(environ=clean, folder=folder / "stack", elsewhere=there) as content:
        with _secrets(content) as (secrets, name):
            played = {profile.name for profile in PROFILES if profile.plays_faults}
            secrets.put(name, {bank: kept for bank, kept in secrets.get(name).items() if bank not in played})
        yield content


@contextmanager
def _secrets(stack: dict[str, Any]) -> Iterator[tuple[Secrets, str]]:
    before = dict(os.environ)
    os.environ.update(stack["environment"])
    try:
        settings = Settings.from_environment(stack["environment"])
        yield bootstrap.Hub(settings).secrets, settings.demo_banks_secret
    finally:
        os.environ.clear()
        os.environ.update(before)


def write_file(stack: dict[str, Any], profile: Profile, kit_port: int, folder: Path, python: Path = PYTHON) -> Path:
    with _secrets(stack) as (secrets, name):
        credentials = secrets.get(name)[profile.name]
    key = signatures.load_private_key(credentials["signing_key"])
    hub_key = folder / "hub.pem"
    if not hub_key.exists():
        hub_key.write_text(signatures.generate_private_pem(), "ascii")
    base = stack["base_url"]
    first = next(iter(CUSTOMERS[profile.name].values())).accounts[0]
    account = {"account_id": first.account_id, "iban": first.iban, "currency": first.currency}
    content = {
        "version": profile.version,
        "bic": profile.bic,
        "base_url": profile.domain(base),
        "api_key": credentials["api_key"],
        "hub": {"listen": f"127.0.0.1:{kit_port}", "private_key": hub_key.name},
        "bank_public_key": signatures.public_pem(key.public_key()),
        "authorization_url": profile.authorization_url(base),
        "customer": {"accounts": [account]},
        "psu": {"mode": "script", "command": f"{python} -m infra.conformance.demo_psu {profile.domain(base)}"},
        **({"ca_file": stack["ca_file"]} if "ca_file" in stack else {}),
    }
    file = folder / f"bank-{profile.name}.yaml"
    file.write_text(yaml.safe_dump(content, sort_keys=False), "utf-8")
    return file


def run_kit(file: Path, folder: Path, stack: dict[str, Any], python: Path = PYTHON) -> subprocess.CompletedProcess[str]:
    environ = {**os.environ} | ({"OUTBOUND_CA_FILE": stack["ca_file"]} if "ca_file" in stack else {})
    command = [str(python), "-m", "infra.conformance", str(file), "--output", str(folder / file.stem)]
    return subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, check=False)


def main() -> None:
    times = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    port = free_port()
    with TemporaryDirectory() as place, demonstration_stack(Path(place), port) as stack:
        files = [write_file(stack, profile, port, Path(place)) for profile in PROFILES if not profile.plays_faults]
        for number in range(times):
            for file in files:
                started = time.monotonic()
                ended = run_kit(file, Path(place), stack)
                print(f"run {number + 1}: exit code {ended.returncode} after {time.monotonic() - started:.1f} s")
                lines = ended.stdout.splitlines()
                told = ("  failed", "  advice", f"{yaml.safe_load(file.read_text('utf-8'))['bic']} ")
                print("\n".join(line for line in lines if line.startswith(told)), ended.stderr, flush=True)


if __name__ == "__main__":
    main()


pytestmark = pytest.mark.e2e
NEVER = ("address.", "bank-report_day.", "bank-list_states.")
"""Prefixes of checks that never run: the bank has a local address, and reports days and lists states at other times."""


@pytest.fixture(scope="module")
def kit_port() -> int:
    return free_port()


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("conformance")


@pytest.fixture(scope="module")
def bank_stack(place: Path, kit_port: int) -> Iterator[dict[str, Any]]:
    with demonstration_stack(place, kit_port, **of_a_stack(ENDPOINT), TLS="1") as content:
        yield content


@pytest.mark.parametrize(
    "profile", [each for each in PROFILES if not each.plays_faults], ids=lambda profile: profile.name
)
def test_a_demonstration_bank_passes_every_conformance_check(
    bank_stack: dict[str, Any], python: Path, place: Path, kit_port: int, profile: Profile
) -> None:
    file = write_file(bank_stack, profile, kit_port, place, python)
    ended = run_kit(file, place, bank_stack, python)

    assert ended.returncode == 0, ended.stdout[-4000:] + ended.stderr
    checks = json.loads((place / file.stem / "report.json").read_text("utf-8"))["checks"]
    assert [each["id"] for each in checks if each["outcome"] == "failed"] == []
    skipped = [each["id"] for each in checks if each["outcome"] == "skipped" and not each["id"].startswith(NEVER)]
    assert {each.rpartition(".")[2] for each in skipped} <= {"scope-not-approved", "types"}
    assert len(checks) - len(skipped) >= 300
