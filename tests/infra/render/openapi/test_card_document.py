"""The OpenAPI document of the card API contains request and response of every action, with schemas that match the
models.
"""

import json
from collections.abc import Mapping
from functools import cache
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from chalicelib.cards.actions import ACTIONS, SIMULATOR_ACTIONS
from chalicelib.cards.protocol.account_messages import CreateAccount, GetAccounts
from chalicelib.cards.protocol.card_events import EVENTS
from chalicelib.cards.protocol.card_messages import TRACK_NAME
from chalicelib.cards.protocol.card_records import LONGEST_BYTES
from chalicelib.cards.protocol.message import ENVELOPE, Request
from chalicelib.cards.protocol.money_messages import LimitStatusRecord
from chalicelib.cards.protocol.portal_messages import ListCards
from chalicelib.cards.protocol.simulator_messages import SimulateClearing, SimulateRefund
from chalicelib.cards.protocol.states import MISMATCHES_A_DAY, PIN_TRIES
from chalicelib.cards.protocol.status_codes import Refused, Status
from chalicelib.cards.protocol.values import (
    CUT_OFF_SECONDS,
    HOLD_SECONDS,
    MOST_ADDRESSES,
    MOST_AMOUNT,
    MOST_COUNT,
    MOST_COUNTRIES,
)
from chalicelib.cards.requests.action import Action
from chalicelib.foundation import jsontext
from chalicelib.foundation.crypto import event_signing
from infra.programme import file
from infra.render.openapi.cards import examples
from infra.render.openapi.cards.answer_models import answer_of, data_of, model_of
from infra.render.openapi.cards.purposes import rules
from infra.render.openapi.cards.schemas import example, name_of
from infra.render.openapi.documents import load
from infra.render.openapi.member_docs import sentence

DAY = 24 * 3600
PATHS: Mapping[str, Mapping[str, Action]] = {"/api": ACTIONS, "/simulator": SIMULATOR_ACTIONS}
EVERY: Mapping[str, Action] = {**ACTIONS, **SIMULATOR_ACTIONS}
EACH = pytest.mark.parametrize("action", EVERY.values(), ids=EVERY)


@cache
def document() -> Any:
    return load("cards")


def operation(action: Action) -> Any:
    return document()["paths"]["/api" if action.name in ACTIONS else "/simulator"]["post"]


def content(holder: Any) -> Any:
    return holder["content"]["application/json"]


def schema(action: Action, kind: Any) -> Any:
    return document()["components"]["schemas"][name_of(action, kind)]


def problems(found: Any, value: Any) -> list[str]:
    whole = {**found, "components": document()["components"]}
    return [problem.message for problem in Draft202012Validator(whole).iter_errors(value)]


def takes(model: type[Request], body: Any) -> bool:
    try:
        model.read_fields(jsontext.loads(json.dumps(body)))
    except Refused:
        return False
    return True


def fits(action: Action, body: Any) -> bool:
    return not problems(schema(action, "Request"), body)


def shown(action: Action) -> dict[str, Any]:
    found: dict[str, Any] = content(operation(action)["requestBody"])["examples"][action.name]["value"]
    return found


# -- complete


@pytest.mark.parametrize("path", PATHS)
def test_the_single_card_operation_selects_the_request_schema_by_action(path: str) -> None:
    (method,) = document()["paths"][path]
    asked = content(document()["paths"][path][method]["requestBody"])["schema"]
    mapping = asked["discriminator"]["mapping"]

    assert (method, asked["discriminator"]["propertyName"]) == ("post", "action")
    assert list(mapping) == list(PATHS[path])
    assert [each["$ref"] for each in asked["oneOf"]] == list(mapping.values())
    for name, target in mapping.items():
        assert document()["components"]["schemas"][target.rpartition("/")[2]]["properties"]["action"]["const"] == name


@EACH
def test_the_request_schema_of_an_action_has_only_envelope_and_fields(action: Action) -> None:
    found = schema(action, "Request")
    fields = action.request.model_fields
    mandatory = {name for name, field in fields.items() if field.is_required()}

    assert found["properties"].keys() == ENVELOPE | fields.keys()
    assert set(found["required"]) == (ENVELOPE - {"request_reference_id"}) | mandatory
    assert found["description"].startswith(f"{action.summary}.\n\n- ")


@EACH
def test_the_response_schema_of_an_action_has_the_members_of_the_response_model(action: Action) -> None:
    found = schema(action, "Response")
    data = found["properties"]["data"]
    entry = data.get("items", data)
    beside = ({"id"} if action.shape == "id" else set()) | ({"paginator"} if action.is_paged else set())
    beside |= {"has_more_records"} if action.is_continued else set()

    assert {"$ref": f"#/components/schemas/{name_of(action, 'Response')}"} in content(
        operation(action)["responses"]["200"]
    )["schema"]["anyOf"]
    assert found["properties"].keys() == {"status", "duplicated", "data"} | beside
    answer = answer_of(action)
    if answer is not None:
        model = document()["components"]["schemas"][entry["$ref"].rpartition("/")[2]]
        assert model["properties"].keys() == answer.model_fields.keys()


