"""Every field of every request, held against the specification's tables; nothing here needs storage."""

from __future__ import annotations

from typing import Any

import pytest

from chalicelib.cards.protocol.message import Excludes, Needs, NeedsOne
from chalicelib.cards.protocol.status_codes import Refused
from chalicelib.foundation import jsontext
from tests.cards import field_values, whole_requests
from tests.cards.field_values import EXCLUDED, MISSING, REQUIRED, UNKNOWN
from tests.cards.specification import TABLES, Member
from tests.cards.whole_requests import BY_ACTION, EVERY_ACTION, Members

MEMBERS = [(action, name) for action in BY_ACTION for name in TABLES[action].request]
EVERY_MEMBER = pytest.mark.parametrize(("action", "name"), MEMBERS, ids=[f"{one}-{two}" for one, two in MEMBERS])
EVERY = pytest.mark.parametrize("action", BY_ACTION)


def read(action: str, members: Members) -> Any:
    return EVERY_ACTION[action].request.read_fields(members)


def refusal(action: str, members: Members) -> tuple[int, str]:
    """The code and the message that a request is refused with."""
    with pytest.raises(Refused) as refused:
        read(action, members)
    return int(refused.value.status), refused.value.message


def with_member(action: str, name: str) -> Members:
    """A whole request in which the member is looked at."""
    found: Members = next(each for each in whole_requests.whole(action) if name in each)
    return found


def as_sent(value: Any) -> Any:
    """A value as it comes out of a body."""
    return jsontext.loads(jsontext.dumps(value))


# -- the tables


def test_every_action_has_a_table_and_whole_requests() -> None:
    assert set(TABLES) == set(EVERY_ACTION) == set(whole_requests._WHOLE)


@EVERY
def test_a_request_has_exactly_the_members_of_its_table(action: str) -> None:
    table, fields = TABLES[action].request, EVERY_ACTION[action].request.model_fields

    assert set(fields) == set(table)
    assert {name for name, each in fields.items() if each.is_required()} == {
        name for name, member in table.items() if member.mandatory
    }


@EVERY
def test_an_answer_has_the_members_of_its_table(action: str) -> None:
    model = EVERY_ACTION[action].answer
    fields = model.model_fields if model else {}
    table = TABLES[action].answer

    assert set(fields) == set(table)
    assert {name for name, each in fields.items() if each.is_required()} == {
        name for name, member in table.items() if member.mandatory
    }


@EVERY
def test_the_whole_requests_have_every_member_between_them(action: str) -> None:
    requests = whole_requests.whole(action)

    assert set().union(*requests) == set(TABLES[action].request)
    for each in requests:
        read(action, each)


@EVERY
def test_the_least_request_is_enough(action: str) -> None:
    least = whole_requests.least(action)

    assert set(least) >= {name for name, member in TABLES[action].request.items() if member.mandatory}
    read(action, least)


# -- each member by itself


@EVERY_MEMBER
def test_a_member_takes_what_it_may_be(action: str, name: str) -> None:
    member = TABLES[action].request[name]
    whole = with_member(action, name)

    for label, (value, meant) in field_values.taken(member).items():
        found = read(action, whole | _beside(name, meant) | {name: as_sent(value)})
        assert getattr(found, name) == meant, label


@EVERY_MEMBER
def test_a_member_refuses_everything_else_and_tells_nothing_of_it(action: str, name: str) -> None:
    member = TABLES[action].request[name]
    whole = with_member(action, name)
    wrong = []

    for value, expected in field_values.refused(member):
        sent = whole | {name: as_sent(value)}
        code, message = _refusal_if_any(action, sent)
        if code != expected or name not in message:
            wrong.append((value, expected, code, message[:120]))
        elif len(str(value)) > 4:
            assert str(value) not in message, "a message never quotes a value"
    assert not wrong


@EVERY_MEMBER
def test_a_missing_member_is_told_and_null_is_as_good_as_absent(action: str, name: str) -> None:
    member, whole = TABLES[action].request[name], with_member(action, name)
    absent, null = ({key: value for key, value in whole.items() if key != name}, whole | {name: None})

    if member.mandatory:
        for sent in (absent, null):
            code, message = refusal(action, sent)
            assert (code, name in message) == (MISSING, True)
    else:
        assert _refusal_if_any(action, absent) == _refusal_if_any(action, null)
        assert member.requirement == "C" or name in PAIRED or _refusal_if_any(action, absent)[0] is None


@EVERY
def test_an_unknown_member_is_told_whatever_it_is(action: str) -> None:
    for value in ("x", 7, None, [], {}, True):
        code, message = refusal(action, whole_requests.least(action) | {"colour_of_hair": value})
        assert (code, "colour_of_hair" in message) == (UNKNOWN, True)


