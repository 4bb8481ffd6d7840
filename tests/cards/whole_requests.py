"""A valid request of every card action with every member set, and the least that is valid.

Where members exclude each other an action has several whole requests, which have every member between them. They name
the records of a ``Cast``: those that ``cast`` makes, in the state that the action needs, or none that there are.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from chalicelib.cards.actions import ACTIONS, SIMULATOR_ACTIONS
from chalicelib.cards.protocol.status_codes import Refused
from chalicelib.cards.requests.action import Action
from tests.cards import money_requests, network_requests, report_requests
from tests.cards.issuer import BRITAIN, DELIVERY, EUR, EVERYDAY, EVERYDAY_ACCOUNT, GBP, GERMANY, PIN, USD, Issuer
from tests.cards.money_requests import WHY

Members = dict[str, Any]

EVERY_ACTION: Mapping[str, Action] = {**ACTIONS, **SIMULATOR_ACTIONS}
BY_ACTION = sorted(EVERY_ACTION)


@dataclass(frozen=True)
class Cast:
    """What a request names: a holder, an account of its, a card on that account, and what is known of the card.

    ``address_id`` is the account's in the UK; what follows came and went by it. ``own_iban`` leads to somebody else's
    account here, and ``other_card_id`` has the fees of another group. ``trans_link`` is an authorization of the card.
    ``authorize_id``, ``addendum_id`` and ``earlier_transaction_id`` are the rows that a page of a report follows.
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


NOBODY = Cast()
"""Records that there are not, for requests that are only read."""

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
_MORE_DETAILS = {"zip_code": "ME4 4TZ", "holder_limit_group_id": 222, "additional_charset_id": 7}
_SAME_IN_BLOCK = ("kyc_completion_level", "kyc_document_expiration_date", "holder_locale")

