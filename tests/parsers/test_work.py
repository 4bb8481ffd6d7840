"""No input of the maximum size takes a parser more than linear work.

Linear work takes a fraction of a second of processor time, quadratic work minutes. What is counted is the time of this
process alone, so that a busy machine makes no difference.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.parsers.longest_input import INPUTS
from tests.parsers.targets import TARGETS

PROCESSOR_SECONDS = 3
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
