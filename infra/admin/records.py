"""The records that a request's lines and deliveries lead to, as they stand now, without anything secret."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from chalicelib.delivery.delivery_record import Delivery, record_key
from chalicelib.foundation.clock import timestamp
from chalicelib.foundation.dynamodb.store import Item, Store
from chalicelib.foundation.parallel import pieces
from chalicelib.openbanking.records.authorizations import authorization_key
from chalicelib.openbanking.records.consents import consent_key
from chalicelib.openbanking.records.payments import payment_key
from infra.admin.log_search import Line

_OF_ALL = ("client_id", "bic", "api_version", "status", "created_at")
_AUTHORIZATION = (
    "authorization_id",
    *_OF_ALL,
    "scopes",
    "consent_type",
    "valid_until",
    "consent_id",
    "error",
    "error_description",
)
_CONSENT = ("consent_id", *_OF_ALL, "scopes", "consent_type", "valid_until", "spent_at", "ended_at", "ended_by")
_PAYMENT = ("payment_id", *_OF_ALL, "kind", "consent_id", "request_id", "history")
"""What is shown of a record: named one by one, so that what a record gets later is not shown by accident."""
_TOGETHER = 100


@dataclass(frozen=True, slots=True)
class Records:
    """What a request has to do with."""

    deliveries: Sequence[Delivery]
    authorizations: Sequence[Mapping[str, Any]]
    consents: Sequence[Mapping[str, Any]]
    payments: Sequence[Mapping[str, Any]]


def follow(store: Store, lines: Sequence[Line], more: Collection[str] = ()) -> Records:
    """The records that lines name; ``more`` are the ids of deliveries that are known otherwise."""
    said = [line.members for line in lines]
    ids = [*more, *_named(said, "delivery_id"), *(each for one in said for each in one.get("delivery_ids", ()))]
    deliveries = [Delivery.from_item(item) for item in _read(store, map(record_key, ids))]
    authorizations = _read(store, map(authorization_key, _named(said, "authorization_id")))
    pairs = [(one["bic"], one["payment_id"]) for one in said if "bic" in one and "payment_id" in one]
    payments = [item for item in _read(store, (payment_key(*pair) for pair in pairs)) if "payment_id" in item]
    consents = [*_named([*said, *authorizations, *payments], "consent_id")]
    consents += [delivery.consent_id for delivery in deliveries if delivery.consent_id]
    return Records(
        deliveries=sorted(deliveries, key=lambda delivery: delivery.created_at),
        authorizations=[_shown(item, _AUTHORIZATION) for item in authorizations],
        consents=[_shown(item, _CONSENT) for item in _read(store, map(consent_key, consents))],
        payments=[_shown(item, _PAYMENT) for item in payments],
    )


def _named(said: Iterable[Mapping[str, Any]], name: str) -> list[str]:
    return [one[name] for one in said if isinstance(one.get(name), str)]


def _read(store: Store, keys: Iterable[tuple[str, Item]]) -> list[Item]:
    """The items that are there, each once."""
    different = list({repr(key): key for key in keys}.values())
    batches = pieces(different, _TOGETHER)
    return [item for batch in batches for item in store.batch_get(batch) if item is not None]


def _shown(item: Item, names: Sequence[str]) -> dict[str, Any]:
    return {name: _said(name, item[name]) for name in names if item.get(name) is not None}


def _said(name: str, value: Any) -> Any:
    if name == "history":
        return [{"status": entry["status"], "at": timestamp(entry["at"])} for entry in value]
    return timestamp(value) if name.endswith(("_at", "_until")) else value
