"""The part of the tour with a programme manager and a cardholder: the life cycle of a card, with payments and
events.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

import httpx

from chalicelib.cards.programs.catalogue import Catalogue
from chalicelib.cards.protocol.status_codes import Status
from chalicelib.cards.protocol.values import API_VERSION, CREDIT_TYPES
from infra.event_receiver import EventReceiver
from infra.tour.guide import Guide, TourFailed

_WRONG_PINS = ("1357", "2468", "9876", "8642", "5913", "3795")
_EURO, _GERMANY, _SEPA, _PURCHASE, _CASH, _PIN_CHECK, _PIN = 978, 276, 2, 0, 1, 39, "7391"
_SHOPS = {"Corner Shop": "5411", "Riverside Grill": "5812", "Hotel Lindenhof": "7011", "Lantern Books": "5942"}
_SHOPS |= {"Museum of Lanterns": "7991", "Cash machine": "6011"}
_IN_DOLLARS: Mapping[str, Any] = {"currency_ison": 840, "merchant_country_ison": 840}
_HOME: dict[str, Any] = {"first_name": "Ada", "last_name": "Lovelace", "address_line_1": "Riverside 12"}
_HOME |= {"zipcode": "10115", "city": "Berlin", "country_ison": _GERMANY}
_HOLDER = {f"{what}_{name}": value for what in ("holder", "delivery") for name, value in _HOME.items()}


class CardTour:
    """Calls the card API at ``base`` with a programme manager's ``credential``. ``receiver`` receives the events."""

    def __init__(
        self, base: str, credential: Mapping[str, Any], client: httpx.Client, receiver: EventReceiver, guide: Guide
    ) -> None:
        self._base = base
        self._credential = credential
        self._client = client
        self._expect_event = receiver.wait_for_event
        self._guide = guide

    def play(self, catalogue: Catalogue) -> None:
        """Run a card's life cycle. ``catalogue`` is the manager's configuration. Raises: TourFailed."""
        made = self._order(catalogue)
        self._card: dict[str, Any] = {"card_id": made["card_id"]}
        self._account: dict[str, Any] = {"account_id": made["account_id"]}
        wrong_cvc2 = f"{(int(made['cvc2']) + 1) % 1000:03}"
        self._activate(made, wrong_cvc2)
        self._pay_online()
        self._use(made, wrong_cvc2)
        self._report()
        self._guide.step("The programme manager blocks the card permanently")
        self._call("changeCardStatus", **self._card, status="B", reason_code=2, note="The end of the tour")
        self._expect_event("card.status_changed", **self._card)
        self._call("changeCardStatus", Status.FINAL, **self._card, status="A")

    def _order(self, catalogue: Catalogue) -> Any:
        programme = next(each for each in catalogue.card_programmes.values() if each.physical)
        self._guide.step("The programme manager orders a physical card with an account in EUR")
        order = {**_HOLDER, "card_program_id": programme.id, "card_virtual": 0, "card_country_ison": _GERMANY}
        order |= {"card_currency_ison": [_EURO], "holder_phone_number": "4930901820"}
        order |= {"card_name_line_3": "ADA LOVELACE", "order_shipping_method": programme.shipping_method_ids[0]}
        order |= {"request_reference_id": f"tour-{uuid.uuid4()}"}
        made = self._call("createCard", **order)
        self._expect_event("card.created", card_id=made["card_id"])
        self._guide.step("It repeats the order, as if the response was lost, and gets the same card")
        _require(self._call("createCard", **order) == made, "a repeated createCard returned another card")
        return made

    def _activate(self, made: Mapping[str, Any], wrong_cvc2: str) -> None:
        step, call, card = self._guide.step, self._call, self._card
        step("The holder enters a wrong CVC2 to activate the card: refused and counted")
        call("activateCard", Status.CARD_DATA_DIFFERS, **card, card_cvc2=wrong_cvc2)
        step("The holder activates the card with its number and CVC2")
        call("activateCard", **card, card_pan=made["pan"], card_cvc2=made["cvc2"])
        self._expect_event("card.activated", **card)
        step("The holder chooses a PIN; 1234 is refused as too simple")
        call("setPin", Status.PIN_TOO_SIMPLE, **card, pin="1234")
        call("setPin", **card, pin=_PIN)
        step("Three wrong PINs at a terminal block the PIN")
        self.enter_wrong_pins()
        self._authorize("Cash machine", 0, "75", transaction_type=_PIN_CHECK, pin=_PIN)
        step("The programme manager unblocks the PIN, and the correct PIN works again")
        call("unblockPin", **card)
        self._authorize("Cash machine", 0, transaction_type=_PIN_CHECK, pin=_PIN)

    def _pay_online(self) -> None:
        self._guide.step("A shop requests 3-D Secure, and the cardholder confirms in the app")
        asked = self._call("simulateAuthentication", **self._card, amount=4999, currency_ison=_EURO, mcc="5942")
        self._expect_event("three_d_secure.requested", auth_request_id=asked["auth_request_id"])
        answer = {name: asked[name] for name in ("auth_request_id", "validation_value")}
        self._call("authenticationConfirm", **answer, confirmation_status="Y", oob_auth_method=1)

    def _use(self, made: Mapping[str, Any], wrong_cvc2: str) -> None:
        step, call, pay = self._guide.step, self._call, self._authorize
        step("The EUR account gets its own IBAN, and 2,000.00 EUR are paid to it")
        (opened,) = call("assignExternalPaymentAddress", **self._account, currency_ison=_EURO, epm_method_id=_SEPA)
        payment = {"epm_address_id": opened["id"], "amount": 200_000, "currency_ison": _EURO, "scheme": "SCT"}
        call("simulateInboundPayment", **payment, sender_name="Meadow Ltd")
        self._expect_event("external_payment", **self._account)
        step("Approved amounts are held: they reduce the available, not the booked balance")
        shop, museum = pay("Corner Shop", 4_590, pin=_PIN), pay("Museum of Lanterns", 6_200, **_IN_DOLLARS)
        self._expect_event("card.authorization", authorize_id=shop["authorize_id"])
        hotel, cancelled = pay("Hotel Lindenhof", 20_000), pay("Lantern Books", 3_150, cvc2=made["cvc2"])
        call("simulateReversal", trans_link=cancelled["trans_link"])
        step("Purchases are declined for common reasons, and nothing is held")
        before = self._balances()
        pay("Lantern Books", 2_000, "N7", cvc2=wrong_cvc2)
        pay("Corner Shop", 500_000, "51")
        pay("Cash machine", 105_000, "61", transaction_type=_CASH)
        _require(self._balances() == before, "a declined purchase changed the balances")
        step("Shops clear exactly, in USD, in parts, and without authorization; one refunds")
        exact = self._clear("Corner Shop", 4_590, shop)
        self._expect_event("card.clearing", transaction_id=exact["transaction_id"])
        self._clear("Museum of Lanterns", 6_200, museum, **_IN_DOLLARS)
        self._clear("Hotel Lindenhof", 15_000, hotel, final=0)
        refunded = self._clear("Riverside Grill", 9_200)
        call("simulateRefund", trans_link=refunded["trans_link"], amount=2_000, currency_ison=_EURO)

    def _report(self) -> None:
        self._guide.step("The account's transactions add up to the booked balance; 50.00 EUR are held")
        period: dict[str, Any] = {"date_from": 0, "date_to": 99999999999, "item_count": 100}
        booked = sum(map(_signed_amount, self._call("getTransactions", **self._account, **period)))
        available, settled = self._balances()
        _require((available, settled) == (booked - 5_000, booked), f"{booked} is not the balance {settled}")
        balances = f"available {available / 100:.2f}, booked {settled / 100:.2f}"
        self._guide.say(balances, "PM", balances)

    # -- requests

    def _call(self, action: str, refused: Status | None = None, **members: Any) -> Any:
        path = "/simulator" if action.startswith("simulate") else "/api"
        body = {**self._credential, "action": action, "api_version": API_VERSION, **members}
        envelope = self._client.post(f"{self._base}{path}", json=body).json()
        _require(envelope.get("status_code") == refused, f"{action} returned {envelope.get('message', 'success')}")
        return envelope.get("data", envelope)

    def enter_wrong_pins(self) -> None:
        """Enter three wrong PINs in succession. If a PIN is accepted by chance (1 in 10,000), the count restarts."""
        refused = 0
        for pin in _WRONG_PINS:
            code = self.respond("Cash machine", 0, transaction_type=_PIN_CHECK, pin=pin)["response_code"]
            expected = "75" if refused == 2 else "55"
            _require(code in ("00", expected), f"a wrong PIN got {code} instead of {expected}")
            if code == "75":
                return
            refused = 0 if code == "00" else refused + 1
        raise TourFailed("no three wrong PINs in a row were refused")

    def _authorize(self, shop: str, amount: int, code: str = "00", **members: Any) -> Any:
        answer = self.respond(shop, amount, **members)
        _require(answer["response_code"] == code, f"{shop} got {answer['response_code']} instead of {code}")
        return answer

    def respond(self, shop: str, amount: int, **members: Any) -> Any:
        """Return the response of the card network to a shop's request."""
        use = {"transaction_type": _PURCHASE, **_members(shop, amount), **self._card, **members}
        return self._call("simulateAuthorization", **use)

    def _clear(self, shop: str, amount: int, held: Mapping[str, Any] | None = None, **members: Any) -> Any:
        what = {"trans_link": held["trans_link"]} if held else self._card
        return self._call("simulateClearing", **{"final": 1, **_members(shop, amount), **what, **members})

    def _balances(self) -> tuple[int, int]:
        (account,) = self._call("getAccounts", **self._account)
        return account["available_balance"], account["settled_balance"]


def _require(condition: bool, complaint: str) -> None:
    if not condition:
        raise TourFailed(complaint)


def _members(shop: str, amount: int) -> dict[str, Any]:
    use = {"amount": amount, "currency_ison": _EURO, "merchant_country_ison": _GERMANY}
    return {**use, "mcc": _SHOPS[shop], "merchant_name": shop}


def _signed_amount(row: Mapping[str, Any]) -> int:
    """Return the signed amount of a transaction, per docs/concepts/card-network.md."""
    amount = row["holder_amount"] if row["transaction_type"] in CREDIT_TYPES else -row["holder_amount"]
    return int(amount - (0 if row["is_conversion_fee_blended"] else row.get("currency_conversion_fee", 0)))