@EVERY
def test_members_of_the_envelope_and_a_level_are_known_to_every_action(action: str) -> None:
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
def test_every_faulty_field_is_told_in_one_message(action: str) -> None:
    wrong: Members = {name: {} for name in TABLES[action].request}
    if action in ("createAccount", "createCard"):
        del wrong["holder_id"]  # beside it the block is not looked at

    _, message = refusal(action, wrong | {"colour_of_hair": 1})

    untold = {name for name in [*wrong, "colour_of_hair"] if name not in message}
    assert untold == set()


@EVERY
def test_the_first_fault_in_the_order_of_the_table_gives_the_code(action: str) -> None:
    names = [name for name in TABLES[action].request if TABLES[action].request[name].mandatory]
    whole = whole_requests.whole(action)[0]
    for first, second in zip(names, names[1:], strict=False):
        missing = {key: value for key, value in whole.items() if key != first}
        mistyped = {**whole, first: {}}
        later = refusal(action, mistyped | {second: None})
        earlier = refusal(action, missing | {second: {}})
        assert earlier[0] == MISSING
        assert later[0] == field_values.TYPE
        assert earlier[1].index(first) < earlier[1].index(second)


# -- conditions


CONDITIONS = [(action, condition) for action in BY_ACTION for condition in EVERY_ACTION[action].request.conditions]


@pytest.mark.parametrize(("action", "condition"), CONDITIONS, ids=str)
def test_a_condition_between_fields_is_kept(action: str, condition: Needs | NeedsOne | Excludes) -> None:
    """Each is broken by itself; that it is the right one the tests below say."""
    whole = whole_requests.whole(action)[0]
    if isinstance(condition, Excludes):
        both = whole | {condition.other: 1, condition.field: 978}
        code, message = refusal(action, both)
        assert (code, condition.field in message) == (EXCLUDED, True)
        return
    if isinstance(condition, NeedsOne):
        code, message = refusal(action, {key: value for key, value in whole.items() if key not in condition.fields})
        assert (code, all(name in message for name in condition.fields)) == (REQUIRED, True)
        return
    whole |= {"account_id": [1], "card_currency_ison": None} if condition.fields == ("account_owner_id",) else {}
    for name in condition.fields:
        code, message = refusal(action, {key: value for key, value in whole.items() if key != name})
        assert (code, name in message) == (REQUIRED, True)


PAIRED = ("holder_id", "maximum_amount")
"""Optional fields in whose place there has to be something else, or which something else needs."""


def conditional(action: str) -> set[str]:
    return {name for name, member in TABLES[action].request.items() if member.requirement == "C"}


CHECKED_LATER = {
    "reissueCard": {
        "card_program_id",
        *(name for name in TABLES["reissueCard"].request if name.startswith("delivery_")),
    }
    | {"order_shipping_method"},
    "updateHolder": {"business_name"},
}
"""Conditional fields whose condition is what is stored."""


@EVERY
def test_every_conditional_field_has_its_condition(action: str) -> None:
    named = set()
    for condition in EVERY_ACTION[action].request.conditions:
        named |= set(condition.fields) if not isinstance(condition, Excludes) else {condition.field, condition.other}

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
    """The fields that a request is told to need."""
    code, message = _refusal_if_any(action, members)
    assert code in (None, REQUIRED), message
    return {name for name in TABLES[action].request if f"{name} is required" in message}


@pytest.mark.parametrize("action", ["createAccount", "createCard"])
def test_a_new_holder_is_described(action: str) -> None:
    whole = whole_requests.whole(action)[0]
    bare = {name: value for name, value in whole.items() if not name.startswith(("holder_", "kyc_"))}

    assert required(action, bare) == set(HOLDER_NEEDS)
    assert required(action, bare | {"holder_type": 0}) == set(HOLDER_NEEDS)
    assert required(action, bare | {"holder_type": "1"}) == {*HOLDER_NEEDS, "holder_business_name"}
    assert required(action, bare | {"holder_id": 5, "holder_type": 1}) == set()


@pytest.mark.parametrize("virtual", [0, "0", 1, "1"])
def test_a_physical_card_is_sent_somewhere_and_a_virtual_one_nowhere(virtual: Any) -> None:
    whole = whole_requests.whole("createCard")[0] | {"card_virtual": virtual}
    bare = {name: value for name, value in whole.items() if not name.startswith(("delivery_", "order_", "bulk_"))}

    assert required("createCard", bare) == (set() if int(virtual) else set(DELIVERY_NEEDS))
    bulk = bare | {"order_delivery_code": "BULK7"}
    assert required("createCard", bulk) == (set() if int(virtual) else {*DELIVERY_NEEDS, *BULK_NEEDS})


def test_a_bulk_order_says_where_to() -> None:
    whole = whole_requests.whole("reissueCard")[0]
    bare = {name: value for name, value in whole.items() if not name.startswith(("order_delivery_code", "bulk_"))}

    assert required("reissueCard", bare) == set()
    assert required("reissueCard", bare | {"order_delivery_code": "BULK7"}) == set(BULK_NEEDS)
    assert required("reissueCard", bare | {"order_delivery_code": "BULK7", "virtual": 1}) == set()


