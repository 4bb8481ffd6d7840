"""A user's clients, newest first, page by page.

The index ``newest`` has every client under its owner, sorted by the time of its creation. The index is not sharded,
because a user creates few clients per second. A page takes one query, or two if its filter excludes many of the first
rows. A query ends at 1 MB of data, so a page may examine fewer clients than ``EXAMINED``. The index may lag behind. A
complete Client ID is read from the table instead, strongly consistent.
"""

from __future__ import annotations

import re
from dataclasses import replace

from chalicelib.foundation.dynamodb.store import Item, Page, Store
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.foundation.search_text import fold
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
    """A filter for clients.

    Attributes:
        title: a part of the title. Case and diacritics are ignored.
        client_id: a part of the Client ID, in lower case.
        active: whether to list active or inactive clients, or ``None`` for all.
        archived: whether to list the archived clients or all others, or ``None`` for all.
    """

    title: str = ""
    client_id: str = ""
    active: bool | None = None
    archived: bool | None = False

    def matches(self, client: Client) -> bool:
        return (
            (not self.title or fold(self.title) in fold(client.title))
            and self.client_id in client.client_id
            and self.active in (None, client.active)
            and self.archived in (None, client.is_archived)
        )


@dataclass(frozen=True, slots=True)
class ClientPage:
    """A page of clients. Pass ``next`` as ``after`` to get the following page. It is ``None`` on the last page.

    ``is_cut`` is true if the search ended before the page was full, so older clients may match. ``examined`` is the
    number of clients that the search examined. A search for a complete Client ID examines no clients.
    """

    clients: list[Client]
    next: str | None = None
    is_cut: bool = False
    examined: int = 0


class ClientList:
    """Lists the clients of users."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def page(self, owner: str, wanted: ClientFilter, limit: int, after: str = "") -> ClientPage:
        """Return at most ``limit`` matching clients. An invalid cursor in ``after`` starts at the first client.

        A complete Client ID is found in any state, unless ``wanted`` specifies a state.
        """
        if _WHOLE_ID.fullmatch(wanted.client_id):
            names_state = wanted.active is not None or wanted.archived
            wanted = wanted if names_state else replace(wanted, archived=None)
            return ClientPage([client for client in self._find(owner, wanted.client_id) if wanted.matches(client)])
        found: list[Client] = []
        examined, position = 0, _read_cursor(owner, after)
        for size in (limit + 1, EXAMINED - limit - 1):
            rows = self._query(owner, size, position)
            examined += len(rows.items)
            found += _matching(rows, wanted)
            if len(found) > limit:
                following = _cursor(found[limit - 1].created_at, found[limit - 1].client_id)
                return ClientPage(found[:limit], following, examined=examined)
            if rows.next is None:
                return ClientPage(found, examined=examined)
            position = rows.next
        assert position is not None, "the last query did not reach the oldest client"
        following = _cursor(position["created_at"], position["client_id"])
        return ClientPage(found, following, is_cut=True, examined=examined)

    def choices(self, owner: str, chosen: str = "", *, active: bool = False) -> ClientPage:
        """Return a user's newest clients that are not archived, and the ``chosen`` client. If ``active`` is true, omit
        inactive clients.

        The result has at most ``CHOICES`` clients in addition to the chosen client. The chosen client may be archived.
        It is read separately if it is not one of the newest clients.

        The first query examines the newest ``CHOICES`` clients. If only some of them match, a second query examines up
        to twice that number. If none of them match, up to ``EXAMINED`` clients are examined in total.
        """
        wanted = ClientFilter(active=active or None)
        rows = self._query(owner, CHOICES)
        examined, newest = len(rows.items), _matching(rows, wanted)
        if len(newest) < CHOICES and rows.next is not None:
            rows = self._query(owner, 2 * CHOICES if newest else EXAMINED - CHOICES, rows.next)
            examined, newest = examined + len(rows.items), (newest + _matching(rows, wanted))[:CHOICES]
        is_cut = len(newest) < CHOICES and rows.next is not None
        if chosen and all(client.client_id != chosen for client in newest):
            newest += [client for client in self._find(owner, chosen) if client.active or not active]
        return ClientPage(newest, is_cut=is_cut, examined=examined)

    def _query(self, owner: str, limit: int, after: Item | None = None) -> Page:
        return self._store.query(TABLE, ("owner", owner), index=INDEX, after=after, limit=limit, newest_first=True)

    def _find(self, owner: str, client_id: str) -> list[Client]:
        """Return a list with the user's client with this id, or an empty list."""
        item = self._store.get(*client_key(client_id)) if len(client_id) <= CLIENT_ID_LENGTH else None
        return [Client.from_item(item)] if item is not None and item.get("owner") == owner else []


def _matching(rows: Page, wanted: ClientFilter) -> list[Client]:
    return [client for item in rows.items if wanted.matches(client := Client.from_item(item))]


def _cursor(created_at: int, client_id: str) -> str:
    return f"{created_at}-{client_id}"


def _read_cursor(owner: str, cursor: str) -> Item | None:
    """Return the index key of a cursor. A cursor needs no signature, because a query returns only rows of ``owner``."""
    found = _CURSOR.fullmatch(cursor)
    return {"owner": owner, "created_at": int(found[1]), "client_id": found[2]} if found else None
