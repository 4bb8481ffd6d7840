"""Tests of refunds, which never exceed the cleared amount, for any division into parts and any rounding."""

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from chalicelib.cards.ledger.conversion import ClearedAmount, Conversion, conversion
from chalicelib.cards.programs.catalogue import Catalogue, Rate

EUR, JPY, KWD = 978, 392, 414
RATES = st.decimals("0.0001", "300", places=4)
MARKUPS = st.decimals("0", "50", places=2)
PARTS = st.lists(st.integers(1, 500), min_size=1, max_size=30)
PAIRS = st.sampled_from([(JPY, EUR), (EUR, JPY), (EUR, KWD)])


def converted(amount: int, rate: Decimal, markup: Decimal, of: int, to: int, *, debit: bool) -> Conversion:
    made = conversion(Catalogue(1, "", rates={(of, to): Rate(rate, markup)}), amount, of, to, debit=debit)
    assert made is not None
    return made


class Shop:
    def __init__(self, parts: list[int], rate: Decimal, markup: Decimal, of: int, to: int) -> None:
        self.markup, self.pair = markup, (of, to)
        taken = [converted(part, rate, markup, of, to, debit=True) for part in parts]
        self.state = ClearedAmount.of_clearing(taken[0])
        for each in taken[1:]:
            self.state = self.state.add_clearing(each)

    def gives_back(self, amount: int, rate: Decimal) -> Conversion:
        taken, brought = (
            converted(self.state.amount, rate, self.markup, *self.pair, debit=debit) for debit in (True, False)
        )
        made = self.state.convert_refund(amount, taken, brought)
        assert made.amount == amount
        assert made.holder_amount + made.fee == made.base_amount
        assert min(made.holder_amount, made.fee) >= 0
        self.state = self.state.add_refund(made)
        return made

    @property
    def debited(self) -> int:
        return self.state.debited


