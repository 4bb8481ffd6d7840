"""Tests of simulateRefund: refunds credit at most the cleared amount, and only to accounts that accept credits."""

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chalicelib.cards.authorization.authorization_record import Authorization
from chalicelib.cards.protocol.states import AUTHORIZATION_STATES, CARD_STATES
from chalicelib.foundation.dynamodb.store import Put
from infra.admin.ledger_verification import prove_ledger
from tests.cards.authorization.shops import (
    A_DAY,
    BACK_A_WEEK,
    BLENDED,
    BLENDING,
    DINAR,
    LIMITED,
    NOT_BLENDING,
    SEPARATE,
    YEN,
    Holder,
    content,
    new_holder,
    with_prices,
)
from tests.cards.issuer import BRITAIN, EUR, GBP, USD, Issuer
from tests.cards.programmes import loaded
from tests.cards.stored_money import entries, movements

REFUND = "simulateRefund"
FRANCE = 250


@pytest.fixture(scope="module")
def issuer(issuer: Issuer) -> Iterator[Issuer]:
    yield with_prices(issuer)
    prove_ledger(issuer.hub.store)


def bought(card: Holder, amount: int, currency: int = GBP, **members: Any) -> str:
    link = str(card.authorize(amount, currency)["trans_link"])
    card.clear(link, amount, currency, **members)
    return link


# -- what was collected is given back


def test_a_refund_credits_the_settled_balance_and_releases_nothing(issuer: Issuer) -> None:
    card = new_holder(issuer, 100_00)
    link = bought(card, 30_00)

    answer = card.refund(link, 10_00)

    assert answer == {
        "transaction_id": answer["transaction_id"],
        "trans_link": link,
        "holder_amount": 10_00,
        "released_amount": 0,
        "available_balance": 80_00,
        "settled_balance": 80_00,
    }
    assert (card.balances(), card.hold(link)) == ((80_00, 0, 0, 80_00), ("C", 0, 0))
    row = movements(issuer, card.account)[-1]
    assert (row["cause"], row["authorization_id"]) == ("credit", int(link))
    assert entries(row) == {("settled", GBP): 10_00, ("network", GBP): -10_00}


def test_a_refund_transaction_is_a_credit_with_the_link_of_the_purchase(issuer: Issuer) -> None:
    card = new_holder(issuer)
    asked = card.authorize(30_00, merchant_name="Shop", mcc="5411", entry_mode_type=5)
    card.clear(asked["trans_link"], 30_00)

    card.refund(asked["trans_link"], 30_00, merchant_country_ison=FRANCE, merchant_name="Shop Returns")

    bill, back = card.transactions()
    members = ("mti", "function_code", "transaction_type", "direction", "amount", "currency", "holder_amount")
    assert [back[name] for name in members] == [1240, 200, 20, "credit", 30_00, GBP, 30_00]
    for name in ("trans_link", "authorization_id", "card_id", "entry_mode"):
        assert back[name] == bill[name]
    assert back["description"] == "Shop Returns"
    assert back["country"] == FRANCE
    assert "parent_id" not in back
    network = back["network"]
    assert network["proc_code"] == 200_000
    assert network["transaction_type"] == 20
    assert network["mcc"] == 5411
    assert (network["auth_code"], network["merchant_name"]) == (asked["auth_code"], "Shop Returns")


def test_a_refund_above_the_cleared_amount_returns_5004(issuer: Issuer) -> None:
    card = new_holder(issuer, 100_00)
    link = str(card.authorize(30_00)["trans_link"])
    for amount in (10_00, 15_00):
        card.clear(link, amount, final=0)

    codes = [card.submit(REFUND, link, amount).status_code for amount in (25_01, 20_00, 5_01, 5_00, 1)]

    assert codes == [5004, None, 5004, None, 5004]
    assert card.record(link).given_back == {str(GBP): 25_00}
    assert (card.balances(), card.hold(link)) == ((100_00, 5_00, 0, 95_00), ("H", 5_00, 5_00))
    card.clear(link, 40_00)
    assert [card.submit(REFUND, link, amount).status_code for amount in (40_01, 40_00)] == [5004, None]


def test_refunds_are_limited_to_the_cleared_amount_of_their_currency(issuer: Issuer) -> None:
    card = new_holder(issuer, 100_00)
    link = str(card.authorize(30_00)["trans_link"])
    card.clear(link, 10_00, final=0)
    card.clear(link, 20_00, EUR)

    asked = [(20_01, EUR), (10_01, GBP), (1, USD), (1, DINAR), (20_00, EUR), (1, EUR), (10_00, GBP)]

    codes = [card.submit(REFUND, link, amount, currency).status_code for amount, currency in asked]
    assert codes == [5004, 5004, 5003, 5003, None, 5004, None]
    assert card.balances()[0] == 100_00 - 16_40 + 15_60, "the mark-up is paid both ways"


