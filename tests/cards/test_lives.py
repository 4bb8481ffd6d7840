"""The state machines of card, PIN and account under what hypothesis makes up, against models of the decisions."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import RuleBasedStateMachine, run_state_machine_as_test

from tests.cards.books import Books
from tests.cards.lives import AccountLife, CardLife
from tests.cards.scenes import Scene

LIVES = {CardLife: (8, 25), AccountLife: (6, 15)}
"""So many examples of so many steps at most; always the same ones."""
LONG_LIVES = {CardLife: (40, 50), AccountLife: (40, 30)}
"""And others each time."""


def play(scene: Scene, life: type[RuleBasedStateMachine], examples: int, steps: int, **options: bool) -> None:
    checks = list(HealthCheck)
    how = settings(
        max_examples=examples, stateful_step_count=steps, deadline=None, suppress_health_check=checks, database=None
    )
    run_state_machine_as_test(lambda: life(scene), settings=settings(how, **options))
    Books(scene.world).check()


@pytest.mark.parametrize("life", LIVES)
def test_it_lives_as_decided(scene: Scene, life: type[RuleBasedStateMachine]) -> None:
    play(scene, life, *LIVES[life], derandomize=True)


@pytest.mark.faults
@pytest.mark.parametrize("life", LONG_LIVES)
def test_it_lives_long_as_decided(scene: Scene, life: type[RuleBasedStateMachine]) -> None:
    play(scene, life, *LONG_LIVES[life])
