"""The unified API's requests: parameters and bodies that are the same for banks of all versions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from chalicelib.foundation.fields.field_types import Message
from chalicelib.foundation.fields.problems import fault
from chalicelib.openbanking.protocol.bank_identifiers import LONGEST_ID
from chalicelib.openbanking.protocol.fields import AN, Day, Whole
from chalicelib.openbanking.unified.calls import (
    UNIFIED_ACCOUNT,
    UNIFIED_ACCOUNTS,
    UNIFIED_BALANCES,
    UNIFIED_TRANSACTIONS,
    UnifiedCall,
)
from chalicelib.openbanking.unified.transaction_cursors import LONGEST_CURSOR

StatusFilter = Literal["booked", "pending", "all"]
MOST_ENTRIES = 100
"""The most entries of a page that a request can name."""


class AccountsQuery(Message):
    """``GET /tpp/unified/accounts``."""

    native: Literal["1"] | None = None
    """Adds ``native`` to each entry: the entry as the native call returns it. Example if sent: ``"1"``."""


class AccountQuery(AccountsQuery):
    """``GET /tpp/unified/account`` and ``GET /tpp/unified/balances``."""

    account_id: AN[LONGEST_ID]
    """The ``account_id`` from ``accounts``. Example: ``DE_ACCOUNT``."""


class TransactionsQuery(AccountQuery):
    """``GET /tpp/unified/transactions``: a page of an account's transactions."""

    from_: Annotated[Day | None, Field(alias="from")] = None
    """The first day, included; no earlier than the bank's ``history_days``. Example if sent: ``"2026-11-01"``."""
    to: Day | None = None
    """The last day, included. Example if sent: ``"2026-11-30"``."""
    status: StatusFilter = "all"
    """The transactions to list. Example: ``"all"``."""
    limit: Whole[MOST_ENTRIES] = MOST_ENTRIES
    """The number of transactions that the bank is asked for; a page may have fewer or more. Example: ``100``."""
    cursor: AN[LONGEST_CURSOR] | None = None
    """The ``next_cursor`` of the page before; omit it for the first page. Example if sent: ``"AAAAAAB…"``."""

    @model_validator(mode="after")
    def from_before_to(self) -> Self:
        if self.from_ is not None and self.to is not None and self.from_ > self.to:
            fault("value", "from must not be after to")
        return self


QUERIES: Mapping[UnifiedCall, type[AccountsQuery]] = {
    UNIFIED_ACCOUNTS: AccountsQuery,
    UNIFIED_ACCOUNT: AccountQuery,
    UNIFIED_BALANCES: AccountQuery,
    UNIFIED_TRANSACTIONS: TransactionsQuery,
}
"""The query of each call."""
