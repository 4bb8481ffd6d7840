"""Removes the data of users of the web interface."""

from __future__ import annotations

from chalicelib.bootstrap import Hub
from chalicelib.foundation.dynamodb.store import Item
from chalicelib.website.records.journeys import owner_of_journeys
from chalicelib.website.records.sessions import TABLE
from chalicelib.website.records.users import user_key
from infra.retention.errors import NotErasable
from infra.retention.kinds import BY_NAME


def erase_user(hub: Hub, email: str) -> list[str]:
    """Delete a user's account, sessions, unused links and journeys. Returns the kinds that were removed.

    Sessions are deleted, too, or one would be valid again if the address were registered anew.

    Raises:
        NotErasable: the user has a client that is not archived.
        InvalidUser, UnknownUser.
    """
    user = hub.website.users.get(email)
    if any(not each.is_archived for each in hub.openbanking.clients.all(user.email)):
        raise NotErasable(f"{user.email} has a client that is not archived: archive it first with `clients archive`")
    hub.store.delete(*user_key(user.email))
    removed = {"user-account"}
    for item in hub.store.scan(TABLE):
        if (kind := _kind_of(item, user.email)) is not None:
            hub.store.delete(TABLE, {"owner": item["owner"], "part": item["part"]})
            removed.add(kind)
    return [name for name in BY_NAME if name in removed]


def _kind_of(item: Item, email: str) -> str | None:
    """The kind of a user's item in the table; ``None`` for any other item."""
    if item["owner"] == owner_of_journeys(email):
        return "journeys"
    return "sessions" if item.get("email") == email else None
