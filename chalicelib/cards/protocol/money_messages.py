"""Messages of the six fee and limit actions (specification, Fee operations, Limit operations), and their entries."""

from decimal import Decimal
from typing import ClassVar

from chalicelib.cards.protocol.fields import AN, ANS, CountryIson, CurrencyIson, Id, LimitType, N, Paginator
from chalicelib.cards.protocol.message import Answer, Needs, NeedsOne, Request, if_absent, if_given


class CreateCustomFee(Request):
    """createCustomFee: charge a fee to an account immediately. Amounts are in minor units."""

    conditions: ClassVar = (
        NeedsOne(("card_id", "account_id")),
        Needs(("account_currency",), (if_absent("transaction_id"), if_absent("account_id"))),
        Needs(("currency_ison",), (if_given("amount"),)),
    )

    card_id: Id | None = None
    """The id of a card that has the account to charge. No example."""
    account_id: Id | None = None
    """The id of the account to charge. Example: ``100000025``."""
    account_currency: CurrencyIson | None = None
    """The currency of the account, which selects the account if only ``card_id`` is present."""
    amount: N[1, 15] | None = None
    """The fee in minor units, by default the price of the fee code's entry. Example: ``500``."""
    currency_ison: CurrencyIson | None = None
    """The fee's currency. Example: ``978``."""
    fee_group_id: Id
    """The id of the fee group that contains the fee code. Example: ``301``."""
    fee_code: AN[1, 8]
    """A fee code of the fee group. Example: ``"CARDREPL"``."""
    description: ANS[1, 37]
    """The transaction's description. Example: ``"Card replacement"``."""
    country_ison: CountryIson | None = None
    """The country that determines which entry of the fee code applies."""
    transaction_id: N[1, 11] | None = None
    """The id of the transaction that caused the fee, on the same account. No example."""


class GetCardFees(Request):
    """getCardFees: list a page of entries of a card's fee group."""

    card_id: Id
    """The card's id. Example: ``100000033``."""
    paginator: Paginator
    """The page to return."""


class GetFeesGroups(Request):
    """getFeesGroups: list all fee groups, or the fee groups that a programme allows."""

    program_id: Id | None = None
    """The id of an account or card programme. Only groups that the programme allows are returned.
    Example: ``501``.
    """


class GetLimits(Request):
    """getLimits: list a page of the limit entries of a card, account or holder."""

    record_id: Id
    """The id of the card, account or holder. Example: ``100000025``."""
    limit_type: LimitType
    """The type of limits. Example: ``2``."""
    paginator: Paginator


class GetLimitsStatus(GetLimits):
    """getLimitsStatus: list the entries of getLimits with the remaining amounts and counts of the current window."""


class GetLimitsGroups(Request):
    """getLimitsGroups: list all limit groups of a type, or the limit groups that a programme allows."""

    limit_type: LimitType
    program_id: Id | None = None


class CustomFee(Answer):
    """The fee's transaction, and the account's balances after the transaction."""

    transaction_id: Id
    """The id of the fee's transaction. Example: ``100000116``."""
    available_balance: int
    """The available balance, in minor units. Example: ``125000``."""
    settled_balance: int
    """The booked balance, in minor units. Example: ``131500``."""


class NamedGroup(Answer):
    """A group's id and name."""

    id: Id
    """The group's id. Example: ``301``."""
    name: ANS[1, 100]
    """The group's name. Example: ``"Standard Fees"``."""


class FeeEntryRecord(Answer):
    """An entry of a fee group. Prices, minimum and maximum are in minor units of ``currency_ison``."""

    title: ANS[1, 100]
    """The fee's name. Example: ``"Cash elsewhere"``."""
    transaction_type: N[1, 2]
    """The transaction type to which the fee applies, or 99 for all types. Example: ``1``."""
    entry_mode_type: N[1, 2]
    """The entry mode, or 99 for all entry modes. Example: ``99``."""
    mcc_low: N[1, 4]
    """The first merchant category code of the range. Example: ``0``."""
    mcc_high: N[1, 4]
    """The last merchant category code of the range. Example: ``9999``."""
    fixed_price: N[1, 15] | None
    """The fixed part of the fee, in minor units. Example: ``200``."""
    percent_price: Decimal | None
    """The variable part of the fee, as a percentage of the transaction's amount. Example: ``1``."""
    currency_ison: CurrencyIson
    """The currency of the prices."""
    country_ison: CountryIson | None
    """The country to which the fee applies. If the member is absent, the fee applies to all countries."""
    region_id: Id | None
    """The region to which the fee applies. If the member is absent, the fee applies to all regions."""
    min_amount: N[1, 15] | None
    """The minimum fee, in minor units. Example: ``300``."""
    max_amount: N[1, 15] | None
    """The maximum fee, in minor units."""
    date_updated: N[1, 11]
    """The time of the operator's last change to the entry, in Unix seconds. Example: ``1795253400``."""
    code: AN[1, 8]
    """The fee code. Among the entries with the same code, the first matching entry is charged.
    Example: ``"ATM"``.
    """


class LimitScope(Answer):
    """The transactions that a limit entry counts. The value 99 matches any transaction type or entry mode. In the other
    members, 0 matches any value.
    """

    amount_currency_ison: CurrencyIson
    """The currency of the amount. Example: ``978``."""
    duration: N[1, 3]
    """The length of a window. Example: ``1``."""
    transaction_type_id: N[1, 2]
    """The transaction type that is counted, or 99 for all types. Example: ``99``."""
    entry_mode_type_id: N[1, 2]
    """The entry mode, or 99 for all entry modes. Example: ``99``."""
    limits_tx_type_id: N[1, 2]
    """The class of transactions that are counted. Example: ``3``."""
    limits_group_id: Id
    """The limit group's id. Example: ``211``."""
    holder_country_ison: N[1, 3]
    """The holder's country, or 0 for all countries. Example: ``0``."""
    holder_region_id: N[1, 20]
    """The id of a region that includes the holder's country, or 0 for all regions. Example: ``0``."""
    transaction_region_id: N[1, 20]
    """The id of a region that includes the transaction's country, or 0 for all regions. Example: ``0``."""
    region_type_id: N[1]
    """The transaction's location relative to the holder. Example: ``0``."""
    currency_ison: N[1, 3]
    """The transaction's currency, or 0 for all currencies. Example: ``0``."""
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
    """A limit group entry with its remaining amounts and counts. ``date_valid`` is the window's end in Unix seconds."""

    name: ANS[1, 100] | None
    """The entry's name. Example: ``"Payments out a day"``."""
    original_count: N[1, 9] | None
    """The maximum number of transactions per window."""
    count: N[1, 9]
    """The number of remaining transactions, or 999999999 if the number is unlimited. Example: ``999999999``."""
    original_amount: N[1, 15] | None
    """The maximum total amount per window, in minor units. Example: ``25000000``."""
    amount: N[1, 15]
    """The remaining amount in minor units, or 999999999999999 if the amount is unlimited. Example: ``24997401``."""
    original_country_count: N[1, 3] | None
    """The maximum number of countries per window."""
    country_count: N[1, 3]
    """The number of remaining countries, or 999 if the number is unlimited. Example: ``999``."""
    date_valid: N[1, 11]
    """The first second after the window, or the current time for a limit on single transactions.
    Example: ``1795305600``.
    """
