"""Hold releases: full or partial reversals, and scheduled expiries.

The scheduled job that expires holds also adds late declines to the cards' lists. The writes of a release fail if the
authorization, the account or the counters have changed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from typing import Any

from chalicelib.cards.authorization import authorization_record as records
from chalicelib.cards.authorization import late_declines, network_messages
from chalicelib.cards.authorization.activity_record import new_entry
from chalicelib.cards.authorization.card_context import Read, read_with_card
from chalicelib.cards.authorization.network_messages import follow_up_message
from chalicelib.cards.events.card_events import record_events
from chalicelib.cards.ledger.conversion import portion
from chalicelib.cards.ledger.entries import Movement
from chalicelib.cards.ledger.usage_counters import CounterChanges
from chalicelib.cards.programs.catalogue import Catalogue
from chalicelib.cards.programs.programmes import Programmes
from chalicelib.cards.protocol.simulator_messages import Released, SimulateExpiry, SimulateReversal
from chalicelib.cards.protocol.states import OVER, REVERSED
from chalicelib.cards.protocol.status_codes import Refused, Status
from chalicelib.cards.protocol.values import APPROVED, EXPIRY, REVERSAL
from chalicelib.cards.requests.request_context import ActionOutcome, RequestContext
from chalicelib.cards.storage.due_index import DueItems
from chalicelib.cards.storage.record import WriteStamp
from chalicelib.cards.storage.reserved_rows import RowReservation
from chalicelib.cards.storage.sequences import Sequences
from chalicelib.delivery.outbox import Outbox
from chalicelib.foundation import log
from chalicelib.foundation.clock import Clock, milliseconds
from chalicelib.foundation.dynamodb.store import Item, Operation, Store
from chalicelib.foundation.identifiers import new_id
from chalicelib.foundation.metrics import Metrics
from chalicelib.foundation.requests.engine import Engine
from chalicelib.foundation.requests.outcome import Outcome

CALLED: Mapping[int, str] = {REVERSAL: "reversal", EXPIRY: "hold over"}
"""The cause recorded in the ledger for each release type."""
_ENDS: Mapping[int, str] = {REVERSAL: REVERSED, EXPIRY: OVER}


def simulate_reversal(
    request: SimulateReversal, context: RequestContext, *, sequences: Sequences
) -> ActionOutcome[Released]:
    """Requires a held authorization (4008). The amount must not exceed the amount still held (5004)."""
    authorization = records.find_by_trans_link(context, request.trans_link)
    authorization.require(context.action)
    amount = authorization.left if request.amount is None else request.amount
    if amount > authorization.left:
        raise Refused(Status.MORE_THAN_ORIGINAL)
    return _release(context, authorization, amount, REVERSAL, sequences)


def simulate_expiry(
    request: SimulateExpiry, context: RequestContext, *, sequences: Sequences
) -> ActionOutcome[Released]:
    """Requires a held authorization (4008). A scheduled job releases authorizations that were held for 7 days in the
    same way as this action.
    """
    authorization = records.find_by_trans_link(context, request.trans_link)
    authorization.require(context.action)
    return _release(context, authorization, authorization.left, EXPIRY, sequences)


def _release(
    context: RequestContext, authorization: records.Authorization, amount: int, kind: int, sequences: Sequences
) -> ActionOutcome[Released]:
    stamp = WriteStamp(context.at, context.write_id)
    read = partial(context.items, entry=partial(new_entry, context.manager_id, sequences))
    return release(read, context.catalogue, authorization, amount, kind, stamp, context.reservation, context.level)


def release(
    read: Read,
    catalogue: Catalogue,
    authorization: records.Authorization,
    amount: int,
    kind: int,
    stamp: WriteStamp,
    reservation: RowReservation,
    level: int = 0,
    **further: Any,
) -> ActionOutcome[Released]:
    """Release ``amount`` of the authorization's remaining amount. ``level`` is the caller's access level.

    ``read`` reserves the message's row unless the row is already reserved. ``further`` contains other changed members
    of the authorization.
    """
    card_context = read_with_card(read, catalogue, authorization)
    account, tally = card_context.accounts[0], CounterChanges()
    released = portion(authorization.held, amount, authorization.left)
    left = authorization.left - amount
    is_all = not left and not authorization.cleared
    back, rest = records.split_usage(authorization.counted, amount, authorization.left, with_count=is_all)
    card_context.posting_context(account).release(back, tally)
    members: dict[str, Any] = {
        "left": left,
        "held": authorization.held - released,
        "counted": records.join_usage(rest, None) if left else None,
        **({} if left else {"state": _ENDS[kind], **records.NOT_DUE}),
        **further,
    }
    movement = Movement(CALLED[kind], stamp.at, stamp.write_id, tally, authorization_id=authorization.id)
    movement.list_by_card(card_context.of_card)
    if released:
        movement.hold(account, -released)
    after = movement.account_after(account) if released else account
    at = WriteStamp(after.last_at if released else movement.at, stamp.write_id)
    movement.tally.note_listing(card_context.of_card, at.at)
    reserved = reservation.row
    charge = authorization.charge_details
    message = follow_up_message(
        reserved.number,
        kind,
        card_context,
        authorization,
        code=APPROVED,
        amount=amount,
        charge=charge.share(amount) if charge else None,
    )
    operations: list[Operation] = [
        authorization.update(stamp.write_id, **members),
        records.put_message_number(message, authorization, at, reserved.listed_at(at.at)),
        *message.put_rows(at, reserved),
        *movement.operations(),
    ]
    events = network_messages.message_events(message, at.now, after)
    balances = after.visible_balances(level)
    data: Released = {"authorize_id": message.number, "released_amount": released, **balances}
    return ActionOutcome(data, operations, events=events)


def expire_holds(
    until: float = math.inf,
    *,
    clock: Clock,
    engine: Engine,
    outbox: Outbox,
    metrics: Metrics,
    programmes: Programmes,
    sequences: Sequences,
    store: Store,
) -> int:
    """Release all expired holds and list all late declines. Return the number of processed items, as ``DueItems.run``
    does.
    """

    def expire(item: Item) -> bool:
        """Release one expired hold or list one late decline. Return false if a concurrent change prevents the write.

        Raises: StoreError.
        """
        if item["part"] == late_declines.KIND:
            return late_declines.list_by_card(item, clock=clock, engine=engine)
        authorization = records.Authorization.from_item(item)
        catalogue = programmes.catalogue(authorization.manager_id)
        reservation = RowReservation(store, clock).make(partial(new_entry, authorization.manager_id, sequences))
        stamp = WriteStamp(milliseconds(clock), new_id())
        released = release(store.batch_get, catalogue, authorization, authorization.left, EXPIRY, stamp, reservation)
        deliveries = record_events(authorization.manager_id, released.events, outbox, programmes, stamp.now)
        if engine.attempt(Outcome(None, released.operations, deliveries)):
            return True
        reservation.release()  # cleared or changed concurrently: left to the next run
        return False

    holds = DueItems(store, clock, metrics, records.DUE, "hold").run(expire, until)
    if holds:
        log.info("holds released", holds=holds)
    return holds
