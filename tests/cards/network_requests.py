"""The whole requests of the card network's actions of the simulator, and the authorizations that they name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tests.cards.issuer import BRITAIN, EUR, PIN, Issuer
from tests.cards.money_requests import FUNDS, LEVEL, Members, Requests

if TYPE_CHECKING:
    from tests.cards.whole_requests import Cast

MERCHANT = {
    "mcc": "0742",
    "merchant_name": "Corner Shop",
    "merchant_id": "SHOP0001",
    "merchant_country_ison": BRITAIN,
    "terminal_id": "T0000001",
}
AUTHORIZED, TAKEN = 2500, 900
"""What was authorized for the requests here, in cents, and what they are about: there is enough for two of each."""


def _used(cast: Cast, **members: Any) -> list[Members]:
    """By the card's id, and by its number."""
    used = {
        "transaction_type": 39,
        "amount": 0,
        "currency_ison": EUR,
        "entry_mode_type": 5,
        "cashback_amount": 0,
        "pin": PIN,
        "cvc2": cast.cvc2,
        "expiry_year": cast.year,
        "expiry_month": cast.month,
        "eci_indicator": 5,
        "partial_approval": 1,
        **MERCHANT,
        **LEVEL,
        **members,
    }
    return [{"card_id": cast.card_id, **used}, {"pan": cast.pan, **used}]


def _collected(cast: Cast) -> list[Members]:
    """With an authorization, and without one."""
    collected = {"amount": TAKEN, "currency_ison": EUR, "final": 0, **MERCHANT, **LEVEL}
    return [{"trans_link": cast.trans_link, **collected}, {"card_id": cast.card_id, **collected}]


def _of_authorization(**members: Any) -> Requests:
    return lambda cast: [{"trans_link": cast.trans_link, **LEVEL, **members}]


WHOLE: Mapping[str, Requests] = {
    "simulateAuthentication": lambda cast: [
        {"card_id": cast.card_id, "amount": 1999, "currency_ison": EUR, "acquirer_bin": "400012", **MERCHANT, **LEVEL}
    ],
    "simulateAuthorization": lambda cast: _used(cast, force_response_code="00"),
    "simulateAdvice": lambda cast: _used(cast, response_code="00"),
    "simulateIncrement": _of_authorization(amount=TAKEN),
    "simulateReversal": _of_authorization(amount=TAKEN),
    "simulateExpiry": _of_authorization(),
    "simulateClearing": _collected,
    "simulateRefund": _collected,
    "simulateDispute": lambda cast: [{"transaction_id": cast.transaction_id, "step": "opened", "amount": 500, **LEVEL}],
}
ON_AUTHORIZATION = ("simulateIncrement", "simulateReversal", "simulateExpiry", "simulateClearing", "simulateRefund")
"""What wants an authorization."""


def provided(issuer: Issuer, action: str, made: Cast) -> Cast:
    """A cast with what an action of the network names; what is refunded or disputed was cleared."""
    if action not in (*ON_AUTHORIZATION, "simulateDispute"):
        return made
    issuer.inbound(issuer.address(made.account_id), FUNDS)
    asked = issuer.authorization(card_id=made.card_id, transaction_type=0, amount=AUTHORIZED)
    assert asked["response_code"] == "00", asked
    made = replace(made, trans_link=asked["trans_link"])
    if action not in ("simulateRefund", "simulateDispute"):
        return made
    collected = issuer.clearing(asked, AUTHORIZED)
    return replace(made, transaction_id=collected["transaction_id"])
