"""Events for expiring consents: a week in advance, and on expiry.

Each consent stores its next event. The transaction that records the event also advances it. So each event is sent once,
even if the job runs several times or late.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from chalicelib.delivery.outbox import Outbox, RecordedDeliveries
from chalicelib.foundation import log
from chalicelib.foundation.clock import Clock, timestamp
from chalicelib.foundation.dynamodb.store import Item, Store
from chalicelib.foundation.parallel import pieces, together
from chalicelib.foundation.requests.engine import Engine, try_to
from chalicelib.foundation.requests.facts import Facts
from chalicelib.foundation.requests.outcome import Outcome
from chalicelib.openbanking.flows.tpp_events import TppEvents
from chalicelib.openbanking.protocol.tpp_events import ConsentEnding
from chalicelib.openbanking.records.client_record import Client, client_key
from chalicelib.openbanking.records.consents import NOTIFY, Consent, Consents, consent_key

AT_ONCE = 50
"""The number of consents in a batch. The clients of all consents in a batch must fit into one batch read."""
RUN_SECONDS = 40
"""The number of seconds after which a run starts no new batch. The next run continues with the remaining consents."""


def record_due_events(
    *, store: Store, clock: Clock, consents: Consents, tpp_events: TppEvents, outbox: Outbox, engine: Engine
) -> int:
    """Record all due events about the expiry of consents. Returns the number of consents with new events."""
    until, moved = clock.monotonic() + RUN_SECONDS, 0

    def record(item: Item, client: Client | None) -> RecordedDeliveries | None:
        return _record_events(item, client, clock, consents, tpp_events, engine)

    for piece in pieces(NOTIFY.rows(store, until=clock.time()), AT_ONCE):
        if clock.monotonic() > until:
            break
        items = [item for item in store.batch_get([consent_key(row["consent_id"]) for row in piece]) if item]
        clients = read_clients(store, items)
        recorded = together([partial(record, item, clients.get(item["client_id"])) for item in items])
        deliveries = [each for each in recorded if each is not None]
        outbox.dispatch(sum(deliveries, RecordedDeliveries()))
        moved += len(deliveries)
    if moved:
        log.info("consent expiries recorded", consents=moved)
    return moved


def read_clients(store: Store, items: Sequence[Item]) -> dict[str, Client]:
    """Read the clients of consents, by Client ID."""
    names = list(dict.fromkeys(item["client_id"] for item in items))
    found = store.batch_get([client_key(name) for name in names])
    return {name: Client.from_item(item) for name, item in zip(names, found, strict=True) if item}


def _record_events(
    item: Item, client: Client | None, clock: Clock, consents: Consents, tpp_events: TppEvents, engine: Engine
) -> RecordedDeliveries | None:
    """Record a consent's due expiry events. Return ``None`` if no event is due or a concurrent run recorded the events.

    A run after the expiry records ``consent.expiring`` and ``consent.expired``, so that every TPP receives the same
    sequence.
    """
    key, deliveries, moved = consent_key(item["consent_id"]), RecordedDeliveries(), False

    def decide(facts: Facts) -> Outcome[tuple[Item, RecordedDeliveries] | None]:
        """Return the consent after recording its due event, and the event. Return ``None`` if no event is due."""
        item, now = facts.item(key), clock.time()
        if item is None or item["status"] != "authorised" or item.get(NOTIFY.time, now + 1) > now:
            return Outcome(None)
        consent = Consent.from_item(item)
        data = ConsentEnding(consent_id=consent.consent_id, bic=consent.bic, valid_until=timestamp(consent.valid_until))
        recorded = tpp_events.record(client, item["notify"], data)
        update = consents.update_next_notice(item)
        after = {name: value for name, value in {**item, **update.set}.items() if name not in update.remove}
        return Outcome((after, recorded), [update], recorded)

    while True:
        write = partial(engine.write, decide, Facts([key], [item]))
        outcome = try_to(write, "consent expiry not recorded", consent_id=item["consent_id"])
        if outcome is None or outcome.answer is None or isinstance(outcome.answer, Exception):
            return deliveries if moved else None
        item, recorded = outcome.answer
        moved, deliveries = True, deliveries + recorded
