"""Deferred calls: ``Prefer: respond-async`` (RFC 7240, ``docs/concepts/deferred-calls.md``).

Requests are validated immediately. An accepted call becomes a delivery to the bank. Its outcome is stored encrypted and
can be fetched for a day with a bearer token of the same consent, or by the client if the call had no bearer token.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from chalicelib.delivery.delivery_record import Delivery, record_key
from chalicelib.delivery.outbox import Outbox, RecordedDeliveries
from chalicelib.delivery.outcomes import Keep, StoredAnswer, Undeliverable
from chalicelib.delivery.sealed_bodies import SealedBodies
from chalicelib.foundation import jsontext, log
from chalicelib.foundation.clock import Clock
from chalicelib.foundation.dynamodb.store import Item, Store
from chalicelib.openbanking.delivery_plans import WITH_CALLER
from chalicelib.openbanking.flows.tpp_authentication import TppAuthentication
from chalicelib.openbanking.oauth.tpp_request import TppCredentials
from chalicelib.openbanking.protocol import refusals
from chalicelib.openbanking.protocol.errors import Refusal, version_2_error
from chalicelib.openbanking.protocol.own_answers import AcceptedRequest
from chalicelib.openbanking.protocol.tpp_calls import REQUEST_ID
from chalicelib.openbanking.records.client_record import Client, client_key
from chalicelib.openbanking.records.consents import Consent, consent_key


def record_deferred(
    outbox: Outbox,
    path: str,
    request_id: str,
    client_id: str,
    bic: str,
    consent: Consent | None,
    body: Mapping[str, Any],
) -> RecordedDeliveries:
    """Return the delivery that sends a call at ``path`` to a bank, for the transaction that accepts the call."""
    return outbox.record(
        "relay",
        path,
        receiver=f"bank#{bic}",
        bic=bic,
        client_id=client_id,
        consent_id=consent.consent_id if consent else None,
        body=jsontext.dumps(body),
        request_id=request_id,
    )


def look_up_request(
    credentials: TppCredentials,
    request_id: str,
    *,
    clock: Clock,
    tpp_authentication: TppAuthentication,
    bodies: SealedBodies,
) -> AcceptedRequest:
    """Return the state of an accepted request and, if finished, the HTTP status and body of the response.

    Raises:
        Refusal: the request is unknown, belongs to another caller, or is more than a day old.
    """
    keys = [record_key(request_id)] if 0 < len(request_id) <= REQUEST_ID else []
    if credentials.bearer is None:
        client, found = tpp_authentication.authenticate_client_and_read(credentials, keys, ["PISP"])
        consent = None
    else:
        caller = tpp_authentication.authenticate_bearer(credentials, keys, or_spent=True)
        client, consent, found = caller.client, caller.consent, caller.items
    item, now = found[0] if found else None, clock.time()
    delivery = Delivery.from_item(item) if item and item["expires_at"] > now else None
    if delivery is None or delivery.kind not in WITH_CALLER or delivery.client_id != client.client_id:
        raise refusals.REQUEST_UNKNOWN()
    if delivery.consent_id is not None and consent is None:
        raise refusals.REQUEST_BEARER_MISSING()
    if delivery.consent_id is not None and consent is not None and delivery.consent_id != consent.consent_id:
        raise refusals.REQUEST_UNKNOWN()
    return _describe(delivery, bodies, now)


def _describe(delivery: Delivery, bodies: SealedBodies, now: int) -> AcceptedRequest:
    if delivery.state == "due":
        return {"state": "running" if delivery.is_running(now) else "queued", "status": None, "body": None}
    state: Literal["done", "failed"] = "done" if delivery.state == "delivered" else "failed"
    answer = delivery.answer
    if answer is None:  # lost because of a defect, which was reported
        lost = refusals.OUTCOME_LOST()
        status, body = version_2_error(lost, delivery.request_id, delivery.failed_at or 0)
        return {"state": state, "status": status, "body": body}
    text = bodies.open(delivery.delivery_id, answer["name"], answer["parts"])
    return {"state": state, "status": answer["status"], "body": jsontext.read_stored(text)}


def read_client_and_consent(
    store: Store,
    delivery: Delivery,
    keys: Sequence[tuple[str, Item]],
    now: int,
    *,
    or_spent: bool = False,
    spent_by: str = "",
) -> tuple[Client, Consent | None, list[Item | None]]:
    """Read an accepted call's client (possibly inactive), its valid consent, and the items under ``keys``.

    A one-time consent may have been used by any attempt if ``or_spent`` is true, and otherwise only by the attempt
    ``spent_by``.

    Raises:
        Refusal.
    """
    consents = [consent_key(delivery.consent_id)] if delivery.consent_id else []
    found = store.batch_get([client_key(delivery.concerned_client), *consents, *keys])
    if found[0] is None:
        raise refusals.CLIENT_UNKNOWN()
    client, rest = Client.from_item(found[0]), found[1:]
    if not consents:
        return client, None, rest
    item = rest[0]
    consent = Consent.from_item(item) if item else None
    if item is None or consent is None or now >= consent.valid_until:
        raise refusals.BEARER_INVALID()
    spent = consent.status == "spent" and (or_spent or item.get("spent_by") == spent_by)
    if consent.status != "authorised" and not spent:
        raise refusals.BEARER_INVALID()
    return client, consent, rest[1:]


def store_refusal(delivery: Delivery, refusal: Refusal, now: int) -> StoredAnswer:
    """Return the error response that the caller of an immediate call would have received, for storage."""
    log.info("error response", client_id=delivery.client_id, **refusal.log_members)
    status, body = version_2_error(refusal, delivery.request_id, now)
    return StoredAnswer(status, jsontext.dumps(body))


def fail_finally(
    delivery: Delivery, refusal: Refusal, now: int, keep: Keep | None = None, status: int | None = None
) -> Undeliverable:
    """Return the failure that ends a call which is not sent again."""
    return Undeliverable(
        refusal.message, final=True, status=status, answer=store_refusal(delivery, refusal, now), keep=keep
    )


def request_text(body: str) -> str:
    """Return the request of a deferred call or payment as JSON, from the ``body`` of its delivery.

    The other members of the body, for example the PSU's address, are not part of the request.
    """
    members = jsontext.loads(body)
    return jsontext.dumps(members["request"] if "request" in members else {"payment_id": members["payment_id"]})
