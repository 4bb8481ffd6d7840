"""A client's consents, newest first, page by page.

The index ``client`` lists each client's consents by creation time, including consents saved before the index existed.
The index is not sharded, because a client gets few new consents per second. A page takes one query, or two if its
filter excludes many of the first rows. The index also has the attributes that filters compare. These attributes change
only with a consent's status, so reading a consent or refreshing a token does not update the index. The index may lag
behind the table, so the consents of a page are read from the table with strong consistency.
"""

from __future__ import annotations

from collections.abc import Sequence

from chalicelib.foundation.clock import Clock
from chalicelib.foundation.crypto.keyring import Keyring
from chalicelib.foundation.crypto.signed_cursors import InvalidCursor, SignedCursors
from chalicelib.foundation.dynamodb.store import Item, Store
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.openbanking.protocol import refusals
from chalicelib.openbanking.protocol.bics import is_same_bank
from chalicelib.openbanking.protocol.tpp_calls import ConsentsQuery
from chalicelib.openbanking.records.consents import TABLE, Consent, consent_key, state_of

INDEX = "client"
EXAMINED = 1000
"""The maximum number of consents that a page with a filter examines."""
_EXAMINED_FIRST = 10
"""The number of consents that the first query of a filtered page reads for each consent that the page can contain."""
_PURPOSE = "openbanking/consents-after"
_ID_LENGTH = 64


@dataclass(frozen=True, slots=True)
class ConsentPage:
    """A page of consents. Pass ``next`` as ``after`` to get the following page. It is ``None`` on the last page."""

    consents: Sequence[Consent]
    next: str | None


class ConsentList:
    """Reads a client's consents in two round trips: the index, and the consents themselves.

    Cursors are positions in the index, signed for the client, so that they cannot be forged.
    """

    def __init__(self, store: Store, keyring: Keyring, clock: Clock) -> None:
        self._store = store
        self._cursors = SignedCursors(keyring, _PURPOSE)
        self._clock = clock

    def page(self, client_id: str, query: ConsentsQuery) -> ConsentPage:
        """Return at most ``query.limit`` consents that match ``query``. A page may have fewer even if more follow.

        Raises:
            Refusal: ``query.after`` is not a cursor of this client.
        """
        after = self._read_cursor(client_id, query.after) if query.after is not None else None
        selected, last = self._select(client_id, query, after)
        return ConsentPage(self._read(selected, query), self._cursor(client_id, last) if last else None)

    def find(self, consent_id: str) -> Consent | None:
        """Return one consent, strongly consistent, or ``None`` if no consent has this id."""
        item = self._store.get(*consent_key(consent_id)) if 0 < len(consent_id) <= _ID_LENGTH else None
        return Consent.from_item(item) if item else None

    def _select(self, client_id: str, query: ConsentsQuery, after: Item | None) -> tuple[Sequence[Item], Item | None]:
        """Return the first matching rows. If further rows follow, also return the last row that was examined."""
        selected: list[Item] = []
        for size in _sizes(query):
            rows = self._store.query(
                TABLE, ("client_id", client_id), index=INDEX, after=after, limit=size, newest_first=True
            )
            for row in rows.items:
                if len(selected) == query.limit:
                    return selected, after
                after = row
                selected += [row] if self._matches(row, query) else []
            after = rows.next
            if after is None or len(selected) == query.limit:
                break
        return selected, after

    def _matches(self, row: Item, query: ConsentsQuery) -> bool:
        state = state_of(row["status"], row["valid_until"], self._clock.time())
        return query.status in (None, state) and (query.bic is None or is_same_bank(query.bic, row["bic"]))

    def _read(self, rows: Sequence[Item], query: ConsentsQuery) -> list[Consent]:
        """Read the consents of index rows. Consents that have changed and no longer match are omitted."""
        found = self._store.batch_get([consent_key(row["consent_id"]) for row in rows]) if rows else []
        return [Consent.from_item(item) for item in found if item is not None and self._matches(item, query)]

    # -- cursors

    def _cursor(self, client_id: str, row: Item) -> str:
        return self._cursors.sign(client_id, f"{row['created_at']}~{row['consent_id']}")

    def _read_cursor(self, client_id: str, cursor: str) -> Item:
        """Return the index key at a cursor. Raises: Refusal."""
        try:
            created_at, _, consent_id = self._cursors.read(client_id, cursor).partition("~")
        except InvalidCursor:
            raise refusals.CURSOR_INVALID() from None
        _, key = consent_key(consent_id)
        return {**key, "client_id": client_id, "created_at": int(created_at)}


def _sizes(query: ConsentsQuery) -> Sequence[int]:
    """Return the numbers of rows that a page's queries read. Without a filter, one extra row detects a further page."""
    if query.bic is None and query.status is None:
        return [query.limit + 1]
    first = query.limit * _EXAMINED_FIRST
    return [first, EXAMINED - first] if first < EXAMINED else [EXAMINED]
