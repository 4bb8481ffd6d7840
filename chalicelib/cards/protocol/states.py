"""States of accounts, cards, PINs, authorizations and disputes, and the actions that each state allows or refuses.

The service, the documentation and the tests all use these tables. ``None`` means that the action is allowed.
"""

from __future__ import annotations

from collections.abc import Mapping

from chalicelib.cards.protocol.status_codes import Status

ACCOUNT_STATES = {"A": "active", "S": "suspended", "R": "restricted", "C": "closed (final)"}
NEW_ACCOUNT_STATES = {state: ACCOUNT_STATES[state] for state in "ASR"}

CARD_STATES = {
    "N": "not activated",
    "A": "active",
    "T": "temporarily blocked",
    "R": "risk",
    "L": "lost",
    "S": "stolen",
    "E": "expired (by its expiry date)",
    "B": "blocked (final)",
}
NEW, ACTIVE, LOST, STOLEN, EXPIRED, BLOCKED = "N", "A", "L", "S", "E", "B"
EXPIRING = "NATR"
"""The card states that become ``EXPIRED`` after the month of expiry."""
CLOSED = "C"
"""The state of a closed account."""
CARD_STATES_TO_SET = {state: CARD_STATES[state] for state in "ATRLSB"}
PIN_STATES = {0: "ok", 1: "blocked"}
PIN_OK, PIN_IS_BLOCKED = 0, 1

PIN_TRIES = 3
"""The number of consecutive wrong PINs after which the PIN is blocked, unless the programme overrides this number."""
MISMATCHES_A_DAY = 5
"""The maximum number per UTC day of wrong CVC2 entries, and of activateCard requests with wrong card data."""

DECLINED_BY_CARD = {"N": "78", "T": "62", "R": "59", "L": "41", "S": "43", "E": "54", "B": "46"}
"""The response codes for declines, keyed by card state. Cards in state A are not declined."""
DECLINED_BY_ACCOUNT = {"S": "62", "R": "62", "C": "46"}
DECLINED_BY_NUMBER = {"L": "41", "S": "43"}
"""The response codes for a replaced number, keyed by the card's state at the time of replacement. The code for other
states is 14.
"""

Rule = Mapping[str, Status | None]


def _unless_final(**others: Status | None) -> Rule:
    return {state: Status.FINAL if state == BLOCKED else others.get(state) for state in CARD_STATES}


def _only_from(states: str) -> Rule:
    return _unless_final(**{state: Status.WRONG_STATE for state in CARD_STATES if state not in states})


ANY_BUT_BLOCKED = _unless_final()
WITH_PIN = _only_from("NATR")

CARD_RULES: Mapping[str, Rule] = {
    "activateCard": _unless_final(
        A=Status.ALREADY_ACTIVE, **{state: Status.WRONG_STATE for state in CARD_STATES if state not in "NA"}
    ),
    "changeCardStatus": _unless_final(N=Status.NOT_ACTIVATED),
    "setPin": WITH_PIN,
    "unblockPin": WITH_PIN,
    "authenticationConfirm": _only_from("A"),
    "reissueCard": ANY_BUT_BLOCKED,
    "assignCardToFeesGroup": ANY_BUT_BLOCKED,
    "assignCardToLimitsGroup": ANY_BUT_BLOCKED,
    "assignCardToUsageGroup": ANY_BUT_BLOCKED,
    "assignCardToRiskRuleGroup": ANY_BUT_BLOCKED,
    "changeCardSchemeAccountUpdatesStatus": ANY_BUT_BLOCKED,
    "changeCardAcsPassword": ANY_BUT_BLOCKED,
    "createCardAcsMerchantWhitelistRule": ANY_BUT_BLOCKED,
    "createAccount": ANY_BUT_BLOCKED,
    "createCustomFee": ANY_BUT_BLOCKED,
    "assignExternalPaymentAddress": ANY_BUT_BLOCKED,
    "assignExternalPaymentAddressForSpecialAccount": ANY_BUT_BLOCKED,
}
"""The rules for each action, keyed by the card's state."""

_TO_ANY = frozenset(CARD_STATES_TO_SET)
CARD_MOVES: Mapping[str, frozenset[str]] = {
    "A": _TO_ANY,
    "T": _TO_ANY,
    "R": _TO_ANY,
    "L": frozenset("LB"),
    "S": frozenset("SB"),
    "E": frozenset("B"),
}
"""The states that changeCardStatus can set in each state. Any other change is refused with ``WRONG_STATE``."""

_ON_LIVE_ACCOUNT = {"A": None, "S": Status.ACCOUNT_STATUS, "R": None, "C": Status.ACCOUNT_STATUS}
_ON_ACTIVE_ACCOUNT = _ON_LIVE_ACCOUNT | {"R": Status.ACCOUNT_STATUS}

ACCOUNT_RULES: Mapping[str, Rule] = {
    "changeAccountStatus": {"A": None, "S": None, "R": None, "C": Status.FINAL},
    "changeAccountProgramId": {"A": None, "S": None, "R": None, "C": Status.ACCOUNT_STATUS},
    "assignAccountToRiskRuleGroup": {"A": None, "S": None, "R": None, "C": Status.ACCOUNT_STATUS},
    "assignAccountToLimitRuleGroup": {"A": None, "S": None, "R": None, "C": Status.ACCOUNT_STATUS},
    "assignAccountToFeeRuleGroup": {"A": None, "S": None, "R": None, "C": Status.ACCOUNT_STATUS},
    "createCard": _ON_LIVE_ACCOUNT,
    "assignExternalPaymentAddress": _ON_LIVE_ACCOUNT,
    "createCustomFee": _ON_ACTIVE_ACCOUNT,
    "transferToExternalPayment": _ON_ACTIVE_ACCOUNT,
    "inboundReturn": _ON_ACTIVE_ACCOUNT,
    "directCreditReturn": _ON_ACTIVE_ACCOUNT,
    "directDebitReturn": dict.fromkeys(ACCOUNT_STATES),
}
"""The rules for each action, keyed by the account's state. createCard adds a new card to an account."""

PAYING_ACCOUNT = ("A",)
"""The states in which an account pays direct debits."""
CREDITED_ACCOUNT = ("A", "R")
"""The states in which an account accepts inbound payments. In other states, inbound payments are bounced."""

LIVE_ACCOUNT = ("A", "R")
"""The states in which an account accepts new cards."""

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
"""The rules for each action, keyed by the authorization's state. A clearing is always booked, and a refund is limited
by the clearing.
"""

DISPUTE_STEPS = {
    "opened": "the holder has been credited, and the credit is reserved",
    "won": "the holder keeps the credit",
    "lost": "the merchant keeps the money",
}
DISPUTE_OPENED, DISPUTE_WON, DISPUTE_LOST = "opened", "won", "lost"
_IF_OPENED = {None: Status.WRONG_STATE, DISPUTE_OPENED: None, DISPUTE_WON: Status.FINAL, DISPUTE_LOST: Status.FINAL}
DISPUTE_RULES: Mapping[str, Mapping[str | None, Status | None]] = {
    DISPUTE_OPENED: _IF_OPENED | {None: None, DISPUTE_OPENED: Status.WRONG_STATE},
    DISPUTE_WON: _IF_OPENED,
    DISPUTE_LOST: _IF_OPENED,
}
"""The rules for each step, keyed by the dispute's current step. The key is ``None`` if there is no dispute yet."""
