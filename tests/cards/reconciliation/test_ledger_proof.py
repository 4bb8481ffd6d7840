"""Tests of the ledger check: consistent records have no mismatch, and every inconsistent change is reported with its
row.
"""

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

import pytest

from chalicelib.cards.ledger.account_record import Account
from chalicelib.cards.ledger.charges import Charge, Fee
from chalicelib.cards.ledger.conversion import Conversion
from chalicelib.cards.ledger.entries import CONVERSION, EXTERNAL, FEES, NETWORK, Movement
from chalicelib.cards.ledger.transaction_record import Transaction
from chalicelib.cards.ledger.usage_counters import Counters
from chalicelib.cards.protocol.values import EXTERNAL_OUT, RETURN_TYPES
from chalicelib.cards.reconciliation.ledger_proof import (
    AccountProof,
    LedgerMismatch,
    SharedMovements,
    check_copy,
    check_pointer,
    copies_of,
    describe_owner,
    format_amount,
    pair_rows,
)
from chalicelib.cards.reconciliation.reservations import AUTHORIZATION, DISPUTE, PAYMENT, ReservedAmount
from chalicelib.foundation.dynamodb.store import Item, Put

GBP, EUR, JPY = 826, 978, 392
NOON = 1_772_452_800_000


def account(number: int = 17, currency: int = GBP) -> Account:
    return Account(
        id=number,
        manager_id=1,
        access_level=0,
        currency=currency,
        updated_at=0,
        holder_id=1,
        status="A",
        program_id=501,
        fee_group_id=301,
        risk_group_id=401,
    )


def transaction(number: int, amount: int, **members: Any) -> Transaction:
    least: dict[str, Any] = {"transaction_type": EXTERNAL_OUT, "trans_link": "E1", "currency": GBP}
    least |= {"direction": "debit" if amount < 0 else "credit", "amount": abs(amount), "holder_amount": abs(amount)}
    return Transaction(id=number, **least | members)


@dataclass
class Books:
    items: list[Item] = field(default_factory=list)
    written: int = 0

    def write(self, movement: Movement, *accounts: Account) -> list[Account]:
        self.items += [deepcopy(each.item) for each in movement.operations() if isinstance(each, Put)]
        return [movement.account_after(each) for each in accounts]

    def movement(self, cause: str, **about: Any) -> Movement:
        self.written += 1
        return Movement(cause, NOON, f"W{self.written}", **about)

    def of(self, part: str, owner: str = "account#17") -> list[Item]:
        found = [item for item in self.items if item["owner"] == owner and item["part"].startswith(part)]
        return sorted(found, key=lambda item: str(item["part"]))


def folded(books: Books, owner: str = "account#17", currency: int = GBP) -> AccountProof:
    fold = AccountProof(owner, currency)
    for row, shown in pair_rows(owner, books.of("movement#", owner), books.of("transaction#", owner)):
        fold.add_row(row, shown)
    return fold


@dataclass
class Lived:
    """An account with a balance of 1000.00, holds of 25.00 and 3.00, and a payment of 40.00 with a fee of 1.50."""

    books: Books
    account: Account

    @property
    def item(self) -> Item:
        return {"owner": self.account.owner, **vars(self.account)}

    @property
    def rows(self) -> list[Item]:
        return self.books.of("movement#")


@pytest.fixture
def lived() -> Lived:
    books, stands = Books(), account()
    came = books.movement("payment in", epm_transaction_id=1)
    came.book(stands, 100_000, EXTERNAL)
    came.list_transaction(stands, transaction(101, 100_000))
    (stands,) = books.write(came, stands)
    for payment, amount in ((5, 2_500), (6, 4_000), (7, 300)):
        held = books.movement("payment out held", epm_transaction_id=payment)
        held.hold(stands, amount)
        (stands,) = books.write(held, stands)
    paid = books.movement("payment out settled", epm_transaction_id=6)
    paid.hold(stands, -4_000)
    paid.book(stands, -4_000, EXTERNAL)
    paid.book(stands, -150, FEES)
    paid.list_transaction(stands, transaction(102, -4_000))
    paid.list_transaction(stands, transaction(103, -150))
    (stands,) = books.write(paid, stands)
    return Lived(books, stands)


