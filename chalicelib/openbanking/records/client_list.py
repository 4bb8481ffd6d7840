"""A user's clients, newest first, page by page.

The index ``newest`` has every client under its owner, sorted by the time of its creation. It is not sharded: a user
creates few clients per second. A page takes one query, or two if its filter drops many of the first rows. The index may
lag behind, except for a whole Client ID, which is read from the table, strongly consistent.
"""

from __future__ import annotations

import re

from chalicelib.foundation.dynamodb.store import Item, Store
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.openbanking.records.client_record import CLIENT_ID_LENGTH, TABLE, Client, client_key

INDEX = "newest"
EXAMINED = 1000
"""The maximum number of clients that a page examines."""
CHOICES = 100
"""The maximum number of newest clients that a form offers."""
_WHOLE_ID = re.compile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_CURSOR = re.compile(rf"([0-9]{{1,13}})-([\x21-\x7e]{{1,{CLIENT_ID_LENGTH}}})")


@dataclass(frozen=True, slots=True)
class ClientFilter:
    """Which clients to list.

    Attributes:
        title: a part of the title, in any case.
        client_id: a part of the Client ID, in lower case.
        active: ``None`` for both.
        archived: whether to list the archived clients, or all others.
    """

    title: str = ""
    client_id: str = ""
    active: bool | None = None
    archived: bool = False

    def matches(self, client: Client) -> bool:
        return (
            self.title.casefold() in client.title.casefold()
            and self.client_id in client.client_id
            and self.active in (None, client.active)
            and self.archived == client.is_archived
        )


@dataclass(frozen=True, slots=True)
class ClientPage:
    """A page of clients; pass ``next`` as ``after`` to get the following page. It is ``None`` on the last page.

    ``is_cut`` says that the search ended before the page was full: older clients may match.
    """

    clients: list[Client]
    next: str | None = None
    is_cut: bool = False


class ClientList:
    """Lists the clients of users."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def page(self, owner: str, wanted: ClientFilter, limit: int, after: str = "") -> ClientPage:
        """At most ``limit`` clients that match; ``after`` is the cursor of a page, anything else stands for none."""
        if _WHOLE_ID.fullmatch(wanted.client_id):
            return ClientPage([client for client in self._find(owner, wanted.client_id) if wanted.matches(client)])
        found: list[Client] = []
        position = _read_cursor(owner, after)
        for size in (limit + 1, EXAMINED - limit - 1):
            rows = self._store.query(
                TABLE, ("owner", owner), index=INDEX, after=position, limit=size, newest_first=True
            )
            found += [client for item in rows.items if wanted.matches(client := Client.from_item(item))]
            if len(found) > limit:
                return ClientPage(found[:limit], _cursor(found[limit - 1].created_at, found[limit - 1].client_id))
            if rows.next is None:
                return ClientPage(found)
            position = rows.next
        assert position is not None, "the last query did not reach the oldest client"
        return ClientPage(found, _cursor(position["created_at"], position["client_id"]), is_cut=True)

    def choices(self, owner: str, chosen: str = "", *, active: bool = False) -> list[Client]:
        """The newest clients that are not archived, and the ``chosen`` one; if ``active``, only active ones.

        At most ``CHOICES`` and the chosen one, which may be archived, and is read on its own if it is not among them.
        """
        newest = self.page(owner, ClientFilter(active=active or None), CHOICES).clients
        if not chosen or any(client.client_id == chosen for client in newest):
            return newest
        return newest + [client for client in self._find(owner, chosen) if client.active or not active]

    def _find(self, owner: str, client_id: str) -> list[Client]:
        """The user's client with this id, or none."""
        item = self._store.get(*client_key(client_id)) if len(client_id) <= CLIENT_ID_LENGTH else None
        return [Client.from_item(item)] if item is not None and item.get("owner") == owner else []


def _cursor(created_at: int, client_id: str) -> str:
    return f"{created_at}-{client_id}"


def _read_cursor(owner: str, cursor: str) -> Item | None:
    """The index key at a cursor. It needs no signature: whatever it says, the rows are those of ``owner``."""
    found = _CURSOR.fullmatch(cursor)
    return {"owner": owner, "created_at": int(found[1]), "client_id": found[2]} if found else None
