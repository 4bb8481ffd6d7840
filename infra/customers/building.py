"""Builds the banks' customers, accounts and books from the parts of a customer file."""

from __future__ import annotations

from decimal import Decimal

from chalicelib.demo_bank.books import AccountBook, ListedTransaction, Particulars, TransactionRule
from chalicelib.demo_bank.customers import Customer, CustomerAccount, make_loaded_account
from chalicelib.demo_bank.directory import NewCustomer
from chalicelib.demo_bank.profiles import Profile
from chalicelib.foundation.fields.registries import decimals
from infra.customers.models import WEEKDAYS, AccountPart, CustomerPart, ParticularsPart, RulePart


def build_customer(profile: Profile, part: CustomerPart) -> NewCustomer:
    """Create a customer's record at one bank, with the ledger entries of the customer's accounts."""
    accounts = [build_account(profile, account) for account in part.accounts]
    books = {account.account_id: _build_book(each) for account, each in zip(accounts, part.accounts, strict=True)}
    return NewCustomer(Customer(part.id, part.name, part.about, tuple(accounts)), books)


def build_account(profile: Profile, part: AccountPart) -> CustomerAccount:
    """Build the account at a bank. Account numbers of the file are padded with zeros to the bank's number length."""
    number = part.number.zfill(profile.number_length)
    return make_loaded_account(profile.name, number, part.name, part.currency, part.iban)


def _build_book(part: AccountPart) -> AccountBook:
    listed = (
        ListedTransaction(each.day, _minor(each.amount, part.currency), _particulars(each))
        for each in part.transactions
    )
    return AccountBook(
        _minor(part.balance, part.currency),
        part.balance_on,
        tuple(listed),
        tuple(_build_rule(part, each) for each in part.rules),
    )


def _build_rule(account: AccountPart, rule: RulePart) -> TransactionRule:
    lowest, highest = rule.between or (rule.amount, rule.amount)
    assert lowest is not None
    assert highest is not None
    return TransactionRule(
        rule.every,
        WEEKDAYS.index(rule.weekday) if rule.weekday else rule.day or 0,
        rule.starts_on or account.balance_on,
        rule.ends_on,
        _minor(lowest, account.currency),
        _minor(highest, account.currency),
        _particulars(rule),
    )


def _particulars(part: ParticularsPart) -> Particulars:
    return Particulars(part.counterparty, part.text, part.iban or "", part.means, part.pending_days)


def _minor(amount: str, currency: str) -> int:
    return int(Decimal(amount).scaleb(decimals()[currency]))
