"""Notices on a page after an action. Each notice is shown once and cannot be triggered by URL parameters.

A redirect stores the notice in a cookie that lasts a minute. The next page shows the notice and deletes the cookie.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

COOKIE = "causeway_notice"
LIFETIME = 60
"""The number of seconds after which a notice that was not shown is discarded."""


class Notice(StrEnum):
    """The actions after which a page shows a notice. The values are stored in the cookie."""

    SIGNED_IN = "signed-in"
    SIGNED_OUT = "signed-out"
    REGISTERED = "registered"
    CREDENTIALS_CHANGED = "new-password"
    CLIENT_CREATED = "client-created"
    CLIENT_CREATED_BEFORE = "client-created-before"
    CLIENT_CHANGED = "client-changed"
    CLIENT_ACTIVATED = "client-activated"
    CLIENT_DEACTIVATED = "client-deactivated"
    CLIENT_ARCHIVED = "client-archived"
    CLIENT_RESTORED = "client-restored"
    EVENT_RECORDED = "event-recorded"
    EVENT_SENT = "event-sent"
    EVENT_RESENT = "event-resent"
    EVENT_DELIVERED = "event-delivered"
    RECEIVER_CHOSEN = "receiver-chosen"
    CODE_EXCHANGED = "code-exchanged"
    TOKENS_REFRESHED = "tokens-refreshed"
    CONSENT_ENDED = "consent-ended"
    JOURNEY_CHANGED = "journey-changed"
    CARD_ISSUED = "card-issued"
    CARD_ACTIVATED = "card-activated"
    CARD_STATUS_CHANGED = "card-status-changed"
    CARD_GROUP_CHANGED = "card-group-changed"
    PIN_UNBLOCKED = "pin-unblocked"
    TIME_MOVED = "time-moved"


TEXTS: Mapping[str, str] = {
    Notice.SIGNED_IN: "You are signed in.",
    Notice.SIGNED_OUT: "You are signed out.",
    Notice.REGISTERED: "Your account has been created, and you are signed in.",
    Notice.CREDENTIALS_CHANGED: "Your password has been changed, and all other sessions have ended.",
    Notice.CLIENT_CREATED: "The client has been created.",
    Notice.CLIENT_CREATED_BEFORE: (
        "This client has already been created: the form was sent twice. Its secrets are not shown again."
    ),
    Notice.CLIENT_CHANGED: "The client has been changed.",
    Notice.CLIENT_ACTIVATED: "The client is active again.",
    Notice.CLIENT_DEACTIVATED: "The client is no longer active: all its calls are refused.",
    Notice.CLIENT_ARCHIVED: "The client is archived: all its calls are refused, and lists leave it out.",
    Notice.CLIENT_RESTORED: "The client is restored. It is inactive until it is reactivated.",
    Notice.EVENT_RECORDED: "A test event is recorded: the client can fetch it.",
    Notice.EVENT_SENT: "A test event is on its way.",
    Notice.EVENT_RESENT: "It is being sent again, with as many retries as before if it fails.",
    Notice.EVENT_DELIVERED: "It has just been delivered by an attempt in progress.",
    Notice.RECEIVER_CHOSEN: (
        "The client's events now go to the built-in receiver. Send a test event to see one arrive."
    ),
    Notice.CODE_EXCHANGED: "The code has been exchanged for tokens.",
    Notice.TOKENS_REFRESHED: "The tokens have been refreshed.",
    Notice.CONSENT_ENDED: "The consent has ended.",
    Notice.JOURNEY_CHANGED: (
        "Nothing was done: this authorization has moved on, or the first submission is still running."
    ),
    Notice.CARD_ISSUED: "The card has been issued. Activate it before it is used.",
    Notice.CARD_ACTIVATED: "The card is active: it can be used now.",
    Notice.CARD_STATUS_CHANGED: "The card's status has been changed.",
    Notice.CARD_GROUP_CHANGED: "The card's group has been changed.",
    Notice.PIN_UNBLOCKED: "The PIN is no longer blocked.",
    Notice.TIME_MOVED: "Time has moved, and everything that became due on the way has been done.",
}
"""The texts of notices, by the value of the cookie. Other values show no notice."""

NOTHING_DONE = frozenset({Notice.JOURNEY_CHANGED, Notice.EVENT_DELIVERED})
"""The notices that explain why an action had no effect. A page shows them without the mark of success."""
