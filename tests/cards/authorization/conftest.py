"""What tests of the card network stand on."""

from __future__ import annotations

import pytest

from tests.cards.authorization.issuers import with_strict_rules
from tests.cards.issuer import Issuer


@pytest.fixture(scope="module")
def strict_issuer(shared_issuer: Issuer) -> Issuer:
    """A programme manager that declines for every reason there is."""
    return with_strict_rules(shared_issuer)
