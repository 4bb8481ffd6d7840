"""Ways to call the card network's actions of the simulator."""

from __future__ import annotations

from typing import Any

from tests.cards.case import LOOK, RESERVING, Case, Members, of_card
from tests.cards.issuer import EUR, PIN, Issuer

TWO = (LOOK, LOOK)


def of_verification(by: str, **members: Any) -> Members:
    def made(issuer: Issuer) -> dict[str, Any]:
        card = issuer.card_in("A", card_virtual=0, card_pin=PIN)
        return {by: getattr(card, by), "transaction_type": 39, "amount": 0, "currency_ison": EUR, **members}

    return made


def of_purchase_of(amount: int, **members: Any) -> Members:
    """A purchase with a card whose account has 5.00 EUR."""

    def made(issuer: Issuer) -> dict[str, Any]:
        card = issuer.spendable(500)
        return {"card_id": card.card_id, "transaction_type": 0, "amount": amount, "currency_ison": EUR, **members}

    return made


def of_authorization(**members: Any) -> Members:
    return lambda issuer: {"trans_link": issuer.purchase(issuer.spendable(500).card_id, 100)["trans_link"], **members}


def of_cleared(**members: Any) -> Members:
    def made(issuer: Issuer) -> dict[str, Any]:
        asked = issuer.purchase(issuer.spendable(500).card_id, 100)
        issuer.clearing(asked, 100)
        return {"trans_link": asked["trans_link"], **members}

    return made


def of_dispute(step: str) -> Members:
    def made(issuer: Issuer) -> dict[str, Any]:
        cleared = issuer.clearing(issuer.purchase(issuer.spendable(500).card_id, 100), 100)["transaction_id"]
        if step != "opened":
            issuer.data("simulateDispute", transaction_id=cleared, step="opened")
        return {"transaction_id": cleared, "step": step}

    return made


def of_nobodys_number(issuer: Issuer) -> dict[str, Any]:
    return {"pan": "2223000000000007", "transaction_type": 39, "amount": 0, "currency_ison": EUR}


EUROS = {"currency_ison": EUR, "amount": 50}
NETWORK_CASES = [
    Case("simulateAuthorization", of_verification("card_id"), looks=RESERVING),
    Case(
        "simulateAuthorization of a purchase",
        of_purchase_of(500, cashback_amount=0, merchant_name="Shop"),
        looks=RESERVING,
    ),
    Case("simulateAuthorization of a part", of_purchase_of(501, partial_approval=1), looks=RESERVING),
    Case("simulateAuthorization of too much", of_purchase_of(501), looks=RESERVING),
    Case("simulateAuthorization as told", of_purchase_of(501, force_response_code="00"), looks=RESERVING),
    Case("simulateAuthorization with the PIN", of_verification("card_id", pin=PIN), looks=RESERVING),
    Case("simulateAuthorization with a wrong PIN", of_verification("card_id", pin="0000"), looks=RESERVING),
    Case("simulateAuthorization with a number", of_verification("pan", pin="0000"), looks=RESERVING),
    Case("simulateAuthorization with nobody's number", of_nobodys_number, writes=False),
    Case("simulateAdvice", of_purchase_of(501, response_code="00"), looks=RESERVING),
    Case("simulateAdvice with a number", of_verification("pan", response_code="00"), looks=RESERVING),
    Case("simulateIncrement", of_authorization(amount=400), looks=RESERVING),
    Case("simulateIncrement of too much", of_authorization(amount=401), looks=RESERVING),
    Case("simulateReversal", of_authorization(), looks=RESERVING),
    Case("simulateReversal of a part", of_authorization(amount=40), looks=RESERVING),
    Case("simulateExpiry", of_authorization(), looks=RESERVING),
    Case("simulateClearing", of_authorization(**EUROS), looks=TWO),
    Case("simulateClearing without authorization", of_card("A", **EUROS), looks=TWO),
    Case("simulateRefund", of_cleared(**EUROS), looks=TWO),
    Case("simulateRefund without authorization", of_card("A", **EUROS), looks=TWO),
    Case("simulateDispute", of_dispute("opened"), looks=TWO),
    Case("simulateDispute that is won", of_dispute("won"), looks=TWO),
    Case("simulateDispute that is lost", of_dispute("lost"), looks=TWO),
]
