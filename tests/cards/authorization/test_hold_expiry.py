"""Tests of the job that releases expired holds. Each hold expires separately at its due time."""

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
from tests.cards.authorization.shops import A_DAY, BACK_A_WEEK, LIMITED, SEPARATE, Holder, new_holder, with_prices
from tests.cards.issuer import DAY, EUR, Issuer
from tests.kit.logs import Lines
from tests.kit.time import run_schedule

pytestmark = pytest.mark.faults


@pytest.fixture(scope="module")
def issuer(issuer: Issuer) -> Iterator[Issuer]:
    yield with_prices(issuer)
    prove_ledger(issuer.hub.store)


@pytest.fixture(autouse=True)
def no_holds_remain(issuer: Issuer) -> Iterator[None]:
    yield
    issuer.clock.advance(HOLD_SECONDS)
    expire(issuer)
    assert waiting(issuer) == []


def expire(issuer: Issuer) -> int:
    return issuer.hub.cards.call(expire_holds)


def waiting(issuer: Issuer) -> list[int]:
    return sorted(row["id"] for row in issuer.hub.store.scan("card-activity") if "due_shard" in row)


def links_of_holds(card: Holder, *amounts: int) -> list[str]:
    return [str(card.authorize(amount)["trans_link"]) for amount in amounts]


# -- when


def test_a_hold_expires_after_exactly_seven_days(issuer: Issuer) -> None:
    card = new_holder(issuer, 100_00, **LIMITED, card_fee_group_id=SEPARATE)
    [link] = links_of_holds(card, 40_00)
    assert (waiting(issuer), card.record(link).due_at) == ([int(link)], issuer.clock.time() + 7 * DAY)

    issuer.clock.advance(7 * DAY - 1)
    assert (expire(issuer), card.hold(link)) == (0, ("H", 40_00, 40_70))
    issuer.clock.advance(1)
    assert (expire(issuer), expire(issuer)) == (1, 0)

    assert (card.hold(link), card.balances()) == (("X", 0, 0), (100_00, 0, 0, 100_00))
    assert (card.limit_usage(A_DAY), waiting(issuer)) == ([(0, 0)], [])
    assert card.movement_causes() == ["authorization", "hold over"]


def test_an_increment_restarts_the_seven_days_of_a_hold(issuer: Issuer) -> None:
    card = new_holder(issuer, 100_00)
    [link] = links_of_holds(card, 40_00)

    for _ in range(2):
        issuer.clock.advance(6 * DAY)
        assert card.increment(link, 10_00)["response_code"] == "00"
        assert expire(issuer) == 0
    issuer.clock.advance(7 * DAY - 1)
    assert expire(issuer) == 0
    issuer.clock.advance(1)

    assert (expire(issuer), card.hold(link)) == (1, ("X", 0, 0))
    assert card.balances() == (100_00, 0, 0, 100_00)


def test_a_clearing_a_reversal_or_a_declined_increment_does_not_extend_a_hold(issuer: Issuer) -> None:
    card = new_holder(issuer, 100_00)
    [link] = links_of_holds(card, 40_00)

    issuer.clock.advance(6 * DAY)
    card.clear(link, 10_00, final=0)
    card.reverse(link, 5_00)
    assert card.increment(link, 500_00)["response_code"] == "51"
    issuer.clock.advance(DAY)

    assert (expire(issuer), card.hold(link)) == (1, ("X", 0, 0))
    assert card.balances() == (90_00, 0, 0, 90_00)


def test_cleared_reversed_and_expired_holds_are_removed_from_the_due_time_index(issuer: Issuer) -> None:
    card = new_holder(issuer, 100_00)
    links = links_of_holds(card, 10_00, 10_00, 10_00)
    declined = card.request_authorization(500_00)
    card.authorize(0, transaction_type=39)
    assert waiting(issuer) == [int(link) for link in links]

    card.clear(links[0], 10_00)
    card.reverse(links[1])
    issuer.data("simulateExpiry", trans_link=links[2])
    card.clear(declined["trans_link"], 5_00)
    issuer.clock.advance(7 * DAY)

    assert (waiting(issuer), expire(issuer)) == ([], 0)
    assert card.balances() == (85_00, 0, 0, 85_00)


def test_a_credit_authorization_expires_without_a_ledger_movement(issuer: Issuer) -> None:
    card = new_holder(issuer, 100_00, **LIMITED)
    link = str(card.authorize(10_00, transaction_type=20)["trans_link"])

    issuer.clock.advance(7 * DAY)

    assert expire(issuer) == 1
    assert card.hold(link) == ("X", 0, 0)
    assert card.movement_causes() == []
    assert card.limit_usage(BACK_A_WEEK) == [(0, 0)]


