"""Records serialized for responses and event payloads (specification, Resources; Events)."""

from __future__ import annotations

from typing import cast

from chalicelib.cards.events.card_events import CardEvent
from chalicelib.cards.issuing.card_record import Card
from chalicelib.cards.issuing.holder_record import DETAILS, Holder
from chalicelib.cards.ledger.account_record import Account, LedgerAccount
from chalicelib.cards.protocol.account_messages import AccountRecord, HolderAccountRecord
from chalicelib.cards.protocol.card_events import (
    AccountProgramEvent,
    AccountStatusEvent,
    CardActivatedEvent,
    CardCreatedEvent,
    CardStatusEvent,
    ReplacedGroup,
)
from chalicelib.cards.protocol.card_records import CardDetails
from chalicelib.cards.protocol.holder_messages import HolderRecord
from chalicelib.cards.protocol.states import ACTIVE
from chalicelib.cards.protocol.values import ACCOUNT_GROUPS
from chalicelib.cards.storage.record import without_none


def serialize_holder(holder: Holder) -> HolderRecord:
    own = {"id": holder.id, "holder_type": str(holder.holder_type), "access_level": holder.access_level}
    return cast(HolderRecord, own | {name: holder.details[name] for name in DETAILS if name in holder.details})


def serialize_account_of_holder(account: Account) -> HolderAccountRecord:
    return {
        "id": account.id,
        "holder_id": account.holder_id,
        "currency_ison": account.currency,
        "available_balance": account.available,
        "settled_balance": account.settled,
        "reserved_balance": account.reserved,
        "account_status": account.status,
        "date_updated": account.updated_at,
        "program_id": account.program_id,
        "limit_group_id": account.limit_group_id,
        "fee_group_id": account.fee_group_id,
        "risk_group_id": account.risk_group_id,
    }


def serialize_account(account: Account) -> AccountRecord:
    record: AccountRecord = {
        **serialize_account_of_holder(account),
        "status_change_reason_code": account.reason_code,
        "status_change_note": account.note,
    }
    return without_none(record, "limit_group_id")


def serialize_card(card: Card, now: int, expiry: tuple[int | str, int | str] | None) -> CardDetails:
    """Serialize a card. ``expiry`` is the year and month as disclosed to the caller."""
    details: CardDetails = {
        "card_id": card.id,
        "holder_id": card.holder_id,
        "primary_account_id": card.account_ids[0],
        "virtual": card.virtual,
        "program_id": card.program_id,
        "reference_number": card.reference,
        "invalid_pin_tries": card.pin_tries,
        "invalid_pin_tries_max_limit": card.pin_tries_limit,
        "product_id": card.product_id,
        "sub_product_id": card.sub_product_id,
        "status": card.status(now),
        "status_change_reason_code": card.reason_code,
        "status_change_note": card.note,
        "pin_status": card.pin_status,
        "default_currency_ison": card.currency,
        "country_ison": card.country,
        "service_code": int(card.service_code),
        "fees_group_id": card.fee_group_id,
        "limits_group_id": card.limit_group_id,
        "usages_group_id": card.usage_group_id,
        "risk_group_id": card.risk_group_id,
        "card_design_id": card.design_id,
        "name_line_3": card.name_line_3,
        "name_line_4": card.name_line_4,
        "expiry_month": expiry and expiry[1],
        "expiry_year": expiry and expiry[0],
        "participating": card.participating,
    }
    return without_none(details)


def program_change_events(before: Account, after: Account) -> list[CardEvent]:
    """Return the event for an account's change of programme. The result is empty if the programme did not change."""
    groups = ((name, getattr(before, name), getattr(after, name)) for name in ACCOUNT_GROUPS)
    replaced = [
        without_none(ReplacedGroup(group=name, id_before=old, id=new)) for name, old, new in groups if old != new
    ]
    if before.program_id == after.program_id and not replaced:
        return []
    data: AccountProgramEvent = {
        "account_id": after.id,
        "holder_id": after.holder_id,
        "program_id_before": before.program_id,
        "program_id": after.program_id,
        "replaced_groups": replaced,
    }
    return [CardEvent("account.program_changed", data)]


def account_status_events(
    account: LedgerAccount, before: str, after: str, reason_code: int | None = None
) -> list[CardEvent]:
    """Return the event for a status change of a holder's account. The result is empty if the status did not change."""
    if before == after:
        return []
    assert account.holder_id is not None, "only holders' accounts change their status"
    data: AccountStatusEvent = {
        "account_id": account.id,
        "holder_id": account.holder_id,
        "account_status_before": before,
        "account_status": after,
        "reason_code": reason_code,
    }
    return [CardEvent("account.status_changed", data)]


def card_creation_event(card: Card, *, reissued: bool = False) -> CardEvent:
    """Return the event for a new or reissued card, with the new order's ``card_request_id``."""
    data: CardCreatedEvent = {
        "card_id": card.id,
        "card_request_id": card.request_id,
        "holder_id": card.holder_id,
        "account_id": card.account_ids[0],
        "virtual": card.virtual,
        "reissued": int(reissued),
        "card_status": card.stored_status,
    }
    return CardEvent("card.created", data)


def card_activation_event(card: Card) -> CardEvent:
    data: CardActivatedEvent = {
        "card_id": card.id,
        "card_request_id": card.request_id,
        "holder_id": card.holder_id,
        "card_status": ACTIVE,
    }
    return CardEvent("card.activated", data)


def card_status_events(card: Card, before: str, after: str, reason_code: int | None = None) -> list[CardEvent]:
    """Return the event for a card's status change. The result is empty if the status did not change."""
    if before == after:
        return []
    data: CardStatusEvent = {
        "card_id": card.id,
        "holder_id": card.holder_id,
        "card_status_before": before,
        "card_status": after,
        "reason_code": reason_code,
    }
    return [CardEvent("card.status_changed", data)]
