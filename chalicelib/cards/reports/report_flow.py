"""Reports with pages: activity, authorizations, transactions and addendums (specification, Report operations)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

from chalicelib.cards.authorization import activity_record
from chalicelib.cards.authorization.activity_record import ACTIVITY, AUTHORIZES
from chalicelib.cards.authorization.authorization_record import Authorization
from chalicelib.cards.issuing.card_record import Card
from chalicelib.cards.ledger import transaction_record
from chalicelib.cards.ledger.account_record import Account
from chalicelib.cards.ledger.transaction_record import transaction_key
from chalicelib.cards.protocol import report_messages as messages
from chalicelib.cards.protocol.message import Answer
from chalicelib.cards.protocol.report_messages import ReportRequest
from chalicelib.cards.protocol.status_codes import Refused, Status
from chalicelib.cards.reports import addendum_record, serializers
from chalicelib.cards.reports.addendum_record import addendum_key
from chalicelib.cards.requests.request_context import ActionOutcome, RequestContext
from chalicelib.cards.storage.reserved_rows import cancel_abandoned
from chalicelib.cards.storage.sequences import Sequences
from chalicelib.cards.storage.time_ordered import CERTAIN_AFTER, Position, Span, Timeline, page, written_rows
from chalicelib.foundation import jsontext
from chalicelib.foundation.dynamodb.store import Item
from chalicelib.foundation.requests.facts import Key

A = TypeVar("A", bound=Answer)
Serializer = Callable[[Item], A]


def get_cards_activity(
    request: messages.GetCardsActivity, context: RequestContext
) -> ActionOutcome[list[messages.CardActivityRecord]]:
    """The report lists all messages, approved or declined. Rows are in the order of recording. Rows recorded while you
    read the pages follow the rows already read. A ``last_id`` that is not in the list is refused with 3012. The list of
    all cards shows a row one second after it was recorded.
    """
    if request.card_id is not None:
        return _card_page(request, context, activity_record.of_card(request.card_id), serializers.activity)
    [last] = _read_items(context, _key(Authorization.key, request.last_id))
    after = _find_position(
        request,
        context,
        _in_list_of_all(last),
        lambda item: context.can_see(item) and ACTIVITY in item.get("lists", ()),
    )
    span = Span.of_seconds(request.date_from, request.date_to, after)
    return _sharded_page(request, context, activity_record.of_manager(context.manager_id), span, serializers.activity)


def get_financial_authorizes(
    request: messages.GetFinancialAuthorizes, context: RequestContext
) -> ActionOutcome[list[messages.FinancialAuthorizeRecord]]:
    """The report lists approved messages that involve money, except reversals and expiries. Rows are in the order of
    recording. Rows recorded while you read the pages follow the rows already read. A ``last_id`` that is not in the
    list is refused with 3012.
    """
    timeline = activity_record.of_card(request.card_id, AUTHORIZES)
    return _card_page(request, context, timeline, serializers.financial_authorize)


def get_transactions(
    request: messages.GetTransactions, context: RequestContext
) -> ActionOutcome[list[messages.TransactionRecord]]:
    """A card and an account that do not belong together are refused with 3002. Rows are in the order of recording. Rows
    recorded while you read the pages follow the rows already read. A ``last_id`` that is not in the list is refused
    with 3012.
    """
    of_card, of_account, wanted, last = _read_items(
        context,
        _key(Card.key, request.card_id),
        _key(Account.key, request.account_id),
        _key(transaction_key, request.transaction_id),
        _key(transaction_key, request.last_id),
    )
    card = context.require_visible(Card, of_card) if request.card_id is not None else None
    account = context.require_visible(Account, of_account) if request.account_id is not None else None
    if card is not None and account is not None and account.id not in card.account_ids:
        raise Refused(Status.NO_CARD, "this account has no such card")
    belongs = partial(_belongs, card, account)
    span = Span.of_seconds(request.date_from, request.date_to, _find_position(request, context, last, belongs))
    if request.transaction_id is None:
        timeline = transaction_record.timeline(account.owner if account else None, request.card_id)
        return _page(request, context, [timeline], span, serializers.transaction)
    if wanted is None or not belongs(wanted):
        raise Refused(Status.NO_TRANSACTION)
    return _single_transaction_page(context, request.transaction_id, wanted, span)


def get_financial_detail_addendums(
    request: messages.GetFinancialDetailAddendums, context: RequestContext
) -> ActionOutcome[list[messages.AddendumRecord]]:
    """Rows are in the order of recording. Rows recorded while you read the pages follow the rows already read. A
    ``last_id`` that is not in the list is refused with 3012. The list for all transactions shows a row one second after
    it was recorded.
    """
    number = request.transaction_id
    transaction, last = _read_items(context, _key(transaction_key, number), _key(addendum_key, request.last_id))
    if number is not None and not context.can_see(transaction):
        raise Refused(Status.NO_TRANSACTION)
    after = _find_position(
        request,
        context,
        _in_list_of_all(last) if number is None else last,
        lambda item: context.can_see(item) and number in (None, item["transaction_id"]),
    )
    span = Span.of_seconds(request.date_imported_from, request.date_imported_to, after)
    if number is None:
        return _sharded_page(
            request, context, addendum_record.of_manager(context.manager_id), span, serializers.addendum
        )
    return _page(request, context, [addendum_record.of_transaction(number)], span, serializers.addendum)


def simulate_addendum(
    request: messages.SimulateAddendum, context: RequestContext, *, sequences: Sequences
) -> ActionOutcome[messages.NewAddendum]:
    """The action can be called repeatedly for the same transaction."""
    [transaction] = _read_items(context, transaction_key(request.transaction_id))
    if transaction is None or not context.can_see(transaction):
        raise Refused(Status.NO_TRANSACTION)
    context.reserve(partial(addendum_record.new_entry, context.manager_id, sequences))
    reserved = context.reservation.row
    addendum = {
        "id": reserved.number,
        "manager_id": context.manager_id,
        "access_level": transaction["access_level"],
        "transaction_id": request.transaction_id,
        "addendum_type": request.addendum_type,
        "data": jsontext.dumps(request.data),
        "at": addendum_record.next_at(transaction, context.at),
        "written_by": context.write_id,
    }
    return ActionOutcome({"id": addendum["id"]}, addendum_record.put_addendum(addendum, transaction, reserved))


def _key(kind: Callable[[int], Key], number: int | None) -> Key | None:
    return None if number is None else kind(number)


def _read_items(context: RequestContext, *keys: Key | None) -> list[Item | None]:
    """Read the items that are specified in the request, together with the request's claim. Return ``None`` for each
    missing item.
    """
    named = [key for key in keys if key is not None]
    found = iter(context.items(named) if named or context.claim is not None else ())
    return [None if key is None else next(found) for key in keys]


def _find_position(
    request: ReportRequest, context: RequestContext, last: Item | None, belongs: Callable[[Item], bool]
) -> Position | None:
    if request.last_id is None:
        return None
    if last is None or last["manager_id"] != context.manager_id or not belongs(last):
        raise Refused(Status.NO_TRANSACTION, "last_id is not the id of a row in this list")
    return last["at"], request.last_id


def _in_list_of_all(last: Item | None) -> Item | None:
    """Return a row's item with its time in the list of all cards, which may differ from the time in the card's list."""
    return last and {**last, "at": last.get("listed_at", last["at"])}


def _belongs(card: Card | None, account: Account | None, found: Item) -> bool:
    if card is not None and found.get("card_id") != card.id:
        return False
    return account is None or bool(found["account"] == account.owner)


def _single_transaction_page(
    context: RequestContext, transaction_id: int, wanted: Item, span: Span
) -> ActionOutcome[list[messages.TransactionRecord]]:
    place = wanted["at"], transaction_id
    if not span.has(place):
        return _outcome([], more=False)
    row = context.store.get(*transaction_record.row_key(wanted))
    assert row is not None, "a transaction's id leads to its row"
    return _outcome([serializers.transaction(row)], more=False)


def _card_page(
    request: messages.GetCardsActivity | messages.GetFinancialAuthorizes,
    context: RequestContext,
    timeline: Timeline,
    serialize: Serializer[A],
) -> ActionOutcome[list[A]]:
    assert request.card_id is not None
    found, last = _read_items(context, Card.key(request.card_id), _key(Authorization.key, request.last_id))
    card = context.require_visible(Card, found)
    after = _find_position(
        request, context, last, lambda item: item.get("card_id") == card.id and timeline.name in item.get("lists", ())
    )
    return _page(request, context, [timeline], Span.of_seconds(request.date_from, request.date_to, after), serialize)


def _sharded_page(
    request: ReportRequest, context: RequestContext, timelines: Sequence[Timeline], span: Span, serialize: Serializer[A]
) -> ActionOutcome[list[A]]:
    """Return a page of a list of all cards. The page contains only rows that no new row can precede.

    If a page ends before a row that is still being written, the page reports that more rows exist, even if its span is
    in the past. Otherwise the client would not request the remaining rows.
    """
    certain = context.at - CERTAIN_AFTER
    until = min(span.until, certain)
    found, more = page(
        context.store, timelines, Span(span.since, until, span.after), request.item_count, context.can_see
    )
    rows = written_rows(found)
    cancel_abandoned(context.store, timelines[0].table, found, context.at)
    is_cut = len(rows) < len(found)
    return _outcome([serialize(row) for row in rows], more=span.until <= certain if is_cut else more)


def _page(
    request: ReportRequest, context: RequestContext, timelines: Sequence[Timeline], span: Span, serialize: Serializer[A]
) -> ActionOutcome[list[A]]:
    found, more = page(context.store, timelines, span, request.item_count)
    return _outcome([serialize(row) for row in found], more=more)


def _outcome(data: list[A], *, more: bool) -> ActionOutcome[list[A]]:
    return ActionOutcome(data, beside={"has_more_records": "Y" if more else "N"})
