"""The tables of external payments, fees and limits, and of the simulator's actions that feed them, typed in by hand."""

from __future__ import annotations

from tests.cards.members import Table

_LEVEL = "access_level O LEVEL"
_ASSIGNMENT = f"""
    epm_method_id M METHOD 1-20
    currency_ison M CURRENCY
    country_ison O COUNTRY
    card_id O ID 1-20
    account_name O ANS 1-70
    risk_score O N 1-20
    {_LEVEL}
"""
_REFERENCE = f"reference O ANS 1-255 \n {_LEVEL}"
_PAGE = f"paginator M PAGINATOR \n {_LEVEL}"

ADDRESS_RECORD = """
    id M N
    access_level M N
    active M N
    account_number C AN
    iban C AN
    sort_code C AN
    bic C AN
    account_name M ANS
    direct_credit_enabled M N
    direct_debit_enabled M N
    inbound_enabled M N
    outbound_enabled M N
    epm_method_id M N
    epm_type_id M N
    account_id M N
    account_type M N
    card_id O N
    holder_id C N
    currency_ison M N
    country_ison M N
    assignment_state M N
"""
TRANSFER_RECORD = """
    id C N
    external_transaction_reference C N
    settlement_amount M N
    settlement_currency M N
    instructed_amount M N
    instructed_currency M N
    transaction_id C N
    trans_link C AN
    source_bank_account_address C LIST
    created_at C AN
"""
SOURCE = "id M N \n account_number M AN \n account_name M AN \n iban M AN \n sort_code M AN \n bic M AN"
DESTINATION = "account_number C AN \n account_name M AN \n iban C AN \n sort_code C AN \n bic C AN"
BANK_ACCOUNTS = Table(SOURCE, DESTINATION)
"""The entries of ``source_bank_account_address``, as its request, and of ``destination_bank_account_address``."""

FEE_ENTRY = """
    title M ANS
    transaction_type M N
    entry_mode_type M N
    mcc_low M N
    mcc_high M N
    fixed_price C N
    percent_price C PERCENT
    currency_ison M N
    country_ison C N
    region_id C N
    min_amount C N
    max_amount C N
    date_updated M N
    code M ANS
"""
_LIMIT_MEMBERS = """
    name C ANS
    amount_currency_ison M N
    duration M N
    transaction_type_id M N
    entry_mode_type_id M N
    limits_tx_type_id M N
    limits_group_id M N
    holder_country_ison M N
    holder_region_id M N
    transaction_region_id M N
    region_type_id M N
    currency_ison M N
    mcc_low M N
    mcc_high M N
    date_updated M N
"""
LIMIT_ENTRY = f"{_LIMIT_MEMBERS} \n count C N \n amount C N \n country_count O N"
LIMIT_STATUS = f"""
    {_LIMIT_MEMBERS}
    original_count C N
    count M N
    original_amount C N
    amount M N
    original_country_count C N
    country_count M N
    date_valid M N
"""
_BALANCES = "available_balance M N \n settled_balance M N"
_LIMITED = f"record_id M ID 1-20 \n limit_type M LIMIT_TYPE 1-1 \n {_PAGE}"
_NAMED = "id M N \n name M ANS"

