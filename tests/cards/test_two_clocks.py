"""Tests of limits, holds, payments and card lists in two processes with clocks that differ by five seconds."""

from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from chalicelib.cards.authorization.hold_release import expire_holds
from chalicelib.cards.protocol.values import HOLD_SECONDS
from chalicelib.foundation.clock import CLOCK_SKEW_SECONDS
from tests.cards.authorization.shops import A_DAY, LIMITED, NO_LIMITS, OF_ACCOUNT, Holder, new_holder, with_prices
from tests.cards.issuer import DAY, EUR, Issuer
from tests.cards.stored_money import movements

pytestmark = pytest.mark.dynamodb

AROUND_MIDNIGHT = pytest.mark.parametrize("second", [-3, 3])
"""The seconds before or after midnight at which only one of the two processes has reached the next day."""


@pytest.fixture(params=[CLOCK_SKEW_SECONDS, -CLOCK_SKEW_SECONDS], ids=["ahead", "behind"])
def ahead(request: pytest.FixtureRequest) -> float:
    return float(request.param)


def advance_to(issuer: Issuer, moment: str, second: int = 0) -> None:
    issuer.clock.advance(datetime.fromisoformat(moment).replace(tzinfo=UTC).timestamp() + second - issuer.clock.time())


# -- windows


@AROUND_MIDNIGHT
@pytest.mark.parametrize(
    ("window", "groups", "midnight", "amount", "most"),
    [
        (A_DAY, LIMITED, "2026-03-03", 10_00, 5),
        (OF_ACCOUNT, NO_LIMITS | {"account_limit_group_id": 212}, "2026-04-01", 40_00, 4),
    ],
    ids=["a day", "a month"],
)
def test_amounts_counted_in_a_limit_window_never_exceed_the_limit(
    new_issuer: Issuer,
    ahead: float,
    second: int,
    window: str,
    groups: dict[str, int],
    midnight: str,
    amount: int,
    most: int,
) -> None:
    """A movement counts once: in the current window of the process, or in a later window that has already begun."""
    user = new_holder(with_prices(new_issuer), **groups)
    advance_to(new_issuer, midnight, second)
    beside = replace(user, issuer=user.issuer.with_clock_ahead(ahead))

    answers = [each.request_authorization(amount) for _ in range(2 * most + 1) for each in (user, beside)]

    counted = [window_of(user, answer, window) for answer in answers if answer["response_code"] == "00"]
    assert counted == sorted(counted)
    assert max(Counter(counted).values()) == Counter(counted)[counted[-1]] == most
    assert user.limit_usage(window)[0][0] == most


def window_of(user: Holder, answer: Any, window: str) -> int:
    counted = user.record(answer["trans_link"]).counted or {}
    [start] = {each["start"] for shares in counted.values() for each in shares if each["key"] == window}
    return int(start)


@AROUND_MIDNIGHT
def test_wrong_cvc2s_in_two_processes_block_the_correct_cvc2_for_a_day(
    new_issuer: Issuer, ahead: float, second: int
) -> None:
    card = new_issuer.card_in("A")
    wrong = "000" if card.cvc2 != "000" else "111"
    guess = {"card_id": card.card_id, "transaction_type": 39, "amount": 0, "currency_ison": EUR}
    advance_to(new_issuer, "2026-03-03", second)
    issuers = new_issuer, new_issuer.with_clock_ahead(ahead)

    for each in issuers * 6:
        each.authorization(**guess, cvc2=wrong)

    assert {each.authorization(**guess, cvc2=card.cvc2)["response_code"] for each in issuers} == {"N7"}
    new_issuer.clock.advance(DAY + 2 * CLOCK_SKEW_SECONDS)
    assert {each.authorization(**guess, cvc2=card.cvc2)["response_code"] for each in issuers} == {"00"}


# -- times


def test_scheduled_hold_expiry_uses_the_clock_of_the_process_that_runs_the_job(
    new_issuer: Issuer, ahead: float
) -> None:
    user, other = new_holder(with_prices(new_issuer)), new_issuer.with_clock_ahead(ahead)
    link = user.authorize(40_00)["trans_link"]
    until = new_issuer.clock.time() + HOLD_SECONDS

    new_issuer.clock.advance(until - 1 - other.clock.time())
    assert (other.hub.cards.call(expire_holds), user.hold(link)[0]) == (0, "H")
    new_issuer.clock.advance(1)
    assert (other.hub.cards.call(expire_holds), user.hold(link)[0]) == (1, "X")


# -- order


def test_account_entries_of_two_processes_are_in_chronological_order(new_issuer: Issuer, ahead: float) -> None:
    user = new_holder(with_prices(new_issuer))
    beside = replace(user, issuer=user.issuer.with_clock_ahead(ahead))

    for first, second in ((user, beside), (beside, user)):
        second.reverse(first.authorize(10_00)["trans_link"])

    assert user.movement_causes() == ["authorization", "reversal"] * 2
    times = [row["at"] for row in movements(new_issuer, user.account)]
    assert times == sorted(set(times))
    listed = user.issuer.data("getCardsActivity", card_id=user.card_id, date_from=0, date_to=10**10, item_count=9)
    assert [row["authorize_type"] for row in listed] == [1, 4] * 2
