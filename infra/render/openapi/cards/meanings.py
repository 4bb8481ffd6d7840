"""The meaning of each member of the card API: one sentence and one valid example.

Lookup order: ``CreateCard.account_id`` (the model or one of its bases), ``account_id``. The examples use values of the
demonstration programme. Members whose example is ``None`` are omitted from examples.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

from infra.render.openapi.cards import money_meanings, report_meanings
from infra.render.openapi.cards.example_values import ACCOUNT_ID, CARD_ID, EURO, GERMANY, HOLDER_ID, MOMENT, PIN
from infra.render.openapi.cards.member_docs import sentence_below

Meaning = tuple[str, Any]

_REQUEST_ID = 100000041
_PAN, _CVC2, _PASSWORD = "2223000048410010", "482", "Meadow-42-Lantern"
_YEAR, _MONTH = 2029, 11

_EMBOSSED, _THERMAL = "ADA OKAFOR", "Printed on the card's back"
_ADDRESS = "Further line of the address"
_CONVERTED = "Whether transactions in currencies without an account are charged to the default account, or declined"

MEANINGS: Mapping[str, Meaning] = {
    # identifiers
    "id": ("The account", ACCOUNT_ID),
    "HolderRecord.id": ("The holder", HOLDER_ID),
    "account_id": ("The account", ACCOUNT_ID),
    "CreateCard.account_id": (
        "Existing accounts for the card, instead of new ones; the first is its primary account",
        None,
    ),
    "CreatedCard.account_id": ("The account of the first currency", ACCOUNT_ID),
    "GetAccounts.card_id": ("A card whose accounts are returned", None),
    "account_owner_id": ("The holders of these accounts, in the same order", None),
    "primary_account_id": ("The card's first account", ACCOUNT_ID),
    "holder_id": ("The holder", HOLDER_ID),
    "WithHolder.holder_id": ("An existing holder; without it the holder block describes a new one", None),
    "card_id": ("The card", CARD_ID),
    "GetHolder.card_id": ("A card of the holder", None),
    "card_request_id": ("The card's latest order; changes with each reissue", _REQUEST_ID),
    "ActivateCard.card_request_id": ("The card's latest order", None),
    "cards": ("The cards to link to the account", None),
    "access_level": ("For reads, the highest level of visible records; for creations, the record's own level", None),
    "HolderRecord.access_level": ("The minimum access level that can see the holder", 0),
    # programmes and groups
    "program_id": ("The programme", 501),
    "CreateAccount.program_id": ("The account programme", 501),
    "HolderAccountRecord.program_id": ("The account programme", 501),
    "CardDetails.program_id": ("The card programme", 101),
    "GetDesign.program_id": ("The card programme", 101),
    "account_program_id": ("The account's new programme", 502),
    "card_program_id": ("The card programme", 101),
    "ReissueCard.card_program_id": ("A new card programme; required to change between virtual and physical", None),
    "fee_group_id": ("The fee group", 301),
    "fees_group_id": ("The card's fee group", 301),
    "AssignAccountToFeeRuleGroup.fee_group_id": ("The account's new fee group", 302),
    "AssignCardToFeesGroup.fees_group_id": ("The card's new fee group", 302),
    "limit_group_id": ("The limit group", 211),
    "HolderAccountRecord.limit_group_id": ("The limit group; null if none is set", 211),
    "limits_group_id": ("The card's limit group", 201),
    "AssignAccountToLimitRuleGroup.limit_group_id": ("The account's new limit group", 212),
    "AssignCardToLimitsGroup.limits_group_id": ("The card's new limit group", 202),
    "usages_group_id": ("The card's usage group", 601),
    "AssignCardToUsageGroup.usages_group_id": ("The card's new usage group", 602),
    "risk_group_id": ("The risk rule group", 401),
    "risk_rule_group_id": ("The account's new risk rule group", 402),
    "risk_rules_group_id": ("The risk rule group", 401),
    "AssignCardToRiskRuleGroup.risk_rules_group_id": ("The card's new risk rule group", 402),
    "holder_limit_group_id": ("The holder's limit group", 221),
    "card_product_id": ("The product; default: the programme's first", 11),
    "product_id": ("The product", 11),
    "sub_product_id": ("The product's sub-product", 1),
    "card_fee_group_id": ("The card's fee group; default: the programme's first", 301),
    "card_limit_group_id": ("The card's limit group; default: the programme's first", 201),
    "account_limit_group_id": ("The limit group of the new accounts; default: the programme's, if any", 211),
    "card_usage_group_id": ("The card's usage group; default: the programme's first", 601),
    "card_design_id": ("The design", 21),
    "card_design_name": ("The design's name", "Plain Blue"),
    "name": ("Same as `card_design_name`", "Plain Blue"),
    # accounts
    "currency_ison": ("The currency", EURO),
    "available_balance": ("The available balance, in minor units", 125000),
    "settled_balance": ("The booked balance, in minor units", 131500),
    "reserved_balance": ("Funds reserved until a dispute is resolved, in minor units", 0),
    "account_status": ("The account's status", "A"),
    "ChangeAccountStatus.account_status": ("The account's new status", "S"),
    "date_updated": ("The time of the last account activity, in Unix seconds", MOMENT),
    "reason_code": ("The reason for the status", 2),
    "note": ("A note", "Requested by telephone"),
    "status_change_reason_code": ("The reason for the last status change", 2),
    "status_change_note": ("The note on the last status change", "Requested by telephone"),
    "skip_holder_validation": ("Whether cards of other holders may be linked to the account", 0),
    # holders
    "holder_type": ("The type of holder; personal when absent", "0"),
    "business_name": ("The business's name", None),
    "title": ("The holder's title", "Ms"),
    "first_name": ("The first name", "Ada"),
    "last_name": ("The last name", "Okafor"),
    "address_line_1": ("First line of the address", "Lindenallee 12"),
    "address_line_2": (_ADDRESS, "Hinterhaus"),
    "address_line_3": (_ADDRESS, None),
    "address_line_4": (_ADDRESS, None),
    "zip_code": ("The postal code", "10115"),
    "city": ("The town", "Berlin"),
    "state": ("The state or county", "Berlin"),
    "phone_number": ("The telephone number, digits only", "4930901820"),
    "country_ison": ("The country", GERMANY),
    "UpdateHolder.country_ison": ("The country; ignored if the programme forbids changing it", GERMANY),
    "email": ("The email address", "ada.okafor@example.com"),
    "date_of_birth": ("The date of birth", "1990-04-17"),
    "ip_address": ("The IP address from which the holder registered", "203.0.113.7"),
    "industry_id": ("The business's industry", None),
    "date_of_company_incorporation": ("The date of incorporation", None),
    "kyc_completion_level": ("The level of identity verification", 2),
    "kyc_document_expiration_date": ("The expiry date of the identity document", "2031-06-30"),
    "additional_charset_id": ("Additional characters allowed in names; stored only", None),
    "holder_locale": ("The holder's language", "de-DE"),
    "holder_title": ("The holder's title", "Ms"),
    "holder_access_level": ("The new holder's access level; default: the programme's", None),
    "holder_business_name": ("The business's name", None),
    "holder_first_name": ("The first name", "Ada"),
    "holder_last_name": ("The last name", "Okafor"),
    "holder_address_line_1": ("First line of the address", "Lindenallee 12"),
    "holder_address_line_2": (_ADDRESS, None),
    "holder_address_line_3": (_ADDRESS, None),
    "holder_address_line_4": (_ADDRESS, None),
    "holder_country_ison": ("The country", GERMANY),
    "holder_zipcode": ("The postal code", "10115"),
    "holder_city": ("The town", "Berlin"),
    "holder_state": ("The state or county", None),
    "holder_phone_number": ("The telephone number, digits only", "4930901820"),
    "holder_email": ("The email address", "ada.okafor@example.com"),
    "holder_date_of_birth": ("The date of birth", "1990-04-17"),
    "holder_ip_address": ("The IP address from which the holder registered", None),
    "holder_industry_id": ("The business's industry", None),
    "holder_date_of_company_incorporation": ("The date of incorporation", None),
    # cards
    "virtual": ("Whether the card is virtual", 0),
    "ReissueCard.virtual": ("Whether the reissued card is virtual; unchanged when absent", 0),
    "card_virtual": ("Whether the card is virtual", 0),
    "card_currency_ison": ("The currencies: one account is created for each; the first is the card's default", [EURO]),
    "card_country_ison": ("The card's country", GERMANY),
    "card_reference_id": ("Your own reference", "ORDER2026117"),
    "reference_number": ("Your own reference", "ORDER2026117"),
    "card_name_line_3": ("First embossed line", _EMBOSSED),
    "card_name_line_4": ("Second embossed line", None),
    "name_line_3": ("First embossed line", _EMBOSSED),
    "name_line_4": ("Second embossed line", None),
    "track_data_first_name": ("First name in the chip, if it differs from the embossed one", None),
    "track_data_last_name": ("Last name in the chip, if it differs from the embossed one", None),
    "card_validity_period": ("The card's validity in months; default: the programme's", 36),
    "card_pin": ("The PIN; generated when absent", None),
    "card_thermal_line_1": (_THERMAL, None),
    "card_thermal_line_2": (_THERMAL, None),
    "acs_password": ("The 3-D Secure password", _PASSWORD),
    "CreateCard.acs_password": ("The 3-D Secure password; generated when absent", None),
    "CreatedCard.acs_password": (
        "The 3-D Secure password; empty if the credential may not read it, and in repeats after 24 hours",
        _PASSWORD,
    ),
    "auto_conversion": (f"{_CONVERTED}; default: the programme's setting", 1),
    "ReissueCard.auto_conversion": (f"{_CONVERTED}; unchanged when absent", None),
    "generate_new_pan": ("Whether to generate a new card number; by default, the number is kept", 1),
    "generate_new_pin": ("Whether to generate a new PIN; default: yes", 1),
    "card_pan": ("The number; must match the card's", None),
    "card_cvc2": ("The CVC2; must match the card's", _CVC2),
    "card_expiration_year": ("The year of expiry; must match the card's", _YEAR),
    "card_expiration_month": ("The month of expiry; must match the card's", _MONTH),
    "pan": ("The card's number", _PAN),
    "pin": ("The PIN", PIN),
    "cvc2": ("The code on the card's back", _CVC2),
    "expiration": ("The end of the month in which the card expires", None),
    "year": ("The year", _YEAR),
    "month": ("The month", _MONTH),
    "expiry_year": ("The year of expiry; absent if the credential may not read it", _YEAR),
    "expiry_month": ("The month of expiry; absent if the credential may not read it", _MONTH),
    "status": ("The card's status", "A"),
    "ChangeCardStatus.status": ("The card's new status", "T"),
    "card_status": ("The card's status", "T"),
    "pin_status": ("Whether the PIN is blocked", 0),
    "invalid_pin_tries": ("The number of incorrect PIN entries since the last correct one", 0),
    "invalid_pin_tries_max_limit": ("The number of incorrect entries that blocks the PIN", 3),
    "default_currency_ison": ("The currency of the card's default account", EURO),
    "service_code": ("The service code of the card's chip", 201),
    "participating": ("Whether the card participates in the scheme's account updates", 1),
    # delivery
    "delivery_title": ("The recipient's title", "Ms"),
    "delivery_first_name": ("The recipient's first name", "Ada"),
    "delivery_last_name": ("The recipient's last name", "Okafor"),
    "delivery_address_line_1": ("First line of the recipient's address", "Lindenallee 12"),
    "delivery_address_line_2": (_ADDRESS, None),
    "delivery_address_line_3": (_ADDRESS, None),
    "delivery_address_line_4": (_ADDRESS, None),
    "delivery_country_ison": ("The recipient's country", GERMANY),
    "delivery_zipcode": ("The recipient's postal code", "10115"),
    "delivery_city": ("The recipient's town", "Berlin"),
    "delivery_state": ("The recipient's state or county", None),
    "order_shipping_method": ("The shipping method", 701),
    "order_delivery_code": ("The code that groups orders for bulk delivery", None),
    "order_fulfil_1": ("As agreed with the manufacturer", None),
    "order_fulfil_2": ("As agreed with the manufacturer", None),
    "order_language": ("The language of the card carrier", "DEU"),
    "bulk_address_line_1": ("First line of the bulk delivery address", None),
    "bulk_address_line_2": (_ADDRESS, None),
    "bulk_address_line_3": (_ADDRESS, None),
    "bulk_address_line_4": (_ADDRESS, None),
    "bulk_country_ison": ("The country of the bulk delivery address", None),
    "bulk_zipcode": ("The postal code of the bulk delivery address", None),
    "bulk_city": ("The town of the bulk delivery address", None),
    "bulk_state": ("The state or county of the bulk delivery address", None),
    # 3-D Secure
    "rule_id": ("The rule", 100000058),
    "rule_name": ("The rule's name", "Shops around the corner"),
    "rule_code": ("Your own reference, unique among your rules", "5b0f1f0e-6b7b-4a0a-9d34-2f4c1f0a7e11"),
    "acquirer_bin_merchant_id": ("Merchants: pairs of acquirer BIN and merchant id", None),
    "CreateCardAcsMerchantWhitelistRule.mcc": ("Merchant category codes", "5411,5812"),
    "CreateCardAcsMerchantWhitelistRule.merchant_country_ison": ("Merchants' countries", "276,826"),
    "CreateCardAcsMerchantWhitelistRule.merchant_name": ("Merchants' names", None),
    "maximum_amount": ("The maximum amount to which the rule applies, in minor units", 5000),
    "maximum_amount_currency_ison": ("The amount's currency", EURO),
    "auth_request_id": ("The 3-D Secure request", 100000066),
    "confirmation_status": ("The cardholder's response", "Y"),
    "oob_auth_method": ("How the cardholder was authenticated, in your own numbering", 1),
    "validation_value": ("The value sent to the cardholder", "730214"),
    # simulator
    "amount": ("The amount, in minor units", 2599),
    "acquirer_bin": ("The acquirer's BIN", "400012"),
    "mcc": ("The merchant category code", "5411"),
    "merchant_name": ("The merchant's name", "Corner Shop"),
    "merchant_id": ("The merchant's id", "SHOP0001"),
    "merchant_country_ison": ("The merchant's country", GERMANY),
    "terminal_id": ("The terminal", "TERM0001"),
    "outcome": ("The outcome", "challenge"),
    "expires_at": ("When the request expires, in Unix seconds", MOMENT + 300),
    **report_meanings.EVENTS,
    **money_meanings.PAYMENTS,
    **money_meanings.FEES,
    **money_meanings.LIMITS,
    **money_meanings.NETWORK,
    **report_meanings.REPORTS,
}


def meaning(model: type[BaseModel], member: str) -> Meaning:
    """A member's meaning and example. Raises: LookupError, if it has none.

    A sentence below the member in its class replaces the one in ``MEANINGS``.
    """
    keys = [*(f"{base.__name__}.{member}" for base in model.__mro__), member]
    sentence, example = next((MEANINGS[key] for key in keys if key in MEANINGS), ("", None))
    sentence = sentence_below(model, member) or sentence
    if not sentence:
        raise LookupError(f"{model.__name__}.{member} has no meaning: add it below the member")
    return sentence, example
