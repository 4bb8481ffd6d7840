"""The checker accepts histories with a valid order, and rejects histories without a valid order."""

from typing import Any

import pytest

from tests.histories import __main__ as program
from tests.histories.linearizability import (
    FUNDS,
    IN_PROGRESS,
    MODELS,
    OK,
    REFUSED,
    UNKNOWN,
    Operation,
    find_wrong,
    is_linearizable,
)
from tests.histories.recording import History

Line = tuple[float, float, tuple[Any, ...], Any]
READ, REDEEM, PAY = ("read",), ("redeem",), ("pay", "12.30")
ALL, HALF = ("purchase", FUNDS), ("purchase", FUNDS // 2)

RIGHT: list[tuple[str, list[Line]]] = [
    ("account", [(0, 1, ALL, OK), (2, 3, HALF, REFUSED), (4, 5, READ, 0)]),
    ("account", [(0, 3, ALL, OK), (1, 2, READ, FUNDS), (1, 2, READ, 0)]),
    ("account", [(0, 1, HALF, UNKNOWN), (2, 3, READ, FUNDS), (4, 5, READ, FUNDS // 2)]),
    ("account", [(0, 1, HALF, UNKNOWN), (2, 3, ALL, OK)]),
    ("code", [(0, 3, REDEEM, OK), (1, 2, REDEEM, REFUSED), (4, 5, READ, REFUSED)]),
    ("code", [(0, 1, REDEEM, UNKNOWN), (2, 3, REDEEM, REFUSED)]),
    ("key", [(0, 1, PAY, UNKNOWN), (2, 3, PAY, IN_PROGRESS), (4, 5, PAY, (OK, "P-1")), (6, 7, PAY, (OK, "P-1"))]),
    ("key", [(0, 1, PAY, (OK, "P-1")), (2, 3, ("pay", "12.31"), REFUSED)]),
]
WRONG: list[tuple[str, list[Line]]] = [
    ("account", [(0, 1, ALL, OK), (0, 1, HALF, OK)]),
    ("account", [(0, 1, HALF, OK), (2, 3, READ, FUNDS)]),
    ("account", [(0, 9, HALF, OK), (1, 2, READ, FUNDS // 2), (3, 4, READ, FUNDS)]),
    ("account", [(0, 1, ALL, REFUSED)]),
    ("code", [(0, 1, REDEEM, OK), (0, 1, REDEEM, OK)]),
    ("code", [(0, 1, REDEEM, OK), (2, 3, REDEEM, REFUSED), (4, 5, READ, OK)]),
    ("code", [(0, 1, REDEEM, REFUSED)]),
    ("key", [(0, 1, PAY, (OK, "P-1")), (2, 3, PAY, (OK, "P-2"))]),
    ("key", [(0, 1, PAY, (OK, "P-1")), (2, 3, ("pay", "12.31"), (OK, "P-1"))]),
    ("key", [(0, 1, PAY, REFUSED)]),
]


def history(kind: str, lines: list[Line]) -> list[Operation]:
    return [Operation(kind, "1", number, call, outcome, *times) for number, (*times, call, outcome) in enumerate(lines)]


@pytest.mark.parametrize(("kind", "lines"), RIGHT)
def test_operations_with_a_valid_order_are_linearizable(kind: str, lines: list[Line]) -> None:
    assert is_linearizable(history(kind, lines), MODELS[kind])


@pytest.mark.parametrize(("kind", "lines"), WRONG)
def test_operations_without_a_valid_order_are_not_linearizable(kind: str, lines: list[Line]) -> None:
    operations = history(kind, lines)

    assert find_wrong(operations, MODELS) == {f"{kind} 1": operations}


@pytest.mark.parametrize(
    ("outcomes", "code"),
    [([FUNDS, FUNDS], 0), ([FUNDS, 0], 1), ([FUNDS, UNKNOWN], 0), ([FUNDS, UNKNOWN, UNKNOWN], 1), ([UNKNOWN], 1)],
)
def test_a_history_check_fails_for_invalid_operations_and_for_mostly_unknown_outcomes(
    outcomes: list[Any], code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines: list[Line] = [(number, number + 0.5, READ, outcome) for number, outcome in enumerate(outcomes)]
    monkeypatch.setattr(program, "record", lambda plan: History(history("account", lines)))

    assert program.main(["--engine", "dynoxide"]) == code
