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
    account_id: Id | None = None
    account_currency: CurrencyIson | None = None
    amount: N[1, 15] | None = None
    currency_ison: CurrencyIson | None = None
    fee_group_id: Id
    fee_code: AN[1, 8]
    description: ANS[1, 37]
    country_ison: CountryIson | None = None
    transaction_id: N[1, 11] | None = None


class GetCardFees(Request):
    """getCardFees: list a page of entries of a card's fee group."""

    card_id: Id
    paginator: Paginator


class GetFeesGroups(Request):
    """getFeesGroups: list all fee groups, or those that a programme allows."""

    program_id: Id | None = None


class GetLimits(Request):
    """getLimits: list a page of the limit entries of a card, account or holder."""

    record_id: Id
    limit_type: LimitType
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
    available_balance: int
    settled_balance: int


class NamedGroup(Answer):
    """A group's id and name."""

    id: Id
    name: ANS[1, 100]


class FeeEntryRecord(Answer):
    """An entry of a fee group. Prices, minimum and maximum are in minor units of ``currency_ison``."""

    title: ANS[1, 100]
    transaction_type: N[1, 2]
    entry_mode_type: N[1, 2]
    mcc_low: N[1, 4]
    mcc_high: N[1, 4]
    fixed_price: N[1, 15] | None
    percent_price: Decimal | None
    currency_ison: CurrencyIson
    country_ison: CountryIson | None
    region_id: Id | None
    min_amount: N[1, 15] | None
    max_amount: N[1, 15] | None
    date_updated: N[1, 11]
    code: AN[1, 8]


class LimitScope(Answer):
    """The transactions that a limit entry counts. 99 matches any transaction type or entry mode; elsewhere 0 matches
    any.
    """

    amount_currency_ison: CurrencyIson
    duration: N[1, 3]
    transaction_type_id: N[1, 2]
    entry_mode_type_id: N[1, 2]
    limits_tx_type_id: N[1, 2]
    limits_group_id: Id
    holder_country_ison: N[1, 3]
    holder_region_id: N[1, 20]
    transaction_region_id: N[1, 20]
    region_type_id: N[1]
    currency_ison: N[1, 3]
    mcc_low: N[1, 4]
    mcc_high: N[1, 4]
    date_updated: N[1, 11]


class LimitEntryRecord(LimitScope):
    """An entry of a limit group: bounds on the number of transactions, their sum, and their countries."""

    name: ANS[1, 100] | None
    count: N[1, 9] | None
    amount: N[1, 15] | None
    country_count: N[1, 3] | None


class LimitStatusRecord(LimitScope):
    """A limit group entry with its remainder; ``date_valid`` is the window's end in Unix seconds."""

    name: ANS[1, 100] | None
    original_count: N[1, 9] | None
    count: N[1, 9]
    original_amount: N[1, 15] | None
    amount: N[1, 15]
    original_country_count: N[1, 3] | None
    country_count: N[1, 3]
    date_valid: N[1, 11]
