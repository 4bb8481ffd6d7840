"""Fees: custom fees, fee groups and their entries (specification, Fee operations)."""

from __future__ import annotations

from chalicelib.cards.issuing.card_record import Card
from chalicelib.cards.ledger import usage_counters
from chalicelib.cards.ledger.account_record import Account
from chalicelib.cards.ledger.charges import entry_of, price_of
from chalicelib.cards.ledger.conversion import Conversion, NoRate, conversion
from chalicelib.cards.ledger.entries import CONVERSION, FEES, Movement
from chalicelib.cards.ledger.transaction_record import Transaction, transaction_key
from chalicelib.cards.ledger.usage_counters import Counters
from chalicelib.cards.programs import group_resolution
from chalicelib.cards.programs.catalogue import FeeEntry
from chalicelib.cards.protocol import money_messages as messages
from chalicelib.cards.protocol.status_codes import Refused, Status, refused_field
from chalicelib.cards.protocol.values import FEE, FEE_COLLECTION
from chalicelib.cards.requests.request_context import ActionOutcome, RequestContext, page
from chalicelib.cards.storage.record import without_none
from chalicelib.cards.storage.sequences import Sequences
from chalicelib.foundation.dynamodb.store import Item


def create_custom_fee(
    request: messages.CreateCustomFee, context: RequestContext, *, sequences: Sequences
) -> ActionOutcome[messages.CustomFee]:
    """Without ``amount``, the fee is the price of the first entry for ``fee_code`` that matches the requested currency
    and the country. If no entry matches, the first entry with the code applies. Percentages apply to the amount of the
    linked transaction. If ``account_id`` or ``transaction_id`` is present, ``account_currency`` must be the account's
    currency (2005). An unknown code is refused with 2005. If funds are insufficient, the fee is refused with 5001.
    """
    card, account, linked, listed = _read_records(request, context)
    group = context.catalogue.fee_groups.get(request.fee_group_id)
    if group is None:
        raise Refused(Status.NO_FEE_GROUP)
    wished = request.currency_ison or account.currency
    entry = entry_of(group, request.fee_code, wished, request.country_ison)
    if entry is None:
        raise refused_field("fee_code", "value", "is not a code in the fee group")
    if card is not None:
        card.require(context.action, context.now)
    account.require(context.action)
    price = _choose_price(request, context, entry, account, linked)
    if account.available < price.base_amount:
        raise Refused(Status.NO_FUNDS)
    movement = Movement("custom fee", context.at, context.write_id)
    movement.list_by_card(*listed)
    if price.currency == account.currency:
        movement.book(account, -price.base_amount, FEES)
    else:
        movement.book(account, -price.base_amount, CONVERSION)
        movement.exchange(price.currency, price.amount, FEES)
    number = sequences.next("transaction")
    movement.list_transaction(account, _fee_transaction(number, request, price, card, linked))
    after = movement.account_after(account)
    data: messages.CustomFee = {
        "transaction_id": number,
        "available_balance": after.available,
        "settled_balance": after.settled,
    }
    as_read = [card.check_unchanged()] if card is not None else []
    return ActionOutcome(data, [*movement.operations(), *as_read], [("fee_group", group.id)])


def get_card_fees(
    request: messages.GetCardFees, context: RequestContext
) -> ActionOutcome[list[messages.FeeEntryRecord]]:
    """Entries are in the order defined by the operator. ``total_items_count`` is the total number of entries."""
    card = context.find(Card, request.card_id)
    group = context.catalogue.fee_groups.get(card.fee_group_id)
    return page([_serialize_entry(entry) for entry in group.entries] if group else [], request.paginator)


def get_fees_groups(
    request: messages.GetFeesGroups, context: RequestContext
) -> ActionOutcome[list[messages.NamedGroup]]:
    """Returns all your fee groups, or the fee groups of one programme. An unknown programme is refused with 3004."""
    number = request.program_id
    found = context.catalogue.fee_groups
    allowed = found if number is None else group_resolution.fee_groups_of(context.catalogue, number)
    return ActionOutcome([{"id": group.id, "name": group.name} for group in found.values() if group.id in allowed])