WHOLE_HOLDER = {"holder_type": "1", "ip_address": "203.0.113.77", **_DETAILS, **_MORE_DETAILS}
WHOLE_BLOCK = {
    **{name if name in _SAME_IN_BLOCK else f"holder_{name}": value for name, value in _DETAILS.items()},
    "holder_type": 1,
    "holder_access_level": 17,
    "holder_zipcode": "ME4 4TZ",
    "holder_limit_group_id": 222,
    "holder_ip_address": "203.0.113.77",
}
WHOLE_DELIVERY = DELIVERY | {
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
_NAMES = {
    "card_name_line_3": "DR ZOE ONEIL",
    "card_name_line_4": "O'NEIL, SOEHNE",
    "track_data_first_name": "ZOE",
    "track_data_last_name": "ONEIL",
}
_GROUPS = {
    "card_fee_group_id": 302,
    "card_limit_group_id": 202,
    "card_usage_group_id": 602,
    "card_design_id": 23,
    "risk_rules_group_id": 403,
}
_NEW_CARD = {
    "card_program_id": EVERYDAY,
    "card_country_ison": GERMANY,
    "card_reference_id": "Ref7",
    "card_product_id": 12,
    "account_limit_group_id": 212,
    "card_validity_period": 24,
    "card_pin": PIN,
    "card_thermal_line_1": "Welcome,",
    "card_thermal_line_2": "Zoë",
    "acs_password": "quiet-Otter 1!",
    "auto_conversion": 0,
    "access_level": 400,
    **_NAMES,
    **_GROUPS,
}
_NEW_ACCOUNT = {
    "currency_ison": GBP,
    "account_status": "R",
    "program_id": EVERYDAY_ACCOUNT,
    "risk_rules_group_id": 402,
    "fee_group_id": 302,
    "limit_group_id": 212,
    "skip_holder_validation": 1,
    "access_level": 400,
}


def _of_card(**members: Any) -> Callable[[Cast], list[Members]]:
    return lambda cast: [{"card_id": cast.card_id, "access_level": 900, **members}]


def _of_account(**members: Any) -> Callable[[Cast], list[Members]]:
    return lambda cast: [{"account_id": cast.account_id, "access_level": 900, **members}]


def _created_cards(cast: Cast) -> list[Members]:
    physical = {"card_virtual": 0, "card_currency_ison": [GBP, EUR, USD], **_NEW_CARD, **WHOLE_BLOCK, **WHOLE_DELIVERY}
    owned = {"holder_id": cast.holder_id, "account_id": [cast.account_id], "account_owner_id": [cast.holder_id]}
    return [physical, {"card_virtual": 1, **_NEW_CARD, **owned}]


def _created_accounts(cast: Cast) -> list[Members]:
    return [
        {**_NEW_ACCOUNT, **WHOLE_BLOCK, "cards": [cast.card_id]},
        {**_NEW_ACCOUNT, "holder_id": cast.holder_id, "cards": str(cast.card_id), "skip_holder_validation": 0},
    ]


def _activated(cast: Cast) -> list[Members]:
    known = {
        "card_request_id": cast.card_request_id,
        "card_pan": cast.pan,
        "card_cvc2": cast.cvc2,
        "card_expiration_year": cast.year,
        "card_expiration_month": f"{cast.month:02}",
    }
    return _of_card(**known)(cast)


def _confirmed(cast: Cast) -> list[Members]:
    answered = {"confirmation_status": "Y", "oob_auth_method": 1, "validation_value": cast.validation_value}
    return [{"auth_request_id": cast.auth_request_id, "access_level": 900, **answered}]


def _ruled(cast: Cast) -> list[Members]:
    rule = {
        "rule_name": "Groceries",
        "acquirer_bin_merchant_id": "400012+SHOP0001, 400012+SHOP0002",
        "mcc": "0742, 5411",
        "merchant_country_ison": "826,36",
        "merchant_name": ["Corner Shop", "Corner, Shop & Söhne"],
        "rule_code": str(uuid.uuid4()),
        "maximum_amount": 5000,
        "maximum_amount_currency_ison": EUR,
    }
    return _of_card(**rule)(cast)


def _shown_by_both(cast: Cast, name: str) -> list[Members]:
    return [{"card_id": cast.card_id, name: getattr(cast, name), "access_level": 900}]


_WHOLE: Mapping[str, Callable[[Cast], list[Members]]] = {
    "createAccount": _created_accounts,
    "changeAccountStatus": _of_account(account_status="S", **WHY),
    "changeAccountProgramId": _of_account(account_program_id=502),
    "getAccounts": lambda cast: _shown_by_both(cast, "account_id"),
    "assignAccountToRiskRuleGroup": _of_account(risk_rule_group_id=402),
    "assignAccountToLimitRuleGroup": _of_account(limit_group_id=212),
    "assignAccountToFeeRuleGroup": _of_account(fee_group_id=302),
    "activateCard": _activated,
    "assignCardToFeesGroup": _of_card(fees_group_id=302),
    "assignCardToLimitsGroup": _of_card(limits_group_id=202),
    "assignCardToUsageGroup": _of_card(usages_group_id=602),
    "assignCardToRiskRuleGroup": _of_card(risk_rules_group_id=402),
    "changeCardSchemeAccountUpdatesStatus": _of_card(participating=1),
    "changeCardStatus": _of_card(status="T", **WHY),
    "createCard": _created_cards,
    "reissueCard": _of_card(
        generate_new_pan=1,
        generate_new_pin=1,
        virtual=0,
        card_pin="4826",
        card_program_id=EVERYDAY,
        auto_conversion=1,
        **_NAMES,
        **_GROUPS,
        **WHOLE_DELIVERY,
    ),
    "setPin": _of_card(pin="4826"),
    "getDesign": lambda cast: [{"program_id": EVERYDAY, "access_level": 900}],
    "changeCardAcsPassword": _of_card(acs_password="loud-Heron 2?"),
    "createCardAcsMerchantWhitelistRule": _ruled,
    "authenticationConfirm": _confirmed,
    "getHolder": lambda cast: _shown_by_both(cast, "holder_id"),
    "getHolderAccounts": lambda cast: [{"holder_id": cast.holder_id, "access_level": 900}],
    "createHolder": lambda cast: [{**WHOLE_HOLDER, "access_level": 400}],
    "updateHolder": lambda cast: [
        {
            **{name: value for name, value in WHOLE_HOLDER.items() if name not in ("holder_type", "ip_address")},
            "holder_id": cast.holder_id,
            "access_level": 900,
        }
    ],
    **dict.fromkeys(
        ("getCvc2", "getCardDetails", "getCardNumber", "getPin", "getCardStatus", "unblockPin", "getCardAcsPassword"),
        _of_card(),
    ),
    **money_requests.WHOLE,
    **network_requests.WHOLE,
    **report_requests.WHOLE,
}


_OF_RECORD = {"reissueCard": tuple(DELIVERY), "updateHolder": ("business_name",)}
"""Members that the records of ``cast`` need, as a physical card and a business."""


def whole(action: str, cast: Cast = NOBODY) -> list[Members]:
    """The requests of an action that have every member between them."""
    return _WHOLE[action](cast)


def least(action: str, cast: Cast = NOBODY) -> Members:
    """The request of an action that is left when every member is gone that may be, for the records of ``cast``."""
    members = whole(action, cast)[0]
    for name in sorted(members, key=lambda name: name in ("card_virtual", "holder_type")):
        without = {other: value for other, value in members.items() if other != name}
        if is_valid(action, without) and name not in _OF_RECORD.get(action, ()):
            members = without
    return members


def is_valid(action: str, members: Members) -> bool:
    """Whether the fields of a request are right, each by itself and with the others."""
    try:
        EVERY_ACTION[action].request.read_fields(members)
    except Refused:
        return False
    return True


def cast(
    issuer: Issuer,
    action: str,
    *,
    status: str = "A",
    holder_level: int = 0,
    account_level: int = 0,
    card_level: int = 0,
) -> Cast:
    """Records for a request of an action: a physical card with a PIN, active unless the action wants it otherwise."""
    holder = issuer.holder(**WHOLE_HOLDER, access_level=holder_level)
    account = issuer.account(holder_id=holder, access_level=account_level)
    card = issuer.card_in(
        "N" if action == "activateCard" else status,
        holder_id=holder,
        account_id=[account],
        account_owner_id=[holder],
        access_level=card_level,
        card_virtual=0,
        card_pin=PIN,
        card_reference_id="Ref7",
        card_name_line_4="O'NEIL, SOEHNE",
    )
    assert card.expiration is not None
    made = Cast(holder, account, card.card_id, card.card_request_id, pan=card.pan, cvc2=card.cvc2)
    made = replace(made, year=card.expiration["year"], month=card.expiration["month"])
    if EVERY_ACTION[action].effect == "read":
        issuer.data("changeCardStatus", card_id=card.card_id, status="A", **WHY)
        issuer.data("changeAccountStatus", account_id=account, account_status="A", **WHY)
    if action == "unblockPin":
        issuer.block_pin(card.card_id)
    if action == "authenticationConfirm":
        asked = issuer.authentication(card.card_id)
        made = replace(made, auth_request_id=asked["auth_request_id"], validation_value=asked["validation_value"])
    made = network_requests.provided(issuer, action, money_requests.provided(issuer, action, made))
    return report_requests.provided(issuer, action, made)
