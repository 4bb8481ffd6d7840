"""Tests of storage faults at every call of every action: the response is correct or a retryable error.

No write is lost, duplicated or incomplete. If the request has a reference, a retry gets the correct response.
"""

from collections.abc import Mapping
from typing import Any

import pytest

from chalicelib.cards.protocol.status_codes import Refused, Status
from tests.cards.case import Case
from tests.cards.cases import CARD_CASES, warmed
from tests.cards.fault_runs import (
    MANNERS,
    MONEY,
    NETWORK,
    PROVING,
    WITH_REFERENCE,
    WITHOUT,
    CaseRun,
    EventRun,
    Targets,
    forget_process,
)
from tests.cards.issuer import MANAGER, Envelope, Issuer
from tests.causeway import Causeway
from tests.kit.source_code import within
from tests.openbanking.call_sites import CARDS, STORE, call_sites
from tests.openbanking.faults import Fault

pytestmark = pytest.mark.faults

TARGETS = Targets()
_COLD = (
    "createAccount for a new holder",
    "createCard for a holder",
    "createCard on an account",
    "reissueCard with a new number",
    "createCardAcsMerchantWhitelistRule",
    "getCvc2",
    "simulateAuthentication",
)


@pytest.fixture
def issuer(causeway: Causeway, monkeypatch: pytest.MonkeyPatch) -> Issuer:
    monkeypatch.setattr(causeway.hub.store, "pause", lambda seconds: None)
    monkeypatch.setattr("chalicelib.foundation.parallel.WIDTH", 1)  # calls are made one after the other
    return Issuer(causeway)


@pytest.mark.parametrize("manner", MANNERS)
@pytest.mark.parametrize("case", CARD_CASES, ids=str)
def test_a_storage_fault_neither_loses_nor_duplicates_a_write(issuer: Issuer, case: Case, manner: str) -> None:
    TARGETS.run(f"{case} {manner}", CaseRun(issuer, case, manner), issuer.causeway)


@pytest.mark.parametrize("manner", MANNERS)
@pytest.mark.parametrize("case", [case for case in CARD_CASES if str(case) in _COLD], ids=str)
def test_a_storage_fault_in_a_new_process_neither_loses_nor_duplicates_a_write(
    issuer: Issuer, case: Case, manner: str
) -> None:
    TARGETS.run(f"cold {case} {manner}", CaseRun(issuer, case, manner, cold=True), issuer.causeway)


def test_a_storage_fault_in_a_multi_batch_read_neither_loses_nor_duplicates_a_write(
    issuer: Issuer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chalicelib.cards.requests.request_context.MOST_TOGETHER", 1)
    (case,) = (case for case in CARD_CASES if case.name == "createCard on an account")
    TARGETS.run("read in pieces", CaseRun(issuer, case, WITHOUT), issuer.causeway)


class CredentialsRun:
    """A run that reads a manager's credentials with an empty cache. The result is the correct list or an error."""

    def __init__(self, issuer: Issuer) -> None:
        self._causeway = warmed(issuer).causeway
        self.untouched = Fault(self._causeway)
        with self.untouched:
            self._seen = self._list()
        assert self._seen["data"]

    def with_fault(self, fault: Fault) -> None:
        with fault:
            if not fault.lasting:
                assert self._list() == self._seen
                return
            with pytest.raises(Refused) as refusal:
                self._list()
        assert refusal.value.status is Status.INTERNAL

    def _list(self) -> Mapping[str, Any]:
        forget_process(self._causeway)
        return self._causeway.hub.cards.portal.read(MANAGER, "listCredentials")


def test_a_storage_fault_never_changes_the_list_of_credentials(issuer: Issuer) -> None:
    TARGETS.run("credentials", CredentialsRun(issuer), issuer.causeway)


class UnansweredRun(CaseRun):
    """A run of a case in which storage applies the transaction but never responds."""

    def _do(self) -> Envelope:
        with Fault(self._causeway, "after", 1, lasting=True, operation="TransactWriteItems"):
            return super()._do()


@pytest.mark.parametrize("manner", [WITHOUT, WITH_REFERENCE])
def test_a_storage_fault_after_an_unanswered_write_neither_loses_nor_duplicates_the_write(
    issuer: Issuer, manner: str
) -> None:
    (case,) = (case for case in CARD_CASES if case.name == "changeAccountStatus")
    TARGETS.run(f"unanswered {manner}", UnansweredRun(issuer, case, manner), issuer.causeway)


def test_an_event_is_written_once_with_the_change_and_delivered_despite_storage_faults(issuer: Issuer) -> None:
    with issuer.causeway.manager_wants_events():
        TARGETS.run("event", EventRun(issuer), issuer.causeway)


def test_every_fault_was_injected_at_every_storage_call_of_the_card_api() -> None:
    """Payments, network messages and the rolling ledger check have separate tests."""
    if len(TARGETS.runs) < len(MANNERS) * (len(CARD_CASES) + len(_COLD)) + 5:
        pytest.skip("not every case ran here")

    elsewhere = (*MONEY, *NETWORK, PROVING)
    missed = TARGETS.missed(site for site in call_sites(STORE, (CARDS,)) if not within(site.module, *elsewhere))
    assert missed == [], "\n".join(missed)
