"""What goes wrong at the service and is over again, and the figures that it writes meanwhile."""

from __future__ import annotations

import base64
from collections.abc import Callable
from functools import partial

import pytest

from app import app
from chalicelib.cards.payments import provider_orders
from chalicelib.cards.payments.pending_index import ASKING_SECONDS
from chalicelib.cards.reconciliation.rolling_proof import prove_accounts
from chalicelib.foundation.aws.errors import NotSent
from chalicelib.foundation.aws.queues import Queue
from chalicelib.openbanking.bank_client.bank_circuits import FAILURES
from chalicelib.openbanking.records.order_answers import RUNNING_SECONDS
from infra.local.event_runner import sqs_event
from tests.cards.issuer import EUR, Issuer
from tests.causeway import Causeway
from tests.infra.card_payments import euros, opened, paying, silent
from tests.kit.logs import Metric, metrics_in
from tests.kit.time import run_schedule
from tests.openbanking.accounts import Aisp
from tests.openbanking.payments import WEBHOOKS, Pisp

HOUR, DAY = 3600, 24 * 3600


class Service:
    """The service at work: what it writes when something goes wrong, and when nothing does."""

    def __init__(self, causeway: Causeway, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
        self.causeway = causeway
        self.monkeypatch = monkeypatch
        self._capsys = capsys

    def figures(self, step: Callable[[], object]) -> list[Metric]:
        """What a step writes."""
        self._capsys.readouterr()
        step()
        return metrics_in(self._capsys.readouterr().out)

    def run(self, function: str) -> list[Metric]:
        """What a run of a scheduled function writes."""
        return self.figures(lambda: run_schedule(app.handler_map[function]))


Play = Callable[[Service], tuple[list[Metric], list[Metric]]]
"""Answers what is written while something is wrong, and what is when it is not any more; nothing, if nothing is."""


def overdue_delivery(service: Service) -> tuple[list[Metric], list[Metric]]:
    causeway = service.causeway
    causeway.tpp.set_events_url()
    delivery_id = causeway.hub.openbanking.tpp_events.send_test(causeway.tpp.client)
    causeway.clock.advance(901)
    late = service.run("sweep")
    causeway.hub.delivery.worker.attempt(delivery_id)
    return late, service.run("sweep")


def broken_attempts(service: Service) -> tuple[list[Metric], list[Metric]]:
    """Two messages at once, and the storage does not answer."""
    messages = [{"MessageId": each, "ReceiptHandle": "", "Body": each, "MD5OfBody": "0"} for each in ("a", "b")]
    event = sqs_event(messages, "arn:aws:sqs:eu-west-1:1:deliveries", "eu-west-1")
    with service.causeway.storage_gone("batch_get"):
        return service.figures(lambda: app.handler_map["deliver"](event, None)), []


def no_ingest(service: Service) -> tuple[list[Metric], list[Metric]]:
    return [], service.run("ingest")


def missing_report(service: Service) -> tuple[list[Metric], list[Metric]]:
    service.causeway.clock.advance(3 * DAY)
    return service.run("ingest"), []


def failing_bank(service: Service) -> tuple[list[Metric], list[Metric]]:
    aisp = Aisp(service.causeway)
    return service.figures(lambda: aisp.fail(FAILURES)), service.figures(aisp.list_accounts)


def silent_provider(service: Service) -> tuple[list[Metric], list[Metric]]:
    issuer = Issuer(service.causeway)
    account = issuer.account(currency_ison=EUR)
    address = opened(issuer, "assignExternalPaymentAddress", account_id=account)
    issuer.data("simulateInboundPayment", **euros(address["id"], 90_000), scheme="SCT", sender_name="Bob")
    issuer.do("transferToExternalPayment", **paying(address, name="Silent"))
    issuer.clock.advance(ASKING_SECONDS)
    with service.monkeypatch.context() as patch:
        patch.setattr(provider_orders, "ask_again", silent)
        stuck = service.run("finish")
    issuer.clock.advance(ASKING_SECONDS)
    return stuck, service.run("finish")


class Killed(BaseException):
    """A function's instance is gone in the middle of a request."""


def killed_payment(service: Service) -> tuple[list[Metric], list[Metric]]:
    pisp = Pisp(service.causeway, 2)

    def dies(_: object) -> None:
        raise Killed

    pisp.bank.answers[WEBHOOKS[2, "single"]] = dies
    with pytest.raises(Killed):
        pisp.pay("key-1")
    service.causeway.clock.advance(RUNNING_SECONDS + 1)
    return service.figures(lambda: pisp.pay("key-1")), []


def unrecorded_decline(service: Service) -> tuple[list[Metric], list[Metric]]:
    """An authorization that neither storage nor the queue takes."""
    issuer = Issuer(service.causeway)
    card = issuer.card_in("A").card_id
    with service.causeway.storage_gone("transact"), service.monkeypatch.context() as patch:
        patch.setattr(Queue, "send", refused)
        return service.figures(lambda: issuer.purchase(card, 100)), []


def refused(*_: object) -> None:
    raise NotSent("no connection could be made")


def broken_ledger(service: Service) -> tuple[list[Metric], list[Metric]]:
    account = {"owner": f"account#{Issuer(service.causeway).account()}", "part": "account"}
    store = service.causeway.hub.store
    store.update("cards", account, set={"settled": 1})
    broken = service.run("prove")
    store.update("cards", account, set={"settled": 0})
    return broken, service.run("prove")


def round_without_end(service: Service) -> tuple[list[Metric], list[Metric]]:
    """The first round has begun, and for 15 days no run has had the time to bring it further."""
    Issuer(service.causeway).account()
    cards, clock = service.causeway.hub.cards, service.causeway.clock
    cards.call(prove_accounts, clock.monotonic() - 1)
    clock.advance(15 * DAY)
    late = service.figures(lambda: cards.call(prove_accounts, clock.monotonic() - 1))
    service.run("prove")
    clock.advance(HOUR)
    return late, service.run("prove")


def guessed_secrets(service: Service) -> tuple[list[Metric], list[Metric]]:
    """Fifty calls with a wrong secret, and then a right one."""
    causeway = service.causeway
    wrong = {"authorization": "Basic " + base64.b64encode(f"{causeway.tpp.client_id}:wrong".encode()).decode()}
    body = {"bic": "ALPHGB21", "scopes": ["account.list"]}

    def guess() -> None:
        for _ in range(50):
            causeway.tpp.call("POST", "/tpp/authorize", body, headers=wrong)

    return service.figures(guess), []


def reused_code(service: Service) -> tuple[list[Metric], list[Metric]]:
    causeway = service.causeway
    code = causeway.psu.approve(1).query["code"]
    redeem = partial(causeway.tpp.call, "POST", "/tpp/token", {"authorization_code": code})
    assert redeem().status == 200
    return service.figures(redeem), []


PLAYS: dict[str, tuple[Play, int, int]] = {
    "function-errors": (broken_attempts, 450, 15 * 60),
    "deliveries-overdue": (overdue_delivery, 60, 15 * 60),
    "ingest-missing": (no_ingest, DAY, 27 * HOUR),
    "reports-missing": (missing_report, DAY, 25 * HOUR),
    "circuit-opened": (failing_bank, 30, 20 * 60),
    "security-refusals": (guessed_secrets, 150, 20 * 60),
    "consents-misused": (reused_code, HOUR, 2 * HOUR),
    "claims-stuck": (silent_provider, 60, 30 * 60),
    "outcomes-unknown": (killed_payment, HOUR, 2 * HOUR),
    "declines-unrecorded": (unrecorded_decline, HOUR, 2 * HOUR),
    "ledger-broken": (broken_ledger, HOUR, 3 * HOUR),
    "ledger-not-proved": (round_without_end, HOUR, 12 * HOUR),
}
"""The play of each own alarm, the seconds between what is written in it, and how long one state of things lasts."""
