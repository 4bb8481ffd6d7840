"""The sentences about odd pages, ids, nulls and amounts, and unusual banks that conform."""

from collections.abc import Mapping
from typing import Any

import pytest

from chalicelib.foundation import jsontext
from chalicelib.openbanking.protocol.version import Version
from chalicelib.openbanking.protocol.versions import VERSIONS
from chalicelib.openbanking.protocol.webhooks import Webhook
from infra.conformance.checks.entries import find_repeated_page
from tests.infra.conformance import odd_entries as odd
from tests.infra.conformance.kit_runs import failed_checks, result_of, run_kit
from tests.infra.conformance.small_bank import Members, SmallBank

GROUPS = {1: "account_payments", 2: "account_transactions"}
FOLLOW = ": list on each page the entries that follow those of the page before"
OWN = ": give each booked entry an id of its own, by which TPPs recognise it"
KEEP = ": keep the id of an entry in every list"
OTHER_ID = "1 of 1 entries of 2026-11-01 have another id when "
KEY = ", so that TPPs read without end: name the next page, or leave page_key out"
NULLS = "transactions.booked.0.debtor_name, transactions.pending.0.debtor_name"
A, B = {"amount": "1"}, {"amount": "2"}


def problem_of(bank: type[SmallBank], number: int, name: str) -> str:
    check_id = f"{GROUPS[number]}.{name}"
    return result_of(run_kit(bank(VERSIONS[number]), check_id), check_id).problem


@pytest.mark.parametrize(
    ("bank", "number", "name", "said"),
    [
        (odd.RepeatsPages, 1, "next-page", f"page 2 has an entry of page 1{FOLLOW}"),
        (odd.RepeatsPagesWithBlankIds, 1, "next-page", f"page 3 repeats the entries of page 2{FOLLOW}"),
        (odd.RepeatsPagesWithoutIds, 2, "next-page", f"page 2 repeats the entries of page 1{FOLLOW}"),
        (odd.RepeatsPagesOfOneEntry, 2, "next-page", f"small pages list 19 entries more than large ones{FOLLOW}"),
        (odd.RepeatsThePageKey, 2, "last-page", f"page 2 repeats the page_key of page 1{KEY}"),
        (odd.HasBlankIds, 1, "ids", f"{', '.join(f'payments.{place} has no id' for place in range(5))}{OWN}"),
        (odd.MakesIdsForEachAnswer, 2, "stable-ids", f"{OTHER_ID}the same request is repeated{KEEP}"),
        (odd.MakesIdsOfThePageSize, 2, "stable-ids", f"{OTHER_ID}page_size is 1{KEEP}"),
        (odd.WritesNulls, 2, "nulls", f"null in {NULLS}: leave out members without a value"),
    ],
)
def test_the_sentence_says_what_was_found_where_and_what_to_do(
    bank: type[SmallBank], number: int, name: str, said: str
) -> None:
    assert problem_of(bank, number, name) == said


def test_nulls_are_named_in_the_order_of_the_response() -> None:
    class WritesOneMoreNull(odd.WritesNulls):
        def change(self, entry: Members, position: int, size: int) -> Members:
            return super().change(entry, position, size) | ({} if position else {"purpose": None})

    booked = "null in transactions.booked.0.debtor_name, transactions.booked.0.purpose, "
    assert problem_of(WritesOneMoreNull, 2, "nulls").startswith(booked)


@pytest.mark.parametrize(
    ("bank", "fault"), [(odd.WritesExponents, "has an exponent"), (odd.WritesMoreDecimals, "has 4 decimals")]
)
def test_the_sentence_about_decimals_names_each_amount_and_its_fault(bank: type[SmallBank], fault: str) -> None:
    found = problem_of(bank, 1, "decimals")

    assert found.startswith(f"payments.0.amount {fault}, payments.1.amount {fault}")
    assert found.endswith(
        ': write amounts such as "12.50", without an exponent, and with no more decimals than their currency'
    )


@pytest.mark.parametrize("bank", [odd.HasTwoEntries, odd.SellsEqualCoffees, odd.HasNoIds])
def test_a_bank_without_ids_passes_all_mandatory_checks_of_pages(bank: type[SmallBank]) -> None:
    assert failed_checks(run_kit(bank(VERSIONS[2]), "account_transactions")) == {}


@pytest.mark.parametrize("version", VERSIONS.values(), ids=str)
def test_a_conforming_bank_has_no_advice_about_its_entries(version: Version) -> None:
    run = run_kit(SmallBank(version), "*.ids,*.stable-ids,*.nulls,*.decimals")

    assert len(run.results) >= 10
    assert {each.outcome for each in run.results} == {"passed"}


def test_the_id_of_a_transaction_is_its_transaction_id() -> None:
    run = run_kit(odd.HasItsOwnIds(VERSIONS[2]), "*.ids,*.stable-ids,account_transactions.next-page")

    assert {each.check.check_id: each.problem for each in run.results if each.outcome != "passed"} == {}


@pytest.mark.parametrize("number", GROUPS)
def test_ids_of_a_bank_that_lists_only_today_are_not_compared(number: int) -> None:
    class BooksInTheFuture(odd.ChangesEntries):
        def change(self, entry: Members, position: int, size: int) -> Members:
            if "id" in entry:
                return {**entry, "date_created": "2999-12-31"}
            return {**entry, "transaction_amount": {**entry["transaction_amount"], "booking_date": "2999-12-31"}}

    assert problem_of(BooksInTheFuture, number, "stable-ids") == "no booked entry is of a day before today"


def test_members_of_the_name_amount_that_are_no_number_have_no_notation() -> None:
    check_id = "account_balance.decimals"

    assert result_of(run_kit(odd.WritesNoAmounts(VERSIONS[2]), check_id), check_id).outcome == "passed"


def test_a_null_page_key_is_left_to_the_check_of_the_last_page() -> None:
    class EndsPagesWithNull(SmallBank):
        def shape(self, webhook: Webhook, members: Members) -> Members:
            return {"page_key": None, **members} if "transactions" in members else members

    assert problem_of(EndsPagesWithNull, 2, "nulls") == ""


@pytest.mark.parametrize(
    ("pages", "allowed", "number"),
    [
        ([[A, B], [A, B]], 0, 2),
        ([[A, B], [B, A], [B, A]], 0, 3),
        ([[A, B], [A, B]], 1, 0),
        ([[A, B], [A, B], [A, B]], 1, 3),
        ([[A, B], [A, B], [A], [A, B], [A, B]], 1, 0),
        ([[A], [A], [A]], 0, 0),
        ([[A, A], [A, A]], 0, 0),
        ([[], [], []], 0, 0),
        ([[A, B], [{"amount": jsontext.Number("1")}, B]], 0, 0),
    ],
)
def test_a_page_repeats_the_page_before_if_it_has_two_different_entries(
    pages: list[list[Mapping[str, Any]]], allowed: int, number: int
) -> None:
    assert find_repeated_page(pages, allowed) == number