def test_holds_of_blocked_cards_and_suspended_accounts_expire(issuer: Issuer) -> None:
    card = new_holder(issuer, 100_00)
    links_of_holds(card, 40_00)
    issuer.data("changeCardStatus", card_id=card.card_id, status="B")
    issuer.data("changeAccountStatus", account_id=card.account, account_status="S")

    issuer.clock.advance(7 * DAY)

    assert (expire(issuer), card.balances()) == (1, (100_00, 0, 0, 100_00))


def test_the_expiry_of_a_partly_used_foreign_hold_releases_the_whole_held_amount(issuer: Issuer) -> None:
    card = new_holder(issuer, 100_00, card_fee_group_id=SEPARATE)
    link = str(card.authorize(9_99, EUR)["trans_link"])
    card.reverse(link, 3_33)
    card.clear(link, 1_11, EUR, final=0)

    issuer.clock.advance(7 * DAY)

    assert expire(issuer) == 1
    assert card.balances()[1] == 0
    assert card.hold(link) == ("X", 0, 0)


# -- what is recorded


def test_the_expiry_of_a_hold_records_a_separate_message(issuer: Issuer) -> None:
    card = new_holder(issuer, 100_00)
    [link] = links_of_holds(card, 40_00)
    issuer.clock.advance(7 * DAY)

    expire(issuer)

    owner = ("owner", f"card#{card.card_id}")
    first, last = issuer.hub.store.rows("card-activity", owner, sort_prefix=("part", "activity#"))
    assert last["authorize_type"] == 5
    assert last["reversal"] == 1
    assert last["actual"] == 1
    assert last["response_code"] == "00"
    assert last["transaction_amount"] == 40_00
    assert last["holder_amount"] == 40_00
    assert last["advice_reason_code"] == 2
    assert (last["trans_link"], last["transmission_time"]) == (link, issuer.clock.time())
    assert (last["authorize_id"] > first["authorize_id"], last["at"]) == (True, issuer.clock.time() * 1000)


def test_the_expiry_of_a_hold_sends_the_programme_manager_one_event(issuer: Issuer) -> None:
    card = new_holder(issuer, 100_00)
    manager_id = card.record(*links_of_holds(card, 40_00)).manager_id
    links = [f"{number:012}" for number in waiting(issuer)]
    with issuer.causeway.manager_wants_events(manager_id):
        issuer.clock.advance(7 * DAY)
        with issuer.causeway.meanwhile("transact", lambda: card.clear(None, 1_00)):
            assert (expire(issuer), hold_events(issuer, manager_id)) == (0, [])
        assert expire(issuer) == 1
        known = issuer.causeway.recorded("card_event")
        [event] = [data for data in hold_events(issuer, manager_id) if data["authorize_type"] == 5]
    issuer.hub.cards.programmes.cache.pop(manager_id, None)

    assert [event["trans_link"]] == links
    assert event["card_id"] == card.card_id
    assert event["account_id"] == card.account
    assert event["available_balance"] == 99_00
    assert {each.delivery_id for each in known} <= set(issuer.causeway.queued())


def hold_events(issuer: Issuer, manager_id: int) -> list[Any]:
    found = [each for each in issuer.causeway.recorded("card_event") if each.manager_id == manager_id]
    found = [each for each in found if each.topic == "card.authorization"]
    return [
        jsontext.loads(issuer.hub.delivery.bodies.open(each.delivery_id, BODY, each.body_parts))["data"]
        for each in found
    ]


def test_the_hold_expiry_job_logs_the_number_of_released_holds(issuer: Issuer, lines: Lines) -> None:
    card = new_holder(issuer, 100_00)
    links_of_holds(card, 10_00, 20_00)
    assert hub() is issuer.hub

    for seconds in (7 * DAY - 1, 1, 1):
        issuer.clock.advance(seconds)
        run_schedule(jobs.finish)

    assert [line["holds"] for line in lines.all() if line["message"] == "holds released"] == [2]
    assert card.balances() == (100_00, 0, 0, 100_00)


# -- what is in the way


def test_a_failed_release_is_retried_after_a_minute_while_other_holds_expire(
    issuer: Issuer, monkeypatch: pytest.MonkeyPatch, lines: Lines
) -> None:
    card = new_holder(issuer, 100_00)
    others = [new_holder(issuer, 100_00) for _ in range(2)]
    [link] = links_of_holds(card, 10_00)
    links = [*links_of_holds(others[0], 20_00), *links_of_holds(others[1], 20_00)]
    real = hold_release.release

    def release(read: Any, catalogue: Any, authorization: Any, *rest: Any) -> ActionOutcome[Released]:
        if authorization.trans_link == link:
            raise RuntimeError("what nobody has thought of")
        return real(read, catalogue, authorization, *rest)

    issuer.clock.advance(7 * DAY)
    with monkeypatch.context() as patched:
        patched.setattr(hold_release, "release", release)
        assert expire(issuer) == 2
    assert [each.hold(one)[0] for each, one in zip(others, links, strict=True)] == ["X", "X"]
    assert (card.hold(link), "hold not finished" in lines.text) == (("H", 10_00, 10_00), True)

    issuer.clock.advance(59)
    assert expire(issuer) == 0
    issuer.clock.advance(1)
    assert (expire(issuer), card.hold(link)) == (1, ("X", 0, 0))


