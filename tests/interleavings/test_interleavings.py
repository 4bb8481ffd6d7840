"""Requests at the same time come to what one after the other comes to, in every order of their calls."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

import pytest

from chalicelib.foundation.dynamodb.conditions import Attr
from chalicelib.foundation.identifiers import new_id
from chalicelib.openbanking.records.consents import Consents
from tests.causeway import Causeway
from tests.interleavings.__main__ import SCENES, NotReplayable, in_both_orders, play_crash, replay
from tests.interleavings.playing import PlayedGroup, Sample, scene_of
from tests.interleavings.scheduler import Crashed, Fault, Request, Schedule, play, play_all

TRIPLES = [
    "code/redeem, redeem, revoke by bank",
    "tokens/refresh, refresh, revoke by bank",
    "order/pay with a key, pay with a key, report",
    "hold/authorize, clear, reverse",
]
"""A few of those that ``make interleavings`` plays."""


@pytest.fixture
def redeem_redeem(causeway: Causeway) -> Iterator[PlayedGroup]:
    with scene_of(causeway, SCENES["code"]) as scene:
        yield scene.group("redeem, redeem")


@pytest.mark.parametrize(("title", "pair"), [(title, pair) for title, scene in SCENES.items() for pair in scene.pairs])
def test_every_interleaving_of_two_requests_has_a_serial_outcome(causeway: Causeway, title: str, pair: str) -> None:
    with scene_of(causeway, SCENES[title]) as scene:
        group = scene.group(pair)
        found = group.play_all() + group.play_all(random.Random(pair).choice(group.faults))

    assert found.wrong == {}
    assert found.shared > 0, "the requests have nothing to do with each other"


@pytest.mark.parametrize("title", TRIPLES)
def test_interleavings_of_three_requests_have_a_serial_outcome(causeway: Causeway, title: str) -> None:
    name, _, names = title.partition("/")
    with scene_of(causeway, SCENES[name]) as scene:
        found = scene.group(names, Sample(15, random.Random(title))).play_all()

    assert found.wrong == {}
    assert found.shared > 0, "the requests have nothing to do with each other"


@pytest.mark.parametrize("title", ["code", "order", "one time consent", "funded account", "reference"])
def test_a_request_after_a_crash_and_the_jobs_finds_an_allowed_state(causeway: Causeway, title: str) -> None:
    with scene_of(causeway, SCENES[title]) as scene:
        pairs = [each for pair in SCENES[title].pairs for each in in_both_orders(pair)]
        found = [play_crash(scene, pair, random.Random(pair)) for pair in pairs]

    assert [each.wrong for each in found if each.wrong] == []
    assert any(each.shared for each in found)


def test_a_fault_affects_one_call_of_one_request(redeem_redeem: PlayedGroup) -> None:
    whole = redeem_redeem.play((0, 0, 1, 1, 1))

    lost = redeem_redeem.play((), Fault(0, 1, "lost"))
    before, after = (redeem_redeem.play((), Fault(0, 1, kind)) for kind in ("crash before", "crash after"))

    assert lost.schedule.count(0) > whole.schedule.count(0)  # the store looks for what it wrote
    assert lost.results[0].status == 200
    assert all(isinstance(each.results[0], Crashed) for each in (before, after))
    assert (before.results[1].status, after.results[1].status) == (200, 400)
    assert Fault.read(str(Fault(1, 3, "crash after"))) == Fault(1, 3, "crash after")


def test_a_missing_condition_is_detected(redeem_redeem: PlayedGroup, monkeypatch: pytest.MonkeyPatch) -> None:
    def first_pair(consents: Consents, consent: object, confirmation: object = None) -> object:
        return consents._put_pair(consent, {"code_redeemed_at": 1}, Attr("consent_id").exists(), confirmation)  # type: ignore[arg-type]

    monkeypatch.setattr(Consents, "first_pair", first_pair)

    assert redeem_redeem.play_all().wrong != {}


def test_a_crash_without_cleanup_is_detected(causeway: Causeway, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.interleavings.crashes.finish_payments_and_holds", lambda cards: None)

    with scene_of(causeway, SCENES["funded account"]) as scene:
        assert play_crash(scene, "transfer, transfer", random.Random(1)).wrong != {}


@pytest.mark.parametrize(
    ("identifier", "reason"),
    [
        ("token/redeem, redeem:01", "there is no scene"),
        ("code/redeem, transfer:01", "there is no 'transfer'"),
        ("code/redeem, redeem:0a", "a schedule is"),
        ("code/redeem, redeem:00111:0.1 found", "a schedule is"),
        ("code/redeem, redeem:00", "stale"),
        ("code/redeem, redeem:00111:0.9 lost", "stale"),
    ],
)
def test_an_invalid_schedule_id_is_not_replayed(causeway: Causeway, identifier: str, reason: str) -> None:
    with pytest.raises(NotReplayable, match=reason):
        replay(causeway, identifier)


def test_two_requests_of_four_calls_have_70_replayable_schedules(causeway: Causeway) -> None:
    made: list[int] = []
    requests = [_writer(causeway, made, number, lambda: "one item") for number in (0, 1)]

    def play_one(schedule: Schedule) -> Schedule:
        made.clear()
        played = play(requests, schedule)
        assert (tuple(made), played.results) == (played.schedule, [0, 1])
        return played.schedule

    played = [each.schedule for each in play_all(lambda schedule: play(requests, schedule))]

    assert len(played) == len({*played}) == 70
    assert [play_one(schedule) for schedule in played[:10]] == played[:10]


def test_calls_on_different_items_are_played_in_one_order(causeway: Causeway) -> None:
    requests = [_writer(causeway, [], number, new_id) for number in (0, 1)]

    played = [each.schedule for each in play_all(lambda schedule: play(requests, schedule))]

    assert played == [(0, 0, 0, 0, 1, 1, 1, 1)]


def _writer(causeway: Causeway, made: list[int], number: int, claim: Callable[[], str]) -> Request:
    """A request that puts four items, and notes its number each time."""

    def request() -> int:
        for _ in range(4):
            causeway.hub.store.put("idempotency", {"claim": claim(), "number": number})
            made.append(number)
        return number

    return request
