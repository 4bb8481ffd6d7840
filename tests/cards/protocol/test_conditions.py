"""Tests of the conditions that a request's fields must meet together: required, excluded and ignored fields."""

from typing import Any

import pytest

from chalicelib.cards.protocol.message import Excludes, Needs, NeedsOne
from tests.cards import field_values, whole_requests
from tests.cards.action_checks import read, refusal, refusal_if_any
from tests.cards.field_values import EXCLUDED, MISSING, REQUIRED
from tests.cards.specification import TABLES
from tests.cards.whole_requests import BY_ACTION, EVERY_ACTION, Members

EVERY = pytest.mark.parametrize("action", BY_ACTION)
CONDITIONS = [(action, condition) for action in BY_ACTION for condition in EVERY_ACTION[action].request.conditions]


@pytest.mark.parametrize(("action", "condition"), CONDITIONS, ids=str)
def test_a_request_that_violates_a_condition_between_fields_is_rejected(
    action: str, condition: Needs | NeedsOne | Excludes
) -> None:
    """The test violates one condition at a time. The other tests of this module check the meaning of each condition."""
    requests = whole_requests.whole(action)
    if isinstance(condition, Excludes):
        values = {name: value for each in requests for name, value in each.items()}
        beside = next(each for each in requests if condition.other in each)
        code, message = refusal(action, beside | {condition.field: values[condition.field]})
        assert (code, condition.field in message) == (EXCLUDED, True)
    elif isinstance(condition, NeedsOne):
        code, message = refusal(action, {key: requests[0][key] for key in set(requests[0]) - set(condition.fields)})
        assert (code, all(name in message for name in condition.fields)) == (REQUIRED, True)
    else:
        holding = next(each for each in requests if all(when.holds(each) for when in condition.when))
        for name in condition.fields:
            code, message = refusal(action, {key: holding[key] for key in set(holding) - {name}})
            assert (code, name in message) == (REQUIRED, True)


def conditional(action: str) -> set[str]:
    return {name for name, member in TABLES[action].request.items() if member.requirement == "C"}


CHECKED_LATER = {
    "reissueCard": {
        "card_program_id",
        *(name for name in TABLES["reissueCard"].request if name.startswith("delivery_")),
    }
    | {"order_shipping_method"},
    "updateHolder": {"business_name"},
    "transferToExternalPayment": {"reference_number"},
    "inboundReturn": {"reason"},
    "directCreditReturn": {"return_reason_id"},
}
"""Conditional fields that depend on stored records or on the provider."""


@EVERY
def test_every_conditional_field_has_a_condition(action: str) -> None:
    named = set()
    for condition in EVERY_ACTION[action].request.conditions:
        named |= set(condition.fields) if not isinstance(condition, Excludes) else {condition.field, condition.other}
        named |= {when.field for when in condition.when} if isinstance(condition, Needs) else set()

    assert conditional(action) - CHECKED_LATER.get(action, set()) <= named


HOLDER_NEEDS = [
    "holder_first_name",
    "holder_last_name",
    "holder_address_line_1",
    "holder_country_ison",
    "holder_zipcode",
    "holder_city",
    "holder_phone_number",
]
DELIVERY_NEEDS = [
    "delivery_first_name",
    "delivery_last_name",
    "delivery_address_line_1",
    "delivery_country_ison",
    "delivery_zipcode",
    "delivery_city",
    "order_shipping_method",
]
BULK_NEEDS = ["bulk_address_line_1", "bulk_country_ison", "bulk_zipcode", "bulk_city"]


def required(action: str, members: Members) -> set[str]:
    code, message = refusal_if_any(action, members)
    assert code in (None, REQUIRED), message
    return {name for name in TABLES[action].request if f"{name} is required" in message}


@pytest.mark.parametrize("action", ["createAccount", "createCard"])
def test_a_new_holder_requires_its_name_address_and_phone_number(action: str) -> None:
    whole = whole_requests.whole(action)[0]
    bare = {name: value for name, value in whole.items() if not name.startswith(("holder_", "kyc_"))}

    assert required(action, bare) == set(HOLDER_NEEDS)
    assert required(action, bare | {"holder_type": 0}) == set(HOLDER_NEEDS)
    assert required(action, bare | {"holder_type": "1"}) == {*HOLDER_NEEDS, "holder_business_name"}
    assert required(action, bare | {"holder_id": 5, "holder_type": 1}) == set()


