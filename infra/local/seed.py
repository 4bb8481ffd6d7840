"""What a fresh stack holds: the service's keys, one user, one client, and the demonstration banks."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from chalicelib.bootstrap import Hub

EMAIL = "tpp@example.com"
TITLE = "Example TPP"


def sow(hub: Hub, previous: Mapping[str, Any] | None) -> dict[str, Any]:
    """Make what is missing; answers the members ``user``, ``client`` and ``banks`` of the stack's file.

    Args:
        hub: the wired service.
        previous: what an earlier stack on the same records kept; its user and client are used again if they are
            still there.
    """
    from chalicelib.demo_bank.setup import install

    before = previous or {}
    hub.keyring.initialise()
    user = _user(hub, before.get("user") or {})
    client = _client(hub, user["email"], before.get("client") or {})
    banks = [
        {
            "bic": bank.bic,
            "name": bank.name,
            "api_version": bank.api_version,
            "domain": bank.domain,
            "authorization_url": bank.authorization_url,
        }
        for bank in install(hub)
    ]
    return {"user": user, "client": client, "banks": banks}


def _user(hub: Hub, before: Mapping[str, Any]) -> dict[str, str]:
    """A user whose password is known: the one of before, a new one, or, if that email is taken, another one."""
    from chalicelib.website.users import UserExists

    if before and hub.users.find(before["email"]):
        return {"email": before["email"], "password": before["password"]}
    password = secrets.token_urlsafe(12)
    name, _, domain = EMAIL.partition("@")
    for email in (EMAIL, f"{name}+{secrets.token_hex(4)}@{domain}"):
        try:
            hub.users.register(email, password, terms_accepted=True)
        except UserExists:
            continue
        return {"email": email, "password": password}
    raise UserExists(EMAIL)


def _client(hub: Hub, owner: str, before: Mapping[str, Any]) -> dict[str, Any]:
    """The client of before if its callback still leads here, else a new one."""
    from chalicelib.openbanking.clients import UnknownClient

    if before:
        try:
            found = hub.clients.get(before["client_id"])
        except UnknownClient:
            found = None
        if found and found.active and found.callback_url == hub.clients.default_callback:
            return dict(before)
    made = hub.clients.create(owner=owner, title=TITLE)
    return {
        "client_id": made.client.client_id,
        "client_secret": made.secret,
        "title": made.client.title,
        "callback_url": made.client.callback_url,
    }
