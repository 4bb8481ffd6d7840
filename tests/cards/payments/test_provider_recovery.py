"""The schedule that looks after what has waited long enough: all of it, each by itself, and nothing too early."""

from __future__ import annotations

import pytest

from chalicelib.bootstrap import hub
from chalicelib.cards.payments.provider import Receipt
from chalicelib.cards.payments.provider_completion import finish_due_payments
from tests.cards.ledgers import prove, state
from tests.cards.scenes import DAY, Scene
from tests.log_lines import Lines
from tests.schedules import run_schedule

pytestmark = pytest.mark.faults


def silent(scene: Scene, count: int) -> list[int]:
    """Payments that the provider took in silence."""
    address = scene.funded(10_000)
    answers = [scene.transfer(address, 100, destination_account_name="Silent") for _ in range(count)]
    assert [answer.status_code for answer in answers] == [8001] * count
    first = scene.paid(address, 1)
    return list(range(first - count, first))


def waiting(scene: Scene) -> list[int]:
    """What is in the index of due times."""
    return sorted(row["id"] for row in scene.hub.store.scan("external-payments") if row.get("due_at") is not None)


def test_the_schedule_completes_pending_payments_once_after_a_minute(scene: Scene) -> None:
    numbers = silent(scene, 3)
    cards = scene.hub.cards
    assert waiting(scene) == numbers

    scene.clock.advance(59)
    assert cards.call(finish_due_payments) == 0
    scene.clock.advance(1)
    assert cards.call(finish_due_payments) == 3
    assert waiting(scene) == []
    assert cards.call(finish_due_payments) == 0


def test_a_failing_payment_does_not_delay_other_payments(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, lines: Lines
) -> None:
    numbers = silent(scene, 3)
    provider = scene.hub.cards.payment_provider
    real = provider.find

    def find(payment_id: int) -> Receipt | None:
        if payment_id == numbers[1]:
            raise RuntimeError("what nobody has thought of")
        return real(payment_id)

    scene.clock.advance(60)
    with monkeypatch.context() as patched:
        patched.setattr(provider, "find", find)
        assert scene.hub.cards.call(finish_due_payments) == 2
    assert (waiting(scene), "not finished" in lines.text) == ([numbers[1]], True)
    scene.clock.advance(60)
    assert (scene.hub.cards.call(finish_due_payments), waiting(scene)) == (1, [])


def test_a_run_past_its_time_limit_starts_no_payment(scene: Scene) -> None:
    silent(scene, 2)
    scene.clock.advance(60)
    now = scene.clock.monotonic()

    assert [scene.hub.cards.call(finish_due_payments, until) for until in (now - 1, now)] == [0, 2]


def test_a_run_handles_a_maximum_of_payments_and_the_next_run_continues(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    silent(scene, 3)
    scene.clock.advance(60)
    monkeypatch.setattr("chalicelib.cards.storage.due_index.MOST", 2)

    assert [scene.hub.cards.call(finish_due_payments) for _ in range(3)] == [2, 1, 0]


def test_a_direct_debit_with_a_concurrent_payment_is_decided_in_the_next_run(scene: Scene) -> None:
    address = scene.funded(2500)
    number = scene.debit(scene.mandate(address), 2500)["epm_transaction_id"]
    scene.clock.advance(DAY)
    cards = scene.hub.cards

    with scene.causeway.meanwhile("transact", lambda: scene.paid(address, 1)):
        assert (cards.call(finish_due_payments), state(scene, number)) == (0, "P")
    assert (cards.call(finish_due_payments), state(scene, number)) == (1, "J")
    prove(scene)


def test_a_decision_concurrent_with_the_cut_off_counts(scene: Scene) -> None:
    address = scene.funded(2500)
    number = scene.debit(scene.mandate(address), 2500)["epm_transaction_id"]
    late, cards = scene.apart(days=1), scene.apart(days=1).hub.cards
    decision = {"epm_transaction_id": number, "should_pay": 0, "reason": 1}

    with scene.causeway.meanwhile("transact", lambda: scene.data("changeDDExternalPaymentStatus", **decision)):
        assert (cards.call(finish_due_payments), state(scene, number)) == (0, "P")
    assert (cards.call(finish_due_payments), state(scene, number)) == (1, "J")
    assert late.balances(address["account_id"]) == (2500, 2500, 0)


def test_the_job_logs_the_number_of_finished_payments(scene: Scene, lines: Lines) -> None:
    from chalicelib.cards import jobs

    numbers = silent(scene, 2)
    assert hub() is scene.hub

    for seconds in (59, 1, 1):
        scene.clock.advance(seconds)
        run_schedule(jobs.finish)

    said = [line["payments"] for line in lines.all() if line["message"] == "payments finished"]
    assert said == [2]
    assert waiting(scene) == []
    assert len(numbers) == 2
