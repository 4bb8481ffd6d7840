"""The service that the tests of webhooks share."""

from collections.abc import Iterator

import pytest

from tests.causeway import Causeway
from tests.openbanking.relay import Relay


@pytest.fixture(scope="module")
def relay(shared_causeway: Causeway) -> Iterator[Relay]:
    """Run one service for all tests of a module. Do not use this fixture together with the fixture ``causeway``."""
    causeway = shared_causeway.again()
    relay = Relay(causeway)
    with causeway.installed():
        for version in (1, 2):
            relay.bearer(version)
        with causeway.replace_method("batch_get", relay.read):
            yield relay