def _read_records(
    request: messages.CreateCustomFee, context: RequestContext
) -> tuple[Card | None, Account, Item | None, list[Counters]]:
    """Read the card (if the request names a card), the account to charge, the linked transaction, and the card's
    counters.

    Raises: Refused.
    """
    keys = {
        "card": Card.key(request.card_id or 0),
        "account": Account.key(request.account_id or 0),
        "transaction": transaction_key(request.transaction_id or 0),
    }
    named = {name: key for name, key in keys.items() if getattr(request, f"{name}_id") is not None}
    if "card" in named:
        named["counters"] = usage_counters.key("card", request.card_id or 0)
    found = dict(zip(named, context.items([*named.values()]), strict=True))
    account = context.require_visible(Account, found["account"]) if "account" in found else None
    card = context.require_visible(Card, found["card"]) if "card" in found else None
    linked = found.get("transaction")
    if "transaction" in found and not context.can_see(linked):
        raise Refused(Status.NO_TRANSACTION)
    if account is None:
        account = _choose_account(request, context, card, linked)
    if request.account_currency not in (None, account.currency):
        raise refused_field("account_currency", "value", "is not the currency of the account")
    if card is not None and account.id not in card.account_ids:
        raise Refused(Status.NO_CARD, "this account has no such card")
    if linked is not None and linked["account"] != account.owner:
        raise Refused(Status.NO_TRANSACTION, "this account has no such transaction")
    listed = [Counters.from_item("card", card.id, found["counters"])] if card is not None else []
    return card, account, linked, listed


def _choose_account(
    request: messages.CreateCustomFee, context: RequestContext, card: Card | None, linked: Item | None
) -> Account:
    """Return the account of the linked transaction, or the card's account in the requested currency. Raises:
    Refused.
    """
    assert card is not None, "a card or an account is named"
    accounts = context.find_all(Account, card.account_ids)
    if linked is not None:
        fitting = [account for account in accounts if account.owner == linked["account"]]
    else:
        fitting = [account for account in accounts if account.currency == request.account_currency]
    if not fitting:
        raise Refused(Status.NO_ACCOUNT, "the card has no such account")
    return fitting[0]


def _choose_price(
    request: messages.CreateCustomFee, context: RequestContext, entry: FeeEntry, account: Account, linked: Item | None
) -> Conversion:
    """Return the requested amount or the entry's price, as charged at the base rate. Raises: Refused."""
    catalogue, to = context.catalogue, account.currency
    amount, currency = request.amount, request.currency_ison
    no_rate = Refused(Status.CURRENCY_NOT_SUPPORTED, "there is no exchange rate to the account's currency")
    if amount is None:
        of = (linked["holder_amount"], to) if linked is not None else None
        try:
            fee = price_of(catalogue, entry, to, of)
        except NoRate:
            raise no_rate from None
        if fee is None:
            raise refused_field("amount", "required", "is required: the fee code has no fixed price")
        amount, currency = fee.amount, to
    assert currency is not None, "an amount has a currency"
    price = conversion(catalogue, amount, currency, to, debit=True)
    if price is None:
        raise no_rate
    if not price.base_amount:
        raise refused_field("amount", "value", "must not convert to zero in the account's currency")
    return price


def _fee_transaction(
    number: int, request: messages.CreateCustomFee, price: Conversion, card: Card | None, linked: Item | None
) -> Transaction:
    return Transaction(
        id=number,
        transaction_type=FEE,
        direction="debit",
        mti=FEE_COLLECTION,
        trans_link=str(linked["trans_link"]) if linked else f"F{number:011}",
        amount=price.amount,
        currency=price.currency,
        holder_amount=price.base_amount,
        base_rate=price.base_rate,
        holder_rate=price.base_rate,
        parent_id=request.transaction_id,
        card_id=card.id if card else None,
        country=request.country_ison,
        fee_code=request.fee_code,
        description=request.description,
    )


def _serialize_entry(entry: FeeEntry) -> messages.FeeEntryRecord:
    record: messages.FeeEntryRecord = {
        "title": entry.title,
        "transaction_type": entry.transaction_type,
        "entry_mode_type": entry.entry_mode,
        "mcc_low": entry.mcc_low,
        "mcc_high": entry.mcc_high,
        "fixed_price": entry.fixed,
        "percent_price": entry.percent,
        "currency_ison": entry.currency,
        "country_ison": entry.country,
        "region_id": entry.region,
        "min_amount": entry.minimum,
        "max_amount": entry.maximum,
        "date_updated": entry.updated_at,
        "code": entry.code,
    }
    return without_none(record)
