"""Many small cases in one test: all of them are tried, and those that fail are told together, by their names."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

import pytest

Case = Callable[[object], AbstractContextManager[None]]


@contextmanager
def cases() -> Iterator[Case]:
    """``with case(name):`` is one of them. Raises: AssertionError: when a case failed, or there was none."""
    names: list[object] = []
    failed: dict[object, str] = {}

    @contextmanager
    def case(name: object) -> Iterator[None]:
        names.append(name)
        try:
            yield
        except (Exception, pytest.fail.Exception) as problem:
            failed[name] = f"{type(problem).__name__}: {problem}"

    yield case
    assert names, "there is no case"
    assert not failed, "\n".join([f"{len(failed)} of {len(names)} cases failed:", *map(": ".join, _shown(failed))])


def _shown(failed: dict[object, str]) -> Iterator[tuple[str, str]]:
    return ((str(name), problem) for name, problem in failed.items())
