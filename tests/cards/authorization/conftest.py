"""What tests of the card network stand on."""

from __future__ import annotations

import pytest

from tests.cards.authorization.issuers import with_issuer
from tests.cards.scenes import Scene


@pytest.fixture(scope="module")
def issuer(stage: Scene) -> Scene:
    """A programme manager that declines for every reason there is."""
    return with_issuer(stage)
