"""What the members of the card network's simulator mean, in the form of ``meanings``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from chalicelib.cards.protocol.values import RISK_ACTIONS, SECURITY_CHECKS
from infra.openapi.cards.made_up import AUTHORIZE_ID, DISPUTE_ID, EURO, PIN, TRANS_LINK, TRANSACTION_ID

_TYPED_IN = "that was typed in"
_TOLD = "that was told"
_OF_USE = "in minor units of the transaction's currency"
_OF_ACCOUNT = "in minor units of the account's currency"
_UNASKED = "The card, where there was no authorization: instead of `trans_link`"

NETWORK: Mapping[str, tuple[str, Any]] = {
    # uses of cards
    "_CardUse.pan": ("The card's number, instead of `card_id`", None),
    "_CardUse.transaction_type": ("What kind of transaction it is; one below 60", 0),
    "transaction_type": ("What kind of transaction it is", 0),
    "entry_mode_type": ("How the card was read", 5),
    "_CardUse.amount": ("The amount, in minor units, without cashback", 2599),
    "_CardUse.cashback_amount": ("Cash that is handed out on top of the amount, in minor units", None),
    "cashback_amount": ("How much cash was handed out on top, in minor units", None),
    "_CardUse.pin": (f"The PIN {_TYPED_IN}", None),
    "SimulateAuthorization.pin": (f"The PIN {_TYPED_IN}", PIN),
    "_CardUse.cvc2": (f"The CVC2 {_TYPED_IN}", None),
    "_CardUse.expiry_year": (f"The year of expiry {_TOLD}", None),
    "_CardUse.expiry_month": (f"The month of expiry {_TOLD}", None),
    "eci_indicator": ("How the cardholder was authenticated", None),
    "partial_approval": ("Whether a part of the amount would do", None),
    "force_response_code": ("Answer with this response code: nothing is looked at, and no wrong PIN counted", None),
    "SimulateAdvice.response_code": ("What the network has decided", "00"),
    # what follows
    "trans_link": ("Names the whole transaction, from authorization to clearing", TRANS_LINK),
    "SimulateClearing.trans_link": ("The authorization that it belongs to", TRANS_LINK),
    "SimulateClearing.card_id": (_UNASKED, None),
    "SimulateIncrement.amount": (f"How much more is asked for, {_OF_USE}", 500),
    "SimulateReversal.amount": (f"How much is given up, {_OF_USE}; all that is left when absent", None),
    "SimulateClearing.amount": ("What the shop collects, in minor units", 2599),
    "SimulateClearing.currency_ison": ("The currency of that", EURO),
    "final": ("Whether it is the last: what is left is released then. 0 no, 1 yes, also when absent", None),
    "SimulateRefund.amount": ("What the shop gives back, in minor units", 500),
    "SimulateRefund.final": ("Taken, and of no effect", None),
    "SimulateDispute.transaction_id": ("What the shop has collected", TRANSACTION_ID),
    "step": ("How far the dispute is", "opened"),
    "SimulateDispute.amount": (f"What is disputed, {_OF_ACCOUNT}; all of the transaction when absent", None),
    # answers
    "authorize_id": ("The message", AUTHORIZE_ID),
    "response_code": ("How the issuer answers", "00"),
    "auth_code": ("The approval's code", "471082"),
    "approved_amount": (f"How much was approved, {_OF_USE}", 2599),
    "holder_amount": (f"What the amount comes to, {_OF_ACCOUNT}, with the fees that are blended into it", 2599),
    "holder_currency_ison": ("The account's currency", EURO),
    "fee_amount": (f"The fees, {_OF_ACCOUNT}, without that of a conversion", 0),
    "released_amount": (f"What is not held any more, {_OF_ACCOUNT}", 2599),
    "risk_actions": ("What the risk rules have brought about: one object of flags", [dict.fromkeys(RISK_ACTIONS, 0)]),
    "security_checks": ("What was there to be checked: one object of flags", [dict.fromkeys(SECURITY_CHECKS, 0)]),
    "Cleared.transaction_id": ("The transaction", TRANSACTION_ID),
    "dispute_id": ("The dispute", DISPUTE_ID),
}
