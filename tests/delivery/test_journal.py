"""Tests of the journal, which operators use to view and resend deliveries."""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from chalicelib.delivery import journal as module
from chalicelib.delivery.delivery_plan import DAY, SWEEP_WAITS, DeliveryPlan
from chalicelib.delivery.delivery_record import (
    FAILED_OF_CLIENT,
    Delivery,
    State,
    record_key,
    update_due_time,
    update_revival,
)
from chalicelib.delivery.journal import Journal, NotResendable, Party, SearchTooWide, UnknownDelivery
from chalicelib.delivery.outcomes import StoredAnswer
from chalicelib.delivery.sweeper import sweep
from chalicelib.foundation.dynamodb.sharded_index import SHARDS
from chalicelib.foundation.dynamodb.store import Conflict, Operation, StoreError, Throttled, Update
from tests.causeway import Causeway
from tests.delivery.conftest import Receiver, begin_attempt, failure, record_delivery, worker_for

HOUR = 3600
MINE, OTHER = "ALPHGB21", "BETADEF1"


@pytest.fixture
def journal(causeway: Causeway) -> Journal:
    causeway.queued()  # what other tests left behind
    return causeway.hub.delivery.journal


def ended(causeway: Causeway, state: State, kind: str = "event", **members: Any) -> str:
    failures: list[Exception] = [failure(final=True)] if state == "failed" else []
    delivery_id = record_delivery(causeway, kind, **members)
    worker_for(causeway, Receiver(failures=failures, last_words=StoredAnswer(502, "{}"))).attempt(delivery_id)
    return delivery_id


def attempted(causeway: Causeway, delivery_id: str) -> None:
    begin_attempt(worker_for(causeway, Receiver()), delivery_id)


def ids(found: Any) -> list[str]:
    return [delivery.delivery_id for delivery in found]


def test_the_failed_deliveries_of_a_client_are_read_from_their_index(causeway: Causeway, journal: Journal) -> None:
    """Deliveries that failed before the index existed are not in the index.

    A search without a state finds these deliveries.
    """
    client_id = causeway.tpp.client_id
    failed, older = ended(causeway, "failed"), ended(causeway, "failed")
    ended(causeway, "delivered")
    ended(causeway, "failed", client_id="another")
    causeway.hub.store.update(*record_key(older), remove=(FAILED_OF_CLIENT.partition,))

    assert ids(journal.search_latest(client_id, state="failed")) == [failed]
    assert {failed, older} <= {*ids(journal.search_latest(client_id))}


def test_the_unfiltered_list_shows_failed_and_due_deliveries(causeway: Causeway, journal: Journal) -> None:
    failed = ended(causeway, "failed")
    causeway.clock.advance(1)
    ended(causeway, "delivered")
    causeway.clock.advance(1)
    due = record_delivery(causeway)

    causeway.clock.advance(1)
    later = record_delivery(causeway)

    assert ids(journal.list()) == [failed, due, later]
    assert ids(journal.list(state="due", limit=1)) == [due]
    assert ids(journal.list(state="failed")) == [failed]
    with pytest.raises(SearchTooWide, match="only by bank, client or programme manager"):
        journal.list(state="delivered")


def test_the_list_of_a_bank_or_a_client_contains_all_its_deliveries_newest_first(
    causeway: Causeway, journal: Journal
) -> None:
    mine = causeway.tpp.client_id
    first = ended(causeway, "delivered", bic=MINE)
    causeway.clock.advance(1)
    second = ended(causeway, "failed", bic=OTHER)
    causeway.clock.advance(1)
    third = record_delivery(causeway, bic=MINE, client_id="another")

    assert ids(journal.list(Party(MINE))) == [third, first]
    assert ids(journal.list(Party(client_id=mine))) == [second, first]
    assert ids(journal.list(Party(MINE, mine))) == [first]
    assert ids(journal.list(Party(client_id=mine), state="delivered")) == [first]
    assert ids(journal.list(Party(client_id=mine), state="failed")) == [second]
    assert ids(journal.list(Party(client_id=mine), state="due")) == []
    assert ids(journal.list(Party(OTHER, "another"))) == []


