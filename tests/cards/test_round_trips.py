"""Tests of the DynamoDB round trips of each card API and simulator action in a running process."""

from collections.abc import Iterator
from typing import get_args

import pytest

from chalicelib.cards.storage.sequences import Name
from tests.cards.case import EVERY_ACTION, Case, in_order
from tests.cards.cases import CASES, warmed
from tests.cards.issuer import EVERYDAY, Issuer
from tests.causeway import Causeway
from tests.kit.storage import record_calls

ENOUGH = 30


@pytest.fixture(scope="module")
def running(shared_causeway: Causeway) -> Iterator[Issuer]:
    causeway = shared_causeway.again()
    with causeway.installed():
        yield warmed(Issuer(causeway))


@pytest.fixture
def issuer(running: Issuer) -> Issuer:
    """Return a process with fresh caches and enough identifiers for the next case."""
    running.data("getDesign", program_id=EVERYDAY)
    sequences = running.hub.cards.sequences
    for name in get_args(Name):
        if len(sequences.left[name]) < ENOUGH:
            sequences.fill_up(name)
    return running


def test_the_test_cases_cover_every_action() -> None:
    assert {case.action.name for case in CASES} == EVERY_ACTION.keys()


@pytest.mark.parametrize("case", CASES, ids=str)
def test_an_action_makes_the_expected_round_trips(issuer: Issuer, case: Case) -> None:
    members = case.members(issuer)
    with record_calls(issuer.causeway) as calls:
        case.do(issuer, **members)

    assert in_order(calls) == in_order(case.calls)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_an_action_with_a_reference_and_the_retry_of_that_action_make_the_expected_round_trips(
    issuer: Issuer, case: Case
) -> None:
    members = case.members(issuer) | {"request_reference_id": issuer.reference()}
    seen, answers = [], []
    for _ in range(2):
        with record_calls(issuer.causeway) as calls:
            answers.append(case.do(issuer, **members))
        seen.append(in_order(calls))

    assert seen == [in_order(case.calls_with_reference), in_order(case.calls_of_repeat)]
    assert [answer.duplicated for answer in answers] == [0, 1]
