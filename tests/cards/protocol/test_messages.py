"""Tests that compare every field of every request with the specification's tables, without storage."""

from itertools import pairwise
from typing import Any

import pytest

from chalicelib.foundation import jsontext
from infra.render.openapi.cards.answer_models import answer_of
from tests.cards import field_values, whole_requests
from tests.cards.action_checks import read, refusal, refusal_if_any
from tests.cards.field_values import MISSING, UNKNOWN
from tests.cards.specification import TABLES
from tests.cards.whole_requests import BY_ACTION, EVERY_ACTION, Members

EVERY_WITH_MEMBERS = pytest.mark.parametrize("action", [action for action in BY_ACTION if TABLES[action].request])
EVERY = pytest.mark.parametrize("action", BY_ACTION)


PAIRED = ("holder_id", "account_id", "maximum_amount")
"""Optional fields that exclude or require a different field."""


def with_member(action: str, name: str) -> Members:
    found: Members = next(each for each in whole_requests.whole(action) if name in each)
    return found


def as_sent(value: Any) -> Any:
    return jsontext.loads(jsontext.dumps(value))


# -- the tables


def test_every_action_has_a_specification_table_and_complete_example_requests() -> None:
    assert set(TABLES) == set(EVERY_ACTION) == set(EVERY_ACTION)


@EVERY
def test_a_request_has_exactly_the_members_of_its_table(action: str) -> None:
    table, fields = TABLES[action].request, EVERY_ACTION[action].request.model_fields

    assert set(fields) == set(table)
    assert {name for name, each in fields.items() if each.is_required()} == {
        name for name, member in table.items() if member.mandatory
    }


@EVERY
def test_a_response_has_the_members_of_its_table(action: str) -> None:
    model = answer_of(EVERY_ACTION[action])
    fields = model.model_fields if model else {}
    table = TABLES[action].answer

    assert set(fields) == set(table)
    assert {name for name, each in fields.items() if each.is_required()} == {
        name for name, member in table.items() if member.mandatory
    }


@EVERY
def test_the_example_requests_of_an_action_contain_every_member_of_its_table(action: str) -> None:
    requests = whole_requests.whole(action)

    assert set().union(*requests) == set(TABLES[action].request)
    for each in requests:
        read(action, each)


@EVERY
def test_a_request_with_the_required_members_only_is_accepted(action: str) -> None:
    least = whole_requests.least(action)

    assert set(least) >= {name for name, member in TABLES[action].request.items() if member.mandatory}
    read(action, least)


# -- each member by itself


@EVERY_WITH_MEMBERS
def test_a_member_accepts_every_valid_value(action: str, subtests: pytest.Subtests) -> None:
    for name in TABLES[action].request:
        with subtests.test(name):
            member = TABLES[action].request[name]
            whole = with_member(action, name)
            for label, (value, meant) in field_values.taken(member).items():
                found = read(action, whole | _beside(name, meant) | {name: as_sent(value)})
                assert getattr(found, name) == meant, label


@EVERY_WITH_MEMBERS
def test_a_member_rejects_invalid_values_and_the_error_does_not_quote_the_value(
    action: str, subtests: pytest.Subtests
) -> None:
    for name in TABLES[action].request:
        with subtests.test(name):
            member = TABLES[action].request[name]
            whole = with_member(action, name)
            wrong = []
            for value, expected in field_values.refused(member):
                sent = whole | {name: as_sent(value)}
                code, message = refusal_if_any(action, sent)
                if code != expected or name not in message:
                    wrong.append((value, expected, code, message[:120]))
                elif len(str(value)) > 4:
                    assert str(value) not in message, "a message never quotes a value"
            assert not wrong


@EVERY_WITH_MEMBERS
def test_a_missing_or_null_mandatory_member_is_named_in_the_error(action: str, subtests: pytest.Subtests) -> None:
    for name in TABLES[action].request:
        with subtests.test(name):
            member, whole = TABLES[action].request[name], with_member(action, name)
            absent, null = ({key: value for key, value in whole.items() if key != name}, whole | {name: None})
            if member.mandatory:
                for sent in (absent, null):
                    code, message = refusal(action, sent)
                    assert (code, name in message) == (MISSING, True)
            else:
                assert refusal_if_any(action, absent) == refusal_if_any(action, null)
                assert member.requirement == "C" or name in PAIRED or refusal_if_any(action, absent)[0] is None


@EVERY
def test_an_unknown_member_of_any_value_is_rejected_by_name(action: str) -> None:
    value: Any
    for value in ("x", 7, None, [], {}, True):
        code, message = refusal(action, whole_requests.least(action) | {"colour_of_hair": value})
        assert (code, "colour_of_hair" in message) == (UNKNOWN, True)


@EVERY
def test_every_action_accepts_the_members_of_the_envelope_and_an_access_level(action: str) -> None:
    envelope = {
        "access_key": "a",
        "access_api_id": "b",
        "access_api_key": "c",
        "action": action,
        "api_version": "1.2",
        "request_reference_id": "reference-000001",
    }

    found = read(action, {**envelope, **whole_requests.least(action), "access_level": "0007"})

    assert found.access_level == 7


@EVERY
def test_the_error_message_names_every_invalid_field(action: str) -> None:
    wrong: Members = {name: {} for name in TABLES[action].request}
    if action in ("createAccount", "createCard"):
        del wrong["holder_id"]  # beside it the block is not looked at

    _, message = refusal(action, wrong | {"colour_of_hair": 1})

    untold = {name for name in [*wrong, "colour_of_hair"] if name not in message}
    assert untold == set()


@EVERY
def test_the_first_invalid_field_in_table_order_determines_the_code(action: str) -> None:
    names = [name for name in TABLES[action].request if TABLES[action].request[name].mandatory]
    whole = whole_requests.whole(action)[0]
    for first, second in pairwise(names):
        missing = {key: value for key, value in whole.items() if key != first}
        mistyped = {**whole, first: {}}
        later = refusal(action, mistyped | {second: None})
        earlier = refusal(action, missing | {second: {}})
        assert earlier[0] == MISSING
        assert later[0] == field_values.TYPE
        assert earlier[1].index(first) < earlier[1].index(second)


@pytest.mark.parametrize(
    ("action", "first", "second"),
    [
        ("updateHolder", "title", "country_ison"),
        ("assignExternalPaymentAddress", "epm_method_id", "card_id"),
        ("assignExternalPaymentAddressForSpecialAccount", "epm_method_id", "account_name"),
        ("simulateAuthorization", "mcc", "pin"),
        ("simulateRefund", "trans_link", "amount"),
    ],
)
def test_an_error_message_lists_inherited_members_in_table_order(action: str, first: str, second: str) -> None:
    _, message = refusal(action, {name: {} for name in TABLES[action].request})

    assert message.index(f"{first} ") < message.index(f"{second} ")


# -- inside


def _beside(name: str, meant: Any) -> Members:
    """Return the changes to a complete request that a value of the member requires."""
    if name == "account_id" and type(meant) is tuple:
        return {"account_owner_id": [5] * len(meant)}
    if name == "account_id" and meant is None:
        return {"account_owner_id": None}
    if name == "account_owner_id":
        return {"account_id": list(range(1, 1 + len(meant)))} if meant else {"account_id": None}
    return {"track_data_first_name": None, "track_data_last_name": None} if name.startswith("track_data_") else {}
