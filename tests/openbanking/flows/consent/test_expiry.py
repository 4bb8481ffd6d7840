"""Tests of consent expiry: a TPP gets one event a week before the end of a consent, and a second event at the end."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from chalicelib.delivery import outbox
from chalicelib.delivery.sweeper import sweep
from chalicelib.foundation import parallel
from chalicelib.foundation.aws.calls import send
from chalicelib.foundation.clock import timestamp
from chalicelib.foundation.dynamodb import sharded_index
from chalicelib.foundation.dynamodb.items import pack
from chalicelib.foundation.dynamodb.store import Item, StoreUnavailable
from chalicelib.foundation.http.outbound import NotReached
from chalicelib.openbanking.flows.consent import expiry
from chalicelib.openbanking.flows.consent.expiry import record_due_events
from chalicelib.openbanking.flows.consent.tokens import end_consent
from chalicelib.openbanking.records.consents import NOTIFY, Consent, consent_key
from tests.causeway import Causeway
from tests.kit.logs import Lines
from tests.kit.storage import record_calls
from tests.openbanking.kit import TOKEN, VERSIONS, Consented
from tests.openbanking.payments import Pisp

DAY = 24 * 3600
LASTS = 180 * DAY
ANNOUNCED = LASTS - 7 * DAY


@pytest.fixture(autouse=True)
def _one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run storage calls sequentially, because the emulator does not support threads."""
    monkeypatch.setattr(parallel, "WIDTH", 1)


@pytest.fixture
def listening(causeway: Causeway) -> Causeway:
    causeway.tpp.set_events_url()
    return causeway


def consent_id(consented: Consented) -> str:
    """Return the id of the saved consent, which is the first part of the authorization code."""
    return consented.query["code"].split(".")[0]


def stored(causeway: Causeway, consented: Consented) -> Item:
    item = causeway.hub.store.get(*consent_key(consent_id(consented)))
    assert item is not None
    return item


def told(causeway: Causeway) -> list[str]:
    return [each.topic for each in causeway.recorded("event") if each.topic.startswith("consent.expir")]


def at(causeway: Causeway, seconds: float) -> int:
    causeway.clock.advance(seconds - (causeway.clock.monotonic() - _BEGAN))
    return causeway.hub.openbanking.call(record_due_events)


_BEGAN = 1772442000
"""The start time of the test service: 2026-03-02T09:00:00Z."""


@contextmanager
def consents_of(causeway: Causeway, version: int, days: int) -> Iterator[None]:
    bank = causeway.banks[version].record
    causeway.hub.openbanking.banks.change(bank.bic, consent_days=days)
    causeway.hub.openbanking.banks.forget()
    try:
        yield
    finally:
        causeway.hub.openbanking.banks.change(bank.bic, consent_days=bank.consent_days)


# -- when


@VERSIONS
def test_a_consent_sends_an_event_7_days_before_its_expiry_and_a_second_event_at_its_expiry(
    listening: Causeway, version: int
) -> None:
    consented = listening.psu.approve(version)

    seen = [(at(listening, when), told(listening)[:]) for when in (ANNOUNCED - 1, ANNOUNCED, LASTS - 1, LASTS)]

    assert seen == [
        (0, []),
        (1, ["consent.expiring"]),
        (0, ["consent.expiring"]),
        (1, ["consent.expiring", "consent.expired"]),
    ]
    for each in listening.recorded("event"):
        listening.hub.delivery.worker.attempt(each.delivery_id)
    data = {
        "consent_id": consent_id(consented),
        "bic": listening.banks[version].bic,
        "valid_until": consented.valid_until,
    }
    bodies = [body for body in listening.receiver.events if body["type"] != "consent.authorised"]
    assert bodies == [
        {"type": "consent.expiring", "timestamp": timestamp(_BEGAN + ANNOUNCED), "data": data},
        {"type": "consent.expired", "timestamp": timestamp(_BEGAN + LASTS), "data": data},
    ]


def test_an_expiry_run_without_expired_consents_writes_nothing(listening: Causeway) -> None:
    listening.psu.approve(1)

    with record_calls(listening) as calls:
        assert at(listening, ANNOUNCED - 1) == 0

    assert set(calls) == {"Query"}


def test_repeated_expiry_runs_record_each_expiry_event_once(listening: Causeway) -> None:
    listening.psu.approve(1)

    moved = [at(listening, when) for when in (ANNOUNCED, ANNOUNCED, ANNOUNCED + 300, LASTS, LASTS, LASTS + 300)]

    assert moved == [1, 0, 0, 1, 0, 0]
    assert told(listening) == ["consent.expiring", "consent.expired"]


