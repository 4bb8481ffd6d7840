"""Recording of a history of operations while processes are killed and the storage stops.

Clients call the same objects concurrently. Each client has a separate process of the service. ``SIGKILL`` ends the
process before or after a randomly selected storage call. The next operation starts a new process.
"""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from typing import Any

from chalicelib import bootstrap
from chalicelib.cards.authorization.authorizer import NOT_AVAILABLE
from chalicelib.foundation.aws import calls
from chalicelib.foundation.aws.calls import Call, Members, Proceed
from chalicelib.foundation.clock import Clock
from chalicelib.foundation.dynamodb.store import Item
from chalicelib.foundation.settings import Settings
from chalicelib.openbanking.records import bank_record, client_record
from chalicelib.openbanking.records.consents import Consents
from tests.cards.issuer import Issuer
from tests.causeway import Answer, Causeway
from tests.chaos.storage import Engine, LateAnswers
from tests.histories.linearizability import FUNDS, IN_PROGRESS, OK, REFUSED, UNKNOWN, Operation
from tests.kit.logs import silent
from tests.kit.time import ManualClock
from tests.openbanking.kit import Bank
from tests.openbanking.payments import SCOPES, WEBHOOKS, order, payment_answer

CLIENTS = 8
_OBJECTS = 8
"""The number of objects of each kind. At any time, all clients work on the same object of a kind."""
_CODE_SECONDS = 24 * 3600
"""The validity of an authorization code in seconds, which is longer than a run on a slow machine."""
_PROCESSES = multiprocessing.get_context("forkserver")
_LATEST_CALL = 6
"""The maximum number of the storage call at which the test kills a process. A request makes fewer storage calls."""
_AUTHORIZATIONS = {"00": OK, "51": REFUSED, NOT_AVAILABLE: UNKNOWN}


@dataclass(frozen=True)
class Plan:
    """The number of ``operations``, the fraction of killed processes, and the number of seconds for which the storage
    stops.
    """

    seed: str
    engine: str
    operations: int
    deaths: float = 0.1
    frozen_seconds: float = 0.0


@dataclass
class History:
    operations: list[Operation] = field(default_factory=list)
    deaths: int = 0

    @property
    def unknown(self) -> int:
        return sum(not operation.is_known for operation in self.operations)

    @property
    def is_conclusive(self) -> bool:
        """Return whether at least half of the outcomes are known. Unknown outcomes match almost any order."""
        return self.unknown * 2 <= len(self.operations)


def record(plan: Plan) -> History:
    """Record the history of a plan. The seed determines the operations, and the machine affects their order."""
    _PROCESSES.set_forkserver_preload([__name__, "app"])
    engine = Engine(ManualClock(Clock().now()), LateAnswers(plan.seed), plan.engine)
    try:
        recorder = _Recorder(plan, _create_objects(engine))
        with _frozen(engine, plan.frozen_seconds, recorder.half), ThreadPoolExecutor(CLIENTS) as pool:
            list(pool.map(recorder.run_client, range(CLIENTS)))
        return recorder.history
    finally:
        engine.stop()


@contextmanager
def _frozen(engine: Engine, seconds: float, half: threading.Event) -> Iterator[None]:
    """Suspend the storage for some seconds after half of the operations have ended."""

    def freeze() -> None:
        half.wait()
        engine.freeze(seconds)

    thread = threading.Thread(target=freeze if seconds else half.wait, daemon=True)
    thread.start()
    try:
        yield
    finally:
        half.set()  # clients that failed do not reach half of the operations
        thread.join()


@dataclass(frozen=True)
class Objects:
    """The storage, a TPP, banks by version, and the objects by name.

    Attributes:
        environment: the environment variables that select the storage.
        accounts: the card, the account, and the payment address of each account.
        bearer: a bearer token for payments at the bank of version 2.
    """

    environment: Mapping[str, str]
    client: Item
    banks: Mapping[int, Item]
    card_secrets: Mapping[str, Mapping[str, str]]
    accounts: Mapping[str, tuple[int, int, Any]]
    codes: Mapping[str, str]
    bearer: str


