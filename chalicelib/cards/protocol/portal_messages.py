"""Internal actions of the web interface's cards area.

Each returns public data for one page, newest first; ``at`` is in Unix milliseconds.
"""

from typing import ClassVar

from chalicelib.cards.protocol.account_messages import AccountRecord
from chalicelib.cards.protocol.card_records import CardDetails
from chalicelib.cards.protocol.fields import Id, ItemCount, N, Range
from chalicelib.cards.protocol.message import Answer, Needs, Request, if_given
from chalicelib.cards.protocol.payment_messages import AddressRecord
from chalicelib.cards.protocol.report_messages import CardActivityRecord, TransactionRecord

CARDS, ACCOUNTS = 20, 4
"""Cards per page and accounts per card, which are read in one batch."""
LIST_CARDS, SHOW_CARD, LIST_ACTIVITY = "listCards", "showCard", "listActivity"


class ListCards(Request):
    """listCards: list the newest cards, or those before the card ``before``."""

    item_count: Range[1, CARDS]
    before: Id | None = None


class ShowCard(Request):
    """showCard: get a card with its holder, its first accounts, and their latest rows.

    ``item_count`` limits activity and transactions; ``balance_count`` limits the movements with their balances.
    """

    card_id: Id
    item_count: ItemCount
    balance_count: ItemCount


class ListActivity(Request):
    """listActivity: list the latest network messages about one or all cards, or those before a given message.

    A message is identified by its time (Unix milliseconds) and its id.
    """

    conditions: ClassVar = (
        Needs(("before_at",), (if_given("before_id"),)),
        Needs(("before_id",), (if_given("before_at"),)),
    )

    item_count: ItemCount
    card_id: Id | None = None
    before_at: N[1, 13] | None = None
    before_id: Id | None = None


class NumberedCard(CardDetails):
    """A card with its masked number and its programme's name."""

    pan: str | None
    program_name: str


class HeldAccount(AccountRecord):
    """An account with its held amount."""

    held_balance: int


class ListedCard(NumberedCard):
    """A card in the list, with its first accounts and the number of further ones."""

    holder_name: str
    accounts: list[HeldAccount]
    more_accounts: int


class DatedMessage(CardActivityRecord):
    """A network message with its time."""

    at: int


class DatedTransaction(TransactionRecord):
    """A transaction with its time; ``direction`` is credit or debit."""

    at: int
    direction: str


class DatedBalances(Answer):
    """An account's balances after a movement."""

    at: int
    settled: int
    held: int
    reserved: int


class AccountOverview(HeldAccount):
    """An account with its latest transactions and movements."""

    transactions: list[DatedTransaction]
    balances: list[DatedBalances]


class AuthorizationSummary(Answer):
    """The authorization behind network messages and transactions."""

    trans_link: str
    state: str
    account_id: int
    currency_ison: int
    left_amount: int
    held_amount: int
    cleared: bool
    merchant_name: str | None


class CardOverview(Answer):
    """A card with its related records; ``entries`` maps kinds of configuration entries to their names."""

    card: NumberedCard
    entries: dict[str, str]
    holder_name: str
    accounts: list[AccountOverview]
    more_accounts: int
    activity: list[DatedMessage]
    authorizations: list[AuthorizationSummary]
    addresses: list[AddressRecord]
    currencies: list[int]