def test_ledger_rows_add_up_to_the_balances_the_holds_and_the_shared_books(lived: Lived) -> None:
    fold = folded(lived.books)

    fold.compare(lived.item)
    assert fold.balances == {"settled": 95_850, "held": 2_800, "reserved": 0}
    assert fold.claims == {ReservedAmount(PAYMENT, 5): 2_500, ReservedAmount(PAYMENT, 7): 300}
    assert (fold.rows, fold.transactions) == (5, 3)
    assert fold.books == {("external", GBP): -96_000, ("fees", GBP): 150, ("pending", GBP): -2_800}


def test_the_ledger_check_of_an_account_without_ledger_rows_has_an_empty_result() -> None:
    fold = folded(Books())

    fold.compare({"owner": "account#17", **vars(account())})
    assert fold.rows == 0
    assert fold.claims == {}
    assert fold.books == {}


def test_a_ledger_check_in_two_parts_has_the_same_result_as_a_check_of_all_rows(lived: Lived) -> None:
    whole, parts = folded(lived.books), AccountProof("account#17", GBP)
    shown = lived.books.of("transaction#")
    for rows, with_them in ((lived.rows[:2], shown[:1]), (lived.rows[2:], shown[1:])):
        for row, transactions in pair_rows("account#17", rows, with_them):
            parts.add_row(row, transactions)

    assert vars(parts) == vars(whole)


# -- what does not fit


def _later(lived: Lived) -> None:
    lived.rows[2]["at"] = lived.rows[1]["at"]


def _foreign(lived: Lived) -> None:
    for entry in lived.rows[1]["entries"]:
        entry[1] = EUR


def _change(part: str, position: int, **members: Any) -> Callable[[Lived], None]:
    return lambda lived: lived.books.of(part)[position].update(members)


def _without(part: str, position: int) -> Callable[[Lived], None]:
    return lambda lived: lived.books.items.remove(lived.books.of(part)[position])


def _entry(row: int, entry: int, place: int, value: object) -> Callable[[Lived], None]:
    def change(lived: Lived) -> None:
        lived.rows[row]["entries"][entry][place] = value

    return change


def _one_more(lived: Lived) -> None:
    last = lived.books.of("transaction#")[2]
    lived.books.items.append({**last, "part": "transaction#9", "id": 104, "at": NOON + 9})


LAST = "2026-03-02T12:00:00.00"
BEFORE = "2026-03-02T11:59:59.999+00:00"
NOTED = "balance after it is 0.01 GBP, but the rows add up to"
TOLD = "the booked amount is {} GBP, but its transactions add up to {} GBP".format


@pytest.mark.parametrize(
    ("tamper", "row", "problem"),
    [
        (_without("movement#", 1), 3, "row 2 before it is missing"),
        (_later, 3, "it is not later than the previous row, dated 2026-03-02T12:00:00.001+00:00"),
        (_entry(0, 0, 2, 100_005), 1, "its entries sum to 0.05 GBP, not to zero"),
        (_entry(0, 0, 1, EUR), 1, "its entries sum to 1,000.00 EUR, -1,000.00 GBP, not to zero"),
        (_entry(0, 1, 0, "exetrnal"), 1, "there is no book 'exetrnal'"),
        (_entry(1, 0, 0, "account#17:hidden"), 2, "there is no book 'account#17:hidden'"),
        (_foreign, 2, "25.00 EUR is not in the account's currency"),
        (_change("movement#", 0, settled=1), 1, f"the settled {NOTED} 1,000.00 GBP"),
        (_change("movement#", 1, held=1), 2, f"the held {NOTED} 25.00 GBP"),
        (_change("movement#", 3, reserved=1), 4, f"the reserved {NOTED} 0.00 GBP"),
        (
            _change("movement#", 1, epm_transaction_id=None),
            2,
            "it holds 25.00 GBP for no payment, authorization or dispute",
        ),
        (_change("movement#", 4, epm_transaction_id=7), 5, "it releases 37.00 GBP more than payment 7 held"),
        (_change("transaction#", 0, written_by="W9"), 1, "transaction 101 was not written together with it"),
        (_change("transaction#", 0, holder_amount=99_999), 1, TOLD("1,000.00", "999.99")),
        (_change("transaction#", 1, direction="credit"), 5, TOLD("-41.50", "38.50")),
        (_without("transaction#", 2), 5, TOLD("-41.50", "-40.00")),
        (_change("transaction#", 0, at=NOON - 1), None, f"transaction 101 of {BEFORE} belongs to no row"),
        (_one_more, None, "transaction 104 of 2026-03-02T12:00:00.009+00:00 belongs to no row"),
    ],
)
def test_a_changed_ledger_row_or_transaction_is_reported_with_the_ledger_row(
    lived: Lived, tamper: Callable[[Lived], None], row: int | None, problem: str
) -> None:
    tamper(lived)

    with pytest.raises(LedgerMismatch) as broken:
        folded(lived.books)

    assert (broken.value.owner, broken.value.row, broken.value.problem) == ("account#17", row, problem)


