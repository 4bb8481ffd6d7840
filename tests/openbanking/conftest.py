"""The service that tests of the protocol's rows share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.causeway import Causeway
from tests.openbanking.relay import Relay


@pytest.fixture(scope="module")
def relay(shared_causeway: Causeway) -> Iterator[Relay]:
    """One service, one client and one bearer per version for a whole module; not to be mixed with ``causeway``."""
    causeway = shared_causeway.again()
    relay = Relay(causeway)
    with causeway.installed():
        for version in (1, 2):
            relay.bearer(version)
        with causeway.replace_method("batch_get", relay.read):
            yield relay
