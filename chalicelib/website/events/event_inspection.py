"""The bodies of a delivery for its page: payload, outcome of a call, and the receiver's response to each attempt.

All bodies are decrypted in one call and truncated for display. The page omits bodies that are no longer stored. Records
of earlier versions have no response bodies.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from chalicelib.delivery.delivery_plan import DeliveryPlan
from chalicelib.delivery.delivery_record import BODY, Delivery
from chalicelib.delivery.sealed_bodies import SealedBodies
from chalicelib.foundation import jsontext
from chalicelib.foundation.lazy_dataclasses import dataclass

DETAILED = 4
"""The number of latest attempts that are shown with headers and response. The number is small to limit the page's size.
"""
SHOWN_CHARACTERS = 6_000
"""The maximum number of characters of a body that a page shows."""
FOLDED_VALUES = 120
"""The maximum number of values in a JSON text that is shown as a foldable tree."""


@dataclass(frozen=True, slots=True)
class ShownBody:
    """A body on a page.

    Attributes:
        text: the beginning of the body, at most ``SHOWN_CHARACTERS``.
        size: the length of the body in characters.
        is_folded: whether the body is JSON that the page can fold (``value``).
    """

    text: str
    size: int
    is_folded: bool = False
    value: Any = None

    @property
    def is_whole(self) -> bool:
        return len(self.text) == self.size


@dataclass(frozen=True, slots=True)
class ShownAttempt:
    """A finished attempt: its history entry, whether headers are shown, and the beginning of the response."""

    entry: Mapping[str, Any]
    is_detailed: bool
    reply: ShownBody | None


@dataclass(frozen=True, slots=True)
class Inspection:
    """A delivery's bodies, or ``None`` for a body that is not stored. Attempts are newest first."""

    payload: ShownBody | None
    outcome: ShownBody | None
    attempts: Sequence[ShownAttempt]


def inspect_delivery(
    bodies: SealedBodies, delivery: Delivery, plan: DeliveryPlan, request_text: Callable[[str], str]
) -> Inspection:
    """Read the request and response bodies of a delivery in one call. The client's owner may see these bodies.

    ``request_text`` extracts the request of a deferred call from the body of its delivery.
    """
    latest, answer = delivery.history[-DETAILED:], delivery.answer
    counts = {BODY: delivery.body_parts} if delivery.body_parts else {}
    counts |= {answer["name"]: int(answer["parts"])} if answer else {}
    counts |= {entry["reply"]: 1 for entry in latest if "reply" in entry}
    texts = bodies.open_stored(delivery.delivery_id, counts)
    body = texts.get(BODY)
    attempts = [
        ShownAttempt(entry, entry in latest, _shown(texts.get(entry.get("reply", ""))))
        for entry in reversed(delivery.history)
    ]
    return Inspection(
        _shown(request_text(body) if plan.has_caller and body is not None else body),
        _shown(texts.get(answer["name"]) if answer else None),
        attempts,
    )


def show_body(text: str) -> ShownBody:
    """Prepare a text for a page. JSON of moderate size is foldable."""
    beginning = ShownBody(text[:SHOWN_CHARACTERS], len(text))
    if not beginning.is_whole:
        return beginning
    try:
        value = jsontext.loads(text)
    except jsontext.InvalidJson:
        return beginning
    is_folded = isinstance(value, dict | list) and _count(value) <= FOLDED_VALUES
    return ShownBody(text, len(text), is_folded=is_folded, value=value if is_folded else None)


def _shown(text: str | None) -> ShownBody | None:
    return None if text is None else show_body(text)


def _count(value: Any) -> int:
    """Count the values in a JSON value, including itself."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + sum(_count(each) for each in inner)
