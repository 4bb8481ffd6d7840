"""A user's clients in the order and number in which pages offer them."""

from __future__ import annotations

from collections.abc import Sequence

from chalicelib.openbanking.records.client_record import Client
from chalicelib.openbanking.records.clients import Clients

MAX_CHOICES = 100
"""So many clients can be chosen from in a form: a page stays small."""


def newest_first(clients: Clients, owner: str) -> Sequence[Client]:
    """All clients of a user."""
    return sorted(clients.all(owner), key=lambda client: client.created_at, reverse=True)


def select_choices(own: Sequence[Client], chosen: str = "", *, active: bool = False) -> Sequence[Client]:
    """The first of a user's clients, with the ``chosen`` one wherever it stands; only ``active`` ones, if asked."""
    fitting = [client for client in own if client.active or not active]
    return fitting[:MAX_CHOICES] + [client for client in fitting[MAX_CHOICES:] if client.client_id == chosen]
