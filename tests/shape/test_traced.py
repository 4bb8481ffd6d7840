"""Tests for counting the executed files, functions and calls between files. A repeated request has the same trace."""

import sys
from collections.abc import Callable
from typing import Any

import pytest

from tests.causeway import Causeway
from tests.kit.source_code import ROOT
from tests.shape.traced import Trace, card_authorization, relayed_read, trace

OTHER = """
def leaf(): return 1
def spread(): yield from (1, 2)
"""
ENTRY = """
def here(): return there()
def there(): return 1
def across(): return leaf() + leaf()
def between(): return sum(map(leaf_of, (1, 2)))
def leaf_of(number): return leaf()
def iterated(): return [number for number in spread()]
def anonymous(): return (lambda: leaf())()
"""


def compiled(path: str, source: str, names: dict[str, Any]) -> dict[str, Any]:
    exec(compile(source, str(ROOT / path), "exec"), names)  # noqa: S102 - the sources above
    return names


@pytest.fixture
def names() -> dict[str, Callable[[], object]]:
    return compiled("chalicelib/entry.py", ENTRY, compiled("chalicelib/other.py", OTHER, {}))


@pytest.mark.parametrize(
    ("called", "counts"),
    [
        ("leaf", (1, 1, 1)),
        ("here", (1, 1, 2)),
        ("across", (2, 3, 2)),
        ("between", (2, 3, 3)),
        ("iterated", (2, 2, 2)),
        ("anonymous", (2, 2, 2)),
    ],
)
def test_a_trace_counts_the_files_the_functions_and_the_calls_between_files(
    names: dict[str, Callable[[], object]], called: str, counts: tuple[int, int, int]
) -> None:
    found = trace(names[called])

    assert (len(found.files), found.switches, len(found.functions)) == counts


def test_a_traced_function_is_listed_with_file_line_and_name(names: dict[str, Callable[[], object]]) -> None:
    found = trace(names["across"])

    assert found.functions == {"chalicelib/entry.py:4 across", "chalicelib/other.py:2 leaf"}
    assert found.files == {"chalicelib/entry.py", "chalicelib/other.py"}


def test_calls_outside_chalicelib_are_not_counted() -> None:
    assert trace(compiled("tests/entry.py", ENTRY, {})["here"]).files == set()


def test_a_trace_ends_after_a_failed_call() -> None:
    before = sys.getprofile()
    with pytest.raises(ZeroDivisionError):
        trace(lambda: 1 / 0)

    assert sys.getprofile() is before


@pytest.mark.parametrize("request_of", [relayed_read, card_authorization])
def test_a_repeated_request_executes_the_same_code(causeway: Causeway, request_of: Callable[[Causeway], Trace]) -> None:
    one, other = request_of(causeway), request_of(causeway)

    assert "chalicelib/foundation/dynamodb/store.py" in one.files
    assert (one.files, one.switches, one.functions) == (other.files, other.switches, other.functions)
