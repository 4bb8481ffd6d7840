"""Removes the data of PSUs: approved accounts on request, and consents and payments after five years."""

from __future__ import annotations

from collections.abc import Iterator

from chalicelib.bootstrap import Hub
from chalicelib.foundation.dynamodb.conditions import Attr
from chalicelib.foundation.dynamodb.store import ConditionFailed, Delete, Item
from chalicelib.openbanking.records import consents, payments
from chalicelib.openbanking.records.consents import Consent, consent_key
from infra.retention.errors import NotErasable
from infra.retention.kinds import RETENTION_SECONDS


def erase_consent(hub: Hub, consent_id: str) -> list[str]:
    """Remove the account identifiers of an ended consent. Returns the removed kinds of data. A second call removes
    nothing and returns no kinds.

    Raises:
        NotErasable: the consent does not exist, or has not ended.
    """
    table, key = consent_key(consent_id)
    item = hub.store.get(table, key)
    if item is None:
        raise NotErasable(f"there is no consent {consent_id}")
    has_ended = Attr("status").eq("revoked") | Attr("valid_until").lte(hub.clock.time())
    try:
        hub.store.update(table, key, set={"accounts": {}}, condition=Attr("consent_id").exists() & has_ended)
    except ConditionFailed:
        raise NotErasable(f"consent {consent_id} is valid: end it first with `consents revoke`") from None
    return ["approved-accounts"] if item["accounts"] else []


def due_consents(hub: Hub, now: int) -> list[Consent]:
    """Yield the consents that ended five years ago."""
    items = (item for item in hub.store.scan(consents.TABLE) if item["part"] == "consent")
    return [each for each in map(Consent.from_item, items) if _ended_at(each) + RETENTION_SECONDS <= now]


def remove_consent(hub: Hub, consent: Consent) -> None:
    """Delete a consent that has ended."""
    table, key = consent_key(consent.consent_id)
    hub.store.transact([Delete(table, key, Attr("valid_until").eq(consent.valid_until))])


def due_payments(hub: Hub, now: int) -> Iterator[Item]:
    """Yield the payments that were ordered five years ago."""
    items = (item for item in hub.store.scan(payments.TABLE) if "payment_id" in item)
    return (item for item in items if item["created_at"] + RETENTION_SECONDS <= now)


def remove_payment(hub: Hub, item: Item) -> None:
    key = {"payment": item["payment"]}
    hub.store.transact([Delete(payments.TABLE, key, Attr("created_at").eq(item["created_at"]))])


def _ended_at(consent: Consent) -> int:
    return consent.valid_until if consent.ended_at is None else min(consent.ended_at, consent.valid_until)
