"""The meaning of each member of events and of the calls that fetch them; see ``meanings``."""

from __future__ import annotations

from collections.abc import Mapping

from chalicelib.foundation import jsontext
from infra.render.openapi.consent_meanings import CONSENT, RANDOM
from infra.render.openapi.metadata_meanings import Meaning

STATE = "lVZ1uF2wC8mJr0d6oKxq3A"
"""The `state` of an authorization request, in examples."""
_CURSOR = f"AAABmslcfwDSTHqb4FE_hqHEXQ.{RANDOM}"
_HAPPENED = "2026-11-21T09:30:00+00:00"
_BODY = jsontext.dumps(
    {
        "type": "consent.revoked",
        "timestamp": _HAPPENED,
        "data": {"consent_id": CONSENT, "bic": "DEMODEF1", "revoked_by": "bank"},
    }
)

EVENTS: Mapping[str, Meaning] = {
    "tpp_calls.EventsQuery.after": ("The `next` of the page before; omit it to begin with the oldest event", _CURSOR),
    "tpp_calls.EventsQuery.limit": ("The maximum number of events per page", 20),
    "own_answers.EventsAnswer.events": ("The events, oldest first", None),
    "own_answers.EventsAnswer.next": ("Pass it as `after` to get the events that follow, now or later", _CURSOR),
    "own_answers.EventsAnswer.has_more": ("Whether there is a following page now", False),
    "own_answers.EventEntry.id": ("The event's id; at an Events URL, its `webhook-id`", "d24c7a9be0513f86a1c45d"),
    "own_answers.EventEntry.type": ("The event type", "consent.revoked"),
    "own_answers.EventEntry.created_at": ("When the event was recorded", _HAPPENED),
    "own_answers.EventEntry.body": ("JSON: `type`, `timestamp` and `data`, as a text", _BODY),
    "tpp_events.state": ("The `state` of the authorization request", STATE),
    "tpp_events.scopes": ("The scopes that the PSU approved", ["accounts"]),
    "tpp_events.error": (
        "The reason why no consent was given: `access_denied` unless the bank specifies another",
        "access_denied",
    ),
    "tpp_events.error_description": ("The reason why no consent was given, for people", "The customer declined"),
    "tpp_events.revoked_by": ("Who ended the consent; `service` after the misuse of a code or refresh token", "bank"),
    "tpp_events.ConsentEnding.valid_until": ("The end of the consent", "2026-11-28T09:30:00+00:00"),
    "tpp_events.PaymentStatusChanged.consent_id": ("The consent of the payment; absent for a direct payment", CONSENT),
    "tpp_events.payment_status": ("The payment's status at a version 1 bank", 4),
    "tpp_events.transaction_status": ("The payment's status at a version 2 bank", "ACSC"),
    "tpp_events.message": ("A message", "This is a test."),
}
