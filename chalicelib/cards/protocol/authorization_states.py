"""The states of authorizations and disputes: from which an action may start, and what it is refused with otherwise.

One table that the flows, the documentation and the tests share. ``None`` lets an action pass.
"""

from __future__ import annotations

from collections.abc import Mapping

from chalicelib.cards.protocol.status_codes import Status

AUTHORIZATION_STATES = {
    "D": "declined",
    "H": "approved and waiting for its clearing",
    "C": "cleared",
    "R": "reversed",
    "X": "expired",
}
DECLINED, HELD, CLEARED, REVERSED, OVER = "D", "H", "C", "R", "X"

_ONLY_HELD: Mapping[str, Status | None] = {
    state: None if state == HELD else Status.WRONG_STATE for state in AUTHORIZATION_STATES
}
AUTHORIZATION_RULES: Mapping[str, Mapping[str, Status | None]] = {
    "simulateIncrement": _ONLY_HELD,
    "simulateReversal": _ONLY_HELD,
    "simulateExpiry": _ONLY_HELD,
    "simulateClearing": dict.fromkeys(AUTHORIZATION_STATES),
    "simulateRefund": dict.fromkeys(AUTHORIZATION_STATES),
}
"""By action, then by the authorization's state: a clearing is forced, and a refund bounded by what was cleared."""

DISPUTE_STEPS = {
    "opened": "the holder has got the money back, which is reserved",
    "won": "the holder keeps it",
    "lost": "the shop keeps it",
}
OPENED, WON, LOST = "opened", "won", "lost"
DISPUTE_RULES: Mapping[str, Mapping[str | None, Status | None]] = {
    OPENED: {None: None, OPENED: Status.WRONG_STATE, WON: Status.FINAL, LOST: Status.FINAL},
    WON: {None: Status.WRONG_STATE, OPENED: None, WON: Status.FINAL, LOST: Status.FINAL},
    LOST: {None: Status.WRONG_STATE, OPENED: None, WON: Status.FINAL, LOST: Status.FINAL},
}
"""By step, then by the step that a transaction's dispute has reached; ``None``: it was never disputed."""
