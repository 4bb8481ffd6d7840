"""Tests of simulateDispute: the disputed amount is credited immediately and reserved until the dispute ends."""

import itertools
from collections.abc import Iterator
from typing import Any

import pytest

from chalicelib.cards.authorization.authorization_record import Dispute
from chalicelib.cards.protocol.states import ACCOUNT_STATES, CARD_STATES, DISPUTE_RULES
from infra.admin.ledger_verification import prove_ledger
from tests.cards.authorization.shops import A_DAY, BLENDED, LIMITED, SEPARATE, YEN, Holder, new_holder, with_prices
from tests.cards.issuer import BRITAIN, EUR, GBP, USD, Issuer
from tests.cards.stored_money import entries, movements, transactions

DISPUTE = "simulateDispute"
ENDS = ("won", "lost")


@pytest.fixture(scope="module")
def issuer(issuer: Issuer) -> Iterator[Issuer]:
    yield with_prices(issuer)
    prove_ledger(issuer.hub.store)


def bought(card: Holder, amount: int, currency: int = GBP, **members: Any) -> Any:
    return card.clear(None, amount, currency, **members)


def dispute(card: Holder, transaction_id: int) -> Dispute:
    item = card.issuer.hub.store.get(*Dispute.key(transaction_id))
    assert item is not None
    return Dispute.from_item(item)


# -- the steps


def test_an_opened_dispute_credits_and_reserves_the_amount(issuer: Issuer) -> None:
    card = new_holder(issuer, 100_00)
    bill = bought(card, 30_00)["transaction_id"]

    answer = card.dispute(bill, amount=20_00)

    assert answer == {
        "dispute_id": answer["dispute_id"],
        "reserved_balance": 20_00,
        "available_balance": 70_00,
        "settled_balance": 90_00,
    }
    assert card.balances() == (90_00, 0, 20_00, 70_00)
    row = movements(issuer, card.account)[-1]
    assert (row["cause"], row["transaction_id"]) == ("dispute opened", bill)
    assert entries(row) == {
        ("settled", GBP): 20_00,
        ("network", GBP): -20_00,
        ("reserved", GBP): 20_00,
        ("disputed", GBP): -20_00,
    }
    kept = dispute(card, bill)
    assert kept.id == answer["dispute_id"]
    assert kept.step == "opened"
    assert kept.amount == 20_00
    assert kept.worth == 20_00
    assert kept.opened_at == issuer.clock.time()


def test_a_won_dispute_makes_the_reserved_amount_available_in_the_account(issuer: Issuer) -> None:
    card = new_holder(issuer, 100_00)
    bill = bought(card, 30_00)["transaction_id"]
    opened = card.dispute(bill, amount=20_00)

    answer = card.dispute(bill, "won")

    assert answer == opened | {"reserved_balance": 0, "available_balance": 90_00}
    assert (card.balances(), dispute(card, bill).step) == ((90_00, 0, 0, 90_00), "won")
    row = movements(issuer, card.account)[-1]
    assert (row["cause"], entries(row)) == ("dispute won", {("reserved", GBP): -20_00, ("disputed", GBP): 20_00})


def test_a_lost_dispute_debits_the_amount_again(issuer: Issuer) -> None:
    card = new_holder(issuer, 100_00)
    bill = bought(card, 30_00)["transaction_id"]
    opened = card.dispute(bill, amount=20_00)

    answer = card.dispute(bill, "lost", 20_00)

    assert answer == opened | {"reserved_balance": 0, "settled_balance": 70_00}
    assert (card.balances(), dispute(card, bill).step) == ((70_00, 0, 0, 70_00), "lost")
    row = movements(issuer, card.account)[-1]
    assert (row["cause"], entries(row)) == (
        "dispute lost",
        {("settled", GBP): -20_00, ("network", GBP): 20_00, ("reserved", GBP): -20_00, ("disputed", GBP): 20_00},
    )


