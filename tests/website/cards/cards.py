"""Users who are linked to the demonstration's programme manager."""

from __future__ import annotations

from tests.cards.issuer import MANAGER
from tests.causeway import Causeway


def link(causeway: Causeway, email: str, manager_id: int = MANAGER) -> None:
    """As the operator does it; not registered, which would cost a password hash."""
    causeway.hub.store.put("users", {"email": email, "password_hash": "", "created_at": 0, "manager_id": manager_id})
