"""The kinds of requests of the card API and of the card network: how each is set up, and the request itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from chalicelib.foundation import jsontext
from tests.capacity.plays import Play, Run, ok
from tests.cards.cases import of_transfer, warmed
from tests.cards.scenes import EUR, EVERYDAY, GERMANY, HOLDER_BLOCK, Scene
from tests.world import World

Members = Mapping[str, Any]
ROWS = 100
"""So many rows has a page of a report."""
_PURCHASE = {"transaction_type": 0, "amount": 100, "currency_ison": EUR, "mcc": "5411", "merchant_name": "Corner Shop"}
_NEW_CARD = {
    "card_program_id": EVERYDAY,
    "card_country_ison": GERMANY,
    "card_virtual": 1,
    "card_name_line_3": "ZOE ONEIL",
    "card_currency_ison": [EUR],
    **HOLDER_BLOCK,
}


def action(name: str, members: Callable[[Scene], Members], *, reference: bool = True) -> Callable[[World], Run]:
    """A request of an action, as it comes by HTTP, to a process that has run for a while."""

    def set_up(world: World) -> Run:
        scene = warmed(Scene(world))
        sent = {**members(scene), **({"request_reference_id": scene.reference()} if reference else {})}
        _keep_numbers(scene)
        body = jsontext.dumps(scene.body(name, **sent)).encode()
        path = "/simulator" if name.startswith("simulate") else "/api"
        return lambda: _success(world, path, body)

    return set_up


def _keep_numbers(scene: Scene) -> None:
    """Blocks of identifiers are taken now and then: that is played by itself."""
    sequences = scene.hub.card_api.flows["issuing"].sequences
    for name in sequences._left:
        if len(sequences._left[name]) < 30:
            sequences._left[name] = range(0)
            sequences.next(name)


def _success(world: World, path: str, body: bytes) -> None:
    answer = ok(world.call("POST", path, body, {"content-type": "application/json"}))
    assert answer.body["status"] == "success", answer


def purchase(scene: Scene) -> Members:
    """A purchase after another one, which has made the counters of limits."""
    card = scene.spendable(10_000)
    scene.purchase(card.card_id, 100)
    return {"card_id": card.card_id, **_PURCHASE}


def clearing(scene: Scene) -> Members:
    asked = scene.data("simulateAuthorization", **purchase(scene))
    return {"trans_link": asked["trans_link"], "amount": 100, "currency_ison": EUR}


def page(scene: Scene) -> Members:
    """A page of a card's messages; declined ones are messages, too."""
    card = scene.spendable(10_000)
    for _ in range(ROWS + 1):
        scene.purchase(card.card_id, 20_000, mcc="5411", merchant_name="Corner Shop")
    return {"card_id": card.card_id, "date_from": 0, "date_to": 99_999_999_999, "item_count": ROWS}


def page_of_all(scene: Scene) -> Members:
    members = {name: value for name, value in page(scene).items() if name != "card_id"}
    scene.clock.advance(2)
    return members


CARDS = (
    Play(
        "card_read",
        "getAccounts",
        action("getAccounts", lambda scene: {"account_id": scene.account()}, reference=False),
    ),
    Play("create_card", "createCard for a new holder", action("createCard", lambda scene: _NEW_CARD)),
    Play("transfer", "transferToExternalPayment", action("transferToExternalPayment", of_transfer())),
    Play("authorization", "card authorization", action("simulateAuthorization", purchase)),
    Play(
        "authorization_told",
        "card authorization, manager told",
        action("simulateAuthorization", purchase),
        World.manager_wants_events,
    ),
    Play("clearing", "clearing", action("simulateClearing", clearing)),
    Play("page", f"report page of {ROWS} rows, one card", action("getCardsActivity", page, reference=False)),
    Play(
        "page_of_all",
        f"report page of {ROWS} rows, all cards",
        action("getCardsActivity", page_of_all, reference=False),
    ),
)
