"""Due payments are settled every minute. A failing payment does not delay other payments."""

from typing import Any

import pytest

from chalicelib.demo_bank import clearing, execution, orders, runtime
from chalicelib.demo_bank.banks import get_bank
from tests.demo_bank.single_bank import SingleBank


def expired(bank: SingleBank, count: int) -> list[str]:
    given = bank.token()
    ids = [bank.initiate(given)["payment_id"] for _ in range(count)]
    bank.clock.advance(orders.CONFIRM_SECONDS)
    return ids


def test_failing_payments_are_postponed_without_delaying_other_payments(
    bank: SingleBank, monkeypatch: pytest.MonkeyPatch
) -> None:
    at, real = get_bank(bank.profile.name, bank), execution.refresh
    monkeypatch.setattr(runtime, "DUE_PAGE_SIZE", 2)
    ids = expired(bank, 5)
    broken = {order_id for _, order_id in list(orders.DUE.find(at))[:4]}

    def refresh(at: Any, order: Any) -> Any:
        if order.payment_id in broken:
            raise RuntimeError("broken")
        return real(at, order)

    monkeypatch.setattr(execution, "refresh", refresh)
    assert clearing.process_due_payments(at) == 5
    assert len(bank.reported_statuses()) == 1
    assert clearing.process_due_payments(at) == 0
    bank.clock.advance(clearing.RETRY_SECONDS)
    assert clearing.process_due_payments(at) == 4
    broken.clear()
    bank.clock.advance(clearing.RETRY_SECONDS)
    assert clearing.process_due_payments(at) == 4
    assert len(bank.reported_statuses()) == len(ids)
    clearing.process_due_payments(at)
    bank.clock.advance(86400)
    assert list(orders.DUE.find(at)) == []


def test_a_postponed_payment_is_removed_from_the_due_index_after_its_completion(bank: SingleBank) -> None:
    at = get_bank(bank.profile.name, bank)
    (order_id,) = expired(bank, 1)
    ((due_at, _),) = orders.DUE.find(at)
    orders.DUE.postpone(at, due_at, order_id, clearing.RETRY_SECONDS)
    order = orders.find(at, order_id)
    assert order is not None
    bank.clock.advance(1)
    execution.refresh(at, order)
    assert clearing.process_due_payments(at) == 1
    bank.clock.advance(clearing.RETRY_SECONDS)
    assert clearing.process_due_payments(at) == 1
    assert list(orders.DUE.find(at)) == []
    assert len(bank.reported_statuses()) == 1


def test_a_clearing_run_stops_at_its_time_limit_and_the_next_run_continues(bank: SingleBank) -> None:
    at = get_bank(bank.profile.name, bank)
    ids = expired(bank, 4)
    bank.hub.answer_seconds = 4
    bank.hub.timeouts.clear()
    assert clearing.process_due_payments(at) == 3
    assert bank.hub.timeouts == [(3, 10), (3, 6), (2, 2)]
    assert clearing.process_due_payments(at) == 1
    assert len(bank.reported_statuses()) == len(ids)
