"""Deferred calls: ``Prefer: respond-async`` (RFC 7240, ``docs/concepts/deferred-calls.md``).

Requests are validated immediately. An accepted call becomes a delivery to the bank. Its outcome is stored encrypted and
can be fetched for a day with a bearer of the same consent, or by the client if the call had no bearer.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from chalicelib.delivery.delivery_record import Delivery, record_key
from chalicelib.delivery.outbox import Outbox
from chalicelib.delivery.sealed_bodies import SealedBodies
from chalicelib.foundation import jsontext
from chalicelib.foundation.clock import Clock
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.foundation.requests.engine import Engine
from chalicelib.foundation.requests.outcome import Outcome
from chalicelib.openbanking.delivery_plans import WITH_CALLER
from chalicelib.openbanking.flows.reads.read_limits import CountedRead, ReadLimits
from chalicelib.openbanking.flows.reads.relay_requests import RelayRequest
from chalicelib.openbanking.flows.tpp_authentication import TppAuthentication
from chalicelib.openbanking.oauth.tpp_credentials import TppCredentials
from chalicelib.openbanking.protocol import refusals
from chalicelib.openbanking.protocol.own_answers import AcceptedRequest
from chalicelib.openbanking.protocol.psu_context import PsuContext
from chalicelib.openbanking.protocol.tpp_calls import REQUEST_ID
from chalicelib.openbanking.protocol.versions import TPP_ERRORS
from chalicelib.openbanking.protocol.webhooks import STATUS_PATH
from chalicelib.openbanking.records.consents import Consent
from chalicelib.openbanking.records.order_answers import DeferredRequest
from chalicelib.openbanking.records.payments import Payment


@dataclass(frozen=True, slots=True)
class DeferredCalls:
    """Accepts relayed calls for deferred execution, and returns the outcomes of deferred calls and payments."""

    engine: Engine
    clock: Clock
    tpp_authentication: TppAuthentication
    bodies: SealedBodies
    outbox: Outbox
    read_limits: ReadLimits

    def accept(self, path: str, relayed: RelayRequest, *, request_id: str, psu: PsuContext) -> DeferredRequest:
        """Accept a relayed call at ``path`` for deferred execution, and count an unattended read. Raises: Refusal."""
        consent, read = relayed.consent, self.read_limits.counted_read(relayed, psu)
        body = {"request": relayed.request, **psu.as_members()}
        body |= read.reservation.as_members() if read else {}
        return self._accept(path, consent.client_id, consent.bic, consent, body, request_id, read)

    def accept_status(
        self, payment: Payment, consent: Consent | None, *, request_id: str, psu: PsuContext
    ) -> DeferredRequest:
        """Accept a payment status query for deferred execution."""
        body = {"payment_id": payment.payment_id, **psu.as_members()}
        return self._accept(STATUS_PATH, payment.client_id, payment.bic, consent, body, request_id)

    def look_up(self, credentials: TppCredentials, request_id: str) -> AcceptedRequest:
        """The state of an accepted request; once finished, with the HTTP status and body of the response.

        Raises:
            Refusal: the request is unknown, belongs to another caller, or is more than a day old.
        """
        keys = [record_key(request_id)] if 0 < len(request_id) <= REQUEST_ID else []
        if credentials.bearer is None:
            client, found = self.tpp_authentication.authenticate_client_and_read(credentials, keys, ["PISP"])
            consent = None
        else:
            caller = self.tpp_authentication.authenticate_bearer(credentials, keys, or_spent=True)
            client, consent, found = caller.client, caller.consent, caller.items
        item = found[0] if found else None
        delivery = Delivery.from_item(item) if item and item["expires_at"] > self.clock.time() else None
        if delivery is None or delivery.kind not in WITH_CALLER or delivery.client_id != client.client_id:
            raise refusals.REQUEST_UNKNOWN()
        if delivery.consent_id is not None and consent is None:
            raise refusals.REQUEST_BEARER_MISSING()
        if delivery.consent_id is not None and consent is not None and delivery.consent_id != consent.consent_id:
            raise refusals.REQUEST_UNKNOWN()
        return self._outcome(delivery)

    # -- inside

    def _accept(
        self,
        path: str,
        client_id: str,
        bic: str,
        consent: Consent | None,
        body: Mapping[str, Any],
        request_id: str,
        read: CountedRead | None = None,
    ) -> DeferredRequest:
        recorded = self.outbox.record(
            "relay",
            path,
            receiver=f"bank#{bic}",
            bic=bic,
            client_id=client_id,
            consent_id=consent.consent_id if consent else None,
            body=jsontext.dumps(body),
            request_id=request_id,
        )
        if read is not None:
            self.read_limits.reserve(read, recorded)
        else:
            self.engine.carry_out(lambda _: Outcome(None, deliveries=recorded))
        return DeferredRequest(recorded.delivery_ids[0])

    def _outcome(self, delivery: Delivery) -> AcceptedRequest:
        if delivery.state == "due":
            running = delivery.is_running(self.clock.time())
            return {"state": "running" if running else "queued", "status": None, "body": None}
        state: Literal["done", "failed"] = "done" if delivery.state == "delivered" else "failed"
        answer = delivery.answer
        if answer is None:  # lost because of a defect, which was reported
            lost = refusals.OUTCOME_LOST()
            body = TPP_ERRORS.body(lost, delivery.request_id, delivery.failed_at or 0)
            return {"state": state, "status": TPP_ERRORS.status(lost), "body": body}
        text = self.bodies.open(delivery.delivery_id, answer["name"], answer["parts"])
        return {"state": state, "status": answer["status"], "body": jsontext.read_stored(text)}


def request_text(body: str) -> str:
    """The request of a deferred call or payment as JSON, from the ``body`` of its delivery.

    The other members of the body, for example the PSU's address, are not part of the request.
    """
    members = jsontext.loads(body)
    return jsontext.dumps(members["request"] if "request" in members else {"payment_id": members["payment_id"]})
