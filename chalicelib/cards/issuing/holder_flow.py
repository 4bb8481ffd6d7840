"""Holders: createHolder, updateHolder, getHolder and getHolderAccounts (specification, Holder operations)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from chalicelib.cards.issuing.card_record import Card
from chalicelib.cards.issuing.holder_record import DETAILS, Holder
from chalicelib.cards.issuing.onboarding import check_dates
from chalicelib.cards.issuing.serializers import serialize_account_of_holder, serialize_holder
from chalicelib.cards.ledger.account_record import Account
from chalicelib.cards.programs.group_resolution import limit_group
from chalicelib.cards.protocol.account_messages import HolderAccountRecord
from chalicelib.cards.protocol.holder_messages import (
    CreateHolder,
    GetHolder,
    GetHolderAccounts,
    HolderRecord,
    UpdateHolder,
)
from chalicelib.cards.protocol.status_codes import Refused, Status, refused_field
from chalicelib.cards.protocol.values import BUSINESS, LIMIT_OF_HOLDER, PERSONAL
from chalicelib.cards.requests.request_context import ActionOutcome, RequestContext
from chalicelib.cards.storage.record import without_none
from chalicelib.cards.storage.sequences import Sequences


def create_holder(request: CreateHolder, context: RequestContext, *, sequences: Sequences) -> ActionOutcome[None]:
    """The response contains ``id`` outside ``data``, which is empty. The default ``access_level`` is 0. A date of birth
    or incorporation must not be in the future, and ``kyc_document_expiration_date`` must not be in the past, in UTC
    (2005).
    """
    check_dates(request, context.now)
    limit_group(context.catalogue, LIMIT_OF_HOLDER, request.holder_limit_group_id)
    holder = Holder(
        id=sequences.next("holder"),
        manager_id=context.manager_id,
        access_level=request.access_level or 0,
        holder_type=request.holder_type or PERSONAL,
        details=_select_details(request.members()),
    )
    return ActionOutcome(operations=[holder.put(context.write_id)], uses=holder.uses, beside={"id": holder.id})


def update_holder(request: UpdateHolder, context: RequestContext) -> ActionOutcome[None]:
    """The response contains ``id`` outside ``data``, which is empty. A change of country that the programme forbids is
    ignored. A date of birth or incorporation must not be in the future, and ``kyc_document_expiration_date`` must not
    be in the past, in UTC (2005). Stored dates are not checked again.
    """
    check_dates(request, context.now)
    holder = context.find(Holder, request.holder_id)
    if holder.holder_type == BUSINESS and request.business_name is None:
        raise refused_field("business_name", "required", "is required for a business")
    group = limit_group(context.catalogue, LIMIT_OF_HOLDER, request.holder_limit_group_id)
    details = {**holder.details, **_select_details(request.members())}
    for name in request.nulls:
        details.pop(name, None)
    if not _may_change_country(context, holder):
        details |= without_none({"country_ison": holder.details.get("country_ison")})
    changes = [] if details == holder.details else [holder.update(context.write_id, details=details)]
    return ActionOutcome(operations=changes, uses=[group], beside={"id": holder.id})


def get_holder(request: GetHolder, context: RequestContext) -> ActionOutcome[HolderRecord]:
    """Pass ``holder_id``, ``card_id`` or both. If both fields are present, the card must belong to the holder
    (3002).
    """
    holder_id, card_id = request.holder_id, request.card_id
    if card_id is None:
        assert holder_id is not None
        return ActionOutcome(serialize_holder(context.find(Holder, holder_id)))
    if holder_id is None:
        card = context.find(Card, card_id)
        return ActionOutcome(serialize_holder(context.find(Holder, card.holder_id)))
    items = context.items([Holder.key(holder_id), Card.key(card_id)])
    holder, card = context.require_visible(Holder, items[0]), context.require_visible(Card, items[1])
    if card.holder_id != holder.id:
        raise Refused(Status.NO_CARD, "this holder has no such card")
    return ActionOutcome(serialize_holder(holder))


def get_holder_accounts(
    request: GetHolderAccounts, context: RequestContext
) -> ActionOutcome[list[HolderAccountRecord]]:
    """Returns the accounts visible at your access level."""
    holder = context.find(Holder, request.holder_id)
    accounts = context.find_all(Account, holder.accounts)
    return ActionOutcome([serialize_account_of_holder(account) for account in accounts])


def _select_details(members: Mapping[str, Any]) -> dict[str, Any]:
    return {name: members[name] for name in DETAILS if name in members}


def _may_change_country(context: RequestContext, holder: Holder) -> bool:
    if holder.programme is None:
        return True
    kind, number = holder.programme
    programme = context.catalogue.of(kind).get(number)
    return bool(getattr(programme, "country_change", False))
