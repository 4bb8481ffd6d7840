"""For every card action, a valid request with every member, and the minimal valid request.

The specification's tables define an action's members. ``VALUES`` has their values, with exceptions in ``_WAYS``.
Actions with exclusive members have several requests that together contain every member. Requests refer to
``Records``, which ``request_records`` creates in the required state. The default records do not exist.
"""

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from chalicelib.cards.actions import ACTIONS, SIMULATOR_ACTIONS
from chalicelib.cards.protocol.status_codes import Refused
from chalicelib.cards.requests.action import Action
from tests.cards.issuer import (
    BRITAIN,
    DELIVERY,
    EUR,
    EVERYDAY,
    EVERYDAY_ACCOUNT,
    GBP,
    GERMANY,
    LEFT_OUT,
    PIN,
    SEPA,
    SPECIAL_EUR,
    SPECIAL_GBP,
    UK,
    USD,
)
from tests.cards.specification import TABLES

Members = dict[str, Any]

EVERY_ACTION: Mapping[str, Action] = {**ACTIONS, **SIMULATOR_ACTIONS}
BY_ACTION = sorted(EVERY_ACTION)
TAKEN = 900
"""The amount of network requests in cents. An authorization covers two such amounts."""


@dataclass(frozen=True)
class Records:
    """Records to which a request refers: a holder, an account, a card on that account, and the card's data.

    ``address_id`` is the account's UK address, which makes the payments. ``own_iban`` belongs to a different account
    of this service. ``other_card_id`` has another fee group. ``trans_link`` is an authorization of the card.
    ``authorize_id``, ``addendum_id`` and ``earlier_transaction_id`` are the rows before a page of a report.
    """

    holder_id: int = 1001
    account_id: int = 1002
    card_id: int = 1003
    card_request_id: int = 1004
    auth_request_id: int = 1005
    pan: str = "2223000000000007"
    cvc2: str = "012"
    year: int = 2029
    month: int = 3
    validation_value: str = "012345"
    address_id: int = 1006
    sepa_address_id: int = 1007
    epm_transaction_id: int = 1008
    epm_mandate_id: int = 1009
    transaction_id: int = 1010
    own_iban: str = "GB29NWBK60161331926819"
    other_card_id: int = 1011
    trans_link: str = "900000001012"
    authorize_id: int = 1013
    addendum_id: int = 1014
    earlier_transaction_id: int = 1015


NO_RECORDS = Records()
"""Ids of records that do not exist, for requests that are only parsed."""

