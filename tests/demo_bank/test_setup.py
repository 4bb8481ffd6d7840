"""The installation of the demonstration banks: registration, credentials, logos and addresses."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from chalicelib.demo_bank.setup import install
from chalicelib.foundation.crypto import signatures
from tests.causeway import Causeway
from tests.demo_bank.parties import BANK_PEMS
from tests.openbanking.logos import SVG

BICS = ["DEMOGB21", "DEMODEF1", "DEMOGB2F", "DEMODE2F"]


@pytest.fixture
def opened(causeway: Causeway) -> Iterator[Causeway]:
    name = causeway.hub.settings.demo_banks_secret
    causeway.hub.secrets.put(name, {bank: {"signing_key": pem} for bank, pem in BANK_PEMS.items()})  # keys take time
    install(causeway.hub, causeway.hub.openbanking.banks)
    yield causeway
    for bic in BICS:
        causeway.hub.openbanking.banks.remove(bic)
    causeway.hub.secrets.put(causeway.hub.settings.demo_banks_secret, {})


def test_the_banks_are_registered_with_their_keys_and_addresses(opened: Causeway) -> None:
    one, two = opened.hub.openbanking.banks.get("DEMOGB21"), opened.hub.openbanking.banks.get("DEMODEF1")
    assert one.api_version == 1
    assert one.country == "GB"
    assert two.api_version == 2
    assert two.country == "DE"
    base = f"{opened.hub.settings.public_url}/demo-bank"
    assert (one.domain, one.authorization_url) == (f"{base}/one", f"{base}/one/authorize")
    assert one.signature_required
    secret = opened.hub.secrets.get(opened.hub.settings.demo_banks_secret)
    for name, bank in (("one", one), ("two", two)):
        assert secret[name]["bic"] == bank.bic
        key = signatures.load_private_key(secret[name]["signing_key"]).public_key()
        assert bank.public_keys == (signatures.public_pem(key),)


def test_a_repeated_bank_installation_does_not_replace_a_logo_set_by_the_operator(opened: Causeway) -> None:
    banks = opened.hub.openbanking.banks
    assert {banks.get(bic).logo_type for bic in BICS} == {"image/svg+xml"}

    other = banks.set_logo("DEMOGB21", SVG)
    install(opened.hub, opened.hub.openbanking.banks)

    assert banks.get("DEMOGB21") == other


def test_a_second_bank_installation_changes_nothing(opened: Causeway) -> None:
    before = opened.hub.secrets.get(opened.hub.settings.demo_banks_secret)
    banks = install(opened.hub, opened.hub.openbanking.banks)
    assert [bank.bic for bank in banks] == BICS
    assert opened.hub.secrets.get(opened.hub.settings.demo_banks_secret) == before


def test_bank_credentials_that_were_lost_are_replaced(opened: Causeway) -> None:
    name = opened.hub.settings.demo_banks_secret
    before = opened.hub.secrets.get(name)
    opened.hub.secrets.put(name, {"two": before["two"]})
    install(opened.hub, opened.hub.openbanking.banks)
    after = opened.hub.secrets.get(name)
    assert after["two"] == before["two"]
    assert after["one"]["api_key"] != before["one"]["api_key"]
    key = signatures.load_private_key(after["one"]["signing_key"]).public_key()
    assert opened.hub.openbanking.banks.get("DEMOGB21").public_keys == (signatures.public_pem(key),)


def test_registering_a_removed_bank_again_preserves_the_signing_key_of_the_bank(opened: Causeway) -> None:
    name = opened.hub.settings.demo_banks_secret
    before = opened.hub.secrets.get(name)
    opened.hub.openbanking.banks.remove("DEMODEF1")
    install(opened.hub, opened.hub.openbanking.banks)
    after = opened.hub.secrets.get(name)
    assert after["two"]["signing_key"] == before["two"]["signing_key"]
    assert after["two"]["api_key"] != before["two"]["api_key"]


def test_a_change_of_the_service_address_changes_the_domain_of_the_banks(opened: Causeway) -> None:
    opened.hub.openbanking.banks.change("DEMOGB21", domain="http://127.0.0.1:9999/demo-bank/one")
    install(opened.hub, opened.hub.openbanking.banks)
    assert opened.hub.openbanking.banks.get("DEMOGB21").domain == f"{opened.hub.settings.public_url}/demo-bank/one"


def test_a_rotated_api_key_is_stored_at_the_bank(opened: Causeway) -> None:
    opened.hub.openbanking.banks.rotate_api_key("DEMOGB21")
    install(opened.hub, opened.hub.openbanking.banks)
    kept = opened.hub.secrets.get(opened.hub.settings.demo_banks_secret)["one"]["api_key"]
    assert opened.hub.openbanking.banks.outbound_key(opened.hub.openbanking.banks.get("DEMOGB21")) == kept


def test_installing_the_fault_banks_does_not_change_credentials_of_existing_banks(opened: Causeway) -> None:
    name = opened.hub.settings.demo_banks_secret
    before = opened.hub.secrets.get(name)
    for bic in ("DEMOGB2F", "DEMODE2F"):
        opened.hub.openbanking.banks.remove(bic)
    opened.hub.secrets.put(name, {bank: before[bank] for bank in ("one", "two")})

    banks = install(opened.hub, opened.hub.openbanking.banks)

    after = opened.hub.secrets.get(name)
    assert {bank: after[bank] for bank in ("one", "two")} == {bank: before[bank] for bank in ("one", "two")}
    assert [(bank.bic, bank.api_version, bank.name) for bank in banks[2:]] == [
        ("DEMOGB2F", 1, "Demo Fault Bank One"),
        ("DEMODE2F", 2, "Demo Fault Bank Two"),
    ]
    assert set(after) == {"one", "two", "faults-one", "faults-two"}


@pytest.mark.parametrize(("bank", "names"), [("dev", set(BANK_PEMS)), ("prod", set())])
def test_every_stage_except_production_serves_the_pages_of_all_banks(bank: str, names: set[str]) -> None:
    code = "import json, app; print(json.dumps([path for path in app.app.routes if path.startswith('/demo-bank')]))"
    environ = {**os.environ, "STAGE": bank, "PUBLIC_URL": "https://hub.example", "BANK_API_URL": "https://hub.example"}

    printed = subprocess.run([sys.executable, "-c", code], env=environ, capture_output=True, text=True, check=True)

    assert {path.split("/")[2] for path in json.loads(printed.stdout.splitlines()[-1])} == names
