"""Deliveries of a user's client, and test events."""

from __future__ import annotations

from tests.website.person import Person
from tests.world import World


def send(world: World) -> None:
    """Make the next attempt at everything that is due."""
    for delivery in world.recorded():
        if delivery.state == "due":
            world.hub.delivery.worker.attempt(delivery.delivery_id)


def send_test_event(user: Person, client_id: str) -> str:
    """Send a test event; answers the address of its delivery."""
    user.post(f"/clients/{client_id}", action="test-event")
    assert user.last.status == 303
    return user.last.headers["location"].partition("?")[0]
