"""Tests of the built-in customers and their accounts."""

import pytest
from stdnum import iban

from chalicelib.demo_bank.customers import CUSTOMERS, CustomerAccount
from chalicelib.demo_bank.profiles import BankName

BANKS: tuple[BankName, ...] = ("one", "two")


def accounts(bank: BankName) -> list[CustomerAccount]:
    return [account for customer in CUSTOMERS[bank].values() for account in customer.accounts]


@pytest.mark.parametrize("bank", BANKS)
def test_a_bank_has_three_customers_with_several_accounts_and_currencies(bank: BankName) -> None:
    assert len(CUSTOMERS[bank]) >= 3
    assert all(len(customer.accounts) >= 2 for customer in CUSTOMERS[bank].values())
    assert all(len({a.currency for a in customer.accounts}) >= 2 for customer in CUSTOMERS[bank].values())


@pytest.mark.parametrize("bank", BANKS)
def test_every_iban_is_valid_and_every_account_number_is_unique(bank: BankName) -> None:
    found = accounts(bank)
    assert all(iban.is_valid(account.iban) for account in found if account.iban)
    assert len({account.account_id for account in found}) == len(found)
    assert len({account.number for account in found}) == len(found)


def test_bank_one_has_british_accounts() -> None:
    for account in accounts("one"):
        assert account.iban is not None
        assert account.iban.startswith("GB")
        assert account.iban.endswith(f"{account.sort_code}{account.number}")
        assert account.account_id.isdigit()
        assert len(account.account_id) <= 20
    assert {account.currency for account in accounts("one")} == {"GBP", "EUR", "USD"}


def test_bank_two_has_card_accounts_without_an_iban_and_currency_accounts_with_a_shared_iban() -> None:
    found = accounts("two")
    assert {account.currency for account in found} == {"EUR", "SEK", "PLN"}
    assert any(account.iban is None and account.kind == "card" for account in found)
    shared = [account.iban for account in found if account.iban]
    assert len(set(shared)) < len(shared)
    assert all(account.iban is None or account.iban[4:] == account.bban for account in found)
