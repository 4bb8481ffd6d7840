"""Tests of the delivery of card events, which are signed, sent to the current Events URL, and retried."""

import time
from collections.abc import Iterator

import pytest
from standardwebhooks import Webhook, WebhookVerificationError

from chalicelib.cards.events.event_secrets import rotate_events_secret, secrets_key
from chalicelib.cards.programs.programmes import head_key
from chalicelib.delivery.delivery_plan import SWEEP_WAITS
from chalicelib.delivery.sweeper import sweep
from chalicelib.foundation.dynamodb.store import Delete
from chalicelib.foundation.http.outbound import NotReached, Reply
from tests.cards.cases import LOOK, WRITE, warmed
from tests.cards.issuer import EUR, MANAGER, OTHER_MANAGER, SEPA, Issuer
from tests.causeway import Causeway
from tests.kit.logs import Lines
from tests.kit.storage import record_calls

OVERLAP = 3600


def at_the_machines_time(causeway: Causeway, later: int = 0) -> None:
    """Set the clock to the machine's time minus ``later`` seconds. Verification libraries use the machine's time."""
    causeway.clock.advance(time.time() - later - causeway.clock.time())


@pytest.fixture
def secret(causeway: Causeway) -> Iterator[str]:
    with causeway.manager_wants_events() as secret:
        yield secret


def an_event(causeway: Causeway) -> str:
    Issuer(causeway).card()
    *_, latest = causeway.recorded("card_event")
    return latest.delivery_id


def test_a_standard_webhook_library_verifies_an_event(causeway: Causeway, secret: str) -> None:
    at_the_machines_time(causeway)
    delivery_id = an_event(causeway)

    causeway.hub.delivery.worker.attempt(delivery_id)

    assert causeway.delivery(delivery_id).state == "delivered"
    [sent] = causeway.receiver.received
    assert sent.headers["webhook-id"] == delivery_id
    assert Webhook(secret).verify(sent.body, dict(sent.headers))["type"] == "card.created"
    with pytest.raises(WebhookVerificationError):
        Webhook(secret).verify(sent.body.replace(b"created", b"blocked"), dict(sent.headers))


@pytest.mark.parametrize(("elapsed", "old_counts"), [(OVERLAP - 1, True), (OVERLAP, False)])
def test_the_new_secret_verifies_events_immediately_and_the_old_secret_during_the_overlap(
    causeway: Causeway, secret: str, elapsed: int, old_counts: bool
) -> None:
    at_the_machines_time(causeway, later=elapsed)
    delivery_id = an_event(causeway)
    rotated = causeway.hub.cards.call(rotate_events_secret, MANAGER, OVERLAP)
    causeway.clock.advance(elapsed)

    causeway.hub.delivery.worker.attempt(delivery_id)

    [sent] = causeway.receiver.received
    Webhook(rotated.secret).verify(sent.body, dict(sent.headers))
    if old_counts:
        Webhook(secret).verify(sent.body, dict(sent.headers))
    else:
        with pytest.raises(WebhookVerificationError):
            Webhook(secret).verify(sent.body, dict(sent.headers))


def test_an_event_is_retried_with_the_same_id_and_body_until_delivered(causeway: Causeway, secret: str) -> None:
    causeway.receiver.answers = [Reply(503, b"", {}, 0), NotReached("refused"), Reply(200, b"", {}, 0)]
    delivery_id = an_event(causeway)

    for wait in (0, 10, 400, 0):
        causeway.clock.advance(wait)
        causeway.hub.delivery.worker.attempt(delivery_id)

    delivery = causeway.delivery(delivery_id)
    assert (delivery.state, [each.get("status") for each in delivery.history]) == ("delivered", [503, None, 200])
    assert {sent.headers["webhook-id"] for sent in causeway.receiver.received} == {delivery_id}
    assert len({sent.body for sent in causeway.receiver.received}) == 1


def test_a_response_with_status_410_ends_the_retries_of_an_event(causeway: Causeway, secret: str) -> None:
    causeway.receiver.answers = [Reply(410, b"", {}, 0)]
    delivery_id = an_event(causeway)

    causeway.hub.delivery.worker.attempt(delivery_id)

    assert causeway.delivery(delivery_id).state == "failed"


