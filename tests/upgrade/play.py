"""Functions that create records of a release in every table, in the roles of a TPP, a PSU, a programme manager and an
operator.
"""

from collections.abc import Iterator
from datetime import date
from typing import Any

from chalicelib.demo_bank.setup import install
from chalicelib.foundation.crypto.resealing import SETTLE_SECONDS
from chalicelib.foundation.http.outbound import Reply
from tests.cards.issuer import Issuer, NewCard
from tests.causeway import Causeway
from tests.demo_bank.connected_banks import Psu, authorize, payment, tokens, wire_banks
from tests.demo_bank.parties import query_of
from tests.openbanking import conformance_reports
from tests.openbanking.payments import Pisp, payment_answer
from tests.statistics import bank_days
from tests.website.web_user import WebUser

EMAIL = "tpp@example.com"
SCOPES = {
    "one": ["account.list", "account.details", "payment.init"],
    "two": ["accounts", "accounts.balances", "payments.single"],
}
EVER = {"date_from": 0, "date_to": 99_999_999_999, "item_count": 100}


def play(causeway: Causeway) -> dict[str, Any]:
    """Create records in every table. Return the credentials, tokens and ids with which tests use the records."""
    WebUser(causeway).register(EMAIL)
    created = causeway.hub.openbanking.clients.create(owner=EMAIL, title="Budget Friend")
    causeway.tpp.client, causeway.tpp.client_secret = created.client, created.secret
    bank_days.store_calls(causeway.hub.store, bank_days.ALPHA, bank_days.DAY, answered=["10:00:00"])
    bank_days.advance_to(causeway, date(2026, 3, 4))
    bank_days.ingest(causeway)
    seal_something_everywhere(causeway)
    with wire_banks(causeway):
        install(causeway.hub, causeway.hub.openbanking.banks)
        report = conformance_reports.report(bank="DEMOGB21")
        causeway.hub.openbanking.banks.publish_report("DEMOGB21", conformance_reports.written(report))
        facts = {
            "banks": {bank: _use_bank(causeway, bank) for bank in SCOPES},
            "client": {"client_id": causeway.tpp.client_id, "secret": causeway.tpp.client_secret},
            "events": _fail_to_deliver(causeway),
            "cards": _use_card(Issuer(causeway)),
        }
    return {"written_at": causeway.clock.now().isoformat(), **facts}


def _use_bank(causeway: Causeway, bank: str) -> dict[str, Any]:
    """Create tokens of a consent, an unredeemed code of another consent, and a payment that the PSU has confirmed."""
    granted = tokens(causeway, bank, scopes=SCOPES[bank], state=f"used at {bank}")
    headers = {"idempotency-key": f"order-{bank}"}
    order = payment(causeway, bank)
    path = "/tpp/payment_initiation"
    answer = causeway.tpp.call("POST", path, order, bearer=granted["access_token"], headers=headers)
    assert answer.status == 200, answer
    Psu(causeway, bank).pay(answer.body["confirmation_url"])
    waiting = Psu(causeway, bank).approve(authorize(causeway, bank, state=f"waiting at {bank}")["redirect_url"])
    return {
        "tokens": {name: granted[name] for name in ("access_token", "refresh_token")},
        "code": query_of(waiting)["code"],
        "order": order,
        "idempotency_key": headers["idempotency-key"],
        "payment_id": answer.body["payment_id"],
    }


def _fail_to_deliver(causeway: Causeway) -> dict[str, str]:
    """Record an event whose first delivery attempt fails. Return the event's id and the signing secret."""
    clients = causeway.hub.openbanking.clients
    created = clients.create(owner=EMAIL, title="Receiver", events_url=causeway.receiver.url)
    assert created.events_secret is not None
    event_id = causeway.hub.openbanking.tpp_events.send_test(created.client)
    causeway.receiver.answers = [Reply(500, b"", {}, 0.01)]
    causeway.hub.delivery.worker.attempt(event_id)
    assert causeway.delivery(event_id).attempts == 1
    return {"event_id": event_id, "secret": created.events_secret}


def _use_card(issuer: Issuer) -> dict[str, Any]:
    """Create a card with a cleared and a pending purchase, and an account with a payment in transit.

    Return a mapping of each action that reads these records to its response.
    """
    card = issuer.spendable(50_000)
    issuer.clearing(issuer.purchase(card.card_id, 1_999), 1_999)
    issuer.purchase(card.card_id, 2_500)
    debtor = issuer.funded_address(10_000)
    issuer.pending_payment(debtor, 4_000)
    return {
        "credentials": issuer.causeway.card_credentials,
        "card_id": card.card_id,
        "reads": [
            {"action": action, "members": members, "data": issuer.data(action, **members)}
            for action, members in _reads(card, debtor["account_id"])
        ],
    }


def _reads(card: NewCard, payer_id: int) -> Iterator[tuple[str, dict[str, int]]]:
    for action in ("getCardDetails", "getCardNumber", "getCvc2", "getPin"):
        yield action, {"card_id": card.card_id}
    yield "getFinancialAuthorizes", {"card_id": card.card_id, **EVER}
    yield "getTransactions", {"card_id": card.card_id, **EVER}
    yield "getHolder", {"holder_id": card.holder_id}
    for account_id in (card.account_id, payer_id):
        yield "getAccounts", {"account_id": account_id}
        yield "getTransactions", {"account_id": account_id, **EVER}


def seal_something_everywhere(causeway: Causeway) -> None:
    causeway.tpp.set_events_url()
    pisp = Pisp(causeway, 2, "direct")
    pisp.bank_answers(payment_answer(2, "P-1"))
    pisp.pay("key-1")
    Pisp(causeway, 1, "direct", deferred=True).order()
    tokens = causeway.tpp.tokens(1)
    causeway.tpp.call("POST", "/tpp/token", {"refresh_token": tokens["refresh_token"]})
    causeway.tpp.poll_events()
    causeway.tpp.send_test_event()
    issuer = Issuer(causeway)
    issuer.card(card_virtual=0, request_reference_id=issuer.reference())
    members = {"client_id": causeway.tpp.client_id, "bic": "ALPHGB21", "scopes": ["account.list"]}
    causeway.hub.website.journeys.begin("tpp@example.com", "of-the-tpp", members, "verifier")


def reseal_all(causeway: Causeway) -> None:
    causeway.hub.keyring.rotate_data_key()
    causeway.clock.advance(SETTLE_SECONDS)
    causeway.hub.resealing.request()
    for _ in range(3):
        progress = causeway.hub.resealing.run(causeway.clock.monotonic() + 1)
        assert progress is not None
        if progress.finished_at is not None:
            return
        assert progress.resealed, f"left: {progress.left}"
        causeway.clock.advance(SETTLE_SECONDS)
    raise AssertionError("values are left")
