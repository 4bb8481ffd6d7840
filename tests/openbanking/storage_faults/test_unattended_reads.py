"""Storage faults during unattended reads at a bank with a read limit.

The count equals the number of reads that the bank received, unless a storage response is lost permanently.
"""

from typing import Any

import pytest

from chalicelib.foundation.http.outbound import NotReached
from tests.causeway import Causeway
from tests.openbanking.accounts import LIMIT, Aisp, limit_reads
from tests.openbanking.fault_scenarios import Run, completed, lose_first_transaction, records, refused, scenario
from tests.openbanking.faults import Fault
from tests.openbanking.kit import IBAN, LATER

pytestmark = pytest.mark.faults

QUERIES: dict[str, dict[str, Any]] = {"one name": {"iban": IBAN}, "two names": {"iban": IBAN, "account_id": "77"}}


def aisp_of(causeway: Causeway) -> Aisp:
    limit_reads(causeway, 1)
    return Aisp(causeway, 1)


@scenario(*QUERIES)
def read_an_account_unattended_by(causeway: Causeway, names: str) -> Run:
    aisp, query = aisp_of(causeway), QUERIES[names]
    aisp.use_up("account", LIMIT - 1, **query)
    before = aisp.counted()

    def run(fault: Fault) -> None:
        aisp.bank.received.clear()
        completed(fault, lambda: aisp.read("account", **query))
        assert aisp.calls == 1
        assert aisp.counted() == before + len(query)
        assert aisp.read("account", **query).status == 429

    return run


@scenario()
def read_an_account_above_the_limit(causeway: Causeway) -> Run:
    aisp = aisp_of(causeway)
    aisp.use_up()

    def run(fault: Fault) -> None:
        aisp.bank.received.clear()
        completed(fault, aisp.read, 429)
        assert (aisp.counted(), aisp.calls) == (LIMIT, 0)

    return run


@scenario()
def read_an_account_with_a_lost_response_to_its_count(causeway: Causeway) -> Run:
    aisp = aisp_of(causeway)

    def run(fault: Fault) -> None:
        aisp.bank.received.clear()
        with Fault(causeway, "after", 1, lasting=True, operation="UpdateItem"), fault:
            answer = aisp.read()
        if refused(answer):
            assert aisp.calls == 0
            answer = aisp.read()
        assert answer.status == 200
        assert (aisp.counted(), aisp.calls) == (1, 1)

    return run


@scenario()
def read_an_account_at_a_bank_that_is_never_reached(causeway: Causeway) -> Run:
    aisp = aisp_of(causeway)
    aisp.bank_answers(NotReached("no connection"), "/accounts")

    def run(fault: Fault) -> None:
        causeway.hub.openbanking.bank_client.breaker.record_success(aisp.bank.bic)
        completed(fault, aisp.read, 502)
        assert aisp.counted() == 0 or (fault.lasting and aisp.counted() == 1)

    return run


@scenario()
def accept_a_limited_deferred_read(causeway: Causeway) -> Run:
    aisp = aisp_of(causeway)
    aisp.use_up(times=LIMIT - 2)

    def run(fault: Fault) -> None:
        completed(fault, lambda: aisp.read(headers=LATER), 202)
        accepted = len(records(causeway, "relay"))
        assert accepted == 1 or (accepted == 2 and fault.loses_what_was_applied())
        assert aisp.counted() == LIMIT - 2 + accepted

    return run


@scenario()
def accept_a_limited_deferred_read_with_a_lost_transaction_response(causeway: Causeway) -> Run:
    aisp = aisp_of(causeway)

    def run(fault: Fault) -> None:
        if fault.lasting:
            return  # nobody can find out then
        with lose_first_transaction(causeway), fault:
            answer = aisp.read(headers=LATER)
        if refused(answer):
            assert aisp.counted() == len(records(causeway, "relay")) == 0
            answer = aisp.read(headers=LATER)
        assert answer.status == 202
        assert aisp.counted() == len(records(causeway, "relay")) == 1

    return run


@pytest.mark.parametrize("name", scenario.of(__name__))
def test_a_storage_fault_during_an_unattended_read_neither_loses_nor_duplicates_data(
    causeway: Causeway, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    scenario.run_with_faults(causeway, name, monkeypatch)