WHY: Members = {"reason_code": 9, "note": "Reported by phone, 3 March"}
_DETAILS = {
    "title": "Dr",
    "business_name": "O'Neil & Söhne",
    "first_name": "Zoë",
    "last_name": "O'Neil-Smith Jr.",
    "address_line_1": "1 Riverside",
    "address_line_2": "Flat 2",
    "address_line_3": "Tower B",
    "address_line_4": "c/o Müller",
    "city": "Łódź",
    "state": "Kent",
    "country_ison": BRITAIN,
    "phone_number": "0447700900123",
    "email": "zoe@example.com",
    "date_of_birth": "1990-01-31",
    "industry_id": 5411,
    "date_of_company_incorporation": "2015-06-30",
    "kyc_completion_level": 2,
    "kyc_document_expiration_date": "2030-12-31",
    "holder_locale": "en-GB",
}
WHOLE_HOLDER: Members = {
    **_DETAILS,
    "holder_type": "1",
    "ip_address": "203.0.113.77",
    "zip_code": "ME4 4TZ",
    "holder_limit_group_id": 222,
    "additional_charset_id": 7,
}
_SAME_IN_BLOCK = ("kyc_completion_level", "kyc_document_expiration_date", "holder_locale")
WHOLE_BLOCK: Members = {
    **{name if name in _SAME_IN_BLOCK else f"holder_{name}": value for name, value in _DETAILS.items()},
    "holder_type": 1,
    "holder_access_level": 17,
    "holder_zipcode": "ME4 4TZ",
    "holder_limit_group_id": 222,
    "holder_ip_address": "203.0.113.77",
}
WHOLE_DELIVERY: Members = DELIVERY | {
    "delivery_title": "Dr",
    "delivery_address_line_2": "Flat 2",
    "delivery_address_line_3": "Tower B",
    "delivery_address_line_4": "c/o Müller",
    "delivery_state": "Kent",
    "order_shipping_method": 702,
    "order_delivery_code": "BULK7",
    "order_fulfil_1": "F1",
    "order_fulfil_2": "F2",
    "order_language": "ENG",
    "bulk_address_line_1": "2 Depot Road",
    "bulk_address_line_2": "Gate 3",
    "bulk_address_line_3": "Hall 4",
    "bulk_address_line_4": "Ramp 5",
    "bulk_country_ison": GERMANY,
    "bulk_zipcode": "10115",
    "bulk_city": "Berlin",
    "bulk_state": "Berlin",
}
_GROUPS: Members = {
    "fee_group_id": 302,
    "fees_group_id": 302,
    "card_fee_group_id": 302,
    "limit_group_id": 212,
    "limits_group_id": 202,
    "card_limit_group_id": 202,
    "account_limit_group_id": 212,
    "usages_group_id": 602,
    "card_usage_group_id": 602,
    "risk_rule_group_id": 402,
    "risk_rules_group_id": 402,
}
_CARD: Members = {
    "card_program_id": EVERYDAY,
    "card_country_ison": GERMANY,
    "card_currency_ison": [GBP, EUR, USD],
    "card_reference_id": "Ref7",
    "card_product_id": 12,
    "card_design_id": 23,
    "card_validity_period": 24,
    "card_pin": PIN,
    "card_thermal_line_1": "Welcome,",
    "card_thermal_line_2": "Zoë",
    "card_name_line_3": "DR ZOE ONEIL",
    "card_name_line_4": "O'NEIL, SOEHNE",
    "track_data_first_name": "ZOE",
    "track_data_last_name": "ONEIL",
    "acs_password": "quiet-Otter 1!",
    "auto_conversion": 0,
    "generate_new_pan": 1,
    "generate_new_pin": 1,
    "virtual": 0,
    "participating": 1,
    "status": "T",
    "confirmation_status": "Y",
    "oob_auth_method": 1,
    "rule_name": "Groceries",
    "acquirer_bin_merchant_id": "400012+SHOP0001, 400012+SHOP0002",
    "maximum_amount": 5000,
    "maximum_amount_currency_ison": EUR,
}
_MONEY: Members = {
    "risk_score": 7,
    "account_name": "O'Neil & Söhne",
    "reference": "Not ours",
    "reason": 1,
    "return_reason_id": 1,
    "destination_account_name": "Alice & Söhne",
    "destination_sort_code": "200000",
    "destination_account_number": "55779911",
    "reference_number": "INVOICE 7/2026",
    "withdrawal_purpose": 12,
    "receiver_type": 1,
    "schemes": ["CHAPS", "FPS"],
    "account_currency": EUR,
    "fee_code": "CARDREPL",
    "should_pay": 0,
    "scheme": "FPS",
    "sender_name": "Bob & Söhne",
    "creditor_name": "Gym & Söhne",
    "result": "settled",
    "limit_type": 2,
    "paginator": {"item_count": 100, "offset": 0},
}
_NETWORK: Members = {
    "transaction_type": 39,
    "amount": TAKEN,
    "entry_mode_type": 5,
    "cashback_amount": 0,
    "pin": PIN,
    "final": 0,
    "eci_indicator": 5,
    "partial_approval": 1,
    "response_code": "00",
    "force_response_code": "00",
    "mcc": "0742",
    "merchant_name": "Corner Shop",
    "merchant_id": "SHOP0001",
    "merchant_country_ison": BRITAIN,
    "terminal_id": "T0000001",
    "acquirer_bin": "400012",
    "step": "opened",
}
_REPORTS: Members = {
    "date_from": 0,
    "date_to": 99_999_999_999,
    "date_imported_from": 0,
    "date_imported_to": 99_999_999_999,
    "item_count": 100,
    "addendum_type": "lodging",
    "data": {"check_in": "2026-03-01", "nights": 2},
}
VALUES: Members = {
    **WHOLE_HOLDER,
    **WHOLE_BLOCK,
    **WHOLE_DELIVERY,
    **_GROUPS,
    **_CARD,
    **_MONEY,
    **_NETWORK,
    **_REPORTS,
    **WHY,
    "access_level": 900,
    "account_status": "S",
    "account_program_id": 502,
    "program_id": EVERYDAY,
    "currency_ison": EUR,
}