def test_sixty_refunds_of_one_yen_each_credit_exactly_the_38_cents_of_the_purchase() -> None:
    rate = Decimal("0.0063")
    shop = Shop([60], rate, Decimal(0), JPY, EUR)

    brought = [shop.gives_back(1, rate).holder_amount for _ in range(60)]

    assert (shop.debited, sum(brought)) == (38, 38)
    assert [sum(brought[:count]) for count in range(61)] == [38 * count // 60 for count in range(61)]


@settings(max_examples=200)
@given(PARTS, PARTS, RATES, PAIRS)
@example([3], [1, 1, 1], Decimal("0.0060"), (JPY, EUR))
@example([1, 1, 1], [1, 1, 1], Decimal("0.0060"), (JPY, EUR))
def test_the_last_refund_credits_the_remainder_at_unchanged_rates(
    collected: list[int], refunds: list[int], rate: Decimal, pair: tuple[int, int]
) -> None:
    shop = Shop(collected, rate, Decimal(0), *pair)
    total = 0

    for each in [*refunds, sum(collected)]:
        amount = min(each, shop.state.left)
        if amount:
            total += shop.gives_back(amount, rate).holder_amount
            assert total == shop.debited * shop.state.given_back // shop.state.amount

    assert total == shop.debited


@settings(max_examples=200)
@given(st.lists(st.tuples(st.booleans(), st.integers(1, 500)), max_size=30), st.integers(1, 500), RATES, PAIRS)
@example([(False, 5), *[(True, 1)] * 10], 10, Decimal("0.0063"), (JPY, EUR))
def test_the_last_refund_credits_the_remainder_after_clearings_between_refunds(
    moves: list[tuple[bool, int]], first: int, rate: Decimal, pair: tuple[int, int]
) -> None:
    shop = Shop([first], rate, Decimal(0), *pair)

    for is_clearing, number in moves:
        amount = min(number, shop.state.left)
        if is_clearing:
            shop.state = shop.state.add_clearing(converted(number, rate, Decimal(0), *pair, debit=True))
        elif amount:
            shop.gives_back(amount, rate)
            assert shop.state.credited <= shop.debited
    if shop.state.left:
        shop.gives_back(shop.state.left, rate)
        assert shop.state.credited == shop.debited


def test_refunds_credit_the_remainder_after_a_dispute_of_less_than_one_minor_unit() -> None:
    """The rate is 0.50 EUR per yen. A dispute of 0.25 EUR equals half a yen, which is rounded to one yen."""
    rate = Decimal("0.5")
    shop = Shop([10], rate, Decimal(0), JPY, EUR)
    shop.state = shop.state.give_back(1, 25)

    brought = [shop.gives_back(1, rate).holder_amount for _ in range(9)]

    assert brought == [75] + [50] * 8


def test_a_later_refund_does_not_compensate_an_earlier_worse_rate() -> None:
    shop = Shop([20_00], Decimal(2), Decimal(0), EUR, KWD)

    brought = [shop.gives_back(10_00, Decimal(rate)).holder_amount for rate in (1, 2)]

    assert brought == [10_00 * 10, 20_00 * 10]


@settings(max_examples=200)
@given(PARTS, PARTS, RATES, MARKUPS, PAIRS)
def test_partial_refunds_credit_the_same_amount_as_one_refund(
    collected: list[int], refunds: list[int], rate: Decimal, markup: Decimal, pair: tuple[int, int]
) -> None:
    parts, whole = (Shop(collected, rate, markup, *pair) for _ in range(2))
    total = 0

    for each in [*refunds, sum(collected)]:
        amount = min(each, parts.state.left)
        total += parts.gives_back(amount, rate).holder_amount if amount else 0

    assert total == whole.gives_back(sum(collected), rate).holder_amount


@settings(max_examples=200)
@given(PARTS, st.lists(st.tuples(st.integers(1, 300), RATES), min_size=1, max_size=30), RATES, MARKUPS, PAIRS)
def test_refunds_at_any_rates_credit_at_most_their_share_of_the_debited_amount(
    collected: list[int], refunds: list[tuple[int, Decimal]], rate: Decimal, markup: Decimal, pair: tuple[int, int]
) -> None:
    shop = Shop(collected, rate, markup, *pair)
    total = 0

    for each, now in refunds:
        amount = min(each, shop.state.left)
        if amount:
            total += shop.gives_back(amount, now).holder_amount
            assert total <= Fraction(shop.debited * shop.state.given_back, shop.state.amount)


@pytest.mark.parametrize(("now", "brought"), [("0.5", 5_00), ("1", 10_00), ("2", 10_00)])
def test_a_refund_uses_the_rate_of_its_day_up_to_the_debited_amount(now: str, brought: int) -> None:
    shop = Shop([20_00], Decimal(1), Decimal(0), EUR, KWD)

    made = shop.gives_back(10_00, Decimal(now))

    assert (made.holder_amount, made.base_rate) == (brought * 10, Decimal(now))


def test_a_refund_in_the_accounts_currency_credits_the_requested_amount() -> None:
    same = conversion(Catalogue(1, ""), 100, EUR, EUR, debit=False)
    assert same is not None

    made = ClearedAmount.of_clearing(same).give_back(30, 30).convert_refund(20, same, same)

    assert made.amount == 20
    assert made.base_amount == 20
    assert made.holder_amount == 20
    assert made.fee == 0


def test_clearings_at_several_rates_are_refunded_at_the_rate_of_the_refund() -> None:
    shop = Shop([10_00], Decimal(1), Decimal(0), EUR, KWD)
    shop.state = shop.state.add_clearing(converted(10_00, Decimal(2), Decimal(0), EUR, KWD, debit=True))

    assert (shop.debited, shop.state.rate) == (300_00, None)
    assert shop.gives_back(10_00, Decimal(1)).holder_amount == 100_00
    assert shop.gives_back(10_00, Decimal(3)).holder_amount == 200_00
