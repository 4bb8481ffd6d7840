"""Messages of the four report actions (specification, Report operations) and simulateAddendum, and their records.

Amounts are in minor units, ``transmission_time`` and ``date_imported`` in Unix seconds.
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
    """Reject a period that ends before it starts."""
    for first, last in _SPANS:
        if members.get(first) is not None and members.get(last) is not None and members[first] > members[last]:
            yield Problem(last, "value", f"must not be before {first}")


class ReportRequest(Request):
    """A page of a list: ``item_count`` rows, starting after the row ``last_id`` if present."""

    further: ClassVar = (check_dates,)

    item_count: ItemCount
    last_id: Id | None = None


class GetCardsActivity(ReportRequest):
    """getCardsActivity: list the network messages about one or all cards."""

    card_id: Id | None = None
    date_from: N[1, 11]
    date_to: N[1, 11]


class GetFinancialAuthorizes(ReportRequest):
    """getFinancialAuthorizes: list a card's approved messages, without inquiries."""

    card_id: Id
    date_from: N[1, 11]
    date_to: N[1, 11]


class GetTransactions(ReportRequest):
    """getTransactions: list the transactions of a card, an account, or a card on an account."""

    conditions: ClassVar = (
        NeedsOne(("card_id", "account_id")),
        Needs(("date_from", "date_to"), (if_absent("transaction_id"),)),
    )

    card_id: Id | None = None
    account_id: Id | None = None
    date_from: N[1, 11] | None = None
    date_to: N[1, 11] | None = None
    transaction_id: Id | None = None


class GetFinancialDetailAddendums(ReportRequest):
    """getFinancialDetailAddendums: list details that the network reported after the transactions."""

    date_imported_from: N[1, 11]
    date_imported_to: N[1, 11]
    transaction_id: N[1, 11] | None = None


class SimulateAddendum(Request):
    """simulateAddendum: the network reports additional details of a transaction."""

    transaction_id: N[1, 11]
    addendum_type: ANS[1, 50]
    data: fields.SmallObject


class CardActivityRecord(Answer):
    """A network message about a card, approved or declined."""

    authorize_id: Id
    proc_code: N[1, 6]
    authorize_type: fields.AuthorizeType
    card_present: Flag
    card_id: Id
    trans_link: ANS[1, 36]
    transmission_date: fields.Day
    transmission_time: N[1, 11]
    billing_amount: int
    billing_currency_ison: CurrencyIson
    billing_conversion_rate: Decimal
    holder_amount: int
    holder_currency_ison: CurrencyIson
    stan: N[1, 6]
    transaction_amount: int
    transaction_currency_ison: CurrencyIson
    transaction_fee_amount: int
    response_code: fields.ResponseCode
    acquirer_id: ANS[1, 11]
    reversal: Flag
    actual: Flag
    suspicious: Flag
    transaction_fee: int
    currency_conversion_fee: int
    risk_actions: list[Any]
    security_checks: list[Any]
    auth_code: AN[1, 6] | None
    transaction_local_time: AN[12] | None
    retrieval_reference_number: AN[1, 12] | None
    country_ison: CountryIson | None
    mcc: N[1, 4] | None
    merchant_name: ANS[1, 100] | None
    merchant_id: ANS[1, 15] | None
    terminal_id: ANS[1, 16] | None
    forwarder_id: ANS[1, 11] | None
    pos_data: ANS[1, 26] | None
    pos_entry_mode: ANS[1, 12] | None
    pos_condition_code: ANS[1, 2] | None
    note: ANS[1, 255] | None
    trace_id: ANS[1, 15] | None
    trace_number: ANS[1, 15] | None
    advice_reason_code: N[1, 4] | None
    advice_detail_code: N[1, 4] | None
    cashback_amount: int | None
    transaction_type: fields.TransactionType | None
    entry_mode_type: fields.EntryModeType | None
    pad_cumulative_amount: int | None
    eci_indicator: fields.EciIndicator | None
    settlement_amount: int | None
    settlement_currency_ison: CurrencyIson | None
    settlement_conversion_rate: Decimal | None
    risk_rule_ids: ANS[1, 255] | None


