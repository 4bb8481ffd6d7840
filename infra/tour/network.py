"""A card in use: approvals, declines, clearings, a refund, a dispute, and reports that reconcile.

Each step is printed as one line, with amounts in major units.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from infra.tour.card_calls import CardCalls
from infra.tour.guide import Guide, format_amount
from infra.tour.polling import TourFailed
from infra.tour.shops import (
    BOOKS,
    CAR_HIRE,
    CASH,
    CORNER_SHOP,
    EURO,
    FERRY,
    FUEL,
    HOTEL,
    MACHINE,
    MUSEUM,
    RESTAURANT,
    Till,
)
from infra.tour.statement import ReportSummary

_WRONG_PIN = "1357"
_FUNDS = 200000
_DEPOSIT = 30000
_STANDARD_USES, _NO_CASH, _STANDARD_RISK, _STRICT = 601, 602, 401, 404


class NetworkTour:
    """Uses a demonstration card with one account in EUR; ``order`` contains the members of its createCard request."""

    def __init__(self, calls: CardCalls, guide: Guide, order: Mapping[str, Any]) -> None:
        self._calls = calls.without_output
        self._guide = guide
        self._order = order

    def play(self) -> None:
        """Play the card from its order to its reports. Raises: TourFailed."""
        guide = self._guide
        guide.chapter("The card network")
        guide.step("The holder gets another card")
        made = self._calls.ask("createCard", **self._order)["data"]
        card_id, account_id = made["card_id"], made["account_id"]
        guide.print_row(f"card {card_id}, account {account_id}, PIN {made['pin']}")
        till = Till(self._calls, guide, card_id, EURO)
        statement = ReportSummary(self._calls, guide, card_id, account_id)
        self._fund_account(till, made)
        held = self._spend(till, made)
        self._show_declines(till, made)
        self._clear_purchases(till, held)
        statement.show(till.answered, held=_DEPOSIT)

    # -- chapters

    def _fund_account(self, till: Till, made: Mapping[str, Any]) -> None:
        guide, calls = self._guide, self._calls
        guide.step("Purchases are declined before activation and without funds")
        till.pay(CORNER_SHOP, 4590, "before activation", "78")
        calls.ask("activateCard", card_id=made["card_id"], card_pan=made["pan"], card_cvc2=made["cvc2"])
        till.pay(CORNER_SHOP, 4590, "without funds", "51")
        guide.step("The account gets an IBAN and receives a salary")
        address = {"account_id": made["account_id"], "epm_method_id": 2, "currency_ison": EURO}
        (opened,) = calls.ask("assignExternalPaymentAddress", **address)["data"]
        salary = {"amount": _FUNDS, "currency_ison": EURO, "scheme": "SCT", "sender_name": "Meadow Ltd"}
        came = calls.simulate("simulateInboundPayment", epm_address_id=opened["id"], reference="Salary", **salary)
        till.line(_FUNDS, EURO, f"Meadow Ltd to {opened['iban']}", "arrived", came["data"])

    def _spend(self, till: Till, made: Mapping[str, Any]) -> Mapping[str, Any]:
        """Make purchases. Returns the authorizations that are still held, by shop."""
        guide = self._guide
        guide.step("Approved amounts are held: they reduce the available, not the booked balance")
        held = {
            "shop": till.pay(CORNER_SHOP, 4590, "with its PIN", pin=made["pin"]),
            "museum": till.pay(MUSEUM, 6200, "in dollars"),
            "restaurant": till.pay(RESTAURANT, 8000, "before the tip"),
            "fuel": till.pay(FUEL, 10000, "up to a full tank"),
            "hotel": till.pay(HOTEL, 20000, "for two nights"),
            "cash": till.pay(MACHINE, 5000, "with its PIN", pin=made["pin"], transaction_type=CASH),
            "books": till.pay(BOOKS, 3150, "online, authenticated", eci_indicator=5, cvc2=made["cvc2"]),
            "car": till.pay(CAR_HIRE, _DEPOSIT, "the deposit"),
        }
        till.increment(held["hotel"], HOTEL, 5000)
        till.reverse(held["books"], BOOKS, 3150)
        part = till.pay(CORNER_SHOP, 250000, "partial approval accepted", "10", partial_approval=1)
        till.reverse(part, CORNER_SHOP, part["approved_amount"])
        held["ferry"] = till.advise(FERRY, 1240, "approved by the network")
        return held

    def _show_declines(self, till: Till, made: Mapping[str, Any]) -> None:
        guide, card_id, year = self._guide, made["card_id"], made["expiration"]["year"]
        wrong_code = f"{(int(made['cvc2']) + 1) % 1000:03}"
        guide.step("Purchases are declined for all common reasons, and nothing is held")
        till.pay(CORNER_SHOP, 2000, "a wrong PIN", "55", pin=_WRONG_PIN)
        till.pay(BOOKS, 2000, "a wrong CVC2", "N7", cvc2=wrong_code)
        till.pay(BOOKS, 2000, "an old expiry date", "54", expiry_year=year - 3, expiry_month=1)
        till.pay(CORNER_SHOP, 250000, "more than the balance", "51")
        till.pay(MACHINE, 105000, "above the daily cash limit", "61", transaction_type=CASH)
        self._calls.ask("assignCardToUsageGroup", card_id=card_id, usages_group_id=_NO_CASH)
        till.pay(MACHINE, 2000, "in a usage group without cash", "57", transaction_type=CASH)
        self._calls.ask("assignCardToUsageGroup", card_id=card_id, usages_group_id=_STANDARD_USES)
        self._calls.ask("assignCardToRiskRuleGroup", card_id=card_id, risk_rules_group_id=_STRICT)
        till.pay(MUSEUM, 2000, "by a strict risk rule", "59")
        self._calls.ask("assignCardToRiskRuleGroup", card_id=card_id, risk_rules_group_id=_STANDARD_RISK)
        self._calls.ask("changeCardStatus", card_id=card_id, status="T")
        till.pay(CORNER_SHOP, 2000, "while temporarily blocked", "62")
        self._calls.ask("changeCardStatus", card_id=card_id, status="A")

    def _clear_purchases(self, till: Till, held: Mapping[str, Any]) -> None:
        guide = self._guide
        guide.step("Shops clear exactly, more, less, in parts, in USD, and without authorization")
        till.clear(CORNER_SHOP, 4590, "exactly", held["shop"])
        dinner = till.clear(RESTAURANT, 9200, "with the tip", held["restaurant"])
        till.clear(FUEL, 6135, "less than was held", held["fuel"])
        till.clear(HOTEL, 15000, "the first part", held["hotel"], last=False)
        till.clear(HOTEL, 10000, "the rest", held["hotel"])
        till.clear(MUSEUM, 6200, "in dollars", held["museum"])
        till.clear(MACHINE, 5000, "cash", held["cash"])
        till.clear(FERRY, 1240, "offline purchase", held["ferry"])
        toll = till.clear(FUEL, 760, "without authorization")
        guide.step("One purchase is refunded, another is disputed, and the holder wins")
        till.refund(dinner, RESTAURANT, 2000, "one dish")
        till.dispute(toll, FUEL, "opened", "credited")
        if till.dispute(toll, FUEL, "won", "kept")["reserved_balance"]:
            raise TourFailed("a dispute that the holder won still reserves money")
        guide.print_row(
            f"{format_amount(_DEPOSIT, EURO)} is still held: {CAR_HIRE.name} has 7 days to clear the deposit."
        )