MONEY_TABLES = {
    # external payments
    "assignExternalPaymentAddress": Table(f"account_id M ID 1-20 \n {_ASSIGNMENT}", ADDRESS_RECORD),
    "assignExternalPaymentAddressForSpecialAccount": Table(
        f"special_account_id M ID 1-20 \n {_ASSIGNMENT}", ADDRESS_RECORD
    ),
    "cancelExternalPaymentMandate": Table(f"epm_mandate_id M ID 1-20 \n reason M REASON 1-20 \n {_LEVEL}"),
    "changeDDExternalPaymentStatus": Table(
        f"epm_transaction_id M ID 1-20 \n should_pay M FLAG \n reason M ARUDD 1-6 \n {_LEVEL}"
    ),
    "getExternalPaymentAddress": Table(
        f"epm_address_id M ID 1-20 \n {_LEVEL}",
        f"{ADDRESS_RECORD} \n status M A \n status_change_reason_code O N \n status_change_note O ANS",
    ),
    "getAccountExternalPaymentAddresses": Table(f"account_id M ID 1-20 \n {_LEVEL}", ADDRESS_RECORD),
    "changeExternalPaymentAddressStatus": Table(
        f"""
        epm_address_id M ID 1-20
        status M OF:A,S,B
        reason_code O REASON 1-20
        note O ANS 1-255
        {_LEVEL}
        """
    ),
    "transferToExternalPayment": Table(
        f"""
        epm_address_id M ID 1-20
        destination_account_number C BRITISH_NUMBER 1-26
        destination_account_name M ANS 1-70
        destination_iban C IBAN
        destination_sort_code C AN 6-6
        currency_ison M CURRENCY
        amount M AMOUNT 1-15
        reference_number C ANS 1-255
        description O ANS 1-255
        note O ANS 1-35
        withdrawal_purpose O N 1-2
        receiver_type O N 1-1
        industry_id O N 1-2
        schemes O EXT-LIST:SCHEME 1-255
        {_LEVEL}
        """,
        f"{TRANSFER_RECORD} \n destination_bank_account_address C LIST",
    ),
    "inboundReturn": Table(f"epm_transaction_id M ID 1-20 \n reason C REASON 1-20 \n {_REFERENCE}", TRANSFER_RECORD),
    "directDebitReturn": Table(f"returned_epm_transaction_id M ID 1-20 \n reason M DEBIT_REASON 1-6 \n {_REFERENCE}"),
    "directCreditReturn": Table(f"epm_transaction_id M ID 1-20 \n return_reason_id C REASON 1-20 \n {_REFERENCE}"),
    # fees and limits
    "createCustomFee": Table(
        f"""
        card_id C ID 1-20
        account_id C ID 1-20
        account_currency C CURRENCY
        amount O N 1-15
        currency_ison C CURRENCY
        fee_group_id M ID 1-20
        fee_code M AN 1-8
        description M ANS 1-37
        country_ison O COUNTRY
        transaction_id O ID 1-11
        {_LEVEL}
        """,
        f"transaction_id M N \n {_BALANCES}",
    ),
    "getCardFees": Table(f"card_id M ID 1-20 \n {_PAGE}", FEE_ENTRY),
    "getFeesGroups": Table(f"program_id O ID 1-20 \n {_LEVEL}", _NAMED),
    "getLimits": Table(_LIMITED, LIMIT_ENTRY),
    "getLimitsGroups": Table(f"limit_type M LIMIT_TYPE 1-1 \n program_id O ID 1-20 \n {_LEVEL}", _NAMED),
    "getLimitsStatus": Table(_LIMITED, LIMIT_STATUS),
    # the simulator
    "simulateInboundPayment": Table(
        f"""
        epm_address_id M ID 1-20
        amount M AMOUNT 1-15
        currency_ison M CURRENCY
        scheme M SCHEME 1-255
        sender_name M ANS 1-70
        {_REFERENCE}
        """,
        f"epm_transaction_id M N \n transaction_id C N \n state M A \n reason O ANS \n {_BALANCES}",
    ),
    "simulateMandate": Table(
        f"epm_address_id M ID 1-20 \n creditor_name M ANS 1-70 \n reference M ANS 1-255 \n {_LEVEL}",
        "epm_mandate_id M N",
    ),
    "simulateDirectDebit": Table(
        f"epm_mandate_id C ID 1-20 \n amount C AMOUNT 1-15 \n epm_transaction_id C ID 1-20 \n {_LEVEL}",
        f"epm_transaction_id M N \n state M A \n cut_off M N \n reason O ANS \n {_BALANCES}",
    ),
    "simulateOutboundResult": Table(
        f"epm_transaction_id M ID 1-20 \n result M RESULT 1-20 \n reason O ANS 1-35 \n {_LEVEL}",
        f"state M A \n transaction_id C N \n {_BALANCES}",
    ),
}
"""By action."""
