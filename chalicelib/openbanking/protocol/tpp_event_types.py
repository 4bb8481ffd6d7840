"""The names of what TPPs are told without asking; what each of them says stands in ``events``."""

from __future__ import annotations

from typing import Literal

EventType = Literal[
    "consent.authorised",
    "consent.cancelled",
    "consent.revoked",
    "consent.expiring",
    "consent.expired",
    "payment.status_changed",
    "test",
]

EXPIRING_SECONDS = 7 * 24 * 3600
"""So long before its end a consent is announced to expire."""
