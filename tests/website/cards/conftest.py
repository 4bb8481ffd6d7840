"""A card of the demonstration's programme manager, and a user who is linked to that programme manager."""

from __future__ import annotations

import pytest

from tests.cards.issuer import Issuer, NewCard
from tests.causeway import Causeway
from tests.website.cards.cards import link
from tests.website.person import Person


@pytest.fixture
def issuer(causeway: Causeway) -> Issuer:
    return Issuer(causeway)


@pytest.fixture
def card(issuer: Issuer) -> NewCard:
    """A card with 500.00 EUR."""
    return issuer.spendable(500_00)


@pytest.fixture
def colleague(causeway: Causeway, user: Person, email: str) -> Person:
    """A user who is linked to the demonstration's programme manager."""
    link(causeway, email)
    return user
