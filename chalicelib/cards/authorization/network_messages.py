"""Network messages of authorizations: first messages with their record, follow-ups, late declines, and events."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from chalicelib.cards.authorization.activity_record import NetworkMessage
from chalicelib.cards.authorization.authorization_record import DUE, Authorization
from chalicelib.cards.authorization.authorizer import NOT_AVAILABLE, Decision, RequestedAmount, price
from chalicelib.cards.authorization.card_context import CardContext
from chalicelib.cards.authorization.late_declines import put_late_decline
from chalicelib.cards.events.card_events import CardEvent
from chalicelib.cards.issuing.card_record import Card
from chalicelib.cards.issuing.serializers import account_status_events, card_status_events
from chalicelib.cards.ledger.account_record import Account, LedgerAccount
from chalicelib.cards.ledger.charges import Charge
from chalicelib.cards.ledger.transaction_record import Transaction
from chalicelib.cards.ledger.usage_counters import Usage
from chalicelib.cards.protocol import values
from chalicelib.cards.protocol.card_events import CardAuthorizationEvent, CardClearingEvent
from chalicelib.cards.protocol.states import DECLINED, HELD
from chalicelib.cards.protocol.values import NOTIFY, SUSPICIOUS
from chalicelib.cards.storage.record import WriteStamp
from chalicelib.cards.storage.reserved_rows import ReservedRow
from chalicelib.foundation.dynamodb.store import Operation


def first_message(
    number: int,
    kind: int,
    card: Card,
    asked: RequestedAmount,
    decision: Decision,
    charge: Charge | None,
    now: int,
    auth_code: str | None = None,
) -> NetworkMessage:
    """Return the first message of a new ``trans_link``.

    The message contains the amount and end of its hold, or the requested amount.
    """
    is_held = decision.is_approved and asked.use.moves_money
    return NetworkMessage(
        number=number,
        kind=kind,
        card=card,
        trans_link=f"{number:012}",
        use=asked.use,
        code=decision.code,
        amount=decision.amount if is_held else asked.amount,
        currency=asked.currency,
        charge=charge,
        holder_currency=decision.account.currency,
        auth_code=auth_code,
        fired=decision.fired,
        holds_until=now + values.HOLD_SECONDS if is_held else None,
    )


def follow_up_message(
    number: int,
    kind: int,
    card_context: CardContext,
    authorization: Authorization,
    *,
    code: str,
    amount: int,
    charge: Charge | None,
) -> NetworkMessage:
    """Return a further message of an authorization, without a hold. ``card_context`` is the result of
    ``read_with_card``.
    """
    return NetworkMessage(
        number=number,
        kind=kind,
        card=card_context.card,
        trans_link=authorization.trans_link,
        use=authorization.card_use,
        code=code,
        amount=amount,
        currency=authorization.currency,
        charge=charge,
        holder_currency=card_context.accounts[0].currency,
    )


def new_authorization(
    message: NetworkMessage,
    account: Account,
    stamp: WriteStamp,
    reserved: ReservedRow,
    held: int = 0,
    counted: Usage | None = None,
) -> Authorization:
    """Return the authorization record for a first message. If the message placed a hold, ``held`` is the held amount
    and ``counted`` is the counted usage.
    """
    card = message.card
    hold: dict[str, Any] = {}
    if message.is_held:
        hold = {
            "left": message.amount,
            "held": held,
            "charge": asdict(message.charge) if message.charge else None,
            "counted": counted or None,
            "due_at": message.holds_until,
            **DUE.entry(str(message.number)),
        }
    return Authorization(
        id=message.number,
        manager_id=card.manager_id,
        access_level=card.access_level,
        card_id=card.id,
        holder_id=card.holder_id,
        account_id=account.id,
        at=stamp.at,
        state=HELD if hold else DECLINED,
        response_code=message.code,
        currency=message.currency,
        use=message.use.as_dict,
        rules=[*message.fired.rules] or None,
        actions=[*message.fired.actions] or None,
        lists=message.lists,
        listed_at=reserved.listed_at(stamp.at),
        auth_code=message.auth_code,
        **hold,
    )


def late_decline(
    card_context: CardContext, asked: RequestedAmount, reserved: ReservedRow, stamp: WriteStamp
) -> tuple[NetworkMessage, Account, list[Operation]]:
    """Return the message, the account and the write operations for the decline of an authorization that could not be
    decided in time.

    The authorization record has the number that all attempts share, so at most one attempt can be written.
    """
    account = card_context.account_for(asked.currency) or card_context.accounts[0]
    decision, charge = Decision(NOT_AVAILABLE, account), price(card_context, account, asked)
    card, kind = card_context.card, values.AUTHORIZATION
    message = first_message(reserved.number, kind, card, asked, decision, charge, stamp.now)
    authorization = new_authorization(message, account, stamp, reserved)
    listing = put_late_decline(authorization, stamp.now)
    return message, account, [authorization.put(stamp.write_id), reserved.put(message.row(stamp)), listing]


def message_events(
    message: NetworkMessage, now: int, account: LedgerAccount, decision: Decision | None = None
) -> list[CardEvent]:
    """Return the events for a network message. ``account`` has the resulting balances."""
    data: CardAuthorizationEvent = {
        "authorize_id": message.number,
        "authorize_type": message.kind,
        "trans_link": message.trans_link,
        "card_id": message.card.id,
        "account_id": account.id,
        "response_code": message.code,
        "transaction_type": message.use.transaction_type,
        "transaction_amount": message.amount,
        "transaction_currency_ison": message.currency,
        "holder_amount": message.charge.holder_amount if message.charge else 0,
        "holder_currency_ison": message.holder_currency,
        "mcc": message.use.mcc,
        "merchant_name": message.use.merchant_name,
        "suspicious": int(SUSPICIOUS in message.fired.actions),
        "notify_cardholder": int(NOTIFY in message.fired.actions),
        "available_balance": account.available,
        "settled_balance": account.settled,
    }
    events = [CardEvent("card.authorization", data)]
    return events if decision is None else events + _status_events(message.card, now, decision)


def _status_events(card: Card, now: int, decision: Decision) -> list[CardEvent]:
    account, of_card, of_account = decision.account, decision.card_changes, decision.account_changes
    events = []
    if (status := of_card.get("stored_status")) is not None:
        events += card_status_events(card, card.status(now), status, of_card.get("reason_code"))
    if (status := of_account.get("status")) is not None:
        events += account_status_events(account, account.status, status, of_account.get("reason_code"))
    return events


def transaction_event(transaction: Transaction, account: LedgerAccount, released: int) -> CardEvent:
    """Return the event for a transaction. ``account`` has the resulting balances."""
    assert transaction.card_id is not None, "a shop's money was taken from a card"
    data: CardClearingEvent = {
        "transaction_id": transaction.id,
        "trans_link": transaction.trans_link,
        "card_id": transaction.card_id,
        "account_id": account.id,
        "transaction_type": transaction.transaction_type,
        "transaction_amount": transaction.amount,
        "transaction_currency_ison": transaction.currency,
        "holder_amount": transaction.holder_amount,
        "holder_currency_ison": account.currency,
        "released_amount": released,
        "available_balance": account.available,
        "settled_balance": account.settled,
    }
    return CardEvent("card.clearing", data)
