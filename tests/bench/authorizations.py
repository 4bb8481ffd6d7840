"""Authorizations of a penny, as the service decides them."""

from __future__ import annotations

from typing import Any

from tests.bench.against_bare import Service
from tests.bench.bare_authorization import PURCHASE
from tests.cards.issuer import BRITAIN, EVERYDAY, GBP, HOLDER_BLOCK

_FUNDS = 1_000_000


class Authorizations(Service):
    """Has a card be used for a penny whenever it is called."""

    def __call__(self, card_id: int) -> bool:
        answer = self.once("simulateAuthorization", card_id=card_id, **PURCHASE)
        return answer["status"] == "success" and bool(answer["data"]["response_code"] == "00")

    def created(self) -> Any:
        """The data of a new card, with an account in pounds of its own."""
        wished: dict[str, Any] = {"card_program_id": EVERYDAY, "card_country_ison": BRITAIN, "card_virtual": 1}
        wished |= {"card_name_line_3": "ADA LOVELACE", "card_currency_ison": [GBP]}
        return self.data("createCard", **wished, **HOLDER_BLOCK)

    def card(self) -> int:
        """A new card with an account in pounds of its own, and money on it."""
        made = self.created()
        number: int = made["card_id"]
        self.data("activateCard", card_id=number)
        self.funded(made["account_id"], _FUNDS)
        if not self(number):  # from now on there are counters of purchases, which the bare script adds to
            raise AssertionError("the first authorization failed")
        return number