def _values_of(records: Records) -> Members:
    return vars(records) | {
        "card_pan": records.pan,
        "card_cvc2": records.cvc2,
        "card_expiration_year": records.year,
        "card_expiration_month": f"{records.month:02}",
        "expiry_year": records.year,
        "expiry_month": records.month,
        "epm_address_id": records.address_id,
        "returned_epm_transaction_id": records.epm_transaction_id,
        "destination_iban": records.own_iban,
        "rule_code": str(uuid.uuid4()),
    }


Way = Members
"""Members that override the default values of a complete request. ``LEFT_OUT`` omits an excluded member."""


def _without(*names: str) -> Way:
    return dict.fromkeys(names, LEFT_OUT)


_NO_BLOCK = _without(*WHOLE_BLOCK)
_METHODS: tuple[Way, Way] = (
    {"epm_method_id": UK, "currency_ison": GBP, "special_account_id": SPECIAL_GBP},
    {"epm_method_id": SEPA, "currency_ison": EUR, "special_account_id": SPECIAL_EUR},
)


def _created_accounts(records: Records) -> list[Way]:
    opened = {"currency_ison": GBP, "account_status": "R", "program_id": EVERYDAY_ACCOUNT, "access_level": 400}
    return [
        opened | {"cards": [records.card_id], "skip_holder_validation": 1} | _without("holder_id"),
        opened
        | _NO_BLOCK
        | {"holder_id": records.holder_id, "cards": str(records.card_id), "skip_holder_validation": 0},
    ]


def _created_cards(records: Records) -> list[Way]:
    created = {"access_level": 400, "risk_rules_group_id": 403}
    owned = {
        "holder_id": records.holder_id,
        "account_id": [records.account_id],
        "account_owner_id": [records.holder_id],
    }
    virtual = _NO_BLOCK | _without(*WHOLE_DELIVERY, "card_currency_ison")
    return [created | {"card_virtual": 0} | _without(*owned), created | virtual | owned | {"card_virtual": 1}]


def _limited(records: Records) -> list[Way]:
    by_type = {1: records.card_id, 2: records.account_id, 3: records.holder_id}
    return [{"limit_type": limit_type, "record_id": number} for limit_type, number in by_type.items()]


