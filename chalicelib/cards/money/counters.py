"""What a card, an account or a holder has used of its limits: one item each, conditioned on its version."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from boto3.dynamodb.conditions import Attr

from chalicelib.cards.money.limits import Window, Windows
from chalicelib.cards.money.transactions import TABLE
from chalicelib.cards.record import Key
from chalicelib.foundation.store import Item, Put, absent

Owner = Literal["card", "account", "holder"]


@dataclass(frozen=True, slots=True)
class Counters:
    """The windows of one owner; ``version`` counts their changes from 1, and is 0 as long as nothing was counted."""

    owner: str
    version: int = 0
    windows: Windows = field(default_factory=dict)

    @classmethod
    def from_item(cls, kind: Owner, number: int, item: Item | None) -> Counters:
        """What stands at ``key``."""
        owner = f"{kind}#{number}"
        if item is None:
            return cls(owner)
        return cls(owner, item["version"], {key: _window(plain) for key, plain in item["windows"].items()})

    def counting(self, write_id: str, windows: Windows) -> Put:
        """The write that has ``windows`` in place of these; it fails if somebody else was first."""
        item: Item = {
            **_place(self.owner),
            "version": self.version + 1,
            "windows": {key: _plain(window) for key, window in windows.items()},
            "written_by": write_id,
        }
        return Put(TABLE, item, Attr("version").eq(self.version) if self.version else absent("owner"))


def key(kind: Owner, number: int) -> Key:
    """Where the counters of a card, an account or a holder are."""
    return TABLE, _place(f"{kind}#{number}")


def _place(owner: str) -> Item:
    return {"owner": owner, "part": "limits"}


def _plain(window: Window) -> Item:
    """The names of an item's members are text."""
    countries = {str(country): movements for country, movements in window.countries.items()}
    return {"start": window.start, "count": window.count, "amount": window.amount, "countries": countries}


def _window(plain: Mapping[str, Any]) -> Window:
    countries = {int(country): movements for country, movements in plain["countries"].items()}
    return Window(plain["start"], plain["count"], plain["amount"], countries)
