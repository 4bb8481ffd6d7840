"""The stage that tests over the protocol's rows share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.causeway import Causeway
from tests.openbanking.stage import Stage


@pytest.fixture(scope="module")
def stage(shared_causeway: Causeway) -> Iterator[Stage]:
    """One service, one client and one bearer per version for a whole module; not to be mixed with ``causeway``."""
    causeway = shared_causeway.again()
    stage = Stage(causeway)
    with causeway.installed():
        for version in (1, 2):
            stage.bearer(version)
        with causeway._instead("batch_get", stage.read):
            yield stage