def test_every_event_has_the_members_of_the_event_model_and_a_valid_example() -> None:
    described = {name: methods["post"] for name, methods in document()["webhooks"].items()}
    signed = event_signing.headers([event_signing.new_secret()], "event", 0, b"{}")

    assert list(described) == list(EVENTS)
    for name, row in EVENTS.items():
        found = content(described[name]["requestBody"])
        model = document()["components"]["schemas"][row.data.__name__]
        event = found["examples"]["usual"]["value"]
        names = [each["$ref"].rpartition("/")[2] for each in described[name]["parameters"]]
        assert model["properties"].keys() == data_of(name).model_fields.keys()
        assert problems(found["schema"], event) == []
        assert event["type"] == name
        data_of(name).read(event["data"])
        assert [document()["components"]["parameters"][each]["name"] for each in names] == list(signed)


def test_error_responses_have_exactly_the_known_status_codes() -> None:
    assert document()["components"]["schemas"]["ErrorResponse"]["properties"]["status_code"]["enum"] == list(Status)


@pytest.mark.parametrize(
    ("name", "phrase"),
    [
        ("activateCard", f"After {MISMATCHES_A_DAY} mismatches"),
        ("assignExternalPaymentAddress", f"at most {MOST_ADDRESSES} addresses"),
        ("assignExternalPaymentAddressForSpecialAccount", f"at most {MOST_ADDRESSES} addresses"),
        ("createCard", f"at most {TRACK_NAME} characters"),
        ("changeCardAcsPassword", f"at most {LONGEST_BYTES} bytes"),
        ("getLimitsStatus", f"{MOST_COUNT}, {MOST_AMOUNT} or {MOST_COUNTRIES}"),
        ("simulateAuthorization", f"After {PIN_TRIES} consecutive"),
        ("simulateIncrement", f"held for {HOLD_SECONDS // DAY} days"),
        ("simulateExpiry", f"held for {HOLD_SECONDS // DAY} days"),
        ("simulateDirectDebit", f"waits {CUT_OFF_SECONDS // 3600} hours"),
    ],
)
def test_the_documented_rules_of_an_action_state_the_limits_of_the_product(name: str, phrase: str) -> None:
    assert phrase in " ".join(rules(EVERY[name]))


@pytest.mark.parametrize(
    ("model", "member", "expected"),
    [
        (CreateAccount, "account_status", "The account's status"),
        (
            CreateAccount,
            "holder_id",
            "The id of an existing holder. If the field is absent, the holder block describes a new holder",
        ),
        (GetAccounts, "account_id", "The account's id"),
        (SimulateClearing, "amount", "The amount to clear, in minor units"),
        (SimulateRefund, "amount", "The amount refunded, in minor units"),
    ],
    ids=["below the member", "below the base's", "below the first of its name", "of the base", "of the subclass"],
)
def test_a_member_with_several_descriptions_is_documented_with_the_most_specific_description(
    model: type[Request], member: str, expected: str
) -> None:
    assert sentence(model, member) == expected


@pytest.mark.parametrize(
    ("member", "value"), [("count", MOST_COUNT), ("amount", MOST_AMOUNT), ("country_count", MOST_COUNTRIES)]
)
def test_the_description_of_a_limit_remainder_states_the_value_for_unlimited(member: str, value: int) -> None:
    assert f", or {value} if the " in sentence(model_of(LimitStatusRecord), member)


def test_a_member_without_a_description_is_refused() -> None:
    with pytest.raises(LookupError, match=r"portal_messages\.ListCards\.last_four has no docstring"):
        sentence(ListCards, "last_four")


# -- examples


@EACH
def test_request_examples_are_valid_by_model_and_schema(action: Action) -> None:
    named = content(operation(action)["requestBody"])["examples"]
    asked = content(operation(action)["requestBody"])["schema"]

    for name in (action.name, *examples.more_requests(action)):
        assert takes(action.request, named[name]["value"])
        assert fits(action, named[name]["value"])
        assert problems(asked, named[name]["value"]) == []


@EACH
def test_response_examples_are_valid_by_model_and_schema(action: Action) -> None:
    example = content(operation(action)["responses"]["200"])["examples"][action.name]["value"]
    answer, data = answer_of(action), example["data"]

    assert problems(schema(action, "Response"), example) == []
    for entry in data if isinstance(data, list) else [data]:
        assert answer is None or answer.read(entry)
    assert bool(data) is (answer is not None)


