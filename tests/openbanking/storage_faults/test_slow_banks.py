"""Tests of storage faults during reads at a slow or unavailable bank: the result is the data or a documented error."""

import pytest

from chalicelib.foundation import jsontext
from chalicelib.foundation.http.outbound import Reply
from chalicelib.statistics.days import midnight_after
from chalicelib.statistics.downtimes import PROBE_SECONDS, Downtime
from chalicelib.statistics.slow_calls import SLOTS, SLOW_SECONDS, SlowCalls
from tests.causeway import Answer, Causeway
from tests.openbanking.accounts import NO_ACCOUNTS, Aisp
from tests.openbanking.fault_scenarios import Run, refused, scenario
from tests.openbanking.faults import Fault

pytestmark = pytest.mark.faults

SLOW = Reply(200, jsontext.dumps(NO_ACCOUNTS[1]).encode(), {}, SLOW_SECONDS)


@scenario()
def read_from_a_slow_bank(causeway: Causeway) -> Run:
    aisp = Aisp(causeway)

    def run(fault: Fault) -> None:
        with fault:
            answer = aisp.list_accounts(SLOW)
        if answer.status == 502:  # the storage had too much traffic for a slot
            assert fault.kind == "conflict"
            assert answer.headers["retry-after"] == "30"
        elif refused(answer):
            assert aisp.calls == 0
        assert aisp.list_accounts(SLOW).status == 200

    return run


@scenario()
def read_from_a_slow_bank_without_a_free_slot(causeway: Causeway) -> Run:
    aisp, slow_calls = Aisp(causeway), SlowCalls(causeway.hub.store, causeway.clock)
    for _ in range(SLOTS):
        slow_calls.take(aisp.bank.bic)

    def run(fault: Fault) -> None:
        with fault:
            answer = aisp.list_accounts(SLOW)
        assert refused(answer) or answer.status in (200, 502)
        assert aisp.list_accounts(SLOW).headers["retry-after"] == "30"

    return run


@scenario()
def probe_a_bank_that_is_down(causeway: Causeway) -> Run:
    aisp, now = Aisp(causeway), causeway.clock.time()
    downtime = Downtime(aisp.bank.bic, is_open=True, latest=now, computed_at=now, ends_at=midnight_after(now))

    def ask() -> Answer:
        causeway.hub.statistics.open_downtimes.note([downtime])
        return aisp.list_accounts()

    def run(fault: Fault) -> None:
        with fault:
            answer = ask()
        if answer.status == 502:  # the probe was not claimed, or nobody can find out
            assert (answer.headers["retry-after"], aisp.calls) == ("30", 0)
            causeway.clock.advance(PROBE_SECONDS)
        if answer.status != 200:
            answer = ask()
        assert (answer.status, aisp.calls) == (200, 1)

    return run


@pytest.mark.parametrize("name", scenario.of(__name__))
def test_a_storage_fault_during_a_read_at_a_slow_bank_neither_loses_nor_duplicates_data(
    causeway: Causeway, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    scenario.run_with_faults(causeway, name, monkeypatch)
