"""Test banks whose lists have odd pages, ids, nulls or amounts, as TPPs that synchronise accounts find them."""

from itertools import count
from typing import Any

from chalicelib.foundation import jsontext
from chalicelib.openbanking.protocol import v1_version as v1
from chalicelib.openbanking.protocol import v2_version as v2
from chalicelib.openbanking.protocol.version import Version
from chalicelib.openbanking.protocol.webhooks import Webhook
from tests.infra.conformance.broken_banks import Broken
from tests.infra.conformance.small_bank import Members, SmallBank


class ChangesEntries(SmallBank):
    """A bank whose entries are changed one by one. ``change`` gets the position of the entry on its page."""

    def change(self, entry: Members, position: int, size: int) -> Members:
        raise NotImplementedError

    def payments_1(self, asked: Members) -> Members:
        page = super().payments_1(asked)
        return {**page, "payments": self._change_all(page["payments"], asked["record_count"])}

    def transactions_2(self, asked: Members) -> Members:
        page = super().transactions_2(asked)
        found = page["transactions"].items()
        return {**page, "transactions": {name: self._change_all(rows, asked["page_size"]) for name, rows in found}}

    def _change_all(self, rows: list[Members], size: int) -> list[Members]:
        return [self.change(row, position, size) for position, row in enumerate(rows)]

    def one_payment_1(self, asked: Members) -> Members:
        return {"payment": {**self.payment_1(0), "id": asked["payment_id"]}}


class SetsIds(ChangesEntries):
    def new_id(self, given: str, position: int, size: int) -> str | None:
        raise NotImplementedError

    def change(self, entry: Members, position: int, size: int) -> Members:
        name = "id" if "id" in entry else "transaction_id"
        made = self.new_id(entry[name], position, size)
        return {**entry, name: made} if made is not None else {key: entry[key] for key in entry.keys() - {name}}


class HasNoIds(SetsIds):
    def new_id(self, given: str, position: int, size: int) -> str | None:
        return None


class HasBlankIds(SetsIds):
    def new_id(self, given: str, position: int, size: int) -> str | None:
        return " "


class HasOneId(SetsIds):
    def new_id(self, given: str, position: int, size: int) -> str | None:
        return "NOTPROVIDED"


class MakesIdsForEachAnswer(SetsIds):
    def __init__(self, version: Version) -> None:
        super().__init__(version)
        self._numbers = count()

    def new_id(self, given: str, position: int, size: int) -> str | None:
        return str(next(self._numbers))


class MakesIdsOfThePageSize(SetsIds):
    def new_id(self, given: str, position: int, size: int) -> str | None:
        return f"{given}-{size}"


class MakesIdsOfThePosition(SetsIds):
    def new_id(self, given: str, position: int, size: int) -> str | None:
        return str(position)


class HasItsOwnIds(ChangesEntries):
    """A conforming bank of version 2 whose transactions have a member ``id`` of its own, too."""

    def change(self, entry: Members, position: int, size: int) -> Members:
        return {**entry, "id": None if position % 2 else "transaction"}


class RepeatsPages(SmallBank):
    """A bank that returns the first page, whichever is requested. Its ``page_key`` is always new."""

    def payments_1(self, asked: Members) -> Members:
        page = super().payments_1({**asked, "current_page": 1})
        return {**page, "paginator": {**page["paginator"], "current_page": asked["current_page"]}}

    def transactions_2(self, asked: Members) -> Members:
        page = super().transactions_2({**asked, "page_key": "0"})
        return {**page, "page_key": str(int(asked.get("page_key", 0)) + 1)}


class RepeatsPagesWithoutIds(HasNoIds, RepeatsPages):
    """A bank that repeats pages whose entries have no ids."""


class RepeatsPagesWithBlankIds(HasBlankIds, RepeatsPages):
    """A bank that repeats pages whose entries have blank ids."""


