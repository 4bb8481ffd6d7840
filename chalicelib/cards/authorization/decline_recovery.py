"""Recovery of declines that a request could not record, because storage did not respond in time.

The network received response code 91. A write attempt of the request may have succeeded, or may still succeed later. A
worker records the decline under the authorization number that all attempts share, so no later attempt can be written.
If an attempt was written before, the worker releases its hold and adds the decline to the authorization.

The request queues a task for the worker (``delivery.tasks``). The task contains no card number, PIN or CVC2.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from typing import Any

from chalicelib.cards.authorization import activity_record, hold_release, network_messages
from chalicelib.cards.authorization.activity_record import CardUse
from chalicelib.cards.authorization.authorization_record import Authorization, put_message_number
from chalicelib.cards.authorization.authorizer import NOT_AVAILABLE, RequestedAmount
from chalicelib.cards.authorization.card_context import (
    CardContext,
    Read,
    read_by_number,
    read_card_context,
    read_with_card,
)
from chalicelib.cards.authorization.late_declines import put_late_decline
from chalicelib.cards.authorization.network_messages import follow_up_message, late_decline
from chalicelib.cards.events.card_events import CardEvent, record_events
from chalicelib.cards.issuing.card_record import Card, number_key
from chalicelib.cards.programs.catalogue import Catalogue
from chalicelib.cards.programs.programmes import Programmes
from chalicelib.cards.protocol import values
from chalicelib.cards.requests.envelope import IdempotencyClaim, RequestReferences
from chalicelib.cards.storage.record import WriteStamp, proof_of
from chalicelib.cards.storage.reserved_rows import NewEntry, ReservedRow, RowReservation
from chalicelib.cards.storage.sequences import Sequences
from chalicelib.cards.storage.time_ordered import Timeline
from chalicelib.delivery.outbox import Outbox
from chalicelib.foundation import jsontext, log
from chalicelib.foundation.clock import Clock, milliseconds
from chalicelib.foundation.dynamodb.store import Item, Operation, Store
from chalicelib.foundation.identifiers import new_id
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.foundation.requests.engine import Engine
from chalicelib.foundation.requests.facts import Facts
from chalicelib.foundation.requests.outcome import Outcome

TASK = "unrecorded-decline"
_ATTEMPTS = 6
Changes = tuple[Sequence[Operation], Sequence[CardEvent]]
"""Write operations, and the card events for the recorded changes."""
_NOTHING: Changes = ((), ())


def task_members(
    number: int, reserved: ReservedRow | None, asked: RequestedAmount, *, card_id: int | None, lookup: str | None
) -> dict[str, Any]:
    """Return the members of a task that records a decline. ``lookup`` is the keyed hash of the card's number."""
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
    """The data of a task that records a decline.

    The data consists of the members that ``task_members`` returns and of the caller's identity, which the dispatcher
    adds.

    Attributes:
        level: the caller's access level.
        asked_at: the time when the request was dispatched, in Unix seconds.
        claim: the claim of the request's ``request_reference_id``, if any.
        answer: the response sent to the caller.
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
        """The timeline, in the lists of all cards, that contains the message's row."""
        return activity_record.shard_with(self.manager_id, self.number)

    @property
    def row(self) -> ReservedRow | None:
        """The row that the request reserved, or ``None`` if storage did not confirm the reservation."""
        return (
            None
            if self.reserved is None
            else ReservedRow(self.timeline, self.reserved[0], self.number, self.reserved[1])
        )

    def can_see(self, item: Item | None) -> bool:
        """Whether the caller has access to the card."""
        return bool(item and item["manager_id"] == self.manager_id and item["access_level"] <= self.level)


Reserve = Callable[[NewEntry], RowReservation]
"""A function that reserves a row. The reservation is released if the attempt is not written."""


