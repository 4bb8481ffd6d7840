"""Holders: createHolder, updateHolder, getHolder and getHolderAccounts (specification, Holder operations)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from chalicelib.cards.issuing.account_record import Account
from chalicelib.cards.issuing.card_record import Card
from chalicelib.cards.issuing.holder_record import DETAILS, Holder
from chalicelib.cards.issuing.serializers import account_shown, holder_shown
from chalicelib.cards.programs.group_resolution import limit_group
from chalicelib.cards.protocol.holder_messages import CreateHolder, UpdateHolder
from chalicelib.cards.protocol.status_codes import Refused, Status, refused_field
from chalicelib.cards.protocol.values import BUSINESS, LIMIT_OF_HOLDER, PERSONAL
from chalicelib.cards.requests.request_context import Call, Outcome
from chalicelib.cards.storage.record import either, present
from chalicelib.cards.storage.sequences import Sequences

LEVEL = 0
"""Of a holder that createHolder registers without a wish (specification, createHolder)."""


@dataclass(frozen=True, slots=True)
class HolderFlow:
    """Registers, changes and shows holders."""

    sequences: Sequences

    def create_holder(self, call: Call) -> Outcome:
        request: CreateHolder = call.request
        limit_group(call.catalogue, LIMIT_OF_HOLDER, request.holder_limit_group_id)
        holder = Holder(
            id=self.sequences.next("holder"),
            manager_id=call.manager_id,
            access_level=either(request.access_level, LEVEL),
            holder_type=request.holder_type or PERSONAL,
            details=_details(request.members()),
        )
        return Outcome(operations=[holder.making(call.write_id)], uses=holder.uses, beside={"id": holder.id})

    def update_holder(self, call: Call) -> Outcome:
        request: UpdateHolder = call.request
        holder = call.find(Holder, request.holder_id)
        if holder.holder_type == BUSINESS and request.business_name is None:
            raise refused_field("business_name", "required", "is required for a business")
        group = limit_group(call.catalogue, LIMIT_OF_HOLDER, request.holder_limit_group_id)
        details = {**holder.details, **_details(request.members())}
        for name in request.nulls:
            details.pop(name, None)
        if not _may_move(call, holder):
            details |= present({"country_ison": holder.details.get("country_ison")})
        changes = [] if details == holder.details else [holder.changing(call.write_id, details=details)]
        return Outcome(operations=changes, uses=[group], beside={"id": holder.id})

    def get_holder(self, call: Call) -> Outcome:
        holder_id, card_id = call.request.holder_id, call.request.card_id
        if card_id is None:
            return Outcome(holder_shown(call.find(Holder, holder_id)))
        if holder_id is None:
            card = call.find(Card, card_id)
            return Outcome(holder_shown(call.find(Holder, card.holder_id)))
        items = call.items([Holder.key(holder_id), Card.key(card_id)])
        holder, card = call.seen(Holder, items[0]), call.seen(Card, items[1])
        if card.holder_id != holder.id:
            raise Refused(Status.NO_CARD, "there is no such card of this holder")
        return Outcome(holder_shown(holder))

    def get_holder_accounts(self, call: Call) -> Outcome:
        holder = call.find(Holder, call.request.holder_id)
        if not holder.accounts:
            return Outcome([])
        items = call.items([Account.key(number) for number in holder.accounts])
        accounts = [Account.from_item(item) for item in items if item is not None and call.sees(item)]
        return Outcome([account_shown(account, with_status_change=False) for account in accounts])


def _details(members: Mapping[str, Any]) -> dict[str, Any]:
    return {name: members[name] for name in DETAILS if name in members}


def _may_move(call: Call, holder: Holder) -> bool:
    """Whether the holder's programme lets its country change; one that came without a programme may move."""
    if holder.programme is None:
        return True
    kind, number = holder.programme
    programme = call.catalogue.of(kind).get(number)
    return bool(getattr(programme, "country_change", False))
