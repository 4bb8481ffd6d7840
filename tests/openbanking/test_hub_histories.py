"""Tests of random sequences of actions on consents, tokens, payments and events, compared with a model of the rules."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import Phase, settings

from chalicelib.delivery.outbox import RecordedDeliveries
from chalicelib.delivery.worker import Worker
from chalicelib.foundation.requests.outcome import Outcome
from chalicelib.openbanking.flows.consent import tokens
from chalicelib.openbanking.flows.payments import initiation, status_forms
from chalicelib.openbanking.flows.reads import unified_funds, unified_reads
from chalicelib.openbanking.flows.reads.unified_reads import UnifiedRead
from chalicelib.openbanking.flows.tpp_authentication import TppAuthentication
from chalicelib.openbanking.flows.tpp_events import TppEvents
from chalicelib.openbanking.records import consents
from chalicelib.openbanking.records.payments import Payment, PaymentStatusReport
from chalicelib.openbanking.unified.transaction_cursors import TransactionCursors
from tests.causeway import Causeway
from tests.kit.inputs import run_state_machines
from tests.kit.small import fewer
from tests.log_traces import TRACE
from tests.openbanking.fault_scenarios import InMemory
from tests.openbanking.hub_histories import HubHistory
from tests.openbanking.kit import VERSIONS
from tests.openbanking.unified_histories import FIRST_CONSENT, UnifiedHistory


@VERSIONS
def test_twelve_fixed_random_histories_of_a_client_match_the_model(causeway: Causeway, version: int) -> None:
    how = settings(max_examples=12, stateful_step_count=30, derandomize=True)
    run_state_machines(lambda: HubHistory(causeway, version), how)


@VERSIONS
def test_six_fixed_random_histories_agree_in_the_unified_and_the_native_api(causeway: Causeway, version: int) -> None:
    """Every run uses the same 6 histories."""
    how = settings(max_examples=6, stateful_step_count=30, derandomize=True)
    run_state_machines(lambda: UnifiedHistory(causeway, version), how)


@pytest.mark.faults
@VERSIONS
def test_many_random_histories_agree_in_the_unified_and_the_native_api(causeway: Causeway, version: int) -> None:
    """Every run uses other histories."""
    how = settings(max_examples=fewer(50, 10), stateful_step_count=60)
    run_state_machines(lambda: UnifiedHistory(causeway, version), how)


@pytest.mark.faults
@VERSIONS
def test_many_random_histories_of_a_client_match_the_model(causeway: Causeway, version: int) -> None:
    how = settings(max_examples=fewer(100, 20), stateful_step_count=60)
    run_state_machines(lambda: HubHistory(causeway, version), how)


def accept_any_consent(_: object, __: object, ___: object, item: Any, ____: object) -> consents.Consent:
    return consents.Consent.from_item(item)


def keep_consent(consent: object, client: object, row: Callable[[], Exception], *_: object) -> Outcome[Any]:
    return Outcome(row())


def record_twice(self: TppEvents, *arguments: Any, real: Any = TppEvents.record) -> RecordedDeliveries:
    return real(self, *arguments) + real(self, *arguments)  # type: ignore[no-any-return]


def send_last_first(self: InMemory, bodies: Any) -> list[str]:
    self.ids = [*bodies, *self.ids]
    return []


def read_revoked(history: HubHistory) -> None:
    history.revoke(1, "tpp", None)
    history.read(0, 1)


def pay_twice(history: HubHistory) -> None:
    history.pay(1, "key-1", "12.30", "takes it", 2, None)


def redeem_twice(history: HubHistory) -> None:
    history.redeem(0, True, None)
    history.deliver(0, False)
    history.tokens_of_a_consent_that_has_ended_are_dead()


def refresh_with_an_old_token(history: HubHistory) -> None:
    history.refresh(1, 1, None)
    history.time_passes(61)
    history.refresh(1, 2, None)


def revoke_by_bank(history: HubHistory) -> None:
    history.revoke(1, "bank", None)


def revoke_and_deliver(history: HubHistory) -> None:
    history.revoke(1, "tpp", None)
    history.teardown()


def deliver_twice(history: HubHistory) -> None:
    for _ in range(2):
        history.deliver(0, True)
        history.time_passes(61)


AVAILABLE = {"funds_available": True}
NONE_RECORDED = RecordedDeliveries()
DEFECTS: dict[str, tuple[Any, str, Any, Callable[[HubHistory], None], str]] = {
    "bearers are not checked": (TppAuthentication, "_consent", accept_any_consent, read_revoked, "a read reached"),
    "idempotency keys are ignored": (initiation, "_new_claim", lambda *_: None, pay_twice, "two orders for one key"),
    "misuse does not end a consent": (tokens, "_end_misused", keep_consent, redeem_twice, "a code was used twice"),
    "a refresh retry never expires": (consents, "REPEAT_WINDOW", 10**9, refresh_with_an_old_token, "told .* instead"),
    "events are recorded twice": (TppEvents, "record", record_twice, deliver_twice, "more than was caused"),
    "events are not recorded": (TppEvents, "record", lambda *_: NONE_RECORDED, revoke_and_deliver, "is received"),
    "successes are not recorded": (Worker, "_succeed", lambda *_: None, deliver_twice, "received twice"),
    "the queue is last in, first out": (InMemory, "send_all", send_last_first, redeem_twice, "out of order"),
    "banks get no notice": (
        tokens,
        "record_revoke_token",
        lambda *_: NONE_RECORDED,
        revoke_and_deliver,
        "is told once",
    ),
    "revocations are not listed": (
        consents.Consent,
        "state",
        lambda *_: "authorised",
        revoke_by_bank,
        "the consents are",
    ),
}
"""The injected defects by description.