def record_decline(
    details: str,
    *,
    clock: Clock,
    engine: Engine,
    outbox: Outbox,
    programmes: Programmes,
    references: RequestReferences,
    sequences: Sequences,
    store: Store,
) -> None:
    """Carry out a task. A task that was already carried out has no effect.

    Raises: StoreError. The queue then retries the task.
    """
    decline = UnrecordedDecline(**jsontext.loads(details))
    claim = IdempotencyClaim(**decline.claim) if decline.claim else None
    keys = [Authorization.key(decline.number), *(claim.keys if claim else ())]
    own_rows = [decline.row]

    def decide(_: Facts) -> Outcome[bool | None]:
        """Record the decline. Return whether an attempt was written, or ``None`` if the decline is already recorded."""
        unused.close()
        own_row = own_rows.pop() if own_rows else None  # it may be cancelled, if this is not the first attempt
        item, *claimed = store.batch_get(keys)
        stamp = WriteStamp(milliseconds(clock), new_id())
        other = references.claimed_at(claim, claimed[0], stamp.now) if claim else None
        if item is not None and item["response_code"] == NOT_AVAILABLE:
            return Outcome(None)
        catalogue = programmes.catalogue(decline.manager_id)
        if other is not None and other <= decline.asked_at:  # a repeat of a request that was carried out before
            operations, events = _NOTHING
        elif item is None:
            operations, events = _decline(decline, catalogue, own_row, reserve, stamp, store.batch_get)
        else:
            entry = partial(activity_record.new_entry, decline.manager_id, sequences)
            authorization = Authorization.from_item(item)
            operations, events = _take_back(
                decline, catalogue, authorization, partial(reserve, entry), stamp, store.batch_get
            )
        if claim is not None and other is None:
            operations = [*operations, references.replace_answer(claim, decline.answer, stamp.now)]
        deliveries = record_events(decline.manager_id, events, outbox, programmes, stamp.now)
        return Outcome(item is not None, operations, deliveries, proof_of(operations, stamp.write_id))

    def reserve(entry: NewEntry) -> RowReservation:
        made = RowReservation(store, clock).make(entry)
        unused.callback(made.release)
        return made

    with ExitStack() as unused:
        was_written = engine.carry_out(decide, busy_attempts=_ATTEMPTS)
        unused.pop_all()
    if was_written is not None:
        if decline.row is not None:
            decline.row.release(store)
        log.info("decline recorded", authorization=decline.number, was_written=was_written)


def _decline(
    decline: UnrecordedDecline,
    catalogue: Catalogue,
    own_row: ReservedRow | None,
    reserve: Reserve,
    stamp: WriteStamp,
    read: Read,
) -> Changes:
    """Record the decline. None of the request's write attempts succeeded."""
    card_context = _read_card_context(decline, catalogue, read)
    if card_context is None:  # nothing is recorded of a card that the caller does not have
        return _NOTHING
    reserved = own_row or reserve(lambda: (decline.timeline, decline.number)).row
    message, account, operations = late_decline(card_context, decline.asked, reserved, stamp)
    return operations, network_messages.message_events(message, stamp.now, account)


def _read_card_context(decline: UnrecordedDecline, catalogue: Catalogue, read: Read) -> CardContext | None:
    if decline.card_id is not None:
        card = read([Card.key(decline.card_id)])[0]
        found = Card.from_item(card) if card and decline.can_see(card) else None
        return read_card_context(read, catalogue, found) if found else None
    assert decline.lookup is not None, "a card or a number is given"
    number = read([number_key(decline.lookup)])[0]
    return read_by_number(read, decline.can_see, catalogue, number) if number else None


def _take_back(
    decline: UnrecordedDecline,
    catalogue: Catalogue,
    authorization: Authorization,
    reserve: Callable[[], RowReservation],
    stamp: WriteStamp,
    read: Read,
) -> Changes:
    """Release the holds of a write attempt that succeeded, and record the decline."""
    card_context = read_with_card(read, catalogue, authorization)
    account, reserved = card_context.accounts[0], reserve().row
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
        return [unheld, *operations], network_messages.message_events(message, stamp.now, account)
    release = hold_release.release(
        read,
        catalogue,
        authorization,
        authorization.left,
        values.REVERSAL,
        stamp,
        reserve(),
        response_code=NOT_AVAILABLE,
    )
    after = replace(account, held=account.held - authorization.held)
    events = [*release.events, *network_messages.message_events(message, stamp.now, after)]
    return [*release.operations, *operations], events
