"""The tour of the card API for a programme manager: a holder, a card from activation to blocking, and payments."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

from chalicelib.cards.programs.catalogue import CardProgramme, Catalogue
from chalicelib.cards.protocol.payment_states import SETTLED
from chalicelib.cards.protocol.schemes import METHOD_CURRENCIES, SCT, SEPA
from chalicelib.cards.protocol.status_codes import Status
from chalicelib.cards.protocol.values import LIMIT_OF_HOLDER
from infra.tour.card_calls import CardCalls
from infra.tour.guide import Guide
from infra.tour.network import NetworkTour
from infra.tour.polling import TourFailed

_FIRST_PIN, _OWN_PIN = "2580", "7391"
_WRONG_PINS = ("1357", "2468", "9876")
_EURO, _GERMANY = 978, 276
_ADDRESS = {"address_line_1": "Riverside 12", "zipcode": "10115", "city": "Berlin"}


class CardTour:
    """Plays a programme manager on the stack at ``base``, and prints each request and response.

    ``credential`` has the three parts of a credential with all rights, ``catalogue`` is the manager's configuration.
    """

    def __init__(self, base: str, credential: Mapping[str, str], catalogue: Catalogue, guide: Guide) -> None:
        self._catalogue = catalogue
        self._guide = guide
        self._calls = CardCalls(base, credential, guide)
        self._ask, self._simulate = self._calls.ask, self._calls.simulate

    def play(self) -> None:
        """Play all steps. Raises: TourFailed."""
        guide = self._guide
        guide.chapter(f"The card API: {self._catalogue.name}")
        guide.step("The programme manager registers a holder")
        holder_id = self._ask("createHolder", **self._holder())["id"]

        guide.step("It orders a physical card with an account in each currency")
        reference = f"tour-{uuid.uuid4()}"
        card = self._ask("createCard", request_reference_id=reference, **self._card(holder_id))["data"]

        guide.step("It repeats the order, as if the response was lost, and gets the same card")
        again = self._ask("createCard", silent=True, request_reference_id=reference, **self._card(holder_id))
        if again["duplicated"] != 1 or again["data"] != card:
            raise TourFailed("a repeated createCard did not return the first card")
        accounts = self._accounts(holder_id)
        self._activation(card)
        self._pin(card["card_id"])
        self._secrets(card["card_id"])
        self._online(card["card_id"])
        MoneyTour(self._calls, guide).play(accounts[_EURO])
        self._end(card["card_id"])
        NetworkTour(self._calls, guide, self._card(holder_id) | {"card_currency_ison": [_EURO]}).play()
        guide.finish("The card API is done.")

    # -- chapters

    def _accounts(self, holder_id: int) -> Mapping[int, int]:
        """The holder's account ids by currency."""
        self._guide.step("It lists the holder's accounts")
        accounts = self._ask("getHolderAccounts", holder_id=holder_id)["data"]
        if [account["currency_ison"] for account in accounts] != list(self._programme().currencies):
            raise TourFailed("the card does not have an account in each currency")
        return {account["currency_ison"]: account["id"] for account in accounts}

    def _activation(self, card: Mapping[str, Any]) -> None:
        card_id, right = card["card_id"], card["cvc2"]
        wrong = f"{(int(right) + 1) % 1000:03}"
        self._guide.step("The holder enters a wrong CVC2 to activate the card: refused and counted")
        self._ask("activateCard", Status.CARD_DATA_DIFFERS, card_id=card_id, card_cvc2=wrong)
        self._guide.step("The holder activates the card with its number and CVC2")
        self._ask("activateCard", card_id=card_id, card_pan=card["pan"], card_cvc2=right)

    def _pin(self, card_id: int) -> None:
        guide = self._guide
        guide.step("The holder chooses a PIN; 1234 is refused as too simple")
        self._ask("setPin", Status.PIN_TOO_SIMPLE, card_id=card_id, pin="1234")
        self._ask("setPin", card_id=card_id, pin=_OWN_PIN)
        guide.step("Three wrong PINs at a terminal block the PIN")
        codes = [self._verify_pin(card_id, pin) for pin in _WRONG_PINS]
        if codes != ["55", "55", "75"] or self._verify_pin(card_id, _OWN_PIN) != "75":
            raise TourFailed("three incorrect PINs did not block the card's PIN")
        guide.step("The programme manager unblocks the PIN, and the correct PIN works again")
        self._ask("unblockPin", card_id=card_id)
        if self._verify_pin(card_id, _OWN_PIN) != "00":
            raise TourFailed("the correct PIN was declined")

    def _secrets(self, card_id: int) -> None:
        self._guide.step("The programme manager reads card data; every read is logged")
        self._ask("getCardNumber", card_id=card_id)
        self._ask("getPin", card_id=card_id)
        self._ask("getCardDetails", card_id=card_id)

    def _online(self, card_id: int) -> None:
        guide = self._guide
        guide.step("A shop requests 3-D Secure, and the cardholder confirms in the app")
        purchase: dict[str, Any] = {"card_id": card_id, "amount": 4999, "currency_ison": _EURO, "mcc": "5942"}
        asked = self._simulate("simulateAuthentication", **purchase)["data"]
        self._ask(
            "authenticationConfirm",
            auth_request_id=asked["auth_request_id"],
            confirmation_status="Y",
            oob_auth_method=1,
            validation_value=asked["validation_value"],
        )
        guide.step("A whitelist rule for bookshops up to 50.00 EUR makes the purchase frictionless")
        rule: dict[str, Any] = {"rule_name": "Bookshops", "mcc": "5942"}
        rule |= {"maximum_amount": 5000, "maximum_amount_currency_ison": _EURO}
        self._ask("createCardAcsMerchantWhitelistRule", card_id=card_id, **rule)
        if self._simulate("simulateAuthentication", **purchase)["data"]["outcome"] != "frictionless":
            raise TourFailed("the whitelist rule for bookshops did not apply")

    def _end(self, card_id: int) -> None:
        self._guide.step("The programme manager blocks the card permanently")
        self._ask("changeCardStatus", card_id=card_id, status="B", reason_code=2, note="The end of the tour")
        self._ask("changeCardStatus", Status.FINAL, card_id=card_id, status="A")
        self._ask("getCardStatus", card_id=card_id)

    # -- requests

    def _verify_pin(self, card_id: int, pin: str) -> str:
        """The response code of a PIN verification through the card network."""
        asked: dict[str, Any] = {
            "card_id": card_id,
            "transaction_type": 39,
            "amount": 0,
            "currency_ison": _EURO,
            "pin": pin,
        }
        code: str = self._simulate("simulateAuthorization", **asked)["data"]["response_code"]
        return code

    # -- request members

    def _programme(self) -> CardProgramme:
        """The first programme that issues physical cards."""
        return next(each for each in self._catalogue.card_programmes.values() if each.physical)

    def _holder(self) -> dict[str, Any]:
        groups = self._catalogue.limit_groups.values()
        return {
            "first_name": "Ada",
            "last_name": "Lovelace",
            "address_line_1": _ADDRESS["address_line_1"],
            "zip_code": _ADDRESS["zipcode"],
            "city": _ADDRESS["city"],
            "country_ison": _GERMANY,
            "phone_number": "4930901820",
            "email": "ada@example.com",
            "holder_limit_group_id": next(group.id for group in groups if group.limit_type == LIMIT_OF_HOLDER),
        }

    def _card(self, holder_id: int) -> dict[str, Any]:
        programme = self._programme()
        return {
            "holder_id": holder_id,
            "card_program_id": programme.id,
            "card_virtual": 0,
            "card_currency_ison": list(programme.currencies),
            "card_country_ison": _GERMANY,
            "card_name_line_3": "ADA LOVELACE",
            "card_pin": _FIRST_PIN,
            "delivery_first_name": "Ada",
            "delivery_last_name": "Lovelace",
            "delivery_country_ison": _GERMANY,
            **{f"delivery_{name}": value for name, value in _ADDRESS.items()},
            "order_shipping_method": programme.shipping_method_ids[0],
        }


