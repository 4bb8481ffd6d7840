"""Tests of getTransactions by card, by account, by card and account, and by transaction id."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest

from chalicelib.cards.protocol.report_messages import TransactionRecord
from infra.render.openapi.cards.answer_models import model_of
from tests.cards.issuer import EUR, GBP, Issuer, NewCard
from tests.cards.reports.rows import paged
from tests.cards.specification import TABLES
from tests.kit.storage import record_calls

TABLE = TABLES["getTransactions"].answer
WITH_FEES = 304


@dataclass(frozen=True)
class Money:
    card: NewCard
    address: Any
    came: list[int]

    @property
    def of_card(self) -> dict[str, int]:
        return {"card_id": self.card.card_id}

    @property
    def of_account(self) -> dict[str, int]:
        return {"account_id": self.card.account_id}


@pytest.fixture(scope="module")
def money(issuer: Issuer) -> Money:
    """Create five payments at intervals of a second."""
    card = issuer.card()
    address = issuer.address(card.account_id, 2, card_id=card.card_id)
    came = []
    for amount in range(100, 105):
        came.append(issuer.inbound(address, amount)["transaction_id"])
        issuer.clock.advance(1)
    return Money(card, address, came)


def today(issuer: Issuer) -> dict[str, int]:
    now = issuer.clock.time()
    return {"date_from": now - 24 * 3600, "date_to": now + 3600, "item_count": 100}


def ids(issuer: Issuer, **members: Any) -> list[int]:
    return [row["transaction_id"] for row in issuer.data("getTransactions", **today(issuer) | members)]


# -- whose


def test_the_transactions_of_a_card_and_of_an_account_are_listed_in_recording_order(
    issuer: Issuer, money: Money
) -> None:
    assert ids(issuer, **money.of_card) == ids(issuer, **money.of_account) == money.came
    assert ids(issuer, **money.of_card, **money.of_account) == money.came


def test_a_card_lists_transactions_of_all_accounts_and_an_account_only_its_transactions(issuer: Issuer) -> None:
    card = issuer.card()
    other = issuer.account(holder_id=card.holder_id, cards=[card.card_id], currency_ison=GBP)
    accounts = [card.account_id, other, card.account_id]
    addresses = {account: issuer.address(account, card_id=card.card_id) for account in (card.account_id, other)}
    came = [issuer.inbound(addresses[account], 100)["transaction_id"] for account in accounts]

    assert ids(issuer, card_id=card.card_id) == came
    assert ids(issuer, card_id=card.card_id, account_id=card.account_id) == [came[0], came[2]]
    assert ids(issuer, card_id=card.card_id, account_id=other) == [came[1]]
    assert ids(issuer, account_id=other) == [came[1]]


def test_a_payment_without_a_card_is_listed_only_under_the_account(issuer: Issuer) -> None:
    card = issuer.card()
    came = issuer.inbound(issuer.address(card.account_id, 2), 100)["transaction_id"]

    assert ids(issuer, account_id=card.account_id) == [came]
    assert ids(issuer, card_id=card.card_id) == []


def test_an_account_that_is_not_on_the_card_returns_3002(issuer: Issuer, money: Money) -> None:
    other = issuer.account()

    assert issuer.do("getTransactions", **today(issuer), **money.of_card, account_id=other).status_code == 3002


def test_a_request_without_a_card_and_an_account_or_without_dates_returns_2006(issuer: Issuer, money: Money) -> None:
    assert issuer.do("getTransactions", **today(issuer)).status_code == 2006
    assert issuer.do("getTransactions", item_count=1, **money.of_card).status_code == 2006
    assert issuer.do("getTransactions", item_count=1, date_from=1, **money.of_card).status_code == 2006


def test_transactions_are_visible_if_the_requested_card_or_account_is_visible(issuer: Issuer) -> None:
    card = issuer.card()
    hidden = issuer.account(access_level=500, holder_id=card.holder_id, cards=[card.card_id])
    came = issuer.inbound(issuer.address(hidden, card_id=card.card_id), 100)["transaction_id"]
    below = {**today(issuer), "access_level": 499}

    assert ids(issuer, card_id=card.card_id, access_level=499) == [came]
    assert issuer.do("getTransactions", **below, account_id=hidden).status_code == 3001
    assert issuer.do("getTransactions", **below, account_id=hidden, card_id=card.card_id).status_code == 3001
    assert issuer.do("getTransactions", **below | {"access_level": 500}, account_id=hidden).status == "success"


# -- which


def test_a_date_range_includes_its_first_and_last_second(issuer: Issuer, money: Money) -> None:
    [first, *_] = money.came
    start = _start(issuer, money)

    assert ids(issuer, **money.of_card, date_from=start, date_to=start) == [first]
    assert ids(issuer, **money.of_account, date_from=start + 1, date_to=start + 2) == money.came[1:3]
    assert ids(issuer, **money.of_card, date_from=start + 5, date_to=start + 9) == []


def _start(issuer: Issuer, money: Money) -> int:
    [account] = issuer.data("getAccounts", **money.of_account)
    last: int = account["date_updated"]
    return last - 4


@pytest.mark.parametrize("item_count", [1, 2, 5, 100])
@pytest.mark.parametrize("by", ["card", "account", "both"])
def test_pages_list_every_transaction_once_in_order(issuer: Issuer, money: Money, by: str, item_count: int) -> None:
    whose = {"card": money.of_card, "account": money.of_account, "both": money.of_card | money.of_account}[by]

    pages = paged(partial(issuer.do, "getTransactions", **today(issuer) | whose), "transaction_id", item_count)

    assert [number for each in pages for number in each] == money.came
    assert {len(each) for each in pages[:-1]} <= {item_count}


def test_a_last_id_of_another_list_returns_3012(issuer: Issuer, money: Money) -> None:
    elsewhere = issuer.inbound(issuer.address(), 100)["transaction_id"]

    for whose in (money.of_card, money.of_account, money.of_card | money.of_account):
        for unknown in (elsewhere, 987_654_321, 0, "99999999999999999999"):
            assert issuer.do("getTransactions", **today(issuer), **whose, last_id=unknown).status_code == 3012


def test_a_transaction_is_found_by_its_id_with_or_without_dates(issuer: Issuer, money: Money) -> None:
    wanted, start = money.came[1], _start(issuer, money)
    asked = {"transaction_id": wanted, "item_count": 1}

    for whose in (money.of_card, money.of_account, money.of_card | money.of_account):
        found = issuer.do("getTransactions", **asked, **whose)
        assert [row["transaction_id"] for row in found.data] == [wanted]
        assert found.members["has_more_records"] == "N"
    assert ids(issuer, **asked, **money.of_card, date_from=start + 1, date_to=start + 1) == [wanted]
    assert ids(issuer, **asked, **money.of_card, date_from=start + 2, date_to=start + 9) == []
    assert ids(issuer, **asked, **money.of_card, last_id=wanted) == []
    assert ids(issuer, **asked, **money.of_card, last_id=money.came[0]) == [wanted]


def test_a_transaction_of_another_card_or_account_returns_3012(issuer: Issuer, money: Money) -> None:
    elsewhere = issuer.inbound(issuer.address(), 100)["transaction_id"]

    for whose in (money.of_card, money.of_account):
        for unknown in (elsewhere, 987_654_321, 0):
            asked = {"transaction_id": unknown, "item_count": 1}
            assert issuer.do("getTransactions", **asked, **whose).status_code == 3012


def test_transactions_booked_during_paging_are_listed_once(issuer: Issuer) -> None:
    address = issuer.funded_address(1000)
    booked = ids(issuer, account_id=address["account_id"])

    def asked(**members: Any) -> Any:
        if len(booked) < 7:
            booked.append(issuer.inbound(address, 1)["transaction_id"])
        return issuer.do("getTransactions", **today(issuer) | {"account_id": address["account_id"]} | members)

    pages = paged(asked, "transaction_id", 2)

    assert [number for each in pages for number in each] == booked


def test_a_page_of_transactions_requires_one_read_and_one_query(issuer: Issuer, money: Money) -> None:
    for members in (money.of_card, money.of_account, money.of_card | money.of_account):
        with record_calls(issuer.causeway) as calls:
            ids(issuer, **members, last_id=money.came[0])
        assert calls == ["BatchGetItem", "Query"]
    with record_calls(issuer.causeway) as calls:
        ids(issuer, **money.of_card, transaction_id=money.came[0])
    assert calls == ["BatchGetItem"] * 2


# -- every kind


@pytest.fixture(scope="module")
def kinds(issuer: Issuer) -> Mapping[str, Any]:
    account = issuer.account(currency_ison=GBP, fee_group_id=WITH_FEES)
    address = issuer.address(account)
    made = {"in": issuer.inbound(address, 10_000, reference="INVOICE 7")["transaction_id"]}
    paid = issuer.pending_payment(address, 300, description="Rent", reference_number="FLAT 2")
    made["out"] = issuer.result(paid, "settled")["transaction_id"]
    made["out, returned"] = issuer.result(paid, "returned")["transaction_id"]
    home = issuer.transfer(address, 100, destination_iban=issuer.address()["iban"]).data
    made["home"] = home["transaction_id"]
    debit = issuer.debit(issuer.mandate(address), 700, passed=True)
    fee = {"fee_group_id": 301, "fee_code": "CARDREPL", "description": "New card", "transaction_id": made["in"]}
    made["custom fee"] = issuer.data("createCustomFee", account_id=account, **fee)["transaction_id"]
    came = issuer.inbound(address, 200)
    assert issuer.do("inboundReturn", epm_transaction_id=came["epm_transaction_id"], reason=1).status == "success"
    rows = issuer.data("getTransactions", **today(issuer), account_id=account)
    shown = {name: next(row for row in rows if row["transaction_id"] == number) for name, number in made.items()}
    of_debit = [row for row in rows if row.get("epm_transaction_id") == debit["epm_transaction_id"]]
    shown["debit"], shown["fee of the debit"] = of_debit
    shown["in, returned"] = rows[-1]
    return {**shown, "rows": rows, "account": account}


def test_every_row_has_only_members_of_the_record_in_order(kinds: Mapping[str, Any]) -> None:
    mandatory = {name for name, member in TABLE.items() if member.mandatory}
    for row in kinds["rows"]:
        assert mandatory <= row.keys() <= TABLE.keys()
        assert list(row) == [name for name in TABLE if name in row]
        model_of(TransactionRecord).model_validate(row)
        assert (row["account_id"], row["holder_currency_ison"]) == (kinds["account"], GBP)


@pytest.mark.parametrize(
    ("kind", "mti", "transaction_type", "amount"),
    [
        ("in", 1200, 60, 10_000),
        ("out", 1200, 61, 300),
        ("out, returned", 1200, 63, 300),
        ("home", 1200, 61, 100),
        ("debit", 1200, 62, 700),
        ("in, returned", 1200, 64, 200),
        ("fee of the debit", 1740, 70, None),
        ("custom fee", 1740, 70, None),
    ],
)
def test_each_kind_of_transaction_shows_its_mti_its_type_and_its_amount(
    kinds: Mapping[str, Any], kind: str, mti: int, transaction_type: int, amount: int | None
) -> None:
    row = kinds[kind]

    assert row["mti"] == mti
    assert row["transaction_type"] == transaction_type
    assert row["proc_code"] == transaction_type * 10_000
    assert row["transaction_amount"] == (amount or row["holder_amount"])
    assert ("reconciliation_amount" in row) is (mti == 1200)


def test_a_transaction_shows_the_ids_of_its_parent_transaction_its_mandate_and_its_link(
    kinds: Mapping[str, Any],
) -> None:
    debit, fee, returned = kinds["debit"], kinds["fee of the debit"], kinds["out, returned"]

    assert fee["parent_transaction_id"] == debit["transaction_id"]
    assert fee["epm_mandate_id"] == debit["epm_mandate_id"]
    assert fee["trans_link"] == debit["trans_link"]
    assert returned["trans_link"] == kinds["out"]["trans_link"]
    assert returned["transaction_original_amount"] == 300
    assert kinds["custom fee"]["parent_transaction_id"] == kinds["in"]["transaction_id"]


def test_a_transaction_shows_its_reference_and_description(kinds: Mapping[str, Any]) -> None:
    assert kinds["in"]["reference_number"] == "INVOICE 7"
    assert (kinds["out"]["reference_number"], kinds["out"]["description"]) == ("FLAT 2", "Rent")
    assert kinds["custom fee"]["description"] == "New card"
    assert kinds["in"]["card_id"] is None
    assert "card_id" not in kinds["custom fee"]


def test_a_converted_transaction_shows_its_rate_and_billing_amount(issuer: Issuer) -> None:
    account = issuer.account(currency_ison=EUR)
    issuer.inbound(issuer.address(account), 1000)

    [row] = issuer.data("getTransactions", **today(issuer), account_id=account)

    assert (row["transaction_amount"], row["transaction_currency_ison"]) == (1000, GBP)
    assert (row["holder_billing_amount"], row["holder_billing_currency_ison"]) == (1159, EUR)  # 1159.6, and it arrives
    assert str(row["base_conversion_rate"]) == "1.1596"