def test_a_mismatch_names_the_account_the_row_the_cause_and_the_time(lived: Lived) -> None:
    lived.rows[1]["held"] = 1

    with pytest.raises(LedgerMismatch) as broken:
        folded(lived.books)

    place = "account 17, row 2 (payment out held, 2026-03-02T12:00:00.001+00:00)"
    assert str(broken.value) == f"{place}: the held {NOTED} 25.00 GBP"


@pytest.mark.parametrize("member", ["movement", "cause", "at", "entries", "settled", "held", "reserved", "written_by"])
def test_a_row_without_a_required_member_is_a_mismatch(lived: Lived, member: str) -> None:
    del lived.rows[1][member]

    with pytest.raises(LedgerMismatch, match=f"account 17: row 2 has no {member}"):
        AccountProof("account#17", GBP).add_row(lived.rows[1], ())


@pytest.mark.parametrize(
    ("member", "said"),
    [
        ("settled", "its settled balance is 958.51 GBP, but its 5 rows add up to 958.50 GBP"),
        ("held", "its held balance is 28.01 GBP, but its 5 rows add up to 28.00 GBP"),
        ("reserved", "its reserved balance is 0.01 GBP, but its 5 rows add up to 0.00 GBP"),
        ("movements", "its row count is 6, but it has 5 rows"),
        ("last_at", f"its last movement is dated {LAST}5+00:00, but its last row is dated {LAST}4+00:00"),
    ],
)
def test_an_account_that_differs_from_the_sum_of_its_rows_is_a_mismatch(lived: Lived, member: str, said: str) -> None:
    account = lived.item

    with pytest.raises(LedgerMismatch) as broken:
        folded(lived.books).compare({**account, member: account[member] + 1})

    assert str(broken.value) == f"account 17: {said}"


# -- transactions


@pytest.mark.parametrize("blends", [True, False])
@pytest.mark.parametrize("debit", [True, False])
def test_transactions_add_up_to_a_charge_and_its_reversal(debit: bool, blends: bool) -> None:
    rates = Decimal("0.86"), Decimal("0.8772")
    converted = Conversion(10_000, EUR, 8_600, 8_772 if debit else 8_428, GBP, *rates, 172)
    charge = Charge(converted, blends, [Fee("A", "A", 70, True), Fee("B", "B", 30, False)], debit)
    books, stands = Books(), account()

    for of, kind, numbers in (
        (charge, EXTERNAL_OUT, [2]),
        (charge.reversal, RETURN_TYPES[charge.reversal.direction], []),
    ):
        movement = books.movement("payment out settled", epm_transaction_id=1)
        of.book(movement, stands, EXTERNAL)
        main = Transaction(id=10 + kind, transaction_type=kind, trans_link="E1", **of.transaction_members)
        of.list_transactions(movement, stands, main, numbers)
        (stands,) = books.write(movement, stands)

    fold = folded(books)
    fold.compare({"owner": stands.owner, **vars(stands)})
    assert fold.balances["settled"] == -100
    assert fold.transactions == 3


def test_a_missing_or_different_transaction_lookup_is_a_mismatch(lived: Lived) -> None:
    row = lived.books.of("transaction#")[0]
    (pointer,) = lived.books.of("transaction", "transaction#101")

    check_pointer(row, pointer)

    with pytest.raises(
        LedgerMismatch, match=r"account 17: the lookup of its transaction 101 of .* by id finds nothing"
    ):
        check_pointer(row, None)
    for member in ("account", "part_of_account", "holder_amount", "transaction_type", "card_id", "trans_link"):
        with pytest.raises(
            LedgerMismatch,
            match=r"account 17: the lookup of its transaction 101 of .* by id finds a different transaction",
        ):
            check_pointer(row, {**pointer, member: "other"})


