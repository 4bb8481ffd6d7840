"""Authorizations, advices and increments: network messages to the issuer (``docs/concepts/card-network.md``).

One transaction writes the effects of the authorizer's decision: the hold, the counters, the authorization and the card
activity.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import Any

from chalicelib.cards.authorization import activity_record, authorizer, decline_recovery, network_messages
from chalicelib.cards.authorization.activity_record import CardUse, NetworkMessage, risk_action_flags
from chalicelib.cards.authorization.authorization_record import (
    Authorization,
    find_by_trans_link,
    join_usage,
    put_message_number,
)
from chalicelib.cards.authorization.authorizer import (
    NOT_AVAILABLE,
    Decision,
    PresentedData,
    RequestedAmount,
    draw_auth_code,
)
from chalicelib.cards.authorization.card_context import (
    CardContext,
    Read,
    read_by_number,
    read_card_context,
    read_with_card,
)
from chalicelib.cards.authorization.network_messages import (
    first_message,
    follow_up_message,
    late_decline,
    new_authorization,
)
from chalicelib.cards.card_data.encryption import CardData
from chalicelib.cards.issuing.card_decryption import decrypt_number
from chalicelib.cards.issuing.card_record import Card, number_key, update_listed
from chalicelib.cards.ledger.account_record import Account, LedgerAccount
from chalicelib.cards.ledger.charges import Charge
from chalicelib.cards.ledger.entries import Movement
from chalicelib.cards.ledger.usage_counters import CounterChanges
from chalicelib.cards.protocol import simulator_messages, values
from chalicelib.cards.protocol.simulator_messages import SimulateAdvice, SimulateAuthorization, SimulateIncrement
from chalicelib.cards.protocol.states import DECLINED_BY_NUMBER
from chalicelib.cards.protocol.status_codes import Refused, Status
from chalicelib.cards.requests.request_context import ActionOutcome, RequestContext, UnrecordedAnswer
from chalicelib.cards.storage.record import WriteStamp, without_none
from chalicelib.cards.storage.reserved_rows import ReservedRow
from chalicelib.cards.storage.sequences import Sequences
from chalicelib.foundation.dynamodb.store import Operation

UNKNOWN_NUMBER = "14"
AuthorizationOutcome = ActionOutcome[simulator_messages.Authorization]


def simulate_authorization(
    request: SimulateAuthorization, context: RequestContext, *, card_data: CardData, sequences: Sequences
) -> AuthorizationOutcome:
    """A declined authorization returns a success response. Its ``response_code`` is neither 00 nor 10. After 3
    consecutive wrong PINs, the PIN is blocked (75). An unknown card number is declined with 14, and this decline is not
    recorded. If other requests or slow storage prevent a decision within 2 seconds, the authorization is declined with
    91.
    """
    card_context, by_number = _read_card_context(request, context, card_data, sequences)
    if card_context is None:
        return ActionOutcome(_decline_unknown_card(request, context, sequences))
    asked, tally = _requested_amount(request), CounterChanges()
    if request.force_response_code is not None:
        decision = authorizer.force(card_context, asked, request.force_response_code, context.now, tally)
    else:
        decision = authorizer.decide(card_context, asked, context.now, tally, by_number, card_data=card_data)
    return _record_decision(context, card_context, asked, decision, tally, values.AUTHORIZATION)


def decline_late(
    request: SimulateAuthorization, context: RequestContext, *, card_data: CardData, sequences: Sequences
) -> AuthorizationOutcome:
    """Decline an authorization that could not be decided in time because of write conflicts.

    The usage counters are not changed. To avoid further conflicts with other requests, the decline is added to the
    card's list later (see ``late_declines``).
    """
    card_context, _ = _read_card_context(request, context, card_data, sequences)
    if card_context is None:
        return ActionOutcome(_decline_unknown_card(request, context, sequences))
    reserved, stamp = context.reservation.row, WriteStamp(context.at, context.write_id)
    message, account, operations = late_decline(card_context, _requested_amount(request), reserved, stamp)
    return _outcome(context, message, 0, account, operations, context.now)


def decline_unrecorded(
    request: SimulateAuthorization, reserved: ReservedRow | None, *, card_data: CardData, sequences: Sequences
) -> UnrecordedAnswer:
    """Decline an authorization when storage did not respond in time and the account is unknown.

    ``reserved`` is the row reserved for the message, or ``None`` if storage did not confirm the reservation.
    """
    number = reserved.number if reserved else sequences.spare("authorization")
    asked = _requested_amount(request)

    def members() -> dict[str, Any]:
        lookup = None if request.pan is None else card_data.lookup(request.pan)
        return decline_recovery.task_members(number, reserved, asked, card_id=request.card_id, lookup=lookup)

    answer = _decline_without_account(number, NOT_AVAILABLE, asked)
    return UnrecordedAnswer(number, answer, decline_recovery.TASK, members)


def simulate_advice(
    request: SimulateAdvice, context: RequestContext, *, card_data: CardData, sequences: Sequences
) -> AuthorizationOutcome:
    """The authorizer makes no checks and declines only amounts that cannot be converted (57). An amount that the
    network approved is held even if funds are insufficient. An unknown card number is refused with 3002.
    """
    card_context, _ = _read_card_context(request, context, card_data, sequences)
    if card_context is None:
        raise Refused(Status.NO_CARD)
    asked, tally = _requested_amount(request), CounterChanges()
    decision = authorizer.force(card_context, asked, request.response_code, context.now, tally)
    return _record_decision(context, card_context, asked, decision, tally, values.ADVICE)


def simulate_increment(
    request: SimulateIncrement, context: RequestContext, *, sequences: Sequences
) -> AuthorizationOutcome:
    """Requires a held authorization (4008). The increment can be declined because of the card's or the account's
    status, the limits (61, 65) or insufficient funds (51). An approved increment is held for 7 days from now.
    """
    authorization = find_by_trans_link(context, request.trans_link)
    authorization.require(context.action)
    card_context = read_with_card(_read_and_reserve(context, sequences), context.catalogue, authorization)
    tally = CounterChanges()
    decision, charge = authorizer.increase(card_context, authorization, request.amount, context.now, tally)
    return _record_increment(request, context, card_context, authorization, decision, charge, tally)


def _read_card_context(
    request: SimulateAuthorization | SimulateAdvice, context: RequestContext, card_data: CardData, sequences: Sequences
) -> tuple[CardContext | None, str | None]:
    """Read the context of the requested card. Also return the decline code if the card number was replaced.

    The last read reserves the message's row. The context is ``None`` if the number is unknown. Raises: Refused.
    """
    read = _read_and_reserve(context, sequences)
    if request.card_id is not None:
        return read_card_context(read, context.catalogue, context.find(Card, request.card_id)), None
    assert request.pan is not None, "a card or a number is given"
    number = context.items([number_key(card_data.lookup(request.pan))])[0]
    if number is None:
        return None, None
    card_context = read_by_number(read, context.can_see, context.catalogue, number)
    if (retired := number.get("retired")) is not None:
        return card_context, DECLINED_BY_NUMBER.get(retired, UNKNOWN_NUMBER)
    if card_context is not None and decrypt_number(card_context.card, card_data) != request.pan:
        return _read_card_context(request, context, card_data, sequences)  # it was replaced between the two reads
    return card_context, None


def _read_and_reserve(context: RequestContext, sequences: Sequences) -> Read:
    """Return a function that reads records. The first call also reserves a row for the request's message."""
    entry = partial(activity_record.new_entry, context.manager_id, sequences)
    return partial(context.items, entry=entry)