_ORDER: Way = {"amount": 2500, "currency_ison": GBP, "industry_id": 54, "description": "Rent, March", "note": "Flat 2"}
_FEE: Way = {"fee_group_id": 301, "amount": 250, "description": "Card replacement, 3 March"}
_BY_NUMBER_OR_ID = [_without("pan"), _without("card_id")]
_WAYS: Mapping[str, Callable[[Records], Sequence[Way]]] = {
    "createAccount": _created_accounts,
    "createCard": _created_cards,
    "reissueCard": lambda records: [{"card_pin": "4826", "auto_conversion": 1, "risk_rules_group_id": 403}],
    "setPin": lambda records: [{"pin": "4826"}],
    "changeCardAcsPassword": lambda records: [{"acs_password": "loud-Heron 2?"}],
    "createCardAcsMerchantWhitelistRule": lambda records: [
        {
            "mcc": "0742, 5411",
            "merchant_country_ison": "826,36",
            "merchant_name": ["Corner Shop", "Corner, Shop & Söhne"],
        }
    ],
    "createHolder": lambda records: [{"holder_type": "1", "access_level": 400}],
    # external payments
    "assignExternalPaymentAddress": lambda records: _METHODS,
    "assignExternalPaymentAddressForSpecialAccount": lambda records: _METHODS,
    "cancelExternalPaymentMandate": lambda records: [{"reason": 2}],
    "changeDDExternalPaymentStatus": lambda records: [{"reason": 7}],
    "getExternalPaymentAddress": lambda records: [{}, {"epm_address_id": records.sepa_address_id}],
    "changeExternalPaymentAddressStatus": lambda records: [{"status": "S"}],
    "transferToExternalPayment": lambda records: [
        _ORDER | _without("destination_iban"),
        _ORDER | _without("destination_sort_code", "destination_account_number"),
    ],
    "directDebitReturn": lambda records: [{"reason": "MD06", "reference": "Claim 7"}],
    "simulateInboundPayment": lambda records: [{"amount": 5000, "currency_ison": GBP, "reference": "INVOICE 7/2026"}],
    "simulateMandate": lambda records: [{"reference": "MEMBER 7"}],
    "simulateDirectDebit": lambda records: [
        {"amount": 700} | _without("epm_transaction_id"),
        _without("epm_mandate_id", "amount"),
    ],
    "simulateOutboundResult": lambda records: [{"reason": "as usual"}],
    # fees and limits
    "createCustomFee": lambda records: [
        _FEE,
        _FEE | _without("account_id", "transaction_id", "amount", "currency_ison", "country_ison"),
    ],
    "getCardFees": lambda records: [{}, {"card_id": records.other_card_id}],
    "getLimits": _limited,
    "getLimitsGroups": lambda records: [{"program_id": EVERYDAY_ACCOUNT}],
    "getLimitsStatus": _limited,
    # the network
    "simulateAuthentication": lambda records: [{"amount": 1999}],
    "simulateAuthorization": lambda records: [{"amount": 0} | way for way in _BY_NUMBER_OR_ID],
    "simulateAdvice": lambda records: [{"amount": 0} | way for way in _BY_NUMBER_OR_ID],
    "simulateClearing": lambda records: [_without("card_id"), _without("trans_link")],
    "simulateRefund": lambda records: [_without("card_id"), _without("trans_link")],
    "simulateDispute": lambda records: [{"amount": 500}],
    # reports
    "getCardsActivity": lambda records: [{"last_id": records.authorize_id}],
    "getFinancialAuthorizes": lambda records: [{"last_id": records.authorize_id}],
    "getFinancialDetailAddendums": lambda records: [{"last_id": records.addendum_id}],
    "getTransactions": lambda records: [
        {"last_id": records.earlier_transaction_id},
        _without("account_id", "transaction_id", "last_id"),
    ],
}
_OF_RECORD = {"reissueCard": tuple(DELIVERY), "updateHolder": ("business_name",)}
"""Members that are required because of the state of the records, such as a physical card or a business holder."""


def whole(action: str, records: Records = NO_RECORDS) -> list[Members]:
    """Return the requests of an action that together contain every member."""
    values = VALUES | _values_of(records)
    ways = _WAYS[action](records) if action in _WAYS else [{}]
    named = [{name: (values | way)[name] for name in TABLES[action].request} for way in ways]
    return [{name: value for name, value in each.items() if value is not LEFT_OUT} for each in named]


def least(action: str, records: Records = NO_RECORDS) -> Members:
    """Return the minimal request of an action, without optional members, for the records in ``records``."""
    members = whole(action, records)[0]
    last, first = ("card_virtual", "holder_type"), ("card_id", "transaction_id")
    for name in sorted(members, key=lambda name: (name in last) - (name in first)):
        without = {other: value for other, value in members.items() if other != name}
        if is_valid(action, without) and name not in _OF_RECORD.get(action, ()):
            members = without
    return members


def is_valid(action: str, members: Members) -> bool:
    try:
        EVERY_ACTION[action].request.read_fields(members)
    except Refused:
        return False
    return True
