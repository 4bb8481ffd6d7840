"""Transfers per second, of one account and of many, beside a bare script that makes the same calls of DynamoDB Local.

Clients are threads of this process. They share its processor with the engine as separate processes would: where both
are busy to the last, neither way is faster.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import secrets
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from typing import Any

import boto3

from chalicelib.bootstrap import Hub
from chalicelib.cards.protocol.values import API_VERSION
from chalicelib.foundation.keyring import Keyring
from chalicelib.foundation.settings import Settings
from infra import template
from infra.local.dynamodb_local import DynamoDBLocal
from infra.local.resources import STAGE, make_tables
from infra.programme import file, loading
from tests.bench.bare_transfer import DESTINATION, BareTransfer
from tests.cards.scenes import EVERYDAY_ACCOUNT, GBP, HOLDER_BLOCK
from tests.foundation.fakes import FakeKms, FakeSecrets

CLIENTS = (1, 8, 32)
MANY_ACCOUNTS = 64
GOAL = 0.7
SECONDS, ROUNDS = 4.0, 2
"""How long one run takes, and how many there are of each, in turns."""
_FUNDS = 1_000_000
_MEMBERS = {f"destination_{name}": value for name, value in DESTINATION.items()}

Pay = Callable[[int], bool]
"""Makes a transfer of a penny from an address; whether it came about."""


class Ours:
    """The service in this process, for a programme manager with ``credentials``."""

    def __init__(self, hub: Hub, credentials: Mapping[str, str]) -> None:
        self._hub = hub
        self._envelope = {**credentials, "api_version": API_VERSION}
        self._references = map(f"{secrets.token_hex(8)}-{{:09}}".format, itertools.count())

    def __call__(self, address_id: int) -> bool:
        paying = {"epm_address_id": address_id, "currency_ison": GBP, "amount": 1, **_MEMBERS}
        reference = {"request_reference_id": next(self._references)}
        return bool(self._ask("transferToExternalPayment", **paying, **reference)["status"] == "success")

    def address(self) -> int:
        """A new address in the UK, and money on its account."""
        of_account = {"currency_ison": GBP, "account_status": "A", "program_id": EVERYDAY_ACCOUNT}
        account = self._data("createAccount", **of_account, skip_holder_validation=0, **HOLDER_BLOCK)["id"]
        addresses = self._data("assignExternalPaymentAddress", account_id=account, epm_method_id=1, currency_ison=GBP)
        number: int = addresses[0]["id"]
        coming = {"epm_address_id": number, "amount": _FUNDS, "currency_ison": GBP, "scheme": "fps"}
        self._data("simulateInboundPayment", **coming, sender_name="Bench")
        if not self(number):  # from now on there are counters of payments out, which the bare script adds to
            raise AssertionError("the first transfer failed")
        return number

    def _data(self, action: str, **members: Any) -> Any:
        answer = self._ask(action, **members)
        if answer["status"] != "success":
            raise AssertionError(answer)
        return answer["data"]

    def _ask(self, action: str, **members: Any) -> Any:
        room = self._hub.card_simulator if action.startswith("simulate") else self._hub.card_api
        return json.loads(room.answer(json.dumps({**self._envelope, "action": action, **members}).encode()))


@contextlib.contextmanager
def engine() -> Iterator[tuple[Ours, BareTransfer]]:
    """The service and the bare script on a DynamoDB Local of their own. Raises: EngineFailed."""
    before, local = dict(os.environ), DynamoDBLocal()
    try:
        os.environ |= {
            "AWS_ENDPOINT_URL_DYNAMODB": local.wait(),
            "AWS_ACCESS_KEY_ID": "bench",
            "AWS_SECRET_ACCESS_KEY": "bench",
            "AWS_DEFAULT_REGION": "eu-west-1",
            "NO_PROXY": "127.0.0.1",
        }
        make_tables(boto3.client("dynamodb"), template.Template(template.load(), Stage=STAGE))
        hub = Hub(Settings.from_environment({"STAGE": STAGE}))
        kept = FakeSecrets()
        hub.__dict__ |= {"secrets": kept, "keyring": Keyring(kept, FakeKms(), "keys", hub.clock)}
        hub.card_keys._kms = FakeKms()
        hub.keyring.initialise()
        hub.card_keys.initialise()
        (plan, *_) = loading.load(hub, file.read(file.DEMO.read_text(encoding="utf-8"), STAGE))
        yield Ours(hub, asdict(plan.secrets["full"])), bare(hub)
    finally:
        local.stop()
        os.environ.clear()
        os.environ.update(before)


def bare(hub: Hub) -> BareTransfer:
    """The bare script on the tables of a process."""
    config = boto3.session.Config(max_pool_connections=max(CLIENTS), parameter_validation=False)
    return BareTransfer(boto3.client("dynamodb", config=config), hub.settings.prefix)


@dataclass(frozen=True)
class Speed:
    """Transfers per second of the bare script and of the service."""

    bare: float
    ours: float

    @property
    def ratio(self) -> float:
        return self.ours / self.bare

    def __str__(self) -> str:
        return f"{self.ours:5.1f} a second, {self.ratio:.2f} of the bare script's {self.bare:5.1f}"


def speed(ours: Pay, bare: Pay, addresses: Sequence[int], clients: int, rounds: int = ROUNDS) -> Speed:
    """Both in turns, so that the machine's moods hit both."""
    pairs = [(_made(bare, addresses, clients), _made(ours, addresses, clients)) for _ in range(rounds)]
    each_took = SECONDS * rounds
    return Speed(sum(first for first, _ in pairs) / each_took, sum(second for _, second in pairs) / each_took)


def _made(pay: Pay, addresses: Sequence[int], clients: int) -> int:
    """How many transfers were answered in time, by clients that go from address to address."""
    barrier = threading.Barrier(clients)

    def play(client: int) -> int:
        barrier.wait()
        made, until = 0, time.perf_counter() + SECONDS
        for place in itertools.count(client, clients):
            came_about = pay(addresses[place % len(addresses)])
            if time.perf_counter() > until:
                return made
            made += came_about
        raise AssertionError("unreachable")

    with ThreadPoolExecutor(clients) as pool:
        return sum(pool.map(play, range(clients)))