@pytest.mark.parametrize("state", AUTHORIZATION_STATES)
def test_a_refund_of_an_uncleared_authorization_returns_4008(issuer: Issuer, state: str) -> None:
    card = new_holder(issuer, 100_00)
    link = str(card.request_authorization(500_00 if state == "D" else 5_00)["trans_link"])
    if state == "R":
        card.reverse(link)
    if state == "X":
        issuer.data("simulateExpiry", trans_link=link)
    if state == "C":
        card.clear(link, 5_00)

    assert card.record(link).state == state
    assert card.submit(REFUND, link, 5_00).status_code == (None if state == "C" else 4008)


def test_a_refund_of_a_credit_returns_4008(issuer: Issuer) -> None:
    card = new_holder(issuer)
    link = str(card.authorize(10_00, transaction_type=20)["trans_link"])
    card.clear(link, 10_00)
    unasked = str(card.refund(None, 10_00)["trans_link"])
    card.clear(unasked, 10_00)

    assert [card.submit(REFUND, each, 10_00).status_code for each in (link, unasked)] == [4008, 4008]


def test_two_concurrent_refunds_do_not_exceed_the_cleared_amount(issuer: Issuer) -> None:
    card = new_holder(issuer, 100_00)
    link = bought(card, 30_00)

    with issuer.causeway.meanwhile("transact", lambda: card.refund(link, 20_00)):
        assert card.submit(REFUND, link, 20_00).status_code == 5004

    assert card.balances()[0] == 90_00


def test_a_clearing_without_authorization_is_refunded_by_its_link(issuer: Issuer) -> None:
    card = new_holder(issuer, 100_00)
    link = str(card.clear(None, 30_00)["trans_link"])

    codes = [card.submit(REFUND, link, amount).status_code for amount in (30_01, 30_00, 1)]

    assert (codes, card.balances()[0]) == ([5004, None, 5004], 100_00)


# -- rounding


@pytest.fixture(scope="module")
def yen(issuer: Issuer) -> Issuer:
    """Return an issuer with a rate without mark-up that converts 60 yen to 37.8 pence, rounded to 38."""
    made = content(rates={(YEN, GBP): ("0.0063", "0"), (EUR, GBP): ("0.8", "0")})
    loaded(issuer.hub, made)
    return issuer.with_credential("yen", manager=made["id"])


