"""Money through an account: a payment comes in, one goes out, and a creditor collects; the balances after each."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

from chalicelib.cards.protocol.payment_states import SETTLED
from chalicelib.cards.protocol.schemes import METHOD_CURRENCIES, SCT, SEPA
from infra.tour.card_calls import CardCalls
from infra.tour.guide import Guide
from infra.tour.patience import TourFailed

_CAME, _SENT, _COLLECTED = 125000, 18000, 2900
_BOOKSHOP = {"destination_account_name": "Lantern Books", "destination_iban": "DE89370400440532013000"}


class MoneyTour:
    """External payments of one account in EUR, which bears no fees for them."""

    def __init__(self, calls: CardCalls, guide: Guide) -> None:
        self._calls = calls
        self._guide = guide

    def play(self, account_id: int) -> None:
        """From an IBAN to a direct debit. Raises: TourFailed."""
        guide, calls, euro = self._guide, self._calls, METHOD_CURRENCIES[SEPA]
        guide.step("The account in EUR gets an IBAN of its own")
        asked: dict[str, Any] = {"account_id": account_id, "epm_method_id": SEPA, "currency_ison": euro}
        (address,) = calls.ask("assignExternalPaymentAddress", **asked)["data"]

        guide.step("Somebody pays 1250.00 EUR to it (the simulator plays the other bank)")
        payment = {"amount": _CAME, "currency_ison": euro, "scheme": SCT, "sender_name": "Meadow Ltd"}
        came = calls.simulate("simulateInboundPayment", epm_address_id=address["id"], **payment)["data"]
        self._balances(came, available=_CAME, settled=_CAME)

        self._transfer(account_id, address)
        self._direct_debit(address["id"])

    def _transfer(self, account_id: int, address: Mapping[str, Any]) -> None:
        guide, calls = self._guide, self._calls
        guide.step("180.00 EUR go out to a bookshop: until they have arrived they are held, and not available")
        order = {"epm_address_id": address["id"], **_BOOKSHOP, "currency_ison": address["currency_ison"]}
        order |= {"amount": _SENT, "request_reference_id": f"tour-{uuid.uuid4()}"}
        sent = calls.ask("transferToExternalPayment", **order)["data"]
        (account,) = calls.ask("getAccounts", account_id=account_id)["data"]
        self._balances(account, available=_CAME - _SENT, settled=_CAME)

        guide.step("The provider reports that they have arrived")
        result = calls.simulate("simulateOutboundResult", epm_transaction_id=sent["id"], result="settled")["data"]
        self._balances(result, available=_CAME - _SENT, settled=_CAME - _SENT)

    def _direct_debit(self, address_id: int) -> None:
        guide, calls = self._guide, self._calls
        guide.step("A creditor has a mandate and announces a direct debit, which is paid at its cut-off: now, say")
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
        """Show the balances that an answer has. Raises: TourFailed, if they are not as they should be."""
        found = answer["available_balance"], answer["settled_balance"]
        if found != (available, settled):
            raise TourFailed(f"the balances are {found} instead of {(available, settled)}")
        self._guide.seen("available {}.{:02}, settled {}.{:02}".format(*divmod(available, 100), *divmod(settled, 100)))
