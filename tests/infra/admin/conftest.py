"""What all commands of the operator's command line share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.cheap_hashes import cheap_hashes


@pytest.fixture(autouse=True)
def quick_hashes() -> Iterator[None]:
    """Passwords are hashed as cheaply as can be."""
    with cheap_hashes():
        yield
