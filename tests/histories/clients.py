"""Clients: each has a process of the service, which it calls, and which dies at a call of the storage that is drawn.

The process is killed with ``SIGKILL`` before the call or after it was carried out; the next operation has a new one.
"""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
from collections.abc import Callable, Mapping
from dataclasses import dataclass
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
from tests.cards.issuer import Issuer
from tests.causeway import Answer, Causeway
from tests.histories.checker import UNKNOWN
from tests.histories.models import IN_PROGRESS, OK, REFUSED
from tests.kit.logs import silent
from tests.openbanking.kit import Bank, Sent
from tests.openbanking.payments import WEBHOOKS, order, payment_answer

_START = multiprocessing.get_context("forkserver")
_APPROVED, _TOO_LITTLE = "00", "51"
_LATEST_CALL = 6
"""Requests make fewer calls."""


@dataclass(frozen=True)
class Surroundings:
    """What clients find: storage, the items of a TPP and of banks by version, and the objects by name.

    Attributes:
        environment: the way to the storage.
        accounts: the card, the account, and the payment address of each.
        payer: a bearer for payments at the bank of version 2.
    """

    environment: Mapping[str, str]
    client: Item
    banks: Mapping[int, Item]
    card_secrets: Mapping[str, Mapping[str, str]]
    accounts: Mapping[str, tuple[int, int, Any]]
    codes: Mapping[str, str]
    payer: str


@dataclass(frozen=True)
class Order:
    """A call on an object, and at which call of the storage the process dies, if it does; negative: after that call."""

    kind: str
    subject: str
    call: tuple[Any, ...]
    dies_at: int | None


class Client:
    """Gives orders to its process, one after the other."""

    def __init__(self, surroundings: Surroundings) -> None:
        self._surroundings = surroundings
        self._process: Any = None
        self.deaths = 0

    def carry_out(self, order: Order) -> Any:
        """The outcome: ``UNKNOWN`` if the process died."""
        if self._process is None:
            self._connection, theirs = _START.Pipe()
            self._process = _START.Process(target=_live, args=(theirs, self._surroundings), daemon=True)
            self._process.start()
            theirs.close()
        self._connection.send(order)
        try:
            return self._connection.recv()
        except EOFError:
            assert order.dies_at is not None, "a process ended of itself"
            self.deaths += 1
            self.end()
            return UNKNOWN

    def end(self) -> None:
        if self._process is not None:
            self._connection.close()
            self._process.join()
            self._process = None


def preload() -> None:
    """Have new processes be forked from one that has read all modules."""
    _START.set_forkserver_preload(["tests.histories.clients", "app"])


def draw_death(draw: random.Random, share: float) -> int | None:
    """When a process dies, which it does in such a ``share`` of its requests."""
    return draw.randint(1, _LATEST_CALL) * draw.choice((-1, 1)) if draw.random() < share else None


def _live(connection: Connection, surroundings: Surroundings) -> None:
    os.environ.update(surroundings.environment)
    requests, dying = _Requests(surroundings), _Dying()
    calls.add_observer(dying.see)
    while True:
        try:
            order: Order = connection.recv()
        except EOFError:
            os._exit(0)
        dying.begin(order.dies_at)
        with silent():
            outcome = requests.by_kind[order.kind](order.subject, *order.call)
        connection.send(outcome)


class _Dying:
    """Counts calls of the storage, and kills the process at its last one."""

    def begin(self, dies_at: int | None) -> None:
        self._dies_at, self._made = dies_at, 0

    def see(self, call: Call, proceed: Proceed) -> Members:
        self._made += 1
        if self._made == self._dies_at:
            os.kill(os.getpid(), signal.SIGKILL)
        answer = proceed(call)
        if -self._made == (self._dies_at or 0):
            os.kill(os.getpid(), signal.SIGKILL)
        return answer


class _Requests:
    """What a client can do with each kind of object, and what it saw."""

    def __init__(self, surroundings: Surroundings) -> None:
        hub = bootstrap.Hub(Settings.from_environment(os.environ), Clock())
        bootstrap.use(hub)
        sides = {version: _side(bank) for version, bank in surroundings.banks.items()}
        self._causeway = Causeway(hub, sides)
        self._causeway.tpp.client = client_record.Client.from_item(surroundings.client)
        self._causeway.card_secrets = surroundings.card_secrets
        self._issuer = Issuer(self._causeway)
        self._surroundings = surroundings
        sides[2].answers[WEBHOOKS[2, "single"]] = _take_order
        sides[1].answers["/accounts"] = lambda sent: {"status": "success", "accounts": []}
        self.by_kind: Mapping[str, Callable[..., Any]] = {"account": self._money, "code": self._code, "key": self._key}

    def _money(self, subject: str, name: str, amount: int = 0) -> Any:
        card_id, account_id, address = self._surroundings.accounts[subject]
        if name == "read":
            answer = self._issuer.do("getAccounts", account_id=account_id)
            return answer.data[0]["available_balance"] if answer.data else UNKNOWN
        if name == "pay in":
            return self._pay_in(address, amount)
        members = {"card_id": card_id, "amount": amount, "currency_ison": address["currency_ison"]}
        answer = self._issuer.sim("simulateAuthorization", transaction_type=0, **members)
        code = (answer.data or {}).get("response_code", NOT_AVAILABLE)
        return {_APPROVED: OK, _TOO_LITTLE: REFUSED, NOT_AVAILABLE: UNKNOWN}[code]

    def _pay_in(self, address: Mapping[str, Any], amount: int) -> Any:
        members = {"epm_address_id": address["id"], "amount": amount, "currency_ison": address["currency_ison"]}
        answer = self._issuer.sim("simulateInboundPayment", scheme="SCT", sender_name="Bob", **members)
        return OK if answer.data and answer.data["state"] == "S" else UNKNOWN

    def _code(self, subject: str, name: str, bearer: str = "") -> Any:
        if name == "redeem":
            answer = self._causeway.tpp.call("POST", "/tpp/token", {"code": self._surroundings.codes[subject]})
            return (OK, answer.body["access_token"]) if answer.status == 200 else _outcome(answer, 400)
        answer = self._causeway.tpp.call("GET", "/tpp/accounts", bearer=bearer)
        return OK if answer.status == 200 else _outcome(answer, 401)

    def _key(self, subject: str, _: str, amount: str) -> Any:
        body, headers = order(self._causeway, 2, "single"), {"idempotency-key": subject}
        body["instructed_amount"] = {"amount": amount, "currency": "EUR"}
        bearer = self._surroundings.payer
        answer = self._causeway.tpp.call("POST", "/tpp/payment_initiation", body, bearer=bearer, headers=headers)
        return (OK, answer.body["payment_id"]) if answer.status == 200 else _outcome(answer, 400)


def _side(bank: Item) -> Bank:
    """A bank that only answers."""
    return Bank(bank_record.Bank.from_item(bank), "", None)  # type: ignore[arg-type]


def _outcome(answer: Answer, refused: int) -> str:
    """What an answer other than 200 means: a request that must not be repeated with another result is unknown."""
    return {refused: REFUSED, 409: IN_PROGRESS, 500: UNKNOWN, 502: UNKNOWN, 503: UNKNOWN}[answer.status]


def _take_order(sent: Sent) -> Any:
    """The bank knows an order by its id: it takes another one for another payment."""
    return payment_answer(2, f"P-{sent.headers['X-Request-Id']}")
