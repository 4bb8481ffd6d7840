"""The stage that tests over the protocol's rows share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.openbanking.stage import Stage
from tests.world import World


@pytest.fixture(scope="module")
def stage(shared_world: World) -> Iterator[Stage]:
    """One service, one client and one bearer per version for a whole module; not to be mixed with ``world``."""
    world = shared_world.again()
    stage = Stage(world)
    with world.installed():
        for version in (1, 2):
            stage.bearer(version)
        with world._instead("batch_get", stage.read):
            yield stage