def test_the_credit_and_the_debit_of_a_dispute_reference_the_disputed_transaction(issuer: Issuer) -> None:
    card = new_holder(issuer, 100_00)
    link = str(card.authorize(30_00, EUR, mcc="5411", merchant_country_ison=250, entry_mode_type=5)["trans_link"])
    card.clear(link, 30_00, EUR, merchant_name="Shop")

    bill = card.transactions()[0]
    card.dispute(bill["id"])
    card.dispute(bill["id"], "lost")

    same = ("trans_link", "authorization_id", "card_id", "country", "entry_mode")
    first, back, again = card.transactions()
    for row, (kind, direction, description) in (
        (back, (2, "credit", "dispute opened")),
        (again, (19, "debit", "dispute lost")),
    ):
        assert row["transaction_type"] == kind
        assert row["direction"] == direction
        assert row["description"] == description
        assert row["mti"] == 1442
        assert row["function_code"] == 450
        assert row["reason_code"] == 12
        assert row["parent_id"] == first["id"]
        assert row["amount"] == 24_60
        assert row["currency"] == GBP
        assert row["holder_amount"] == 24_60
        assert [row[name] for name in same] == [first[name] for name in same]
        network = row["network"]
        assert network["proc_code"] == kind * 10_000
        assert network["transaction_type"] == kind
        assert network["mcc"] == 5411
        assert network["auth_code"] == first["network"]["auth_code"]


def test_a_won_dispute_adds_no_transaction(issuer: Issuer) -> None:
    card = new_holder(issuer, 100_00)
    bill = bought(card, 30_00)["transaction_id"]
    card.dispute(bill)
    before = card.transactions()

    card.dispute(bill, "won")

    assert card.transactions() == before


# -- how much


@pytest.mark.parametrize(("amount", "code"), [(None, None), (24_60, None), (1, None), (24_61, 5004), (30_00, 5004)])
def test_a_dispute_above_the_transaction_amount_in_the_accounts_currency_returns_5004(
    issuer: Issuer, amount: int | None, code: int | None
) -> None:
    card = new_holder(issuer, 100_00)
    bill = bought(card, 30_00, EUR)["transaction_id"]

    answer = card.submit_dispute(bill, amount=amount)

    assert answer.status_code == code
    assert card.balances()[2] == (0 if code else amount or 24_60)


def test_a_dispute_includes_blended_fees_and_excludes_separate_fees(issuer: Issuer) -> None:
    within, beside = (new_holder(issuer, 100_00, card_fee_group_id=group) for group in (BLENDED, SEPARATE))

    for card in (within, beside):
        card.dispute(bought(card, 30_00)["transaction_id"])

    assert (within.balances()[2], within.balances()[0]) == (30_50, 100_00)
    assert (beside.balances()[2], beside.balances()[0]) == (30_00, 99_40)


def test_ending_a_dispute_with_a_different_amount_returns_2005(issuer: Issuer) -> None:
    card = new_holder(issuer, 100_00)
    for end, amount in itertools.product(ENDS, (19_99, 20_01, 30_00)):
        bill = bought(card, 30_00)["transaction_id"]
        card.dispute(bill, amount=20_00)

        assert card.submit_dispute(bill, end, amount).status_code == 2005
        assert dispute(card, bill).step == "opened"
        assert card.submit_dispute(bill, end, 20_00).status_code is None
    assert card.balances()[2] == 0


def test_a_dispute_of_a_zero_amount_transaction_moves_no_money(issuer: Issuer) -> None:
    card = new_holder(issuer, 100_00)
    bill = bought(card, 1, YEN)["transaction_id"]

    assert card.submit_dispute(bill, amount=1).status_code == 5004
    assert card.dispute(bill)["reserved_balance"] == 0
    card.dispute(bill, "lost")

    assert card.balances() == (100_00, 0, 0, 100_00)


# -- refunds and disputes


def test_a_dispute_of_a_refunded_part_of_a_purchase_returns_5004(issuer: Issuer) -> None:
    card = new_holder(issuer, 100_00)
    bill = bought(card, 30_00)
    card.refund(bill["trans_link"], 12_00)

    codes = [card.submit_dispute(bill["transaction_id"], amount=amount).status_code for amount in (None, 18_01)]

    assert codes == [5004, 5004]
    card.dispute(bill["transaction_id"], amount=18_00)
    card.dispute(bill["transaction_id"], "won")
    assert card.balances() == (100_00, 0, 0, 100_00)


