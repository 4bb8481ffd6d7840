"""No input of the maximum size takes a parser more than linear work.

Linear work takes a fraction of a second of processor time, quadratic work minutes. What is counted is the time of this
process alone, so that a busy machine makes no difference.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from chalicelib.openbanking.records import svg_logos
from chalicelib.openbanking.records.svg_costs import Drawing
from tests.parsers.longest_input import INPUTS
from tests.parsers.targets import TARGETS

PROCESSOR_SECONDS = 5
CASES = [(target, name) for target, inputs in INPUTS.items() for name in inputs]


class TooMuchWork(BaseException):
    """No parser handles it."""


@contextmanager
def limited_work() -> Iterator[None]:
    def stop(*_: object) -> None:
        raise TooMuchWork

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, PROCESSOR_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


@pytest.mark.parametrize(("target", "name"), CASES, ids=[f"{target}-{name}" for target, name in CASES])
def test_the_longest_input_takes_linear_work(target: str, name: str) -> None:
    try:
        with limited_work():
            TARGETS[target].run(INPUTS[target][name])
    except TooMuchWork:
        pytest.fail("the work is more than linear", pytrace=False)


def test_elements_share_the_references_that_they_inherit(monkeypatch: pytest.MonkeyPatch) -> None:
    drawings: list[Drawing] = []

    class KeptDrawing(Drawing):
        def __init__(self) -> None:
            super().__init__()
            drawings.append(self)

    monkeypatch.setattr(svg_logos, "Drawing", KeptDrawing)
    TARGETS["logo"].run(INPUTS["logo"]["known-references"])

    (drawing,) = drawings
    sets = {id(each.inherited): each.inherited for each in drawing._elements}
    assert len(drawing._elements) > 2_000
    assert sum(map(len, sets.values())) <= 2 * len(drawing._elements)
