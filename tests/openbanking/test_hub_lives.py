"""Consents, tokens, payments and events under what hypothesis makes up, against a model of the rules."""

from __future__ import annotations

import pytest
from hypothesis import settings

from tests.openbanking.hub_lives import HubLife
from tests.openbanking.payer import VERSIONS
from tests.state_machines import run_state_machines
from tests.world import World


@VERSIONS
def test_a_life_of_a_client_agrees_with_the_model(world: World, version: int) -> None:
    """The same few lives every time; many more are a slow proof."""
    how = settings(max_examples=20, stateful_step_count=30, derandomize=True)
    run_state_machines(lambda: HubLife(world, version), how)


@pytest.mark.faults
@VERSIONS
def test_a_long_life_of_a_client_agrees_with_the_model(world: World, version: int) -> None:
    """Others every time."""
    how = settings(max_examples=100, stateful_step_count=60)
    run_state_machines(lambda: HubLife(world, version), how)
