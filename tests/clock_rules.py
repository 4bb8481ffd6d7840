"""What makes a test fail on a slow machine, found in its source: clocks that it reads, and short time-outs."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator, Mapping
from functools import cache

from tests.source_code import ROOT, parse

PATIENCE = "tests.patience"

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


_MAY_READ_CLOCK = re.compile(rf"time\.time\(|\b(?:{'|'.join(name.split('.')[1] for name in sorted(_CLOCKS))})\b")
_MAY_WAIT = re.compile(rf"timeout|\bwait_for\(|\b(?:{'|'.join(_POSITIONS)})\(\s*[\w(.]")
"""What a source has in which one of the rules may find something; the others need not be parsed."""


def clock_reads(source: str) -> list[int]:
    """The lines that read a clock which measures durations, or compare a difference of times."""
    if not _MAY_READ_CLOCK.search(source):
        return []
    nodes = list(ast.walk(parse(source)))
    names = {
        alias.asname or alias.name: f"{node.module}.{alias.name}"
        for node in nodes
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    expressions = (node for node in nodes if isinstance(node, ast.expr))
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


def literal_timeouts(source: str) -> list[int]:
    """The lines that wait with a number as the time-out, written there or under a name for it."""
    if not _MAY_WAIT.search(source):
        return []
    tree = parse(source)
    nodes = list(ast.walk(tree))
    numbers = {*_number_constants(tree), *_imported_numbers(nodes)}
    calls = (node for node in nodes if isinstance(node, ast.Call))
    return sorted({call.lineno for call in calls if any(_is_number(each, numbers) for each in _timeouts(call))})


def _number_constants(tree: ast.Module) -> set[str]:
    """The names of a module that stand for numbers."""
    return {
        target.id
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant) and _is_number(node.value, ())
        for target in node.targets
        if isinstance(target, ast.Name)
    }


def _imported_numbers(nodes: list[ast.AST]) -> Iterator[str]:
    """The names for numbers that a module takes from another one of the tests."""
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("tests."):
            for alias in node.names:
                if alias.name in _numbers_of(node.module):
                    yield alias.asname or alias.name


@cache
def _numbers_of(module: str) -> set[str]:
    """The names for numbers of a module of the tests: not those of ``PATIENCE``, which every wait may take."""
    path = ROOT / f"{module.replace('.', '/')}.py"
    return _number_constants(parse(path.read_text("utf-8"))) if module != PATIENCE and path.exists() else set()


def _timeouts(call: ast.Call) -> Iterator[ast.expr]:
    yield from (keyword.value for keyword in call.keywords if keyword.arg in _KEYWORDS)
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    position = _POSITIONS.get(name)
    if position is not None:
        yield from call.args[position : position + 1]


def _is_number(node: ast.expr, constants: Collection[str]) -> bool:
    if isinstance(node, ast.Name):
        return node.id in constants
    if isinstance(node, ast.BinOp):
        return _is_number(node.left, constants) and _is_number(node.right, constants)
    return isinstance(node, ast.Constant) and type(node.value) in (int, float)
