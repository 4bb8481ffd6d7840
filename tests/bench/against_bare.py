"""The service in this process beside a bare script: how many requests a second either makes on one DynamoDB Local.

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
from typing import Any, TypeVar

import boto3

from chalicelib.bootstrap import Hub
from chalicelib.cards.protocol.values import API_VERSION
from chalicelib.foundation.crypto.keyring import Keyring
from chalicelib.foundation.settings import Settings
from infra.deploy import template
from infra.local.dynamodb_local import DynamoDBLocal
from infra.local.resources import STAGE, make_tables
from infra.programme import file, loading
from tests.bench.bare_calls import BareScript
from tests.cards.issuer import GBP, UK
from tests.foundation.fakes import FakeKms, FakeSecrets

B = TypeVar("B", bound=BareScript)

CLIENTS = (1, 8, 32)
MANY = 64
"""So many records the requests are spread over where they are not all about one."""
GOAL = 0.7
SECONDS, ROUNDS = 4.0, 2
"""How long one run takes, and how many there are of each, in turns."""

Make = Callable[[int], bool]
"""Makes one request about a record; whether it came about."""


class Service:
    """The service in this process, for a programme manager with ``credentials``."""

    def __init__(self, hub: Hub, credentials: Mapping[str, str]) -> None:
        self._hub = hub
        self._envelope = {**credentials, "api_version": API_VERSION}
        self._references = map(f"{secrets.token_hex(8)}-{{:09}}".format, itertools.count())

    def once(self, action: str, **members: Any) -> Any:
        """The envelope that a request with a new reference is answered with."""
        return self._ask(action, **members, request_reference_id=next(self._references))

    def data(self, action: str, **members: Any) -> Any:
        """The data of an action that has to succeed."""
        answer = self._ask(action, **members)
        if answer["status"] != "success":
            raise AssertionError(answer)
        return answer["data"]

    def funded(self, account: int, amount: int) -> int:
        """A new address of an account in pounds, which so much has come to."""
        opening = {"account_id": account, "epm_method_id": UK, "currency_ison": GBP}
        number: int = self.data("assignExternalPaymentAddress", **opening)[0]["id"]
        coming = {"epm_address_id": number, "amount": amount, "currency_ison": GBP, "scheme": "fps"}
        self.data("simulateInboundPayment", **coming, sender_name="Bench")
        return number

    def _ask(self, action: str, **members: Any) -> Any:
        room = self._hub.cards.simulator if action.startswith("simulate") else self._hub.cards.api
        return json.loads(room.answer(json.dumps({**self._envelope, "action": action, **members}).encode()).text)


@contextlib.contextmanager
def engine() -> Iterator[tuple[Hub, Mapping[str, str]]]:
    """``service`` on a DynamoDB Local of its own. Raises: EngineFailed."""
    with DynamoDBLocal() as local, service(local.wait()) as hub_and_credentials:
        yield hub_and_credentials


@contextlib.contextmanager
def service(address: str) -> Iterator[tuple[Hub, Mapping[str, str]]]:
    """A process of the service on the DynamoDB at ``address``, and a credential."""
    before = dict(os.environ)
    try:
        os.environ |= {
            "AWS_ENDPOINT_URL_DYNAMODB": address,
            "AWS_ACCESS_KEY_ID": "bench",
            "AWS_SECRET_ACCESS_KEY": "bench",
            "AWS_DEFAULT_REGION": "eu-west-1",
            "NO_PROXY": "127.0.0.1",
        }
        make_tables(boto3.client("dynamodb"), template.Template(template.load(), Stage=STAGE))
        hub = Hub(Settings.from_environment({"STAGE": STAGE}))
        kept = FakeSecrets()
        hub.__dict__ |= {"secrets": kept, "keyring": Keyring(kept, FakeKms(), "keys", hub.clock)}
        hub.cards.keys._kms = FakeKms()
        hub.keyring.initialise()
        hub.cards.keys.initialise()
        (plan, *_) = loading.load(hub, file.read_programmes(file.DEMO.read_text(encoding="utf-8"), "local"))
        yield hub, asdict(plan.secrets["full"])
    finally:
        os.environ.clear()
        os.environ.update(before)


def bare(script: type[B], hub: Hub) -> B:
    """A bare script on the tables of a process."""
    config = boto3.session.Config(max_pool_connections=max(CLIENTS), parameter_validation=False)
    return script(boto3.client("dynamodb", config=config), hub.settings.prefix)


@dataclass(frozen=True)
class Speed:
    """Requests per second of the bare script and of the service."""

    bare: float
    ours: float

    @property
    def ratio(self) -> float:
        return self.ours / self.bare

    def __str__(self) -> str:
        return f"{self.ours:5.1f} a second, {self.ratio:.2f} of the bare script's {self.bare:5.1f}"


def speed(ours: Make, bare: Make, places: Sequence[int], clients: int, seconds: float = SECONDS) -> Speed:
    """Both in turns of so many seconds, so that the machine's moods hit both."""
    pairs = [(_made(bare, places, clients, seconds), _made(ours, places, clients, seconds)) for _ in range(ROUNDS)]
    each_took = seconds * ROUNDS
    return Speed(sum(first for first, _ in pairs) / each_took, sum(second for _, second in pairs) / each_took)


def _made(make: Make, places: Sequence[int], clients: int, seconds: float) -> int:
    """How many requests were answered in time, by clients that go from record to record."""
    barrier = threading.Barrier(clients)

    def play(client: int) -> int:
        barrier.wait()
        made, until = 0, time.perf_counter() + seconds
        for place in itertools.count(client, clients):
            came_about = make(places[place % len(places)])
            if time.perf_counter() > until:
                return made
            made += came_about
        raise AssertionError("unreachable")

    with ThreadPoolExecutor(clients) as pool:
        return sum(pool.map(play, range(clients)))
