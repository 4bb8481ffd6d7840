"""Tests for counting statements, lines, long modules and long functions."""

import textwrap

import pytest

from tests.shape.modules import (
    LONGEST_FUNCTION,
    LONGEST_MODULE,
    Module,
    lines,
    long_functions,
    long_modules,
    statements,
)


@pytest.mark.parametrize(
    ("source", "count"),
    [
        ("", 0),
        ('"""A docstring."""', 0),
        ("import one\n# a comment\n\nfrom one import other", 2),
        ("if one:\n    two()\nelse:\n    three = 3; four = 4", 4),
        ('def act():\n    """A docstring."""\n    return 1', 2),
        ('class One:\n    """A docstring."""\n    two: int\n    """A string below an attribute."""', 2),
    ],
)
def test_statements_are_counted_without_documentation_and_comments(source: str, count: int) -> None:
    assert statements([Module("one.py", source), Module("two.py", "")]) == count


def test_the_lines_function_returns_the_number_of_lines_of_a_module() -> None:
    modules = [Module("one.py", "a = 1\n\n# two\n"), Module("two.py", "a = 1\n")]

    assert [lines(modules, path) for path in ("one.py", "two.py", "three.py")] == [3, 1, 0]


def test_a_module_of_401_lines_is_reported_as_long() -> None:
    modules = [Module(f"{count}.py", "a = 1\n" * count) for count in (LONGEST_MODULE, LONGEST_MODULE + 1)]

    assert long_modules(modules) == ["401.py 401"]


def test_a_function_of_41_statements_is_reported_as_long() -> None:
    fits, long = (function_of(count) for count in (LONGEST_FUNCTION, LONGEST_FUNCTION + 1))

    assert long_functions([Module("fits.py", fits), Module("long.py", long)]) == ["long.py:1 act 41"]


def test_statements_of_an_inner_function_are_counted_for_the_outer_function() -> None:
    inner = textwrap.indent(function_of(LONGEST_FUNCTION), "    ")

    assert long_functions([Module("one.py", f"def outer():\n{inner}")]) == ["one.py:1 outer 41"]


def function_of(count: int) -> str:
    return "def act():\n    'Docstring.'\n" + "    a = 1\n" * count
