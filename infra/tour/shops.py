"""The shops of the tour, played by the simulator; each card use prints one line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from chalicelib.cards.protocol.values import APPROVALS, APPROVED, APPROVED_IN_PART, RESPONSE_CODES
from infra.tour.card_calls import CardCalls
from infra.tour.guide import Guide, format_amount
from infra.tour.polling import TourFailed

EURO, DOLLAR = 978, 840
GERMANY, AMERICA = 276, 840
CHIP, CONTACTLESS, ONLINE = 5, 7, 81
PURCHASE, CASH = 0, 1


@dataclass(frozen=True, slots=True)
class Shop:
    """A shop: its merchant category code, country and currency, and how it reads cards."""

    name: str
    mcc: str
    country: int = GERMANY
    currency: int = EURO
    entry_mode: int = CHIP

    @property
    def members(self) -> dict[str, Any]:
        """The shop's members in network messages."""
        return {
            "mcc": self.mcc,
            "merchant_name": self.name,
            "merchant_id": f"SHOP{self.mcc}",
            "merchant_country_ison": self.country,
            "terminal_id": f"TERM{self.mcc}",
        }


CORNER_SHOP = Shop("Corner Shop", "5411")
RESTAURANT = Shop("Riverside Grill", "5812")
FUEL = Shop("Autohof Michendorf", "5542")
HOTEL = Shop("Hotel Lindenhof", "7011")
MUSEUM = Shop("Museum of Lanterns", "7991", AMERICA, DOLLAR, CONTACTLESS)
BOOKS = Shop("Lantern Books", "5942", entry_mode=ONLINE)
FERRY = Shop("Island Ferry", "4111")
CAR_HIRE = Shop("Meadow Cars", "7512")
MACHINE = Shop("Cash machine", "6011")


class Till:
    """Sends the shops' messages for one card, whose account has the currency ``account``.

    Attributes:
        answered: the number of responses to network messages, by response code.
    """

    def __init__(self, calls: CardCalls, guide: Guide, card_id: int, account: int) -> None:
        self.answered = Counter[str]()
        self._calls = calls
        self._guide = guide
        self._card = {"card_id": card_id}
        self._account = account

    def pay(self, shop: Shop, amount: int, note: str, expected: str = APPROVED, **members: Any) -> Any:
        """Request an authorization and print the response. Raises: TourFailed, if its code is not ``expected``."""
        asked = {"transaction_type": PURCHASE, "amount": amount, "currency_ison": shop.currency}
        asked |= {"entry_mode_type": shop.entry_mode} | shop.members | self._card | members
        answer = self._simulate("simulateAuthorization", **asked)
        code = answer["response_code"]
        self.answered[code] += 1
        what = f"{shop.name}, {note}"
        said = self._approval(answer, shop) if code in APPROVALS else f"{code} {RESPONSE_CODES[code]}"
        self.line(amount, shop.currency, what, said, answer, good=code in APPROVALS)
        if code != expected:
            raise TourFailed(f"{what} got the response code {code} instead of {expected}")
        return answer

    def advise(self, shop: Shop, amount: int, note: str) -> Any:
        """Report a payment that the network approved on the issuer's behalf."""
        asked = {"transaction_type": PURCHASE, "amount": amount, "currency_ison": shop.currency, "response_code": "00"}
        answer = self._simulate("simulateAdvice", **asked, **shop.members, **self._card)
        self.answered[APPROVED] += 1
        self.line(amount, shop.currency, f"{shop.name}, {note}", "recorded", answer)
        return answer

    def increment(self, held: Mapping[str, Any], shop: Shop, amount: int) -> None:
        """Increase an authorization by ``amount``. Raises: TourFailed, if it is declined."""
        answer = self._simulate("simulateIncrement", trans_link=held["trans_link"], amount=amount)
        self.answered[answer["response_code"]] += 1
        if answer["response_code"] != APPROVED:
            raise TourFailed(f"the increment for {shop.name} was declined")
        self.line(amount, shop.currency, f"{shop.name}, increment", "approved", answer)

    def reverse(self, held: Mapping[str, Any], shop: Shop, amount: int) -> None:
        """Reverse what remains of an authorization of ``amount``."""
        answer = self._simulate("simulateReversal", trans_link=held["trans_link"])
        self.answered[APPROVED] += 1
        released = format_amount(answer["released_amount"], self._account)
        self.line(amount, shop.currency, f"{shop.name}, cancelled", f"{released} released", answer)

    def clear(
        self, shop: Shop, amount: int, note: str, held: Mapping[str, Any] | None = None, *, last: bool = True
    ) -> Any:
        """Clear an amount, with or without an authorization. Returns the clearing."""
        named = {"trans_link": held["trans_link"]} if held else self._card
        asked = {"amount": amount, "currency_ison": shop.currency, "final": int(last), **shop.members, **named}
        answer = self._simulate("simulateClearing", **asked)
        booked = format_amount(answer["holder_amount"], self._account)
        released = format_amount(answer["released_amount"], self._account)
        said = f"{booked} booked, {released} released"
        self.line(amount, shop.currency, f"{shop.name}, {note}", said, answer)
        return answer

    def refund(self, cleared: Mapping[str, Any], shop: Shop, amount: int, note: str) -> None:
        """Refund part of a clearing."""
        asked = {"trans_link": cleared["trans_link"], "amount": amount, "currency_ison": shop.currency}
        answer = self._simulate("simulateRefund", **asked, **shop.members)
        self.line(amount, shop.currency, f"{shop.name}, {note}", "credited", answer)

    def dispute(self, cleared: Mapping[str, Any], shop: Shop, step: str, said: str) -> Any:
        """Open a dispute about a clearing, or close it."""
        asked = {"transaction_id": cleared["transaction_id"], "step": step}
        answer = self._simulate("simulateDispute", **asked)
        said = f"{said}, {format_amount(answer['reserved_balance'], self._account)} reserved"
        self.line(cleared["holder_amount"], self._account, f"{shop.name}, dispute {step}", said, answer)
        return answer

    def line(
        self, amount: int, currency: int, what: str, said: str, answer: Mapping[str, Any], *, good: bool = True
    ) -> None:
        """Print a step with the available and the settled balance afterwards."""
        left, booked = (format_amount(answer[f"{name}_balance"], self._account) for name in ("available", "settled"))
        self._guide.line(f"{format_amount(amount, currency):>13}  {what:<43}", said, f"{left} of {booked}", good=good)

    def _approval(self, answer: Mapping[str, Any], shop: Shop) -> str:
        """Describe an approval: a partial amount, the amount in the account's currency if it differs, and the fee."""
        said = "approved"
        if answer["response_code"] == APPROVED_IN_PART:
            said = f"{APPROVED_IN_PART} approved: {format_amount(answer['approved_amount'], shop.currency)}"
        if shop.currency != self._account:
            said += f" as {format_amount(answer['holder_amount'], self._account)}"
        if answer["fee_amount"]:
            said += f", fee {format_amount(answer['fee_amount'], self._account)}"
        return said

    def _simulate(self, action: str, **members: Any) -> Any:
        return self._calls.simulate(action, **members)["data"]
