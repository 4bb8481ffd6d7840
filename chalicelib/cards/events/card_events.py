"""Card events for programme managers, recorded in the transaction that causes them, and signed when sent.

Without an Events URL, no events are recorded. The body of an event is built once. Each delivery attempt has a new
signature, which covers the time of sending.
"""

from __future__ import annotations

from collections.abc import Sequence

from chalicelib.cards.events.event_secrets import open_secrets, secrets_key
from chalicelib.cards.programs.programmes import Programmes, head_key
from chalicelib.cards.protocol.card_events import CardEventType
from chalicelib.cards.protocol.message import Answer
from chalicelib.delivery import event_sender
from chalicelib.delivery.outbox import Outbox, RecordedDeliveries
from chalicelib.delivery.outcomes import Delivered, Dispatch, Undeliverable
from chalicelib.foundation.clock import Clock
from chalicelib.foundation.crypto.keyring import Vault
from chalicelib.foundation.dynamodb.store import Store
from chalicelib.foundation.http.outbound import Outbound
from chalicelib.foundation.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CardEvent:
    """An event of a ``type`` with its data. Members that are ``None`` are omitted.

    The event is sent to the programme manager of the request or record, unless ``manager_id`` specifies another
    programme manager.
    """

    type: CardEventType
    data: Answer
    manager_id: int | None = None


def record_events(
    manager_id: int, events: Sequence[CardEvent], outbox: Outbox, programmes: Programmes, now: int
) -> RecordedDeliveries:
    """Return the deliveries for a programme manager's events at ``now`` (Unix seconds). The result is empty if no
    Events URL is configured.
    """
    recorded = RecordedDeliveries()
    for event in events:
        receiver = event.manager_id or manager_id
        if programmes.catalogue(receiver).events_url is not None:
            recorded += outbox.record(
                "card_event",
                event.type,
                receiver=f"manager#{receiver}",
                manager_id=receiver,
                body=event_sender.body(event.type, now, event.data),
            )
    return recorded


def send_card_event(dispatch: Dispatch, *, clock: Clock, outbound: Outbound, store: Store, vault: Vault) -> Delivered:
    """Post an event to its programme manager's current Events URL. Raises: Undeliverable."""
    manager_id = dispatch.delivery.concerned_manager
    head, secrets_item = store.batch_get([head_key(manager_id), secrets_key(manager_id)])
    address = head.get("events_url") if head else None
    if address is None:
        raise Undeliverable("the programme manager no longer has an Events URL", final=True)
    secrets = open_secrets(manager_id, secrets_item, vault, clock.time())
    if not secrets:
        raise Undeliverable("the programme manager has no events secret")
    return event_sender.post(outbound, address, secrets, dispatch, clock.real.time())