_CAME, _SENT, _COLLECTED = 125000, 18000, 2900
_BOOKSHOP = {"destination_account_name": "Lantern Books", "destination_iban": "DE89370400440532013000"}


class MoneyTour:
    """External payments of an account in EUR without fees."""

    def __init__(self, calls: CardCalls, guide: Guide) -> None:
        self._calls = calls
        self._guide = guide

    def play(self, account_id: int) -> None:
        """Play external payments, from assigning an IBAN to paying a direct debit. Raises: TourFailed."""
        guide, calls, euro = self._guide, self._calls, METHOD_CURRENCIES[SEPA]
        guide.step("The EUR account gets its own IBAN")
        asked: dict[str, Any] = {"account_id": account_id, "epm_method_id": SEPA, "currency_ison": euro}
        (address,) = calls.ask("assignExternalPaymentAddress", **asked)["data"]

        guide.step("1250.00 EUR is paid to the IBAN")
        payment = {"amount": _CAME, "currency_ison": euro, "scheme": SCT, "sender_name": "Meadow Ltd"}
        came = calls.simulate("simulateInboundPayment", epm_address_id=address["id"], **payment)["data"]
        self._balances(came, available=_CAME, settled=_CAME)

        self._transfer(account_id, address)
        self._direct_debit(address["id"])

    def _transfer(self, account_id: int, address: Mapping[str, Any]) -> None:
        guide, calls = self._guide, self._calls
        guide.step("180.00 EUR is sent to a bookshop and held until the provider confirms it")
        order = {"epm_address_id": address["id"], **_BOOKSHOP, "currency_ison": address["currency_ison"]}
        order |= {"amount": _SENT, "request_reference_id": f"tour-{uuid.uuid4()}"}
        sent = calls.ask("transferToExternalPayment", **order)["data"]
        (account,) = calls.ask("getAccounts", account_id=account_id)["data"]
        self._balances(account, available=_CAME - _SENT, settled=_CAME)

        guide.step("The provider confirms the payment, and it is booked")
        result = calls.simulate("simulateOutboundResult", epm_transaction_id=sent["id"], result="settled")["data"]
        self._balances(result, available=_CAME - _SENT, settled=_CAME - _SENT)

    def _direct_debit(self, address_id: int) -> None:
        guide, calls = self._guide, self._calls
        guide.step("A creditor announces a direct debit, which is paid at its cut-off time")
        creditor = {"creditor_name": "Riverside Gym", "reference": "MEMBER-1042"}
        mandate = calls.simulate("simulateMandate", epm_address_id=address_id, **creditor)["data"]
        announced = calls.simulate("simulateDirectDebit", **mandate, amount=_COLLECTED)["data"]
        number = announced["epm_transaction_id"]
        paid = calls.simulate("simulateDirectDebit", epm_transaction_id=number)["data"]
        if paid["state"] != SETTLED:
            raise TourFailed("the direct debit was not paid")
        left = _CAME - _SENT - _COLLECTED
        self._balances(paid, available=left, settled=left)

    def _balances(self, answer: Mapping[str, Any], *, available: int, settled: int) -> None:
        """Print the balances in a response. Raises: TourFailed, if they are wrong."""
        found = answer["available_balance"], answer["settled_balance"]
        if found != (available, settled):
            raise TourFailed(f"the balances are {found} instead of {(available, settled)}")
        self._guide.print_finding(
            "available {}.{:02}, settled {}.{:02}".format(*divmod(available, 100), *divmod(settled, 100))
        )
