"""Records as the interface answers them (specification, Resources and their fields)."""

from __future__ import annotations

from typing import Any

from chalicelib.cards.issuing.account_record import Account
from chalicelib.cards.issuing.card_record import Card
from chalicelib.cards.issuing.holder_record import Holder
from chalicelib.cards.storage.record import present


def holder_shown(holder: Holder) -> dict[str, Any]:
    return {
        "id": holder.id,
        "holder_type": holder.holder_type,
        "access_level": holder.access_level,
        **holder.details,
    }


def account_shown(account: Account, *, with_status_change: bool = True) -> dict[str, Any]:
    """An account; ``limit_group_id`` is ``null`` when there is none."""
    shown = {
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
    if with_status_change:
        shown |= present({"status_change_reason_code": account.reason_code, "status_change_note": account.note})
    return shown


def card_shown(card: Card, now: int, expiry: tuple[int | str, int | str] | None) -> dict[str, Any]:
    """A card; ``expiry`` is its year and month as the caller gets to see them."""
    shown = {
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
    return present(shown)