def test_a_postponed_hold_can_be_cleared_or_increased(issuer: Issuer, monkeypatch: pytest.MonkeyPatch) -> None:
    card = new_holder(issuer, 100_00)
    collected, increased = links_of_holds(card, 10_00, 10_00)

    def release(*arguments: Any) -> ActionOutcome[Released]:
        raise RuntimeError("what nobody has thought of")

    issuer.clock.advance(7 * DAY)
    with monkeypatch.context() as patched:
        patched.setattr(hold_release, "release", release)
        assert expire(issuer) == 0
    card.clear(collected, 10_00)
    card.increment(increased, 5_00)
    issuer.clock.advance(60)

    assert expire(issuer) == 0
    assert card.hold(collected) == ("C", 0, 0)
    assert card.hold(increased) == ("H", 15_00, 15_00)
    assert card.record(increased).due_at == issuer.clock.time() - 60 + 7 * DAY


def test_a_failed_hold_release_preserves_the_due_time_set_by_a_concurrent_increment(
    issuer: Issuer, monkeypatch: pytest.MonkeyPatch
) -> None:
    card = new_holder(issuer, 100_00)
    [link] = links_of_holds(card, 10_00)

    def release(*arguments: Any) -> ActionOutcome[Released]:
        card.increment(link, 5_00)
        raise RuntimeError("what nobody has thought of")

    issuer.clock.advance(7 * DAY)
    with monkeypatch.context() as patched:
        patched.setattr(hold_release, "release", release)
        assert expire(issuer) == 0

    assert card.record(link).due_at == issuer.clock.time() + 7 * DAY
    assert card.hold(link) == ("H", 15_00, 15_00)


def test_a_concurrently_cleared_hold_is_not_released_again(issuer: Issuer) -> None:
    card = new_holder(issuer, 100_00)
    [link] = links_of_holds(card, 40_00)
    issuer.clock.advance(7 * DAY)

    with issuer.causeway.meanwhile("transact", lambda: card.clear(link, 30_00)):
        assert expire(issuer) == 0

    assert (card.hold(link), expire(issuer)) == (("C", 0, 0), 0)
    assert card.balances() == (70_00, 0, 0, 70_00)


def test_a_concurrently_increased_hold_does_not_expire(issuer: Issuer) -> None:
    card = new_holder(issuer, 100_00)
    [link] = links_of_holds(card, 40_00)
    issuer.clock.advance(7 * DAY)

    with issuer.causeway.meanwhile("transact", lambda: card.increment(link, 1_00)):
        assert expire(issuer) == 0

    assert (card.hold(link), expire(issuer)) == (("H", 41_00, 41_00), 0)


def test_a_hold_of_a_concurrently_debited_account_expires_in_the_next_run(issuer: Issuer) -> None:
    card = new_holder(issuer, 100_00)
    [link] = links_of_holds(card, 40_00)
    issuer.clock.advance(7 * DAY)

    with issuer.causeway.meanwhile("transact", lambda: card.clear(None, 5_00)):
        assert (expire(issuer), card.hold(link)[0]) == (0, "H")

    assert (expire(issuer), card.hold(link)) == (1, ("X", 0, 0))
    assert card.balances() == (95_00, 0, 0, 95_00)


@pytest.mark.parametrize("applied", [True, False])
def test_a_hold_is_released_once_although_the_storage_response_is_lost(issuer: Issuer, applied: bool) -> None:
    card = new_holder(issuer, 100_00)
    [link] = links_of_holds(card, 40_00)
    issuer.clock.advance(7 * DAY)

    with issuer.causeway.answer_lost("transact", applied=applied):
        expire(issuer)
    issuer.clock.advance(60)

    assert (expire(issuer), card.hold(link)) == (0 if applied else 1, ("X", 0, 0))
    assert (card.balances(), card.movement_causes().count("hold over")) == ((100_00, 0, 0, 100_00), 1)


def test_each_run_of_the_hold_expiry_job_releases_at_least_one_hold_of_an_account(issuer: Issuer) -> None:
    card = new_holder(issuer, 1_000_00)
    links = links_of_holds(card, *range(1_00, 6_00, 1_00))
    issuer.clock.advance(7 * DAY)

    released, runs = 0, 0
    while released < len(links):
        released, runs = released + expire(issuer), runs + 1
        assert runs <= len(links), "a run releases one of them at least"

    assert [card.hold(link) for link in links] == [("X", 0, 0)] * 5
    assert card.balances() == (1_000_00, 0, 0, 1_000_00)
