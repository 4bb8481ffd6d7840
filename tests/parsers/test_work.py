"""No long input takes a parser more than linear work.

Work is counted in calls of functions, which are the same on every machine. They do not show how much a call of C does:
``test_patterns`` examines the regular expressions.
"""

from __future__ import annotations

import gc
from cProfile import Profile

import pytest

from chalicelib.openbanking.records import svg_logos
from chalicelib.openbanking.records.svg_costs import Drawing
from tests.parsers.longest_input import INPUTS
from tests.parsers.patterns import LINEAR_EXCEPTIONS, PATTERNS, find_repeats
from tests.parsers.target import Target
from tests.parsers.targets import TARGETS

MOST_GROWTH = 2.2
"""The most that the work may grow for an input of twice the size."""
CASES = [(target, name) for target, inputs in INPUTS.items() for name in inputs]


@pytest.fixture(autouse=True, scope="module")
def linear_patterns() -> None:
    """Stop before a long input is searched with a pattern that could take hours."""
    assert not any(find_repeats(name) for name in PATTERNS.keys() - LINEAR_EXCEPTIONS.keys())


def count_calls(target: Target, content: bytes) -> int:
    """The number of calls, of Python and of C functions, that a parser makes to read an input."""
    profile = Profile()
    gc.disable()  # a collection calls finalizers of other tests' objects
    try:
        profile.runcall(target.run, content)
    finally:
        gc.enable()
    return sum(function.callcount for function in profile.getstats())


@pytest.mark.parametrize(("target", "name"), CASES, ids=[f"{target}-{name}" for target, name in CASES])
def test_an_input_of_twice_the_size_takes_about_twice_the_work(target: str, name: str) -> None:
    parser, longest = TARGETS[target], INPUTS[target][name]
    parser.run(longest.build(longest.size // 64))  # fills caches
    half, whole = (count_calls(parser, longest.build(size)) for size in (longest.size // 2, longest.size))

    assert whole <= MOST_GROWTH * half


def read_drawing(name: str, monkeypatch: pytest.MonkeyPatch) -> Drawing:
    """The drawing that the parser of logos builds from a long logo."""
    drawings: list[Drawing] = []

    class KeptDrawing(Drawing):
        def __init__(self) -> None:
            super().__init__()
            drawings.append(self)

    monkeypatch.setattr(svg_logos, "Drawing", KeptDrawing)
    longest = INPUTS["logo"][name]
    TARGETS["logo"].run(longest.build(longest.size))
    (drawing,) = drawings
    return drawing


def test_svg_elements_share_inherited_references(monkeypatch: pytest.MonkeyPatch) -> None:
    drawing = read_drawing("known-references", monkeypatch)

    sets = {id(each.inherited): each.inherited for each in drawing._elements}
    assert len(drawing._elements) > 2_000
    assert sum(map(len, sets.values())) <= 2 * len(drawing._elements)


def test_svg_elements_keep_no_references_to_unknown_ids(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each drawn element would look up hundreds of unknown ids."""
    drawing = read_drawing("unknown-references", monkeypatch)

    styles = [each.style for each in drawing._elements]
    kept = frozenset[str]().union(*(style.applied | style.inherited for style in styles))
    assert len(styles) > 2_000
    assert kept <= drawing._by_id.keys()