# -- cards


@dataclass
class Spent(Lived):
    """An account with a balance of 1000.00, a clearing of 40.00 from a hold of 60.00, and a dispute of 15.00."""


@pytest.fixture
def spent() -> Spent:
    books, stands, card = Books(), account(), Counters("card#3")
    came = books.movement("payment in", epm_transaction_id=1)
    came.book(stands, 100_000, EXTERNAL)
    came.list_transaction(stands, transaction(101, 100_000))
    (stands,) = books.write(came, stands)
    held = books.movement("authorization", authorization_id=8)
    held.hold(stands, 6_000)
    (stands,) = books.write(held, stands)
    paid = books.movement("clearing", authorization_id=8)
    paid.list_by_card(card)
    paid.hold(stands, -4_000)
    paid.book(stands, -4_000, NETWORK)
    paid.list_transaction(stands, transaction(102, -4_000, card_id=3))
    (stands,) = books.write(paid, stands)
    disputed = books.movement("dispute opened", authorization_id=8, transaction_id=102)
    disputed.list_by_card(replace(card, last_at=stands.last_at))
    disputed.book(stands, 1_500, NETWORK)
    disputed.reserve(stands, 1_500)
    disputed.list_transaction(stands, transaction(103, 1_500, card_id=3))
    (stands,) = books.write(disputed, stands)
    return Spent(books, stands)


def test_the_holds_of_authorizations_and_the_reserves_of_disputes_are_checked_separately(spent: Spent) -> None:
    fold = folded(spent.books)

    fold.compare(spent.item)
    assert fold.balances == {"settled": 97_500, "held": 2_000, "reserved": 1_500}
    assert fold.claims == {ReservedAmount(AUTHORIZATION, 8): 2_000, ReservedAmount(DISPUTE, 102): 1_500}
    assert fold.books["network", GBP] == 2_500


@pytest.mark.parametrize(
    ("tamper", "row", "problem"),
    [
        (
            _change("movement#", 1, authorization_id=None),
            2,
            "it holds 60.00 GBP for no payment, authorization or dispute",
        ),
        (_change("movement#", 2, authorization_id=9), 3, "it releases 40.00 GBP more than authorization 9 held"),
        (_change("movement#", 2, epm_transaction_id=8), 3, "it releases 40.00 GBP more than payment 8 held"),
        (
            _change("movement#", 3, transaction_id=None),
            4,
            "it reserves 15.00 GBP for no payment, authorization or dispute",
        ),
    ],
)
def test_a_hold_or_reserve_without_a_cause_is_reported_with_its_ledger_row(
    spent: Spent, tamper: Callable[[Lived], None], row: int, problem: str
) -> None:
    tamper(spent)

    with pytest.raises(LedgerMismatch) as broken:
        folded(spent.books)

    assert (broken.value.row, broken.value.problem) == (row, problem)


def test_releasing_more_than_a_dispute_reserved_is_a_mismatch(spent: Spent) -> None:
    over = spent.books.movement("dispute won", authorization_id=8, transaction_id=102)
    over.reserve(spent.account, -1_501)
    spent.books.write(over, spent.account)

    with pytest.raises(
        LedgerMismatch, match=r"row 5 .*: it releases 0.01 GBP more than dispute of transaction 102 reserved"
    ):
        folded(spent.books)


def test_a_card_transaction_missing_or_different_in_a_card_list_is_a_mismatch(spent: Spent) -> None:
    row = spent.books.of("transaction#")[1]

    places = [key for _, key in copies_of(row)]
    assert [place["owner"] for place in places] == ["card#3", "card#3"]
    assert [place["part"].partition("transaction#")[0] for place in places] == ["", "account#17#"]
    for copy in (item for item in spent.books.items if place_of(item) in places):
        check_copy(row, copy)
        with pytest.raises(LedgerMismatch, match=r"its transaction 102 of .* is different in the lists of card 3"):
            check_copy(row, {**copy, "amount": 1})
    with pytest.raises(LedgerMismatch, match=r"its transaction 102 of .* is not in both lists of card 3"):
        check_copy(row, None)


def test_a_transaction_without_a_card_is_not_copied_to_a_card_list(spent: Spent) -> None:
    assert copies_of(spent.books.of("transaction#")[0]) == []


