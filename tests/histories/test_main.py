"""The program of histories fails for a wrong object, and for a history that proves nothing."""

from __future__ import annotations

from typing import Any

import pytest

from tests.histories import __main__ as program
from tests.histories.checker import UNKNOWN, Operation
from tests.histories.models import FUNDS
from tests.histories.run import History


@pytest.mark.parametrize(
    ("outcomes", "code"),
    [([FUNDS, FUNDS], 0), ([FUNDS, 0], 1), ([FUNDS, UNKNOWN], 0), ([FUNDS, UNKNOWN, UNKNOWN], 1), ([UNKNOWN], 1)],
)
def test_histories_fail_for_a_wrong_object_or_mostly_unknown_outcomes(
    outcomes: list[Any], code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    operations = [
        Operation("account", "1", number, ("read",), outcome, float(number), number + 0.5)
        for number, outcome in enumerate(outcomes)
    ]
    monkeypatch.setattr(program, "record", lambda plan: History(operations))

    assert program.main(["--engine", "dynoxide"]) == code
