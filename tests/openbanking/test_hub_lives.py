"""Consents, tokens, payments and events under what hypothesis makes up, against a model of the rules."""

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
from tests.openbanking.hub_lives import HubLife
from tests.openbanking.payer import VERSIONS
from tests.openbanking.scenes import InMemory
from tests.state_machines import run_state_machines
from tests.world import World

Defect = Callable[[pytest.MonkeyPatch], None]


@VERSIONS
def test_a_life_of_a_client_agrees_with_the_model(world: World, version: int) -> None:
    """The same few lives every time; many more are a slow proof."""
    how = settings(max_examples=12, stateful_step_count=30, derandomize=True)
    run_state_machines(lambda: HubLife(world, version), how)


@pytest.mark.faults
@VERSIONS
def test_a_long_life_of_a_client_agrees_with_the_model(world: World, version: int) -> None:
    """Others every time."""
    how = settings(max_examples=100, stateful_step_count=60)
    run_state_machines(lambda: HubLife(world, version), how)


def any_consent(_: object, __: object, ___: object, item: Any, ____: object) -> consents.Consent:
    return consents.Consent.from_item(item)


def nothing_ended(consent: object, client: object, row: Callable[[], Exception], *_: object) -> Outcome[Any]:
    return Outcome(row())


def recorded_twice(self: TppEvents, *arguments: Any, real: Any = TppEvents.record) -> RecordedDeliveries:
    return real(self, *arguments) + real(self, *arguments)  # type: ignore[no-any-return]


def last_first(self: InMemory, bodies: Any) -> list[str]:
    self.ids = [*bodies, *self.ids]
    return []


DEFECTS: dict[str, tuple[str, tuple[str, ...], Any, str, Any]] = {
    "a bearer is good for ever": (
        "a read reached the bank without a living consent",
        ("tokens_of_a_consent_that_has_ended_are_dead", "pay", "ask_for_status"),
        TppAuthentication,
        "_consent",
        any_consent,
    ),
    "keys are ignored": ("two orders for one key", (), initiation, "_new_claim", lambda *_: None),
    "misuse ends nothing": (
        "a code was used twice, and its tokens live",
        ("consents_are_as_the_model_says", "refresh"),
        tokens,
        "_end_misused",
        nothing_ended,
    ),
    "an event is recorded twice": ("received more than was caused", (), TppEvents, "record", recorded_twice),
    "an attempt is forgotten": ("an event was received twice", (), Worker, "_succeed", lambda *_: None),
    "the queue is a stack": ("out of order", (), InMemory, "send_all", last_first),
    "banks are not told": (
        "the bank is told once of each end",
        (),
        tokens,
        "record_revoke_token",
        lambda *_: RecordedDeliveries(),
    ),
    "a refresh is repeated for ever": ("told .* instead of", (), consents, "REPEAT_WINDOW", 10**9),
    "a list shows no end": ("the consents are", (), consents.Consent, "state", lambda *_: "authorised"),
}
"""Each with what is found, what a life leaves out so that nothing else finds it first, and what is replaced by what."""


@pytest.mark.parametrize("name", DEFECTS)
def test_a_defect_is_found(world: World, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    found, left_out, place, attribute, defect = DEFECTS[name]
    monkeypatch.setattr(place, attribute, defect)
    life = type("Life", (HubLife,), {each: lambda *_: None for each in left_out})
    how = settings(max_examples=60, stateful_step_count=30, derandomize=True, phases=[Phase.generate])

    with pytest.raises(AssertionError, match=found):
        run_state_machines(lambda: life(world, 1), how)
