"""Tests of concurrent card use: no amount is spent or released twice, and the ledger is consistent."""

import itertools
import random
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any
from unittest.mock import patch

import pytest

from chalicelib.cards.authorization.hold_release import expire_holds
from chalicelib.cards.protocol.status_codes import Status
from chalicelib.foundation import context
from chalicelib.foundation.aws import calls
from chalicelib.foundation.dynamodb.store import Store
from infra.admin.ledger_verification import prove_ledger
from tests.cards.contest import CLIENTS, at_once, codes, decided, processes, race
from tests.cards.issuer import EUR, GBP, PIN, Envelope, Issuer, NewCard
from tests.kit.time import PATIENCE_SECONDS

pytestmark = [pytest.mark.dynamodb, pytest.mark.faults]

CARDS = 4
ENOUGH = 1_000_000
LOW_LIMITS, A_DAY = 203, 100_000
"""A card limit group of the demonstration programme, and the daily amount that the group permits."""
_HOLD_DAYS = 7
ASKERS = 64
SLOW = 0.02
"""The duration of a storage call in seconds. Storage executes the calls sequentially."""


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Disable the time limit of requests and raise timeouts, so that a slow database emulator does not end requests."""
    monkeypatch.setattr(context, "seconds_left", lambda: PATIENCE_SECONDS)
    for name in ("CONNECT_SECONDS", "READ_SECONDS"):
        monkeypatch.setattr(calls, name, PATIENCE_SECONDS)


@pytest.fixture
def issuers(new_issuer: Issuer) -> list[Issuer]:
    return processes(new_issuer)


def cards_of_one_account(issuer: Issuer, balance: int, **members: Any) -> list[NewCard]:
    first = issuer.spendable(balance, card_currency_ison=[EUR], **members)
    shared = {"account_id": [first.account_id], "account_owner_id": [first.holder_id], "holder_id": first.holder_id}
    return [first, *(issuer.card_in("A", **shared, **members) for _ in range(CARDS - 1))]


def asking(issuer: Issuer, action: str, **members: Any) -> Callable[[], Envelope]:
    return partial(issuer.sim, action, request_reference_id=issuer.reference(), **members)


def purchases(
    issuers: Sequence[Issuer], cards: Sequence[NewCard], amount: int, number: int = CLIENTS
) -> list[Callable[[], Envelope]]:
    use = {"transaction_type": 0, "amount": amount, "currency_ison": EUR}
    turns = itertools.islice(zip(itertools.cycle(issuers), itertools.cycle(cards), strict=False), number)
    return [asking(issuer, "simulateAuthorization", card_id=card.card_id, **use) for issuer, card in turns]


def outcomes(answers: Sequence[Envelope]) -> Counter[str]:
    assert codes(answers) == {None: len(answers)}
    return Counter(answer.data["response_code"] for answer in answers)


def check(issuer: Issuer) -> None:
    """Check the whole ledger sequentially, because the emulator is not thread-safe."""
    with patch("chalicelib.foundation.parallel.WIDTH", 1):
        prove_ledger(issuer.hub.store)


def listed(issuer: Issuer, card: NewCard) -> list[Any]:
    rows = issuer.hub.store.rows("card-activity", ("owner", f"card#{card.card_id}"), sort_prefix=("part", "activity#"))
    times = [row["at"] for row in rows]
    assert times == sorted(set(times))
    return rows


def authorized(issuer: Issuer, amount: int) -> tuple[NewCard, Any]:
    card = issuer.spendable(ENOUGH)
    return card, issuer.purchase(card.card_id, amount)


@pytest.mark.parametrize(("amount", "balance"), [(1_000, 1_000 * CLIENTS // 2 + 999), (7, 7 * CLIENTS + 7), (500, 499)])
def test_parallel_authorizations_are_approved_until_the_balance_is_used_up(
    issuers: list[Issuer], amount: int, balance: int
) -> None:
    issuer = issuers[0]
    cards = cards_of_one_account(issuer, balance)
    winners = min(CLIENTS, balance // amount)

    answers = race(purchases(issuers, cards, amount))

    expected = {"00": winners, "51": CLIENTS - winners}
    assert outcomes(answers) == {code: times for code, times in expected.items() if times}
    assert issuer.balances(cards[0].account_id) == (balance - winners * amount, balance, 0)
    assert sum(len(listed(issuer, card)) for card in cards) == CLIENTS
    check(issuer)


def test_every_authorization_on_slow_storage_is_decided_in_time_and_has_one_row(issuers: list[Issuer]) -> None:
    """Authorizations that take too long are declined while many requests use one card."""
    issuer = issuers[0]
    card = issuer.spendable(ENOUGH)
    members = {"card_id": card.card_id, "transaction_type": 0, "amount": 700, "currency_ison": EUR}
    calls = [
        asking(each, "simulateAuthorization", **members) for each in itertools.islice(itertools.cycle(issuers), ASKERS)
    ]
    call = Store.call_once

    def slow(store: Store, *arguments: Any, **request: Any) -> Any:
        for each in issuers:
            each.clock.advance(SLOW)
        return call(store, *arguments, **request)

    with patch.object(Store, "call_once", slow):
        answers = at_once(calls)

    found = outcomes(answers)
    assert found["00"] + found["91"] == ASKERS
    assert min(found.values()) > 0
    spent = 700 * found["00"]
    assert issuer.balances(card.account_id) == (ENOUGH - spent, ENOUGH, 0)
    issuer.clock.advance(60)
    for task in issuer.causeway.queued():
        issuer.hub.delivery.worker.attempt(task)
    issuer.hub.cards.call(expire_holds)
    least = {"date_from": 0, "date_to": issuer.clock.time() + 3600, "item_count": 100}
    rows = issuer.data("getCardsActivity", card_id=card.card_id, **least)
    assert Counter(row["response_code"] for row in rows) == found
    assert {row["authorize_id"] for row in rows} == {answer.data["authorize_id"] for answer in answers}
    check(issuer)


def test_parallel_authorizations_never_exceed_a_limit(issuers: list[Issuer]) -> None:
    issuer = issuers[0]
    card = issuer.spendable(ENOUGH, card_limit_group_id=LOW_LIMITS)

    answers = race(purchases(issuers, [card], A_DAY // 10))

    assert outcomes(answers) == {"00": 10, "61": CLIENTS - 10}
    assert issuer.balances(card.account_id)[0] == ENOUGH - A_DAY
    check(issuer)


def test_parallel_identical_authorizations_are_executed_once(issuers: list[Issuer]) -> None:
    issuer = issuers[0]
    card = issuer.spendable(ENOUGH)
    use = {"card_id": card.card_id, "transaction_type": 0, "amount": 700, "currency_ison": EUR}
    members = {**use, "request_reference_id": issuer.reference()}

    answers = race([partial(each.sim, "simulateAuthorization", **members) for each in issuers * 6])

    assert outcomes(answers) == {"00": len(answers)}
    assert sorted(answer.duplicated for answer in answers) == [0] + [1] * (len(answers) - 1)
    assert len({answer.raw.replace('"duplicated":0', '"duplicated":1') for answer in answers}) == 1
    assert issuer.balances(card.account_id)[0] == ENOUGH - 700
    assert len(listed(issuer, card)) == 1
    check(issuer)


def test_a_clearing_a_reversal_and_an_expiry_in_parallel_release_a_hold_once(issuers: list[Issuer]) -> None:
    issuer = issuers[0]
    card, hold = authorized(issuer, 6_000)
    for each in issuers:
        each.clock.advance(_HOLD_DAYS * 24 * 3600)
    link = {"trans_link": hold["trans_link"]}
    collection = {**link, "amount": 4_000, "currency_ison": EUR, "request_reference_id": issuer.reference()}
    collections = [partial(each.sim, "simulateClearing", **collection) for each in issuers]
    reversals = [asking(each, "simulateReversal", **link) for each in issuers]
    expiries = [asking(each, "simulateExpiry", **link) for each in issuers]
    asked: list[Callable[[], Envelope]] = [*collections, *reversals, *expiries]
    schedules: list[Callable[[], Any]] = [partial(each.hub.cards.call, expire_holds) for each in issuers]

    answers: list[Any] = at_once([*(partial(decided, call) for call in asked), *schedules])

    collected, abandon = answers[: len(issuers)], answers[len(issuers) : -len(issuers)]
    released = [answer.data["released_amount"] for answer in abandon if answer.status_code is None]
    assert codes(collected) == {None: len(issuers)}
    assert len({answer.data["transaction_id"] for answer in collected}) == 1
    assert codes(abandon).keys() <= {None, Status.WRONG_STATE}
    assert sum(released) + collected[0].data["released_amount"] in (0, 6_000), "or the schedule was first"
    rows = issuer.hub.store.rows("ledger", ("owner", f"account#{card.account_id}"), sort_prefix=("part", "movement#"))
    ends = [amount for row in rows for book, _, amount in row["entries"] if book.endswith(":held") and amount < 0]
    assert ends == [-6_000]
    assert issuer.balances(card.account_id) == (ENOUGH - 4_000, ENOUGH - 4_000, 0)
    check(issuer)


def test_parallel_partial_reversals_and_clearings_release_exactly_the_whole_hold(issuers: list[Issuer]) -> None:
    issuer = issuers[0]
    card, hold = authorized(issuer, 100 * CLIENTS)
    link, part = {"trans_link": hold["trans_link"]}, 100
    ways: list[dict[str, Any]] = [
        {"action": "simulateReversal", "amount": part},
        {"action": "simulateClearing", "amount": part, "currency_ison": EUR, "final": 0},
    ]
    turns = itertools.islice(zip(itertools.cycle(issuers), itertools.cycle(ways), strict=False), CLIENTS)

    answers = race([asking(each, **link, **way) for each, way in turns])

    assert codes(answers) == {None: CLIENTS}
    assert {answer.data["released_amount"] for answer in answers} == {part}
    spent = part * CLIENTS // 2
    assert issuer.balances(card.account_id) == (ENOUGH - spent, ENOUGH - spent, 0)
    check(issuer)


def test_parallel_disputes_of_a_transaction_are_opened_once_and_closed_once(issuers: list[Issuer]) -> None:
    issuer = issuers[0]
    card, hold = authorized(issuer, 6_000)
    number = issuer.clearing(hold, 6_000)["transaction_id"]

    opened = race([asking(each, "simulateDispute", transaction_id=number, step="opened") for each in issuers * 4])
    steps = itertools.cycle(["won", "lost"])
    ended = race(
        [
            asking(each, "simulateDispute", transaction_id=number, step=step)
            for each, step in zip(issuers * 4, steps, strict=False)
        ]
    )

    assert codes(opened) == {None: 1, Status.WRONG_STATE: len(opened) - 1}
    assert codes(ended) == {None: 1, Status.FINAL: len(ended) - 1}
    (won,) = [index % 2 == 0 for index, answer in enumerate(ended) if answer.status_code is None]
    left = ENOUGH - (0 if won else 6_000)
    assert issuer.balances(card.account_id) == (left, left, 0)
    check(issuer)


def test_parallel_refunds_and_disputes_never_credit_more_than_was_cleared(issuers: list[Issuer]) -> None:
    issuer = issuers[0]
    card, hold = authorized(issuer, 5_000)
    number = issuer.clearing(hold, 5_000)["transaction_id"]
    refund = {"trans_link": hold["trans_link"], "amount": 700, "currency_ison": EUR}
    calls = [asking(each, "simulateRefund", **refund) for each in issuers * 3]
    calls += [asking(each, "simulateDispute", transaction_id=number, step="opened", amount=1_500) for each in issuers]

    answers = race(calls)

    refunds, disputes = answers[: 3 * len(issuers)], answers[3 * len(issuers) :]
    given = 700 * codes(refunds)[None] + 1_500 * codes(disputes)[None]
    assert 5_000 - 700 < given <= 5_000
    assert codes(answers).keys() <= {None, Status.MORE_THAN_ORIGINAL, Status.WRONG_STATE}
    assert issuer.balances(card.account_id)[1] == ENOUGH - 5_000 + given
    check(issuer)


def test_parallel_purchases_with_wrong_pins_block_the_pin(issuers: list[Issuer]) -> None:
    issuer = issuers[0]
    card = issuer.spendable(ENOUGH, card_virtual=0, card_pin=PIN)
    use = {"card_id": card.card_id, "transaction_type": 0, "amount": 100, "currency_ison": EUR}
    calls = [
        asking(each, "simulateAuthorization", **use, pin=pin)
        for each, pin in zip(itertools.cycle(issuers), issuer.wrong_pins(card.card_id, CLIENTS), strict=False)
    ]

    answers = race(calls)

    assert outcomes(answers) == {"55": 2, "75": CLIENTS - 2}
    assert issuer.authorization(**use, pin=PIN)["response_code"] == "75"
    assert issuer.balances(card.account_id)[0] == ENOUGH
    check(issuer)


def test_balances_equal_the_sums_of_their_ledger_rows_after_mixed_parallel_card_use(issuers: list[Issuer]) -> None:
    issuer, dice = issuers[0], random.Random(11)
    cards = [*cards_of_one_account(issuer, 40_000), issuer.spendable(40_000, card_currency_ison=[GBP, EUR])]
    address = issuer.address(cards[0].account_id, method=2)
    holds = [issuer.purchase(card.card_id, 800)["trans_link"] for card in cards for _ in range(3)]
    collected = {"amount": 300, "currency_ison": EUR}
    bought = [issuer.data("simulateClearing", card_id=card.card_id, **collected) for card in cards for _ in range(2)]

    def one(each: Issuer, number: int) -> Callable[[], Envelope]:
        card, link = dice.choice(cards), dice.choice(holds)
        currency = dice.choice([EUR, GBP])
        use = {"card_id": card.card_id, "transaction_type": 0, "amount": 900, "currency_ison": currency}
        about = dice.choice(bought)
        ways: list[Callable[[], Envelope]] = [
            asking(each, "simulateAuthorization", **use),
            asking(each, "simulateAuthorization", **use | {"amount": 30_000}, partial_approval=1),
            asking(each, "simulateIncrement", trans_link=link, amount=250),
            asking(each, "simulateReversal", trans_link=link, amount=200),
            asking(each, "simulateExpiry", trans_link=link),
            asking(each, "simulateClearing", trans_link=link, amount=150, currency_ison=currency, final=0),
            asking(each, "simulateRefund", trans_link=about["trans_link"], amount=100, currency_ison=EUR),
            asking(
                each, "simulateDispute", transaction_id=about["transaction_id"], step=dice.choice(["opened", "lost"])
            ),
            partial(each.transfer, address, 400, request_reference_id=each.reference()),
        ]
        return ways[number % len(ways)]

    calls = [one(each, number) for number, each in enumerate(itertools.islice(itertools.cycle(issuers), 4 * CLIENTS))]
    answers = [answer for start in range(0, len(calls), CLIENTS) for answer in race(calls[start : start + CLIENTS])]

    assert Status.INTERNAL not in codes(answers)
    assert codes(answers)[None] > CLIENTS
    for card in cards:
        listed(issuer, card)
    check(issuer)
    for each in issuers:
        each.clock.advance((_HOLD_DAYS + 1) * 24 * 3600)
    while at_once([lambda: issuers[0].hub.cards.call(expire_holds)]) != [0]:
        pass
    mine = {card.card_id for card in cards}
    assert not [row for row in issuer.hub.store.scan("card-activity") if row.get("held") and row["card_id"] in mine]
    check(issuer)