class HasTwoEntries(HasNoIds):
    """A conforming bank whose small pages have one entry, without an id."""

    def transactions(self, asked: Members) -> dict[str, list[Members]]:
        return {"booked": super().transactions(asked)["booked"][:2], "pending": []}


class RepeatsPagesOfOneEntry(HasTwoEntries):
    """A bank that repeats the first of its small pages. Its large pages are correct."""

    def transactions_2(self, asked: Members) -> Members:
        page = super().transactions_2({**asked, "page_key": "0"})
        return {**page, "page_key": str(int(asked.get("page_key", 0)) + 1)} if "page_key" in page else page


class RepeatsThePageKey(SmallBank):
    """A bank whose pages continue, but whose ``page_key`` is always the same."""

    def transactions_2(self, asked: Members) -> Members:
        page = super().transactions_2({**asked, "page_key": "2"} if "page_key" in asked else asked)
        return {**page, "page_key": "next"} if "page_key" in page else page


class SellsEqualCoffees(HasNoIds):
    """A conforming bank whose entries have no ids and are all equal, on every page."""

    def transactions(self, asked: Members) -> dict[str, list[Members]]:
        booked = super().transactions(asked)["booked"]
        return {"booked": booked[:1] * len(booked), "pending": []}


class WritesNulls(ChangesEntries):
    def change(self, entry: Members, position: int, size: int) -> Members:
        return {**entry, "additional_data": None} if "id" in entry else {**entry, "debtor_name": None}


class WritesAmounts(ChangesEntries):
    """A bank that writes the amount -8.50 in its own way."""

    AMOUNT: Any

    def change(self, entry: Members, position: int, size: int) -> Members:
        if "amount" in entry:
            return {**entry, "amount": self.AMOUNT}
        return {**entry, "transaction_amount": {**entry["transaction_amount"], "amount": self.AMOUNT}}


class WritesExponents(WritesAmounts):
    AMOUNT = jsontext.Number("-85E-1")


class WritesNoAmounts(SmallBank):
    """A conforming bank whose accounts have other members of the name ``amount``."""

    def shape(self, webhook: Webhook, members: Members) -> Members:
        if "balances" not in members:
            return members
        return {"balances": [{**each, "amount": None, "limit": {"amount": "three"}} for each in members["balances"]]}


class WritesMoreDecimals(WritesAmounts):
    AMOUNT = "-8.5000"


_NEXT_1, _NEXT_2 = "account_payments.next-page", "account_transactions.next-page"
_LAST, _ALL = "account_transactions.last-page", "account_transactions.all-pages"
_ADVISED = (
    ("ids", HasBlankIds),
    ("ids", HasOneId),
    ("stable-ids", MakesIdsForEachAnswer),
    ("stable-ids", MakesIdsOfThePageSize),
    ("stable-ids", MakesIdsOfThePosition),
    ("nulls", WritesNulls),
    ("decimals", WritesExponents),
    ("decimals", WritesMoreDecimals),
)
ODD: tuple[Broken, ...] = (
    Broken(RepeatsPagesWithoutIds, v2.VERSION, _NEXT_2, (_NEXT_2,)),
    Broken(RepeatsPagesWithBlankIds, v1.VERSION, _NEXT_1, (_NEXT_1, "account_payments.past-the-end")),
    Broken(RepeatsPagesWithBlankIds, v2.VERSION, _NEXT_2, (_NEXT_2,)),
    Broken(RepeatsPagesOfOneEntry, v2.VERSION, _NEXT_2, (_NEXT_2,)),
    Broken(RepeatsThePageKey, v2.VERSION, _LAST, (_LAST, _ALL)),
    Broken(HasNoIds, v2.VERSION, "account_transactions.ids", (), "advice"),
    *(Broken(bank, v1.VERSION, f"account_payments.{name}", (), "advice") for name, bank in _ADVISED),
    *(Broken(bank, v2.VERSION, f"account_transactions.{name}", (), "advice") for name, bank in _ADVISED),
)
"""Each odd bank, with the check that finds its oddity."""