def _decline_unknown_card(
    request: SimulateAuthorization, context: RequestContext, sequences: Sequences
) -> simulator_messages.Authorization:
    """Return the response for an unknown card number. No decline is recorded."""
    context.reservation.release()
    number = sequences.next("authorization")
    return _decline_without_account(number, UNKNOWN_NUMBER, _requested_amount(request))


def _record_decision(
    context: RequestContext,
    card_context: CardContext,
    asked: RequestedAmount,
    decision: Decision,
    tally: CounterChanges,
    kind: int,
) -> AuthorizationOutcome:
    account, reserved = decision.account, context.reservation.row
    charge = decision.charge or authorizer.price(card_context, account, asked)
    if decision.code == values.APPROVED_IN_PART:
        asked = replace(asked, use=replace(asked.use, cashback_amount=None))
    auth_code = draw_auth_code(decision)
    message = first_message(reserved.number, kind, card_context.card, asked, decision, charge, context.now, auth_code)
    held = charge.total if charge and message.is_held and asked.use.takes_money else 0
    movement = Movement(CALLED[kind], context.at, context.write_id, tally, authorization_id=message.number)
    stamp, operations, after = _write_decision(context, movement, card_context, account, held, decision)
    authorization = new_authorization(message, account, stamp, reserved, held, decision.counted)
    operations = [authorization.put(context.write_id), *message.put_rows(stamp, reserved), *operations]
    return _outcome(context, message, decision.amount, after, operations, stamp.now, decision)


