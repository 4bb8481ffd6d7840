"""Messages of the four report actions (specification, Report operations) and simulateAddendum, and their records.

Amounts are in minor units. ``transmission_time`` and ``date_imported`` are in Unix seconds.
"""

from collections.abc import Iterator
from decimal import Decimal
from typing import Any, ClassVar

from chalicelib.cards.protocol import fields
from chalicelib.cards.protocol.fields import AN, ANS, CountryIson, CurrencyIson, Flag, Id, ItemCount, N
from chalicelib.cards.protocol.message import Answer, Members, Needs, NeedsOne, Request, if_absent
from chalicelib.foundation.fields.problems import Problem

_SPANS = (("date_from", "date_to"), ("date_imported_from", "date_imported_to"))


def check_dates(members: Members) -> Iterator[Problem]:
    """The end of a period must not be before its start (2005)."""
    for first, last in _SPANS:
        if members.get(first) is not None and members.get(last) is not None and members[first] > members[last]:
            yield Problem(last, "value", f"must not be before {first}")


class ReportRequest(Request):
    """A page of a list. The page has ``item_count`` rows and starts after the row ``last_id``, if present."""

    further: ClassVar = (check_dates,)

    item_count: ItemCount
    """The maximum number of rows. Example: ``20``."""
    last_id: Id | None = None
    """The id of the last row of the previous page. The requested page begins after this row."""


class GetCardsActivity(ReportRequest):
    """getCardsActivity: list the network messages about one or all cards."""

    card_id: Id | None = None
    """The card's id. By default, all cards visible at your access level are included. Example: ``100000033``."""
    date_from: N[1, 11]
    """The earliest recording time, in Unix seconds. Example: ``1795249800``."""
    date_to: N[1, 11]
    """The latest recording time, in Unix seconds. Example: ``1795257000``."""


class GetFinancialAuthorizes(ReportRequest):
    """getFinancialAuthorizes: list a card's approved messages, without inquiries."""

    card_id: Id
    """The card's id."""
    date_from: N[1, 11]
    date_to: N[1, 11]


class GetTransactions(ReportRequest):
    """getTransactions: list the transactions of a card, an account, or a card on an account."""

    conditions: ClassVar = (
        NeedsOne(("card_id", "account_id")),
        Needs(("date_from", "date_to"), (if_absent("transaction_id"),)),
    )

    card_id: Id | None = None
    """The id of the card to which the transactions belong."""
    account_id: Id | None = None
    """The id of the account to which the transactions belong. With ``card_id``, both criteria apply. No example."""
    date_from: N[1, 11] | None = None
    date_to: N[1, 11] | None = None
    transaction_id: Id | None = None
    """The id of a single transaction, instead of a period or in addition to a period. No example."""


class GetFinancialDetailAddendums(ReportRequest):
    """getFinancialDetailAddendums: list the transaction details that the network reported later."""

    date_imported_from: N[1, 11]
    """The earliest recording time, in Unix seconds. Example: ``1795249800``."""
    date_imported_to: N[1, 11]
    """The latest recording time, in Unix seconds. Example: ``1795257000``."""
    transaction_id: N[1, 11] | None = None
    """The transaction's id. The default is all transactions. Example: ``100000116``."""


class SimulateAddendum(Request):
    """simulateAddendum: the network reports additional details of a transaction."""

    transaction_id: N[1, 11]
    """The transaction's id. Example: ``100000116``."""
    addendum_type: ANS[1, 50]
    """The type of addendum, as named by the network. Example: ``"lodging"``."""
    data: fields.SmallObject
    """The details, which are an object with at least one member and at most 2000 bytes of JSON.
    Example: ``{"check_in": "2026-11-19", "nights": 2}``.
    """