def _create_objects(engine: Engine) -> Objects:
    causeway = Causeway.first(Clock())
    openbanking, names = causeway.hub.openbanking, [*map(str, range(_OBJECTS))]
    causeway.tpp.client = openbanking.clients.create(owner="tpp@example.com", title="Budget Friend").client
    openbanking.__dict__["consents"] = Consents(causeway.hub.vault, causeway.hub.clock, _CODE_SECONDS)
    issuer = Issuer(causeway)
    with causeway.installed():
        return Objects(
            environment=engine.environment,
            client=causeway.tpp.client.as_item(),
            banks={version: bank.record.to_item() for version, bank in causeway.banks.items()},
            card_secrets=causeway.card_secrets,
            accounts={name: _create_account(issuer) for name in names},
            codes={name: causeway.psu.approve(1).query["code"] for name in names},
            bearer=causeway.tpp.tokens(2, scopes=SCOPES[2])["access_token"],
        )


def _create_account(issuer: Issuer) -> tuple[int, int, Any]:
    card = issuer.spendable(FUNDS)
    return card.card_id, card.account_id, issuer.address(card.account_id, method=2)


class _Recorder:
    def __init__(self, plan: Plan, objects: Objects) -> None:
        self._plan = plan
        self._objects = objects
        self._bearers: dict[str, str] = {}
        self.history = History()
        self.half = threading.Event()
        """Set when half of the operations have ended."""

    def run_client(self, number: int) -> None:
        draw, client = random.Random(f"{self._plan.seed}/{number}"), Client(self._objects)
        share = self._plan.operations // CLIENTS
        for index in range(share):
            self._call(number, client, draw, subject=str(index * _OBJECTS // share))
        client.end()
        self.history.deaths += client.deaths

    def _call(self, number: int, client: Client, draw: random.Random, subject: str) -> None:
        kind, call = self._draw_call(draw, subject)
        dies = draw.random() < self._plan.deaths
        dies_at = draw.randint(1, _LATEST_CALL) * draw.choice((-1, 1)) if dies else None
        began = time.monotonic()
        outcome = client.call(ClientCall(kind, subject, call, dies_at))
        if call == ("redeem",) and isinstance(outcome, tuple):
            outcome, self._bearers[subject] = outcome
        self.history.operations.append(Operation(kind, subject, number, call, outcome, began, time.monotonic()))
        if len(self.history.operations) * 2 >= self._plan.operations:
            self.half.set()

    def _draw_call(self, draw: random.Random, subject: str) -> tuple[str, tuple[Any, ...]]:
        kind = draw.choice(("account", "code", "key"))
        if kind == "key":
            return kind, ("pay", draw.choice(("12.30", "12.30", "12.30", "45.60")))
        if kind == "code":
            bearer = self._bearers.get(subject)
            return kind, ("read", bearer) if bearer and draw.random() < 0.7 else ("redeem",)
        name = draw.choice(("read", "pay in", "purchase", "purchase"))
        return kind, (name,) if name == "read" else (name, draw.randint(1, FUNDS // 2))


# -- clients and their processes


@dataclass(frozen=True)
class ClientCall:
    """A call on an object. ``dies_at`` is the storage call before which the process is killed.

    If ``dies_at`` is negative, the process is killed after the storage call.
    """

    kind: str
    subject: str
    call: tuple[Any, ...]
    dies_at: int | None


class Client:
    def __init__(self, objects: Objects) -> None:
        self._objects = objects
        self._process: Any = None
        self.deaths = 0

    def call(self, call: ClientCall) -> Any:
        """Send a call and return its outcome. The outcome is ``UNKNOWN`` if the process was killed."""
        if self._process is None:
            self._connection, theirs = _PROCESSES.Pipe()
            self._process = _PROCESSES.Process(target=_serve, args=(theirs, self._objects), daemon=True)
            self._process.start()
            theirs.close()
        self._connection.send(call)
        try:
            return self._connection.recv()
        except EOFError:
            assert call.dies_at is not None, "a process ended of itself"
            self.deaths += 1
            self.end()
            return UNKNOWN

    def end(self) -> None:
        if self._process is not None:
            self._connection.close()
            self._process.join()
            self._process = None


def _serve(connection: Connection, objects: Objects) -> None:
    os.environ.update(objects.environment)
    requests, killer = _Requests(objects), _Killer()
    calls.add_observer(killer.observe)
    while True:
        try:
            call: ClientCall = connection.recv()
        except EOFError:
            return
        killer.begin(call.dies_at)
        with silent():
            outcome = requests.by_kind[call.kind](call.subject, *call.call)
        connection.send(outcome)


class _Killer:
    """A counter of storage calls that kills the process at the selected call."""

    def begin(self, dies_at: int | None) -> None:
        self._dies_at, self._calls = dies_at, 0

    def observe(self, call: Call, proceed: Proceed) -> Members:
        self._calls += 1
        if self._calls == self._dies_at:
            os.kill(os.getpid(), signal.SIGKILL)
        answer = proceed(call)
        if -self._calls == (self._dies_at or 0):
            os.kill(os.getpid(), signal.SIGKILL)
        return answer


class _Requests:
    def __init__(self, objects: Objects) -> None:
        hub = bootstrap.Hub(Settings.from_environment(os.environ), Clock())
        bootstrap.use(hub)
        banks = {version: _bank(item) for version, item in objects.banks.items()}
        self._causeway = Causeway(hub, banks)
        self._causeway.tpp.client = client_record.Client.from_item(objects.client)
        self._causeway.card_secrets = objects.card_secrets
        self._issuer = Issuer(self._causeway)
        self._objects = objects
        # the bank knows an order by its id: another id is another payment
        banks[2].answers[WEBHOOKS[2, "single"]] = lambda sent: payment_answer(2, f"P-{sent.headers['X-Request-Id']}")
        banks[1].answers["/accounts"] = lambda sent: {"status": "success", "accounts": []}
        self.by_kind: Mapping[str, Callable[..., Any]] = {"account": self._money, "code": self._code, "key": self._key}

    def _money(self, subject: str, name: str, amount: int = 0) -> Any:
        card_id, account_id, address = self._objects.accounts[subject]
        money = {"amount": amount, "currency_ison": address["currency_ison"]}
        if name == "read":
            answer = self._issuer.do("getAccounts", account_id=account_id)
            return answer.data[0]["available_balance"] if answer.data else UNKNOWN
        if name == "pay in":
            members = {"epm_address_id": address["id"], "scheme": "SCT", "sender_name": "Bob", **money}
            answer = self._issuer.sim("simulateInboundPayment", **members)
            return OK if answer.data and answer.data["state"] == "S" else UNKNOWN
        answer = self._issuer.sim("simulateAuthorization", transaction_type=0, card_id=card_id, **money)
        return _AUTHORIZATIONS[(answer.data or {}).get("response_code", NOT_AVAILABLE)]

    def _code(self, subject: str, name: str, bearer: str = "") -> Any:
        if name == "redeem":
            answer = self._causeway.tpp.call("POST", "/tpp/token", {"code": self._objects.codes[subject]})
            return (OK, answer.body["access_token"]) if answer.status == 200 else _outcome(answer, 400)
        answer = self._causeway.tpp.call("GET", "/tpp/accounts", bearer=bearer)
        return OK if answer.status == 200 else _outcome(answer, 401)

    def _key(self, subject: str, _: str, amount: str) -> Any:
        body, headers = order(self._causeway, 2, "single"), {"idempotency-key": subject}
        body["instructed_amount"] = {"amount": amount, "currency": "EUR"}
        bearer = self._objects.bearer
        answer = self._causeway.tpp.call("POST", "/tpp/payment_initiation", body, bearer=bearer, headers=headers)
        return (OK, answer.body["payment_id"]) if answer.status == 200 else _outcome(answer, 400)


def _bank(item: Item) -> Bank:
    return Bank(bank_record.Bank.from_item(item), "", None)  # type: ignore[arg-type]


def _outcome(answer: Answer, refused: int) -> str:
    """Return the outcome of an error response. The outcome is unknown if a retry may have a different result."""
    return {refused: REFUSED, 409: IN_PROGRESS, 500: UNKNOWN, 502: UNKNOWN, 503: UNKNOWN}[answer.status]