@pytest.mark.parametrize("virtual", [0, "0", 1, "1"])
def test_a_physical_card_requires_delivery_fields_and_a_virtual_card_does_not(virtual: Any) -> None:
    whole = whole_requests.whole("createCard")[0] | {"card_virtual": virtual}
    bare = {name: value for name, value in whole.items() if not name.startswith(("delivery_", "order_", "bulk_"))}

    assert required("createCard", bare) == (set() if int(virtual) else set(DELIVERY_NEEDS))
    bulk = bare | {"order_delivery_code": "BULK7"}
    assert required("createCard", bulk) == (set() if int(virtual) else {*DELIVERY_NEEDS, *BULK_NEEDS})


def test_a_bulk_order_of_physical_cards_requires_the_bulk_address() -> None:
    whole = whole_requests.whole("reissueCard")[0]
    bare = {name: value for name, value in whole.items() if not name.startswith(("order_delivery_code", "bulk_"))}

    assert required("reissueCard", bare) == set()
    assert required("reissueCard", bare | {"order_delivery_code": "BULK7"}) == set(BULK_NEEDS)
    assert required("reissueCard", bare | {"order_delivery_code": "BULK7", "virtual": 1}) == set()


@pytest.mark.parametrize("action", ["createHolder"])
def test_a_business_holder_requires_a_business_name(action: str) -> None:
    whole = {name: value for name, value in whole_requests.whole(action)[0].items() if name != "business_name"}

    assert required(action, whole | {"holder_type": 1}) == {"business_name"}
    assert required(action, whole | {"holder_type": 0}) == set()
    assert required(action, whole | {"holder_type": None}) == set()


def test_a_card_currency_with_account_ids_is_rejected_unless_the_currency_is_empty() -> None:
    virtual = whole_requests.whole("createCard")[1]

    assert refusal("createCard", virtual | {"card_currency_ison": 978})[0] == EXCLUDED
    empty: Any
    for empty in ("", [], None, "  "):
        assert read("createCard", virtual | {"card_currency_ison": empty}).card_currency_ison is None


PLACES = ("destination_sort_code", "destination_account_number", "destination_iban")


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ((), {"destination_iban"}),
        (("destination_sort_code",), {"destination_account_number"}),
        (("destination_account_number",), {"destination_sort_code"}),
        (("destination_sort_code", "destination_account_number"), set()),
        (("destination_iban",), set()),
        (("destination_iban", "destination_sort_code"), {"destination_account_number"}),
        (("destination_iban", "destination_account_number"), {"destination_sort_code"}),
    ],
)
def test_a_transfer_requires_an_iban_or_a_sort_code_with_an_account_number(
    given: tuple[str, ...], expected: set[str]
) -> None:
    british, european = whole_requests.whole("transferToExternalPayment")
    places = european | british
    members = {name: value for name, value in places.items() if name not in PLACES or name in given}

    _, message = refusal_if_any("transferToExternalPayment", members)

    assert {name for name in PLACES if f"{name} is required" in message} == expected


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ((), {"account_id", "account_currency"}),
        (("account_currency",), {"account_id"}),
        (("account_id",), set()),
        (("card_id",), {"account_currency"}),
        (("card_id", "account_currency"), set()),
        (("card_id", "transaction_id"), set()),
        (("card_id", "account_id"), set()),
        (("account_id", "amount"), {"currency_ison"}),
        (("account_id", "currency_ison"), set()),
        (("account_id", "amount", "currency_ison"), set()),
    ],
)
def test_a_custom_fee_requires_an_account_and_a_currency_for_its_amount(
    given: tuple[str, ...], expected: set[str]
) -> None:
    """If a request has neither of two alternative fields, the error message names the second field."""
    whole, _ = whole_requests.whole("createCustomFee")
    mandatory = ("fee_group_id", "fee_code", "description")
    members = {name: value for name, value in whole.items() if name in (*mandatory, *given)}

    assert required("createCustomFee", members) == expected


def test_a_direct_debit_requires_either_a_mandate_with_an_amount_or_a_transaction_id() -> None:
    announced, passed = whole_requests.whole("simulateDirectDebit")
    amount = {"amount": announced["amount"]}

    assert required("simulateDirectDebit", amount) == {"epm_transaction_id"}
    assert required("simulateDirectDebit", {"epm_mandate_id": 7}) == {"amount"}
    assert refusal("simulateDirectDebit", passed | amount)[0] == EXCLUDED
    assert refusal("simulateDirectDebit", announced | passed)[0] == EXCLUDED


