"""Checks of open banking items: requests and consents, orders and payments, and deliveries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from chalicelib.bootstrap import PLANS, Hub
from chalicelib.delivery.delivery_record import BODY, RECORD, Delivery, update_abandoned, update_dropped
from chalicelib.foundation import jsontext
from chalicelib.foundation.dynamodb.conditions import Attr
from chalicelib.foundation.dynamodb.store import Check, Delete, Item, Operation
from chalicelib.foundation.identifiers import new_id
from chalicelib.foundation.requests.claims import Claim, claim_key
from chalicelib.foundation.requests.facts import Key
from chalicelib.openbanking.flows.payments.deferred_orders import read_record
from chalicelib.openbanking.flows.payments.outcomes import write_payment_of_order
from chalicelib.openbanking.protocol.tpp_calls import EndedBy
from chalicelib.openbanking.protocol.webhooks import PAYMENTS
from chalicelib.openbanking.records import order_answers
from chalicelib.openbanking.records.authorization_requests import AuthorizationRequest, authorization_key
from chalicelib.openbanking.records.client_record import client_key
from chalicelib.openbanking.records.consents import Consent, consent_key
from chalicelib.openbanking.records.order_answers import DeferredRequest, OrderClaim
from chalicelib.openbanking.records.orders import RETENTION_SECONDS, Order, RecordedOrder, order_key
from chalicelib.openbanking.records.payments import Payment, is_early, payment_key
from infra.restore.check import Inconsistency

Found = Sequence[Item | None]
_PATHS = {call.kind: call.path for call in PAYMENTS}


def consent_of_request(hub: Hub, item: Item) -> list[Key]:
    return [consent_key(item["consent_id"])] if "consent_id" in item and item.get("status") == "approved" else []


def judge_approval(hub: Hub, item: Item, found: Found) -> Inconsistency | None:
    """Find an approved authorization request without the consent that the approval created."""
    write = hub.openbanking.authorization_requests.update_lost_consent(AuthorizationRequest.from_item(item))
    return None if found[0] else Inconsistency([write], f", consent {item['consent_id']}")


def request_of_grant(hub: Hub, item: Item) -> list[Key]:
    return [authorization_key(item["authorization_id"])] if "authorization_id" in item else []


def judge_grant(hub: Hub, item: Item, found: Found) -> Inconsistency | None:
    """Find a consent with an authorization request that still has the status ``open``."""
    request = AuthorizationRequest.from_item(found[0]) if found[0] else None
    if request is None or request.status != "open":
        return None
    write = hub.openbanking.authorization_requests.update_late_approval(request, item["consent_id"])
    return Inconsistency([write], f", authorization request {item['authorization_id']}")


def client_of_consent(hub: Hub, item: Item) -> list[Key]:
    return [client_key(item["client_id"])] if "bank_token_digest" in item else []


def judge_client(hub: Hub, item: Item, found: Found) -> Inconsistency | None:
    """Find a valid consent without a client record. Clients are archived but never deleted."""
    if found[0] or not Consent.from_item(item).can_be_queried(hub.clock.time()):
        return None
    return Inconsistency(detail=f", client {item['client_id']}")


def order_of_consent(hub: Hub, item: Item) -> list[Key]:
    return [order_key(item["bic"], item["spent_order"])] if "spent_order" in item else []


def judge_spent_consent(hub: Hub, item: Item, found: Found) -> Inconsistency | None:
    """Find a one-time consent that was spent by a payment order, but whose order is missing."""
    if found[0] or item["spent_at"] + RETENTION_SECONDS <= hub.clock.time():
        return None
    return Inconsistency(detail=f", bank {item['bic']}, X-Request-Id {item['spent_order']}")


def saved_consent(hub: Hub, item: Item) -> list[Key]:
    return [consent_key(item["saved_consent"])] if "saved_consent" in item else []


def judge_saved_consent(hub: Hub, item: Item, found: Found) -> Inconsistency | None:
    """Find a stored response to a bank's consent request whose consent is missing, although the response contains its
    token.
    """
    write = Delete(*claim_key(item["claim"]), Attr("answer").eq(item["answer"]))
    return None if found[0] else Inconsistency([write], f", consent {item['saved_consent']}")


def ended_consent(hub: Hub, item: Item) -> list[Key]:
    return [consent_key(item["ended_consent"])] if "ended_consent" in item else []


def judge_ended_consent(hub: Hub, item: Item, found: Found) -> Inconsistency | None:
    """Find a bank request that ended a consent, although the consent is still valid."""
    return _revoke(hub, found[0], "bank")


def consent_of_end_notice(hub: Hub, item: Item) -> list[Key]:
    """Return the key of the ended consent that a revocation notice or event refers to."""
    is_notice = item.get("kind") == "revoke_token" or item.get("topic") == "consent.revoked"
    return [consent_key(item["consent_id"])] if item["part"] == RECORD and is_notice else []


def judge_end_notice(hub: Hub, item: Item, found: Found) -> Inconsistency | None:
    """Find a notice that reports the end of a consent that is still valid."""
    return _revoke(hub, found[0], "service")


def _revoke(hub: Hub, item: Item | None, by: EndedBy) -> Inconsistency | None:
    consent = Consent.from_item(item) if item else None
    if consent is None or consent.has_ended(hub.clock.time()):
        return None
    return Inconsistency([hub.openbanking.consents.update_revoked(consent, by)], f", consent {consent.consent_id}")


def expiring_consent(hub: Hub, item: Item) -> list[Key]:
    """Return the key of the consent that an expiry event refers to."""
    is_notice = item["part"] == RECORD and item["topic"] in ("consent.expiring", "consent.expired")
    return [consent_key(item["consent_id"])] if is_notice else []


def judge_expiring_consent(hub: Hub, item: Item, found: Found) -> Inconsistency | None:
    """Find an event about a consent's expiry if the expiry would be recorded a second time."""
    consent, topic = found[0], item["topic"]
    if consent is None or consent.get("notify") not in (topic, "consent.expiring"):
        return None
    write = hub.openbanking.consents.update_next_notice(consent | {"notify": topic})
    return Inconsistency(
        [replace(write, condition=Attr("notify").eq(consent["notify"]))], f", consent {item['consent_id']}"
    )


