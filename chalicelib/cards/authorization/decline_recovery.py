"""Recovery of declines that a request could not record, because storage did not respond in time.

The network was answered 91. An attempt of the request may have been written nevertheless, or may still be: a worker
records the decline under the authorization number of all attempts, so that none can be written any more. If one was
written before, the worker releases its hold and adds the decline to it.

The request leaves this to the worker by a task (``delivery.tasks``), which has neither card number, PIN nor CVC2.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from chalicelib.cards.authorization import activity_record, event_payloads
from chalicelib.cards.authorization.authorization_record import Authorization, put_message_number
from chalicelib.cards.authorization.authorizer import NOT_AVAILABLE, Authorizer, RequestedAmount
from chalicelib.cards.authorization.card_context import CardContext, read_by_number, read_card_context, read_with_card
from chalicelib.cards.authorization.card_use import CardUse
from chalicelib.cards.authorization.hold_release import HoldRelease
from chalicelib.cards.authorization.late_declines import put_late_decline
from chalicelib.cards.authorization.new_authorizations import follow_up_message, late_decline
from chalicelib.cards.events.card_events import CardEvent, CardEvents
from chalicelib.cards.issuing.card_record import Card, number_key
from chalicelib.cards.programs.programmes import Programmes
from chalicelib.cards.protocol import values
from chalicelib.cards.requests.references import IdempotencyClaim, RequestReferences
from chalicelib.cards.storage.record import WriteStamp
from chalicelib.cards.storage.reserved_rows import NewEntry, ReservedRow, RowReservation
from chalicelib.cards.storage.time_ordered import Timeline, shard_of
from chalicelib.foundation import jsontext, log
from chalicelib.foundation.clock import Clock, milliseconds
from chalicelib.foundation.dynamodb.store import Busy, ConditionFailed, Conflict, Item, Operation, Store
from chalicelib.foundation.identifiers import new_id
from chalicelib.foundation.lazy_dataclasses import dataclass

TASK = "unrecorded-decline"
_ATTEMPTS = 6


def task_members(
    number: int, reserved: ReservedRow | None, asked: RequestedAmount, *, card_id: int | None, lookup: str | None
) -> dict[str, Any]:
    """What a task says of the declined message; ``lookup`` is the keyed hash of the card's number."""
    return {
        "number": number,
        "reserved": None if reserved is None else [reserved.at, reserved.token],
        "card_id": card_id,
        "lookup": lookup,
        "use": asked.use.as_dict,
        "amount": asked.amount,
        "currency": asked.currency,
    }


@dataclass(frozen=True, kw_only=True, slots=True)
class UnrecordedDecline:
    """A task: the members above, and what the dispatcher knows of the caller.

    Attributes:
        level: the caller's access level.
        asked_at: when the request was dispatched, in Unix seconds.
        claim: the claim of its ``request_reference_id``, if any.
        answer: the response that the caller got.
    """

    number: int
    reserved: list[Any] | None
    card_id: int | None
    lookup: str | None
    use: Mapping[str, Any]
    amount: int
    currency: int
    manager_id: int
    level: int
    asked_at: int
    claim: Mapping[str, Any] | None
    answer: str

    @property
    def asked(self) -> RequestedAmount:
        return RequestedAmount(CardUse(**self.use), self.amount, self.currency)

    @property
    def timeline(self) -> Timeline:
        """The list over all cards that has the message's row."""
        return activity_record.of_manager(self.manager_id)[shard_of(self.number)]

    @property
    def row(self) -> ReservedRow | None:
        """The row that the request reserved, if storage confirmed it."""
        return (
            None
            if self.reserved is None
            else ReservedRow(self.timeline, self.reserved[0], self.number, self.reserved[1])
        )

    def can_see(self, item: Item | None) -> bool:
        """Whether the card exists for the caller."""
        return bool(item and item["manager_id"] == self.manager_id and item["access_level"] <= self.level)


@dataclass(frozen=True, slots=True)
class _Writes:
    operations: list[Operation]
    events: list[CardEvent]


