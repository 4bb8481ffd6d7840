"""The kinds of requests of open banking: how each is set up, and the request itself."""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

from app import app
from infra.local.events import sqs_event
from tests.openbanking.examples import BY_WEBHOOK
from tests.openbanking.flows.test_payment_initiation import Payer, taken
from tests.openbanking.stage import Stage
from tests.world import World

Run = Callable[[], Any]
LATER = {"prefer": "respond-async"}
TRANSACTIONS = 50
"""So many are on the page of transactions that is played."""


@dataclass(frozen=True, slots=True)
class Play:
    """One kind of work.

    Attributes:
        set_up: has a world be as it is before, and answers the request itself.
        within: what holds of the world meanwhile.
        function: what of the application does it; empty for the one that answers requests.
    """

    name: str
    title: str
    set_up: Callable[[World], Run]
    within: Callable[[World], AbstractContextManager[Any]] = nullcontext
    function: str = ""


_PAYMENTS = itertools.count(1)
"""A payment_id stays with its first order: each play of a process has one of its own, as short as a bank's."""


def relayed(webhook: str) -> Callable[[World], Run]:
    """A read that a bank answers with one record."""

    def set_up(world: World) -> Run:
        row, stage = BY_WEBHOOK[webhook], Stage(world)
        ok(stage.ask(row))
        return lambda: ok(stage.ask(row))

    return set_up


def page_of_transactions(world: World) -> Run:
    """A read that a bank answers with many."""
    row, stage = BY_WEBHOOK["/v2_account_transactions"], Stage(world)
    booked = row.answer["transactions"]["booked"]
    answer = row.answer | {"transactions": {"booked": booked * TRANSACTIONS, "pending": []}}
    ok(stage.ask(row, answer=answer))
    return lambda: ok(stage.ask(row, answer=answer))


def ok(answer: Any, status: int = 200) -> Any:
    assert answer.status == status, answer
    return answer


def authorize(world: World) -> Run:
    world.authorize(1)
    return lambda: world.authorize(1)


def init_authorization(world: World) -> Run:
    world.tokens(1)
    url = world.authorize(1)["redirect_url"]
    return lambda: ok(world.bank(1, "/init_authorization", {"request_url": url}))


def consent(world: World) -> Run:
    world.tokens(1)
    url = world.authorize(1)["redirect_url"]
    return lambda: ok(world.bank(1, "/consent", world.consent_body(1, url)))


def token(world: World) -> Run:
    world.tokens(1)
    code = world.approve(1).query["code"]
    return lambda: ok(world.tpp("POST", "/tpp/token", {"code": code}))


def refresh(world: World) -> Run:
    tokens = world.tokens(1)
    return lambda: ok(world.tpp("POST", "/tpp/token", {"refresh_token": tokens["refresh_token"]}))


def payment(version: int) -> Callable[[World], Run]:
    """A payment of a one-time consent under an ``Idempotency-Key``."""

    def set_up(world: World) -> Run:
        before = Payer(world, version, "direct")
        before.bank_does(taken(version, "P-0"))
        ok(before.pay())
        payer = Payer(world, version, consent_type="one_time")
        return lambda: ok(payer.pay(str(uuid.uuid4())))

    return set_up


def report(world: World) -> Run:
    """A bank's report on a payment whose client is told."""
    payer, payment_id = Payer(world, 2, consent_type="one_time"), f"C-{next(_PAYMENTS)}"
    world.wants_events()
    payer.bank_does(taken(2, payment_id))
    ok(payer.pay())
    return lambda: ok(payer.report("ACSC", payment_id))


def status(world: World) -> Run:
    payer, payment_id = Payer(world, 2), f"C-{next(_PAYMENTS)}"
    payer.bank_does(taken(2, payment_id))
    ok(payer.pay())
    payer.side.answers["/v2_payment_single_status"] = lambda sent: {"transaction_status": "ACSC"}
    return lambda: ok(payer.status(payment_id))


def event(world: World) -> Run:
    report(world)()
    return delivered(world)


def delivered(world: World) -> Run:
    """What carries out the delivery that is queued, as the queue hands it over."""
    [delivery_id] = world.queued()
    message = {"MessageId": "1", "ReceiptHandle": "1", "Body": delivery_id, "MD5OfBody": "0"}
    handed = sqs_event([message], "arn:aws:sqs:eu-west-1:1:deliveries", "eu-west-1")
    return lambda: app.handler_map["deliver"](handed, None)


def accepted(world: World) -> Run:
    row, stage = BY_WEBHOOK["/v2_accounts"], Stage(world)
    assert stage.ask(row).status == 200
    return lambda: ok(stage.ask(row, headers=LATER), 202)


def carried_out(world: World) -> Run:
    accepted(world)()
    return delivered(world)


def outcome(world: World) -> Run:
    row, stage = BY_WEBHOOK["/v2_accounts"], Stage(world)
    bearer = stage.bearer(2)
    request_id = ok(stage.ask(row, headers=LATER), 202).body["request_id"]
    delivered(world)()
    assert world.delivery(request_id).state == "delivered"
    return lambda: ok(world.tpp("GET", f"/tpp/requests/{request_id}", bearer=bearer))


OPEN_BANKING = (
    Play("read_v1", "relayed read, version 1: accounts", relayed("/accounts")),
    Play("read_v2", "relayed read, version 2: accounts", relayed("/v2_accounts")),
    Play("transactions", f"relayed read: {TRANSACTIONS} transactions", page_of_transactions),
    Play("authorize", "authorize", authorize),
    Play("init_authorization", "init_authorization", init_authorization),
    Play("consent", "consent", consent),
    Play("token", "code for tokens", token),
    Play("refresh", "refresh", refresh),
    Play("payment_v1", "payment with a key, version 1", payment(1)),
    Play("payment_v2", "payment with a key, version 2", payment(2)),
    Play("payment_status", "payment status asked", status),
    Play("payment_report", "payment status reported, client told", report),
    Play("event", "event delivered", event, function="deliver"),
    Play("accepted", "read accepted for later", accepted),
    Play("carried_out", "accepted read carried out", carried_out, function="deliver"),
    Play("outcome", "its outcome fetched", outcome),
)
