"""The issuers of the card API's tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.cards.issuer import Issuer
from tests.causeway import Causeway


@pytest.fixture
def issuer(causeway: Causeway) -> Issuer:
    """An issuer without records."""
    return Issuer(causeway)


@pytest.fixture(scope="module")
def shared_issuer(shared_causeway: Causeway) -> Iterator[Issuer]:
    """An issuer that all tests of a module share; none of them may use ``issuer`` or ``causeway``."""
    causeway = shared_causeway.again()
    with causeway.installed():
        yield Issuer(causeway)
