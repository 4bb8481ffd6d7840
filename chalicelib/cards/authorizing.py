"""Whether a card may be used: its state, expiry, PIN, CVC2 and accounts, as the network is answered.

Nothing is held on an account: only what costs nothing is approved, a verification or a balance inquiry.
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from chalicelib.cards.accounts import Account
from chalicelib.cards.card_secrets import CardSecrets
from chalicelib.cards.cards import Card
from chalicelib.cards.protocol.states import DECLINED_BY_ACCOUNT, DECLINED_BY_CARD, PIN_IS_BLOCKED

APPROVED, NO_FUNDS, EXPIRED, WRONG_PIN = "00", "51", "54", "55"
NOT_PERMITTED, PIN_BLOCKED, WRONG_CVC2 = "57", "75", "N7"
CVC2 = "cvc2"
"""Wrong CVC2s, as a card counts them."""


@dataclass(frozen=True, slots=True)
class Presented:
    """What a terminal or shop presents; ``amount`` is in minor units of ``currency``, cashback included."""

    amount: int
    currency: int
    expiry_year: int | None = None
    expiry_month: int | None = None
    pin: str | None = field(default=None, repr=False)
    cvc2: str | None = field(default=None, repr=False)

    @property
    def proves(self) -> bool:
        """Whether it has something that can be guessed."""
        return self.pin is not None or self.cvc2 is not None


@dataclass(frozen=True, slots=True)
class Decision:
    """The response code, the account that it is about, and what of the card changes with it."""

    code: str
    account: Account | None
    changes: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Authorizer:
    """Decides for the issuer."""

    secrets: CardSecrets

    def decide(self, card: Card, accounts: Sequence[Account], presented: Presented, now: int) -> Decision:
        """Decide upon a card and its accounts, the primary one first, as they were read at ``now``.

        Whoever writes the decision down conditions it on the card as it was read, or parallel guesses at PIN and CVC2
        would all be looked at.
        """
        account = _account(card, accounts, presented.currency)
        code = DECLINED_BY_CARD.get(card.status(now)) or _by_expiry(card, presented)
        if code is not None:
            return Decision(code, account)
        code, changes = self._proven(card, presented, now)
        return Decision(code or _by_account(account, presented), account, changes)

    def _proven(self, card: Card, presented: Presented, now: int) -> tuple[str | None, dict[str, Any]]:
        """Why PIN or CVC2 are declined, and what changes: a wrong one is counted, a right PIN clears the tries."""
        if not presented.proves:
            return None, {}
        number = self.secrets.number(card)
        code, changes = self._by_pin(card, number, presented.pin)
        if code is not None or presented.cvc2 is None:
            return code, changes
        if card.is_guessed_at(CVC2, now):
            return WRONG_CVC2, changes
        if not hmac.compare_digest(self.secrets.cvc2(card, number), presented.cvc2):
            return WRONG_CVC2, changes | {"wrong": card.one_more_wrong(CVC2, now)}
        return None, changes

    def _by_pin(self, card: Card, number: str, pin: str | None) -> tuple[str | None, dict[str, Any]]:
        if pin is None:
            return None, {}
        if card.pin_is_blocked:
            return PIN_BLOCKED, {}
        if card.pvv is not None:
            value = self.secrets.data.pvv(number, pin, card.key_version)
            if hmac.compare_digest(value, card.pvv):
                return None, {"pin_tries": 0} if card.pin_tries else {}
        tries = card.pin_tries + 1
        if tries < card.pin_tries_limit:
            return WRONG_PIN, {"pin_tries": tries}
        return PIN_BLOCKED, {"pin_tries": tries, "pin_status": PIN_IS_BLOCKED}


def _by_expiry(card: Card, presented: Presented) -> str | None:
    wrong_year = presented.expiry_year not in (None, card.expiry_year)
    wrong_month = presented.expiry_month not in (None, card.expiry_month)
    return EXPIRED if wrong_year or wrong_month else None


def _account(card: Card, accounts: Sequence[Account], currency: int) -> Account | None:
    """The account in the transaction's currency, else the default one if the card converts."""
    fitting = [account for account in accounts if account.currency == currency]
    return fitting[0] if fitting else accounts[0] if card.auto_conversion else None


def _by_account(account: Account | None, presented: Presented) -> str:
    if account is None:
        return NOT_PERMITTED
    return DECLINED_BY_ACCOUNT.get(account.status) or (NO_FUNDS if presented.amount > 0 else APPROVED)
