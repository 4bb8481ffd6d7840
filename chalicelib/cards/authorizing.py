"""Whether a card may be used: its state, expiry, PIN, CVC2 and account, as the network is answered.

Without money on accounts only what costs nothing is approved: a verification, a balance inquiry.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from chalicelib.cards.accounts import Account
from chalicelib.cards.call import Call, Outcome
from chalicelib.cards.card_data import CardData
from chalicelib.cards.card_data_flow import cvc2_of
from chalicelib.cards.cards import Card, number_key
from chalicelib.cards.protocol.simulator_messages import SimulateAuthorization
from chalicelib.cards.protocol.states import PIN_IS_BLOCKED
from chalicelib.cards.sequences import Sequences

APPROVED = "00"
CVC2 = "cvc2"
"""Wrong CVC2s, as a card counts them."""

_BY_STATE = {"N": "78", "T": "62", "R": "59", "L": "41", "S": "43", "E": "54", "B": "46"}
_BY_ACCOUNT = {"S": "62", "R": "62", "C": "46"}
_RETIRED = {"L": "41", "S": "43"}

RISK_ACTIONS = (
    "mark_transaction_as_suspicious",
    "notify_cardholder_by_sending_tais_notification",
    "change_card_status_to_risk",
    "change_account_status_to_suspended",
    "reject_transaction",
)
SECURITY_CHECKS = (
    "card_expiration_date_present",
    "online_pin",
    "offline_pin",
    "3_d_secure",
    "cvv_2",
    "magnetic_stripe",
    "chip_data",
    "avs",
    "phone_number",
    "signature",
)


@dataclass(frozen=True, slots=True)
class Authorizing:
    """Decides for the issuer."""

    sequences: Sequences
    card_data: CardData

    def simulate_authorization(self, call: Call) -> Outcome:
        request: SimulateAuthorization = call.request
        card, refused = self._card(call)
        if card is None:
            return Outcome(self._answer(call, refused, None))
        items = call.items([Account.key(number) for number in card.account_ids])
        accounts = [Account.from_item(item) for item in items if item is not None]
        account = _account(card, accounts, request.currency_ison)
        code = refused or self._of_card(call, card)
        members: dict[str, Any] = {}
        if code == APPROVED:
            code, members = self._checked(call, card)
        if code == APPROVED:
            code = _of_account(account, request)
        if request.force_response_code:
            code, members = request.force_response_code, {}
        operations = [card.changing(call.write_id, **members)] if members else []
        shown = account or accounts[0]
        return Outcome(self._answer(call, code, shown if shown.access_level <= call.level else None), operations)

    # -- inside

    def _card(self, call: Call) -> tuple[Card | None, str]:
        """The card that is meant, and with what code its number alone is declined. Raises: Refused."""
        request: SimulateAuthorization = call.request
        if request.card_id is not None:
            return call.find(Card, request.card_id), ""
        assert request.pan is not None
        entry = call.items([number_key(self.card_data.lookup(request.pan))])[0]
        item = call.items([Card.key(entry["card_id"])])[0] if entry else None
        if entry is None or item is None or not call.sees(item):
            return None, "14"
        return Card.from_item(item), _RETIRED.get(entry["retired"], "14") if "retired" in entry else ""

    def _of_card(self, call: Call, card: Card) -> str:
        request: SimulateAuthorization = call.request
        by_state = _BY_STATE.get(card.status(call.now))
        if by_state is not None:
            return by_state
        if request.expiry_year not in (None, card.expiry_year) or request.expiry_month not in (None, card.expiry_month):
            return "54"
        return APPROVED

    def _checked(self, call: Call, card: Card) -> tuple[str, dict[str, Any]]:
        """The code after PIN and CVC2, and what changes in the card: tries are counted, a right PIN clears them."""
        request: SimulateAuthorization = call.request
        members: dict[str, Any] = {}
        pan = self.card_data.open(card.id, "pan", card.pan)
        if request.pin is not None:
            if card.pin_is_blocked:
                return "75", {}
            if card.pvv is None or not self._is_pin(card, pan, request.pin):
                tries = card.pin_tries + 1
                blocked = tries >= card.pin_tries_limit
                return "75" if blocked else "55", {"pin_tries": tries} | (
                    {"pin_status": PIN_IS_BLOCKED} if blocked else {}
                )
            members |= {"pin_tries": 0} if card.pin_tries else {}
        if request.cvc2 is not None:
            if card.is_guessed_at(CVC2, call.now):
                return "N7", members
            if not hmac.compare_digest(cvc2_of(self.card_data, card, pan), request.cvc2):
                return "N7", members | {"wrong": card.one_more_wrong(CVC2, call.now)}
        return APPROVED, members

    def _is_pin(self, card: Card, pan: str, pin: str) -> bool:
        assert card.pvv is not None
        return hmac.compare_digest(self.card_data.pvv(pan, pin, card.key_version), card.pvv)

    def _answer(self, call: Call, code: str, account: Account | None) -> dict[str, Any]:
        request: SimulateAuthorization = call.request
        approved = request.amount if code == APPROVED else 0
        number = self.sequences.next("authorization")
        return {
            "authorize_id": number,
            "trans_link": f"{number:012}",
            "response_code": code,
            **({"auth_code": f"{secrets.randbelow(10**6):06}"} if code == APPROVED else {}),
            "approved_amount": approved,
            "holder_amount": approved,
            "holder_currency_ison": account.currency if account else request.currency_ison,
            "fee_amount": 0,
            "risk_actions": [dict.fromkeys(RISK_ACTIONS, 0)],
            "security_checks": [_checks(request)],
            "available_balance": account.available if account else 0,
            "settled_balance": account.settled if account else 0,
        }


def _account(card: Card, accounts: list[Account], currency: int) -> Account | None:
    """The account in the transaction's currency, else the default one if the card converts."""
    fitting = [account for account in accounts if account.currency == currency]
    return fitting[0] if fitting else accounts[0] if card.auto_conversion else None


def _of_account(account: Account | None, request: SimulateAuthorization) -> str:
    if account is None:
        return "57"
    by_status = _BY_ACCOUNT.get(account.status)
    if by_status is not None:
        return by_status
    return "51" if request.amount + (request.cashback_amount or 0) > 0 else APPROVED


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
