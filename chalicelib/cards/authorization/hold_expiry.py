"""Holds that are over: what was authorized and never collected is released when its time has come."""

from __future__ import annotations

import math
from dataclasses import dataclass

from chalicelib.cards.authorization.authorization_record import DUE, Authorization
from chalicelib.cards.authorization.hold_release import HoldRelease
from chalicelib.cards.events.card_events import CardEvents
from chalicelib.cards.programs.programmes import Programmes
from chalicelib.cards.protocol.values import EXPIRY
from chalicelib.cards.storage.due_index import DueItems
from chalicelib.cards.storage.write_stamp import WriteStamp
from chalicelib.foundation.clock import Clock, milliseconds
from chalicelib.foundation.dynamodb.store import ConditionFailed, Conflict, Item, Store
from chalicelib.foundation.identifiers import new_id
from chalicelib.foundation.metrics import Metrics


@dataclass(frozen=True, slots=True)
class HoldExpiry:
    """Looks through the index of due times."""

    store: Store
    clock: Clock
    metrics: Metrics
    programmes: Programmes
    releasing: HoldRelease
    events: CardEvents

    def expire(self, until: float = math.inf) -> int:
        """Release every hold that is over; answers how many, as ``DueItems.run``."""
        return DueItems(self.store, self.clock, self.metrics, DUE, "hold").run(self._expire, until)

    def _expire(self, item: Item) -> bool:
        """Raises: StoreError."""
        authorization = Authorization.from_item(item)
        stamp = WriteStamp(milliseconds(self.clock), new_id())
        catalogue = self.programmes.catalogue(authorization.manager_id)
        release = self.releasing.release(
            self.store.batch_get, catalogue, authorization, authorization.left, EXPIRY, stamp
        )
        told = self.events.record(authorization.manager_id, release.events)
        try:
            self.store.transact([*release.operations, *told.operations])
        except (ConditionFailed, Conflict):  # it was collected meanwhile, or the account was moved: the next run sees
            return False
        self.events.dispatch(told)
        return True
