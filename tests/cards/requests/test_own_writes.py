"""Tests of lost transaction responses: a request returns the response that it stored, or reports an unknown outcome."""

from unittest.mock import Mock, patch

import pytest

from chalicelib.foundation.dynamodb.store import AnswerLost
from tests.cards.case import WRITE, Case
from tests.cards.cases import CARD_CASES, warmed
from tests.cards.issuer import EUR, EVERYDAY_ACCOUNT, HOLDER_BLOCK, Issuer
from tests.causeway import Causeway
from tests.openbanking.faults import Fault, items

ACCOUNT = {"currency_ison": EUR, "account_status": "A", "program_id": EVERYDAY_ACCOUNT, "skip_holder_validation": 0}
WRITES = [case for case in CARD_CASES if case.writes and case.action.effect == "write"]


@pytest.fixture(autouse=True)
def _no_pauses(causeway: Causeway, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(causeway.hub.store, "pause", lambda seconds: None)


def all_answers_lost(causeway: Causeway, write: str) -> Fault:
    return Fault(causeway, "after", 1, lasting=True, operation=write)


@pytest.mark.parametrize("with_reference", [True, False])
@pytest.mark.parametrize("case", WRITES, ids=str)
def test_a_request_with_lost_storage_responses_returns_the_stored_response(
    new_issuer: Issuer, case: Case, with_reference: bool
) -> None:
    members = dict(case.members(warmed(new_issuer)))
    if with_reference:
        members["request_reference_id"] = new_issuer.reference()

    with all_answers_lost(new_issuer.causeway, WRITE if with_reference else case.write) as fault:
        answer = case.do(new_issuer, **members)

    assert fault.hit, "the transaction's response was lost"
    assert answer.status_code in (None, 6001, 6004), answer.raw
    if with_reference:
        assert case.do(new_issuer, **members).duplicated == 1


def test_the_outcome_of_a_write_is_unknown_if_the_write_and_the_check_time_out(new_issuer: Issuer) -> None:
    warmed(new_issuer)
    store = new_issuer.hub.store

    with pytest.MonkeyPatch.context() as patching:

        def lose(operations: object) -> None:
            patching.setattr(store, "batch_get", Mock(side_effect=AnswerLost("no answer came in time")))
            raise AnswerLost("no answer came in time")

        patching.setattr(store, "transact", lose)
        answer = new_issuer.do("createAccount", **ACCOUNT, **HOLDER_BLOCK)

    assert answer.status_code == 9001
    assert "it is not known whether the request was carried out" in answer.message


def test_an_unknown_outcome_returns_code_9001_without_stating_that_nothing_changed(new_issuer: Issuer) -> None:
    warmed(new_issuer)
    accounts = len(items(new_issuer.causeway, "cards"))

    with patch.object(new_issuer.hub.store, "transact", side_effect=AnswerLost("a transaction in progress")):
        answer = new_issuer.do("createAccount", **ACCOUNT, **HOLDER_BLOCK)

    assert answer.status_code == 9001
    assert "it is not known whether the request was carried out" in answer.message
    assert len(items(new_issuer.causeway, "cards")) == accounts
