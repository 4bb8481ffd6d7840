"""Usage counters of cards, accounts and holders: one item each, with a version condition.

A card's item also has the time of the last row in its lists, which keeps them in one order.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field, replace
from typing import Any, Literal

from boto3.dynamodb.conditions import Attr

from chalicelib.cards.ledger.limits import Window, Windows, WindowUsage, release_counts
from chalicelib.cards.ledger.transaction_record import TABLE
from chalicelib.cards.storage.record import Key
from chalicelib.foundation.dynamodb.store import Item, Put, absent
from chalicelib.foundation.lazy_dataclasses import dataclass

Owner = Literal["card", "account", "holder"]


@dataclass(frozen=True, slots=True)
class Counters:
    """The windows of one owner; ``version`` counts their changes from 1, and is 0 as long as nothing was counted.

    ``last_at``: of a card, when the last row of its lists was recorded, in Unix milliseconds.
    """

    owner: str
    version: int = 0
    windows: Windows = field(default_factory=dict)
    last_at: int = 0

    @classmethod
    def from_item(cls, kind: Owner, number: int, item: Item | None) -> Counters:
        """The counters at ``key``."""
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
    """Changes to counters and card lists in one transaction; each owner's counters are written once."""

    def __init__(self) -> None:
        self._changed: dict[str, tuple[Counters, Counters]] = {}

    def copy(self) -> CounterChanges:
        """A copy, to try a movement that may be refused."""
        copied = CounterChanges()
        copied.assign(self)
        return copied

    def assign(self, other: CounterChanges) -> None:
        self._changed = dict(other._changed)

    def current(self, kept: Counters) -> Counters:
        """An owner's current counters; ``kept`` are those that were read."""
        return self._changed.get(kept.owner, (kept, kept))[1]

    def change(self, kept: Counters, windows: Windows) -> None:
        self._changed[kept.owner] = kept, replace(self.current(kept), windows=windows)

    def give_back(self, kept: Counters, counted: Iterable[WindowUsage]) -> None:
        self.change(kept, release_counts(self.current(kept).windows, counted))

    def note_listing(self, kept: Counters, at: int) -> None:
        """Note that something is listed under a card, recorded at ``at`` (Unix milliseconds)."""
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