def test_the_list_of_a_programme_manager_contains_only_its_deliveries(causeway: Causeway, journal: Journal) -> None:
    of_manager = {"receiver": "manager#1", "bic": None, "client_id": None, "manager_id": 1}
    ended(causeway, "failed")
    first = ended(causeway, "failed", kind="card_event", **of_manager)
    causeway.clock.advance(1)
    second = record_delivery(causeway, "card_event", **of_manager)

    assert ids(journal.list(Party(manager_id=1))) == [second, first]
    assert ids(journal.list(Party(manager_id=1), state="failed")) == [first]
    assert ids(journal.list(Party(manager_id=2))) == []
    assert ids(journal.list(Party(MINE, manager_id=1))) == []
    assert journal.resend_failed(0, Party(manager_id=1)) == 1


def test_the_list_filters_failed_deliveries_by_the_time_of_failure(causeway: Causeway, journal: Journal) -> None:
    delivery_id = record_delivery(causeway)
    causeway.clock.advance(HOUR)
    failed_at = causeway.clock.time()
    worker_for(causeway, Receiver(always=failure(final=True))).attempt(delivery_id)

    assert ids(journal.list(state="failed", since=failed_at)) == [delivery_id]
    assert ids(journal.list(state="failed", since=failed_at + 1)) == []
    assert ids(journal.list(Party(client_id=causeway.tpp.client_id), since=failed_at)) == []


@pytest.mark.dynamodb
@pytest.mark.parametrize("at_once", [True, False], ids=["in one second", "one a second"])
def test_a_list_read_in_several_pages_contains_every_delivery_once(
    causeway: Causeway, journal: Journal, monkeypatch: pytest.MonkeyPatch, at_once: bool
) -> None:
    monkeypatch.setattr(module, "BATCH", 2)
    made = []
    for _ in range(9):
        made.append(record_delivery(causeway))
        causeway.clock.advance(0 if at_once else 1)

    mine = causeway.tpp.client_id
    found = ids(journal.list(Party(client_id=mine)))
    assert sorted(found) == sorted(made)
    if not at_once:
        assert found == made[::-1]
        assert ids(journal.list(Party(client_id=mine), limit=4)) == made[:-5:-1]


# -- what a client's owner sees


# -- looking at one, and sending again


def test_an_unknown_delivery_id_raises_unknown_delivery(journal: Journal) -> None:
    with pytest.raises(UnknownDelivery, match="no delivery has the id nothing"):
        journal.show("nothing")
    with pytest.raises(UnknownDelivery):
        journal.resend("nothing")


@pytest.mark.dynamodb
@pytest.mark.parametrize("state", ["delivered", "failed"])
@pytest.mark.parametrize("kind", ["event", "revoke_token"])
def test_a_resent_notification_is_queued_with_zero_attempts_and_a_new_deadline(
    causeway: Causeway, journal: Journal, kind: str, state: State
) -> None:
    delivery_id = ended(causeway, state, kind=kind, body="{}" if kind == "event" else None)
    causeway.clock.advance(DAY)
    now = causeway.clock.time()

    journal.resend(delivery_id)

    again = journal.show(delivery_id)
    assert again.state == "due"
    assert again.attempts == 0
    assert again.due_at == now
    assert again.give_up_at == now + 30 * DAY
    assert len(again.history) == 1
    assert causeway.queued() == [delivery_id]
    assert ids(journal.list(Party(client_id=causeway.tpp.client_id), state="due")) == [delivery_id]


def test_a_resend_of_a_waiting_delivery_queues_the_delivery_immediately(causeway: Causeway, journal: Journal) -> None:
    delivery_id = record_delivery(causeway)
    key = {"delivery_id": delivery_id, "part": "record"}
    causeway.hub.store.update("deliveries", key, set={"due_at": causeway.clock.time() + HOUR, "attempts": 4})

    journal.resend(delivery_id)

    again = journal.show(delivery_id)
    assert (again.due_at, again.attempts) == (causeway.clock.time(), 4)
    assert causeway.queued() == [delivery_id]


def test_a_resend_during_an_attempt_is_rejected(causeway: Causeway, journal: Journal) -> None:
    delivery_id = record_delivery(causeway)
    attempted(causeway, delivery_id)

    with pytest.raises(NotResendable, match="an attempt is in progress"):
        journal.resend(delivery_id)
    assert causeway.queued() == []


