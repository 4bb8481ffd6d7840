"""Removes the data of users of the web interface."""

from __future__ import annotations

from chalicelib.bootstrap import Hub
from chalicelib.website.records.journeys import owner_of_journeys
from chalicelib.website.records.sessions import TABLE
from chalicelib.website.records.users import user_key
from infra.retention.errors import NotErasable


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
    for item in hub.store.scan(TABLE):
        if item.get("email") == user.email or item["owner"] == owner_of_journeys(user.email):
            hub.store.delete(TABLE, {"owner": item["owner"], "part": item["part"]})
    return ["user-account", "journeys"]
