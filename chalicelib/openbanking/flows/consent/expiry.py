"""Events for expiring consents: a week in advance, and on expiry.

Each consent stores its next event. The transaction that records the event also advances it, so each event is sent once,
however often or late the job runs.
"""

from __future__ import annotations

from functools import partial

from chalicelib.delivery.outbox import Outbox, RecordedDeliveries
from chalicelib.foundation import log
from chalicelib.foundation.clock import Clock, timestamp
from chalicelib.foundation.dynamodb.store import Item, Store
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.foundation.parallel import pieces, together
from chalicelib.foundation.requests.engine import Engine, try_to
from chalicelib.foundation.requests.facts import Facts, Key
from chalicelib.foundation.requests.outcome import Outcome
from chalicelib.openbanking.flows.tpp_events import TppEvents
from chalicelib.openbanking.protocol.tpp_events import ConsentEnding
from chalicelib.openbanking.records.client_record import Client, client_key
from chalicelib.openbanking.records.consents import NOTIFY, Consent, Consents, consent_key

_AT_ONCE = 50
"""Consents per batch; a batch read can also hold all of their clients."""
_RUN_SECONDS = 40
"""Seconds after which a run starts no new batch; the next run continues."""


@dataclass(frozen=True, slots=True)
class ConsentExpiry:
    """Records due expiry events."""

    store: Store
    clock: Clock
    consents: Consents
    tpp_events: TppEvents
    outbox: Outbox
    engine: Engine

    def record_due_events(self) -> int:
        """Record all due events. Returns the number of consents with new events."""
        until, moved = self.clock.monotonic() + _RUN_SECONDS, 0
        rows = NOTIFY.rows(self.store, until=self.clock.time())
        for piece in pieces(rows, _AT_ONCE):
            if self.clock.monotonic() > until:
                break
            moved += self._record_batch([row["consent_id"] for row in piece])
        if moved:
            log.info("consent expiries recorded", consents=moved)
        return moved

    def _record_batch(self, consent_ids: list[str]) -> int:
        items = [item for item in self.store.batch_get([consent_key(each) for each in consent_ids]) if item]
        names = list(dict.fromkeys(item["client_id"] for item in items))
        found = self.store.batch_get([client_key(name) for name in names])
        clients = {name: Client.from_item(item) for name, item in zip(names, found, strict=True) if item}
        calls = [partial(self._record_events, item, clients.get(item["client_id"])) for item in items]
        recorded = [each for each in together(calls) if each is not None]
        self.outbox.dispatch(sum(recorded, RecordedDeliveries()))
        return len(recorded)

    def _record_events(self, item: Item, client: Client | None) -> RecordedDeliveries | None:
        """Record a consent's due events; ``None`` if none is due or a concurrent run was first.

        A run after the expiry records both events, so that every TPP receives the same sequence.
        """
        key, deliveries, moved = consent_key(item["consent_id"]), RecordedDeliveries(), False
        while True:
            write = partial(self.engine.write, partial(self._decide, key, client), Facts([key], [item]))
            outcome = try_to(write, "consent expiry not recorded", consent_id=item["consent_id"])
            if outcome is None or outcome.answer is None or isinstance(outcome.answer, Exception):
                break
            item, recorded = outcome.answer
            moved, deliveries = True, deliveries + recorded
        return deliveries if moved else None

    def _decide(self, key: Key, client: Client | None, facts: Facts) -> Outcome[tuple[Item, RecordedDeliveries] | None]:
        """The consent as it is after its due event, and this event; ``None`` if none is due."""
        item, now = facts.item(key), self.clock.time()
        if item is None or item["status"] != "authorised" or item.get(NOTIFY.time, now + 1) > now:
            return Outcome(None)
        consent = Consent.from_item(item)
        data = ConsentEnding(consent_id=consent.consent_id, bic=consent.bic, valid_until=timestamp(consent.valid_until))
        recorded = self.tpp_events.record(client, item["notify"], data)
        noticing = self.consents.update_next_notice(item)
        after = {name: value for name, value in {**item, **noticing.set}.items() if name not in noticing.remove}
        return Outcome((after, recorded), [noticing], recorded)
