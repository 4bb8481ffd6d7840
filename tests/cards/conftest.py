"""Fixtures of issuers for the card API's tests."""

from collections.abc import Iterator

import pytest

from chalicelib.cards.portal.portal import Portal
from tests.cards.authorization.issuers import with_strict_rules
from tests.cards.issuer import Issuer
from tests.causeway import Causeway


@pytest.fixture
def new_issuer(causeway: Causeway) -> Issuer:
    return Issuer(causeway)


@pytest.fixture(scope="module")
def issuer(shared_causeway: Causeway) -> Iterator[Issuer]:
    """Yield an issuer shared by all tests of a module. These tests must not use ``new_issuer`` or ``causeway``."""
    causeway = shared_causeway.again()
    with causeway.installed():
        yield Issuer(causeway)


@pytest.fixture(scope="module")
def strict_issuer(issuer: Issuer) -> Issuer:
    return with_strict_rules(issuer)


@pytest.fixture
def portal(issuer: Issuer) -> Portal:
    return issuer.hub.cards.portal
