"""The tables of the reports, and of the simulator's action that feeds one, typed in by hand."""

from __future__ import annotations

from tests.cards.members import Table

_LEVEL = "access_level O LEVEL"
_DATES = "date_from M N 1-11 \n date_to M N 1-11"
_PAGE = f"item_count M ITEM_COUNT \n last_id O ID 1-20 \n {_LEVEL}"

CARD_ACTIVITY = """
    authorize_id M N
    proc_code M N
    authorize_type M N
    card_present M N
    card_id M N
    trans_link M ANS
    transmission_date M DATE
    transmission_time M N
    billing_amount M N
    billing_currency_ison M N
    billing_conversion_rate M RATE
    holder_amount M N
    holder_currency_ison M N
    stan M N
    transaction_amount M N
    transaction_currency_ison M N
    transaction_fee_amount M N
    response_code M AN
    acquirer_id M ANS
    reversal M N
    actual M N
    suspicious M N
    transaction_fee M N
    currency_conversion_fee M N
    risk_actions M LIST
    security_checks M LIST
    auth_code C AN
    transaction_local_time C AN
    retrieval_reference_number C AN
    country_ison C N
    mcc C N
    merchant_name C ANS
    merchant_id C ANS
    terminal_id C ANS
    forwarder_id C ANS
    pos_data C ANS
    pos_entry_mode C ANS
    pos_condition_code C ANS
    note C ANS
    trace_id C ANS
    trace_number C ANS
    advice_reason_code C N
    advice_detail_code C N
    cashback_amount C N
    transaction_type C N
    entry_mode_type C N
    pad_cumulative_amount C N
    eci_indicator C N
    settlement_amount C N
    settlement_currency_ison C N
    settlement_conversion_rate C RATE
    risk_rule_ids O ANS
"""
FINANCIAL_AUTHORIZE = """
    authorize_id M N
    proc_code M N
    card_id M N
    trans_link M ANS
    transmission_date M DATE
    transmission_time M N
    billing_amount M N
    billing_currency_ison M N
    billing_conversion_rate M RATE
    holder_amount M N
    holder_currency_ison M N
    transaction_amount M N
    transaction_currency_ison M N
    transaction_fee_amount M N
    acquirer_id M ANS
    response_code M AN
    base_conversion_rate M RATE
    holder_conversion_rate M RATE
    is_conversion_fee_blended M N
    suspicious M N
    security_checks M LIST
    settlement_amount C N
    settlement_currency_ison C N
    settlement_conversion_rate C RATE
    auth_code C AN
    transaction_local_time C AN
    mcc C N
    cashback_amount C N
    transaction_type C N
    entry_mode_type C N
    merchant_name C ANS
    merchant_id C ANS
    terminal_id C ANS
    country_ison C N
    pos_data C ANS
    pos_entry_mode C ANS
    note C ANS
    date_valid C DATE
    card_present C N
    currency_conversion_fee C N
    currency_convertion_fee C N
    transaction_fee C N
    eci_indicator C N
"""
TRANSACTION = """
    transaction_id M N
    mti M N
    account_id M N
    proc_code M N
    trans_link M ANS
    transaction_type M N
    entry_mode_type M N
    base_conversion_rate M RATE
    holder_conversion_rate M RATE
    is_conversion_fee_blended M N
    suspicious M N
    risk_actions M LIST
    security_checks M LIST
    description O ANS
    risk_rule_ids O ANS
    card_id C N
    transaction_amount C N
    transaction_currency_ison C N
    reconciliation_amount C N
    reconciliation_currency_ison C N
    interchange_rate_designator C AN
    holder_billing_amount C N
    holder_billing_currency_ison C N
    transaction_original_amount C N
    reconciliation_original_amount C N
    holder_amount C N
    holder_currency_ison C N
    transaction_fee_amount C N
    parent_transaction_id C N
    transaction_log_id C N
    reason_code C N
    function_code C N
    mcc C N
    acquirer_bin C N
    settlement_date C N
    reconciliation_date C N
    load_type C N
    load_source C N
    currency_convertion_fee C N
    currency_conversion_fee C N
    transaction_fee C N
    eci_indicator C N
    transaction_local_time C AN
    acquirer_processing_date C AN
    auth_code C AN
    retrieval_reference_number C AN
    pos_entry_mode C ANS
    acquirer_id C ANS
    forwarder_id C ANS
    merchant_terminal_id C ANS
    merchant C ANS
    merchant_name C ANS
    merchant_address C ANS
    merchant_city C ANS
    merchant_postcode C ANS
    merchant_id C ANS
    merchant_state C ANS
    merchant_country C ANS
    additional_data C ANS
    reference_number C ANS
    epm_transaction_id C N
    epm_mandate_id C N
    counterparty_name C ANS
    counterparty_iban C AN
    counterparty_sort_code C AN
    counterparty_account_number C AN
    scheme C AN
"""
ADDENDUM = """
    id M N
    transaction_id M N
    addendum_type M ANS
    date_imported M N
    data M OBJ
"""

REPORT_TABLES = {
    "getCardsActivity": Table(f"card_id O ID 1-20 \n {_DATES} \n {_PAGE}", CARD_ACTIVITY),
    "getFinancialAuthorizes": Table(f"card_id M ID 1-20 \n {_DATES} \n {_PAGE}", FINANCIAL_AUTHORIZE),
    "getTransactions": Table(
        f"""
        card_id C ID 1-20
        account_id C ID 1-20
        date_from C N 1-11
        date_to C N 1-11
        transaction_id C ID 1-20
        {_PAGE}
        """,
        TRANSACTION,
    ),
    "getFinancialDetailAddendums": Table(
        f"""
        date_imported_from M N 1-11
        date_imported_to M N 1-11
        transaction_id O ID 1-11
        {_PAGE}
        """,
        ADDENDUM,
    ),
    "simulateAddendum": Table(
        f"transaction_id M ID 1-11 \n addendum_type M ANS 1-50 \n data M OBJECT \n {_LEVEL}", "id M N"
    ),
}
