"""Lists of transactions as banks of both versions send them, and the unified pages that they become."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from chalicelib.openbanking.unified.entries import Problems
from chalicelib.openbanking.unified.tables import TransactionTable
from chalicelib.openbanking.unified.transaction_cursors import PageState
from chalicelib.openbanking.unified.transaction_pages import TransactionSelection, read_page
from chalicelib.openbanking.unified.versions import UNIFIED_VERSIONS

ACCOUNT_ID = "4711001"
OWN = {"iban": "DE61100999000004711001", "account_name": "Ada Okafor", "internal_account_id": ACCOUNT_ID}
SHOP = {"iban": "DE89370400440532013000", "account_name": "Corner Shop", "internal_account_id": "9"}


def payment(payment_id: Any = "P-1", amount: Any = "-12.50", **members: Any) -> dict[str, Any]:
    """Return a payment record of a version 1 bank; members that are ``...`` are left out."""
    return _without_dots(
        {
            "id": payment_id,
            "reference": "RF18",
            "date_created": "2026-01-30",
            "amount": amount,
            "status": 4,
            "type": "Bank transfer",
            "description": "Invoice 17",
            "additional_data": [
                {"sender_data": {**OWN, "currency": "EUR"}, "receiver_data": {**SHOP, "currency": "GBP"}}
            ],
            **members,
        }
    )


def transaction(transaction_id: Any = "T-1", amount: Any = "-12.50", **members: Any) -> dict[str, Any]:
    """Return a transaction of a version 2 bank; members that are ``...`` are left out."""
    return _without_dots(
        {
            "transaction_id": transaction_id,
            "creditor_name": "Corner Shop",
            "creditor_account": {"iban": SHOP["iban"]},
            "remittance_information_unstructured": "Invoice 17",
            "transaction_amount": {
                "amount": amount,
                "currency": "EUR",
                "booking_date": "2026-01-30",
                "value_date": "2026-01-31",
            },
            **members,
        }
    )


def entry(version: int, entry_id: Any = "E-1", amount: Any = "-12.50", **members: Any) -> dict[str, Any]:
    """Return an entry of a bank of ``version``."""
    return payment(entry_id, amount, **members) if version == 1 else transaction(entry_id, amount, **members)


def answer(version: int, *booked: Any, pending: Sequence[Any] = (), **members: Any) -> dict[str, Any]:
    """Return a page of a bank of ``version``. A version 1 bank marks pending payments by their status."""
    if version == 1:
        marked = [{**each, "status": 1} for each in pending]
        return {"payments": [*marked, *booked], "paginator": {"limit": 100, "current_page": 1}, **members}
    return {"transactions": {"booked": [*booked], "pending": [*pending]}, **members}


def _without_dots(members: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in members.items() if value is not ...}


@dataclass
class Reader:
    """Reads the pages of a bank's list one after the other.

    Attributes:
        page: the state of the next page; ``None`` after the last page.
        problems: the problems of the last page.
    """

    version: int
    status: str = "all"
    limit: int = 100
    earliest: str | None = None
    latest: str | None = None
    unsigned_amounts: bool = False
    with_native: bool = False
    account_id: str = ACCOUNT_ID
    page: PageState | None = None
    problems: list[dict[str, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.page = PageState(self.table.first_position)

    @property
    def table(self) -> TransactionTable:
        return UNIFIED_VERSIONS[self.version].transactions

    def read(self, response: dict[str, Any]) -> list[dict[str, Any]]:
        """Return the transactions of the next page. Raises: UnusablePage."""
        assert self.page is not None, "the list has ended"
        problems = Problems()
        selection = TransactionSelection(
            account_id=self.account_id,
            status=self.status,
            limit=self.limit,
            earliest=self.earliest,
            latest=self.latest,
            unsigned_amounts=self.unsigned_amounts,
            with_native=self.with_native,
        )
        found, self.page = read_page(self.table, selection, self.page, response, problems)
        self.problems = [dict(each) for each in problems.as_list()]
        return found


def read_one(version: int, native: Any, **selection: Any) -> dict[str, Any]:
    """Return the only transaction of a page with one entry."""
    (found,) = Reader(version, **selection).read(answer(version, native))
    return found


def ids(transactions: Sequence[dict[str, Any]]) -> list[str | None]:
    return [each["transaction_id"] for each in transactions]


def ordinals(transactions: Sequence[dict[str, Any]]) -> list[int]:
    """Return the ordinals of the stable keys."""
    return [int(each["stable_key"].rpartition(".")[2]) for each in transactions]
