"""Tests of sums of transaction rows: an account's rows add up to its settled balance by the documented rule."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chalicelib.cards.protocol.values import CREDIT_TYPES
from tests.cards.authorization.shops import (
    BLENDED,
    BLENDING,
    FREE,
    NOT_BLENDING,
    SEPARATE,
    Holder,
    new_holder,
    with_prices,
)
from tests.cards.issuer import EUR, GBP, SEPA, USD, Issuer
from tests.kit.documents import CARD_NETWORK, section, tables

PAGE = 7
FUNDS = 5_000_00
AMOUNTS = st.integers(1, 99_99)


def documented_credits() -> frozenset[int]:
    [rule] = tables(section(CARD_NETWORK, "### How rows add up"))
    [credit] = [row for row in rule if row[-1] == "+"]
    return frozenset(map(int, credit[0].split(", ")))


CREDITS = documented_credits()


class Cardholder:
    """A cardholder with an account in pounds that has a British address and a SEPA address.

    A second account is used for transfers.
    """

    def __init__(self, issuer: Issuer, program: int, fee_group: int) -> None:
        self.card: Holder = new_holder(issuer, FUNDS, card_program_id=program, card_fee_group_id=fee_group)
        self.issuer = issuer
        self.home, self.abroad = issuer.address(self.card.account), issuer.address(self.card.account, SEPA)
        self.neighbour = issuer.funded_address(FUNDS, EUR)

    # -- every kind of movement; each leaves the account a little richer, or poorer

    def comes_in(self, amount: int) -> None:
        for address in (self.home, self.abroad):
            self.issuer.inbound(address, amount)

    def comes_in_and_goes_back(self, amount: int) -> None:
        for address, scheme in ((self.home, "FPS"), (self.home, "BACS"), (self.abroad, "SCT")):
            number = self.issuer.inbound(address, amount, scheme=scheme)["epm_transaction_id"]
            action = "directCreditReturn" if scheme == "BACS" else "inboundReturn"
            reason = {} if scheme == "BACS" else {"reason": 1}
            self.issuer.data(action, epm_transaction_id=number, **reason)

    def goes_out(self, amount: int) -> None:
        for address in (self.home, self.abroad):
            self.issuer.result(self.issuer.pending_payment(address, amount), "settled")
            self.issuer.result(self.issuer.pending_payment(address, amount), "rejected")

    def goes_out_and_comes_back(self, amount: int) -> None:
        for address in (self.home, self.abroad):
            number = self.issuer.pending_payment(address, amount)
            for result in ("settled", "returned"):
                self.issuer.result(number, result)

    def goes_next_door_and_back(self, amount: int) -> None:
        self.issuer.pending_payment(self.abroad, amount, destination_iban=self.neighbour["iban"])
        came = self.issuer.data("getTransactions", account_id=self.neighbour["account_id"], **ALWAYS)[-1]
        self.issuer.data("inboundReturn", epm_transaction_id=came["epm_transaction_id"], reason=1)

    def is_collected(self, amount: int) -> None:
        for address in (self.home, self.abroad):
            for _ in range(2):
                debit = self.issuer.debit(self.issuer.mandate(address), amount, passed=True)
            self.issuer.data(
                "directDebitReturn", returned_epm_transaction_id=debit["epm_transaction_id"], reason="MD06"
            )

    def buys(self, amount: int) -> None:
        for currency in (GBP, EUR, USD):
            link = self.card.authorize(amount, currency)["trans_link"]
            self.card.clear(link, amount, currency)
            self.card.refund(link, (amount + 1) // 2, currency)

    def is_given(self, amount: int) -> None:
        for kind in (2, 20, 21, 22, 26):
            asked = self.card.authorize(amount, EUR, transaction_type=kind)
            self.card.clear(asked["trans_link"], amount, EUR)
        self.card.refund(None, amount, EUR)

    def takes_cash(self, amount: int) -> None:
        for kind in (1, 9, 10, 11, 12, 19, 23, 28):
            asked = self.card.authorize(amount, EUR, transaction_type=kind)
            self.card.clear(asked["trans_link"], amount, EUR)

    def disputes(self, amount: int) -> None:
        for end in ("won", "lost"):
            bill = self.card.clear(None, amount, EUR)
            self.card.dispute(bill["transaction_id"])
            self.card.dispute(bill["transaction_id"], end)

    def pays_a_fee(self, amount: int) -> None:
        fee = {"fee_group_id": SEPARATE, "fee_code": "BUY", "description": "A letter", "amount": amount}
        self.issuer.data("createCustomFee", account_id=self.card.account, currency_ison=EUR, **fee)

    # -- what is seen

    def rows(self) -> list[Any]:
        found: list[Any] = []
        last: dict[str, int] = {}
        while True:
            asked = {"account_id": self.card.account, **ALWAYS, "item_count": PAGE, **last}
            answer = self.issuer.do("getTransactions", **asked)
            found += answer.data
            if answer.members["has_more_records"] == "N":
                return found
            last = {"last_id": found[-1]["transaction_id"]}

    def check(self) -> Sequence[Any]:
        rows = self.rows()
        assert sum(map(effect, rows)) == self.card.balances()[0]
        return rows


ALWAYS = {"date_from": 0, "date_to": 99_999_999_999, "item_count": 100}
MOVES: Mapping[str, Callable[[Cardholder, int], None]] = {
    each.__name__: each
    for each in (
        Cardholder.comes_in,
        Cardholder.comes_in_and_goes_back,
        Cardholder.goes_out,
        Cardholder.goes_out_and_comes_back,
        Cardholder.goes_next_door_and_back,
        Cardholder.is_collected,
        Cardholder.buys,
        Cardholder.is_given,
        Cardholder.takes_cash,
        Cardholder.disputes,
        Cardholder.pays_a_fee,
    )
}
PROGRAMMES = pytest.mark.parametrize("program", [BLENDING, NOT_BLENDING], ids=["blending", "not blending"])


def effect(row: Mapping[str, Any]) -> int:
    amount: int = row["holder_amount"] if row["transaction_type"] in CREDITS else -row["holder_amount"]
    return amount - (0 if row["is_conversion_fee_blended"] else row.get("currency_conversion_fee", 0))


@pytest.fixture(scope="module")
def issuer(issuer: Issuer) -> Issuer:
    return with_prices(issuer, "sums")


def test_the_documentation_lists_every_credit_transaction_type() -> None:
    assert CREDITS == CREDIT_TYPES


@PROGRAMMES
@pytest.mark.parametrize("move", MOVES)
def test_rows_of_each_movement_add_up_to_the_settled_balance(issuer: Issuer, program: int, move: str) -> None:
    holder = Cardholder(issuer, program, SEPARATE)

    MOVES[move](holder, 12_34)

    assert len(holder.check()) > 1


@PROGRAMMES
def test_rows_of_every_transaction_type_add_up_to_the_settled_balance(issuer: Issuer, program: int) -> None:
    holder = Cardholder(issuer, program, BLENDED)

    for move in MOVES.values():
        move(holder, 7_77)

    types = {row["transaction_type"] for row in holder.check()}
    assert types == {0, 1, 2, 9, 10, 11, 12, 19, 20, 21, 22, 23, 26, 28, 60, 61, 62, 63, 64, 70}


@PROGRAMMES
@settings(max_examples=4, derandomize=True, suppress_health_check=list(HealthCheck), database=None)
@given(
    group=st.sampled_from([FREE, SEPARATE, BLENDED]),
    moves=st.lists(st.tuples(st.sampled_from(sorted(MOVES)), AMOUNTS), min_size=3, max_size=8),
)
def test_rows_of_any_sequence_of_movements_add_up_to_the_settled_balance(
    issuer: Issuer, program: int, group: int, moves: list[tuple[str, int]]
) -> None:
    holder = Cardholder(issuer, program, group)

    for move, amount in moves:
        MOVES[move](holder, amount)
        holder.check()
