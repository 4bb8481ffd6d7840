"""Deliveries of a user's client, and test events."""

from __future__ import annotations

from tests.causeway import Causeway
from tests.website.person import Person


def send(causeway: Causeway) -> None:
    """Make the next attempt at everything that is due."""
    for delivery in causeway.recorded():
        if delivery.state == "due":
            causeway.hub.delivery.worker.attempt(delivery.delivery_id)


def send_test_event(user: Person, client_id: str) -> str:
    """Send a test event; answers the address of its delivery."""
    user.post(f"/clients/{client_id}", action="test-event")
    assert user.last.status == 303
    return user.last.headers["location"].partition("?")[0]