def test_two_concurrent_expiry_runs_record_an_expiry_event_once(listening: Causeway) -> None:
    listening.psu.approve(1)
    other, moved = listening.another_process(), []

    with listening.meanwhile("transact", lambda: moved.append(other.openbanking.call(record_due_events))):
        moved.append(at(listening, ANNOUNCED))

    assert moved == [1, 0]
    assert told(listening) == ["consent.expiring"]


@pytest.mark.parametrize(
    ("when", "expected"),
    [
        (ANNOUNCED + DAY, ["consent.expiring"]),
        (LASTS + DAY, ["consent.expiring", "consent.expired"]),
        (LASTS + 30 * DAY, ["consent.expiring", "consent.expired"]),
    ],
    ids=["a day skipped", "a week skipped", "more than a month skipped"],
)
def test_an_expiry_run_that_starts_late_records_all_missed_expiry_events(
    listening: Causeway, when: int, expected: list[str]
) -> None:
    consented = listening.psu.approve(1)

    assert at(listening, when) == 1

    listening.hub.delivery.call(sweep)
    for delivery_id in [each.delivery_id for each in listening.recorded("event")]:
        listening.hub.delivery.worker.attempt(delivery_id)
    assert sorted(told(listening)) == sorted(expected)
    ends = {body["data"]["valid_until"] for body in listening.receiver.events}
    assert ends == {consented.valid_until}
    assert at(listening, LASTS + 60 * DAY) == (0 if len(expected) == 2 else 1)


def test_an_expiry_run_that_starts_late_records_missed_events_in_chronological_order(listening: Causeway) -> None:
    listening.psu.approve(1)
    written, store = [], listening.hub.store
    real = store.transact

    def transact(operations: Any) -> None:
        real(operations)
        written.append(operations[1].item["topic"])

    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(vars(store), "transact", transact)
        at(listening, LASTS + 30 * DAY)

    assert written == ["consent.expiring", "consent.expired"]


@pytest.mark.parametrize(("days", "expected"), [(1, []), (6, []), (7, ["consent.expiring"]), (8, ["consent.expiring"])])
def test_a_consent_valid_for_less_than_7_days_sends_no_event_before_its_expiry(
    listening: Causeway, days: int, expected: list[str]
) -> None:
    with consents_of(listening, 1, days):
        consented = listening.psu.approve(1)
    assert consented.valid_until == timestamp(_BEGAN + days * DAY)

    at(listening, days * DAY - 1)
    assert told(listening) == expected
    at(listening, days * DAY)
    assert told(listening) == [*expected, "consent.expired"]


# -- whose


def by_tpp(causeway: Causeway, consented: Consented, refresh_token: str) -> None:
    assert causeway.tpp.call("POST", "/tpp/token/revoke", {"token": refresh_token}).status == 200


def by_bank(causeway: Causeway, consented: Consented, refresh_token: str) -> None:
    assert causeway.banks[1].call("/token/revoke", {TOKEN[1]: consented.bank_token}).status == 200


def by_operator(causeway: Causeway, consented: Consented, refresh_token: str) -> None:
    causeway.hub.openbanking.call(end_consent, Consent.from_item(stored(causeway, consented)), by="operator")


@pytest.mark.parametrize(("end", "when"), [(by_tpp, 0), (by_bank, ANNOUNCED), (by_operator, 0)])
def test_a_revoked_consent_sends_no_expiry_event(
    listening: Causeway, end: Callable[[Causeway, Consented, str], None], when: int
) -> None:
    consented = listening.psu.approve(1)
    tokens = listening.tpp.call("POST", "/tpp/token", {"code": consented.query["code"]}).body
    at(listening, when)
    before = told(listening)
    end(listening, consented, tokens["refresh_token"])

    assert at(listening, LASTS) == 0
    assert told(listening) == before
    assert NOTIFY.partition not in stored(listening, consented)


def test_a_consent_revoked_during_an_expiry_run_gets_no_expiry_event(listening: Causeway) -> None:
    consented = listening.psu.approve(1)

    with listening.meanwhile("transact", lambda: by_bank(listening, consented, "")):
        assert at(listening, ANNOUNCED) == 0

    assert told(listening) == []


def test_a_used_one_time_consent_sends_no_expiry_event(listening: Causeway) -> None:
    pisp = Pisp(listening, 1, consent_type="one_time")
    assert pisp.pay().status == 200

    assert [at(listening, ANNOUNCED), at(listening, LASTS)] == [0, 0]
    assert told(listening) == []


