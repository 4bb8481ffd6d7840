"""Runs of hypothesis's state machines whose instances are given something to work on."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from hypothesis import HealthCheck, settings
from hypothesis.stateful import RuleBasedStateMachine, run_state_machine_as_test


def run_state_machines(make: Callable[[], RuleBasedStateMachine], how: settings) -> None:
    """Run as many machines as ``how`` says, each as long as it needs, with nothing remembered of earlier runs."""
    options = settings(how, suppress_health_check=list(HealthCheck), database=None)
    # declared for a class, but anything that makes a machine will do
    run_state_machine_as_test(cast("type[RuleBasedStateMachine]", make), settings=options)
