"""Loads a customer file into the demonstration banks, and deletes customers, each in one transaction."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from pydantic import ValidationError

from chalicelib.demo_bank import directory
from chalicelib.demo_bank.banks import get_bank
from chalicelib.demo_bank.books import dump_book
from chalicelib.demo_bank.customers import Customer
from chalicelib.demo_bank.directory import LoadedCustomers, NewCustomer
from chalicelib.demo_bank.runtime import DemoBank, Services
from chalicelib.foundation.dynamodb.store import ConditionFailed, Operation
from infra import yaml_file
from infra.customers import building, validation
from infra.customers.models import BANKS, CustomerPart, CustomersFile

TOGETHER = 100
"""Maximum number of operations in a DynamoDB transaction."""
MOST_BYTES_TOGETHER = 3_200_000
"""Maximum size of the account books in one load. With a customer list for each bank, the transaction remains below
DynamoDB's limit of 4 MB.
"""


class InvalidCustomers(ValueError):
    """The file cannot be loaded. Each of ``faults`` is a sentence that starts with the location and quotes no value."""

    def __init__(self, faults: Iterable[str]) -> None:
        self.faults = tuple(faults)
        super().__init__("; ".join(self.faults))


class TooManyCustomers(Exception):
    """The change is too large for one transaction, or the number of customers exceeds the limit."""


class CustomersChanged(Exception):
    """A concurrent load or deletion succeeded first. No data was changed."""


class UnknownCustomers(Exception):
    """No loaded customers have these ids. No data was changed."""


@dataclass(frozen=True, slots=True)
class BankChange:
    """The changes of a load or deletion at one bank."""

    bank: DemoBank
    found: LoadedCustomers
    added: Sequence[NewCustomer] = field(default_factory=tuple)
    removed: Collection[str] = frozenset()

    @property
    def operations(self) -> list[Operation]:
        """Return the write operations. A bank without changes gets a condition check, so that concurrent loads of the
        bank's customers fail.
        """
        if self.added or self.removed:
            return directory.replace_customers(self.bank, self.found, self.added, self.removed)
        return [directory.check_unchanged(self.bank, self.found)]

    @property
    def customers(self) -> list[Customer]:
        """Return the bank's loaded customers after the change."""
        new = {each.customer.customer_id: each.customer for each in self.added}
        others = {id_: each for id_, each in self.found.customers.items() if id_ not in self.removed}
        return list((others | new).values())


def read_all(hub: Services) -> Mapping[str, LoadedCustomers]:
    """Return the loaded customers of each bank, by BIC."""
    return {bic: directory.read_loaded(_bank(hub, bic)) for bic in BANKS}


def load(hub: Services, text: str) -> list[BankChange]:
    """Load a file. Returns the change at each bank.

    Existing customers are replaced at every bank if the file contains a customer with the same id. Other customers
    remain.

    Raises:
        InvalidCustomers, TooManyCustomers, CustomersChanged, StoreError: no data was changed.
    """
    parts, stored = _parse(text), read_all(hub)
    known = {bic: found.customers for bic, found in stored.items()}
    if faults := list(validation.find_faults(parts, known, hub.clock.now().date())):
        raise InvalidCustomers(f"{place} {said}" for place, said in faults)
    changes = [_plan_load(_bank(hub, bic), stored[bic], parts) for bic in BANKS]
    if faults := list(_find_large_books(parts, changes)):
        raise InvalidCustomers(f"{place} {said}" for place, said in faults)
    _carry_out(hub, changes)
    return changes


def delete(hub: Services, ids: Collection[str]) -> list[BankChange]:
    """Delete customers at every bank, and return the change at each bank. Later calls with the deleted customers'
    consents are refused.

    Raises:
        UnknownCustomers, TooManyCustomers, CustomersChanged, StoreError: no data was changed.
    """
    stored = read_all(hub)
    if unknown := [each for each in ids if not any(each in found.customers for found in stored.values())]:
        raise UnknownCustomers(f"there are no loaded customers with these ids: {', '.join(unknown)}")
    changes = [
        BankChange(_bank(hub, bic), found, removed=[each for each in ids if each in found.customers])
        for bic, found in stored.items()
    ]
    _carry_out(hub, changes)
    return changes


def _bank(hub: Services, bic: str) -> DemoBank:
    return get_bank(BANKS[bic].name, hub)


def _parse(text: str) -> list[CustomerPart]:
    try:
        return CustomersFile.model_validate(yaml_file.parse_yaml(text)).customers
    except yaml_file.InvalidYaml as error:
        raise InvalidCustomers([str(error)]) from None
    except ValidationError as error:
        raise InvalidCustomers(yaml_file.explain_faults(error)) from None


def _plan_load(bank: DemoBank, found: LoadedCustomers, parts: Sequence[CustomerPart]) -> BankChange:
    """Return the planned change at one bank. A customer without an account at this bank is removed."""
    added = [building.build_customer(bank.profile, part) for part in parts if bank.profile.bic in part.banks]
    left = [part.id for part in parts if bank.profile.bic not in part.banks and part.id in found.customers]
    return BankChange(bank, found, added, left)


def _find_large_books(parts: Sequence[CustomerPart], changes: Iterable[BankChange]) -> Iterator[validation.Fault]:
    books = {
        (new.customer.customer_id, position): new.books[account.account_id]
        for change in changes
        for new in change.added
        for position, account in enumerate(new.customer.accounts)
    }
    for number, part in enumerate(parts):
        for position in range(len(part.accounts)):
            if len(dump_book(books[part.id, position]).encode()) > directory.MOST_BYTES:
                yield f"customers.{number}.accounts.{position}", "has transactions of more than 350 KB"


def _carry_out(hub: Services, changes: Sequence[BankChange]) -> None:
    operations = [operation for change in changes for operation in change.operations]
    _check_limits(changes, operations)
    try:
        hub.store.transact(operations)
    except ConditionFailed:
        raise CustomersChanged("the customers were changed concurrently: try again") from None


def _check_limits(changes: Iterable[BankChange], operations: Sequence[Operation]) -> None:
    if len(operations) > TOGETHER:
        raise TooManyCustomers(
            f"{len(operations)} records would change at once, one per account and bank, and one per bank: at most "
            f"{TOGETHER} are possible, so split the change into several"
        )
    books = (dump_book(book) for change in changes for new in change.added for book in new.books.values())
    if sum(len(book.encode()) for book in books) > MOST_BYTES_TOGETHER:
        raise TooManyCustomers("the file's transactions take more than 3.2 MB: split it into several files")
    for change in changes:
        after, bic = change.customers, change.bank.profile.bic
        if len(after) > directory.MOST_CUSTOMERS:
            raise TooManyCustomers(
                f"{bic} would have more than {directory.MOST_CUSTOMERS} loaded customers: delete some"
            )
        if len(directory.dump_customers(after).encode()) > directory.MOST_BYTES:
            raise TooManyCustomers(
                f"the names and accounts of {bic}'s customers would take more than 350 KB: delete some"
            )