def consent_of_notice(hub: Hub, item: Item) -> list[Key]:
    is_due = item.get("state") == "due" and item.get("kind") in ("event", "revoke_token")
    return [consent_key(item["consent_id"])] if is_due and "consent_id" in item else []


def judge_notice(hub: Hub, item: Item, found: Found) -> Inconsistency | None:
    """Find a delivery for a missing consent."""
    delivery = Delivery.from_item(item)
    write = update_dropped(delivery, PLANS[delivery.kind], hub.clock.time())
    return None if found[0] else Inconsistency([write], f", consent {delivery.consent_id}")


def order_of_delivery(hub: Hub, item: Item) -> list[Key]:
    return [order_key(item["bic"], item["request_id"])] if item.get("kind") == "payment" else []


def judge_deferred_payment(hub: Hub, item: Item, found: Found) -> Inconsistency | None:
    """Find an accepted deferred payment whose order is missing, or that was not sent to the bank in time."""
    delivery, now = Delivery.from_item(item), hub.clock.time()
    writes: list[Operation] = []
    is_being_sent = delivery.claimed_by is not None and delivery.due_at is not None and delivery.due_at > now
    is_late = now >= delivery.give_up_at and not is_being_sent
    if delivery.state == "due" and not delivery.abandoned and (found[0] is None or is_late):
        writes.append(update_abandoned(delivery))
    if found[0] is None and delivery.expires_at > now:
        members = _read_body(hub, delivery)
        order = read_record(delivery, members)
        writes += [hub.openbanking.orders.put_claim(order, members["attempt"])] if order.order_digest else []
    return Inconsistency(writes, _name_order(item)) if writes else None


def claim_of_delivery(hub: Hub, item: Item) -> list[Key]:
    """Return the key of the claim of a deferred payment's Idempotency-Key. Return no key if the payment or the claim is
    no longer stored.
    """
    if item.get("kind") != "payment" or item["expires_at"] <= hub.clock.time():
        return []
    members = _read_body(hub, Delivery.from_item(item))
    return [claim_key(members["key_claim"])] if "key_claim" in members else []


def judge_deferred_claim(hub: Hub, item: Item, found: Found) -> Inconsistency | None:
    """Find a deferred payment whose Idempotency-Key record is missing."""
    if found[0]:
        return None
    delivery = Delivery.from_item(item)
    members = _read_body(hub, delivery)
    claim = _order_claim(members["key_claim"], members["key_digest"], delivery.consent_id)
    write = hub.openbanking.order_answers.put_deferred(claim, DeferredRequest(delivery.delivery_id))
    return Inconsistency([write], _name_order(item))


