"""Verifies the hub's signatures of events (Standard Webhooks), and parses events into dataclasses."""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from causeway import _json, _waiting
from causeway._records import Record, RecordError
from causeway.errors import ConfigurationError, InvalidEvent
from causeway.tpp._generated.event_models import EVENTS, KnownEvent

TOLERANCE = 300.0
"""Maximum difference in seconds between an event's timestamp and the current time. Other events are refused, to prevent
replays.
"""
SECONDS = re.compile("[0-9]{1,15}")
PREFIX = "whsec_"


@dataclass(frozen=True, slots=True, kw_only=True)
class UnknownEvent(Record):
    """An event of a type that this version of the package does not support."""

    type: str
    """The event type."""
    timestamp: datetime
    """The time at which the event occurred."""
    data: Mapping[str, Any]
    """The event data in the received form."""


Event = KnownEvent | UnknownEvent
"""An event of any type. Match the classes that you handle, and ignore all other classes."""


@dataclass(frozen=True, slots=True)
class ReceivedEvent:
    """A verified event."""

    id: str
    """The event's id. The hub may send an event more than once, always with the same id."""
    event: Event
    """The event, as an instance of the class for its type."""


def parse_event(body: str | bytes) -> Event:
    """Parse the event in a body, for example the body of an ``EventEntry``. Raises ``InvalidEvent`` if the body is not
    an event.
    """
    try:
        data = _json.loads(body)
        kind = EVENTS.get(str(data["type"]), UnknownEvent)
        return kind.from_json(data)
    except (ValueError, TypeError, KeyError, RecordError) as error:
        raise InvalidEvent(f"the body is not an event: {error}") from error


class EventVerifier:
    """Verifies the requests that the hub sends to the client's Events URL."""

    def __init__(self, secret: str | Sequence[str]) -> None:
        """Create a verifier with the secret of the Events URL (``whsec_…``). During a rotation, pass the old and the
        new secret.
        """
        secrets = [secret] if isinstance(secret, str) else secret
        self._keys = [secret_key(text) for text in secrets]
        if not self._keys:
            raise ConfigurationError("an Events URL has a secret")

    def verify(self, headers: Mapping[str, str], body: str | bytes) -> ReceivedEvent:
        """Verify and parse the event of a request. ``body`` is the raw text.

        Raises ``InvalidEvent`` if a header is missing, the timestamp differs from the current time by more than five
        minutes, no signature is valid, or the body is not an event. After this error, return status 400. Otherwise,
        store the event and return status 204.
        """
        found = {name.lower(): value for name, value in headers.items()}
        try:
            event_id, moment = found["webhook-id"], found["webhook-timestamp"]
            signatures = found["webhook-signature"].split(" ")
        except KeyError as error:
            raise InvalidEvent(f"the header {error} is missing") from None
        if SECONDS.fullmatch(moment) is None or abs(int(moment) - _waiting.now()) > TOLERANCE:
            raise InvalidEvent("the event is too old or too early")
        expected = [_signature(key, event_id, moment, body) for key in self._keys]
        if not any(hmac.compare_digest(one.encode(), other.encode()) for one in expected for other in signatures):
            raise InvalidEvent("no signature is right")
        return ReceivedEvent(event_id, parse_event(body))


def sign(secret: str, event_id: str, timestamp: int, body: str | bytes) -> str:
    """Return the value of the ``webhook-signature`` header for an event, as the hub creates it. Used to test receivers
    and to forward events.
    """
    return _signature(secret_key(secret), event_id, str(timestamp), body)


def secret_key(secret: str) -> bytes:
    """Return the key that a secret contains. Raises ``ConfigurationError`` if the secret is invalid."""
    try:
        key = base64.b64decode(secret.removeprefix(PREFIX), validate=True)
    except ValueError:
        key = b""
    if not secret.startswith(PREFIX) or not key:
        raise ConfigurationError("the secret of an Events URL begins with whsec_ and is base64")
    return key


def _signature(key: bytes, event_id: str, timestamp: str, body: str | bytes) -> str:
    content = body.encode() if isinstance(body, str) else body
    signed = f"{event_id}.{timestamp}.".encode() + content
    return "v1," + base64.b64encode(hmac.digest(key, signed, hashlib.sha256)).decode()
