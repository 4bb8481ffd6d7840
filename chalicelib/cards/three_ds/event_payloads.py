"""The payload of the event about a requested authentication."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from chalicelib.cards.events.card_events import CardEvent
from chalicelib.cards.three_ds.authentication_record import Authentication

_SHOP = ("acquirer_bin", "mcc", "merchant_name", "merchant_id", "merchant_country_ison", "terminal_id")


def authentication_requested(asked: Authentication, given: Mapping[str, Any], encrypted: str | None) -> CardEvent:
    """A shop waits for the cardholder's answer; ``given`` has what is known of the shop, under the wire's names.

    ``encrypted`` is the validation value, for a programme manager that delivers it.
    """
    told = {
        "auth_request_id": asked.id,
        "card_id": asked.card_id,
        "amount": asked.amount,
        "currency_ison": asked.currency,
        **{name: given.get(name) for name in _SHOP},
        "expires_at": asked.valid_until,
        "validation_value": encrypted,
    }
    return CardEvent("three_d_secure.requested", told)
