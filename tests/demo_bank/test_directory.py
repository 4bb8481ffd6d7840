"""Loaded and built-in customers: lookup, atomic replacement, and deletion."""

import pytest
from stdnum import iban

from chalicelib.demo_bank import directory
from chalicelib.demo_bank.customers import CUSTOMERS
from chalicelib.demo_bank.directory import authenticate
from chalicelib.demo_bank.runtime import TABLE, DemoBank
from chalicelib.foundation.dynamodb.store import ConditionFailed
from infra.customers import loading
from tests.demo_bank.single_bank import SingleBank
from tests.infra.operator_files import account, customer, customer_file


def books(bank: SingleBank) -> list[str]:
    rows = bank.store.rows(TABLE, ("bank", bank.profile.name), sort_prefix=("id", "book#"))
    return [row["id"] for row in rows]


def test_a_customer_signs_in_only_with_their_own_password(bank: SingleBank) -> None:
    loading.load(bank, customer_file(customer("noor")))
    built_in = next(iter(CUSTOMERS[bank.profile.name].values()))
    for one, other in ((built_in.customer_id, "noor"), ("noor", built_in.customer_id)):
        found = authenticate(bank.runtime, f" {one.upper()} ", f"sandbox-{one}")
        assert found is not None
        assert found.customer_id == one
        assert authenticate(bank.runtime, one, f"sandbox-{other}") is None
    assert authenticate(bank.runtime, "nobody", "sandbox-nobody") is None


def test_loaded_accounts_have_ids_and_ibans_in_the_format_of_the_bank(bank: SingleBank) -> None:
    loading.load(bank, customer_file(customer(accounts=[account(), account("61000002", currency="JPY", balance="9")])))
    known = next(iter(CUSTOMERS[bank.profile.name].values())).accounts[0]
    found = directory.read_loaded(bank.runtime).customers["noor"].accounts
    for each in found:
        assert each.account_id.isdigit() == known.account_id.isdigit()
        assert len(each.number) == len(known.number)
        assert each.iban is not None
        assert iban.is_valid(each.iban)
        assert (each.sort_code, each.bban and each.bban[:8]) == (known.sort_code, known.bban and known.bban[:8])
        assert directory.find_account(bank.runtime, each.account_id) == each
    assert directory.find_account(bank.runtime, known.account_id) == known
    assert {each.account_id for each in found} <= {each.account_id for each in directory.all_accounts(bank.runtime)}


def test_accounts_in_different_currencies_have_different_ids(bank: SingleBank) -> None:
    ids = set()
    for currency in ("KWD", "BHD"):
        loading.load(bank, customer_file(customer(accounts=[account(currency=currency)])))
        ids.add(directory.read_loaded(bank.runtime).customers["noor"].accounts[0].account_id)
    assert len(ids) == 2
    assert len(books(bank)) == 1


def test_a_lookup_of_built_in_customers_makes_no_storage_read(
    bank: SingleBank, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: DemoBank) -> directory.LoadedCustomers:
        raise AssertionError("read")

    monkeypatch.setattr(directory, "read_loaded", refuse)
    built_in = next(iter(CUSTOMERS[bank.profile.name].values()))
    assert directory.find_customer(bank.runtime, built_in.customer_id) == built_in
    assert directory.find_account(bank.runtime, built_in.accounts[0].account_id) == built_in.accounts[0]
    assert directory.read_book(bank.runtime, built_in.accounts[0]) is None


def test_loaded_customers_are_parsed_once_until_the_next_load(bank: SingleBank) -> None:
    loading.load(bank, customer_file(customer("noor")))
    before = directory.read_loaded(bank.runtime).customers
    assert directory.read_loaded(bank.runtime).customers is before
    loading.load(bank, customer_file(customer("noor", name="Noor H.")))
    assert directory.read_loaded(bank.runtime).customers["noor"].full_name == "Noor H."
    assert before["noor"].full_name == "Noor Haddad"


def test_a_customer_change_based_on_an_outdated_customer_list_is_rejected(bank: SingleBank) -> None:
    loading.load(bank, customer_file(customer("noor")))
    found = directory.read_loaded(bank.runtime)
    loading.load(bank, customer_file(customer("kenji", [account("61000009")])))
    with pytest.raises(ConditionFailed):
        bank.store.transact(directory.replace_customers(bank.runtime, found, removed=["noor"]))
    assert list(directory.read_loaded(bank.runtime).customers) == ["kenji", "noor"]


def test_a_change_based_on_an_empty_customer_list_is_rejected_after_a_load(bank: SingleBank) -> None:
    empty = directory.read_loaded(bank.runtime)
    loading.load(bank, customer_file(customer("noor")))
    with pytest.raises(ConditionFailed):
        bank.store.transact(directory.replace_customers(bank.runtime, empty, removed=["kenji"]))


def test_account_books_of_replaced_and_deleted_accounts_are_deleted(bank: SingleBank) -> None:
    loading.load(bank, customer_file(customer(accounts=[account(), account("61000002")])))
    assert len(books(bank)) == 2
    loading.load(bank, customer_file(customer(accounts=[account("61000002"), account("61000003")])))
    numbers = [each.number[-8:] for each in directory.read_loaded(bank.runtime).customers["noor"].accounts]
    assert numbers == ["61000002", "61000003"]
    assert len(books(bank)) == 2
    loading.delete(bank, ["noor"])
    assert books(bank) == []
    assert directory.find_customer(bank.runtime, "noor") is None