def test_a_restored_consent_sends_its_expiry_events(listening: Causeway) -> None:
    pisp = Pisp(listening, 1, consent_type="one_time")
    pisp.bank_answers(NotReached("no connection"))
    assert pisp.pay().status == 502

    assert [at(listening, ANNOUNCED), at(listening, LASTS)] == [1, 1]
    assert told(listening) == ["consent.expiring", "consent.expired"]


# -- to whom


def test_consents_of_a_client_without_an_events_url_are_processed_without_an_event(causeway: Causeway) -> None:
    consented = causeway.psu.approve(1)
    assert at(causeway, ANNOUNCED) == 1
    causeway.tpp.set_events_url()  # from now on

    assert at(causeway, ANNOUNCED + 300) == 0
    assert at(causeway, LASTS) == 1
    assert told(causeway) == ["consent.expired"]
    assert not {"notify", NOTIFY.partition, NOTIFY.time} & set(stored(causeway, consented))


def test_a_consent_of_a_deleted_client_is_processed_without_an_event(causeway: Causeway) -> None:
    causeway.psu.approve(1)
    causeway.hub.store.delete("clients", {"client_id": causeway.tpp.client_id})

    assert [at(causeway, LASTS), at(causeway, LASTS + 300)] == [1, 0]
    assert causeway.recorded() == []


def test_expiry_events_are_queued_for_delivery(listening: Causeway) -> None:
    listening.psu.approve(1)

    at(listening, LASTS)

    assert sorted(listening.queued()) == sorted(each.delivery_id for each in listening.recorded("event"))


# -- many at once


def multiplied(causeway: Causeway, count: int) -> list[str]:
    original = stored(causeway, causeway.psu.approve(1))
    names = [f"{number:022x}" for number in range(count)]
    puts = [{"PutRequest": {"Item": pack(original | {"consent_id": name} | NOTIFY.entry(name))}} for name in names]
    for start in range(0, count, 25):
        request = {f"{causeway.hub.settings.prefix}-consents": puts[start : start + 25]}
        send("dynamodb", "BatchWriteItem", {"RequestItems": request})
    causeway.hub.store.delete("consents", consent_key(original["consent_id"])[1])
    return names


def test_one_failed_write_does_not_stop_the_other_expiry_events(listening: Causeway, lines: Lines) -> None:
    names = multiplied(listening, 5)
    real = listening.hub.store.transact

    def transact(operations: Any) -> None:
        if operations[0].key["consent_id"] == names[2]:
            raise StoreUnavailable("DynamoDB cannot be reached")
        real(operations)

    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(vars(listening.hub.store), "transact", transact)
        assert at(listening, ANNOUNCED) == 4

    (line,) = [line for line in lines.all() if line["message"] == "consent expiry not recorded"]
    assert line["consent_id"] == names[2]
    assert at(listening, ANNOUNCED + 300) == 1
    events = [each.consent_id for each in listening.recorded("event") if each.topic == "consent.expiring"]
    assert sorted(map(str, events)) == names


def test_an_expiry_run_records_200_events_in_a_limited_number_of_storage_round_trips(
    listening: Causeway, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A round trip is a set of parallel calls, or a single call."""
    names = multiplied(listening, 200)
    waves: list[int] = []
    written: list[Any] = []

    def together(calls: Any) -> list[Any]:
        waves.append(len(calls))
        return [call() for call in calls]

    for module in (outbox, sharded_index, expiry):
        monkeypatch.setattr(module, "together", together)
    monkeypatch.setitem(vars(listening.hub.store), "transact", written.append)
    with record_calls(listening) as calls:
        assert at(listening, ANNOUNCED) == 200

    assert calls == ["Query"] * 8 + ["BatchGetItem"] * 8
    assert waves == [8, *[50, 5] * 4], "the index, then fifty consents written, and their events queued"
    assert sorted(operations[0].key["consent_id"] for operations in written) == names
    assert {tuple(operation.table for operation in operations) for operations in written} == {
        ("consents", "deliveries", "deliveries")
    }


def test_an_expiry_run_that_reaches_its_time_limit_leaves_remaining_consents_to_the_next_run(
    listening: Causeway, monkeypatch: pytest.MonkeyPatch
) -> None:
    multiplied(listening, 5)
    monkeypatch.setattr(expiry, "AT_ONCE", 2)
    real = expiry.read_clients

    def slow(store: Any, items: Any) -> Any:
        listening.clock.advance(21)
        return real(store, items)

    monkeypatch.setattr(expiry, "read_clients", slow)

    assert [at(listening, ANNOUNCED), listening.hub.openbanking.call(record_due_events)] == [4, 1]
