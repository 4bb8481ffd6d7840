"""Events for TPPs. An event is recorded in the transaction that causes it. It is then sent with a signature, or fetched
by the client.

No event is recorded for a client that gets no events. The body is built once. Each attempt is signed separately,
because the signature covers the time of sending.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from chalicelib.delivery import event_sender
from chalicelib.delivery.delivery_record import client_receiver
from chalicelib.delivery.event_log import EventLog
from chalicelib.delivery.outbox import Outbox, RecordedDeliveries
from chalicelib.delivery.outcomes import Delivered, Dispatch, Undeliverable
from chalicelib.foundation.clock import Clock, milliseconds
from chalicelib.foundation.crypto.signed_cursors import InvalidCursor
from chalicelib.foundation.dynamodb.store import Operation
from chalicelib.foundation.http.outbound import Outbound
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.foundation.requests.engine import Engine
from chalicelib.foundation.requests.outcome import Outcome
from chalicelib.openbanking.protocol import refusals
from chalicelib.openbanking.protocol.own_answers import EventEntry, EventsAnswer
from chalicelib.openbanking.protocol.payment_statuses import FINAL
from chalicelib.openbanking.protocol.tpp_calls import EventsQuery, EventType
from chalicelib.openbanking.protocol.tpp_events import EventData, PaymentStatusChanged, TestEvent
from chalicelib.openbanking.records.client_record import Client
from chalicelib.openbanking.records.clients import Clients, UnknownClient
from chalicelib.openbanking.records.payments import Payment


class NoEvents(Exception):
    """The client gets no events."""


@dataclass(frozen=True, slots=True)
class TppEvents:
    """Records events, and lists them for clients that fetch events."""

    engine: Engine
    clock: Clock
    outbox: Outbox
    event_log: EventLog

    def record(
        self, client: Client | None, event: EventType, data: EventData, not_before: int = 0
    ) -> RecordedDeliveries:
        """Return an event for the transaction that causes it: a delivery, or a log entry if the client fetches events.

        The result is empty for a client that gets no events. ``not_before`` is the time of the previous step (Unix
        seconds).
        """
        members: Mapping[str, Any] = data
        if client is None or client.events_mode == "none":
            return RecordedDeliveries()
        at = max(milliseconds(self.clock), not_before * 1000)
        body = event_sender.body(event, at // 1000, members)
        if client.events_mode == "poll":
            event_id, entry = self.event_log.put_event(client_receiver(client.client_id), event, body, at)
            return RecordedDeliveries(operations=(entry,), event_ids=(event_id,))
        return self.outbox.record(
            "event",
            event,
            receiver=client_receiver(client.client_id),
            bic=members.get("bic"),
            client_id=client.client_id,
            consent_id=members.get("consent_id"),
            body=body,
        )

    def send_test(self, client: Client) -> str:
        """Send a client a test event, or record it for fetching. Returns the event's id. Raises: NoEvents."""
        recorded = self.record(client, "test", TestEvent(message="This is a test."))
        if not recorded.operations:
            raise NoEvents(f"the client {client.client_id} gets no events")
        event_id = (recorded.delivery_ids + recorded.event_ids)[0]
        return self.engine.carry_out(lambda _: Outcome(event_id, deliveries=recorded))

    def list_events(self, client: Client, query: EventsQuery) -> EventsAnswer:
        """Return a page of the events recorded for fetching, oldest first. Raises: Refusal."""
        try:
            page = self.event_log.page(client_receiver(client.client_id), query.after, query.limit)
        except InvalidCursor:
            raise refusals.EVENTS_CURSOR_INVALID() from None
        entries: list[EventEntry] = [
            {
                "id": each.event_id,
                "type": cast("EventType", each.type),
                "created_at": each.created_at,
                "body": each.body,
            }
            for each in page.events
        ]
        return {"events": entries, "next": page.next, "has_more": page.has_more}


def record_status_changed(events: TppEvents, client: Client | None, payment: Payment) -> RecordedDeliveries:
    """Record the event for a payment's new status."""
    status = payment.version.statuses.unify(payment.status)
    data = {
        "consent_id": payment.consent_id,
        "bic": payment.bic,
        "payment_id": payment.payment_id,
        payment.version.status_member: payment.status,
        "status": status,
        "is_final": status in FINAL,
    }
    changed_at = payment.history[-1].at
    return events.record(client, "payment.status_changed", cast("PaymentStatusChanged", data), changed_at)


def send_event(
    dispatch: Dispatch, *, engine: Engine, clock: Clock, clients: Clients, outbound: Outbound, event_log: EventLog
) -> Delivered:
    """Post an event to the client's Events URL. If the client now fetches its events, record the event for fetching.

    Raises:
        Undeliverable.
    """
    client = _require_receiver(clients, dispatch.delivery.concerned_client)
    if client.events_mode == "poll":

        def record(outcome: Sequence[Operation]) -> None:
            """Record the event for fetching, in the transaction that ends its delivery."""
            delivery, receiver = dispatch.delivery, client_receiver(client.client_id)
            at, event_id = milliseconds(clock), delivery.delivery_id
            _, entry = event_log.put_event(receiver, delivery.topic, dispatch.body, at, event_id)
            engine.carry_out(lambda _: Outcome(None, [entry]), alongside=outcome)

        return Delivered(None, keep=record)
    secrets = clients.events_secrets(client)
    if not secrets:
        raise Undeliverable("the client has no events secret")
    return event_sender.post(outbound, client.events_url or "", secrets, dispatch, clock.real.time())


def _require_receiver(clients: Clients, client_id: str) -> Client:
    try:
        client = clients.get(client_id)
    except UnknownClient:
        raise Undeliverable("the client no longer exists", final=True) from None
    if client.events_mode == "none":
        raise Undeliverable("the client no longer has an Events URL", final=True)
    if not client.active and client.events_mode == "url":
        raise Undeliverable("the client is inactive")
    return client
