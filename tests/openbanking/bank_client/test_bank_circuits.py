"""Tests of circuits that all instances share: during an open downtime, a bank gets one probe in 30 seconds."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest

from chalicelib import bootstrap
from chalicelib.foundation.http.outbound import TimedOut
from chalicelib.openbanking.bank_client.bank_circuits import BankCircuits
from chalicelib.openbanking.bank_client.bank_failures import OPEN_SECONDS
from chalicelib.statistics.call_counts import TABLE
from chalicelib.statistics.downtimes import PARTITION, PROBE_SECONDS, OpenDowntimes, claim_probe
from chalicelib.statistics.measurements import WRITE_INTERVAL
from tests.causeway import Answer, Causeway
from tests.kit import logs
from tests.kit.storage import record_calls
from tests.openbanking.accounts import Aisp, know_downtime, limit_reads, open_circuit
from tests.openbanking.payments import Pisp

BIC = "ALPHGB21"
HANGS = TimedOut("no answer came in time")


class Instances:
    """Several instances of the service with the same banks and TPPs, and a TPP that reads through the instances."""

    def __init__(self, causeway: Causeway, count: int = 3) -> None:
        self.causeway = causeway
        self.aisp, self.other_bank = Aisp(causeway), Aisp(causeway, 2)
        self.hubs = [causeway.hub, *(causeway.another_process() for _ in range(count - 1))]
        for hub in self.hubs:
            hub.__dict__["outbound"] = causeway.hub.outbound
            hub.statistics.__dict__["measurements"] = hub.statistics.new_measurements()

    def ask(self, number: int, answer: Any = None) -> Answer:
        with self.at(number):
            return self.aisp.list_accounts(answer)

    @contextmanager
    def at(self, number: int) -> Iterator[None]:
        first, self.causeway.hub = self.causeway.hub, self.hubs[number]
        bootstrap.use(self.causeway.hub)
        try:
            yield
        finally:
            self.causeway.hub = first
            bootstrap.use(first)

    def go_down(self) -> None:
        """Make five calls of the first instance fail without a response, and write the counters of all instances."""
        for _ in range(5):
            assert self.ask(0, HANGS).status == 502
        self.write_counters()

    def write_counters(self, numbers: Sequence[int] | None = None) -> None:
        """Advance the clock by the write interval, and let the given instances (default: all) write their counters.
        An instance writes its counters during a read from another bank.
        """
        self.causeway.clock.advance(WRITE_INTERVAL)
        for number in range(len(self.hubs)) if numbers is None else numbers:
            with self.at(number):
                assert self.other_bank.list_accounts().status == 200

    @property
    def is_down(self) -> bool:
        return BIC in OpenDowntimes(self.causeway.hub.store, self.causeway.clock).bics()

    @property
    def sent(self) -> int:
        return self.aisp.calls


def claims_probe(causeway: Causeway) -> bool:
    """Claim the next probe of the first bank as another instance. Return whether the claim succeeds."""
    other = causeway.another_process()
    return claim_probe(other.store, other.clock.real, BIC)[1]


@pytest.fixture
def instances(causeway: Causeway) -> Instances:
    """Create instances of the service. Each instance has just written its counters."""
    made = Instances(causeway)
    for number in range(len(made.hubs)):
        assert made.ask(number).status == 200
    made.aisp.bank.received.clear()
    causeway.clock.advance(1)
    return made


def test_all_instances_together_send_one_probe_in_30_seconds_during_a_known_downtime(instances: Instances) -> None:
    instances.go_down()
    assert instances.is_down
    before = instances.sent

    answers = [instances.ask(number, HANGS) for _ in range(4) for number in range(3)]
    assert instances.sent == before + 1
    assert {answer.status for answer in answers} == {502}
    assert answers[-1].headers["retry-after"] == "30"
    assert "is not asked again for 30 s" in answers[-1].body["additionalErrors"][0]["details"]

    instances.causeway.clock.advance(PROBE_SECONDS)
    for number in (2, 1, 0):
        instances.ask(number, HANGS)
    assert instances.sent == before + 2


def test_an_instance_reads_the_open_downtimes_when_the_instance_writes_its_counters(instances: Instances) -> None:
    for _ in range(5):
        instances.ask(0, HANGS)
    instances.write_counters([0])
    before = instances.sent
    instances.ask(0, HANGS)
    assert instances.sent == before + 1, "the probe"

    instances.ask(1, HANGS)
    assert instances.sent == before + 2, "it did not know, and writes its counters now"

    assert instances.ask(1).headers["retry-after"] == "30"
    assert instances.sent == before + 2


def test_a_successful_probe_ends_the_recorded_bank_downtime(instances: Instances) -> None:
    instances.go_down()

    assert instances.ask(1).status == 200

    assert not instances.is_down
    assert instances.ask(1).status == 200


def test_an_instance_with_a_stale_record_of_a_downtime_resumes_calls_after_a_successful_probe(
    instances: Instances,
) -> None:
    instances.go_down()
    assert instances.ask(1).status == 200

    assert [instances.ask(number).status for number in (0, 2)] == [200, 200]


def test_an_instance_resumes_calls_to_a_bank_after_a_successful_probe_of_another_instance(instances: Instances) -> None:
    instances.go_down()
    instances.ask(0, HANGS)
    assert instances.ask(2).status == 502
    instances.causeway.clock.advance(PROBE_SECONDS)
    assert instances.ask(1).status == 200

    assert instances.ask(2).status == 200


def test_a_new_probe_is_permitted_30_seconds_after_a_probe_that_did_not_finish(instances: Instances) -> None:
    instances.go_down()
    instances.hubs[2].openbanking.bank_client.breaker.admit(BIC)

    assert instances.ask(0).headers["retry-after"] == "30"
    instances.causeway.clock.advance(PROBE_SECONDS)
    assert instances.ask(0).status == 200


def test_a_probe_is_not_sent_if_storage_does_not_confirm_the_claim_of_the_probe(instances: Instances) -> None:
    instances.go_down()
    before = instances.sent

    with instances.causeway.answer_lost("put", applied=True):
        refused = instances.ask(0)

    assert (refused.status, refused.headers["retry-after"], instances.sent) == (502, "30", before)
    assert instances.ask(1).status == 502
    instances.causeway.clock.advance(PROBE_SECONDS)
    assert instances.ask(1).status == 200


def test_a_downtime_recorded_by_an_instance_with_a_fast_clock_pauses_no_instance(causeway: Causeway) -> None:
    causeway.clock.advance(7200)
    know_downtime(causeway)
    causeway.clock.advance(-7200)
    aisp = Aisp(causeway)

    assert [aisp.list_accounts(HANGS).status, aisp.list_accounts().status] == [502, 200]


@pytest.mark.parametrize("back", [3, 3600])
def test_a_probe_claimed_before_a_clock_was_set_back_pauses_calls_for_at_most_30_seconds(
    causeway: Causeway, back: int
) -> None:
    aisp = Aisp(causeway)
    know_downtime(causeway)
    causeway.hub.openbanking.bank_client.breaker.admit(BIC)
    causeway.clock.advance(-back)
    know_downtime(causeway)

    assert aisp.list_accounts().headers["retry-after"] == str(PROBE_SECONDS)
    causeway.clock.advance(PROBE_SECONDS - 1)
    assert aisp.list_accounts().headers["retry-after"] == "1"
    causeway.clock.advance(1)
    assert aisp.list_accounts().status == 200


def test_a_probe_claimed_by_an_instance_with_a_fast_clock_does_not_pause_other_instances(causeway: Causeway) -> None:
    causeway.clock.advance(3600)
    know_downtime(causeway)
    causeway.hub.openbanking.bank_client.breaker.admit(BIC)
    causeway.clock.advance(-3600)
    other = BankCircuits(causeway.hub.store, causeway.clock, causeway.hub.statistics.open_downtimes)
    know_downtime(causeway)

    other.admit(BIC)


def test_a_circuit_breaker_permits_no_call_one_call_or_an_unlimited_number_of_calls(causeway: Causeway) -> None:
    circuits = causeway.hub.openbanking.bank_client.breaker
    assert circuits.calls_admitted(BIC) is None
    open_circuit(causeway, 1)
    assert circuits.calls_admitted(BIC) == 0
    causeway.clock.advance(OPEN_SECONDS)
    assert circuits.calls_admitted(BIC) == 1
    know_downtime(causeway)
    assert circuits.calls_admitted(BIC) == 1
    circuits.admit(BIC)
    assert circuits.calls_admitted(BIC) == 0
    circuits.record_success(BIC)
    assert circuits.calls_admitted(BIC) is None


def test_a_failed_probe_is_counted_as_the_opening_of_a_circuit_breaker(
    instances: Instances, capsys: pytest.CaptureFixture[str]
) -> None:
    """A failed probe emits the ``CircuitOpened`` metric again, so that the alarm remains active during the outage."""
    instances.go_down()
    capsys.readouterr()

    instances.ask(1, HANGS)

    assert len(logs.metric_values(capsys.readouterr().out, "CircuitOpened", Stage="local", Bank=BIC)) == 1


# -- payments


def test_a_payment_during_a_downtime_is_not_sent_and_succeeds_later(causeway: Causeway) -> None:
    pisp = Pisp(causeway, 1, consent_type="one_time")
    know_downtime(causeway)
    assert claims_probe(causeway)

    refused = pisp.pay("key-1")

    assert (refused.status, pisp.calls) == (502, 0)
    assert "not sent" in refused.body["title"]
    assert refused.headers["retry-after"] == "30"
    causeway.clock.advance(PROBE_SECONDS)
    assert (pisp.pay("key-1").status, pisp.calls) == (200, 1)


def test_a_payment_during_a_probe_of_another_instance_returns_502_and_writes_no_claim(causeway: Causeway) -> None:
    pisp = Pisp(causeway, 1, consent_type="one_time")
    know_downtime(causeway)
    causeway.hub.openbanking.bank_client.breaker.admit(BIC)

    with causeway.storage_gone("transact"):
        refused = pisp.pay("key-1")

    assert (refused.status, pisp.calls) == (502, 0)


def test_a_payment_whose_claims_fail_does_not_claim_the_probe(causeway: Causeway) -> None:
    pisp = Pisp(causeway, 1, consent_type="one_time")
    know_downtime(causeway)

    with causeway.storage_gone("transact"):
        assert pisp.pay("key-1").status == 500

    assert claims_probe(causeway)


# -- unattended reads


def test_a_read_above_the_read_limit_does_not_claim_the_probe(causeway: Causeway) -> None:
    limit_reads(causeway, 1)
    aisp = Aisp(causeway, 1)
    aisp.use_up()
    know_downtime(causeway)

    assert aisp.read().status == 429

    assert claims_probe(causeway)


def test_a_read_refused_during_the_probe_of_another_instance_is_not_counted(causeway: Causeway) -> None:
    limit_reads(causeway, 1)
    aisp = Aisp(causeway, 1)
    know_downtime(causeway)
    assert claims_probe(causeway)

    refused = aisp.read()

    assert (refused.status, refused.headers["retry-after"]) == (502, "30")
    assert (aisp.calls, aisp.counted()) == (0, 0)


# -- what it costs


def test_a_call_to_a_responding_bank_makes_no_storage_call_for_the_circuit_breaker(causeway: Causeway) -> None:
    aisp = Aisp(causeway)
    assert aisp.list_accounts().status == 200

    with record_calls(causeway) as calls:
        assert aisp.list_accounts().status == 200

    assert calls == ["BatchGetItem"]


def test_an_instance_writes_to_storage_at_most_once_in_30_seconds_during_a_downtime(causeway: Causeway) -> None:
    aisp = Aisp(causeway)
    assert aisp.list_accounts().status == 200
    know_downtime(causeway)
    assert claims_probe(causeway)

    with record_calls(causeway) as calls:
        assert [aisp.list_accounts().status for _ in range(3)] == [502] * 3

    assert calls == ["BatchGetItem", "PutItem", "BatchGetItem", "BatchGetItem"]


def test_reading_open_downtimes_with_the_counters_needs_no_additional_storage_call(instances: Instances) -> None:
    causeway = instances.causeway
    causeway.clock.advance(WRITE_INTERVAL)

    with record_calls(causeway) as calls:
        assert instances.ask(0).status == 200

    assert sorted(calls) == ["BatchGetItem", "BatchGetItem", "Query", "TransactWriteItems"]
    assert list(causeway.hub.store.rows(TABLE, PARTITION)) == []
