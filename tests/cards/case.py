"""The definition of an action call with its DynamoDB calls, and cases for network messages and reports."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from chalicelib.cards.actions import ACTIONS, SIMULATOR_ACTIONS
from chalicelib.cards.requests.action import Action
from chalicelib.foundation.clock import milliseconds
from tests.cards.issuer import EUR, PIN, Envelope, Issuer
from tests.cards.reports.rows import message

LOOK, WRITE, CLAIM, QUERY = "BatchGetItem", "TransactWriteItems", "PutItem", "Query"
SHARDS = (QUERY,) * 16
"""The parallel queries of a list that is stored in 16 partitions."""
RESERVE = "PutItem"
"""The call that reserves the position of a row in a list over all cards."""
RESERVING = (LOOK, LOOK, RESERVE)
"""Two reads and a reservation. The second read and the reservation run concurrently."""
PROVIDER = "PutItem"
"""The write that records an order at the sandbox provider. Other providers receive an HTTP call instead."""
EVERY_ACTION = {**ACTIONS, **SIMULATOR_ACTIONS}


def in_order(calls: Sequence[str]) -> list[str]:
    """Return the calls in a fixed order: a read that runs concurrently with a reservation precedes the reservation."""
    ordered = list(calls)
    for number, pair in enumerate(pairwise(calls)):
        if pair == (RESERVE, LOOK):
            ordered[number : number + 2] = LOOK, RESERVE
    return ordered


Members = Callable[[Issuer], dict[str, Any]]


@dataclass(frozen=True)
class Case:
    """A call of a card API action, and the DynamoDB calls that the action is expected to make.

    ``looks`` lists the reads before the write. ``writes`` states whether the action writes, and ``write`` is the
    operation of the write. ``asked`` lists the calls after the write, which record the provider's response.
    """

    name: str
    members: Members
    looks: tuple[str, ...] = (LOOK,)
    writes: bool = True
    write: str = WRITE
    asked: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.name

    @property
    def action(self) -> Action[Any]:
        return EVERY_ACTION[self.name.partition(" ")[0]]

    def do(self, issuer: Issuer, **members: Any) -> Envelope:
        call = issuer.sim if self.action.name in SIMULATOR_ACTIONS else issuer.do
        return call(self.action.name, **members)

    @property
    def calls(self) -> list[str]:
        return [*self.looks, *([self.write] if self.writes else []), *self.asked]

    @property
    def calls_with_reference(self) -> list[str]:
        return [*self.looks, WRITE if self.writes else CLAIM, *self.asked]

    @property
    def calls_of_repeat(self) -> list[str]:
        """Return the expected calls of a duplicate request. If ``looks`` is empty, the write detects the existing
        reservation.
        """
        sealed = [LOOK] if self.action.seals else []
        found = [LOOK] if self.looks else [*self.calls_with_reference, *sealed]
        return [*found, *self.looks] if self.action.effect == "reveal" else found


def of_card(state: str = "N", /, **members: Any) -> Members:
    return lambda issuer: {"card_id": issuer.card_in(state).card_id, **members}


def of_card_with(*names: str, **members: Any) -> Members:
    return lambda issuer: {name: value for name, value in vars(issuer.card()).items() if name in names} | members


TWO = (LOOK, LOOK)


def of_verification(by: str, **members: Any) -> Members:
    def members_of(issuer: Issuer) -> dict[str, Any]:
        card = issuer.card_in("A", card_virtual=0, card_pin=PIN)
        return {by: getattr(card, by), **VERIFICATION, **members}

    return members_of


def of_purchase_of(amount: int, **members: Any) -> Members:
    """Return a function that creates a card with 5.00 EUR and returns the request members of a purchase."""

    def members_of(issuer: Issuer) -> dict[str, Any]:
        card = issuer.spendable(500)
        return {"card_id": card.card_id, "transaction_type": 0, "amount": amount, "currency_ison": EUR, **members}

    return members_of


def of_authorization(**members: Any) -> Members:
    return lambda issuer: {"trans_link": issuer.purchase(issuer.spendable(500).card_id, 100)["trans_link"], **members}


def of_cleared(**members: Any) -> Members:
    def members_of(issuer: Issuer) -> dict[str, Any]:
        asked = issuer.purchase(issuer.spendable(500).card_id, 100)
        issuer.clearing(asked, 100)
        return {"trans_link": asked["trans_link"], **members}

    return members_of


def of_dispute(step: str) -> Members:
    def members_of(issuer: Issuer) -> dict[str, Any]:
        cleared = issuer.clearing(issuer.purchase(issuer.spendable(500).card_id, 100), 100)["transaction_id"]
        if step != "opened":
            issuer.data("simulateDispute", transaction_id=cleared, step="opened")
        return {"transaction_id": cleared, "step": step}

    return members_of


VERIFICATION = {"transaction_type": 39, "amount": 0, "currency_ison": EUR}
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
    Case(
        "simulateAuthorization with nobody's number",
        lambda issuer: {"pan": "2223000000000007", **VERIFICATION},
        writes=False,
    ),
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


DATES = {"date_from": 0, "date_to": 99_999_999_999, "item_count": 2}
IMPORTED = {"date_imported_from": 0, "date_imported_to": 99_999_999_999, "item_count": 2}
LODGING = {"addendum_type": "lodging", "data": {"nights": 2}}


def of_used_card(issuer: Issuer) -> dict[str, Any]:
    card, at = issuer.card().card_id, milliseconds(issuer.clock) - 5000
    first, *_ = (message(issuer, card, at + each) for each in range(3))
    return {"card_id": card, **DATES, "last_id": first}


def of_every_used_card(issuer: Issuer) -> dict[str, Any]:
    return {name: value for name, value in of_used_card(issuer).items() if name != "card_id"}


def of_inbound_transaction(issuer: Issuer) -> dict[str, Any]:
    address = issuer.address()
    payment = issuer.inbound(address, 500)
    return {"account_id": address["account_id"], "transaction_id": payment["transaction_id"], "item_count": 1}


def of_transaction(**members: Any) -> Any:
    return lambda issuer: {"transaction_id": issuer.inbound(issuer.address(), 500)["transaction_id"], **members}


def of_every_addendum(issuer: Issuer) -> dict[str, Any]:
    addendum = issuer.data("simulateAddendum", **of_transaction(**LODGING)(issuer))
    issuer.clock.advance(1)
    return {"last_id": addendum["id"], **IMPORTED}


REPORT, REPORT_OF_ALL = (LOOK, QUERY), (LOOK, *SHARDS)
REPORT_CASES = [
    Case("getCardsActivity", of_used_card, looks=REPORT, writes=False),
    Case("getCardsActivity of all cards", of_every_used_card, looks=REPORT_OF_ALL, writes=False),
    Case("getFinancialAuthorizes", of_used_card, looks=REPORT, writes=False),
    Case(
        "getTransactions",
        lambda issuer: {"account_id": issuer.funded_address(500)["account_id"], **DATES},
        looks=REPORT,
        writes=False,
    ),
    Case(
        "getTransactions of a card and an account",
        of_card_with("card_id", "account_id", **DATES),
        looks=REPORT,
        writes=False,
    ),
    Case("getTransactions by its id", of_inbound_transaction, looks=(LOOK, LOOK), writes=False),
    Case("getFinancialDetailAddendums", of_transaction(**IMPORTED), looks=REPORT, writes=False),
    Case("getFinancialDetailAddendums of all", of_every_addendum, looks=REPORT_OF_ALL, writes=False),
    Case("simulateAddendum", of_transaction(**LODGING), looks=(LOOK, RESERVE)),
]
