"""Messages of the six fee and limit actions (specification, Fee operations, Limit operations), and their entries."""

from decimal import Decimal
from typing import ClassVar

from chalicelib.cards.protocol.fields import AN, ANS, CountryIson, CurrencyIson, Id, LimitType, N, Paginator
from chalicelib.cards.protocol.message import Answer, Needs, NeedsOne, Request, if_absent, if_given


class CreateCustomFee(Request):
    """createCustomFee: charge an account a fee immediately. Amounts are in minor units."""

    conditions: ClassVar = (
        NeedsOne(("card_id", "account_id")),
        Needs(("account_currency",), (if_absent("transaction_id"), if_absent("account_id"))),
        Needs(("currency_ison",), (if_given("amount"),)),
    )

    card_id: Id | None = None
    """A card with an account to charge. No example."""
    account_id: Id | None = None
    """The account to charge. Example: ``100000025``."""
    account_currency: CurrencyIson | None = None
    """The currency of the account; selects one if only card_id is present."""
    amount: N[1, 15] | None = None
    """The fee, in minor units; default: the price of the code's entry. Example: ``500``."""
    currency_ison: CurrencyIson | None = None
    """The fee's currency. Example: ``978``."""
    fee_group_id: Id
    """The fee group that contains the code. Example: ``301``."""
    fee_code: AN[1, 8]
    """A code of the group. Example: ``"CARDREPL"``."""
    description: ANS[1, 37]
    """The transaction's description. Example: ``"Card replacement"``."""
    country_ison: CountryIson | None = None
    """The country that selects among the code's entries."""
    transaction_id: N[1, 11] | None = None
    """The transaction that incurred the fee, on the same account. No example."""


class GetCardFees(Request):
    """getCardFees: list a page of entries of a card's fee group."""

    card_id: Id
    """The card. Example: ``100000033``."""
    paginator: Paginator
    """The page to return."""


class GetFeesGroups(Request):
    """getFeesGroups: list all fee groups, or those that a programme allows."""

    program_id: Id | None = None
    """Returns only the groups allowed by this account or card programme. Example: ``501``."""


class GetLimits(Request):
    """getLimits: list a page of the limit entries of a card, account or holder."""

    record_id: Id
    """The card, account or holder. Example: ``100000025``."""
    limit_type: LimitType
    """The type of limits. Example: ``2``."""
    paginator: Paginator


class GetLimitsStatus(GetLimits):
    """getLimitsStatus: list the entries of getLimits with their remainders in the current window."""


class GetLimitsGroups(Request):
    """getLimitsGroups: list all limit groups of a type, or those that a programme allows."""

    limit_type: LimitType
    program_id: Id | None = None


class CustomFee(Answer):
    """The fee's transaction, and the account's balances after it."""

    transaction_id: Id
    """The fee's transaction. Example: ``100000116``."""
    available_balance: int
    """The available balance, in minor units. Example: ``125000``."""
    settled_balance: int
    """The booked balance, in minor units. Example: ``131500``."""


class NamedGroup(Answer):
    """A group's id and name."""

    id: Id
    """The group. Example: ``301``."""
    name: ANS[1, 100]
    """The name. Example: ``"Standard Fees"``."""


class FeeEntryRecord(Answer):
    """An entry of a fee group. Prices, minimum and maximum are in minor units of ``currency_ison``."""

    title: ANS[1, 100]
    """The fee's name. Example: ``"Cash elsewhere"``."""
    transaction_type: N[1, 2]
    """The transaction type to which the fee applies; 99 matches any. Example: ``1``."""
    entry_mode_type: N[1, 2]
    """The entry mode; 99 matches any. Example: ``99``."""
    mcc_low: N[1, 4]
    """The first merchant category code of the range. Example: ``0``."""
    mcc_high: N[1, 4]
    """The last merchant category code of the range. Example: ``9999``."""
    fixed_price: N[1, 15] | None
    """The fixed part, in minor units. Example: ``200``."""
    percent_price: Decimal | None
    """The variable part, as a percentage of the transaction's amount. Example: ``1``."""
    currency_ison: CurrencyIson
    """The currency of the prices."""
    country_ison: CountryIson | None
    """The country to which the fee applies; all countries when absent."""
    region_id: Id | None
    """The region to which the fee applies; all regions when absent."""
    min_amount: N[1, 15] | None
    """The minimum fee, in minor units. Example: ``300``."""
    max_amount: N[1, 15] | None
    """The maximum fee, in minor units."""
    date_updated: N[1, 11]
    """When the operator last changed the entry, in Unix seconds. Example: ``1795253400``."""
    code: AN[1, 8]
    """The fee code: the first matching entry of a code is charged. Example: ``"ATM"``."""


class LimitScope(Answer):
    """The transactions that a limit entry counts. 99 matches any transaction type or entry mode; elsewhere 0 matches
    any.
    """

    amount_currency_ison: CurrencyIson
    """The currency of the amount. Example: ``978``."""
    duration: N[1, 3]
    """The length of a window. Example: ``1``."""
    transaction_type_id: N[1, 2]
    """The transaction type counted; 99 matches any. Example: ``99``."""
    entry_mode_type_id: N[1, 2]
    """The entry mode; 99 matches any. Example: ``99``."""
    limits_tx_type_id: N[1, 2]
    """The class of transactions counted. Example: ``3``."""
    limits_group_id: Id
    """The limit group. Example: ``211``."""
    holder_country_ison: N[1, 3]
    """The holder's country; 0 matches any. Example: ``0``."""
    holder_region_id: N[1, 20]
    """A region that includes the holder's country; 0 matches any. Example: ``0``."""
    transaction_region_id: N[1, 20]
    """A region that includes the transaction's country; 0 matches any. Example: ``0``."""
    region_type_id: N[1]
    """The transaction's location relative to the holder. Example: ``0``."""
    currency_ison: N[1, 3]
    """The transaction's currency; 0 matches any. Example: ``0``."""
    mcc_low: N[1, 4]
    mcc_high: N[1, 4]
    date_updated: N[1, 11]


class LimitEntryRecord(LimitScope):
    """An entry of a limit group: bounds on the number of transactions, their sum, and their countries."""

    name: ANS[1, 100] | None
    """The entry's name. Example: ``"Payments out a day"``."""
    count: N[1, 9] | None
    """The maximum number of transactions per window. No example."""
    amount: N[1, 15] | None
    """The maximum total amount per window, in minor units. Example: ``25000000``."""
    country_count: N[1, 3] | None
    """The maximum number of countries per window. No example."""


class LimitStatusRecord(LimitScope):
    """A limit group entry with its remainder; ``date_valid`` is the window's end in Unix seconds."""

    name: ANS[1, 100] | None
    """The entry's name. Example: ``"Payments out a day"``."""
    original_count: N[1, 9] | None
    """The maximum number of transactions per window."""
    count: N[1, 9]
    """The number of transactions left; 999999999 without a bound. Example: ``999999999``."""
    original_amount: N[1, 15] | None
    """The maximum total amount per window, in minor units. Example: ``25000000``."""
    amount: N[1, 15]
    """The amount left, in minor units; 999999999999999 without a bound. Example: ``24997401``."""
    original_country_count: N[1, 3] | None
    """The maximum number of countries per window."""
    country_count: N[1, 3]
    """The number of further countries left; 999 without a bound. Example: ``999``."""
    date_valid: N[1, 11]
    """The first second after the window; the current time for single-transaction limits. Example: ``1795305600``."""