A defect consists of the object and attribute to replace, the replacement, the steps that reveal the defect, and the
expected failure message.
"""


def store_status_only(self: Payment, report: PaymentStatusReport) -> Payment:
    return replace(self, status=report.status)


def execute_payment(history: HubHistory) -> None:
    history.pay(1, "key-1", "12.30", "takes it", 1, None)
    history.report(0, 0, 1, None)
    history.ask_for_status(1, 0)


def read_all(history: UnifiedHistory) -> None:
    for amount in ("9.50", "12.30"):
        history.confirm_funds(FIRST_CONSENT, 1, amount)


UNIFIED_DEFECTS: dict[str, tuple[Any, str, Any, Callable[[UnifiedHistory], None], str]] = {
    "no status is final": (status_forms, "FINAL", frozenset(), execute_payment, "a final status differs"),
    "reports are left out": (Payment, "with_report", store_status_only, execute_payment, "the histories differ"),
    "entries are left out": (UnifiedRead, "_read_entries", lambda *_: iter(()), read_all, "the entries differ"),
    "transactions are left out": (unified_reads, "read_page", lambda *_: ([], None), read_all, "the entries differ"),
    "cursors are left out": (TransactionCursors, "sign", lambda *_: None, read_all, "the results differ"),
    "funds are available": (unified_funds, "read_answer", lambda *_: AVAILABLE, read_all, "the funds differ"),
}
"""The injected defects of the unified API, in the same form."""


def run_steps(history: HubHistory, steps: Callable[[Any], None]) -> None:
    history.begin(False)
    steps(history)
    history.each_event_is_received_once_and_in_order()
    history.consents_are_as_the_model_says()


@pytest.mark.parametrize("history_type", [HubHistory, UnifiedHistory])
@VERSIONS
@pytest.mark.parametrize("name", DEFECTS)
def test_each_invariant_of_the_history_test_detects_the_corresponding_defect(
    causeway: Causeway, monkeypatch: pytest.MonkeyPatch, name: str, version: int, history_type: type[HubHistory]
) -> None:
    place, attribute, defect, steps, found = DEFECTS[name]
    monkeypatch.setattr(place, attribute, defect)
    history = history_type(causeway, version)

    with pytest.raises(AssertionError, match=found):
        run_steps(history, steps)
    TRACE.end()  # the lines of a service with a defect may break the rules of logs, too


@VERSIONS
@pytest.mark.parametrize("name", UNIFIED_DEFECTS)
def test_the_history_test_detects_a_difference_between_the_unified_and_the_native_api(
    causeway: Causeway, monkeypatch: pytest.MonkeyPatch, name: str, version: int
) -> None:
    place, attribute, defect, steps, found = UNIFIED_DEFECTS[name]
    monkeypatch.setattr(place, attribute, defect)

    with pytest.raises(AssertionError, match=found):
        run_steps(UnifiedHistory(causeway, version), steps)


def test_random_histories_of_a_client_detect_an_injected_defect(
    causeway: Causeway, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(consents.Consent, "state", lambda *_: "authorised")
    how = settings(max_examples=60, stateful_step_count=20, derandomize=True, phases=[Phase.generate])

    with pytest.raises(AssertionError, match="the consents are"):
        run_state_machines(lambda: HubHistory(causeway, 1), how)