def test_an_event_is_sent_to_the_current_events_url(causeway: Causeway, secret: str) -> None:
    delivery_id = an_event(causeway)
    causeway.hub.store.update(*head_key(MANAGER), set={"events_url": "http://127.0.0.1:1/elsewhere"})
    causeway.receiver.url = "http://127.0.0.1:1/elsewhere"

    causeway.hub.delivery.worker.attempt(delivery_id)

    assert [sent.path for sent in causeway.receiver.received] == ["http://127.0.0.1:1/elsewhere"]


def test_an_event_fails_after_its_events_url_was_removed(causeway: Causeway, secret: str) -> None:
    delivery_id = an_event(causeway)
    causeway.hub.store.update(*head_key(MANAGER), remove=["events_url"])

    causeway.hub.delivery.worker.attempt(delivery_id)

    delivery = causeway.delivery(delivery_id)
    assert (delivery.state, delivery.last["error"]) == ("failed", "the programme manager no longer has an Events URL")


def test_an_event_is_never_sent_unsigned(causeway: Causeway, secret: str) -> None:
    delivery_id = an_event(causeway)
    item = causeway.hub.store.get(*secrets_key(MANAGER))
    assert item is not None
    causeway.hub.store.transact([Delete(*secrets_key(MANAGER))])

    causeway.hub.delivery.worker.attempt(delivery_id)

    assert (causeway.delivery(delivery_id).state, causeway.receiver.received) == ("due", [])


def test_a_programme_manager_without_an_events_url_receives_no_event(causeway: Causeway) -> None:
    issuer = Issuer(causeway)
    card, address = issuer.card_in("T"), issuer.funded_address(10_000)
    issuer.pending_payment(address, 100)
    issuer.mandate(address)
    issuer.data("changeCardStatus", card_id=card.card_id, status="A")
    issuer.authentication(card.card_id)

    assert causeway.recorded() == []


def test_an_internal_payment_sends_each_event_to_the_programme_manager_of_its_account(causeway: Causeway) -> None:
    mine = Issuer(causeway)
    other = mine.as_caller("other")
    source = mine.funded_address(10_000, EUR)
    target = other.address(other.account(program_id=1501, currency_ison=EUR), SEPA)

    with causeway.manager_wants_events(OTHER_MANAGER):
        mine.pending_payment(source, 100, destination_iban=target["iban"])

    [delivery] = causeway.recorded()
    assert (delivery.manager_id, delivery.receiver) == (OTHER_MANAGER, f"manager#{OTHER_MANAGER}")


def test_the_sweep_queues_an_event_that_was_not_queued_because_of_a_queue_failure(
    causeway: Causeway, secret: str, monkeypatch: pytest.MonkeyPatch, lines: Lines
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(causeway.hub.delivery.queue, "send_all", lambda bodies: bodies)
        delivery_id = an_event(causeway)

    assert "delivery not queued" in lines.text
    causeway.clock.advance(SWEEP_WAITS[0])
    assert (causeway.hub.delivery.call(sweep), causeway.queued()) == (1, [delivery_id])


def test_recording_an_event_requires_no_additional_storage_round_trip(causeway: Causeway, secret: str) -> None:
    issuer = warmed(Issuer(causeway))
    card, before = issuer.card(), len(causeway.recorded("card_event"))

    with record_calls(causeway) as calls:
        issuer.data("activateCard", card_id=card.card_id)

    assert (calls, len(causeway.recorded("card_event")) - before) == ([LOOK, WRITE], 1)


def test_each_programme_manager_has_a_separate_event_secret(causeway: Causeway, secret: str) -> None:
    with causeway.manager_wants_events(OTHER_MANAGER) as other:
        pass

    assert other != secret


def test_event_secrets_and_event_data_are_neither_logged_nor_stored_in_plain_text(
    causeway: Causeway, secret: str, lines: Lines
) -> None:
    causeway.hub.delivery.worker.attempt(an_event(causeway))
    rotated = causeway.hub.cards.call(rotate_events_secret, MANAGER, OVERLAP)

    kept = repr([*causeway.hub.store.scan("programmes"), *causeway.hub.store.scan("deliveries")])
    for clear in (secret, rotated.secret):
        assert clear.removeprefix("whsec_")[:20] not in kept + lines.text
    assert "card_request_id" not in kept + lines.text
    assert "manager#1" in lines.text