@pytest.mark.parametrize("action", ["createHolder"])
def test_a_business_has_a_name(action: str) -> None:
    whole = {name: value for name, value in whole_requests.whole(action)[0].items() if name != "business_name"}

    assert required(action, whole | {"holder_type": 1}) == {"business_name"}
    assert required(action, whole | {"holder_type": 0}) == set()
    assert required(action, whole | {"holder_type": None}) == set()


def test_currencies_exclude_accounts_and_empty_ones_do_not() -> None:
    virtual = whole_requests.whole("createCard")[1]

    assert refusal("createCard", virtual | {"card_currency_ison": 978})[0] == EXCLUDED
    for empty in ("", [], None, "  "):
        assert read("createCard", virtual | {"card_currency_ison": empty}).card_currency_ison is None


def test_owners_are_as_many_as_accounts_and_one_may_own_several() -> None:
    virtual = whole_requests.whole("createCard")[1]

    found = read("createCard", virtual | {"account_id": "7,8", "account_owner_id": [5, "5"]})
    assert (found.account_id, found.account_owner_id) == ((7, 8), (5, 5))
    for owners in ([5], "5,5,5"):
        code, message = refusal("createCard", virtual | {"account_id": "7,8", "account_owner_id": owners})
        assert (code, "account_owner_id" in message) == (field_values.LENGTH, True)


@pytest.mark.parametrize("action", ["createCard", "reissueCard"])
def test_track_data_names_have_26_characters_together(action: str) -> None:
    whole = whole_requests.whole(action)[0]
    names = ("track_data_first_name", "track_data_last_name")

    assert read(action, whole | dict(zip(names, ("a" * 13, "b" * 13), strict=True)))
    assert read(action, whole | dict(zip(names, ("a" * 26, None), strict=True)))
    code, message = refusal(action, whole | dict(zip(names, ("a" * 13, "b" * 14), strict=True)))
    assert (code, all(name in message for name in names)) == (field_values.LENGTH, True)


@pytest.mark.parametrize("action", ["createCard", "reissueCard"])
def test_what_is_wrong_between_fields_is_told_with_the_rest(action: str) -> None:
    whole = whole_requests.whole(action)[0] | {"card_name_line_3": None, "track_data_first_name": "a" * 26}

    code, message = refusal(action, whole)

    assert code == MISSING
    assert "card_name_line_3" in message
    assert "track_data_first_name" in message


# -- what is ignored


def junk(action: str, *beginnings: str) -> Members:
    return {name: {"no": "value"} for name in TABLES[action].request if name.startswith(beginnings)}


@pytest.mark.parametrize("action", ["createAccount", "createCard"])
def test_the_holder_block_beside_a_holder_is_not_looked_at(action: str) -> None:
    whole = whole_requests.whole(action)[1]
    block = {name: value for name, value in junk(action, "holder_", "kyc_").items() if name != "holder_id"}

    found = read(action, whole | block)

    assert all(getattr(found, name) is None for name in block)


@pytest.mark.parametrize("virtual", [1, "1"])
@pytest.mark.parametrize(("action", "field"), [("createCard", "card_virtual"), ("reissueCard", "virtual")])
def test_the_delivery_block_and_the_pin_of_a_virtual_card_are_not_looked_at(
    action: str, field: str, virtual: Any
) -> None:
    whole = whole_requests.whole(action)[-1] | {field: virtual}
    ignored = junk(action, "delivery_", "order_", "bulk_", "card_pin")

    found = read(action, whole | ignored)

    assert all(getattr(found, name) is None for name in ignored)


@pytest.mark.parametrize("kept", [0, "0"])
def test_a_pin_without_a_new_one_is_not_looked_at(kept: Any) -> None:
    whole = whole_requests.whole("reissueCard")[0]

    assert read("reissueCard", whole | {"generate_new_pin": kept, "card_pin": [1]}).card_pin is None
    assert refusal("reissueCard", whole | {"generate_new_pin": 1, "card_pin": [1]})[0] == field_values.TYPE
    assert refusal("reissueCard", whole | {"generate_new_pin": None, "card_pin": [1]})[0] == field_values.TYPE


# -- inside


def _beside(name: str, meant: Any) -> Members:
    """What has to change in a whole request for a member to have a value."""
    if name == "account_id" and type(meant) is tuple:
        return {"account_owner_id": [5] * len(meant)}
    if name == "account_id" and meant is None:
        return {"account_owner_id": None}
    if name == "account_owner_id":
        return {"account_id": list(range(1, 1 + len(meant)))} if meant else {"account_id": None}
    return {"track_data_first_name": None, "track_data_last_name": None} if name.startswith("track_data_") else {}


def _refusal_if_any(action: str, members: Members) -> tuple[int | None, str]:
    try:
        read(action, members)
    except Refused as refused:
        return int(refused.status), refused.message
    return None, ""