def place_of(item: Item) -> Item:
    return {"owner": item["owner"], "part": item["part"]}


# -- movements of two accounts


@pytest.fixture
def at_home() -> Books:
    """Return a ledger in which account 17 pays 21.50 GBP and a fee of 1.00 GBP, and account 18 receives 25.00 EUR."""
    books, payer, payee = Books(), account(), account(18, EUR)
    movement = books.movement("payment at home", epm_transaction_id=3)
    movement.book(payer, -2_150, CONVERSION)
    movement.exchange(EUR, 2_500, EXTERNAL)
    movement.book(payer, -100, FEES)
    movement.book(payee, 2_500, EXTERNAL)
    movement.list_transaction(payer, transaction(1, -2_250))
    movement.list_transaction(payee, transaction(2, 2_500, currency=EUR))
    books.write(movement, payer, payee)
    return books


def the_row(books: Books, number: int) -> Item:
    (row,) = books.of("movement#", f"account#{number}")
    return row


def test_the_shared_books_of_a_movement_between_two_accounts_are_counted_once(at_home: Books) -> None:
    payer, payee = folded(at_home), folded(at_home, "account#18", EUR)

    assert payer.books == {("conversion", GBP): 2_150, ("conversion", EUR): -2_500, ("fees", GBP): 100}
    assert payee.books == {}
    assert (payer.balances["settled"], payee.balances["settled"]) == (-2_250, 2_500)


@pytest.mark.parametrize("order", [(17, 18), (18, 17), (17, 17, 18)])
def test_a_movement_between_two_accounts_requires_a_row_of_each_account(at_home: Books, order: Sequence[int]) -> None:
    shared = SharedMovements()
    for number in order[:-1]:
        shared.note(f"account#{number}", the_row(at_home, number))
        assert list(shared.missing_halves()) == [f"account#{order[-1]}"]

    shared.note(f"account#{order[-1]}", the_row(at_home, order[-1]))

    assert shared.missing_halves() == {}


def test_rows_of_one_movement_with_different_entries_are_a_mismatch(at_home: Books) -> None:
    shared = SharedMovements()
    shared.note("account#17", the_row(at_home, 17))
    the_row(at_home, 18)["entries"][0][2] -= 1

    with pytest.raises(
        LedgerMismatch, match=r"account 18, row 1 .*: its entries differ from those of row 1 of account 17"
    ):
        shared.note("account#18", the_row(at_home, 18))


def test_a_movement_of_one_account_requires_no_row_of_a_second_account(lived: Lived) -> None:
    shared = SharedMovements()
    for row in lived.rows:
        shared.note("account#17", row)

    assert shared.missing_halves() == {}


def test_a_payee_row_with_an_amount_of_zero_after_fees_requires_the_row_of_the_payer() -> None:
    books, payer, payee = Books(), account(), account(18)
    movement = books.movement("payment at home", epm_transaction_id=3)
    movement.book(payer, -10, EXTERNAL)
    movement.book(payee, 10, EXTERNAL)
    movement.book(payee, -10, FEES)
    books.write(movement, payer, payee)
    shared = SharedMovements()
    for number in (17, 18):
        shared.note(f"account#{number}", the_row(books, number))
    assert list(shared.missing_halves()) == ["account#17"]

    shared.note("account#17", the_row(books, 17))

    assert shared.missing_halves() == {}


def test_shared_movements_above_the_maximum_are_counted_as_omitted(at_home: Books) -> None:
    shared = SharedMovements(most=0)

    shared.note("account#17", the_row(at_home, 17))

    assert (shared.left_out, shared.missing_halves()) == (1, {})


# -- words


@pytest.mark.parametrize(
    ("amount", "currency", "said"),
    [
        (100_005, GBP, "1,000.05 GBP"),
        (-5, EUR, "-0.05 EUR"),
        (0, GBP, "0.00 GBP"),
        (1_500, JPY, "1,500 JPY"),
        (1_500, 414, "1.500 KWD"),
        (7, 1, "7 of currency 1"),
    ],
)
def test_format_amount_shows_whole_units_and_the_currency_code(amount: int, currency: int, said: str) -> None:
    assert format_amount(amount, currency) == said


def test_describe_owner_names_accounts_and_special_accounts() -> None:
    assert describe_owner("account#17") == "account 17"
    assert describe_owner("special_account#1.801") == "special account 1.801"
