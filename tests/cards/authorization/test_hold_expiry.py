"""The schedule that releases holds: exactly when their time has come, each by itself, and only what still is held."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from chalicelib.bootstrap import hub
from chalicelib.cards import jobs
from chalicelib.cards.authorization import hold_release
from chalicelib.cards.authorization.hold_release import expire_holds
from chalicelib.cards.protocol.simulator_messages import Released
from chalicelib.cards.protocol.values import HOLD_SECONDS
from chalicelib.cards.requests.request_context import ActionOutcome
from chalicelib.delivery.delivery_record import BODY
from chalicelib.foundation import jsontext
from infra.admin.ledger_verification import prove_ledger
from tests.cards.authorization.shops import A_DAY, BACK_A_WEEK, LIMITED, SEPARATE, Buyer, buyer, with_shops
from tests.cards.scenes import DAY, EUR, Scene
from tests.log_lines import Lines
from tests.schedules import run_schedule

pytestmark = pytest.mark.faults


@pytest.fixture(scope="module")
def module_shops(stage: Scene) -> Iterator[Scene]:
    yield with_shops(stage)
    prove_ledger(stage.hub.store)


@pytest.fixture
def shops(module_shops: Scene) -> Iterator[Scene]:
    """No test leaves holds to another one."""
    yield module_shops
    module_shops.clock.advance(HOLD_SECONDS)
    expire(module_shops)
    assert waiting(module_shops) == []


def expire(scene: Scene) -> int:
    """How many holds a run of the schedule releases."""
    return scene.hub.cards.call(expire_holds)


def waiting(scene: Scene) -> list[int]:
    """The authorizations in the index of due times."""
    return sorted(row["id"] for row in scene.hub.store.scan("card-activity") if "due_shard" in row)


def held(card: Buyer, *amounts: int) -> list[str]:
    """The links of new authorizations."""
    return [str(card.asks(amount)["trans_link"]) for amount in amounts]


# -- when


def test_a_hold_expires_after_seven_days_and_not_a_second_earlier(shops: Scene) -> None:
    card = buyer(shops, 100_00, **LIMITED, card_fee_group_id=SEPARATE)
    [link] = held(card, 40_00)
    assert (waiting(shops), card.record(link).due_at) == ([int(link)], shops.clock.time() + 7 * DAY)

    shops.clock.advance(7 * DAY - 1)
    assert (expire(shops), card.stands(link)) == (0, ("H", 40_00, 40_70))
    shops.clock.advance(1)
    assert (expire(shops), expire(shops)) == (1, 0)

    assert (card.stands(link), card.balances()) == (("X", 0, 0), (100_00, 0, 0, 100_00))
    assert (card.used(A_DAY), waiting(shops)) == ([(0, 0)], [])
    assert card.causes() == ["authorization", "hold over"]


def test_an_increment_restarts_the_seven_days_of_a_hold(shops: Scene) -> None:
    card = buyer(shops, 100_00)
    [link] = held(card, 40_00)

    for _ in range(2):
        shops.clock.advance(6 * DAY)
        assert card.asks_more(link, 10_00)["response_code"] == "00"
        assert expire(shops) == 0
    shops.clock.advance(7 * DAY - 1)
    assert expire(shops) == 0
    shops.clock.advance(1)

    assert (expire(shops), card.stands(link)) == (1, ("X", 0, 0))
    assert card.balances() == (100_00, 0, 0, 100_00)


def test_clearing_reversal_and_declined_increment_do_not_extend_a_hold(shops: Scene) -> None:
    card = buyer(shops, 100_00)
    [link] = held(card, 40_00)

    shops.clock.advance(6 * DAY)
    card.clears(link, 10_00, final=0)
    card.reverses(link, 5_00)
    assert card.asks_more(link, 500_00)["response_code"] == "51"
    shops.clock.advance(DAY)

    assert (expire(shops), card.stands(link)) == (1, ("X", 0, 0))
    assert card.balances() == (90_00, 0, 0, 90_00)


def test_cleared_reversed_and_expired_holds_leave_the_due_index(shops: Scene) -> None:
    card = buyer(shops, 100_00)
    links = held(card, 10_00, 10_00, 10_00)
    declined = card.asked(500_00)
    card.asks(0, transaction_type=39)
    assert waiting(shops) == [int(link) for link in links]

    card.clears(links[0], 10_00)
    card.reverses(links[1])
    shops.data("simulateExpiry", trans_link=links[2])
    card.clears(declined["trans_link"], 5_00)
    shops.clock.advance(7 * DAY)

    assert (waiting(shops), expire(shops)) == ([], 0)
    assert card.balances() == (85_00, 0, 0, 85_00)


def test_a_credit_authorization_expires_without_a_movement(shops: Scene) -> None:
    card = buyer(shops, 100_00, **LIMITED)
    link = str(card.asks(10_00, transaction_type=20)["trans_link"])

    shops.clock.advance(7 * DAY)

    assert expire(shops) == 1
    assert card.stands(link) == ("X", 0, 0)
    assert card.causes() == []
    assert card.used(BACK_A_WEEK) == [(0, 0)]


def test_holds_of_blocked_cards_and_suspended_accounts_expire(shops: Scene) -> None:
    card = buyer(shops, 100_00)
    held(card, 40_00)
    shops.data("changeCardStatus", card_id=card.card_id, status="B")
    shops.data("changeAccountStatus", account_id=card.account, account_status="S")

    shops.clock.advance(7 * DAY)

    assert (expire(shops), card.balances()) == (1, (100_00, 0, 0, 100_00))


def test_expiry_of_a_partly_used_foreign_hold_leaves_no_held_amount(shops: Scene) -> None:
    card = buyer(shops, 100_00, card_fee_group_id=SEPARATE)
    link = str(card.asks(9_99, EUR)["trans_link"])
    card.reverses(link, 3_33)
    card.clears(link, 1_11, EUR, final=0)

    shops.clock.advance(7 * DAY)

    assert expire(shops) == 1
    assert card.balances()[1] == 0
    assert card.stands(link) == ("X", 0, 0)


# -- what is recorded


def test_expiry_of_a_hold_records_its_own_message(shops: Scene) -> None:
    card = buyer(shops, 100_00)
    [link] = held(card, 40_00)
    shops.clock.advance(7 * DAY)

    expire(shops)

    owner = ("owner", f"card#{card.card_id}")
    first, last = shops.hub.store.rows("card-activity", owner, sort_prefix=("part", "activity#"))
    assert last["authorize_type"] == 5
    assert last["reversal"] == 1
    assert last["actual"] == 1
    assert last["response_code"] == "00"
    assert last["transaction_amount"] == 40_00
    assert last["holder_amount"] == 40_00
    assert last["advice_reason_code"] == 2
    assert (last["trans_link"], last["transmission_time"]) == (link, shops.clock.time())
    assert (last["authorize_id"] > first["authorize_id"], last["at"]) == (True, shops.clock.time() * 1000)


def test_expiry_sends_the_programme_manager_one_event(shops: Scene) -> None:
    card = buyer(shops, 100_00)
    manager_id = card.record(*held(card, 40_00)).manager_id
    links = [f"{number:012}" for number in waiting(shops)]
    with shops.causeway.manager_wants_events(manager_id):
        shops.clock.advance(7 * DAY)
        with shops.causeway.meanwhile("transact", lambda: card.clears(None, 1_00)):
            assert (expire(shops), told(shops, manager_id)) == (0, [])
        assert expire(shops) == 1
        known = shops.causeway.recorded("card_event")
        [event] = [data for data in told(shops, manager_id) if data["authorize_type"] == 5]
    shops.hub.cards.programmes._cache.pop(manager_id, None)

    assert [event["trans_link"]] == links
    assert event["card_id"] == card.card_id
    assert event["account_id"] == card.account
    assert event["available_balance"] == 99_00
    assert {each.delivery_id for each in known} <= set(shops.causeway.queued())


def told(scene: Scene, manager_id: int) -> list[Any]:
    """The data of the events of authorizations that a programme manager is told."""
    found = [each for each in scene.causeway.recorded("card_event") if each.manager_id == manager_id]
    found = [each for each in found if each.topic == "card.authorization"]
    return [
        jsontext.loads(scene.hub.delivery.bodies.open(each.delivery_id, BODY, each.body_parts))["data"]
        for each in found
    ]


def test_the_job_logs_the_number_of_released_holds(shops: Scene, lines: Lines) -> None:
    card = buyer(shops, 100_00)
    held(card, 10_00, 20_00)
    assert hub() is shops.hub

    for seconds in (7 * DAY - 1, 1, 1):
        shops.clock.advance(seconds)
        run_schedule(jobs.finish)

    assert [line["holds"] for line in lines.all() if line["message"] == "holds released"] == [2]
    assert card.balances() == (100_00, 0, 0, 100_00)


# -- what is in the way


def test_a_failed_release_retries_after_a_minute_while_other_holds_expire(
    shops: Scene, monkeypatch: pytest.MonkeyPatch, lines: Lines
) -> None:
    card = buyer(shops, 100_00)
    others = [buyer(shops, 100_00) for _ in range(2)]
    [link] = held(card, 10_00)
    links = [*held(others[0], 20_00), *held(others[1], 20_00)]
    real = hold_release.release

    def release(read: Any, catalogue: Any, authorization: Any, *rest: Any) -> ActionOutcome[Released]:
        if authorization.trans_link == link:
            raise RuntimeError("what nobody has thought of")
        return real(read, catalogue, authorization, *rest)

    shops.clock.advance(7 * DAY)
    with monkeypatch.context() as patched:
        patched.setattr(hold_release, "release", release)
        assert expire(shops) == 2
    assert [each.stands(one)[0] for each, one in zip(others, links, strict=True)] == ["X", "X"]
    assert (card.stands(link), "hold not finished" in lines.text) == (("H", 10_00, 10_00), True)

    shops.clock.advance(59)
    assert expire(shops) == 0
    shops.clock.advance(1)
    assert (expire(shops), card.stands(link)) == (1, ("X", 0, 0))


def test_a_postponed_hold_can_be_cleared_or_increased(shops: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    card = buyer(shops, 100_00)
    collected, increased = held(card, 10_00, 10_00)

    def release(*arguments: Any) -> ActionOutcome[Released]:
        raise RuntimeError("what nobody has thought of")

    shops.clock.advance(7 * DAY)
    with monkeypatch.context() as patched:
        patched.setattr(hold_release, "release", release)
        assert expire(shops) == 0
    card.clears(collected, 10_00)
    card.asks_more(increased, 5_00)
    shops.clock.advance(60)

    assert expire(shops) == 0
    assert card.stands(collected) == ("C", 0, 0)
    assert card.stands(increased) == ("H", 15_00, 15_00)
    assert card.record(increased).due_at == shops.clock.time() - 60 + 7 * DAY


def test_a_failed_release_keeps_the_due_time_of_a_concurrent_increment(
    shops: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    card = buyer(shops, 100_00)
    [link] = held(card, 10_00)

    def release(*arguments: Any) -> ActionOutcome[Released]:
        card.asks_more(link, 5_00)
        raise RuntimeError("what nobody has thought of")

    shops.clock.advance(7 * DAY)
    with monkeypatch.context() as patched:
        patched.setattr(hold_release, "release", release)
        assert expire(shops) == 0

    assert card.record(link).due_at == shops.clock.time() + 7 * DAY
    assert card.stands(link) == ("H", 15_00, 15_00)


def test_a_concurrently_cleared_hold_is_not_released_again(shops: Scene) -> None:
    card = buyer(shops, 100_00)
    [link] = held(card, 40_00)
    shops.clock.advance(7 * DAY)

    with shops.causeway.meanwhile("transact", lambda: card.clears(link, 30_00)):
        assert expire(shops) == 0

    assert (card.stands(link), expire(shops)) == (("C", 0, 0), 0)
    assert card.balances() == (70_00, 0, 0, 70_00)


def test_a_concurrently_increased_hold_does_not_expire(shops: Scene) -> None:
    card = buyer(shops, 100_00)
    [link] = held(card, 40_00)
    shops.clock.advance(7 * DAY)

    with shops.causeway.meanwhile("transact", lambda: card.asks_more(link, 1_00)):
        assert expire(shops) == 0

    assert (card.stands(link), expire(shops)) == (("H", 41_00, 41_00), 0)


def test_a_hold_of_a_concurrently_debited_account_expires_in_the_next_run(shops: Scene) -> None:
    card = buyer(shops, 100_00)
    [link] = held(card, 40_00)
    shops.clock.advance(7 * DAY)

    with shops.causeway.meanwhile("transact", lambda: card.clears(None, 5_00)):
        assert (expire(shops), card.stands(link)[0]) == (0, "H")

    assert (expire(shops), card.stands(link)) == (1, ("X", 0, 0))
    assert card.balances() == (95_00, 0, 0, 95_00)


@pytest.mark.parametrize("applied", [True, False])
def test_a_lost_storage_answer_releases_a_hold_once(shops: Scene, applied: bool) -> None:
    card = buyer(shops, 100_00)
    [link] = held(card, 40_00)
    shops.clock.advance(7 * DAY)

    with shops.causeway.answer_lost("transact", applied=applied):
        expire(shops)
    shops.clock.advance(60)

    assert (expire(shops), card.stands(link)) == (0 if applied else 1, ("X", 0, 0))
    assert (card.balances(), card.causes().count("hold over")) == ((100_00, 0, 0, 100_00), 1)


def test_each_run_releases_at_least_one_hold_of_an_account(shops: Scene) -> None:
    card = buyer(shops, 1_000_00)
    links = held(card, *range(1_00, 6_00, 1_00))
    shops.clock.advance(7 * DAY)

    released, runs = 0, 0
    while released < len(links):
        released, runs = released + expire(shops), runs + 1
        assert runs <= len(links), "a run releases one of them at least"

    assert [card.stands(link) for link in links] == [("X", 0, 0)] * 5
    assert card.balances() == (1_000_00, 0, 0, 1_000_00)