def test_many_small_refunds_credit_no_more_than_the_purchase_debited(yen: Issuer) -> None:
    card = new_holder(yen, 100_00)
    link = bought(card, 60, YEN)
    assert card.balances()[0] == 100_00 - 38

    brought = [card.refund(link, 1, YEN)["holder_amount"] for _ in range(60)]

    assert [sum(brought[:count]) for count in range(61)] == [38 * count // 60 for count in range(61)]
    assert card.balances()[0] == 100_00
    assert card.submit(REFUND, link, 1, YEN).status_code == 5004


@settings(max_examples=6, derandomize=True, suppress_health_check=list(HealthCheck), database=None)
@given(
    collected=st.lists(st.integers(1, 400), min_size=1, max_size=3),
    refunds=st.lists(st.integers(1, 200), min_size=1, max_size=6),
    currency=st.sampled_from([YEN, EUR]),
    program=st.sampled_from([BLENDING, NOT_BLENDING]),
    has_mark_up=st.booleans(),
)
def test_refunds_credit_at_most_their_share_of_the_debited_amount(
    issuer: Issuer,
    yen: Issuer,
    collected: list[int],
    refunds: list[int],
    currency: int,
    program: int,
    has_mark_up: bool,
) -> None:
    card = new_holder(issuer if has_mark_up else yen, 100_00, card_program_id=program)
    link = str(card.authorize(1_00, currency)["trans_link"])
    for amount in collected:
        card.clear(link, amount, currency, final=0)
    before, given_back = card.balances()[0], 0

    for each in [*refunds, sum(collected)]:
        amount = min(each, sum(collected) - given_back)
        if amount:
            card.refund(link, amount, currency)
            given_back += amount
            assert card.balances()[0] - before <= (100_00 - before) * given_back // sum(collected)

    assert has_mark_up or card.balances()[0] == 100_00


def test_the_last_refund_credits_the_remaining_amount_after_clearings_between_refunds(yen: Issuer) -> None:
    card = new_holder(yen, 100_00)
    link = bought(card, 10, YEN)  # 6.3 pence, so 6
    assert card.refund(link, 5, YEN)["holder_amount"] == 3
    for _ in range(10):
        card.clear(link, 1, YEN)  # 0.63 pence, so 1

    assert card.refund(link, 15, YEN)["holder_amount"] == 13

    assert card.balances()[0] == 100_00


def test_two_concurrent_refunds_credit_no_more_than_the_purchase_debited(yen: Issuer) -> None:
    card = new_holder(yen, 100_00)
    link = bought(card, 3, YEN)  # 1.89 pence, so 2
    assert card.balances()[0] == 99_98

    with yen.causeway.meanwhile("transact", lambda: card.refund(link, 1, YEN)):
        assert card.refund(link, 1, YEN)["holder_amount"] == 1
    assert card.balances()[0] == 99_99
    card.refund(link, 1, YEN)

    assert card.balances()[0] == 100_00
    assert (card.record(link).debited, card.record(link).credited) == ({str(YEN): 2}, {str(YEN): 2})


def test_a_refund_at_a_better_rate_credits_the_same_amount_and_at_a_worse_rate_a_lower_amount(issuer: Issuer) -> None:
    made = content(rates={(YEN, GBP): ("0.0063", "0")})
    loaded(issuer.hub, made)
    issuer = issuer.with_credential("moving", manager=made["id"])
    card = new_holder(issuer, 100_00)
    better, worse = bought(card, 60, YEN), bought(card, 60, YEN)

    for rate, link, brought in (("0.0126", better, [19, 19]), ("0.00315", worse, [9, 10])):
        changed = content(made["id"], {(YEN, GBP): (rate, "0")})
        loaded(issuer.hub, changed)
        issuer.hub.cards.programmes.cache.clear()
        assert [card.refund(link, 30, YEN)["holder_amount"] for _ in range(2)] == brought


def test_a_dispute_and_refunds_credit_no_more_than_the_purchase_debited(yen: Issuer) -> None:
    card = new_holder(yen, 100_00)
    bill = card.clear(None, 60, YEN)
    link = bill["trans_link"]
    card.refund(link, 20, YEN)
    assert card.balances()[0] == 100_00 - 38 + 12

    assert card.submit_dispute(bill["transaction_id"], amount=27).status_code == 5004
    card.dispute(bill["transaction_id"], amount=25)
    card.refund(link, 1, YEN)

    assert card.submit(REFUND, link, 1, YEN).status_code == 5004
    assert card.balances()[0] == 100_00
    card.dispute(bill["transaction_id"], "lost")
    card.refund(link, 39, YEN)
    assert card.balances()[0] == 100_00


def test_an_older_record_without_debited_amounts_is_refunded_in_parts(yen: Issuer) -> None:
    """Older records have only the cleared and the refunded amounts."""
    card = new_holder(yen, 100_00)
    link = bought(card, 60, YEN)
    table, key = Authorization.key(int(link))
    item = yen.hub.store.get(table, key)
    assert item is not None
    newer = {"debited", "credited", "rates"}
    assert item.keys() & newer
    older = {name: value for name, value in item.items() if name not in newer}
    yen.hub.store.transact([Put(table, older)])

    for _ in range(30):
        card.refund(link, 1, YEN)
    card.clear(link, 40, YEN)  # 25.2 pence, so 25
    brought = sum(card.refund(link, 10, YEN)["holder_amount"] for _ in range(7))

    assert card.balances()[0] == 100_00 - 38 + 19 - 25 + brought == 100_00
    assert card.submit(REFUND, link, 1, YEN).status_code == 5004
    assert (card.record(link).debited, card.record(link).credited) == ({str(YEN): 63}, {str(YEN): 63})


# -- of nothing in particular


def test_a_refund_without_a_purchase_has_a_new_link_and_no_maximum(issuer: Issuer) -> None:
    card = new_holder(issuer, 0, **LIMITED)

    first, second = (card.refund(None, 5_000_00, merchant_name="Shop") for _ in range(2))

    assert (first["trans_link"] != second["trans_link"], second["settled_balance"]) == (True, 10_000_00)
    assert [card.hold(each["trans_link"]) for each in (first, second)] == [("C", 0, 0)] * 2
    assert card.limit_usage(A_DAY, BACK_A_WEEK) == [(0, 0), (2, 10_000_00)]
    row = card.transactions()[0]
    assert row["transaction_type"] == 20
    assert row["direction"] == "credit"
    assert row["description"] == "Shop"


def test_a_refund_credits_the_account_in_the_refund_currency_or_the_first_account(issuer: Issuer) -> None:
    card = new_holder(issuer, 0, euros=0)

    card.refund(None, 10_00, EUR)
    card.refund(None, 10_00, USD)

    assert (card.balances(card.euros)[0], card.balances()[0]) == (10_00, 7_50)
    assert card.submit(REFUND, None, 1, DINAR).status_code == 5003
    bound = new_holder(issuer, 0, auto_conversion=0)
    assert bound.submit(REFUND, None, 10_00, EUR).status_code == 5003


# -- what it comes to


@pytest.mark.parametrize(("program", "shown"), [(None, 7_80), (NOT_BLENDING, 8_00)])
def test_a_foreign_refund_deducts_the_conversion_mark_up(issuer: Issuer, program: int | None, shown: int) -> None:
    card = new_holder(issuer, 0, **({} if program is None else {"card_program_id": program}))

    answer = card.refund(None, 10_00, EUR)

    assert (answer["holder_amount"], answer["settled_balance"]) == (shown, 7_80)
    [row] = card.transactions()
    assert (row["conversion_fee"], row["conversion_fee_blended"]) == (20, program is None)
    assert entries(movements(issuer, card.account)[-1]) == {
        ("settled", GBP): 7_80,
        ("conversion", GBP): -8_00,
        ("fees", GBP): 20,
        ("conversion", EUR): 10_00,
        ("network", EUR): -10_00,
    }


@pytest.mark.parametrize(("amount", "fee"), [(10_00, 10), (7, 7)])
def test_a_refund_deducts_its_fees_up_to_its_amount(issuer: Issuer, amount: int, fee: int) -> None:
    card = new_holder(issuer, 0, card_fee_group_id=SEPARATE)

    answer = card.refund(None, amount)

    assert (answer["holder_amount"], answer["settled_balance"]) == (amount, amount - fee)
    main, shown = card.transactions()
    assert shown["fee_code"] == "BACK"
    assert shown["direction"] == "debit"
    assert shown["holder_amount"] == fee
    assert shown["parent_id"] == main["id"]


def test_a_refund_does_not_return_the_fees_of_the_purchase(issuer: Issuer) -> None:
    card = new_holder(issuer, 100_00, card_fee_group_id=BLENDED)
    link = bought(card, 30_00)

    card.refund(link, 30_00)

    assert card.balances()[0] == 99_50


def test_a_refund_whose_converted_amount_is_zero_credits_nothing(issuer: Issuer) -> None:
    card = new_holder(issuer, 0)

    assert card.refund(None, 1, YEN)["holder_amount"] == 0
    assert card.balances() == (0, 0, 0, 0)


def test_a_refund_above_the_limits_is_booked(issuer: Issuer) -> None:
    card = new_holder(issuer, 200_00, **LIMITED)
    link = bought(card, 60_00)

    card.refund(link, 60_00)

    assert card.limit_usage(A_DAY, BACK_A_WEEK) == [(1, 60_00), (1, 60_00)]
    assert card.request_authorization(1_00, transaction_type=20)["response_code"] == "61"


# -- states


@pytest.mark.parametrize("state", CARD_STATES)
def test_a_refund_is_booked_in_every_card_state(issuer: Issuer, state: str) -> None:
    made = issuer.card_in(state, card_country_ison=BRITAIN)
    card = Holder(issuer.with_own_clock(days=62) if state == "E" else issuer, made)
    link = str(card.clear(None, 10_00)["trans_link"])

    assert card.refund(link, 10_00)["settled_balance"] == 0
    assert card.refund(None, 10_00)["settled_balance"] == 10_00


@pytest.mark.parametrize(("state", "code"), [("A", None), ("R", None), ("S", 4003), ("C", 4003)])
def test_a_refund_to_a_suspended_or_closed_account_returns_4003(issuer: Issuer, state: str, code: int | None) -> None:
    card = new_holder(issuer, 10_00)
    link = bought(card, 10_00)
    issuer.data("changeAccountStatus", account_id=card.account, account_status=state)
    before = card.record(link)

    answers = [card.submit(REFUND, each, 10_00) for each in (link, None)]

    assert [answer.status_code for answer in answers] == [code, code]
    if code is None:
        assert card.balances()[0] == 20_00
    else:
        assert (card.balances()[0], card.record(link)) == (0, before)


def test_a_refund_with_an_unknown_link_or_card_or_zero_amount_is_rejected(issuer: Issuer) -> None:
    card = new_holder(issuer, access_level=500)
    link = str(card.authorize(10_00)["trans_link"])
    increment = card.increment(link, 1_00)["authorize_id"]
    refund: dict[str, Any] = {"amount": 1, "currency_ison": GBP}

    assert issuer.sim(REFUND, trans_link=f"{increment:012}", **refund).status_code == 3012
    assert issuer.sim(REFUND, trans_link=link, **refund, access_level=499).status_code == 3012
    assert issuer.as_caller("other").sim(REFUND, trans_link=link, **refund).status_code == 3012
    assert issuer.sim(REFUND, card_id=10**9, **refund).status_code == 3002
    assert issuer.sim(REFUND, trans_link=link, **refund | {"amount": 0}).status_code == 2005
