"""The sandbox's simulator: it plays the card network, and shops that ask for 3-D Secure."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from chalicelib.cards import whitelist_rules
from chalicelib.cards.accounts import Account
from chalicelib.cards.authentications import KEPT, VALID_SECONDS, Authentication, proof
from chalicelib.cards.authorizing import APPROVED, Authorizer, Decision, Presented
from chalicelib.cards.call import Call, Outcome
from chalicelib.cards.card_data import CardData
from chalicelib.cards.cards import Card, number_key
from chalicelib.cards.protocol.simulator_messages import SimulateAuthentication, SimulateAuthorization
from chalicelib.cards.protocol.states import ACTIVE, DECLINED_BY_NUMBER
from chalicelib.cards.protocol.values import CHALLENGE, FRICTIONLESS, REJECTED, RISK_ACTIONS, SECURITY_CHECKS
from chalicelib.cards.record import present
from chalicelib.cards.sequences import Sequences
from chalicelib.cards.whitelist_rules import Purchase

UNKNOWN_NUMBER = "14"


@dataclass(frozen=True, slots=True)
class SimulatorFlow:
    """Asks the issuer what a network would ask."""

    sequences: Sequences
    card_data: CardData
    authorizer: Authorizer

    def simulate_authentication(self, call: Call) -> Outcome:
        request: SimulateAuthentication = call.request
        card = call.find(Card, request.card_id)
        if card.status(call.now) != ACTIVE:
            return Outcome({"outcome": REJECTED})
        purchase = Purchase(request.amount, request.currency_ison, _facts(request))
        if any(rule.matches(purchase) for rule in whitelist_rules.of_card(call.store, card.id)):
            return Outcome({"outcome": FRICTIONLESS})
        number, value = self.sequences.next("authentication"), f"{secrets.randbelow(10**6):06}"
        asked = Authentication(
            id=number,
            manager_id=call.manager_id,
            access_level=card.access_level,
            card_id=card.id,
            amount=request.amount,
            currency=request.currency_ison,
            proof=proof(self.card_data, number, value),
            valid_until=call.now + VALID_SECONDS,
            expires_at=call.now + KEPT,
        )
        told = {"auth_request_id": number, "validation_value": value, "expires_at": asked.valid_until}
        return Outcome({"outcome": CHALLENGE, **told}, [asked.making(call.write_id), card.unchanged()])

    def simulate_authorization(self, call: Call) -> Outcome:
        request: SimulateAuthorization = call.request
        card, declined = self._card(call)
        if card is None:
            return Outcome(self._answer(call, Decision(UNKNOWN_NUMBER, None)))
        items = call.items([Account.key(number) for number in card.account_ids])
        accounts = [Account.from_item(item) for item in items if item is not None]
        code = request.force_response_code or declined
        if code is not None:
            return Outcome(self._answer(call, Decision(code, accounts[0])))
        presented = _presented(request)
        decision = self.authorizer.decide(card, accounts, presented, call.now)
        answer = self._answer(call, Decision(decision.code, decision.account or accounts[0]))
        if decision.changes:
            return Outcome(answer, [card.changing(call.write_id, **decision.changes)])
        return Outcome(answer, [card.unchanged()] if presented.proves else [])

    # -- inside

    def _card(self, call: Call) -> tuple[Card | None, str | None]:
        """The card that is meant, and the code that its number alone is declined with. Raises: Refused."""
        request: SimulateAuthorization = call.request
        if request.card_id is not None:
            return call.find(Card, request.card_id), None
        assert request.pan is not None
        entry = call.items([number_key(self.card_data.lookup(request.pan))])[0]
        item = call.items([Card.key(entry["card_id"])])[0] if entry else None
        if entry is None or item is None or not call.sees(item):
            return None, None
        retired = entry.get("retired")
        return Card.from_item(item), retired and DECLINED_BY_NUMBER.get(retired, UNKNOWN_NUMBER)

    def _answer(self, call: Call, decision: Decision) -> dict[str, Any]:
        """What the network is answered; the balances of an account that the caller may see."""
        request: SimulateAuthorization = call.request
        account = decision.account
        if account is not None and account.access_level > call.level:
            account = None
        approved = request.amount if decision.code == APPROVED else 0
        number = self.sequences.next("authorization")
        return {
            "authorize_id": number,
            "trans_link": f"{number:012}",
            "response_code": decision.code,
            **({"auth_code": f"{secrets.randbelow(10**6):06}"} if decision.code == APPROVED else {}),
            "approved_amount": approved,
            "holder_amount": approved,
            "holder_currency_ison": account.currency if account else request.currency_ison,
            "fee_amount": 0,
            "risk_actions": [dict.fromkeys(RISK_ACTIONS, 0)],
            "security_checks": [_checks(request)],
            "available_balance": account.available if account else 0,
            "settled_balance": account.settled if account else 0,
        }


def _presented(request: SimulateAuthorization) -> Presented:
    return Presented(
        amount=request.amount + (request.cashback_amount or 0),
        currency=request.currency_ison,
        expiry_year=request.expiry_year,
        expiry_month=request.expiry_month,
        pin=request.pin,
        cvc2=request.cvc2,
    )


def _facts(request: SimulateAuthentication) -> dict[str, str]:
    """What is known of a purchase, spelt as the lists of a rule have it."""
    country, shop = request.merchant_country_ison, None
    if request.acquirer_bin is not None and request.merchant_id is not None:
        shop = f"{request.acquirer_bin}+{request.merchant_id}"
    facts = {
        "acquirer_bin_merchant_id": shop,
        "mcc": request.mcc,
        "merchant_country_ison": None if country is None else f"{country:03}",
        "merchant_name": request.merchant_name,
    }
    return present(facts)


def _checks(request: SimulateAuthorization) -> Mapping[str, int]:
    done = {
        "card_expiration_date_present": request.expiry_year is not None or request.expiry_month is not None,
        "online_pin": request.pin is not None,
        "3_d_secure": request.eci_indicator in (1, 2, 5, 6),
        "cvv_2": request.cvc2 is not None,
        "magnetic_stripe": request.entry_mode_type in (2, 80, 90, 91),
        "chip_data": request.entry_mode_type in (5, 7),
    }
    return {name: int(done.get(name, False)) for name in SECURITY_CHECKS}
