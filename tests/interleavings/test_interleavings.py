"""Two requests at the same time come to what one after the other comes to, in every order of their calls."""

from __future__ import annotations

import random

import pytest

from chalicelib.foundation.dynamodb.conditions import Attr
from chalicelib.foundation.identifiers import new_id
from chalicelib.openbanking.records.consents import Consents
from tests.interleavings import card_pairs, openbanking_pairs
from tests.interleavings.playing import PlayedPair
from tests.interleavings.scheduler import Crashed, Fault, Schedule, play, play_all
from tests.world import World

PAIRS = openbanking_pairs.PAIRS | card_pairs.PAIRS


@pytest.mark.parametrize("title", PAIRS)
def test_every_order_has_an_outcome_of_one_after_the_other(world: World, title: str) -> None:
    pair = PlayedPair(world, PAIRS[title])
    found = pair.play_all() + pair.play_all(random.Random(title).choice(pair.faults()))

    assert found.wrong == {}, found.allowed
    assert found.shared > 0, "the requests have nothing to do with each other"


def test_a_fault_strikes_one_call_of_one_request(world: World) -> None:
    pair = PlayedPair(world, PAIRS["redeem redeem"])
    whole = pair.play((0, 0, 1, 1, 1))

    lost = pair.play((), Fault(0, 1, "lost"))
    before, after = (pair.play((), Fault(0, 1, kind)) for kind in ("crash before", "crash after"))

    assert lost.schedule.count(0) > whole.schedule.count(0)  # the store looks for what it wrote
    assert lost.results[0].status == 200
    assert all(isinstance(each.results[0], Crashed) for each in (before, after))
    assert (before.results[1].status, after.results[1].status) == (200, 400)
    assert Fault.read(str(Fault(1, 3, "crash after"))) == Fault(1, 3, "crash after")


def test_a_condition_that_is_left_out_is_found(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def first_pair(consents: Consents, consent: object, confirmation: object = None) -> object:
        return consents._put_pair(consent, {"code_redeemed_at": 1}, Attr("consent_id").exists(), confirmation)  # type: ignore[arg-type]

    monkeypatch.setattr(Consents, "first_pair", first_pair)

    assert PlayedPair(world, PAIRS["redeem redeem"]).play_all().wrong != {}


def test_two_requests_of_four_calls_have_seventy_orders_each_played_once_and_again(world: World) -> None:
    made: list[int] = []

    def request(number: int) -> int:
        for _ in range(4):
            world.hub.store.get("idempotency", {"claim": new_id()})
            made.append(number)
        return number

    requests = [lambda: request(0), lambda: request(1)]

    def play_one(schedule: Schedule) -> Schedule:
        made.clear()
        played = play(requests, schedule)
        assert (tuple(made), played.results) == (played.schedule, [0, 1])
        return played.schedule

    played = [each.schedule for each in play_all(lambda schedule: play(requests, schedule))]

    assert len(played) == len({*played}) == 70
    assert [play_one(schedule) for schedule in played[:10]] == played[:10]
