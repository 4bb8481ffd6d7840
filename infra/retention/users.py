"""Removes the data of users of the web interface."""

from __future__ import annotations

from collections.abc import Iterator

from chalicelib.bootstrap import Hub
from chalicelib.foundation.dynamodb.store import Item, Store
from chalicelib.website.records.journeys import owner_of_journeys
from chalicelib.website.records.sessions import TABLE
from chalicelib.website.records.users import normalise_email, user_key
from infra.retention.errors import NotErasable
from infra.retention.kinds import BY_NAME


def erase_user(hub: Hub, email: str) -> list[str]:
    """Delete a user's account, sessions, unused links and journeys. Returns the kinds that were removed.

    Sessions are deleted because they would become valid again if the email address were registered again. Repeat an
    interrupted call to remove the remaining data.

    Raises:
        NotErasable: the user has a client that is not archived.
        InvalidUser.
        UnknownUser: no data of this user is stored.
    """
    name = normalise_email(email)
    if any(not each.is_archived for each in hub.openbanking.clients.all(name)):
        raise NotErasable(f"{name} has a client that is not archived: archive it first with `clients archive`")
    removed = {*_delete_account(hub, name), *_delete_items(hub.store, name)}
    if not removed:
        hub.website.users.get(name)  # raises UnknownUser
    return [kind for kind in BY_NAME if kind in removed]


def _delete_account(hub: Hub, email: str) -> Iterator[str]:
    if hub.website.users.find(email) is not None:
        hub.store.delete(*user_key(email))
        yield "user-account"


def _delete_items(store: Store, email: str) -> Iterator[str]:
    for item in store.scan(TABLE):
        if (kind := _kind_of(item, email)) is not None:
            store.delete(TABLE, {"owner": item["owner"], "part": item["part"]})
            yield kind


def _kind_of(item: Item, email: str) -> str | None:
    if item["owner"] == owner_of_journeys(email):
        return "journeys"
    return "sessions" if item.get("email") == email else None
