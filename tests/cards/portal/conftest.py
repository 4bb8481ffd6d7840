"""The portal on the stage of a module's cards."""

from __future__ import annotations

import pytest

from chalicelib.cards.portal.portal import Portal
from tests.cards.scenes import Scene


@pytest.fixture
def portal(stage: Scene) -> Portal:
    return stage.hub.cards.portal