class CardActivityRecord(Answer):
    """A network message about a card, approved or declined."""

    authorize_id: Id
    """The network message's id. Example: ``100000074``."""
    proc_code: N[1, 6]
    """The processing code: the transaction type followed by four zeros. Example: ``0``."""
    authorize_type: fields.AuthorizeType
    """The type of the network message."""
    card_present: Flag
    """Whether the card was present. Example: ``1``."""
    card_id: Id
    """The card's id."""
    trans_link: ANS[1, 36]
    """The identifier shared by all messages from authorization to clearing. Example: ``"000100000074"``."""
    transmission_date: fields.Day
    """The date of receipt (UTC). Example: ``"2026-11-21"``."""
    transmission_time: N[1, 11]
    """The time of receipt, in Unix seconds. Example: ``1795253400``."""
    billing_amount: int
    """The amount in the account's currency, in minor units, without fees and markup. Example: ``2599``."""
    billing_currency_ison: CurrencyIson
    """The account's currency. Example: ``978``."""
    billing_conversion_rate: Decimal
    """The conversion rate to ``billing_amount``. Example: ``1``."""
    holder_amount: int
    """The amount posted to the holder's account, in minor units, with the fees in it. Example: ``2599``."""
    holder_currency_ison: CurrencyIson
    """The account's currency. Example: ``978``."""
    stan: N[1, 6]
    """The network's number for the message (system trace audit number). Example: ``74``."""
    transaction_amount: int
    """The amount in the merchant's currency, in minor units. Example: ``2599``."""
    transaction_currency_ison: CurrencyIson
    """The currency of ``transaction_amount``. Example: ``978``."""
    transaction_fee_amount: int
    """The acquirer's fee, in minor units. Example: ``0``."""
    response_code: fields.ResponseCode
    """The issuer's response code."""
    acquirer_id: ANS[1, 11]
    """The acquirer's id. Example: ``"00000100001"``."""
    reversal: Flag
    """Whether the message reverses an authorization in full or in part."""
    actual: Flag
    """Whether the message took effect. The value is 0 if the message was declined. Example: ``1``."""
    suspicious: Flag
    """Whether a risk rule marked the transaction as suspicious."""
    transaction_fee: int
    """The fees, in minor units of the account's currency. Example: ``0``."""
    currency_conversion_fee: int
    """The conversion fee, in minor units of the account's currency. Example: ``0``."""
    risk_actions: list[Any]
    """The actions triggered by risk rules, as a single object of flags. Example: ``RISK_ACTIONS``."""
    security_checks: list[Any]
    """The security data present in the message, as a single object of flags. Example: ``SECURITY_CHECKS``."""
    auth_code: AN[1, 6] | None
    """The approval code. Example: ``"471082"``."""
    transaction_local_time: AN[12] | None
    """The merchant's local time, in the format YYMMDDHHMMSS. Example: ``"261121093000"``."""
    retrieval_reference_number: AN[1, 12] | None
    """The network's number for the transaction. Example: ``"632509000074"``."""
    country_ison: CountryIson | None
    """The merchant's country. Example: ``276``."""
    mcc: N[1, 4] | None
    """The merchant category code. Example: ``5411``."""
    merchant_name: ANS[1, 100] | None
    """The merchant's name. Example: ``"Corner Shop"``."""
    merchant_id: ANS[1, 15] | None
    """The merchant's id. Example: ``"SHOP0001"``."""
    terminal_id: ANS[1, 16] | None
    """The terminal's id. Example: ``"TERM0001"``."""
    forwarder_id: ANS[1, 11] | None
    """The forwarding institution's id. Example: ``"00000200001"``."""
    pos_data: ANS[1, 26] | None
    """The point of service data received from the network."""
    pos_entry_mode: ANS[1, 12] | None
    """The code for the entry of the card and the PIN (ISO 8583, field 22). Example: ``"051"``."""
    pos_condition_code: ANS[1, 2] | None
    """The code for the circumstances of the transaction (ISO 8583, field 25). Example: ``"00"``."""
    note: ANS[1, 255] | None
    """A note on the network message."""
    trace_id: ANS[1, 15] | None
    """The network's number for the whole transaction. Example: ``"000000100000074"``."""
    trace_number: ANS[1, 15] | None
    """The value of ``stan`` with leading zeros. Example: ``"000074"``."""
    advice_reason_code: N[1, 4] | None
    """The reason for the network's decision: 1 for stand-in processing, 2 for an expired hold."""
    advice_detail_code: N[1, 4] | None
    """Details of the advice reason."""
    cashback_amount: int | None
    """Cash paid out in addition to the amount, in minor units."""
    transaction_type: fields.TransactionType | None
    """The transaction type. Example: ``0``."""
    entry_mode_type: fields.EntryModeType | None
    """The entry mode. Example: ``5``."""
    pad_cumulative_amount: int | None
    """The additional amount held, in minor units, if padding is configured."""
    eci_indicator: fields.EciIndicator | None
    """The electronic commerce indicator (ECI), which describes how the cardholder was authenticated."""
    settlement_amount: int | None
    """The amount settled by the scheme."""
    settlement_currency_ison: CurrencyIson | None
    """The currency of ``settlement_amount``."""
    settlement_conversion_rate: Decimal | None
    """The conversion rate to ``settlement_amount``."""
    risk_rule_ids: ANS[1, 255] | None
    """The ids of the triggered risk rules, separated by commas."""