def test_examples_use_ids_of_the_demo_programme() -> None:
    catalogue = file.read_programmes(file.DEMO.read_text("utf-8"), "local")[0].catalogue
    programme = catalogue.card_programmes[shown(EVERY["createCard"])["card_program_id"]]
    kinds = {
        "fee_group": catalogue.fee_groups,
        "fees_group": catalogue.fee_groups,
        "limit_group": catalogue.limit_groups,
        "limits_group": catalogue.limit_groups,
        "usage_group": catalogue.usage_groups,
        "usages_group": catalogue.usage_groups,
        "risk_rule_group": catalogue.risk_groups,
        "risk_rules_group": catalogue.risk_groups,
        "design": catalogue.designs,
        "product": catalogue.products,
        "program": {**catalogue.card_programmes, **catalogue.account_programmes},
    }

    named = {
        (name, value)
        for action in EVERY.values()
        for name, value in shown(action).items()
        if name.endswith(("group_id", "design_id", "product_id", "program_id"))
    }
    for name, value in named:
        kind = next(each for each in sorted(kinds, key=len, reverse=True) if name.endswith(f"{each}_id"))
        assert value in kinds[kind], name
    card_number = answer_of(EVERY["getCardNumber"])
    assert card_number is not None
    assert programme.bin == example(card_number, "pan")[: len(programme.bin)]


# -- what is taken


@EACH
def test_the_schema_and_the_model_agree_on_whether_a_request_without_a_field_is_valid(action: Action) -> None:
    body = shown(action)

    for name in [name for name in body if name not in ENVELOPE]:
        less = {key: value for key, value in body.items() if key != name}
        assert fits(action, less) is takes(action.request, less), name
        assert fits(action, body | {name: None}) is takes(action.request, body | {name: None}), name


@EACH
def test_requests_with_unknown_members_are_invalid(action: Action) -> None:
    assert not fits(action, shown(action) | {"surprise": 1})


def without(body: Mapping[str, Any], *beginnings: str) -> dict[str, Any]:
    return {name: value for name, value in body.items() if not name.startswith(beginnings)}


CARD = shown(EVERY["createCard"])
BULK = {"bulk_address_line_1": "Dock 4", "bulk_country_ison": "276", "bulk_zipcode": "10115", "bulk_city": "Berlin"}
PHYSICAL = ("delivery_", "order_")
RULE = without(shown(EVERY["createCardAcsMerchantWhitelistRule"]), "mcc", "merchant_", "maximum_")


@pytest.mark.parametrize(
    ("name", "body", "right"),
    [
        ("createCard", without(CARD, *PHYSICAL), False),
        ("createCard", without(CARD, *PHYSICAL) | {"card_virtual": "1"}, True),
        ("createCard", CARD | {"order_delivery_code": "X1"}, False),
        ("createCard", CARD | {"order_delivery_code": "X1"} | BULK, True),
        ("createCard", without(CARD, "delivery_") | {"card_virtual": 1, "order_delivery_code": "X1"}, True),
        ("createCard", without(CARD, "holder_"), False),
        ("createCard", without(CARD, "holder_") | {"holder_id": 7}, True),
        ("createCard", CARD | {"holder_type": 1}, False),
        ("createCard", CARD | {"holder_type": 1, "holder_business_name": "Meadow Ltd"}, True),
        ("createCard", CARD | {"account_id": [25], "account_owner_id": [17]}, False),
        ("createCard", without(CARD, "card_currency") | {"account_id": [25], "account_owner_id": [17]}, True),
        ("createCard", without(CARD, "card_currency") | {"account_id": "25, 26", "account_owner_id": "17,17"}, True),
        ("createCard", without(CARD, "card_currency") | {"account_id": [25]}, False),
        ("createCard", CARD | {"account_id": [], "account_owner_id": ""}, True),
        ("createHolder", shown(EVERY["createHolder"]) | {"holder_type": "1"}, False),
        ("createHolder", shown(EVERY["createHolder"]) | {"holder_type": 1, "business_name": "Meadow Ltd"}, True),
        ("createCardAcsMerchantWhitelistRule", RULE, False),
        ("createCardAcsMerchantWhitelistRule", RULE | {"mcc": "5411"}, True),
        ("createCardAcsMerchantWhitelistRule", RULE | {"merchant_name": ["Corner Shop"]}, True),
        ("createCardAcsMerchantWhitelistRule", RULE | {"mcc": "5411", "maximum_amount": 100}, False),
    ],
)
def test_the_schema_and_the_model_agree_on_the_conditions_between_fields(name: str, body: Any, right: bool) -> None:
    action = EVERY[name]

    assert (fits(action, body), takes(action.request, body)) == (right, right)
