"""A programme manager's list of cards, as the portal reads it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from chalicelib.cards.portal.portal import Portal
from tests.cards.issuer import MANAGER


def listed(portal: Portal, **members: Any) -> Mapping[str, Any]:
    """A page of 20 cards, unless ``members`` say otherwise."""
    return portal.read(MANAGER, "listCards", **{"item_count": 20} | members)
