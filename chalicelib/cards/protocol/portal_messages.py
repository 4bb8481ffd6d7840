"""Internal actions of the web interface's cards area.

Each action returns public data for one page, newest first. ``at`` is in Unix milliseconds.
"""

from typing import ClassVar

from chalicelib.cards.protocol.account_messages import AccountRecord
from chalicelib.cards.protocol.card_records import CardDetails
from chalicelib.cards.protocol.fields import ANS, AuthorizeType, CardStatus, Digits, Flag, Id, ItemCount, N, Range
from chalicelib.cards.protocol.message import Answer, Needs, Request, if_given
from chalicelib.cards.protocol.payment_messages import AddressRecord
from chalicelib.cards.protocol.report_messages import CardActivityRecord, TransactionRecord

CARDS, ACCOUNTS = 20, 4
"""The maximum number of cards per page, and of accounts per card. They are read in one batch."""
CREDENTIALS = 100
"""The maximum number of credentials in a list, which are read in one batch."""
STATEMENT_ROWS = 1000
"""The maximum number of transactions in a statement."""
LIST_CARDS, SHOW_CARD, LIST_ACTIVITY = "listCards", "showCard", "listActivity"
SHOW_STATEMENT, LIST_PROGRAMMES, LIST_CREDENTIALS = "showStatement", "listProgrammes", "listCredentials"


class ListCards(Request):
    """listCards: list the newest cards, or the cards before the card ``before``. Search criteria are optional.

    ``name`` is a part of the name on the card, or of the holder's name when the card was issued. Case and diacritics
    are ignored. ``before`` in the response is the start of the next page. A page with fewer cards than requested may
    have a next page, because a search reads only a limited number of cards.
    """

    item_count: Range[1, CARDS]
    before: Id | None = None
    status: CardStatus | None = None
    program_id: Id | None = None
    holder_id: Id | None = None
    name: ANS[1, 50] | None = None
    last_four: Digits[4] | None = None


class ShowCard(Request):
    """showCard: get a card with its holder, its first accounts, and their latest rows.

    ``item_count`` limits activity and transactions. ``balance_count`` limits the movements with their balances.
    """

    card_id: Id
    item_count: ItemCount
    balance_count: ItemCount


class ListActivity(Request):
    """listActivity: list the latest network messages about one card or all cards, or the messages before a given
    message.

    A message is identified by its time (Unix milliseconds) and its id. ``before_at`` and ``before_id`` in the response
    are the start of the next page, as in ``listCards``. Dates are Unix seconds, inclusive.
    """

    conditions: ClassVar = (
        Needs(("before_at",), (if_given("before_id"),)),
        Needs(("before_id",), (if_given("before_at"),)),
    )

    item_count: ItemCount
    card_id: Id | None = None
    before_at: N[1, 13] | None = None
    before_id: Id | None = None
    approved: Flag | None = None
    authorize_type: AuthorizeType | None = None
    date_from: N[1, 11] | None = None
    date_to: N[1, 11] | None = None


class ShowStatement(Request):
    """showStatement: list the transactions of a card's account between two times in Unix seconds, inclusive, in the
    order of recording.

    The default account is the card's primary account. If there are more than ``STATEMENT_ROWS`` transactions, the
    action is refused with 2005.
    """

    card_id: Id
    account_id: Id | None = None
    date_from: N[1, 11]
    date_to: N[1, 11]


class ListProgrammes(Request):
    """listProgrammes: list the card programmes, with the choices that a form for a new card offers."""


class ListCredentials(Request):
    """listCredentials: list the first ``CREDENTIALS`` credentials by name, with their call limits and without their
    keys.
    """


class CredentialSummary(Answer):
    """A credential with its call limit in each process, which is the credential's own limit or the default."""

    name: str
    calls_per_minute: int
    has_own_limit: bool


class ProgrammeSummary(Answer):
    """A card programme. Currencies are numeric codes."""

    id: int
    name: str
    virtual: bool
    physical: bool
    currencies: list[int]


class NewCardChoices(Answer):
    """The choices for a new card: programmes, and the names of shipping methods by id."""

    programmes: list[ProgrammeSummary]
    shipping_methods: dict[str, str]


class NumberedCard(CardDetails):
    """A card with its masked number and its programme's name."""

    pan: str | None
    program_name: str


class HeldAccount(AccountRecord):
    """An account with its held amount."""

    held_balance: int


class ListedCard(NumberedCard):
    """A card in the list, with its first accounts and the number of further accounts."""

    holder_name: str
    accounts: list[HeldAccount]
    more_accounts: int


class DatedMessage(CardActivityRecord):
    """A network message with its time."""

    at: int


class DatedTransaction(TransactionRecord):
    """A transaction with its time. ``direction`` is credit or debit."""

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
    """The authorization to which network messages and transactions belong."""

    trans_link: str
    state: str
    account_id: int
    currency_ison: int
    left_amount: int
    held_amount: int
    cleared: bool
    merchant_name: str | None


class CardOverview(Answer):
    """A card with its related records. ``entries`` maps kinds of configuration entries to the names of the card's
    entries.

    For each kind of group, ``groups`` has the names of the groups that the card's programme allows, by id.
    """

    card: NumberedCard
    entries: dict[str, str]
    groups: dict[str, dict[str, str]]
    holder_name: str
    accounts: list[AccountOverview]
    more_accounts: int
    activity: list[DatedMessage]
    authorizations: list[AuthorizationSummary]
    addresses: list[AddressRecord]
    currencies: list[int]


class StatementRow(DatedTransaction):
    """A transaction with its effect on the settled balance (``settled_amount``) and the balance after the transaction
    (``settled_balance``).
    """

    settled_amount: int
    settled_balance: int


class Statement(Answer):
    """The transactions of an account, with the settled balance before the first transaction and after the last
    transaction.

    ``accounts`` are the card's first accounts.
    """

    account: HeldAccount
    accounts: list[HeldAccount]
    holder_name: str
    opening_balance: int
    closing_balance: int
    transactions: list[StatementRow]
