"""Concurrent requests have the outcome of a sequential execution, for every order of their calls."""

import random
from collections.abc import Callable, Iterator

import pytest

from chalicelib.foundation.dynamodb.conditions import Attr
from chalicelib.foundation.identifiers import new_id
from chalicelib.openbanking.records.consents import Consents
from tests.causeway import Causeway
from tests.interleavings.__main__ import NotReplayable, explore_crash, in_both_orders, replay
from tests.interleavings.exploration import Group, prepared
from tests.interleavings.races import RACES
from tests.interleavings.scheduler import Crashed, Fault, Request, Schedule, execute, explore

TRIPLES = [
    "code/redeem, redeem, revoke by bank",
    "tokens/refresh, refresh, revoke by bank",
    "order/pay with a key, pay with a key, report",
    "hold/authorize, clear, reverse",
]
"""Some of the triples that ``make interleavings`` runs."""


@pytest.fixture
def redeem_redeem(causeway: Causeway) -> Iterator[Group]:
    with prepared(causeway, RACES["code"]) as race:
        yield race.group("redeem, redeem")


@pytest.mark.parametrize(("title", "pair"), [(title, pair) for title, race in RACES.items() for pair in race.pairs])
def test_every_order_of_the_calls_of_two_requests_has_the_outcome_of_a_sequential_execution(
    causeway: Causeway, title: str, pair: str
) -> None:
    with prepared(causeway, RACES[title]) as race:
        group = race.group(pair)
        found = group.explore() + group.explore(random.Random(pair).choice(group.faults))

    assert found.wrong == {}
    assert found.shared > 0, "the requests have nothing to do with each other"


@pytest.mark.parametrize("title", TRIPLES)
def test_sampled_orders_of_the_calls_of_three_requests_have_the_outcome_of_a_sequential_run(
    causeway: Causeway, title: str
) -> None:
    name, _, names = title.partition("/")
    with prepared(causeway, RACES[name]) as race:
        found = race.group(names, 15, random.Random(title)).explore()

    assert found.wrong == {}
    assert found.shared > 0, "the requests have nothing to do with each other"


@pytest.mark.parametrize("title", ["code", "order", "one time consent", "funded account", "reference"])
def test_a_request_after_a_crash_and_cleanup_has_an_allowed_outcome(causeway: Causeway, title: str) -> None:
    with prepared(causeway, RACES[title]) as race:
        pairs = [each for pair in RACES[title].pairs for each in in_both_orders(pair)]
        found = [explore_crash(race, pair, random.Random(pair)) for pair in pairs]

    assert [each.wrong for each in found if each.wrong] == []
    assert any(each.shared for each in found)


def test_an_injected_fault_affects_one_call_of_one_request(redeem_redeem: Group) -> None:
    whole = redeem_redeem.execute((0, 0, 1, 1, 1))

    lost = redeem_redeem.execute((), Fault(0, 1, "lost"))
    before, after = (redeem_redeem.execute((), Fault(0, 1, kind)) for kind in ("crash before", "crash after"))

    assert lost.schedule.count(0) > whole.schedule.count(0)  # the store looks for what it wrote
    assert lost.results[0].status == 200
    assert all(isinstance(each.results[0], Crashed) for each in (before, after))
    assert (before.results[1].status, after.results[1].status) == (200, 400)
    assert Fault.read(str(Fault(1, 3, "crash after"))) == Fault(1, 3, "crash after")


def test_a_missing_write_condition_is_detected_as_an_invalid_outcome(
    redeem_redeem: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    def first_pair(consents: Consents, consent: object, confirmation: object = None) -> object:
        return consents.put_pair(consent, {"code_redeemed_at": 1}, Attr("consent_id").exists(), confirmation)  # type: ignore[arg-type]

    monkeypatch.setattr(Consents, "first_pair", first_pair)

    assert redeem_redeem.explore().wrong != {}


def test_a_crash_without_cleanup_is_detected_as_an_invalid_outcome(
    causeway: Causeway, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.interleavings.exploration.finish_payments_and_holds", lambda cards: None)

    with prepared(causeway, RACES["funded account"]) as race:
        assert explore_crash(race, "transfer, transfer", random.Random(1)).wrong != {}


@pytest.mark.parametrize(
    ("identifier", "reason"),
    [
        ("token/redeem, redeem:01", "there is no race"),
        ("code/redeem, transfer:01", "there is no 'transfer'"),
        ("code/redeem, redeem:0a", "a schedule is"),
        ("code/redeem, redeem:00111:0.1 found", "a schedule is"),
        ("code/redeem, redeem:00", "stale"),
        ("code/redeem, redeem:00111:0.9 lost", "stale"),
    ],
)
def test_invalid_schedule_ids_raise_not_replayable(causeway: Causeway, identifier: str, reason: str) -> None:
    with pytest.raises(NotReplayable, match=reason):
        replay(causeway, identifier)


def test_two_requests_of_four_calls_have_70_replayable_schedules(causeway: Causeway) -> None:
    order: list[int] = []
    requests = [_writer(causeway, order, number, lambda: "one item") for number in (0, 1)]

    def run_again(schedule: Schedule) -> Schedule:
        order.clear()
        executed = execute(requests, schedule)
        assert (tuple(order), executed.results) == (executed.schedule, [0, 1])
        return executed.schedule

    schedules = [each.schedule for each in explore(lambda schedule: execute(requests, schedule))]

    assert len(schedules) == len({*schedules}) == 70
    assert [run_again(schedule) for schedule in schedules[:10]] == schedules[:10]


def test_independent_calls_on_different_items_are_executed_in_one_order_only(causeway: Causeway) -> None:
    requests = [_writer(causeway, [], number, new_id) for number in (0, 1)]

    schedules = [each.schedule for each in explore(lambda schedule: execute(requests, schedule))]

    assert schedules == [(0, 0, 0, 0, 1, 1, 1, 1)]


def _writer(causeway: Causeway, order: list[int], number: int, claim: Callable[[], str]) -> Request:
    """Return a request that writes four items, and appends the request's number to ``order`` after each write."""

    def request() -> int:
        for _ in range(4):
            causeway.hub.store.put("idempotency", {"claim": claim(), "number": number})
            order.append(number)
        return number

    return request
