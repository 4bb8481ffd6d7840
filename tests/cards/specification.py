"""The tables of the actions on accounts, cards and holders, typed in by hand: what the tests of messages stand on.

``TABLES`` has those of the other actions, too. ``members`` says how a table is written.
"""

from __future__ import annotations

from tests.cards.members import Member, Table
from tests.cards.money_specification import MONEY_TABLES
from tests.cards.network_specification import NETWORK_TABLES
from tests.cards.report_specification import REPORT_TABLES

__all__ = ["TABLES", "Member", "Table"]

# -- blocks

HOLDER = """
    holder_id O ID 1-20
    holder_title O ANS 1-7
    holder_type O OF:0,1
    holder_access_level O LEVEL
    holder_business_name C ANS 1-50
    holder_first_name C AS 1-50
    holder_last_name C AS 1-50
    holder_address_line_1 C ANS 1-100
    holder_address_line_2 O ANS 1-100
    holder_address_line_3 O ANS 1-100
    holder_address_line_4 O ANS 1-100
    holder_country_ison C COUNTRY
    holder_zipcode C ANS 1-9
    holder_city C ANS 1-50
    holder_state O ANS 1-50
    holder_phone_number C DIGITS 6-15
    holder_email O EMAIL 6-100
    holder_date_of_birth O DATE
    holder_ip_address O IPV4 7-15
    holder_limit_group_id O ID 1-20
    holder_industry_id O N 1-4
    holder_date_of_company_incorporation O DATE
    holder_locale O AS 1-15
    kyc_completion_level O N 1-1
    kyc_document_expiration_date O DATE
"""
DELIVERY = """
    delivery_title O ANS 1-7
    delivery_first_name C AS 1-50
    delivery_last_name C AS 1-50
    delivery_address_line_1 C ANS 1-100
    delivery_address_line_2 O ANS 1-100
    delivery_address_line_3 O ANS 1-100
    delivery_address_line_4 O ANS 1-100
    delivery_country_ison C COUNTRY
    delivery_zipcode C ANS 1-9
    delivery_city C ANS 1-50
    delivery_state O ANS 1-50
    order_shipping_method C ID 1-20
    order_delivery_code O AN 1-10
    order_fulfil_1 O AN 1-10
    order_fulfil_2 O AN 1-10
    order_language O A 1-3
    bulk_address_line_1 C ANS 1-100
    bulk_address_line_2 O ANS 1-100
    bulk_address_line_3 O ANS 1-100
    bulk_address_line_4 O ANS 1-100
    bulk_country_ison C COUNTRY
    bulk_zipcode C ANS 1-9
    bulk_city C ANS 1-50
    bulk_state O ANS 1-50
"""
_DETAILS = """
    business_name C ANS 1-50
    title O ANS 1-7
    first_name M AS 1-50
    last_name M AS 1-50
    address_line_1 M ANS 1-100
    address_line_2 O ANS 1-100
    address_line_3 O ANS 1-100
    address_line_4 O ANS 1-100
    zip_code M ANS 1-9
    city M ANS 1-50
    state O ANS 1-50
    phone_number M DIGITS 6-15
    country_ison O COUNTRY
    holder_limit_group_id M ID 1-20
    email O EMAIL 6-100
    date_of_birth O DATE
    industry_id O N 1-4
    date_of_company_incorporation O DATE
    kyc_completion_level O N 1-1
    kyc_document_expiration_date O DATE
    additional_charset_id O N 1-10
    holder_locale O AS 1-15
"""
CARD = "card_id M ID 1-20"
ACCOUNT = "account_id M ID 1-20"
WHY = """
    reason_code O REASON 1-20
    note O ANS 1-255
"""
TRACK_NAMES = """
    track_data_first_name O ANS 1-26
    track_data_last_name O ANS 1-26
"""
LEVEL = "access_level O LEVEL"

# -- answers

