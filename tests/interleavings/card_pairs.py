"""Pairs of card requests, each prepared in a world of its own; each request is made of a process of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from chalicelib.cards.authorization.hold_release import expire_holds
from chalicelib.cards.protocol.values import HOLD_SECONDS
from chalicelib.cards.storage.record import without_none
from tests.cards.cases import FEE
from tests.cards.scenes import EUR, EVERYDAY, GERMANY, HOLDER_BLOCK, PIN, Envelope, Scene
from tests.interleavings.pairs import Pair, Pairs
from tests.world import World

CASH = 1
Act = Callable[[Scene], Envelope | int]
pair = Pairs()


@pair
def authorize_authorize_the_last_money(world: World) -> Pair:
    scene = Scene(world)
    use = _use(scene.spendable(10_00).card_id)
    return _at_once(scene, use, use)


@pair
def authorize_authorize_the_last_time(world: World) -> Pair:
    scene = Scene(world)
    card = scene.spendable(1000_00, card_limit_group_id=203).card_id
    use = _use(card, transaction_type=CASH)
    for _ in range(4):  # of five that are allowed in a week
        use(scene)
    return _at_once(scene, use, use)


@pair
def authorize_reissue(world: World) -> Pair:
    scene = Scene(world)
    card = scene.spendable(10_00)
    reissue = {"card_id": card.card_id, "card_name_line_3": "ZOE ONEIL", "generate_new_pan": 1}
    return _at_once(scene, _use(None, pan=card.pan), lambda each: each.do("reissueCard", **reissue))


@pair
def authorize_fee(world: World) -> Pair:
    scene = Scene(world)
    card = scene.spendable(10_00).card_id
    fee = FEE | {"card_id": card, "account_currency": EUR}
    return _at_once(scene, _use(card), lambda each: each.do("createCustomFee", **fee))


@pair
def authorize_block_card(world: World) -> Pair:
    scene = Scene(world)
    card = scene.spendable(10_00).card_id
    return _at_once(scene, _use(card), lambda each: each.do("changeCardStatus", card_id=card, status="T"))


@pair
def clear_reverse(world: World) -> Pair:
    scene, link = _authorized(world)
    return _at_once(scene, _clearing(link), _reversal(link))


@pair
def clear_clear(world: World) -> Pair:
    scene, link = _authorized(world)
    return _at_once(scene, _clearing(link), _clearing(link))


@pair
def clear_a_part_expire(world: World) -> Pair:
    scene, link = _authorized(world)
    scene.clock.advance(HOLD_SECONDS)
    return _at_once(scene, _clearing(link, 3_00, final=0), _expiry)


@pair
def reverse_a_part_expire(world: World) -> Pair:
    scene, link = _authorized(world)
    scene.clock.advance(HOLD_SECONDS)
    return _at_once(scene, _reversal(link, amount=3_00), _expiry)


@pair
def reverse_reverse(world: World) -> Pair:
    scene, link = _authorized(world)
    return _at_once(scene, _reversal(link), _reversal(link))


@pair
def refund_refund(world: World) -> Pair:
    scene, link, _ = _cleared(world)
    return _at_once(scene, _refund(link), _refund(link))


@pair
def dispute_refund(world: World) -> Pair:
    scene, link, transaction = _cleared(world)
    dispute = {"transaction_id": transaction, "step": "opened"}
    return _at_once(scene, lambda each: each.sim("simulateDispute", **dispute), _refund(link))


@pair
def transfer_transfer_the_last_money(world: World) -> Pair:
    scene = Scene(world)
    address = scene.funded(10_00)
    return _at_once(scene, *[lambda each: each.transfer(address, 8_00)] * 2)


@pair
def transfer_close_account(world: World) -> Pair:
    scene = Scene(world)
    address = scene.funded(10_00)
    close = {"account_id": address["account_id"], "account_status": "C"}
    return _at_once(
        scene, lambda each: each.transfer(address, 10_00), lambda each: each.do("changeAccountStatus", **close)
    )


@pair
def create_create_with_one_reference(world: World) -> Pair:
    scene = Scene(world)
    order = {"card_program_id": EVERYDAY, "card_country_ison": GERMANY, "card_virtual": 1, "card_currency_ison": [EUR]}
    order |= HOLDER_BLOCK | {"request_reference_id": scene.reference(), "card_name_line_3": "ZOE ONEIL"}
    return _at_once(scene, *[lambda each: each.do("createCard", **order)] * 2)


@pair
def set_pin_wrong_pin(world: World) -> Pair:
    scene = Scene(world)
    card = scene.spendable(10_00, card_virtual=0, card_pin=PIN).card_id
    (wrong,) = scene.wrong_pins(card, 1)
    return _at_once(scene, lambda each: each.do("setPin", card_id=card, pin="8264"), _use(card, pin=wrong))


def _at_once(scene: Scene, first: Act, second: Act) -> Pair:
    beside = scene.beside()
    return (lambda: first(scene)), (lambda: second(beside))


def _use(card_id: int | None, **members: Any) -> Act:
    use = {"card_id": card_id, "transaction_type": 0, "amount": 8_00, "currency_ison": EUR, **members}
    return lambda scene: scene.sim("simulateAuthorization", **without_none(use))


def _authorized(world: World) -> tuple[Scene, str]:
    """A purchase of 8 euros that is held, by its link."""
    scene = Scene(world)
    return scene, str(scene.purchase(scene.spendable(10_00).card_id, 8_00)["trans_link"])


def _cleared(world: World) -> tuple[Scene, str, int]:
    """A purchase of 8 euros that was collected, by its link and its transaction."""
    scene, link = _authorized(world)
    cleared = scene.data("simulateClearing", trans_link=link, amount=8_00, currency_ison=EUR)
    return scene, link, cleared["transaction_id"]


def _clearing(link: str, amount: int = 8_00, **members: int) -> Act:
    clearing = {"trans_link": link, "amount": amount, "currency_ison": EUR, **members}
    return lambda scene: scene.sim("simulateClearing", **clearing)


def _reversal(link: str, **members: int) -> Act:
    return lambda scene: scene.sim("simulateReversal", trans_link=link, **members)


def _refund(link: str) -> Act:
    return lambda scene: scene.sim("simulateRefund", trans_link=link, amount=8_00, currency_ison=EUR)


def _expiry(scene: Scene) -> int:
    """A run of the job; what another one changes meanwhile is left to the next run."""
    return scene.hub.cards.call(expire_holds) or scene.hub.cards.call(expire_holds)
