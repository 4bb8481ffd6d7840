"""Values at every place where they are sealed, and how all are sealed anew."""

from __future__ import annotations

from chalicelib.foundation.crypto.resealing import SETTLE_SECONDS
from tests.cards.scenes import Scene
from tests.openbanking.deferred_payments import LaterPayer
from tests.openbanking.payer import Payer, taken
from tests.openbanking.poller import fetches_events, trial
from tests.world import World


def seal_something_everywhere(world: World) -> None:
    world.wants_events()
    payer = Payer(world, 2, "direct")
    payer.bank_does(taken(2, "P-1"))
    payer.pay("key-1")
    LaterPayer(world, 1, "direct").order()
    tokens = world.tokens(1)
    world.tpp("POST", "/tpp/token", {"refresh_token": tokens["refresh_token"]})
    fetches_events(world)
    trial(world)
    scene = Scene(world)
    scene.card(card_virtual=0, request_reference_id=scene.reference())
    members = {"client_id": world.client.client_id, "bic": "ALPHGB21", "scopes": ["account.list"]}
    world.hub.website.journeys.begin("tpp@example.com", "of-the-tpp", members, "verifier")


def reseal_all(world: World) -> None:
    world.hub.keyring.rotate_data_key()
    world.clock.advance(SETTLE_SECONDS)
    world.hub.resealing.request()
    for _ in range(3):
        progress = world.hub.resealing.run(world.clock.monotonic() + 1)
        assert progress is not None
        if progress.finished_at is not None:
            return
        assert progress.resealed, f"left: {progress.left}"
        world.clock.advance(SETTLE_SECONDS)
    raise AssertionError("values are left")
