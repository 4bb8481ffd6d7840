"""The cost of a clock advance with deliveries to unavailable banks, whose circuit breakers remain open."""

from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from chalicelib.bootstrap import PLANS
from chalicelib.delivery.delivery_record import Delivery
from chalicelib.delivery.outbox import Outbox
from chalicelib.foundation import parallel
from chalicelib.openbanking.bank_client.bank_circuits import FAILURES
from chalicelib.openbanking.bank_client.bank_failures import OPEN_SECONDS
from chalicelib.openbanking.flows.bank.notifications import record_revoke_token
from tests.causeway import Causeway
from tests.openbanking.kit import UNREACHABLE, always
from tests.sandbox_clock.conftest import Operator

MANY = 12
PATH = "/revoke_token"


@dataclass
class Workers:
    causeway: Causeway
    begun: int = 0

    def carry_out(self, delivery_ids: Sequence[str]) -> list[str]:
        for delivery_id in delivery_ids:
            self.begun += 1
            self.causeway.hub.delivery.worker.attempt(delivery_id)
        return []

    def calls_to(self, version: int) -> int:
        return sum(sent.path == PATH for sent in self.causeway.banks[version].received)


@pytest.fixture
def workers(movable: Causeway, monkeypatch: pytest.MonkeyPatch) -> Workers:
    """Record revocation notices to both banks, which are unavailable. Return the delivery workers."""
    monkeypatch.setattr(parallel, "WIDTH", 1)
    workers = Workers(movable)
    for version, side in movable.banks.items():
        side.answers[PATH] = always(UNREACHABLE)
        consent_id = movable.tpp.tokens(version)["consent_id"]
        consent = movable.hub.openbanking.consent_list.find(consent_id)
        assert consent is not None
        for _ in range(MANY):
            movable.hub.store.transact(record_revoke_token(movable.hub.delivery.outbox, consent).operations)
    monkeypatch.setattr(Outbox, "send", lambda outbox, delivery_ids: workers.carry_out(delivery_ids))
    monkeypatch.setattr(Outbox, "queue_later", lambda outbox, delivery_id, delay: None)
    return workers


def deliveries(causeway: Causeway) -> list[Delivery]:
    return causeway.recorded("revoke_token")


def test_a_clock_advance_of_one_day_starts_each_delivery_once_and_calls_no_paused_bank(
    workers: Workers, operator: Operator
) -> None:
    operator.move("P1D")

    assert workers.begun == 2 * MANY
    assert [workers.calls_to(version) for version in (1, 2)] == [FAILURES, FAILURES]
    slots = len(PLANS["revoke_token"].waits) + 1
    assert all(each.attempts <= slots for each in deliveries(workers.causeway))
    assert {each.state for each in deliveries(workers.causeway)} == {"due"}


def test_a_clock_advance_past_the_open_time_of_a_circuit_sends_one_probe_to_each_bank(
    workers: Workers, operator: Operator
) -> None:
    operator.move("P1D")
    for number in (1, 2):
        workers.causeway.clock.advance(OPEN_SECONDS)
        operator.move("P1D")
        assert [workers.calls_to(version) for version in (1, 2)] == [FAILURES + number] * 2
        assert workers.begun == 2 * MANY + 2 * number


def test_deliveries_reach_a_recovered_bank_while_another_bank_is_unavailable(
    workers: Workers, operator: Operator
) -> None:
    operator.move("P1D")
    workers.causeway.banks[1].answers[PATH] = always({"status": "success"})
    workers.causeway.clock.advance(OPEN_SECONDS)
    operator.move("P1D")

    states = {
        bic: {each.state for each in deliveries(workers.causeway) if each.bic == bic}
        for bic in ("ALPHGB21", "BETADEF1")
    }
    assert states == {"ALPHGB21": {"delivered"}, "BETADEF1": {"due"}}
    assert workers.calls_to(2) == FAILURES + 1


def test_due_events_are_sent_while_banks_are_unavailable(workers: Workers, operator: Operator) -> None:
    operator.move("PT2H")
    workers.causeway.tpp.set_events_url()
    workers.causeway.tpp.tokens(1)
    operator.move("PT2H")

    assert [event["type"] for event in workers.causeway.receiver.events] == ["consent.authorised"]


def test_deliveries_to_an_unavailable_bank_expire_without_a_call(workers: Workers, operator: Operator) -> None:
    operator.move("PT1H")
    calls = [workers.calls_to(version) for version in (1, 2)]
    operator.move(f"PT{PLANS['revoke_token'].lifetime // 3600}H")

    assert {each.state for each in deliveries(workers.causeway)} == {"failed"}
    assert [workers.calls_to(version) for version in (1, 2)] == calls
