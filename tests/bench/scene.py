"""The scene of the benchmarks: AWS and a bank in processes of their own, TPPs, and a programme manager with cards."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
_BIC = "BENCGB21"


@dataclass(frozen=True)
class Stub:
    """The process of ``stub_server``; ``aws`` and ``bank`` are addresses."""

    aws: str
    bank: str

    def ask(self, what: str) -> Any:
        """Begin to ``record`` or to ``replay``, or get the ``exchanges`` since it was last asked."""
        connection = http.client.HTTPConnection(self.aws.partition("//")[2])
        with contextlib.closing(connection):
            connection.request("POST", f"/-/{what}")
            return json.loads(connection.getresponse().read() or b"null")


@dataclass(frozen=True)
class Cards:
    """The members of every request, and what a programme manager has: a card and an address, both with money."""

    envelope: dict[str, Any]
    card: int
    account: int
    address: int


@dataclass(frozen=True)
class Scene:
    stub: Stub
    works: Any


@contextlib.contextmanager
def scene() -> Iterator[Scene]:
    """Set this process's environment up, so that it and its children call AWS and the bank of the scene."""
    from chalicelib import bootstrap

    before = dict(os.environ)
    children = [_child("infra.local.emulator")]
    try:
        children.append(_child("tests.bench.stub_server", _first_line(children[0])))
        aws, bank = (f"http://127.0.0.1:{port}" for port in _first_line(children[1]).split())
        os.environ |= {
            "AWS_ENDPOINT_URL": aws,
            "AWS_ACCESS_KEY_ID": "bench",
            "AWS_SECRET_ACCESS_KEY": "bench",
            "AWS_DEFAULT_REGION": "eu-west-1",
            "AWS_EC2_METADATA_DISABLED": "true",
            "STAGE": "local",
            "NO_PROXY": "127.0.0.1",
        }
        yield Scene(Stub(aws, bank), _furnished(bank))
    finally:
        bootstrap.use(None)
        for child in children:
            child.kill()
            child.communicate()
        os.environ.clear()
        os.environ.update(before)


def _furnished(domain: str) -> Any:
    """The requests of a new process, whose service, in this process, has nothing but the demonstration programme."""
    from chalicelib import bootstrap
    from chalicelib.foundation.crypto import signatures
    from chalicelib.foundation.settings import Settings
    from chalicelib.openbanking.records.bank_record import NewBank
    from infra.local.resources import create_resources
    from tests.bench.works import Works

    create_resources(emulated=True, dynamodb_apart=False)
    hub = bootstrap.Hub(Settings.from_environment(os.environ))
    bootstrap.use(hub)
    hub.keyring.initialise()
    signing_keys = hub.secrets.get(hub.settings.keys_secret)["signing_keys"]
    os.environ["BENCH_KEY"] = signing_keys[0]["pem"]
    clients = {
        name: hub.openbanking.clients.create(owner="bench@example.com", title="Bench", events_url=url).client.client_id
        for name, url in (("quiet", None), ("notified", f"{domain}/events"))
    }
    key = signatures.load_private_key(signatures.generate_private_pem())
    new = NewBank(_BIC, "Bench Bank", "GB", 1, domain, f"{domain}/authorize", [signatures.public_pem(key.public_key())])
    bank, api_key = hub.openbanking.banks.add(new)
    return Works(hub, clients, bank, (api_key, key), _cards(hub))


def _cards(hub: Any) -> Cards:
    from chalicelib.cards.protocol.values import API_VERSION
    from infra.programme import file, loading
    from tests.bench.authorizations import Authorizations
    from tests.bench.transfers import Transfers

    hub.cards.keys.initialise()
    (plan, *_) = loading.load(hub, file.read_programmes(file.DEMO.read_text(encoding="utf-8"), "local"))
    credentials = asdict(plan.secrets["full"])
    paying, spending = Transfers(hub, credentials), Authorizations(hub, credentials)
    card, address = spending.card(), paying.address()
    account = spending.data("getAccounts", card_id=card)[0]["id"]
    return Cards({"api_version": API_VERSION, **credentials}, card, account, address)


def _child(module: str, *arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", module, *arguments]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT)


def _first_line(child: subprocess.Popen[str]) -> str:
    assert child.stdout is not None
    return child.stdout.readline().strip()
