"""Event payloads for card use."""

from __future__ import annotations

from chalicelib.cards.authorization.activity_record import NetworkMessage
from chalicelib.cards.authorization.authorizer import Decision
from chalicelib.cards.events.card_events import CardEvent
from chalicelib.cards.issuing.card_record import Card
from chalicelib.cards.issuing.serializers import account_status_events, card_status_events
from chalicelib.cards.ledger.account_record import LedgerAccount
from chalicelib.cards.ledger.transaction_record import Transaction
from chalicelib.cards.protocol.card_events import CardAuthorizationEvent, CardClearingEvent
from chalicelib.cards.protocol.values import NOTIFY, SUSPICIOUS


def message_events(
    message: NetworkMessage, now: int, account: LedgerAccount, decision: Decision | None = None
) -> list[CardEvent]:
    """The events for a network message; ``account`` has the resulting balances."""
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
    """The events for the statuses of card and account that a decision changes."""
    account, of_card, of_account = decision.account, decision.card_changes, decision.account_changes
    events = []
    if (status := of_card.get("stored_status")) is not None:
        events += card_status_events(card, card.status(now), status, of_card.get("reason_code"))
    if (status := of_account.get("status")) is not None:
        events += account_status_events(account, account.status, status, of_account.get("reason_code"))
    return events


def transaction_event(transaction: Transaction, account: LedgerAccount, released: int) -> CardEvent:
    """The event for a transaction; ``account`` has the resulting balances."""
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
