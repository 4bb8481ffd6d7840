"""Random histories of consents, tokens, payments and events, compared with a model of the rules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import Phase, settings

from chalicelib.delivery.outbox import RecordedDeliveries
from chalicelib.delivery.worker import Worker
from chalicelib.foundation.requests.outcome import Outcome
from chalicelib.openbanking.flows.consent import tokens
from chalicelib.openbanking.flows.payments import initiation
from chalicelib.openbanking.flows.tpp_authentication import TppAuthentication
from chalicelib.openbanking.flows.tpp_events import TppEvents
from chalicelib.openbanking.records import consents
from tests.causeway import Causeway
from tests.kit.inputs import run_state_machines
from tests.log_traces import TRACE
from tests.openbanking.fault_scenarios import InMemory
from tests.openbanking.hub_lives import HubLife
from tests.openbanking.kit import VERSIONS


@VERSIONS
def test_12_fixed_client_histories_agree_with_the_model(causeway: Causeway, version: int) -> None:
    """Run the same 12 histories every time."""
    how = settings(max_examples=12, stateful_step_count=30, derandomize=True)
    run_state_machines(lambda: HubLife(causeway, version), how)


@pytest.mark.faults
@VERSIONS
def test_100_random_client_histories_agree_with_the_model(causeway: Causeway, version: int) -> None:
    """Run 100 random histories."""
    how = settings(max_examples=100, stateful_step_count=60)
    run_state_machines(lambda: HubLife(causeway, version), how)


def any_consent(_: object, __: object, ___: object, item: Any, ____: object) -> consents.Consent:
    return consents.Consent.from_item(item)


def nothing_ended(consent: object, client: object, row: Callable[[], Exception], *_: object) -> Outcome[Any]:
    return Outcome(row())


def recorded_twice(self: TppEvents, *arguments: Any, real: Any = TppEvents.record) -> RecordedDeliveries:
    return real(self, *arguments) + real(self, *arguments)  # type: ignore[no-any-return]


def last_first(self: InMemory, bodies: Any) -> list[str]:
    self.ids = [*bodies, *self.ids]
    return []


def read_after_the_end(life: HubLife) -> None:
    life.revoke(1, "tpp", None)
    life.read(0, 1)


def pay_twice(life: HubLife) -> None:
    life.pay(1, "key-1", "12.30", "takes it", 2, None)


def redeem_again(life: HubLife) -> None:
    life.redeem(0, True, None)
    life.deliver(0, False)
    life.tokens_of_a_consent_that_has_ended_are_dead()


def refresh_with_an_old_token(life: HubLife) -> None:
    life.refresh(1, 1, None)
    life.time_passes(61)
    life.refresh(1, 2, None)


def revoke_at_the_bank(life: HubLife) -> None:
    life.revoke(1, "bank", None)


def revoke_and_be_told(life: HubLife) -> None:
    life.revoke(1, "tpp", None)
    life.teardown()


def be_told_again(life: HubLife) -> None:
    for _ in range(2):
        life.deliver(0, True)
        life.time_passes(61)


NONE_RECORDED = RecordedDeliveries()
DEFECTS: dict[str, tuple[Any, str, Any, Callable[[HubLife], None], str]] = {
    "a bearer is good for ever": (TppAuthentication, "_consent", any_consent, read_after_the_end, "a read reached"),
    "keys are ignored": (initiation, "_new_claim", lambda *_: None, pay_twice, "two orders for one key"),
    "misuse ends nothing": (tokens, "_end_misused", nothing_ended, redeem_again, "a code was used twice"),
    "a refresh is repeated for ever": (consents, "REPEAT_WINDOW", 10**9, refresh_with_an_old_token, "told .* instead"),
    "events are recorded twice": (TppEvents, "record", recorded_twice, be_told_again, "more than was caused"),
    "no event is recorded": (TppEvents, "record", lambda *_: NONE_RECORDED, revoke_and_be_told, "is received"),
    "an attempt is forgotten": (Worker, "_succeed", lambda *_: None, be_told_again, "received twice"),
    "the queue is a stack": (InMemory, "send_all", last_first, redeem_again, "out of order"),
    "banks are not told": (tokens, "record_revoke_token", lambda *_: NONE_RECORDED, revoke_and_be_told, "is told once"),
    "a list shows no end": (consents.Consent, "state", lambda *_: "authorised", revoke_at_the_bank, "the consents are"),
}
"""The replaced function, its replacement, the steps that reveal the defect, and the failure."""


def take(life: HubLife, steps: Callable[[HubLife], None]) -> None:
    """Run ``steps`` and check the invariants afterwards."""
    steps(life)
    life.each_event_is_received_once_and_in_order()
    life.consents_are_as_the_model_says()


@pytest.mark.parametrize("name", DEFECTS)
def test_each_invariant_of_client_histories_detects_its_defect(
    causeway: Causeway, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    place, attribute, defect, steps, found = DEFECTS[name]
    monkeypatch.setattr(place, attribute, defect)
    life = HubLife(causeway, 1)
    life.begin(False)

    with pytest.raises(AssertionError, match=found):
        take(life, steps)
    TRACE.end()  # the lines of a service with a defect may break the rules of logs, too


def test_random_client_histories_detect_a_defect(causeway: Causeway, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(consents.Consent, "state", lambda *_: "authorised")
    how = settings(max_examples=60, stateful_step_count=20, derandomize=True, phases=[Phase.generate])

    with pytest.raises(AssertionError, match="the consents are"):
        run_state_machines(lambda: HubLife(causeway, 1), how)