@pytest.mark.parametrize(("end", "refundable"), [("won", 10_00), ("lost", 30_00)])
def test_a_refund_of_a_disputed_part_of_a_purchase_returns_5004_until_the_dispute_is_lost(
    issuer: Issuer, end: str, refundable: int
) -> None:
    card = new_holder(issuer, 100_00)
    bill = bought(card, 30_00)
    card.dispute(bill["transaction_id"], amount=20_00)
    link, refund = bill["trans_link"], "simulateRefund"
    assert card.submit(refund, link, 10_01).status_code == 5004

    card.dispute(bill["transaction_id"], end)

    assert card.submit(refund, link, refundable + 1).status_code == 5004
    card.refund(link, refundable)
    assert card.submit(refund, link, 1).status_code == 5004
    assert card.balances() == (100_00, 0, 0, 100_00)


def test_a_dispute_in_the_accounts_currency_limits_refunds_in_the_merchants_currency(issuer: Issuer) -> None:
    card = new_holder(issuer, 100_00)
    bill = bought(card, 30_00, EUR)
    card.dispute(bill["transaction_id"], amount=8_20)

    codes = [card.submit("simulateRefund", bill["trans_link"], 20_01, currency).status_code for currency in (EUR, GBP)]

    assert codes == [5004, 5003]
    card.refund(bill["trans_link"], 20_00, EUR)
    assert card.record(bill["trans_link"]).given_back == {str(EUR): 30_00}


def test_each_transaction_of_an_authorization_has_its_own_dispute(issuer: Issuer) -> None:
    card = new_holder(issuer, 100_00)
    link = str(card.authorize(40_00)["trans_link"])
    first, second, dollars = (
        card.clear(link, amount, currency, final=0)["transaction_id"]
        for amount, currency in ((10_00, GBP), (20_00, GBP), (4_00, USD))
    )

    card.refund(link, 25_00)
    codes = [card.submit_dispute(bill).status_code for bill in (second, first, dollars)]
    card.dispute(first, amount=5_00)

    assert (codes, card.record(link).given_back) == ([5004, 5004, None], {str(GBP): 30_00, str(USD): 4_00})
    assert card.balances()[2] == 8_00
    assert card.hold(link)[0] == "H"
    card.reverse(link)


# -- which


@pytest.mark.parametrize("step", DISPUTE_RULES)
@pytest.mark.parametrize("before", [None, "opened", *ENDS])
def test_a_dispute_step_returns_4008_before_its_preceding_step_and_4002_after_the_final_step(
    issuer: Issuer, before: str | None, step: str
) -> None:
    card = new_holder(issuer, 100_00)
    bill = bought(card, 30_00)["transaction_id"]
    if before is not None:
        card.dispute(bill, "opened")
    if before in ENDS:
        card.dispute(bill, before)
    balances = card.balances()

    answer = card.submit_dispute(bill, step)

    expected = {(None, "won"): 4008, (None, "lost"): 4008, ("opened", "opened"): 4008}
    final = {(end, step): 4002 for end in ENDS}
    assert answer.status_code == (expected | final).get((before, step)) == DISPUTE_RULES[step][before]
    assert (card.balances() == balances) is (answer.status_code is not None)


def test_only_a_cleared_purchase_can_be_disputed(issuer: Issuer) -> None:
    card = new_holder(issuer, 100_00, card_fee_group_id=SEPARATE)
    [payment] = transactions(issuer, card.account)
    link = str(card.authorize(30_00)["trans_link"])
    card.clear(link, 30_00)
    card.refund(link, 5_00)
    bill, fee, share, refund, _ = card.transactions()
    card.dispute(bill["id"], amount=10_00)
    back = card.transactions()[-1]

    for row in (payment, fee, share, refund, back):
        assert card.submit_dispute(row["id"]).status_code == 4008, row["transaction_type"]
    assert card.submit_dispute(10**9).status_code == 3012
    assert card.submit_dispute(bill["id"], "won", 0).status_code == 2005
    assert card.submit_dispute(bill["id"], "withdrawn").status_code == 2005