class FinancialAuthorizeRecord(Answer, total=False):
    """An approved network message that moves money when cleared. Fees that other members include are omitted."""

    authorize_id: Id
    proc_code: N[1, 6]
    card_id: Id
    """The card's id."""
    trans_link: ANS[1, 36]
    transmission_date: fields.Day
    transmission_time: N[1, 11]
    billing_amount: int
    billing_currency_ison: CurrencyIson
    billing_conversion_rate: Decimal
    holder_amount: int
    holder_currency_ison: CurrencyIson
    transaction_amount: int
    transaction_currency_ison: CurrencyIson
    transaction_fee_amount: int
    acquirer_id: ANS[1, 11]
    response_code: fields.ResponseCode
    base_conversion_rate: Decimal
    """The rate to the account's currency, without a markup. Example: ``1``."""
    holder_conversion_rate: Decimal
    """The rate to the account's currency, with the markup. Example: ``1``."""
    is_conversion_fee_blended: Flag
    """Whether ``holder_amount`` includes the conversion fee. Example: ``1``."""
    suspicious: Flag
    security_checks: list[Any]
    settlement_amount: int | None
    settlement_currency_ison: CurrencyIson | None
    settlement_conversion_rate: Decimal | None
    auth_code: AN[1, 6] | None
    transaction_local_time: AN[12] | None
    mcc: N[1, 4] | None
    cashback_amount: int | None
    transaction_type: fields.TransactionType | None
    entry_mode_type: fields.EntryModeType | None
    merchant_name: ANS[1, 100] | None
    merchant_id: ANS[1, 15] | None
    terminal_id: ANS[1, 16] | None
    country_ison: CountryIson | None
    pos_data: ANS[1, 26] | None
    pos_entry_mode: ANS[1, 12] | None
    note: ANS[1, 255] | None
    date_valid: fields.Day | None
    """The date on which the hold expires (UTC). Example: ``"2026-11-28"``."""
    card_present: Flag | None
    currency_conversion_fee: int | None
    """The conversion fee, in minor units, if ``holder_amount`` does not include it. No example."""
    currency_convertion_fee: int | None
    """The conversion fee, under an alternative spelling of the member name."""
    transaction_fee: int | None
    """The fees included in ``holder_amount``, in minor units. No example."""
    eci_indicator: fields.EciIndicator | None


