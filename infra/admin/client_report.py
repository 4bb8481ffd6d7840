"""The output of the client commands: a client, its changes and its new secrets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from chalicelib.foundation.clock import timestamp
from chalicelib.openbanking.records.client_record import Client, ClientChange, Registered
from infra.admin import client_security
from infra.admin.output import ONCE


def format_events_secret(made: Registered) -> str:
    """Format a new events secret for printing. Return an empty text if no secret was created."""
    return f"\n\nThe secret of its events: {made.events_secret}\n{ONCE}" if made.events_secret else ""


def client_members(client: Client) -> dict[str, Any]:
    """Return a client's members without the hashes of its secrets and without its events secrets."""
    return {
        **{name: getattr(client, name) for name in ("client_id", "title", "owner", "active")},
        "callback_urls": list(client.callback_urls),
        **{name: getattr(client, name) for name in ("registration_number", "events_url", "has_secret")},
        "events": client.events_mode,
        "has_events_secret": bool(client.event_secrets),
        "calls_per_minute": client.calls_per_minute,
        **client_security.describe_security(client),
        "created_at": timestamp(client.created_at),
        **({"archived_at": timestamp(client.archived_at)} if client.archived_at is not None else {}),
    }


def change_members(change: ClientChange) -> dict[str, Any]:
    names = ("revision", "by", "action", "before", "after")
    return {"at": timestamp(change.at), **{name: getattr(change, name) for name in names}}


def summarize_change(row: Mapping[str, Any]) -> str:
    """Summarise a change in one line."""
    return "; ".join(f"{name.replace('_', ' ')}: {_format_value(value)}" for name, value in row["after"].items()) or "-"


def _format_value(value: object) -> str:
    if isinstance(value, dict):  # a key set
        return ", ".join(str(key.get("kid")) for key in value["keys"])
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value or "none")