_HOLDER = _DETAILS.replace("holder_limit_group_id M", "holder_limit_group_id O").replace("EMAIL", "ANS")
HOLDER_RECORD = f"""
    id M ID
    holder_type M ANS
    access_level M N
    ip_address O ANS
    {_HOLDER}
"""
HOLDER_ACCOUNT = """
    id M ID
    holder_id M ID
    currency_ison M N
    available_balance M N
    settled_balance M N
    reserved_balance M N
    account_status M A
    date_updated M N
    program_id M N
    limit_group_id M N
    fee_group_id M N
    risk_group_id M N
"""
ACCOUNT_RECORD = f"""
    {HOLDER_ACCOUNT}
    status_change_reason_code O N
    status_change_note O ANS
"""
CARD_DETAILS = """
    card_id M N
    holder_id M N
    primary_account_id M N
    virtual M N
    program_id M N
    invalid_pin_tries M N
    invalid_pin_tries_max_limit M N
    product_id M N
    sub_product_id M N
    status M A
    pin_status M N
    default_currency_ison M N
    country_ison M N
    service_code M N
    card_design_id M N
    expiry_month C N
    expiry_year C N
    reference_number C ANS
    fees_group_id C N
    limits_group_id C N
    usages_group_id C N
    risk_group_id C N
    name_line_3 C ANS
    name_line_4 C ANS
    status_change_reason_code O N
    status_change_note O ANS
    participating M N
"""
MADE_CARD = """
    card_id M N
    card_request_id M N
    holder_id M N
    account_id M N
    pan O DIGITS
    pin O DIGITS
    cvc2 O DIGITS
    expiration O OBJ
    acs_password M AN
"""

