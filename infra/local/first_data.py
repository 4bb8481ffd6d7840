"""The initial data of a new stack: synthetic statistics of the banks, and a month of simulated card use.

The statistics are stored while the stack starts. The card use is simulated in a thread after the start (see
``card_player``), because the simulation takes several seconds. The state of the simulation is stored with the seed
data, as the member ``first_data``:

``state``    ``playing``, ``complete``, or ``incomplete`` if it was interrupted and a later start came too late
``started``  the Unix second at which the stack was new; the month ends on the day before

An interrupted run continues at the next start: completed steps return their first response. Request references are
stored for 30 days of simulated time, so a start more than a day later does not continue the month.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from infra.local.bank_days import BankBehaviour, store_made_up_days

if TYPE_CHECKING:
    from chalicelib.bootstrap import Hub

PLAYING, COMPLETE, INCOMPLETE = "playing", "complete", "incomplete"
RESUMED_SECONDS = 24 * 3600
"""Maximum age of an interrupted simulation that is continued at the next start."""
USUAL_BEHAVIOUR = BankBehaviour()
_TROUBLED = BankBehaviour(outages=9, longest=150, slowness=2.4, failed_share=0.06)


def begin(hub: Hub, previous: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Store the synthetic statistics of a new stack. Return the state of the stack's initial data; ``None`` if there is
    no such state.

    Args:
        previous: the content of an earlier stack's seed file on the same data; ``None`` for a new stack.
    """
    if previous is not None:
        return _resume(hub, previous.get("first_data"))
    if has_cards(hub):  # another stack's data, at an endpoint that both use
        return None
    store_made_up_days(hub, behaviours())
    return {"state": PLAYING, "started": hub.clock.time()}


class CardMonth:
    """Simulates the month of card use in a thread.

    Args:
        first_data: the state of the simulation.
        report: called with the new state when the simulation is complete.
        time_stopped: suspends schedules and clock advances during the simulation. Otherwise, a job in the present could
            release a past hold before the step that clears it.
    """

    def __init__(
        self,
        hub: Hub,
        manager_id: int,
        first_data: Mapping[str, Any],
        report: Callable[[dict[str, Any]], None],
        time_stopped: Callable[[], AbstractContextManager[None]],
    ) -> None:
        self._hub = hub
        self._manager_id = manager_id
        self._first_data = first_data
        self._report = report
        self._time_stopped = time_stopped
        self._stopped = threading.Event()
        self.thread = threading.Thread(target=self._run, name="card month", daemon=True)

    def start(self) -> None:
        """Start the thread, unless the month is complete."""
        if self._first_data["state"] == PLAYING:
            self.thread.start()

    def stop(self) -> None:
        """Stop after the current step, and wait for the thread."""
        self._stopped.set()
        if self.thread.is_alive():
            self.thread.join()

    def _run(self) -> None:
        from chalicelib.foundation import log

        try:
            with self._time_stopped():
                is_complete = play_month(self._hub, self._manager_id, self._first_data["started"], self._stopped.is_set)
            if is_complete:
                self._report({**self._first_data, "state": COMPLETE})
                log.clear()
                log.info("card month played")
        except Exception:  # the stack is useful without it, and the next start tries again
            log.exception("card month not played")


def play_month(hub: Hub, manager_id: int, started: int, is_stopped: Callable[[], bool] = lambda: False) -> bool:
    """Simulate the month that ends on the day before ``started``. Return whether all steps of the month were completed.

    Raises: StepFailed.
    """
    from infra.local import card_month
    from infra.local.card_player import CardPlayer

    start = datetime.fromtimestamp(started, UTC) - timedelta(days=card_month.DAYS)
    return CardPlayer(hub, manager_id, start).play(card_month.steps(), is_stopped)


def _resume(hub: Hub, first_data: Mapping[str, Any] | None) -> dict[str, Any] | None:
    if not first_data:
        return None
    is_late = hub.clock.time() - first_data["started"] > RESUMED_SECONDS
    return {**first_data, **({"state": INCOMPLETE} if first_data["state"] == PLAYING and is_late else {})}


def has_cards(hub: Hub) -> bool:
    """Return whether the card API has ever issued an id on this data."""
    from chalicelib.cards.storage.sequences import SEQUENCES

    return hub.store.get(*SEQUENCES) is not None


def behaviours() -> dict[str, BankBehaviour]:
    """Return the simulated behaviours of the demonstration banks on the performance pages."""
    from chalicelib.demo_bank.profiles import PROFILES

    return {profile.bic: _TROUBLED if profile.plays_faults else USUAL_BEHAVIOUR for profile in PROFILES}
