"""Tests of the scheduled job that completes due payments. A payment is due when its cut-off time or its retry time has
passed.
"""

import pytest

from chalicelib.bootstrap import hub
from chalicelib.cards.payments.provider import Receipt
from chalicelib.cards.payments.provider_completion import finish_due_payments
from tests.cards.issuer import DAY, Issuer
from tests.cards.stored_money import prove, state
from tests.kit.logs import Lines
from tests.kit.time import run_schedule

pytestmark = pytest.mark.faults


def silent(issuer: Issuer, count: int) -> list[int]:
    address = issuer.funded_address(10_000)
    answers = [issuer.transfer(address, 100, destination_account_name="Silent") for _ in range(count)]
    assert [answer.status_code for answer in answers] == [8001] * count
    first = issuer.pending_payment(address, 1)
    return list(range(first - count, first))


def waiting(issuer: Issuer) -> list[int]:
    return sorted(row["id"] for row in issuer.hub.store.scan("external-payments") if row.get("due_at") is not None)


def test_the_scheduled_job_completes_pending_payments_once_after_a_minute(new_issuer: Issuer) -> None:
    numbers = silent(new_issuer, 3)
    cards = new_issuer.hub.cards
    assert waiting(new_issuer) == numbers

    new_issuer.clock.advance(59)
    assert cards.call(finish_due_payments) == 0
    new_issuer.clock.advance(1)
    assert cards.call(finish_due_payments) == 3
    assert waiting(new_issuer) == []
    assert cards.call(finish_due_payments) == 0


def test_a_failed_payment_does_not_delay_other_payments(
    new_issuer: Issuer, monkeypatch: pytest.MonkeyPatch, lines: Lines
) -> None:
    numbers = silent(new_issuer, 3)
    provider = new_issuer.hub.cards.payment_provider
    real = provider.find

    def find(payment_id: int) -> Receipt | None:
        if payment_id == numbers[1]:
            raise RuntimeError("what nobody has thought of")
        return real(payment_id)

    new_issuer.clock.advance(60)
    with monkeypatch.context() as patched:
        patched.setattr(provider, "find", find)
        assert new_issuer.hub.cards.call(finish_due_payments) == 2
    assert (waiting(new_issuer), "not finished" in lines.text) == ([numbers[1]], True)
    new_issuer.clock.advance(60)
    assert (new_issuer.hub.cards.call(finish_due_payments), waiting(new_issuer)) == (1, [])


def test_a_recovery_run_that_exceeds_its_time_limit_starts_no_further_payment(new_issuer: Issuer) -> None:
    silent(new_issuer, 2)
    new_issuer.clock.advance(60)
    now = new_issuer.clock.monotonic()

    assert [new_issuer.hub.cards.call(finish_due_payments, until) for until in (now - 1, now)] == [0, 2]


def test_a_recovery_run_completes_a_maximum_number_of_payments_and_the_next_run_continues(
    new_issuer: Issuer, monkeypatch: pytest.MonkeyPatch
) -> None:
    silent(new_issuer, 3)
    new_issuer.clock.advance(60)
    monkeypatch.setattr("chalicelib.cards.storage.due_index.MOST", 2)

    assert [new_issuer.hub.cards.call(finish_due_payments) for _ in range(3)] == [2, 1, 0]


def test_a_direct_debit_with_a_concurrent_payment_is_decided_in_the_next_run(new_issuer: Issuer) -> None:
    address = new_issuer.funded_address(2500)
    number = new_issuer.debit(new_issuer.mandate(address), 2500)["epm_transaction_id"]
    new_issuer.clock.advance(DAY)
    cards = new_issuer.hub.cards

    with new_issuer.causeway.meanwhile("transact", lambda: new_issuer.pending_payment(address, 1)):
        assert (cards.call(finish_due_payments), state(new_issuer, number)) == (0, "P")
    assert (cards.call(finish_due_payments), state(new_issuer, number)) == (1, "J")
    prove(new_issuer)


def test_a_decision_that_arrives_during_the_cut_off_is_applied(new_issuer: Issuer) -> None:
    address = new_issuer.funded_address(2500)
    number = new_issuer.debit(new_issuer.mandate(address), 2500)["epm_transaction_id"]
    late, cards = new_issuer.with_own_clock(days=1), new_issuer.with_own_clock(days=1).hub.cards
    decision = {"epm_transaction_id": number, "should_pay": 0, "reason": 1}

    with new_issuer.causeway.meanwhile(
        "transact", lambda: new_issuer.data("changeDDExternalPaymentStatus", **decision)
    ):
        assert (cards.call(finish_due_payments), state(new_issuer, number)) == (0, "P")
    assert (cards.call(finish_due_payments), state(new_issuer, number)) == (1, "J")
    assert late.balances(address["account_id"]) == (2500, 2500, 0)


def test_the_scheduled_job_logs_the_number_of_finished_payments(new_issuer: Issuer, lines: Lines) -> None:
    from chalicelib.cards import jobs

    numbers = silent(new_issuer, 2)
    assert hub() is new_issuer.hub

    for seconds in (59, 1, 1):
        new_issuer.clock.advance(seconds)
        run_schedule(jobs.finish)

    said = [line["payments"] for line in lines.all() if line["message"] == "payments finished"]
    assert said == [2]
    assert waiting(new_issuer) == []
    assert len(numbers) == 2
