"""The members that decide whether an entry is usable."""

from typing import Any

import pytest

from chalicelib.foundation.fields.field_types import Message, OpenMessage
from chalicelib.foundation.fields.problems import InvalidMessage, Problem
from chalicelib.openbanking.protocol.bank_identifiers import BankId, BankNumber
from chalicelib.openbanking.protocol.fields import AN, N
from chalicelib.openbanking.unified.validated_members import validated_model


class Party(OpenMessage):
    name: AN[5]
    party_id: BankId[20] | None = None
    place: AN[5] | None = None


class Amount(OpenMessage):
    value: N[5]
    day: AN[10] | None = None


class Entry(OpenMessage):
    amount: Amount
    id: BankId[20] | None = None
    number: BankNumber[20] | None = None
    parties: list[Party] | None = None
    remark: AN[5] | None = None
    fee: Amount | None = None


USABLE: dict[str, Any] = {"amount": {"value": "1", "day": "2026-01-31"}, "parties": [{"name": "Ada", "party_id": "7"}]}
FAULTS: dict[str, dict[str, Any]] = {
    "no mandatory object": {"amount": None},
    "no mandatory member": {"amount": {}},
    "several faults": {"amount": {"value": []}, "id": "x" * 300, "parties": [{"name": "Ada", "party_id": "\n"}]},
    "an identifier that no request could contain": {"id": "x" * 300},
    "a number that no request could contain": {"number": "1" * 300},
    "an identifier within an optional list": {"parties": [{"name": "Ada"}, {"name": "Ada", "party_id": "x" * 300}]},
    "an identifier beside a missing mandatory member": {"parties": [{"party_id": "x" * 300}]},
}
HARMLESS: dict[str, dict[str, Any]] = {
    "no fault": {},
    "an identifier longer than specified": {"id": "x" * 21},
    "an optional member": {"remark": [7]},
    "an optional object": {"fee": {"value": []}},
    "a member of an optional list": {"parties": [{"name": 7, "place": []}]},
    "no list": {"parties": "Ada"},
    "an undeclared member": {"more": [7]},
}


def fatal_problems(model: type[Message], entry: dict[str, Any]) -> list[Problem]:
    try:
        model.read(entry, most=None)
    except InvalidMessage as error:
        return [problem for problem in error.problems if problem.is_fatal]
    return []


@pytest.mark.parametrize("fault", FAULTS)
def test_validated_members_have_the_fatal_problems_of_the_whole_model(fault: str) -> None:
    entry = USABLE | FAULTS[fault]
    found = fatal_problems(validated_model(Entry), entry)

    assert found == fatal_problems(Entry, entry)
    assert found


@pytest.mark.parametrize("fault", HARMLESS)
def test_validated_members_have_no_fatal_problem_if_the_whole_model_has_none(fault: str) -> None:
    entry = USABLE | HARMLESS[fault]

    assert fatal_problems(validated_model(Entry), entry) == fatal_problems(Entry, entry) == []


def test_validated_members_are_mandatory_members_and_those_with_identifiers() -> None:
    assert set(validated_model(Entry).model_fields) == {"amount", "id", "number", "parties"}
    assert set(validated_model(Amount).model_fields) == {"value"}