def test_a_dispute_of_a_credit_returns_4008(issuer: Issuer) -> None:
    card = new_holder(issuer, 100_00)
    link = str(card.authorize(10_00, transaction_type=20)["trans_link"])

    bill = card.clear(link, 10_00)["transaction_id"]

    assert card.submit_dispute(bill).status_code == 4008


def test_a_dispute_without_access_to_the_account_returns_3012(issuer: Issuer) -> None:
    card = new_holder(issuer, access_level=500)
    bill = bought(card, 30_00)["transaction_id"]
    members = {"transaction_id": bill, "step": "opened"}

    assert issuer.sim(DISPUTE, **members, access_level=499).status_code == 3012
    assert issuer.as_caller("other").sim(DISPUTE, **members).status_code == 3012
    assert issuer.sim(DISPUTE, **members, access_level=500).status_code is None


@pytest.mark.parametrize("state", ACCOUNT_STATES)
@pytest.mark.parametrize("end", ENDS)
def test_a_dispute_is_booked_in_every_account_status(issuer: Issuer, state: str, end: str) -> None:
    card = new_holder(issuer, 30_00)
    bill = bought(card, 30_00)["transaction_id"]
    issuer.data("changeAccountStatus", account_id=card.account, account_status=state)

    assert card.dispute(bill)["reserved_balance"] == 30_00
    card.dispute(bill, end)

    assert card.balances()[0] == (30_00 if end == "won" else 0)


@pytest.mark.parametrize("state", [state for state in CARD_STATES if state != "E"])
def test_a_dispute_is_booked_in_every_card_state(issuer: Issuer, state: str) -> None:
    card = Holder(issuer, issuer.card_in(state, card_country_ison=BRITAIN))
    bill = bought(card, 30_00)["transaction_id"]

    card.dispute(bill)

    assert card.dispute(bill, "won")["available_balance"] == 0


def test_disputes_do_not_change_the_limits(issuer: Issuer) -> None:
    card = new_holder(issuer, 100_00, **LIMITED)
    bill = bought(card, 30_00)["transaction_id"]

    for step in ("opened", "lost"):
        card.dispute(bill, step)

    assert card.limit_usage(A_DAY) == [(1, 30_00)]


def test_a_lost_dispute_may_overdraw_the_account(issuer: Issuer) -> None:
    card = new_holder(issuer, 30_00)
    bill = bought(card, 30_00)["transaction_id"]
    card.dispute(bill)
    assert card.request_authorization(1)["response_code"] == "51", "what is set apart is not to be spent"

    bought(card, 10_00)
    card.dispute(bill, "lost")

    assert card.balances() == (-10_00, 0, 0, -10_00)


# -- others are faster


def test_two_concurrent_disputes_credit_the_amount_once(issuer: Issuer) -> None:
    card = new_holder(issuer, 100_00)
    bill = bought(card, 30_00)["transaction_id"]

    with issuer.causeway.meanwhile("transact", lambda: card.dispute(bill)):
        codes = [card.submit_dispute(bill).status_code]
    with issuer.causeway.meanwhile("transact", lambda: card.dispute(bill, "lost")):
        codes.append(card.submit_dispute(bill, "won").status_code)

    assert (codes, card.balances()) == ([4008, 4002], (70_00, 0, 0, 70_00))


def test_a_concurrent_refund_and_dispute_credit_the_amount_once(issuer: Issuer) -> None:
    card = new_holder(issuer, 100_00)
    bill, other = bought(card, 30_00), bought(card, 20_00)

    with issuer.causeway.meanwhile("transact", lambda: card.refund(bill["trans_link"], 30_00)):
        codes = [card.submit_dispute(bill["transaction_id"]).status_code]
    with issuer.causeway.meanwhile("transact", lambda: card.dispute(other["transaction_id"])):
        codes.append(card.submit("simulateRefund", other["trans_link"], 20_00).status_code)

    assert (codes, card.balances()) == ([5004, 5004], (100_00, 0, 20_00, 80_00))
