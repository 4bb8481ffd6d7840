"""The portal of the cards of one module."""

from __future__ import annotations

import pytest

from chalicelib.cards.portal.portal import Portal
from tests.cards.issuer import Issuer


@pytest.fixture
def portal(shared_issuer: Issuer) -> Portal:
    return shared_issuer.hub.cards.portal
