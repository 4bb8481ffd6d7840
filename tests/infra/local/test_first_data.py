"""The sample data of a new stack are created once, in the background. Existing stacks get no sample data."""

import contextlib
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from chalicelib.cards.jobs import finish_payments_and_holds
from chalicelib.cards.storage.sequences import Sequences
from chalicelib.statistics import day_records
from chalicelib.statistics.days import yesterday
from infra.local import first_data
from infra.local.card_player import StepFailed
from infra.local.first_data import COMPLETE, INCOMPLETE, PLAYING, RESUMED_SECONDS, CardMonth, begin
from tests.cards.issuer import MANAGER, Issuer
from tests.causeway import Causeway
from tests.kit.logs import Lines
from tests.kit.time import PATIENCE_SECONDS

BIC = "ALPHGB21"


@pytest.fixture(autouse=True)
def one_bank(causeway: Causeway, monkeypatch: pytest.MonkeyPatch) -> None:
    """Use one registered bank instead of the demonstration banks. The stack has no cards at this time."""
    Issuer(causeway)
    monkeypatch.setattr(first_data, "behaviours", lambda: {BIC: first_data.USUAL_BEHAVIOUR})


def made_up_days(causeway: Causeway) -> int:
    latest = yesterday(causeway.hub.clock)
    found = day_records.records_of_bank(causeway.hub.store, BIC, latest.replace(year=latest.year - 1), latest)
    return sum(record.made_up for record in found)


def month(causeway: Causeway, state: str = PLAYING) -> tuple[CardMonth, list[dict[str, Any]]]:
    reported: list[dict[str, Any]] = []
    state_of = {"state": state, "started": causeway.hub.clock.time()}
    return CardMonth(causeway.hub, MANAGER, state_of, reported.append, contextlib.nullcontext), reported


def finished(playing: CardMonth) -> None:
    playing.thread.join(PATIENCE_SECONDS)
    assert not playing.thread.is_alive()


def test_a_new_stack_contains_90_synthetic_days_and_starts_the_simulation_of_card_use(causeway: Causeway) -> None:
    assert begin(causeway.hub, None) == {"state": PLAYING, "started": causeway.clock.time()}
    assert made_up_days(causeway) == 90


@pytest.mark.parametrize("first", [{}, {"first_data": None}, {"first_data": {"state": COMPLETE, "started": 1}}])
def test_a_restarted_stack_adds_no_sample_data(causeway: Causeway, first: dict[str, Any]) -> None:
    """A stack of an earlier version has stored no state of the sample data."""
    assert begin(causeway.hub, {"user": {}, **first}) == first.get("first_data")
    assert made_up_days(causeway) == 0


def test_cards_of_other_stacks_at_the_endpoint_prevent_sample_data(causeway: Causeway) -> None:
    Sequences(causeway.hub.store).next("card")

    assert begin(causeway.hub, None) is None
    assert made_up_days(causeway) == 0


def test_an_interrupted_card_use_simulation_is_resumed_only_within_a_day(causeway: Causeway) -> None:
    started = begin(causeway.hub, None)
    causeway.clock.advance(RESUMED_SECONDS)
    assert begin(causeway.hub, {"first_data": started}) == started

    causeway.clock.advance(1)
    assert begin(causeway.hub, {"first_data": started}) == {**(started or {}), "state": INCOMPLETE}


def test_the_card_use_simulation_runs_in_the_background_and_is_reported(causeway: Causeway, lines: Lines) -> None:
    playing, reported = month(causeway)
    playing.start()
    finished(playing)

    assert reported == [{"state": COMPLETE, "started": causeway.clock.time()}]
    assert "card month played" in [line["message"] for line in lines.all()]
    assert causeway.hub.cards.portal.read(MANAGER, "listCards", item_count=20)["data"]


def test_business_time_is_stopped_while_the_card_use_simulation_runs(causeway: Causeway, lines: Lines) -> None:
    """A hold in the past is overdue at the present time. A job that runs between two steps would release the hold."""
    played: list[bool] = []
    reported: list[dict[str, Any]] = []

    @contextlib.contextmanager
    def stopped() -> Iterator[None]:
        played.append(first_data.has_cards(causeway.hub))
        yield
        played.append(first_data.has_cards(causeway.hub))
        finish_payments_and_holds(causeway.hub.cards)

    state = {"state": PLAYING, "started": causeway.hub.clock.time()}
    playing = CardMonth(causeway.hub, MANAGER, state, reported.append, stopped)
    playing.start()
    finished(playing)

    assert played == [False, True]
    assert [each["state"] for each in reported] == [COMPLETE]
    assert "holds released" not in lines.text


@pytest.mark.parametrize("state", [COMPLETE, INCOMPLETE])
def test_a_finished_card_use_simulation_is_not_run_again(causeway: Causeway, state: str) -> None:
    playing, reported = month(causeway, state)
    playing.start()
    playing.stop()

    assert not playing.thread.is_alive()
    assert reported == []


def test_stopping_the_stack_waits_only_for_the_current_step_of_the_card_use_simulation(
    causeway: Causeway, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_work, asked = threading.Event(), []

    def steps(hub: object, manager_id: int, started: int, is_stopped: Any) -> bool:
        at_work.set()
        while not is_stopped():
            asked.append(1)
        return False

    monkeypatch.setattr(first_data, "play_month", steps)
    playing, reported = month(causeway)
    playing.start()
    assert at_work.wait(PATIENCE_SECONDS)
    playing.stop()

    assert not playing.thread.is_alive()
    assert reported == []


def test_a_failed_card_use_simulation_is_logged_and_retried_at_the_next_start(
    causeway: Causeway, lines: Lines, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> bool:
        raise StepFailed("Tom created (createCard): no")

    monkeypatch.setattr(first_data, "play_month", fails)
    playing, reported = month(causeway)
    playing.start()
    finished(playing)

    assert reported == []
    assert [line["message"] for line in lines.all() if line["level"] == "ERROR"] == ["card month not played"]
