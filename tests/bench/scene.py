"""The scene of the benchmarks: an emulator and a bank in processes of their own, a client and a consent."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import uuid
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from chalicelib.bootstrap import Hub
    from chalicelib.openbanking.records.client_record import Client
    from chalicelib.openbanking.records.consents import TokenPair

ROOT = Path(__file__).resolve().parents[2]
_BIC = "BENCGB21"


@contextlib.contextmanager
def scene() -> Iterator[None]:
    """Set this process's environment up, so that ``Bare`` and ``Relayed`` (here or in a child) find what they need."""
    before = dict(os.environ)
    emulator, bank = _child("infra.local.emulator"), _child("tests.bench.stub_bank")
    try:
        os.environ |= {
            "AWS_ENDPOINT_URL": _first_line(emulator),
            "AWS_ACCESS_KEY_ID": "bench",
            "AWS_SECRET_ACCESS_KEY": "bench",
            "AWS_DEFAULT_REGION": "eu-west-1",
            "AWS_EC2_METADATA_DISABLED": "true",
            "STAGE": "local",
            "NO_PROXY": "127.0.0.1",
            "BENCH_BANK": f"http://127.0.0.1:{_first_line(bank)}",
        }
        _furnish()
        yield
    finally:
        for child in (emulator, bank):
            child.kill()
            child.communicate()
        os.environ.clear()
        os.environ.update(before)


def _furnish() -> None:
    from chalicelib.bootstrap import Hub
    from chalicelib.cards.protocol.values import API_VERSION
    from chalicelib.foundation.crypto import signatures
    from chalicelib.foundation.settings import Settings
    from chalicelib.openbanking.records.bank_record import NewBank
    from infra.local.resources import create_resources
    from infra.programme import file, loading
    from tests.bench.cards import CREATE_CARD

    create_resources(emulated=True, dynamodb_apart=False)
    hub = Hub(Settings.from_environment(os.environ))
    hub.keyring.initialise()
    client = hub.openbanking.clients.create(owner="bench@example.com", title="Bench").client
    domain = os.environ["BENCH_BANK"]
    hub.openbanking.banks.add(NewBank(_BIC, "Bench Bank", "GB", 1, domain, f"{domain}/authorize"))
    pairs = [_consent(hub, client, domain) for _ in range(3)]
    hub.cards.keys.initialise()
    (plan, *_) = loading.load(hub, file.read_programmes(file.DEMO.read_text(encoding="utf-8"), "local"))
    credentials = {"api_version": API_VERSION, **asdict(plan.secrets["full"])}
    request = json.dumps({"action": "createCard", **credentials, **CREATE_CARD}).encode()
    created = json.loads(hub.cards.flows.api.answer(request).text)
    os.environ |= {
        "BENCH_CARD_API": json.dumps({**credentials, "card_id": created["data"]["card_id"]}),
        "BENCH_TABLE": f"{hub.settings.prefix}-clients",
        "BENCH_CLIENT": client.client_id,
        "BENCH_BEARER": pairs[0].access_token,
        "BENCH_CONSENTS": f"{hub.settings.prefix}-consents",
        "BENCH_REFRESH": pairs[1].refresh_token,
        "BENCH_BARE_REFRESH": pairs[2].refresh_token,
        "BENCH_KEY": signatures.generate_private_pem(),
    }


def _consent(hub: Hub, client: Client, domain: str) -> TokenPair:
    """The tokens of a new consent of the client."""
    from chalicelib.openbanking.records.authorization_requests import NewAuthorizationRequest

    request = NewAuthorizationRequest(
        client.client_id, _BIC, 1, ("account.list",), client.callback_url, "reusable", str(uuid.uuid4()), None
    )
    authorization = hub.openbanking.authorization_requests.create(request, f"{domain}/authorize")
    new = hub.openbanking.consents.new(authorization, {"ibans": ["GB33BUKB20201555555555"]}, 180)
    hub.store.transact(new.operations)
    pair, operations = hub.openbanking.consents.first_pair(new.consent)
    hub.store.transact(operations)
    return pair


def _child(module: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", module]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT)


def _first_line(child: subprocess.Popen[str]) -> str:
    assert child.stdout is not None
    return child.stdout.readline().strip()
