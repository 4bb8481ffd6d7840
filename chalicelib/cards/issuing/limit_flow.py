"""Limits: limit groups, their entries and remaining amounts (specification, Limit operations)."""

from __future__ import annotations

from collections.abc import Mapping

from chalicelib.cards.issuing.card_record import Card
from chalicelib.cards.issuing.holder_record import Holder
from chalicelib.cards.ledger import usage_counters
from chalicelib.cards.ledger.account_record import Account
from chalicelib.cards.ledger.usage_counters import Counters, LimitLeft, Owner, list_left
from chalicelib.cards.programs import group_resolution
from chalicelib.cards.programs.catalogue import LimitEntry, LimitGroup
from chalicelib.cards.protocol import money_messages as messages
from chalicelib.cards.protocol import values
from chalicelib.cards.requests.request_context import ActionOutcome, RequestContext, page
from chalicelib.cards.storage.record import without_none

_OWNERS: Mapping[int, tuple[Owner, type[Card] | type[Account] | type[Holder]]] = {
    values.LIMIT_OF_CARD: ("card", Card),
    values.LIMIT_OF_ACCOUNT: ("account", Account),
    values.LIMIT_OF_HOLDER: ("holder", Holder),
}


def get_limits(request: messages.GetLimits, context: RequestContext) -> ActionOutcome[list[messages.LimitEntryRecord]]:
    """Entries are in the order defined by the operator. ``total_items_count`` is the total number of entries. Without a
    limit group, the list is empty.
    """
    _, kind = _OWNERS[request.limit_type]
    group = _group_of(context, context.find(kind, request.record_id))
    entries = [_serialize_entry(group, entry) for entry in group.entries] if group else []
    return page(entries, request.paginator)


def get_limits_status(
    request: messages.GetLimitsStatus, context: RequestContext
) -> ActionOutcome[list[messages.LimitStatusRecord]]:
    """Entries are in the order defined by the operator. ``total_items_count`` is the total number of entries. If an
    entry sets no bound, the remainder is the maximum value of its field: 999999999, 999999999999999 or 999.
    """
    name, kind = _OWNERS[request.limit_type]
    item, counted = context.items([kind.key(request.record_id), usage_counters.key(name, request.record_id)])
    group = _group_of(context, context.require_visible(kind, item))
    windows = Counters.from_item(name, request.record_id, counted).windows
    entries = [_serialize_left(group, left) for left in list_left(group, windows, context.now)] if group else []
    return page(entries, request.paginator)


def get_limits_groups(
    request: messages.GetLimitsGroups, context: RequestContext
) -> ActionOutcome[list[messages.NamedGroup]]:
    """Returns all your limit groups of the requested type, or only the groups of one programme. An unknown programme is
    refused with 3004.
    """
    groups = context.catalogue.limit_groups.values()
    found = [group for group in groups if group.limit_type == request.limit_type]
    if request.program_id is not None:
        allowed = group_resolution.limit_groups_of(context.catalogue, request.program_id, request.limit_type)
        found = [group for group in found if group.id in allowed]
    return ActionOutcome([{"id": group.id, "name": group.name} for group in found])


def _group_of(context: RequestContext, record: Card | Account | Holder) -> LimitGroup | None:
    return context.catalogue.limit_groups.get(record.limit_group_id or 0)


def _serialize_scope(group: LimitGroup, entry: LimitEntry) -> messages.LimitScope:
    return {
        "amount_currency_ison": entry.amount_currency,
        "duration": entry.duration,
        "transaction_type_id": entry.transaction_type,
        "entry_mode_type_id": entry.entry_mode,
        "limits_tx_type_id": entry.transaction_class,
        "limits_group_id": group.id,
        "holder_country_ison": entry.holder_country,
        "holder_region_id": entry.holder_region,
        "transaction_region_id": entry.transaction_region,
        "region_type_id": entry.region_type,
        "currency_ison": entry.currency,
        "mcc_low": entry.mcc_low,
        "mcc_high": entry.mcc_high,
        "date_updated": entry.updated_at,
    }


def _serialize_entry(group: LimitGroup, entry: LimitEntry) -> messages.LimitEntryRecord:
    record: messages.LimitEntryRecord = {
        **_serialize_scope(group, entry),
        "name": entry.name,
        "count": entry.count,
        "amount": entry.amount,
        "country_count": entry.country_count,
    }
    return without_none(record)


def _serialize_left(group: LimitGroup, left: LimitLeft) -> messages.LimitStatusRecord:
    """Return an entry with its remaining amounts. An unlimited amount is the maximum value of the field."""
    entry = left.entry
    record: messages.LimitStatusRecord = {
        **_serialize_scope(group, entry),
        "name": entry.name,
        "original_count": entry.count,
        "original_amount": entry.amount,
        "original_country_count": entry.country_count,
        "count": values.MOST_COUNT if left.count is None else left.count,
        "amount": values.MOST_AMOUNT if left.amount is None else left.amount,
        "country_count": values.MOST_COUNTRIES if left.country_count is None else left.country_count,
        "date_valid": left.date_valid,
    }
    return without_none(record)