def _record_increment(
    request: SimulateIncrement,
    context: RequestContext,
    card_context: CardContext,
    authorization: Authorization,
    decision: Decision,
    charge: Charge | None,
    tally: CounterChanges,
) -> AuthorizationOutcome:
    """Record an increment of an authorization. ``charge`` is the new total."""
    reserved, account = context.reservation.row, decision.account
    movement = Movement(
        CALLED[values.INCREMENT], context.at, context.write_id, tally, authorization_id=authorization.id
    )
    is_held = decision.is_approved and authorization.card_use.takes_money
    more = charge.total - authorization.held if charge and is_held else 0
    stamp, operations, after = _write_decision(context, movement, card_context, account, more, decision)
    until = context.now + values.HOLD_SECONDS
    as_read: Operation = authorization.check_unchanged()
    if decision.is_approved and charge:
        as_read = authorization.update(
            context.write_id,
            left=authorization.left + decision.amount,
            held=authorization.held + more,
            charge=asdict(charge),
            counted=join_usage(authorization.counted, decision.counted),
            due_at=until,
        )
    message = replace(
        follow_up_message(
            reserved.number,
            values.INCREMENT,
            card_context,
            authorization,
            code=decision.code,
            amount=decision.amount if decision.is_approved else request.amount,
            charge=decision.charge,
        ),
        auth_code=draw_auth_code(decision),
        holds_until=until if decision.is_approved else None,
    )
    leads = put_message_number(message, authorization, stamp, reserved.listed_at(stamp.at))
    listed = [leads, *message.put_rows(stamp, reserved)]
    return _outcome(context, message, decision.amount, after, [as_read, *listed, *operations], stamp.now)


CALLED: Mapping[int, str] = {
    values.AUTHORIZATION: "authorization",
    values.ADVICE: "advice",
    values.INCREMENT: "increment",
}
"""The cause recorded in the ledger for each message type."""


def _write_decision(
    context: RequestContext,
    movement: Movement,
    card_context: CardContext,
    account: Account,
    held: int,
    decision: Decision,
) -> tuple[WriteStamp, list[Operation], Account]:
    """Return the stamp of a decision, the resulting account, and the decision's writes.

    The writes for the authorization and the card activity are not included.
    """
    card, after = card_context.card, account
    movement.list_by_card(card_context.of_card)
    if held:
        movement.hold(account, held, **decision.account_changes)
        after = movement.account_after(account)
    stamp = WriteStamp(after.last_at if held else movement.at, context.write_id)
    movement.tally.note_listing(card_context.of_card, stamp.at)
    operations = movement.operations()
    if decision.account_changes and not held:
        operations.append(account.update(context.write_id, **decision.account_changes, updated_at=stamp.now))
    changes = decision.card_changes
    operations += update_listed(card, context.write_id, **changes) if changes else [card.check_unchanged()]
    return stamp, operations, after


def _requested_amount(request: SimulateAuthorization | SimulateAdvice) -> RequestedAmount:
    return RequestedAmount(
        use=CardUse.of_request(request),
        amount=request.amount + (request.cashback_amount or 0),
        currency=request.currency_ison,
        presented=PresentedData(request.expiry_year, request.expiry_month, request.pin, request.cvc2),
        partial=bool(request.partial_approval),
    )


def _decline_without_account(number: int, code: str, asked: RequestedAmount) -> simulator_messages.Authorization:
    answer: simulator_messages.Authorization = {
        "authorize_id": number,
        "trans_link": f"{number:012}",
        "response_code": code,
        "auth_code": None,
        "approved_amount": 0,
        "holder_amount": 0,
        "holder_currency_ison": asked.currency,
        "fee_amount": 0,
        "risk_actions": [dict.fromkeys(values.RISK_ACTIONS, 0)],
        "security_checks": [{name: asked.use.checks[name] for name in values.SECURITY_CHECKS}],
        "available_balance": 0,
        "settled_balance": 0,
    }
    return without_none(answer)


def _outcome(
    context: RequestContext,
    message: NetworkMessage,
    approved: int,
    account: LedgerAccount,
    operations: Sequence[Operation],
    now: int,
    decision: Decision | None = None,
) -> AuthorizationOutcome:
    """Return the response to the network, the writes and the events. Balances hidden from the caller are 0."""
    charge = message.charge if message.is_approved and message.use.moves_money else None
    answer: simulator_messages.Authorization = {
        "authorize_id": message.number,
        "trans_link": message.trans_link,
        "response_code": message.code,
        "auth_code": message.auth_code,
        "approved_amount": approved,
        "holder_amount": charge.holder_amount if charge else 0,
        "holder_currency_ison": message.holder_currency,
        "fee_amount": sum(fee.amount for fee in charge.fees) if charge else 0,
        "risk_actions": [risk_action_flags(message.fired)],
        "security_checks": [{name: message.use.checks[name] for name in values.SECURITY_CHECKS}],
        **account.visible_balances(context.level),
    }
    events = network_messages.message_events(message, now, account, decision)
    return ActionOutcome(without_none(answer), operations, events=events)
