"""Every action once with all that it takes and once with the least, and its answer held against the table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_type_hints

import pytest

from chalicelib.cards.actions import SIMULATOR_ACTIONS
from chalicelib.foundation.jsontext import Number
from infra.openapi.cards.answer_models import answer_of
from tests.cards import whole_requests
from tests.cards.members import Member
from tests.cards.money_specification import BANK_ACCOUNTS
from tests.cards.scenes import Envelope, Scene
from tests.cards.specification import TABLES
from tests.cards.whole_requests import BY_ACTION, EVERY_ACTION, Cast, Members

EVERY = pytest.mark.parametrize("action", BY_ACTION)
FRACTIONS = ("PERCENT", "RATE")
TEXTS = ("A", "AN", "ANS", "AS", "DATE", "DIGITS")
NULL = {("getAccounts", "limit_group_id"), ("getHolderAccounts", "limit_group_id")}
"""What is null when there is none; whatever else has no value is left out."""
OF_NOBODY = {
    "assignExternalPaymentAddressForSpecialAccount": {"holder_id"},
    "simulateInboundPayment": {"reason"},
    "simulateDirectDebit": {"reason"},
}
"""What no answer here has: a special account is no holder's, and what succeeds has no reason not to."""


def call(scene: Scene, action: str, members: Members) -> Envelope:
    return (scene.sim if action in SIMULATOR_ACTIONS else scene.do)(action, **members)


def rows(action: str, answer: Envelope) -> list[Mapping[str, Any]]:
    """The objects in an answer's data, after a look at the shape that they come in."""
    shape, paged, data = EVERY_ACTION[action].shape, EVERY_ACTION[action].paged, answer.data
    assert answer.status == "success", answer.raw
    beside = ({"id"} if shape == "id" else set()) | ({"paginator"} if paged else set())
    beside |= {"has_more_records"} if EVERY_ACTION[action].continued else set()
    assert set(answer.members) == {"status", "duplicated", "data"} | beside
    assert not paged or answer.members["paginator"] == {"total_items_count": len(data)}
    assert answer.members.get("has_more_records", "N") == "N"
    assert answer.duplicated == 0
    if shape in ("empty", "id"):
        assert data == []
        return []
    if shape == "empty object":
        assert data == {}
        return []
    assert type(data) is (list if shape == "list" else dict)
    return list(data) if shape == "list" else [data]


def check(action: str, row: Mapping[str, Any]) -> None:
    """One object of an answer against the action's table and model."""
    table = TABLES[action].answer
    assert set(row) <= set(table)
    assert {name for name, member in table.items() if member.mandatory} <= set(row)
    for name, value in row.items():
        if value is None:
            assert (action, name) in NULL
        else:
            assert type(value) in _types(table[name]), f"{name} is {value!r}"
    model = answer_of(EVERY_ACTION[action])
    assert model is not None
    model.model_validate(row)
    check_bank_accounts(row)


def check_bank_accounts(row: Mapping[str, Any]) -> None:
    """The bank accounts between which money goes; a table of answers has their members as requests have theirs."""
    sides = {"source": BANK_ACCOUNTS.request, "destination": BANK_ACCOUNTS.answer}
    for side, table in sides.items():
        for account in row.get(f"{side}_bank_account_address", ()):
            assert {name for name, member in table.items() if member.mandatory} <= set(account) <= set(table)
            assert all(type(value) in _types(table[name]) for name, value in account.items())


def _types(member: Member) -> tuple[type, ...]:
    if member.type in TEXTS:
        return (str,)
    return {"LIST": (list,), "OBJ": (dict,)}.get(member.type, (int, Number) if member.type in FRACTIONS else (int,))


def test_what_ends_a_late_request_takes_and_answers_the_same() -> None:
    for action in EVERY_ACTION.values():
        if action.late is not None:
            assert get_type_hints(action.late) == get_type_hints(action.handler)


@EVERY
def test_an_action_takes_every_member_and_answers_every_member(stage: Scene, action: str) -> None:
    answered: set[str] = set()

    for n in range(len(whole_requests.whole(action))):
        members = whole_requests.whole(action, whole_requests.cast(stage, action))[n]
        for row in rows(action, call(stage, action, members)):
            check(action, row)
            answered |= set(row)

    assert answered == set(TABLES[action].answer) - OF_NOBODY.get(action, set())


@EVERY
def test_an_action_takes_its_least(stage: Scene, action: str) -> None:
    cast: Cast = whole_requests.cast(stage, action)

    for row in rows(action, call(stage, action, whole_requests.least(action, cast))):
        check(action, row)


@EVERY
def test_an_action_takes_numbers_in_words(stage: Scene, action: str) -> None:
    """A digit string stands for every number, and an ISO code may have its leading zeros."""
    cast = whole_requests.cast(stage, action)
    members = whole_requests.whole(action, cast)[0]
    in_words = {name: _in_words(TABLES[action].request[name], value) for name, value in members.items()}

    for row in rows(action, call(stage, action, in_words)):
        check(action, row)


def _in_words(member: Member, value: Any) -> Any:
    if isinstance(value, list):
        return ",".join(map(str, value)) if member.type.startswith("EXT-LIST") else value
    if isinstance(value, dict):
        return {name: str(inner) for name, inner in value.items()}
    return f"{value:03}" if member.type in ("CURRENCY", "COUNTRY") else str(value)


@EVERY
def test_the_same_request_without_a_reference_is_carried_out_each_time(stage: Scene, action: str) -> None:
    """Nothing is deduplicated: where a second one is refused, it is for what the first has done."""
    members = whole_requests.whole(action, whole_requests.cast(stage, action))[0]
    expected = {
        "activateCard": 4006,
        "unblockPin": 4007,
        "authenticationConfirm": 4008,
        "createCardAcsMerchantWhitelistRule": 2005,
        "cancelExternalPaymentMandate": 4005,
        "inboundReturn": 4004,
        "directDebitReturn": 4004,
        "directCreditReturn": 4004,
        "simulateExpiry": 4008,
        "simulateDispute": 4008,
    }

    first, second = (call(stage, action, members) for _ in range(2))

    assert (first.status_code, second.status_code) == (None, expected.get(action))
    assert second.duplicated == 0
    if action.startswith("create") and second.status_code is None:
        assert (first.id, first.data) != (second.id, second.data)
