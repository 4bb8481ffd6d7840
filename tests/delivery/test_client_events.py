"""Tests of the list of events and calls that a client's owner sees: each entry appears once, newest first, in pages."""

import random
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, Unpack, get_args
from unittest.mock import Mock

import pytest

from chalicelib.bootstrap import PLANS
from chalicelib.delivery import client_events as module
from chalicelib.delivery.client_events import (
    CLIENT_STATES,
    FIRST,
    LOOKED_THROUGH,
    PAGE,
    ClientEntry,
    ClientEvents,
    ClientSearch,
    decode_position,
    encode_position,
)
from chalicelib.delivery.delivery_record import FAILED_OF_CLIENT, OF_CLIENT, RECORD, Delivery, State, put_delivery
from chalicelib.delivery.event_log import EventLog, Position
from chalicelib.foundation.clock import milliseconds
from chalicelib.foundation.dynamodb.sharded_index import SHARDS
from chalicelib.foundation.dynamodb.store import Item, Page, Store, Which
from tests.causeway import Causeway
from tests.delivery.conftest import record_delivery

CLIENT = "a-client"


def made_up(number: int, created_at: int, kind: str = "event", state: State = "delivered", topic: str = "test") -> Item:
    names = Delivery.__dataclass_fields__
    members: dict[str, Any] = dict.fromkeys(names) | {
        "delivery_id": f"{number:022x}",
        "kind": kind,
        "topic": topic,
        "receiver": f"client#{CLIENT}",
        "client_id": CLIENT,
        "state": state,
        "created_at": created_at,
        "attempts": 1,
        "body_parts": 0,
        "history": (),
    }
    delivery = Delivery(**members)
    failed = FAILED_OF_CLIENT.entry(delivery.delivery_id, CLIENT) if state == "failed" else {}
    return put_delivery(delivery).item | failed


class MadeUpStore(Store):
    """A store that executes queries and reads in memory. ``calls`` lists the names of the operations."""

    def __init__(self, deliveries: Sequence[Item] = ()) -> None:
        self.deliveries, self.logged = [*deliveries], list[Item]()
        self.calls: list[str] = []

    def add_event(self, position: Position, topic: str = "test") -> None:
        at, event_id = position
        _, put = EventLog(self, Mock(), Mock(), Mock()).put_event(f"client#{CLIENT}", topic, "", at, event_id)
        self.logged.append(put.item)

    def query(self, table: str, partition: tuple[str, Any], **which: Unpack[Which]) -> Page:
        self.calls.append("Query")
        is_of_deliveries = which.get("index") in (OF_CLIENT.name, FAILED_OF_CLIENT.name)
        rows = self.deliveries if is_of_deliveries else self.logged
        between: Any = which["between"]
        name, first, last = between
        assert first <= last, "DynamoDB refuses such a range"
        found = [row for row in rows if row.get(partition[0]) == partition[1] and first <= row[name] <= last]
        found.sort(key=lambda row: row[name], reverse=which.get("newest_first", False))
        page = found[: which.get("limit")]
        return Page(page, page[-1] if len(page) < len(found) else None)

    def batch_get(self, keys: Sequence[tuple[str, Item]], attributes: Sequence[str] = ()) -> list[Item | None]:
        self.calls.append("BatchGetItem")
        assert len(keys) <= 100
        items = {row["delivery_id"]: row for row in self.deliveries}
        return [items.get(key["delivery_id"]) if key["part"] == RECORD else None for _, key in keys]


@lru_cache
def _filled(now: int, count: int, seconds: int, apart: int) -> MadeUpStore:
    store = MadeUpStore([made_up(number, now - seconds * number) for number in range(count)])
    for number in range(count):
        store.add_event(((now - seconds * number) * 1000 + apart, f"{count + number:022x}"))
    return store


def filled_store(now: int, count: int, seconds: int, apart: int) -> MadeUpStore:
    """Return a store with ``count`` deliveries, one in each period of ``seconds``, and an event for each, ``apart``
    milliseconds later. Tests share the rows, because making so many takes time.
    """
    store, rows = MadeUpStore(), _filled(now, count, seconds, apart)
    store.deliveries, store.logged = rows.deliveries, rows.logged
    return store


def event_log(store: Store, causeway: Any) -> EventLog:
    return EventLog(store, causeway.hub.vault, causeway.hub.keyring, causeway.clock)