@pytest.mark.parametrize("action", ["transferToExternalPayment", "simulateInboundPayment", "simulateDirectDebit"])
def test_an_amount_of_zero_is_rejected(action: str) -> None:
    whole = whole_requests.whole(action)[0]

    assert read(action, whole | {"amount": 1}).amount == 1
    code, message = refusal(action, whole | {"amount": 0})
    assert (code, "amount" in message) == (field_values.VALUE, True)


def test_account_owners_match_the_number_of_accounts_and_may_repeat() -> None:
    virtual = whole_requests.whole("createCard")[1]

    found = read("createCard", virtual | {"account_id": "7,8", "account_owner_id": [5, "5"]})
    assert (found.account_id, found.account_owner_id) == ((7, 8), (5, 5))
    for owners in ([5], "5,5,5"):
        code, message = refusal("createCard", virtual | {"account_id": "7,8", "account_owner_id": owners})
        assert (code, "account_owner_id" in message) == (field_values.LENGTH, True)


@pytest.mark.parametrize("action", ["createCard", "reissueCard"])
def test_track_data_names_have_a_total_of_at_most_26_characters(action: str) -> None:
    whole = whole_requests.whole(action)[0]
    names = ("track_data_first_name", "track_data_last_name")

    assert read(action, whole | dict(zip(names, ("a" * 13, "b" * 13), strict=True)))
    assert read(action, whole | dict(zip(names, ("a" * 26, None), strict=True)))
    code, message = refusal(action, whole | dict(zip(names, ("a" * 13, "b" * 14), strict=True)))
    assert (code, all(name in message for name in names)) == (field_values.LENGTH, True)


@pytest.mark.parametrize("action", ["createCard", "reissueCard"])
def test_one_error_message_reports_the_invalid_fields_and_the_violated_conditions(action: str) -> None:
    whole = whole_requests.whole(action)[0] | {"card_name_line_3": None, "track_data_first_name": "a" * 26}

    code, message = refusal(action, whole)

    assert code == MISSING
    assert "card_name_line_3" in message
    assert "track_data_first_name" in message


@pytest.mark.parametrize("action", ["createCard", "changeCardAcsPassword"])
def test_a_password_has_at_most_318_bytes_in_utf_8(action: str) -> None:
    """RSA encryption with 3072 bits, OAEP and SHA-256 is limited to 318 bytes."""
    whole = whole_requests.whole(action)[0]

    assert read(action, whole | {"acs_password": "\u6771" * 106})
    code, message = refusal(action, whole | {"acs_password": "\u6771" * 107})
    assert (code, "acs_password" in message) == (field_values.LENGTH, True)


# -- what is ignored


def junk(action: str, *beginnings: str) -> Members:
    return {name: {"no": "value"} for name in TABLES[action].request if name.startswith(beginnings)}


@pytest.mark.parametrize("action", ["createAccount", "createCard"])
def test_the_new_holder_fields_are_ignored_if_a_holder_id_is_present(action: str) -> None:
    whole = whole_requests.whole(action)[1]
    block = {name: value for name, value in junk(action, "holder_", "kyc_").items() if name != "holder_id"}

    found = read(action, whole | block)

    assert all(getattr(found, name) is None for name in block)


@pytest.mark.parametrize("virtual", [1, "1"])
@pytest.mark.parametrize(("action", "field"), [("createCard", "card_virtual"), ("reissueCard", "virtual")])
def test_the_delivery_fields_and_the_pin_are_ignored_for_a_virtual_card(action: str, field: str, virtual: Any) -> None:
    whole = whole_requests.whole(action)[-1] | {field: virtual}
    ignored = junk(action, "delivery_", "order_", "bulk_", "card_pin")

    found = read(action, whole | ignored)

    assert all(getattr(found, name) is None for name in ignored)


@pytest.mark.parametrize("kept", [0, "0"])
def test_a_reissue_ignores_the_pin_if_generate_new_pin_is_0(kept: Any) -> None:
    whole = whole_requests.whole("reissueCard")[0]

    assert read("reissueCard", whole | {"generate_new_pin": kept, "card_pin": [1]}).card_pin is None
    assert refusal("reissueCard", whole | {"generate_new_pin": 1, "card_pin": [1]})[0] == field_values.TYPE
    assert refusal("reissueCard", whole | {"generate_new_pin": None, "card_pin": [1]})[0] == field_values.TYPE
