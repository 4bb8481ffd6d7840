"""Scenes of cards, each prepared in a service of its own; each request is made of a process of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from chalicelib.cards.authorization.hold_release import expire_holds
from chalicelib.cards.protocol.values import HOLD_SECONDS
from chalicelib.cards.storage.record import without_none
from tests.cards.cases import FEE
from tests.cards.issuer import EUR, EVERYDAY, GERMANY, HOLDER_BLOCK, PIN, Envelope, Issuer
from tests.causeway import Causeway
from tests.interleavings.scenes import Requests, Scenes
from tests.interleavings.scheduler import Request

CASH = 1
Act = Callable[[Issuer], Envelope | int]
scene = Scenes()


class CardRequests(Requests):
    """Requests that each come to a process of its own."""

    def __init__(self, issuer: Issuer, acts: Mapping[str, Act]) -> None:
        super().__init__({name: partial(act, issuer) for name, act in acts.items()})
        self._issuer = issuer
        self._acts = acts

    def take(self, name: str) -> Request:
        return partial(self._acts[name], self._issuer.another_process())


@scene("authorize, authorize", "authorize by number, reissue", "authorize, fee", "authorize, block card")
def last_money(causeway: Causeway) -> Requests:
    issuer = Issuer(causeway)
    card = issuer.spendable(10_00)
    reissue = {"card_id": card.card_id, "card_name_line_3": "ZOE ONEIL", "generate_new_pan": 1}
    fee = FEE | {"card_id": card.card_id, "account_currency": EUR}
    return CardRequests(
        issuer,
        {
            "authorize": _use(card.card_id),
            "authorize by number": _use(None, pan=card.pan),
            "reissue": lambda each: each.do("reissueCard", **reissue),
            "fee": lambda each: each.do("createCustomFee", **fee),
            "block card": lambda each: each.do("changeCardStatus", card_id=card.card_id, status="T"),
        },
    )


@scene("authorize, authorize")
def last_time(causeway: Causeway) -> Requests:
    issuer = Issuer(causeway)
    card = issuer.spendable(1000_00, card_limit_group_id=203).card_id
    use = _use(card, transaction_type=CASH)
    for _ in range(4):  # of five that are allowed in a week
        use(issuer)
    return CardRequests(issuer, {"authorize": use})


@scene("clear, reverse", "clear, clear", "reverse, reverse")
def hold(causeway: Causeway) -> Requests:
    issuer = Issuer(causeway)
    card, link = _authorized(issuer)
    return CardRequests(issuer, {"authorize": _use(card), "clear": _clearing(link), "reverse": _reversal(link)})


@scene("clear a part, expire", "reverse a part, expire")
def expired_hold(causeway: Causeway) -> Requests:
    issuer = Issuer(causeway)
    card, link = _authorized(issuer)
    issuer.clock.advance(HOLD_SECONDS)
    return CardRequests(
        issuer,
        {
            "authorize": _use(card),
            "clear a part": _clearing(link, 3_00, final=0),
            "reverse a part": _reversal(link, amount=3_00),
            "expire": _expiry,
        },
    )


@scene("refund, refund", "dispute, refund")
def cleared_purchase(causeway: Causeway) -> Requests:
    issuer = Issuer(causeway)
    card, link = _authorized(issuer)
    cleared = issuer.data("simulateClearing", trans_link=link, amount=8_00, currency_ison=EUR)
    dispute = {"transaction_id": cleared["transaction_id"], "step": "opened"}
    return CardRequests(
        issuer,
        {
            "authorize": _use(card),
            "refund": _refund(link),
            "dispute": lambda each: each.sim("simulateDispute", **dispute),
        },
    )


@scene("transfer, transfer", "transfer all, close account")
def funded_account(causeway: Causeway) -> Requests:
    issuer = Issuer(causeway)
    address = issuer.funded_address(10_00)
    close = {"account_id": address["account_id"], "account_status": "C"}
    return CardRequests(
        issuer,
        {
            "transfer": lambda each: each.transfer(address, 8_00),
            "transfer all": lambda each: each.transfer(address, 10_00),
            "close account": lambda each: each.do("changeAccountStatus", **close),
        },
    )


@scene("create, create")
def reference(causeway: Causeway) -> Requests:
    issuer = Issuer(causeway)
    order = {"card_program_id": EVERYDAY, "card_country_ison": GERMANY, "card_virtual": 1, "card_currency_ison": [EUR]}
    order |= HOLDER_BLOCK | {"request_reference_id": issuer.reference(), "card_name_line_3": "ZOE ONEIL"}
    return CardRequests(issuer, {"create": lambda each: each.do("createCard", **order)})


@scene("set PIN, wrong PIN")
def card_with_a_pin(causeway: Causeway) -> Requests:
    issuer = Issuer(causeway)
    card = issuer.spendable(10_00, card_virtual=0, card_pin=PIN).card_id
    (wrong,) = issuer.wrong_pins(card, 1)
    return CardRequests(
        issuer,
        {
            "set PIN": lambda each: each.do("setPin", card_id=card, pin="8264"),
            "wrong PIN": _use(card, pin=wrong),
            "right PIN": _use(card, pin=PIN),
        },
    )


def _use(card_id: int | None, **members: Any) -> Act:
    use = {"card_id": card_id, "transaction_type": 0, "amount": 8_00, "currency_ison": EUR, **members}
    return lambda issuer: issuer.sim("simulateAuthorization", **without_none(use))


def _authorized(issuer: Issuer) -> tuple[int, str]:
    """A purchase of 8 euros that is held: its card and its link."""
    card = issuer.spendable(10_00).card_id
    return card, str(issuer.purchase(card, 8_00)["trans_link"])


def _clearing(link: str, amount: int = 8_00, **members: int) -> Act:
    clearing = {"trans_link": link, "amount": amount, "currency_ison": EUR, **members}
    return lambda issuer: issuer.sim("simulateClearing", **clearing)


def _reversal(link: str, **members: int) -> Act:
    return lambda issuer: issuer.sim("simulateReversal", trans_link=link, **members)


def _refund(link: str) -> Act:
    return lambda issuer: issuer.sim("simulateRefund", trans_link=link, amount=8_00, currency_ison=EUR)


def _expiry(issuer: Issuer) -> int:
    """A run of the job; what another one changes meanwhile is left to the next run."""
    return issuer.hub.cards.call(expire_holds) or issuer.hub.cards.call(expire_holds)
