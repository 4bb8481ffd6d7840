"""Data for the card pages: the list of cards, a card with its records, and activity, newest first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from chalicelib.cards.authorization import activity_record
from chalicelib.cards.authorization.authorization_record import Authorization
from chalicelib.cards.card_data.encryption import CardData
from chalicelib.cards.issuing import card_record
from chalicelib.cards.issuing.card_decryption import decrypt_number
from chalicelib.cards.issuing.card_record import Card, CardSearch
from chalicelib.cards.issuing.holder_record import Holder
from chalicelib.cards.issuing.serializers import serialize_account, serialize_card
from chalicelib.cards.ledger import transaction_record
from chalicelib.cards.ledger.account_record import Account
from chalicelib.cards.ledger.entries import MOVEMENT, balance_before
from chalicelib.cards.payments.address_record import ExternalAddress
from chalicelib.cards.payments.serializers import serialize_address
from chalicelib.cards.programs.credentials import CredentialLimits, Credentials
from chalicelib.cards.programs.programmes import Programmes
from chalicelib.cards.protocol import portal_messages as messages
from chalicelib.cards.protocol.message import Answer
from chalicelib.cards.protocol.payment_messages import AddressRecord
from chalicelib.cards.protocol.status_codes import Refused, Status, refused_field
from chalicelib.cards.reports import serializers
from chalicelib.cards.requests import disclosure
from chalicelib.cards.requests.request_context import ActionOutcome, RequestContext
from chalicelib.cards.storage import time_ordered
from chalicelib.cards.storage.record import or_default
from chalicelib.cards.storage.time_ordered import Rows, Span
from chalicelib.foundation.dynamodb.store import Item
from chalicelib.foundation.parallel import together
from chalicelib.foundation.requests.facts import Key

A = TypeVar("A", bound=Answer)
_GROUPS = ("card_programme", "product", "design", "fee_group", "limit_group", "usage_group", "risk_group")
_CHANGEABLE = ("fee_group", "limit_group", "usage_group", "risk_group")
_OF_CARD = {"card_programme": "program_id"}
"""The card members with a name different from the kind of the entry."""


def list_cards(
    request: messages.ListCards, context: RequestContext, *, card_data: CardData
) -> ActionOutcome[list[messages.ListedCard]]:
    before = None if request.before is None else card_record.row_part(request.before)
    lists = card_record.card_rows(context.manager_id)
    wanted = CardSearch(request.status, request.program_id, request.holder_id, request.name, request.last_four)
    search = wanted.rows(context.now)
    found = time_ordered.latest_page(context.store, lists, request.item_count, before, search)
    items = context.items([Card.key(row["card_id"]) for row in found.rows]) if found.rows else []
    seen = [
        (row, Card.from_item(item))
        for row, item in zip(found.rows, items, strict=True)
        if item is not None and context.can_see(item)
    ]
    holders, accounts = _holders_and_accounts(context, [card for _, card in seen])
    cards = [
        card
        for row, card in seen
        if _is_wanted(wanted, row, card, _name_of(holders.get(card.holder_id)), context.now, card_data)
    ]
    listed: list[messages.ListedCard] = [
        {
            **_card(context, card, card_data),
            "holder_name": _name_of(holders.get(card.holder_id)),
            "accounts": [_account(accounts[number]) for number in card.account_ids if number in accounts],
            "more_accounts": max(0, len(card.account_ids) - messages.ACCOUNTS),
        }
        for card in cards
    ]
    beside = {
        "before": found.before and card_record.card_of_part(found.before),
        "programmes": {number: each.name for number, each in context.catalogue.card_programmes.items()},
    }
    return _listing(context, listed, more=found.before is not None, **beside)


def show_card(
    request: messages.ShowCard, context: RequestContext, *, card_data: CardData
) -> ActionOutcome[messages.CardOverview]:
    card = context.find(Card, request.card_id)
    holders, accounts = _holders_and_accounts(context, [card])
    of_card, lists = activity_record.of_card(card.id), [_lists(account) for account in accounts.values()]
    asked, *rows = together(
        [
            of_card.latest(context.store, request.item_count),
            *(
                each.latest(context.store, count)
                for pair in lists
                for each, count in zip(pair, (request.item_count, request.balance_count), strict=True)
            ),
        ]
    )
    booked_rows, moved_rows = rows[::2], rows[1::2]
    authorizations, addresses = _authorizations_and_addresses(context, card.id, asked, booked_rows, accounts.values())
    shown_accounts: list[messages.AccountOverview] = [
        {
            **_account(account),
            "transactions": [_transaction(row) for row in booked],
            "balances": [_balances(row) for row in moved],
        }
        for account, booked, moved in zip(accounts.values(), booked_rows, moved_rows, strict=True)
    ]
    data: messages.CardOverview = {
        "card": _card(context, card, card_data),
        "entries": _entries(context, card),
        "groups": {kind: _allowed_groups(context, card, kind) for kind in _CHANGEABLE},
        "holder_name": _name_of(holders.get(card.holder_id)),
        "accounts": shown_accounts,
        "more_accounts": max(0, len(card.account_ids) - messages.ACCOUNTS),
        "activity": [_message(row) for row in asked],
        "authorizations": authorizations,
        "addresses": addresses,
        "currencies": list(context.catalogue.currencies),
    }
    return ActionOutcome(data, beside={"programme_manager": context.catalogue.name})


def list_activity(
    request: messages.ListActivity, context: RequestContext
) -> ActionOutcome[list[messages.DatedMessage]]:
    if request.card_id is None:
        timelines = activity_record.of_manager(context.manager_id)
    else:
        timelines = [activity_record.of_card(context.find(Card, request.card_id).id)]
    before = None
    if request.before_at is not None and request.before_id is not None:
        before = timelines[0].part(request.before_at, request.before_id)
    search = activity_record.search(
        timelines[0], Span.of_seconds(request.date_from, request.date_to), request.approved, request.authorize_type
    )
    found = time_ordered.latest_page(context.store, timelines, request.item_count, before, search)
    at, number = timelines[0].position(found.before) if found.before else (None, None)
    shown = [_message(row) for row in found.rows if context.can_see(row)]
    return _listing(context, shown, more=found.before is not None, before_at=at, before_id=number)


def list_programmes(
    request: messages.ListProgrammes, context: RequestContext
) -> ActionOutcome[messages.NewCardChoices]:
    catalogue = context.catalogue
    programmes: list[messages.ProgrammeSummary] = [
        {
            "id": each.id,
            "name": each.name,
            "virtual": each.virtual,
            "physical": each.physical,
            "currencies": list(each.currencies),
        }
        for each in catalogue.card_programmes.values()
    ]
    shipping = {str(number): each.name for number, each in catalogue.of("shipping_method").items()}
    data: messages.NewCardChoices = {"programmes": programmes, "shipping_methods": shipping}
    return ActionOutcome(data, beside={"programme_manager": catalogue.name})


def list_credentials(
    request: messages.ListCredentials,
    context: RequestContext,
    *,
    credential_limits: CredentialLimits,
    credentials: Credentials,
    programmes: Programmes,
) -> ActionOutcome[list[messages.CredentialSummary]]:
    digests = [key_digest for _, key_digest in sorted(programmes.credentials(context.manager_id).items())]
    listed: list[messages.CredentialSummary] = [
        {
            "name": each.name,
            "calls_per_minute": credential_limits.limit_of(each),
            "has_own_limit": each.calls_per_minute is not None,
        }
        for each in credentials.current(digests[: messages.CREDENTIALS])
    ]
    return _listing(context, listed, more=len(digests) > messages.CREDENTIALS)


def show_statement(request: messages.ShowStatement, context: RequestContext) -> ActionOutcome[messages.Statement]:
    card = context.find(Card, request.card_id)
    number = or_default(request.account_id, card.account_ids[0])
    if number not in card.account_ids:
        raise Refused(Status.NO_ACCOUNT)
    holders, accounts = _holders_and_accounts(context, [card])
    account = accounts.get(number) or context.find(Account, number)
    span = Span.of_seconds(request.date_from, request.date_to)
    rows, more = time_ordered.page(
        context.store, [transaction_record.timeline(account.owner, None)], span, messages.STATEMENT_ROWS
    )
    if more:
        reason = f"has more than {messages.STATEMENT_ROWS} transactions after it"
        raise refused_field("date_from", "value", reason)
    opening = balance_before(context.items, account, span.since)
    statement = [_statement_row(row) for row in rows]
    balance = opening
    for each in statement:
        balance += each["settled_amount"]
        each["settled_balance"] = balance
    data: messages.Statement = {
        "account": _account(account),
        "accounts": [_account(each) for each in accounts.values()],
        "holder_name": _name_of(holders.get(account.holder_id)),
        "opening_balance": opening,
        "closing_balance": balance,
        "transactions": statement,
    }
    return ActionOutcome(data, beside={"programme_manager": context.catalogue.name})


# -- internals


def _is_wanted(wanted: CardSearch, row: Item, card: Card, holder_name: str, now: int, card_data: CardData) -> bool:
    """Whether a card matches the search. This is checked after the card's row matched.

    The check is needed because rows of earlier versions match any search.
    """
    names = (card.name_line_3, holder_name, row.get("holder_name", ""))
    return wanted.matches(card, names, decrypt_number(card, card_data) if wanted.last_four else "", now)


def _card(context: RequestContext, card: Card, card_data: CardData) -> messages.NumberedCard:
    number = disclosure.disclose(context.credential, card.id, "pan", decrypt_number(card, card_data))
    disclosure.audit_reveal(context.credential, card.id, "pan")
    programme = context.catalogue.card_programmes[card.program_id].name
    return {**serialize_card(card, context.now, None), "pan": number, "program_name": programme}


def _listing(context: RequestContext, rows: list[A], *, more: bool, **beside: Any) -> ActionOutcome[list[A]]:
    about = {"programme_manager": context.catalogue.name, "has_more_records": "Y" if more else "N"}
    return ActionOutcome(rows, beside=about | beside)


def _holders_and_accounts(
    context: RequestContext, cards: Sequence[Card]
) -> tuple[Mapping[int, Holder], Mapping[int, Account]]:
    """Return the cards' holders and the first accounts of each card, by id. Records that the caller may not see are
    omitted.
    """
    holders = list(dict.fromkeys(card.holder_id for card in cards))
    accounts = list(dict.fromkeys(number for card in cards for number in card.account_ids[: messages.ACCOUNTS]))
    keys = [*map(Holder.key, holders), *map(Account.key, accounts)]
    items = context.items(keys) if keys else []
    seen = [item if context.can_see(item) else None for item in items]
    people = [Holder.from_item(item) for item in seen[: len(holders)] if item is not None]
    books = [Account.from_item(item) for item in seen[len(holders) :] if item is not None]
    return {each.id: each for each in people}, {each.id: each for each in books}


def _lists(account: Account) -> tuple[Rows, Rows]:
    booked = transaction_record.timeline(account.owner, None)
    return booked, Rows(booked.table, account.owner, MOVEMENT)


def _authorizations_and_addresses(
    context: RequestContext, card_id: int, asked: Sequence[Item], booked: Sequence[Sequence[Item]], accounts: Any
) -> tuple[list[messages.AuthorizationSummary], list[AddressRecord]]:
    """Return the authorizations of a card's messages and transactions, and the accounts' addresses that payments may
    use.

    Records that the caller may not see are omitted.
    """
    of_card = [row.get("authorization_id") for rows in booked for row in rows if row.get("card_id") == card_id]
    numbers = dict.fromkeys([*(int(row["trans_link"]) for row in asked), *filter(None, of_card)])
    addresses = [number for account in accounts for number in sorted(account.address_ids or ())]
    keys: list[Key] = [*map(Authorization.key, numbers), *map(ExternalAddress.key, addresses)]
    items = context.items(keys) if keys else []
    seen = [item for item in items if item is not None and context.can_see(item)]
    held = [Authorization.from_item(item) for item in seen if item["part"] == Authorization.kind]
    paid = [ExternalAddress.from_item(item) for item in seen if item["part"] == ExternalAddress.kind]
    return [_authorization(each) for each in held], [serialize_address(each) for each in paid if each.is_live]


def _authorization(each: Authorization) -> messages.AuthorizationSummary:
    return {
        "trans_link": each.trans_link,
        "state": each.state,
        "account_id": each.account_id,
        "currency_ison": each.currency,
        "left_amount": each.left,
        "held_amount": each.held,
        "cleared": bool(each.cleared),
        "merchant_name": each.use.get("merchant_name"),
    }


def _account(account: Account) -> messages.HeldAccount:
    return {**serialize_account(account), "held_balance": account.held}


def _message(row: Item) -> messages.DatedMessage:
    return {**serializers.activity(row), "at": row["at"]}


def _transaction(row: Item) -> messages.DatedTransaction:
    return {**serializers.transaction(row), "at": row["at"], "direction": row["direction"]}


def _statement_row(row: Item) -> messages.StatementRow:
    """Return a transaction with its effect on the settled balance. The balance is set to 0 and computed later."""
    shown = _transaction(row)
    sign = -1 if row["direction"] == "debit" else 1
    amount, fee = shown["holder_amount"] or 0, shown.get("currency_conversion_fee") or 0
    apart = 0 if shown["is_conversion_fee_blended"] else fee
    return {**shown, "settled_amount": sign * amount - apart, "settled_balance": 0}


def _balances(row: Item) -> messages.DatedBalances:
    return {"at": row["at"], "settled": row["settled"], "held": row["held"], "reserved": row["reserved"]}


def _entries(context: RequestContext, card: Card) -> dict[str, str]:
    numbers = {kind: getattr(card, _OF_CARD.get(kind, f"{kind}_id")) for kind in _GROUPS}
    return {kind: str(getattr(context.catalogue.of(kind)[number], "name", number)) for kind, number in numbers.items()}


def _allowed_groups(context: RequestContext, card: Card, kind: str) -> dict[str, str]:
    programme, named = context.catalogue.card_programmes[card.program_id], context.catalogue.of(kind)
    return {str(number): str(getattr(named[number], "name", number)) for number in getattr(programme, f"{kind}_ids")}


def _name_of(holder: Holder | None) -> str:
    """Return an empty text if the caller has no access to the holder."""
    return "" if holder is None else holder.name