TABLES = {
    "createAccount": Table(
        f"""
        currency_ison M CURRENCY
        account_status M OF:A,S,R
        program_id M ID 1-20
        risk_rules_group_id O ID 1-20
        fee_group_id O ID 1-20
        limit_group_id O ID 1-20
        cards O EXT-LIST:ID 1-20
        skip_holder_validation M FLAG
        {HOLDER}
        {LEVEL}
        """,
        "id M N \n holder_id M N",
    ),
    "changeAccountStatus": Table(f"{ACCOUNT} \n account_status M OF:A,S,R,C \n {WHY} {LEVEL}"),
    "changeAccountProgramId": Table(f"{ACCOUNT} \n account_program_id M ID 1-20 \n {LEVEL}"),
    "getAccounts": Table(f"card_id C ID 1-20 \n account_id C ID 1-20 \n {LEVEL}", ACCOUNT_RECORD),
    "assignAccountToRiskRuleGroup": Table(f"{ACCOUNT} \n risk_rule_group_id M ID 1-20 \n {LEVEL}"),
    "assignAccountToLimitRuleGroup": Table(f"{ACCOUNT} \n limit_group_id M ID 1-20 \n {LEVEL}"),
    "assignAccountToFeeRuleGroup": Table(f"{ACCOUNT} \n fee_group_id M ID 1-20 \n {LEVEL}"),
    "activateCard": Table(
        f"""
        {CARD}
        card_request_id O ID 1-20
        card_pan O DIGITS 16-19
        card_cvc2 O DIGITS 3-3
        card_expiration_year O N 4-4
        card_expiration_month O MONTH
        {LEVEL}
        """
    ),
    "assignCardToFeesGroup": Table(f"{CARD} \n fees_group_id M ID 1-20 \n {LEVEL}"),
    "assignCardToLimitsGroup": Table(f"{CARD} \n limits_group_id M ID 1-20 \n {LEVEL}"),
    "assignCardToUsageGroup": Table(f"{CARD} \n usages_group_id M ID 1-20 \n {LEVEL}"),
    "assignCardToRiskRuleGroup": Table(f"{CARD} \n risk_rules_group_id M ID 1-20 \n {LEVEL}"),
    "changeCardSchemeAccountUpdatesStatus": Table(f"{CARD} \n participating M FLAG \n {LEVEL}"),
    "changeCardStatus": Table(f"{CARD} \n status M OF:A,T,R,L,S,B \n {WHY} {LEVEL}"),
    "createCard": Table(
        f"""
        card_program_id M ID 1-20
        card_currency_ison O EXT-LIST:CURRENCY
        card_country_ison M COUNTRY
        card_virtual M FLAG
        card_reference_id O AN 1-50
        card_name_line_3 M ANS 3-26
        card_name_line_4 O ANS 3-50
        card_product_id O ID 1-20
        card_fee_group_id O ID 1-20
        card_limit_group_id O ID 1-20
        account_limit_group_id O ID 1-20
        card_usage_group_id O ID 1-20
        card_design_id O ID 1-20
        card_validity_period O MONTHS
        card_pin O DIGITS 4-4
        account_id O EXT-LIST:ID 1-20
        account_owner_id C EXT-LIST:ID 1-20
        card_thermal_line_1 O ANS 1-50
        card_thermal_line_2 O ANS 1-50
        risk_rules_group_id O ID 1-20
        acs_password O PASSWORD 6-128
        auto_conversion O FLAG
        {TRACK_NAMES} {HOLDER} {DELIVERY} {LEVEL}
        """,
        MADE_CARD,
    ),
    "getCvc2": Table(f"{CARD} \n {LEVEL}", "cvc2 M DIGITS"),
    "getCardDetails": Table(f"{CARD} \n {LEVEL}", CARD_DETAILS),
    "getCardNumber": Table(f"{CARD} \n {LEVEL}", "pan M DIGITS"),
    "getPin": Table(f"{CARD} \n {LEVEL}", "pin M DIGITS"),
    "getCardStatus": Table(f"{CARD} \n {LEVEL}", "card_status M A \n reason_code O N \n note O ANS"),
    "reissueCard": Table(
        f"""
        {CARD}
        generate_new_pan O FLAG
        generate_new_pin O FLAG
        virtual O FLAG
        card_pin O DIGITS 4-4
        card_program_id C ID 1-20
        card_fee_group_id O ID 1-20
        card_limit_group_id O ID 1-20
        card_usage_group_id O ID 1-20
        card_design_id O ID 1-20
        risk_rules_group_id O ID 1-20
        card_name_line_3 M ANS 3-26
        card_name_line_4 O ANS 2-50
        auto_conversion O FLAG
        {TRACK_NAMES} {DELIVERY} {LEVEL}
        """,
        MADE_CARD,
    ),
    "setPin": Table(f"{CARD} \n pin M DIGITS 4-4 \n {LEVEL}"),
    "unblockPin": Table(f"{CARD} \n {LEVEL}"),
    "getDesign": Table(
        f"program_id M ID 1-20 \n {LEVEL}", "card_design_id M N \n card_design_name M ANS \n name M ANS"
    ),
    "getCardAcsPassword": Table(f"{CARD} \n {LEVEL}", "acs_password M AN"),
    "changeCardAcsPassword": Table(f"{CARD} \n acs_password M PASSWORD 6-128 \n {LEVEL}"),
    "createCardAcsMerchantWhitelistRule": Table(
        f"""
        rule_name M ANS 1-70
        {CARD}
        acquirer_bin_merchant_id C PAIRS 1-65536
        mcc C MCCS 1-65536
        merchant_country_ison C COUNTRIES 1-65536
        merchant_name C NAMES 1-65536
        rule_code O ANS 1-36
        maximum_amount O N 1-15
        maximum_amount_currency_ison C CURRENCY
        {LEVEL}
        """,
        "rule_id M N",
    ),
    "authenticationConfirm": Table(
        f"""
        auth_request_id M ID 1-20
        confirmation_status M OF:Y,N
        oob_auth_method M N 1-2
        validation_value O ANS 1-8
        {LEVEL}
        """
    ),
    "getHolder": Table(f"holder_id C ID 1-20 \n card_id C ID 1-20 \n {LEVEL}", HOLDER_RECORD),
    "getHolderAccounts": Table(f"holder_id M ID 1-20 \n {LEVEL}", HOLDER_ACCOUNT),
    "createHolder": Table(f"holder_type O OF:0,1 \n ip_address O IPV4 7-15 \n {_DETAILS} {LEVEL}"),
    "updateHolder": Table(f"holder_id M ID 1-20 \n {_DETAILS} {LEVEL}"),
    **MONEY_TABLES,
    **NETWORK_TABLES,
    **REPORT_TABLES,
}
"""By action."""