@dataclass(frozen=True, slots=True)
class DeclineRecovery:
    """Records declines; a task that was carried out before has no effect."""

    store: Store
    clock: Clock
    programmes: Programmes
    references: RequestReferences
    authorizer: Authorizer
    hold_release: HoldRelease
    events: CardEvents

    def record(self, details: str) -> None:
        """Carry out a task. Raises: StoreError; the queue repeats the task."""
        decline = UnrecordedDecline(**jsontext.loads(details))
        for attempt in range(_ATTEMPTS):
            reservations: list[RowReservation] = []
            try:
                self._record(decline, reservations, own_row=decline.row if attempt == 0 else None)
            except (ConditionFailed, Busy):
                for each in reservations:
                    each.release()
                self.store.wait(attempt)
            else:
                return
        raise Conflict("others changed the account each time")

    def _record(
        self, decline: UnrecordedDecline, reservations: list[RowReservation], own_row: ReservedRow | None
    ) -> None:
        """Record the decline once; ``own_row`` is the row that the request reserved, unless it may be cancelled."""
        claim = IdempotencyClaim(**decline.claim) if decline.claim else None
        keys = [Authorization.key(decline.number), *(self.references.keys(claim) if claim else ())]
        item, *claimed = self.store.batch_get(keys)
        stamp = WriteStamp(milliseconds(self.clock), new_id())
        other = self.references.claimed_at(claim, claimed[0], stamp.now) if claim else None
        if item is not None and item["response_code"] == NOT_AVAILABLE:
            return
        if other is not None and other <= decline.asked_at:  # a repeat of a request that was carried out before
            writes = _Writes([], [])
        elif item is None:
            writes = self._decline(decline, own_row, reservations, stamp)
        else:
            writes = self._take_back(decline, Authorization.from_item(item), reservations, stamp)
        deliveries = self.events.record(decline.manager_id, writes.events)
        operations = [*writes.operations, *deliveries.operations]
        if claim is not None and other is None:
            operations.append(self.references.replace_answer(claim, decline.answer, stamp.now))
        if operations:
            self.store.transact(operations)
        self.events.dispatch(deliveries)
        if decline.row is not None:
            decline.row.release(self.store)
        log.info("decline recorded", authorization=decline.number, was_written=item is not None)

    def _decline(
        self,
        decline: UnrecordedDecline,
        own_row: ReservedRow | None,
        reservations: list[RowReservation],
        stamp: WriteStamp,
    ) -> _Writes:
        """Record the decline in the place of the request's attempts, none of which was written."""
        card_context = self._read_card_context(decline)
        if card_context is None:  # nothing is recorded of a card that the caller does not have
            return _Writes([], [])
        reserved = own_row or self._reserve(lambda: (decline.timeline, decline.number), reservations).row
        message, account, operations = late_decline(self.authorizer, card_context, decline.asked, reserved, stamp)
        return _Writes(operations, event_payloads.message_events(message, stamp.now, account))

    def _read_card_context(self, decline: UnrecordedDecline) -> CardContext | None:
        catalogue = self.programmes.catalogue(decline.manager_id)
        if decline.card_id is not None:
            card = self.store.get(*Card.key(decline.card_id))
            found = Card.from_item(card) if card and decline.can_see(card) else None
            return read_card_context(self.store.batch_get, catalogue, found) if found else None
        assert decline.lookup is not None, "a card or a number is given"
        number = self.store.get(*number_key(decline.lookup))
        return read_by_number(self.store.batch_get, decline.can_see, catalogue, number) if number else None

    def _take_back(
        self,
        decline: UnrecordedDecline,
        authorization: Authorization,
        reservations: list[RowReservation],
        stamp: WriteStamp,
    ) -> _Writes:
        """Release what an attempt of the request holds, and add the decline to the authorization."""
        catalogue = self.programmes.catalogue(authorization.manager_id)
        card_context = read_with_card(self.store.batch_get, catalogue, authorization)
        entry = self.hold_release.new_entry(authorization.manager_id)
        account, reserved = card_context.accounts[0], self._reserve(entry, reservations).row
        message = follow_up_message(
            reserved.number,
            values.AUTHORIZATION,
            card_context,
            authorization,
            code=NOT_AVAILABLE,
            amount=decline.amount,
            charge=authorization.charge_details,
        )
        listed_at = reserved.listed_at(stamp.at)
        listed = replace(authorization, id=message.number, at=stamp.at, listed_at=listed_at)
        operations: list[Operation] = [
            put_message_number(message, authorization, stamp, listed_at),
            reserved.put(message.row(stamp)),
            put_late_decline(listed, stamp.now),
        ]
        if not authorization.is_held:
            unheld = authorization.update(stamp.write_id, response_code=NOT_AVAILABLE)
            return _Writes([unheld, *operations], event_payloads.message_events(message, stamp.now, account))
        release = self.hold_release.release(
            self.store.batch_get,
            catalogue,
            authorization,
            authorization.left,
            values.REVERSAL,
            stamp,
            self._reserve(entry, reservations),
            response_code=NOT_AVAILABLE,
        )
        after = replace(account, held=account.held - authorization.held)
        events = [*release.events, *event_payloads.message_events(message, stamp.now, after)]
        return _Writes([*release.operations, *operations], events)

    def _reserve(self, entry: NewEntry, reservations: list[RowReservation]) -> RowReservation:
        """Reserve a row, to be given up if nothing is written. Raises: StoreError."""
        made = RowReservation(self.store, self.clock).make(entry)
        reservations.append(made)
        return made
