"""What tests of the card API stand on."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.cards.scenes import Scene
from tests.causeway import Causeway


@pytest.fixture
def scene(causeway: Causeway) -> Scene:
    """A programme manager before empty tables."""
    return Scene(causeway)


@pytest.fixture(scope="module")
def stage(shared_causeway: Causeway) -> Iterator[Scene]:
    """A programme manager whom all tests of a module share; none of them may have ``scene`` or ``causeway``."""
    causeway = shared_causeway.again()
    with causeway.installed():
        yield Scene(causeway)
