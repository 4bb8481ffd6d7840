"""Pairs of card requests, each prepared in a world of its own; each request is made of a process of its own."""

from __future__ import annotations

from collections.abc import Callable

from tests.cards.scenes import EUR, EVERYDAY, GERMANY, HOLDER_BLOCK, PIN, Envelope, Scene
from tests.interleavings.pairs import Pair, Pairs
from tests.world import World

Act = Callable[[Scene], Envelope]
pair = Pairs()


@pair
def authorize_authorize_the_last_money(world: World) -> Pair:
    scene = Scene(world)
    use = _use(scene.spendable(10_00).card_id)
    return _at_once(scene, use, use)


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
def reverse_reverse(world: World) -> Pair:
    scene, link = _authorized(world)
    return _at_once(scene, _reversal(link), _reversal(link))


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


def _use(card_id: int, **members: str) -> Act:
    use = {"card_id": card_id, "transaction_type": 0, "amount": 8_00, "currency_ison": EUR, **members}
    return lambda scene: scene.sim("simulateAuthorization", **use)


def _authorized(world: World) -> tuple[Scene, str]:
    """A purchase of 8 euros that is held, by its link."""
    scene = Scene(world)
    return scene, str(scene.purchase(scene.spendable(10_00).card_id, 8_00)["trans_link"])


def _clearing(link: str) -> Act:
    return lambda scene: scene.sim("simulateClearing", trans_link=link, amount=8_00, currency_ison=EUR)


def _reversal(link: str) -> Act:
    return lambda scene: scene.sim("simulateReversal", trans_link=link)
