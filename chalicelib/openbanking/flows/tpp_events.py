"""Events to TPPs: recorded in the transaction that causes them, and sent with a signature.

Nothing is recorded for a client without an Events URL. The body is built once; each attempt is signed separately,
because the signature covers the time of sending.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from chalicelib.delivery import event_sender
from chalicelib.delivery.outbox import Outbox, RecordedDeliveries
from chalicelib.delivery.outcomes import Delivered, Dispatch, Undeliverable
from chalicelib.foundation.clock import Clock
from chalicelib.foundation.dynamodb.store import Store
from chalicelib.foundation.http.outbound import Outbound
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.openbanking.protocol.tpp_events import EventData, EventType, PaymentStatusChanged, TestEvent
from chalicelib.openbanking.records.client_record import Client, client_key
from chalicelib.openbanking.records.clients import Clients, UnknownClient
from chalicelib.openbanking.records.payments import Payment


class NoEventsUrl(Exception):
    """The client has no Events URL."""


@dataclass(frozen=True, slots=True)
class TppEvents:
    """Records events."""

    store: Store
    clock: Clock
    outbox: Outbox

    def record(self, client: Client | None, event: EventType, data: EventData) -> RecordedDeliveries:
        """The delivery of an event, for the transaction that causes it; empty for a client without an Events URL."""
        members: Mapping[str, Any] = data
        if client is None or client.events_url is None:
            return RecordedDeliveries()
        return self.outbox.record(
            "event",
            event,
            receiver=f"client#{client.client_id}",
            bic=members.get("bic"),
            client_id=client.client_id,
            consent_id=members.get("consent_id"),
            body=event_sender.body(event, self.clock.time(), members),
        )

    def find_client(self, client_id: str) -> Client | None:
        """The client, for flows that have not read it."""
        item = self.store.get(*client_key(client_id))
        return Client.from_item(item) if item else None

    def send_test(self, client: Client) -> str:
        """Send a client a test event. Returns the delivery id. Raises: NoEventsUrl."""
        recorded = self.record(client, "test", TestEvent(message="This is a test."))
        if not recorded.delivery_ids:
            raise NoEventsUrl(f"the client {client.client_id} has no Events URL")
        self.store.transact(recorded.operations)
        self.outbox.dispatch(recorded)
        return recorded.delivery_ids[0]


def record_status_changed(events: TppEvents, client: Client | None, payment: Payment) -> RecordedDeliveries:
    """Record the event for a payment's new status."""
    data = {
        "consent_id": payment.consent_id,
        "bic": payment.bic,
        "payment_id": payment.payment_id,
        payment.version.status_member: payment.status,
    }
    return events.record(client, "payment.status_changed", cast("PaymentStatusChanged", data))


@dataclass(frozen=True, slots=True)
class TppEventSender:
    """Sends events to clients."""

    clock: Clock
    clients: Clients
    outbound: Outbound

    def send(self, dispatch: Dispatch) -> Delivered:
        """Post an event to the client's Events URL.

        Raises:
            Undeliverable.
        """
        client = self._client(dispatch.delivery.concerned_client)
        secrets = self.clients.events_secrets(client)
        if not secrets:
            raise Undeliverable("the client has no events secret")
        return event_sender.post(self.outbound, client.events_url or "", secrets, dispatch, self.clock.time())

    def _client(self, client_id: str) -> Client:
        try:
            client = self.clients.get(client_id)
        except UnknownClient:
            raise Undeliverable("the client no longer exists", final=True) from None
        if client.events_url is None:
            raise Undeliverable("the client no longer has an Events URL", final=True)
        if not client.active:
            raise Undeliverable("the client is inactive")
        return client
