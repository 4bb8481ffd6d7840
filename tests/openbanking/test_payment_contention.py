"""Tests of parallel orders with one X-Request-Id in several processes: only one TPP's order reaches the bank."""

import uuid
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest

from chalicelib.foundation import jsontext
from chalicelib.foundation.dynamodb.store import StoreError
from chalicelib.foundation.http.outbound import NotReached
from chalicelib.foundation.http.web import Incoming
from chalicelib.foundation.identifiers import OpaqueToken
from chalicelib.openbanking.bank_client.bank_client import BankAnswer
from chalicelib.openbanking.flows.payments.initiation import initiate_payment
from chalicelib.openbanking.oauth.tpp_request import TppCredentials
from chalicelib.openbanking.protocol.errors import Fault, Refusal
from chalicelib.openbanking.protocol.webhooks import PAYMENTS
from chalicelib.openbanking.records.consents import consent_key
from chalicelib.openbanking.records.payments import payment_key
from tests.cards.contest import MANY, PROCESSES, at_once
from tests.causeway import Causeway
from tests.openbanking.kit import ReceivedRequest
from tests.openbanking.payments import SCOPES, order, payment_answer

pytestmark = [pytest.mark.dynamodb, pytest.mark.faults]

(CALL,) = [call for call in PAYMENTS if call.kind == "single"]
WEBHOOK = {1: "/payment_initiation", 2: "/v2_payment_single"}


@dataclass(frozen=True)
class Tpp:
    """A client with one bearer. For one-time consents, the client has a bearer for each caller."""

    client_id: str
    bearers: list[str]


class Contest:
    def __init__(self, causeway: Causeway, version: int, consent_type: str) -> None:
        self.causeway = causeway
        self.version = version
        self.bank = causeway.banks[version]
        self.hubs = [causeway.another_process() for _ in range(PROCESSES)]
        for hub in self.hubs:
            hub.__dict__["outbound"] = causeway.hub.outbound
            hub.openbanking.banks.find(self.bank.bic)
        self.tpps = [self._tpp(name, consent_type) for name in ("one", "other")]
        self.bank.answers[WEBHOOK[version]] = self._take

    def pay(self, request_id: str) -> list[Any]:
        """Make payments from all callers in parallel, alternating the TPPs. Return the responses, refusals and storage
        errors.
        """
        return at_once([partial(self._paid, number, request_id) for number in range(MANY)])

    def spent(self) -> int:
        tokens = [OpaqueToken.parse(bearer, parts=3) for tpp in self.tpps for bearer in tpp.bearers]
        items = [self.causeway.hub.store.get(*consent_key(token.ids[0])) for token in tokens if token]
        return sum(item is not None and item["status"] == "spent" for item in items)

    def _paid(self, number: int, request_id: str) -> Any:
        hub, tpp = self.hubs[number % PROCESSES].openbanking, self.tpps[number % 2]
        credentials = TppCredentials(tpp.client_id, bearer=tpp.bearers[number // 2 % len(tpp.bearers)])
        body = jsontext.dumps(order(self.causeway, self.version, "single")).encode()
        sent = Incoming("POST", CALL.path, {}, (), body, {}, {}, request_id)
        try:
            return hub.call(initiate_payment, CALL, credentials, sent)
        except Refusal as refusal:
            return refusal.fault
        except StoreError as error:
            return error

    def _tpp(self, name: str, consent_type: str) -> Tpp:
        self.causeway.tpp.client = self.causeway.hub.openbanking.clients.create(
            owner=f"{name}@example.com", title=name
        ).client
        scopes, each = SCOPES[self.version], 1 if consent_type == "reusable" else MANY // 2
        tokens = [self.causeway.tpp.tokens(self.version, scopes=scopes, consent_type=consent_type) for _ in range(each)]
        return Tpp(self.causeway.tpp.client_id, [pair["access_token"] for pair in tokens])

    def _take(self, sent: ReceivedRequest) -> Any:
        """Respond with a payment id derived from the order's request id, so that a retry returns the first payment."""
        return payment_answer(self.version, sent.headers["X-Request-Id"])


@pytest.mark.parametrize("version", [1, 2])
def test_of_parallel_orders_of_two_tpps_with_one_request_id_only_one_reaches_the_bank(
    causeway: Causeway, version: int
) -> None:
    contest, request_id = Contest(causeway, version, "reusable"), str(uuid.uuid4())

    answers = contest.pay(request_id)

    sides = [answers[::2], answers[1::2]]
    won, lost = sorted(sides, key=lambda got: sum(isinstance(each, BankAnswer) for each in got), reverse=True)
    assert all(each is Fault.HEADERS or is_storage(each) for each in lost)
    assert Fault.HEADERS in lost
    good = [each.body["payment_id"] for each in won if isinstance(each, BankAnswer)]
    assert set(good) == {request_id}
    assert len(contest.bank.received) == len(good)
    assert all(isinstance(each, BankAnswer) or is_storage(each) for each in won)
    assert len({sent.headers["X-Auth-Token"] for sent in contest.bank.received}) == 1
    payment = causeway.hub.store.get(*payment_key(contest.bank.bic, request_id))
    assert payment is not None
    assert payment["client_id"] == contest.tpps[0 if won is sides[0] else 1].client_id


@pytest.mark.parametrize("version", [1, 2])
def test_50_parallel_orders_with_one_request_id_use_only_one_consent(causeway: Causeway, version: int) -> None:
    contest = Contest(causeway, version, "one_time")

    answers = contest.pay(str(uuid.uuid4()))

    assert len(contest.bank.received) == 1
    assert sum(isinstance(each, BankAnswer) for each in answers) == 1
    assert all(isinstance(each, BankAnswer) or each is Fault.HEADERS or is_storage(each) for each in answers)
    assert contest.spent() == 1


def test_50_orders_with_one_request_id_that_were_never_sent_release_the_request_id(causeway: Causeway) -> None:
    contest, request_id = Contest(causeway, 1, "reusable"), str(uuid.uuid4())
    contest.bank.answers[WEBHOOK[1]] = lambda sent: NotReached("no connection")
    contest.pay(request_id)

    (claim,) = [item for item in causeway.hub.store.scan("idempotency") if item["claim"].endswith(request_id)]
    assert claim["sendings"] == 0


def is_storage(answer: object) -> bool:
    """Return whether contention prevented the write, so that the caller can retry."""
    return isinstance(answer, StoreError)