ALL = ClientSearch(CLIENT)
KINDS: Sequence[str] = [*PLANS]
CLIENT_KINDS = ("event", "relay", "payment")
"""The kinds of deliveries in a client's event list. Revocation notices to banks are not in this list."""
STATES: Sequence[State] = get_args(State)


def ids(entries: Sequence[ClientEntry]) -> list[str]:
    return [entry.position[1] for entry in entries]


def walk(events: ClientEvents, search: ClientSearch) -> list[str]:
    found: list[str] = []
    while True:
        page = events.page(search)
        found += ids(page.entries)
        if page.older is None:
            return found
        again = decode_position(encode_position(page.older))
        assert again is not None
        assert search.before is None or again < search.before
        search = replace(search, before=again)


@pytest.mark.dynamodb
def test_the_list_of_a_client_contains_events_and_calls_newest_first_but_no_revocations(causeway: Causeway) -> None:
    mine, made = causeway.tpp.client_id, {}
    events = causeway.hub.delivery.client_events
    for kind in KINDS:
        made[kind] = record_delivery(causeway, kind)
        causeway.clock.advance(1)
    record_delivery(causeway, client_id="another")
    event_id, put = causeway.hub.delivery.event_log.put_event(
        f"client#{mine}", "test", "{}", milliseconds(causeway.clock)
    )
    causeway.hub.store.transact([put])

    visible = [made[kind] for kind in reversed(KINDS) if kind in CLIENT_KINDS]
    page = events.page(ClientSearch(mine))
    assert (ids(page.entries), page.older, page.is_cut) == ([event_id, *visible], None, False)
    assert ids(events.page(ClientSearch(mine, type="relay")).entries) == [made["relay"]]
    assert ids(events.page(ClientSearch(mine, type="test")).entries) == [event_id]
    assert ids(events.page(ClientSearch(mine, type="a.topic")).entries) == [made["event"]]
    assert ids(events.page(ClientSearch(mine, state="due")).entries) == visible
    assert ids(events.page(ClientSearch(mine, state="recorded")).entries) == [event_id]
    assert ids(events.page(ClientSearch(mine, since=causeway.clock.time())).entries) == [event_id]
    assert events.page(ClientSearch("nobody")).entries == []


