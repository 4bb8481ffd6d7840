"""Users who are linked to the demonstration's programme manager."""

from __future__ import annotations

from tests.cards.scenes import MANAGER
from tests.world import World


def link(world: World, email: str, manager_id: int = MANAGER) -> None:
    """As the operator does it; not registered, which would cost a password hash."""
    world.hub.store.put("users", {"email": email, "password_hash": "", "created_at": 0, "manager_id": manager_id})