class TransactionRecord(Answer, total=False):
    """A transaction of an account. Dates have the format YYMMDD."""

    transaction_id: Id
    """The transaction's id. Example: ``100000116``."""
    mti: N[4]
    """The message type (ISO 8583): clearing (1240), dispute (1442), fee (1740) or external payment (1200).
    Example: ``1240``.
    """
    account_id: Id
    """The account's id. Example: ``100000025``."""
    proc_code: N[1, 6]
    trans_link: ANS[1, 36]
    """The identifier that links related transactions."""
    transaction_type: fields.TransactionType
    entry_mode_type: fields.EntryModeType
    base_conversion_rate: Decimal
    holder_conversion_rate: Decimal
    is_conversion_fee_blended: Flag
    """Whether ``holder_amount`` includes the conversion fee. For a return, this is always the case."""
    suspicious: Flag
    risk_actions: list[Any]
    security_checks: list[Any]
    description: ANS[1, 255] | None
    """The description. For an external payment or a return, the description is the remittance information."""
    risk_rule_ids: ANS[1, 255] | None
    card_id: Id | None
    """The card's id, or null for an external payment without a card."""
    transaction_amount: int | None
    """The amount in minor units of the transaction's currency."""
    transaction_currency_ison: CurrencyIson | None
    reconciliation_amount: int | None
    """The amount settled with the network or the provider, in minor units. Example: ``2599``."""
    reconciliation_currency_ison: CurrencyIson | None
    """The currency of ``reconciliation_amount``. Example: ``978``."""
    interchange_rate_designator: AN[1, 2] | None
    """The scheme's interchange rate for the acquirer."""
    holder_billing_amount: int | None
    """The amount in the account's currency, in minor units, without fees and markup. Example: ``2599``."""
    holder_billing_currency_ison: CurrencyIson | None
    """The account's currency. Example: ``978``."""
    transaction_original_amount: int | None
    """For a reversal, the original amount."""
    reconciliation_original_amount: int | None
    """For a reversal, the original settled amount."""
    holder_amount: int | None
    holder_currency_ison: CurrencyIson | None
    transaction_fee_amount: int | None
    """No example."""
    parent_transaction_id: Id | None
    """The id of the related transaction, which is the transaction that is charged for, disputed or returned."""
    transaction_log_id: Id | None
    """The authorization's id. Example: ``100000074``."""
    reason_code: N[1, 4] | None
    """The reason for a dispute."""
    function_code: N[1, 3] | None
    """The function of the message (ISO 8583, field 24). Example: ``200``."""
    mcc: N[1, 4] | None
    acquirer_bin: N[1, 11] | None
    """The acquirer's BIN. Example: ``400001``."""
    settlement_date: N[1, 6] | None
    """The date of recording (UTC), in the format YYMMDD. Example: ``261121``."""
    reconciliation_date: N[1, 6] | None
    """The settlement date, in the format YYMMDD. Example: ``261121``."""
    load_type: N[1, 2] | None
    """The type of load."""
    load_source: N[1, 2] | None
    """The source of the load."""
    currency_convertion_fee: int | None
    """The conversion fee, in minor units of the account's currency."""
    currency_conversion_fee: int | None
    """The conversion fee, under an alternative spelling of the member name. No example."""
    transaction_fee: int | None
    """The fees included in ``holder_amount``, in minor units of the account's currency. No example."""
    eci_indicator: fields.EciIndicator | None
    transaction_local_time: AN[12] | None
    acquirer_processing_date: AN[6] | None
    """The acquirer's processing date, in the format YYMMDD."""
    auth_code: AN[1, 6] | None
    retrieval_reference_number: AN[1, 12] | None
    pos_entry_mode: ANS[1, 12] | None
    acquirer_id: ANS[1, 11] | None
    forwarder_id: ANS[1, 11] | None
    merchant_terminal_id: ANS[1, 16] | None
    """The terminal's id. Example: ``"TERM0001"``."""
    merchant: ANS[1, 255] | None
    """The merchant's name and location in one line. Example: ``"Corner Shop DEU"``."""
    merchant_name: ANS[1, 100] | None
    merchant_address: ANS[1, 100] | None
    """The merchant's street."""
    merchant_city: ANS[1, 100] | None
    """The merchant's town."""
    merchant_postcode: ANS[1, 10] | None
    """The merchant's postal code."""
    merchant_id: ANS[1, 15] | None
    merchant_state: ANS[1, 50] | None
    """The merchant's state."""
    merchant_country: ANS[3] | None
    """The merchant's country (alpha-3). Example: ``"DEU"``."""
    additional_data: ANS[1, 999] | None
    """Additional data from the network."""
    reference_number: ANS[1, 255] | None
    """The reference sent to or received from the other party."""
    epm_transaction_id: Id | None
    """The external payment's id."""
    epm_mandate_id: Id | None
    """The id of the direct debit's mandate."""
    counterparty_name: ANS[1, 101] | None
    """For an external payment or a return, the name of the payer, payee or creditor."""
    counterparty_iban: AN[15, 34] | None
    """The counterparty's IBAN, if known."""
    counterparty_sort_code: AN[6] | None
    """The counterparty's sort code, if known."""
    counterparty_account_number: AN[1, 26] | None
    """The counterparty's account number, if known."""
    scheme: fields.Scheme | None
    """For an external payment or a return, the payment scheme."""


class AddendumRecord(Answer):
    """Additional details of a transaction from the network. ``date_imported`` is in Unix seconds."""

    id: Id
    """The addendum's id. Example: ``100000124``."""
    transaction_id: Id
    """The transaction's id. Example: ``100000116``."""
    addendum_type: ANS[1, 50]
    """The type of addendum, as named by the network."""
    date_imported: N[1, 11]
    """The time when the addendum was recorded, in Unix seconds. Example: ``1795253400``."""
    data: fields.SmallObject
    """The details of the addendum."""


class NewAddendum(Answer):
    """The id of the new addendum, as used in reports."""

    id: Id
