"""Consistency checks of a customer file, between its members and against the customers and accounts of the banks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import date

from chalicelib.demo_bank.books import MOST_LISTED_PER_DAY
from chalicelib.demo_bank.customers import CUSTOMERS, Customer
from chalicelib.demo_bank.faults import FAULTS_BY_NAME
from chalicelib.foundation.fields.registries import decimals
from infra.customers import building
from infra.customers.models import BANKS, AccountPart, CustomerPart, RulePart

Fault = tuple[str, str]
"""An error in the file, with its location."""
Stored = Mapping[str, Mapping[str, Customer]]
"""The loaded customers by bank (BIC) and id."""


def find_faults(customers: Sequence[CustomerPart], stored: Stored, today: date) -> Iterator[Fault]:
    """Yield the errors in a file. Each location starts with ``customers``.

    Args:
        today: the banks' current day.
    """
    ids = [customer.id for customer in customers]
    for position, customer in enumerate(customers):
        place = f"customers.{position}"
        if customer.id in ids[:position]:
            yield f"{place}.id", "occurs twice"
        if customer.id in FAULTS_BY_NAME or any(customer.id in CUSTOMERS[BANKS[bic].name] for bic in BANKS):
            yield f"{place}.id", "is the name of a built-in customer"
        for number, account in enumerate(customer.accounts):
            inner = f"{place}.accounts.{number}"
            yield from ((f"{inner}.{member}", said) for member, said in _wrong_account(customer, account, today))
    for bic in BANKS:
        yield from _find_taken(bic, customers, stored.get(bic, {}))


def _wrong_account(customer: CustomerPart, account: AccountPart, today: date) -> Iterator[Fault]:
    if account.iban is not None and len(customer.banks) > 1:
        yield "iban", "must be left out for a customer of two banks: each makes its own from the number"
    if account.balance_on > today:
        yield "balance_on", "must not be after today, the day of the banks' clock"
    yield from _wrong_amount("balance", account.balance, account.currency)
    for position, each in enumerate(account.transactions):
        yield from _wrong_amount(f"transactions.{position}.amount", each.amount, account.currency)
        if each.day < account.balance_on:
            yield f"transactions.{position}.date", "must not be before balance_on"
    if max(Counter(each.day for each in account.transactions).values(), default=0) > MOST_LISTED_PER_DAY:
        yield "transactions", f"must not have more than {MOST_LISTED_PER_DAY} on one day"
    for position, rule in enumerate(account.rules):
        yield from ((f"rules.{position}.{member}", said) for member, said in _wrong_rule(rule, account))


def _wrong_rule(rule: RulePart, account: AccountPart) -> Iterator[Fault]:
    for member, every in (("day", "month"), ("weekday", "week")):
        given = getattr(rule, member) is not None
        if given != (rule.every == every):
            yield member, f"is {'only for' if given else 'required in'} a rule of every {every}"
    if (rule.amount is None) == (rule.between is None):
        yield "amount", "or between is required, and not both"
    if rule.amount is not None:
        yield from _wrong_amount("amount", rule.amount, account.currency)
    for position, amount in enumerate(rule.between or ()):
        yield from _wrong_amount(f"between.{position}", amount, account.currency)
    if rule.starts_on is not None and rule.starts_on < account.balance_on:
        yield "from", "must not be before balance_on"
    if rule.ends_on is not None and rule.ends_on < (rule.starts_on or account.balance_on):
        yield "until", "must not be before the rule's first day"


def _wrong_amount(member: str, amount: str, currency: str) -> Iterator[Fault]:
    digits = decimals()[currency]
    if len(amount.partition(".")[2]) > digits:
        yield member, f"must have at most {digits} decimal places in this currency"


def _find_taken(bic: str, customers: Sequence[CustomerPart], stored: Mapping[str, Customer]) -> Iterator[Fault]:
    """Yield the account numbers and IBANs that another account of the bank already has."""
    ids = {customer.id for customer in customers}
    others = [*CUSTOMERS[BANKS[bic].name].values(), *(each for each in stored.values() if each.customer_id not in ids)]
    taken = [account for other in others for account in other.accounts]
    numbers, ibans = {account.number for account in taken}, {account.iban for account in taken if account.iban}
    holders: dict[str, tuple[int, set[str]]] = {}  # by IBAN: the customer's position, and the currencies
    for position, customer in enumerate(customers):
        for inner, part in enumerate(customer.accounts) if bic in customer.banks else ():
            place, account = f"customers.{position}.accounts.{inner}", building.build_account(BANKS[bic], part)
            holder, currencies = holders.setdefault(account.iban or "", (position, set()))
            if account.number in numbers:
                yield f"{place}.number", f"belongs to another account at {bic}"
            elif account.iban in ibans or holder != position or part.currency in currencies:
                yield f"{place}.iban", f"belongs to another account at {bic}, or to one in the same currency"
            numbers.add(account.number)
            currencies.add(part.currency)
