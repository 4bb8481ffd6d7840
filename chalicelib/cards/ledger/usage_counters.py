"""Usage counters of cards, accounts and holders, each stored in one versioned item.

A card's item also holds the time of the last row in its lists, which keeps the rows in order.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field, replace
from typing import Any, Literal

from chalicelib.cards.ledger.limits import Window, Windows, WindowUsage, release_counts
from chalicelib.cards.ledger.transaction_record import TABLE
from chalicelib.foundation.dynamodb.conditions import Attr
from chalicelib.foundation.dynamodb.store import Item, Put, absent
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.foundation.requests.facts import Key

Owner = Literal["card", "account", "holder"]


@dataclass(frozen=True, slots=True)
class Counters:
    """The windows of one owner. ``version`` is the number of writes, 0 before the first.

    ``last_at``: the time of the last row in a card's lists, in Unix milliseconds.
    """

    owner: str
    version: int = 0
    windows: Windows = field(default_factory=dict)
    last_at: int = 0

    @classmethod
    def from_item(cls, kind: Owner, number: int, item: Item | None) -> Counters:
        """The counters stored in an item; empty if there is no item."""
        owner = f"{kind}#{number}"
        if item is None:
            return cls(owner)
        windows = {key: _read_window(plain) for key, plain in item["windows"].items()}
        return cls(owner, item["version"], windows, item.get("last_at", 0))

    def put(self, after: Counters, write_id: str) -> Put:
        """A conditional put of the ``after`` counters; fails if they were changed concurrently."""
        item: Item = {
            **_item_key(self.owner),
            "version": self.version + 1,
            "windows": {key: _window_item(window) for key, window in after.windows.items()},
            "written_by": write_id,
            **({"last_at": after.last_at} if after.last_at else {}),
        }
        return Put(TABLE, item, Attr("version").eq(self.version) if self.version else absent("owner"))


class CounterChanges:
    """Counter and card-list changes for one DynamoDB transaction; each owner's counters are written once."""

    def __init__(self) -> None:
        self._changed: dict[str, tuple[Counters, Counters]] = {}

    def copy(self) -> CounterChanges:
        """A copy with which to try a movement that may be refused."""
        copied = CounterChanges()
        copied.assign(self)
        return copied

    def assign(self, other: CounterChanges) -> None:
        self._changed = dict(other._changed)

    def current(self, kept: Counters) -> Counters:
        """An owner's counters with all changes so far; ``kept`` is their state as read."""
        return self._changed.get(kept.owner, (kept, kept))[1]

    def change(self, kept: Counters, windows: Windows) -> None:
        self._changed[kept.owner] = kept, replace(self.current(kept), windows=windows)

    def give_back(self, kept: Counters, counted: Iterable[WindowUsage]) -> None:
        self.change(kept, release_counts(self.current(kept).windows, counted))

    def note_listing(self, kept: Counters, at: int) -> None:
        """Record the time (Unix milliseconds) of a new row in a card's lists."""
        self._changed[kept.owner] = kept, replace(self.current(kept), last_at=max(at, self.current(kept).last_at))

    def operations(self, write_id: str) -> list[Put]:
        return [kept.put(after, write_id) for kept, after in self._changed.values()]


def key(kind: Owner, number: int) -> Key:
    """The key of a card's, account's or holder's counters."""
    return TABLE, _item_key(f"{kind}#{number}")


def _item_key(owner: str) -> Item:
    return {"owner": owner, "part": "limits"}


def _window_item(window: Window) -> Item:
    """The stored form of a window; map keys must be strings."""
    countries = {str(country): movements for country, movements in window.countries.items()}
    return {"start": window.start, "count": window.count, "amount": window.amount, "countries": countries}


def _read_window(plain: Mapping[str, Any]) -> Window:
    countries = {int(country): movements for country, movements in plain["countries"].items()}
    return Window(plain["start"], plain["count"], plain["amount"], countries)
