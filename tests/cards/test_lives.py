"""The state machines of card, PIN and account under what hypothesis makes up, against models of its rules."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine

from tests.cards.books import Books
from tests.cards.issuer import Issuer
from tests.cards.lives import AccountLife, CardLife
from tests.kit.inputs import run_state_machines

Life = Callable[[Issuer, str], RuleBasedStateMachine]

BEGINNINGS = [*((CardLife, state) for state in "NATRLSEB"), *((AccountLife, state) for state in "ASR")]
EACH = pytest.mark.parametrize(
    ("life", "state"), BEGINNINGS, ids=[f"{life.__name__} from {state}" for life, state in BEGINNINGS]
)


def play(issuer: Issuer, life: Life, state: str, how: settings) -> None:
    """Play as many lives as ``how`` says; then all records belong together."""
    run_state_machines(lambda: life(issuer, state), how)
    Books(issuer.causeway).check()


@EACH
def test_random_card_and_account_histories_match_the_model(issuer: Issuer, life: Life, state: str) -> None:
    """Run the same few histories every time; the slow test runs many more."""
    play(issuer, life, state, settings(max_examples=3, stateful_step_count=10, derandomize=True))


@pytest.mark.faults
@EACH
def test_long_random_card_and_account_histories_match_the_model(issuer: Issuer, life: Life, state: str) -> None:
    """Run different histories every time."""
    play(issuer, life, state, settings(max_examples=10, stateful_step_count=40))
