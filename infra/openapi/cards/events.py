"""The webhooks of the card API's document: the events that a programme manager's Events URL receives."""

from __future__ import annotations

from collections.abc import Mapping

from chalicelib.cards.protocol.card_events import EVENTS, CardEventType
from infra.openapi import webhooks as common
from infra.openapi.cards import examples
from infra.openapi.cards.schemas import Json, Schemas

TAG = ("Events", "What the service tells a programme manager at its Events URL, without being asked.")


def webhooks(schemas: Schemas) -> Mapping[str, Json]:
    """One operation for each type of event."""
    return {
        name: {
            "post": common.operation(
                name,
                row.meaning,
                schemas.event(row.data),
                {"usual": ("Usual", example(name))},
                tag=TAG[0],
                receiver="programme manager",
            )
        }
        for name, row in EVENTS.items()
    }


def example(name: CardEventType) -> Json:
    """The body of an event."""
    return common.example(name, examples.event(EVENTS[name].data))