class FinancialAuthorizeRecord(Answer, total=False):
    """An approved network message that moves money when cleared. It includes only fees that no other member shows."""

    authorize_id: Id
    proc_code: N[1, 6]
    card_id: Id
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
    holder_conversion_rate: Decimal
    is_conversion_fee_blended: Flag
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
    card_present: Flag | None
    currency_conversion_fee: int | None
    currency_convertion_fee: int | None
    transaction_fee: int | None
    eci_indicator: fields.EciIndicator | None


class TransactionRecord(Answer, total=False):
    """A transaction of an account; dates have the form YYMMDD."""

    transaction_id: Id
    mti: N[4]
    account_id: Id
    proc_code: N[1, 6]
    trans_link: ANS[1, 36]
    transaction_type: fields.TransactionType
    entry_mode_type: fields.EntryModeType
    base_conversion_rate: Decimal
    holder_conversion_rate: Decimal
    is_conversion_fee_blended: Flag
    suspicious: Flag
    risk_actions: list[Any]
    security_checks: list[Any]
    description: ANS[1, 255] | None
    risk_rule_ids: ANS[1, 255] | None
    card_id: Id | None
    transaction_amount: int | None
    transaction_currency_ison: CurrencyIson | None
    reconciliation_amount: int | None
    reconciliation_currency_ison: CurrencyIson | None
    interchange_rate_designator: AN[1, 2] | None
    holder_billing_amount: int | None
    holder_billing_currency_ison: CurrencyIson | None
    transaction_original_amount: int | None
    reconciliation_original_amount: int | None
    holder_amount: int | None
    holder_currency_ison: CurrencyIson | None
    transaction_fee_amount: int | None
    parent_transaction_id: Id | None
    transaction_log_id: Id | None
    reason_code: N[1, 4] | None
    function_code: N[1, 3] | None
    mcc: N[1, 4] | None
    acquirer_bin: N[1, 11] | None
    settlement_date: N[1, 6] | None
    reconciliation_date: N[1, 6] | None
    load_type: N[1, 2] | None
    load_source: N[1, 2] | None
    currency_convertion_fee: int | None
    currency_conversion_fee: int | None
    transaction_fee: int | None
    eci_indicator: fields.EciIndicator | None
    transaction_local_time: AN[12] | None
    acquirer_processing_date: AN[6] | None
    auth_code: AN[1, 6] | None
    retrieval_reference_number: AN[1, 12] | None
    pos_entry_mode: ANS[1, 12] | None
    acquirer_id: ANS[1, 11] | None
    forwarder_id: ANS[1, 11] | None
    merchant_terminal_id: ANS[1, 16] | None
    merchant: ANS[1, 255] | None
    merchant_name: ANS[1, 100] | None
    merchant_address: ANS[1, 100] | None
    merchant_city: ANS[1, 100] | None
    merchant_postcode: ANS[1, 10] | None
    merchant_id: ANS[1, 15] | None
    merchant_state: ANS[1, 50] | None
    merchant_country: ANS[3] | None
    additional_data: ANS[1, 999] | None
    reference_number: ANS[1, 255] | None
    epm_transaction_id: Id | None
    epm_mandate_id: Id | None
    counterparty_name: ANS[1, 101] | None
    counterparty_iban: AN[15, 34] | None
    counterparty_sort_code: AN[6] | None
    counterparty_account_number: AN[1, 26] | None
    scheme: fields.Scheme | None


class AddendumRecord(Answer):
    """Additional details of a transaction from the network; ``date_imported`` is in Unix seconds."""

    id: Id
    transaction_id: Id
    addendum_type: ANS[1, 50]
    date_imported: N[1, 11]
    data: fields.SmallObject


class NewAddendum(Answer):
    """The id of the new addendum, as used in reports."""

    id: Id
