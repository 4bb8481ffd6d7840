"""The examination of all tables: page after page, from a position at which it can be resumed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from chalicelib.bootstrap import Hub
from chalicelib.foundation.dynamodb.store import Busy, ConditionFailed, Item, Page
from chalicelib.foundation.parallel import pieces
from chalicelib.foundation.requests.facts import Key
from infra.progress import SILENT, Progress
from infra.restore.check import Check, Inconsistency
from infra.restore.checks import CHECKS, TABLES

_READ_TOGETHER = 100
_PAGE = 500
_KEYS = {
    "payments": "payment",
    "deliveries": "delivery_id",
    "idempotency": "claim",
    "consents": "consent_id",
    "authorizations": "authorization_id",
}
"""The member that names an item, by table; elsewhere its owner."""


class UnknownPosition(ValueError):
    """A text is not a position; the message says what one is."""


@dataclass(frozen=True, slots=True)
class Finding:
    """An inconsistency: the name of its check, the item, and whether it was mended."""

    check: str
    item: str
    mended: bool = False


@dataclass(frozen=True, slots=True)
class Position:
    """Where an examination is: in a table, after an item. As text: the table, and the item's key in JSON."""

    table: str = TABLES[0]
    after: Item | None = None

    @classmethod
    def parse(cls, text: str) -> Position:
        """Raises: UnknownPosition."""
        table, _, key = text.partition(":")
        try:
            after = json.loads(key) if key else None
        except ValueError:
            after = ()
        if table not in TABLES or not isinstance(after, dict | None):
            raise UnknownPosition(f"{text!r} is not a position: pass what was printed, or one of {', '.join(TABLES)}")
        return cls(table, after)

    def __str__(self) -> str:
        return self.table if self.after is None else f"{self.table}:{json.dumps(self.after)}"


def examine(hub: Hub, *, mend: bool, start: Position = Position(), progress: Progress = SILENT) -> Iterator[Finding]:
    """Compare all tables, and mend what can be mended if asked to."""
    for table in TABLES[TABLES.index(start.table) :]:
        after = start.after if table == start.table else None
        for page in _pages(hub, table, after, progress):
            for check in (each for each in CHECKS if each.tables[0] == table):
                yield from _examine_page(hub, check, page.items, mend)


def _pages(hub: Hub, table: str, after: Item | None, progress: Progress) -> Iterator[Page]:
    read = 0
    while True:
        page = hub.store.scan_page(table, after, _PAGE)
        yield page
        read += len(page.items)
        if page.next is None:
            return
        after = page.next
        progress.report(f"{table}: {read:,} items; resume with --from '{Position(table, after)}'")


def _examine_page(hub: Hub, check: Check, items: Sequence[Item], mend: bool) -> Iterator[Finding]:
    concerned = [(item, keys) for item in items if (keys := check.keys(hub, item))]
    found = _read(hub, [key for _, keys in concerned for key in keys])
    for item, keys in concerned:
        wrong = check.judge(hub, item, [next(found) for _ in keys])
        mended = mend and _mend(hub, wrong)
        if mend and not mended and wrong is not None:  # it may have been changed for another item of the page
            wrong = check.judge(hub, item, [*_read(hub, keys)])
            mended = _mend(hub, wrong)
        if wrong is not None:
            yield Finding(check.name, _describe(check, item, wrong), mended)


def _read(hub: Hub, keys: Sequence[Key]) -> Iterator[Item | None]:
    for batch in pieces(keys, _READ_TOGETHER):
        yield from hub.store.batch_get(batch)


def _describe(check: Check, item: Item, wrong: Inconsistency) -> str:
    key = item[_KEYS.get(check.tables[0], "owner")]
    return f"{key} ({wrong.detail})" if wrong.detail else str(key)


def _mend(hub: Hub, wrong: Inconsistency | None) -> bool:
    """Write what mends; false if there is nothing to write, or an item has changed meanwhile."""
    if wrong is None or not wrong.mend:
        return False
    try:
        hub.store.transact(wrong.mend)
    except (ConditionFailed, Busy):
        return False
    return True
