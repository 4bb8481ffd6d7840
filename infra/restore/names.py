"""Names of items for operators, with the ids that other commands accept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from chalicelib.cards.reconciliation.ledger_proof import describe_owner
from chalicelib.foundation.dynamodb.store import Item
from chalicelib.foundation.requests.facts import Key

_NAMES: Mapping[str, str] = {
    "payments": "payment {payment_id} of bank {bic}, X-Request-Id {request_id}",
    "deliveries": "delivery {delivery_id}",
    "consents": "consent {consent_id}",
    "authorizations": "authorization request {authorization_id}",
}
"""The formats of item names, by table. In all other tables, an item is named after its owner."""
_CLAIMS: Mapping[str, str] = {
    "order": "order of bank {0}, X-Request-Id {1}",
    "bank": "request of bank {0}, X-Request-Id {2}",
    "card-api": "response to programme manager {manager}, credential {credential}",
}
"""The formats of the names of claims, by the claimant. They are filled with parts of the stored claim."""


def name_item(table: str, item: Item) -> str:
    if table == "idempotency":
        return _name_claim(item["claim"])
    return _NAMES[table].format_map(item) if table in _NAMES else describe_owner(item["owner"])


def name_missing(keys: Sequence[Key], found: Sequence[Item | None]) -> str:
    """Return the names of missing records that have an owner, for example ``card 9, transaction 12``."""
    gone = [key for (_, key), item in zip(keys, found, strict=True) if item is None]
    return ", ".join(describe_owner(key["owner"]) for key in gone)


def _name_claim(claim: str) -> str:
    kind, *parts = claim.split("#")
    manager, _, credential = parts[0].partition(".")
    return _CLAIMS[kind].format(*parts, manager=manager, credential=credential)
