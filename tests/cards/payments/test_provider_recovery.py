"""The schedule that looks after what has waited long enough: all of it, each by itself, and nothing too early."""

from __future__ import annotations

import pytest

from chalicelib.bootstrap import hub
from chalicelib.cards.payments.provider import Receipt
from chalicelib.cards.payments.provider_completion import finish_due_payments
from tests.cards.issuer import DAY, Issuer
from tests.cards.ledgers import prove, state
from tests.kit.logs import Lines
from tests.kit.time import run_schedule

pytestmark = pytest.mark.faults


def silent(issuer: Issuer, count: int) -> list[int]:
    """Payments that the provider took in silence."""
    address = issuer.funded_address(10_000)
    answers = [issuer.transfer(address, 100, destination_account_name="Silent") for _ in range(count)]
    assert [answer.status_code for answer in answers] == [8001] * count
    first = issuer.pending_payment(address, 1)
    return list(range(first - count, first))


def waiting(issuer: Issuer) -> list[int]:
    """What is in the index of due times."""
    return sorted(row["id"] for row in issuer.hub.store.scan("external-payments") if row.get("due_at") is not None)


def test_the_schedule_completes_pending_payments_once_after_a_minute(issuer: Issuer) -> None:
    numbers = silent(issuer, 3)
    cards = issuer.hub.cards
    assert waiting(issuer) == numbers

    issuer.clock.advance(59)
    assert cards.call(finish_due_payments) == 0
    issuer.clock.advance(1)
    assert cards.call(finish_due_payments) == 3
    assert waiting(issuer) == []
    assert cards.call(finish_due_payments) == 0


def test_a_failing_payment_does_not_delay_other_payments(
    issuer: Issuer, monkeypatch: pytest.MonkeyPatch, lines: Lines
) -> None:
    numbers = silent(issuer, 3)
    provider = issuer.hub.cards.payment_provider
    real = provider.find

    def find(payment_id: int) -> Receipt | None:
        if payment_id == numbers[1]:
            raise RuntimeError("what nobody has thought of")
        return real(payment_id)

    issuer.clock.advance(60)
    with monkeypatch.context() as patched:
        patched.setattr(provider, "find", find)
        assert issuer.hub.cards.call(finish_due_payments) == 2
    assert (waiting(issuer), "not finished" in lines.text) == ([numbers[1]], True)
    issuer.clock.advance(60)
    assert (issuer.hub.cards.call(finish_due_payments), waiting(issuer)) == (1, [])


def test_a_run_past_its_time_limit_starts_no_payment(issuer: Issuer) -> None:
    silent(issuer, 2)
    issuer.clock.advance(60)
    now = issuer.clock.monotonic()

    assert [issuer.hub.cards.call(finish_due_payments, until) for until in (now - 1, now)] == [0, 2]


def test_a_run_handles_a_maximum_of_payments_and_the_next_run_continues(
    issuer: Issuer, monkeypatch: pytest.MonkeyPatch
) -> None:
    silent(issuer, 3)
    issuer.clock.advance(60)
    monkeypatch.setattr("chalicelib.cards.storage.due_index.MOST", 2)

    assert [issuer.hub.cards.call(finish_due_payments) for _ in range(3)] == [2, 1, 0]


def test_a_direct_debit_with_a_concurrent_payment_is_decided_in_the_next_run(issuer: Issuer) -> None:
    address = issuer.funded_address(2500)
    number = issuer.debit(issuer.mandate(address), 2500)["epm_transaction_id"]
    issuer.clock.advance(DAY)
    cards = issuer.hub.cards

    with issuer.causeway.meanwhile("transact", lambda: issuer.pending_payment(address, 1)):
        assert (cards.call(finish_due_payments), state(issuer, number)) == (0, "P")
    assert (cards.call(finish_due_payments), state(issuer, number)) == (1, "J")
    prove(issuer)


def test_a_decision_concurrent_with_the_cut_off_counts(issuer: Issuer) -> None:
    address = issuer.funded_address(2500)
    number = issuer.debit(issuer.mandate(address), 2500)["epm_transaction_id"]
    late, cards = issuer.with_own_clock(days=1), issuer.with_own_clock(days=1).hub.cards
    decision = {"epm_transaction_id": number, "should_pay": 0, "reason": 1}

    with issuer.causeway.meanwhile("transact", lambda: issuer.data("changeDDExternalPaymentStatus", **decision)):
        assert (cards.call(finish_due_payments), state(issuer, number)) == (0, "P")
    assert (cards.call(finish_due_payments), state(issuer, number)) == (1, "J")
    assert late.balances(address["account_id"]) == (2500, 2500, 0)


def test_the_job_logs_the_number_of_finished_payments(issuer: Issuer, lines: Lines) -> None:
    from chalicelib.cards import jobs

    numbers = silent(issuer, 2)
    assert hub() is issuer.hub

    for seconds in (59, 1, 1):
        issuer.clock.advance(seconds)
        run_schedule(jobs.finish)

    said = [line["payments"] for line in lines.all() if line["message"] == "payments finished"]
    assert said == [2]
    assert waiting(issuer) == []
    assert len(numbers) == 2
