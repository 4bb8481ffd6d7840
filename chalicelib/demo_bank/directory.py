"""A bank's customers: the built-in customers, and the customers that an operator loaded.

Loaded customers have two kinds of records: ``customers`` lists a bank's loaded customers with their accounts, so that
account numbers are unique, and ``book#<account>`` has an account's book. Customers are written together with the list.
The write fails if the list's ``revision`` has changed since it was read. The banks that simulate faults have no loaded
customers.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from chalicelib.demo_bank.books import AccountBook, dump_book, parse_book
from chalicelib.demo_bank.customers import CUSTOMERS, Customer, CustomerAccount, make_loaded_account
from chalicelib.demo_bank.profiles import BankName
from chalicelib.demo_bank.runtime import TABLE, DemoBank
from chalicelib.foundation import jsontext
from chalicelib.foundation.dynamodb.conditions import Attr, Condition
from chalicelib.foundation.dynamodb.store import Check, Delete, Operation, Put, absent
from chalicelib.foundation.lazy_dataclasses import dataclass

MOST_CUSTOMERS = 500
"""The maximum number of loaded customers at one bank."""
MOST_BYTES = 350_000
"""The maximum size of a stored list or book. DynamoDB limits an item to 400 KB."""
_LIST = "customers"


@dataclass(frozen=True, slots=True)
class LoadedCustomers:
    """A bank's loaded customers by id. ``revision`` is the number of loads so far."""

    revision: int
    customers: Mapping[str, Customer]


@dataclass(frozen=True, slots=True)
class NewCustomer:
    """A customer to load. The customer's account books are stored by account id."""

    customer: Customer
    books: Mapping[str, AccountBook]


# -- reading


def find_customer(bank: DemoBank, customer_id: str) -> Customer | None:
    """Return the customer with this id. Storage is read only for loaded customers."""
    built_in = CUSTOMERS[bank.profile.name].get(customer_id)
    return built_in or read_loaded(bank).customers.get(customer_id)


def all_customers(bank: DemoBank) -> list[Customer]:
    """Return every customer, built-in customers first."""
    return [*CUSTOMERS[bank.profile.name].values(), *read_loaded(bank).customers.values()]


def all_accounts(bank: DemoBank) -> list[CustomerAccount]:
    """Return the accounts of every customer."""
    return [account for customer in all_customers(bank) for account in customer.accounts]


def find_account(bank: DemoBank, account_id: str) -> CustomerAccount | None:
    """Return the account with this id. Storage is read only for loaded accounts."""
    built_in = CUSTOMERS[bank.profile.name].values()
    return _account(built_in, account_id) or _account(read_loaded(bank).customers.values(), account_id)


def authenticate(bank: DemoBank, username: str, password: str) -> Customer | None:
    """Return the customer with these credentials."""
    customer = find_customer(bank, username.strip().lower())
    return customer if customer and customer.password == password else None


def _account(customers: Iterable[Customer], account_id: str) -> CustomerAccount | None:
    return next(filter(None, (customer.account(account_id) for customer in customers)), None)


def read_loaded(bank: DemoBank) -> LoadedCustomers:
    """Return the bank's loaded customers, sorted by id."""
    item = None if bank.profile.plays_faults else bank.store.get(TABLE, bank.key(_LIST))
    if item is None:
        return LoadedCustomers(0, {})
    return LoadedCustomers(item["revision"], _parse_customers(bank.profile.name, item["customers"]))


def read_book(bank: DemoBank, account: CustomerAccount) -> AccountBook | None:
    """Return the book of a loaded account, or ``None`` if the account is built in or was deleted."""
    item = bank.store.get(TABLE, bank.key(_book_id(account))) if account.kind == "loaded" else None
    return parse_book(item["book"]) if item else None


# -- writing


def replace_customers(
    bank: DemoBank, found: LoadedCustomers, added: Sequence[NewCustomer] = (), removed: Collection[str] = ()
) -> list[Operation]:
    """Return the write operations that add, replace and remove customers. The first fails if ``found`` is no longer
    stored.
    """
    ids = {new.customer.customer_id for new in added}.union(removed)
    others = [customer for customer in found.customers.values() if customer.customer_id not in ids]
    listed = sorted([*others, *(new.customer for new in added)], key=lambda customer: customer.customer_id)
    books = {_book_id(account): new.books[account.account_id] for new in added for account in new.customer.accounts}
    ended = {_book_id(account) for account_id in ids for account in _accounts(found, account_id)} - books.keys()
    members = {"revision": found.revision + 1, "customers": dump_customers(listed)}
    return [
        Put(TABLE, bank.key(_LIST) | members, _is_stored(found)),
        *(Put(TABLE, bank.key(record) | {"book": dump_book(book)}) for record, book in books.items()),
        *(Delete(TABLE, bank.key(record)) for record in sorted(ended)),
    ]


def check_unchanged(bank: DemoBank, found: LoadedCustomers) -> Operation:
    """Return a check that fails if ``found`` is no longer stored."""
    return Check(TABLE, bank.key(_LIST), _is_stored(found))


def _is_stored(found: LoadedCustomers) -> Condition:
    return Attr("revision").eq(found.revision) if found.revision else absent("bank")


def dump_customers(customers: Iterable[Customer]) -> str:
    """Serialise the list of customers to JSON text, without their books."""
    return jsontext.dumps([_dump_customer(customer) for customer in customers])


def _accounts(found: LoadedCustomers, customer_id: str) -> tuple[CustomerAccount, ...]:
    customer = found.customers.get(customer_id)
    return customer.accounts if customer else ()


def _book_id(account: CustomerAccount) -> str:
    return f"book#{account.account_id}"


def _dump_customer(customer: Customer) -> dict[str, Any]:
    return {
        "id": customer.customer_id,
        "name": customer.full_name,
        "about": customer.about,
        "accounts": [
            {"number": each.number, "name": each.name, "currency": each.currency, "iban": each.iban}
            for each in customer.accounts
        ],
    }


@lru_cache(maxsize=4)
def _parse_customers(bank: BankName, text: str) -> Mapping[str, Customer]:
    """Parse the customers from JSON text. Returns the customers by id.

    The result is cached, because one request reads the list of up to 500 customers several times.
    """
    found = (_parse_customer(bank, members) for members in jsontext.loads(text))
    return MappingProxyType({customer.customer_id: customer for customer in found})


def _parse_customer(bank: BankName, members: dict[str, Any]) -> Customer:
    accounts = (make_loaded_account(bank, **each) for each in members["accounts"])
    return Customer(members["id"], members["name"], members["about"], tuple(accounts))