def _name_order(item: Item) -> str:
    return f", bank {item['bic']}, X-Request-Id {item['request_id']}"


def _read_body(hub: Hub, delivery: Delivery) -> dict[str, Any]:
    body: dict[str, Any] = jsontext.loads(hub.delivery.bodies.open(delivery.delivery_id, BODY, delivery.body_parts))
    return body


def payment_of_order(hub: Hub, item: Item) -> list[Key]:
    order = RecordedOrder.from_item(item)
    if order is None or order.outcome != "accepted" or order.payment_id is None:
        return []
    return [payment_key(order.order.bic, order.payment_id)]


def judge_accepted_order(hub: Hub, item: Item, found: Found) -> Inconsistency | None:
    """Find an order that refers to a missing payment."""
    order = RecordedOrder.from_item(item)
    if order is None or order.payment_id is None or (found[0] and not is_early(found[0])):
        return None
    write, _ = write_payment_of_order(order, order.payment_id, found[0], hub.openbanking.payments)
    return Inconsistency([write], f", payment {order.payment_id}")


def consent_of_order(hub: Hub, item: Item) -> list[Key]:
    return [consent_key(item["consent_id"])] if "sendings" in item and item.get("consent_id") else []


def judge_unspent_consent(hub: Hub, item: Item, found: Found) -> Inconsistency | None:
    """Find an order that may have been sent, although its one-time consent is not spent."""
    consent = Consent.from_item(found[0]) if found[0] else None
    if consent is None or consent.consent_type != "one_time" or consent.status != "authorised" or item["sendings"] <= 0:
        return None
    unchanged = Check(*claim_key(item["claim"]), Attr("attempt").eq(item["attempt"]) & Attr("sendings").gt(0))
    write = hub.openbanking.consents.update_spent_by(consent, item["attempt"], item["request_id"])
    return Inconsistency([write, unchanged], f", consent {consent.consent_id}")


def order_of_payment(hub: Hub, item: Item) -> list[Key]:
    return [order_key(item["bic"], item["request_id"])] if "payment_id" in item else []


def judge_payment(hub: Hub, item: Item, found: Found) -> Inconsistency | None:
    """Find a payment whose order is missing, or an accepted payment whose order has an unknown outcome."""
    payment, orders = Payment.from_item(item), hub.openbanking.orders
    if payment.order_digest is None or payment.outcome == "not_accepted":
        return None
    is_accepted, order = payment.outcome is None, found[0]
    if order is None and payment.created_at + RETENTION_SECONDS > hub.clock.time():
        put = partial(orders.put_lost, is_accepted=is_accepted)
        return Inconsistency([put(_order(payment), new_id(), payment.payment_id)])
    if (
        order
        and is_accepted
        and order.get("order_digest") == payment.order_digest
        and order.get("outcome") == "unknown"
    ):
        write = orders.update_accepted(_order(payment).key, payment.order_digest, payment.payment_id)
        return Inconsistency([write])
    return None


def claim_of_payment(hub: Hub, item: Item) -> list[Key]:
    return [claim_key(item["key_claim"])] if "key_digest" in item else []


def judge_claim(hub: Hub, item: Item, found: Found) -> Inconsistency | None:
    """Find a payment whose Idempotency-Key record is missing before the end of the record's retention period."""
    payment = Payment.from_item(item)
    is_over = payment.created_at + order_answers.KIND.lifetime <= hub.clock.time()
    if found[0] or is_over or payment.key_claim is None or payment.key_digest is None:
        return None
    claim = _order_claim(payment.key_claim, payment.key_digest, payment.consent_id)
    return Inconsistency([hub.openbanking.order_answers.put_claim(claim)])


def _order_claim(name: str, digest: str, consent_id: str | None) -> OrderClaim:
    return OrderClaim(Claim(order_answers.KIND, name, digest, new_id()), consent_id)


def _order(payment: Payment) -> Order:
    return Order(
        payment.bic,
        payment.request_id,
        payment.client_id,
        _PATHS[payment.kind],
        payment.consent_id,
        payment.api_version,
        payment.order_digest,
    )
