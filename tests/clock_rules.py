"""What makes a test fail on a slow machine, found in its source: clocks that it reads, and short time-outs."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

_CLOCKS = {
    *(
        f"time.{name}{unit}"
        for name in ("monotonic", "perf_counter", "process_time", "thread_time")
        for unit in ("", "_ns")
    ),
    "resource.getrusage",
    "os.times",
}
"""Clocks that measure durations."""
_KEYWORDS = ("timeout", "read_timeout", "connect_timeout")
_POSITIONS = {
    **dict.fromkeys(
        ("wait", "join", "acquire", "result", "communicate", "settimeout", "set_default_timeout", "Timer"), 0
    ),
    "wait_for": 1,
}
"""Calls that wait, and the place of their time-out."""


def clock_reads(tree: ast.Module) -> list[int]:
    """The lines that read a clock which measures durations, or compare a difference of times."""
    names = {
        alias.asname or alias.name: f"{node.module}.{alias.name}"
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    expressions = (node for node in ast.walk(tree) if isinstance(node, ast.expr))
    return sorted({node.lineno for node in expressions if _reads_clock(node, names) or _compares_duration(node)})


def _reads_clock(node: ast.expr, names: Mapping[str, str]) -> bool:
    if isinstance(node, ast.Name):
        return names.get(node.id) in _CLOCKS
    return isinstance(node, ast.Attribute) and ast.unparse(node) in _CLOCKS


def _compares_duration(node: ast.expr) -> bool:
    return isinstance(node, ast.Compare) and any(
        isinstance(part, ast.BinOp) and isinstance(part.op, ast.Sub) and "time.time(" in ast.unparse(part)
        for part in ast.walk(node)
    )


def literal_timeouts(tree: ast.Module, constants: Mapping[str, object] | None = None) -> list[int]:
    """The lines that wait with a number as the time-out, written there or under a name of ``constants``."""
    numbers = constants if constants is not None else number_constants(tree)
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call))
    return sorted({call.lineno for call in calls if any(_is_number(each, numbers) for each in _timeouts(call))})


def number_constants(tree: ast.Module) -> dict[str, object]:
    """The names of a module that stand for numbers."""
    return {
        target.id: node.value.value
        for node in tree.body
        if isinstance(node, ast.Assign) and _is_number(node.value, {}) and isinstance(node.value, ast.Constant)
        for target in node.targets
        if isinstance(target, ast.Name)
    }


def _timeouts(call: ast.Call) -> Iterator[ast.expr]:
    yield from (keyword.value for keyword in call.keywords if keyword.arg in _KEYWORDS)
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    position = _POSITIONS.get(name)
    if position is not None:
        yield from call.args[position : position + 1]


def _is_number(node: ast.expr, constants: Mapping[str, object]) -> bool:
    if isinstance(node, ast.Name):
        return node.id in constants
    if isinstance(node, ast.BinOp):
        return _is_number(node.left, constants) and _is_number(node.right, constants)
    return isinstance(node, ast.Constant) and type(node.value) in (int, float)
