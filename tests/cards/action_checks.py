"""Helpers that call actions and compare the responses with the specification's tables."""

from collections.abc import Mapping
from typing import Any

import pytest

from chalicelib.cards.actions import SIMULATOR_ACTIONS
from chalicelib.cards.protocol.status_codes import Refused
from chalicelib.foundation.jsontext import Number
from infra.render.openapi.cards.answer_models import answer_of
from tests.cards import request_records, whole_requests
from tests.cards.issuer import Envelope, Issuer
from tests.cards.specification import DESTINATION_BANK_ACCOUNT, SOURCE_BANK_ACCOUNT, TABLES, Member
from tests.cards.whole_requests import EVERY_ACTION, Members

FRACTIONS = ("PERCENT", "RATE")

TEXTS = ("A", "AN", "ANS", "AS", "DATE", "DIGITS")

OK = 0
"""The value that represents a success in a table of states."""
NULL = {("getAccounts", "limit_group_id"), ("getHolderAccounts", "limit_group_id")}


def call(issuer: Issuer, action: str, members: Members) -> Envelope:
    return (issuer.sim if action in SIMULATOR_ACTIONS else issuer.do)(action, **members)


def rows(action: str, answer: Envelope) -> list[Mapping[str, Any]]:
    shape, paged, data = EVERY_ACTION[action].shape, EVERY_ACTION[action].is_paged, answer.data
    assert answer.status == "success", answer.raw
    beside = ({"id"} if shape == "id" else set()) | ({"paginator"} if paged else set())
    beside |= {"has_more_records"} if EVERY_ACTION[action].is_continued else set()
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
    rows = data if shape == "list" else [data]
    assert isinstance(rows, list)
    assert {type(row) for row in rows} <= {dict}
    return rows


def check(action: str, row: Mapping[str, Any]) -> None:
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
    sides = {"source": SOURCE_BANK_ACCOUNT, "destination": DESTINATION_BANK_ACCOUNT}
    for side, table in sides.items():
        for account in row.get(f"{side}_bank_account_address", ()):
            assert {name for name, member in table.items() if member.mandatory} <= set(account) <= set(table)
            assert all(type(value) in _types(table[name]) for name, value in account.items())


def _types(member: Member) -> tuple[type, ...]:
    if member.type in TEXTS:
        return (str,)
    return {"LIST": (list,), "OBJ": (dict,)}.get(member.type, (int, Number) if member.type in FRACTIONS else (int,))


def state_table(text: str) -> dict[str, dict[str, int]]:
    """Parse a table of status codes. Return the codes by row label and column name. ``ok`` means success."""
    columns, *lines = [line.split() for line in text.strip().splitlines()]
    codes = [(row, [OK if word == "ok" else int(word) for word in words]) for row, *words in lines]
    return {row: dict(zip(columns, values, strict=True)) for row, values in codes}


def is_repeat(first: Envelope, second: Envelope) -> bool:
    """Return whether two responses are identical except that ``duplicated`` changes from 0 to 1."""
    assert first.raw.count('"duplicated":0') == 1
    return second.raw == first.raw.replace('"duplicated":0', '"duplicated":1')


def request(issuer: Issuer, action: str) -> Members:
    made = request_records.create_records(issuer, action)
    return whole_requests.whole(action, made)[0] | {"request_reference_id": issuer.reference()}


def read(action: str, members: Members) -> Any:
    return EVERY_ACTION[action].request.read_fields(members)


def refusal(action: str, members: Members) -> tuple[int, str]:
    with pytest.raises(Refused) as refused:
        read(action, members)
    return int(refused.value.status), refused.value.message


def refusal_if_any(action: str, members: Members) -> tuple[int | None, str]:
    """Return the status code and the message of a rejection, or ``None`` and an empty text if the request is valid."""
    try:
        read(action, members)
    except Refused as refused:
        return int(refused.status), refused.message
    return None, ""
