"""Tests that a local stack started in the background reports why it cannot start."""

import os
from pathlib import Path

import pytest

from infra.local.background import NotReady, run_stack

CLEAN = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}


def test_a_stack_that_does_not_start_reports_the_reason(tmp_path: Path) -> None:
    reason = "the stack ended before it was ready: causeway: ENGINE must be one of emulator, "
    with pytest.raises(NotReady, match=reason), run_stack(CLEAN, engine="none", folder=tmp_path):
        pass