@pytest.mark.parametrize("kind", ["relay", "payment"])
def test_a_resend_of_a_relayed_call_or_a_payment_is_rejected(causeway: Causeway, journal: Journal, kind: str) -> None:
    due, failed = record_delivery(causeway, kind=kind), ended(causeway, "failed", kind=kind)

    for delivery_id in (due, failed):
        with pytest.raises(NotResendable, match="cannot be resent"):
            journal.resend(delivery_id)
    assert journal.resend_failed(0) == 0
    assert journal.show(failed).state == "failed"
    assert causeway.queued() == []


def under_way(causeway: Causeway, delivery_id: str, *failures: Exception, pauses: int = 1) -> Callable[[float], None]:
    """Begin an attempt.

    Return a pause function that ends the attempt when called for the ``pauses``-th time.
    """
    worker = worker_for(causeway, Receiver(failures=list(failures)))
    attempt, counted = begin_attempt(worker, delivery_id), itertools.count(1)

    def pause(_: float) -> None:
        if next(counted) == pauses:
            worker.carry_out(attempt)

    return pause


def test_a_resend_is_retried_after_a_worker_claims_the_delivery_at_the_same_time(
    causeway: Causeway, journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    delivery_id = record_delivery(causeway)

    def is_taken() -> None:
        monkeypatch.setattr(causeway.hub.store, "pause", under_way(causeway, delivery_id, failure()))

    with causeway.meanwhile("transact", is_taken):
        assert journal.resend(delivery_id)

    again = causeway.delivery(delivery_id)
    assert again.state == "due"
    assert again.due_at == causeway.clock.time()
    assert len(again.history) == 1


@pytest.mark.parametrize(
    ("failures", "is_sent"),
    [([], False), ([failure()], True), ([failure(final=True)], True)],
    ids=["arrives", "retry", "ends"],
)
def test_a_resend_waits_for_a_running_attempt(
    causeway: Causeway, journal: Journal, monkeypatch: pytest.MonkeyPatch, failures: list[Exception], is_sent: bool
) -> None:
    delivery_id = record_delivery(causeway)
    monkeypatch.setattr(causeway.hub.store, "pause", under_way(causeway, delivery_id, *failures, pauses=3))

    assert journal.resend(delivery_id) is is_sent

    again = causeway.delivery(delivery_id)
    assert (again.state, again.due_at) == (("due", causeway.clock.time()) if is_sent else ("delivered", None))


def test_a_resend_stops_waiting_for_a_running_attempt_after_4_to_10_pauses(
    causeway: Causeway, journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    delivery_id = record_delivery(causeway)
    pauses: list[float] = []
    attempted(causeway, delivery_id)
    monkeypatch.setattr(causeway.hub.store, "pause", pauses.append)

    with pytest.raises(NotResendable, match="an attempt is in progress"):
        journal.resend(delivery_id)

    assert 4 <= len(pauses) <= 10


@pytest.mark.parametrize("busy", [Conflict, Throttled])
def test_a_resend_of_failed_deliveries_retries_conflicting_and_throttled_writes(
    causeway: Causeway, journal: Journal, monkeypatch: pytest.MonkeyPatch, busy: type[StoreError]
) -> None:
    made = [ended(causeway, "failed") for _ in range(3)]
    real, tries = causeway.hub.store.transact, itertools.count()

    def contended(operations: Sequence[Operation]) -> None:
        if next(tries) < 3:
            raise busy("others write")
        real(operations)

    monkeypatch.setattr(causeway.hub.store, "transact", contended)

    assert journal.resend_failed(0) == 3
    assert sorted(causeway.queued()) == sorted(made)


def test_a_resend_of_failed_deliveries_includes_failures_since_a_given_time(
    causeway: Causeway, journal: Journal
) -> None:
    before = ended(causeway, "failed")
    causeway.clock.advance(HOUR)
    since = causeway.clock.time()
    mine = [ended(causeway, "failed", bic=MINE) for _ in range(2)]
    others = ended(causeway, "failed", client_id="another", bic=OTHER)
    ended(causeway, "delivered")

    assert journal.resend_failed(since, Party(MINE, "another")) == 0
    assert journal.resend_failed(since, Party(client_id=causeway.tpp.client_id)) == 2
    assert sorted(causeway.queued()) == sorted(mine)
    assert journal.resend_failed(since) == 1
    assert causeway.queued() == [others]
    assert journal.resend_failed(since) == 0
    assert journal.show(before).state == "failed"


def test_a_resend_of_failed_deliveries_skips_a_concurrently_changed_delivery(
    causeway: Causeway, journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = ended(causeway, "failed"), ended(causeway, "failed")
    real = update_revival

    def overtaken(delivery: Delivery, plan: DeliveryPlan, now: int) -> list[Update]:
        stale = replace(delivery, failed_at=0) if delivery.delivery_id == first else delivery
        return real(stale, plan, now)

    monkeypatch.setattr(module, "update_revival", overtaken)

    assert journal.resend_failed(0) == 1
    assert causeway.queued() == [second]
    assert journal.show(first).state == "failed"


def test_a_resend_queues_no_more_messages_than_the_backlog_limit(
    causeway: Causeway, journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = [ended(causeway, "failed") for _ in range(2)]

    with monkeypatch.context() as patch:
        patch.setattr(module, "BACKLOG", 1)
        assert journal.resend_failed(0) == 2
    queued = causeway.queued()
    assert len(queued) == 1
    assert {journal.show(delivery_id).state for delivery_id in made} == {"due"}
    causeway.clock.advance(SWEEP_WAITS[0])
    assert causeway.hub.delivery.call(sweep) == 2


# -- everything that waits for a receiver


def waiting_delivery(causeway: Causeway, kind: str = "event", **members: Any) -> str:
    delivery_id = record_delivery(causeway, kind, **members)
    worker_for(causeway, Receiver(failures=[failure()])).attempt(delivery_id)
    return delivery_id


def test_a_resend_for_a_receiver_queues_all_its_waiting_deliveries(causeway: Causeway, journal: Journal) -> None:
    mine = [waiting_delivery(causeway, receiver=f"bank#{MINE}", kind="revoke_token") for _ in range(3)]
    of_another = waiting_delivery(causeway, receiver=f"bank#{OTHER}", kind="revoke_token", bic=MINE)
    due, failed = record_delivery(causeway, receiver=f"bank#{MINE}"), ended(causeway, "failed", receiver=f"bank#{MINE}")
    call = waiting_delivery(causeway, "relay", receiver=f"bank#{MINE}")
    before = {each: journal.show(each) for each in (*mine, of_another, due, failed, call)}
    causeway.queued()

    assert journal.resend_waiting(f"bank#{MINE}") == (3, 0)

    assert sorted(causeway.queued()) == sorted(mine)
    now = causeway.clock.time()
    assert {each: journal.show(each) for each in before} == {
        each: replace(delivery, due_at=now) if each in mine else delivery for each, delivery in before.items()
    }
    assert journal.resend_waiting(f"bank#{MINE}") == (0, 0)


def test_deliveries_with_an_attempt_in_progress_or_a_concurrent_change_are_skipped(
    causeway: Causeway, journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    running, busy, free = (waiting_delivery(causeway, receiver="client#1") for _ in range(3))
    causeway.clock.advance(10)
    attempted(causeway, running)
    real = update_due_time

    def overtaken(delivery: Delivery, until: int) -> Update:
        return real(replace(delivery, due_at=0) if delivery.delivery_id == busy else delivery, until)

    monkeypatch.setattr(module, "update_due_time", overtaken)
    causeway.queued()
    now = causeway.clock.time()
    before = journal.show(busy)
    causeway.hub.store.transact([real(before, now + HOUR)])
    causeway.hub.store.transact([real(journal.show(free), now + HOUR)])

    assert journal.resend_waiting("client#1") == (1, 2)

    assert causeway.queued() == [free]
    assert journal.show(busy) == replace(before, due_at=now + HOUR)


def test_waiting_deliveries_are_read_in_pages_and_an_interrupted_run_can_be_restarted(
    causeway: Causeway, journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = [waiting_delivery(causeway, receiver="manager#1") for _ in range(20)]
    causeway.queued()
    monkeypatch.setattr(module, "BATCH", 1)
    sizes = list[int]()

    def interrupted(transact: Callable[..., None], operations: Sequence[Operation]) -> None:
        sizes.append(len(operations))
        if len(sizes) == 2:
            raise KeyboardInterrupt
        transact(operations)

    with causeway.replace_method("transact", interrupted):
        with pytest.raises(KeyboardInterrupt):
            journal.resend_waiting("manager#1")

        first = causeway.queued()
        assert 0 < len(first) <= SHARDS
        assert journal.resend_waiting("manager#1") == (20 - len(first), 0)
    assert sorted([*first, *causeway.queued()]) == sorted(made)
    assert max(sizes) <= SHARDS