def test_consecutive_pages_contain_every_match_once_for_any_filter(
    causeway: Causeway, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance, now = random.Random(23), causeway.clock.time()
    monkeypatch.setattr(module, "PAGE", 3)
    monkeypatch.setattr(module, "FIRST", 5)
    monkeypatch.setattr(module, "LOOKED_THROUGH", 9)
    for _ in range(25):
        store = MadeUpStore()
        expected: list[tuple[tuple[int, str], str, str, str]] = []
        for number in range(chance.choice([0, 3, 40, 90])):
            at = now - chance.randrange(chance.choice([1, 5, 60]))
            if chance.random() < 0.4:
                position = (at * 1000 + chance.randrange(1000), f"{number:022x}")
                store.add_event(position, topic := chance.choice(["test", "consent.revoked"]))
                expected.append((position, "event", topic, "recorded"))
                continue
            kind, state = chance.choice(KINDS), chance.choice(STATES)
            store.deliveries.append(made_up(number, at, kind, state))
            expected.append(((at * 1000, f"{number:022x}"), kind, "test", state))
        events = ClientEvents(store, event_log(store, causeway), PLANS)
        for search in _searches(chance, now):
            wanted = [position for position, *rest in sorted(expected, reverse=True) if _fits(search, position, *rest)]
            assert walk(events, search) == [event_id for _, event_id in wanted]


def _searches(chance: random.Random, now: int) -> list[ClientSearch]:
    since, until = sorted((now - chance.randrange(60), now - chance.randrange(60)))
    return [
        ALL,
        ClientSearch(CLIENT, since=since, until=until),
        ClientSearch(CLIENT, since=until + 1, until=since),
        ClientSearch(CLIENT, type=chance.choice(["test", "consent.revoked", "relay", "payment"])),
        *(ClientSearch(CLIENT, state=state, until=until) for state in CLIENT_STATES),
    ]


def _fits(search: ClientSearch, position: tuple[int, str], kind: Any, topic: str, state: str) -> bool:
    is_typed = search.type in ("", kind) or (kind == "event" and topic == search.type)
    is_timed = search.since <= position[0] // 1000 <= search.until
    return kind in CLIENT_KINDS and is_typed and is_timed and search.state in (None, state)


@pytest.mark.parametrize("count", [100, 10_000])
@pytest.mark.parametrize("deep", [False, True])
def test_a_page_of_events_requires_the_same_number_of_calls_for_100_and_10_000_entries(
    causeway: Causeway, count: int, deep: bool
) -> None:
    now = causeway.clock.time()
    store = filled_store(now, count, 2, -1000)
    middle = (now - count) * 1000, "0"
    page = ClientEvents(store, event_log(store, causeway), PLANS).page(replace(ALL, before=middle if deep else None))

    assert len(page.entries) == PAGE
    assert page.older is not None
    assert store.calls == ["Query"] * (SHARDS + 4) + ["BatchGetItem"]


def test_a_search_for_failed_deliveries_reads_only_the_failed_index(causeway: Causeway) -> None:
    now = causeway.clock.time()
    rows = [made_up(number, now - number, state="due" if number % 10 else "failed") for number in range(10_000)]
    store = MadeUpStore(rows)
    page = ClientEvents(store, event_log(store, causeway), PLANS).page(replace(ALL, state="failed"))

    assert ids(page.entries) == [f"{number:022x}" for number in range(0, 10 * PAGE, 10)]
    assert page.older is not None
    assert store.calls == ["Query"] * SHARDS + ["BatchGetItem"]


def test_a_search_for_a_rare_match_stops_after_1000_entries_and_can_be_continued(causeway: Causeway) -> None:
    now, count = causeway.clock.time(), 2500
    rows = [made_up(number, now - number) for number in range(count - 1)]
    store = MadeUpStore([*rows, made_up(count - 1, now - count + 1, state="due")])
    events, search = ClientEvents(store, event_log(store, causeway), PLANS), replace(ALL, state="due")
    page = events.page(search)

    assert (page.entries, page.is_cut) == ([], True)
    assert store.calls.count("Query") == 2 * SHARDS
    assert store.calls.count("BatchGetItem") <= 2 + LOOKED_THROUGH // 100 + 1
    assert walk(events, search) == [f"{count - 1:022x}"]


@pytest.mark.parametrize(("most", "reads"), [(LOOKED_THROUGH, 2), (FIRST, 1)])
@pytest.mark.parametrize("search", [replace(ALL, state="due"), replace(ALL, type="consent.revoked")])
def test_a_filter_without_a_match_makes_the_same_number_of_calls_for_2000_and_10_000_entries(
    causeway: Causeway, search: ClientSearch, most: int, reads: int
) -> None:
    now, made = causeway.clock.time(), []
    for count in (2_000, 10_000):
        store = filled_store(now, count, 1, 1)
        page = ClientEvents(store, event_log(store, causeway), PLANS).page(search, most=most)
        assert (page.entries, page.is_cut) == ([], True)
        made.append(store.calls)

    assert made[0] == made[1]
    assert made[0].count("Query") <= reads * (SHARDS + 4)
    assert made[0].count("BatchGetItem") <= sum(2 + size // 100 for size in (FIRST, most)[:reads])


def test_a_search_with_a_maximum_reads_only_the_latest_entries(causeway: Causeway) -> None:
    now = causeway.clock.time()
    due = (20, 121)
    rows = [made_up(number, now - number, state="due" if number in due else "delivered") for number in range(122)]
    store = MadeUpStore(rows)
    events, search = ClientEvents(store, event_log(store, causeway), PLANS), replace(ALL, state="due")
    page = events.page(search, most=FIRST)

    assert ids(events.page(search).entries) == [f"{number:022x}" for number in due]
    assert (ids(page.entries), page.is_cut) == ([f"{20:022x}"], True)
    assert page.older is not None
    assert (now - 121) * 1000 < page.older[0] <= (now - FIRST + 2) * 1000


@pytest.mark.parametrize("text", ["", "x", "1", "1-", "-1-a", "1-a b", f"{'9' * 14}-a", f"1-{'a' * 65}", "\u0661-a"])
def test_decoding_an_invalid_position_returns_none(text: str) -> None:
    assert decode_position(text) is None
