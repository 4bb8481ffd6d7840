"""The tables that map a version's messages to the unified API: everything that differs between versions is a row here.

``versions`` registers the tables of each version. ``flows/reads/unified_reads`` and
``flows/payments/unified_orders`` apply them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from chalicelib.foundation.fields.field_types import OpenMessage
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.openbanking.protocol.payment_enumerations import Kind
from chalicelib.openbanking.protocol.webhooks import RelayedCall
from chalicelib.openbanking.unified.answers import TransactionStatus
from chalicelib.openbanking.unified.bank_requests import Members, RequestRow, RequestTable
from chalicelib.openbanking.unified.calls import UnifiedCall
from chalicelib.openbanking.unified.rows import Direction, Shape
from chalicelib.openbanking.unified.transaction_cursors import PageState

TRANSACTION_ORDER = ("stable_key", "transaction_id", "status", "direction")
"""The first members of a transaction, of which this service sets all but ``transaction_id``."""


@dataclass(frozen=True, slots=True)
class ReadTable:
    """A unified read of one object at banks of one version.

    Attributes:
        native: the native call, whose webhook, scope and limits apply.
        request: the rows of the request to the bank.
        shape: the rows of the object.
        longest_account_id: the longest ``account_id`` that the version takes.
        name: the member of the bank's response that contains the object or the list of them.
    """

    native: RelayedCall
    request: Sequence[RequestRow]
    shape: Shape
    longest_account_id: int
    name: str


@dataclass(frozen=True, slots=True)
class ListTable(ReadTable):
    """A unified read of a list.

    Attributes:
        entry: the model of an entry.
        amount: the native path of an amount, without which an entry is unusable; ``None`` if there is none.
        account_id: the member of an entry that must be the requested account, if the bank lists accounts.
    """

    entry: type[OpenMessage]
    amount: str | None = None
    account_id: str | None = None


@dataclass(frozen=True, slots=True)
class NativeList:
    """A list of transactions in the bank's response.

    Attributes:
        path: the path of the list.
        status: the status of an entry; ``None`` for entries that are not listed, because no money moved.
        asked_by: the values of ``status`` with which a request asks for the list.
    """

    path: str
    status: Callable[[Members], TransactionStatus | None]
    asked_by: frozenset[str]

    @property
    def name(self) -> str:
        """The name of the list in ``problems``."""
        return self.path.rpartition(".")[2]


@dataclass(frozen=True, slots=True)
class TransactionTable(ReadTable):
    """A unified read of transactions; ``name`` is the member of the response that contains the lists.

    Attributes:
        entry: the model of an entry.
        amount: the native path of the amount with its sign.
        lists: the lists in the order in which their entries are listed.
        unsigned_direction: the direction of an entry at a bank that does not sign amounts, by the account's id;
            ``None`` if unknown.
        next_position: the position of the next page, from the request's ``limit``, this page's state, the bank's
            response, and the number of entries in it; ``None`` at the end.
        repeats_allowed: how often in a row a page may equal the page before.
        first_position: the position of the first page; empty if the bank needs none.
        last_page: the last page that a request can number; ``None`` if pages have keys.
    """

    entry: type[OpenMessage]
    amount: str
    lists: Sequence[NativeList]
    unsigned_direction: Callable[[Members, str], Direction | None]
    next_position: Callable[[int, PageState, Members, int], str | None]
    repeats_allowed: int
    first_position: str = ""
    last_page: int | None = None


@dataclass(frozen=True, slots=True)
class FundsTable:
    """Unified confirmations of funds at banks of one version: the native call, and the rows of its body."""

    native: RelayedCall
    request: RequestTable


@dataclass(frozen=True, slots=True)
class UnifiedVersion:
    """The unified API at banks of one version: the table of each read and of each kind of payment."""

    accounts: ListTable
    account: ReadTable
    balances: ListTable
    transactions: TransactionTable
    funds_confirmations: FundsTable
    payments: Mapping[Kind, RequestTable]

    def read(self, call: UnifiedCall) -> ReadTable | FundsTable:
        """Return the table of a call."""
        table: ReadTable | FundsTable = getattr(self, call.name)
        return table
