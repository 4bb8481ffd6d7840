"""Examines all tables page by page. An interrupted examination can be resumed from a position."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from chalicelib.bootstrap import Hub
from chalicelib.foundation.dynamodb.store import Busy, ConditionFailed, Item, Page
from chalicelib.foundation.parallel import pieces
from chalicelib.foundation.requests.facts import Key
from infra.progress import SILENT, Progress
from infra.restore.check import Check, Inconsistency
from infra.restore.checks import CHECKS, LEDGER, TABLES
from infra.restore.names import name_item

_READ_TOGETHER = 100
PAGE = 500
PLACES = (*TABLES, LEDGER.name)
"""The names of the tables and checks from which an examination can be resumed."""


class UnknownPosition(ValueError):
    """A text is not a valid position. The message explains the format."""


@dataclass(frozen=True, slots=True)
class Finding:
    """An inconsistency: the name of the check, the item, and whether the inconsistency was repaired."""

    check: str
    item: str
    mended: bool = False


@dataclass(frozen=True, slots=True)
class Position:
    """A position in an examination: after an item of a table or, if all tables were examined, in the ledger.

    The text form contains the table and, in JSON, the key of the item.
    """

    table: str = TABLES[0]
    after: Item | None = None

    @classmethod
    def parse(cls, text: str) -> Position:
        """Parse a position. Raises: UnknownPosition."""
        table, _, key = text.partition(":")
        try:
            after = json.loads(key) if key else None
        except ValueError:
            after = ()
        if table not in PLACES or not isinstance(after, dict | None):
            raise UnknownPosition(f"{text!r} is not a position: pass what was printed, or one of {', '.join(PLACES)}")
        return cls(table, after)

    def __str__(self) -> str:
        return self.table if self.after is None else f"{self.table}:{json.dumps(self.after)}"

    @property
    def option(self) -> str:
        """Return the command's option that resumes at this position, quoted for a shell."""
        return f"--from {shlex.quote(str(self))}"


class Examination:
    """Compares all tables, and repairs inconsistencies on request.

    Attributes:
        position: the position from which to resume. All findings before this position have been returned.
    """

    def __init__(self, hub: Hub, *, mend: bool, start: Position = Position(), progress: Progress = SILENT) -> None:
        self.hub = hub
        self.position = start
        self.progress = progress
        self._mend = mend

    def find(self) -> Iterator[Finding]:
        """Yield the findings in all tables, starting from the position. Repair the findings if this was requested."""
        for table in PLACES[PLACES.index(self.position.table) : len(TABLES)]:
            if table != self.position.table:
                self.position = Position(table)
            checks = [each for each in CHECKS if each.tables[0] == table]
            for page in self._pages(table):
                for check in checks:
                    yield from _examine_page(self.hub, check, page.items, self._mend)
        self.position = Position(LEDGER.name)

    def _pages(self, table: str) -> Iterator[Page]:
        read = 0
        while True:
            page = self.hub.store.scan_page(table, self.position.after, PAGE)
            yield page
            read += len(page.items)
            if page.next is None:
                return
            self.position = Position(table, page.next)
            self.progress.report(f"{table}: {read:,} items; resume with {self.position.option}")


def _examine_page(hub: Hub, check: Check, items: Sequence[Item], mend: bool) -> Iterator[Finding]:
    concerned = [(item, keys) for item in items if (keys := check.keys(hub, item))]
    found = _read(hub, [key for _, keys in concerned for key in keys])
    for item, keys in concerned:
        wrong = check.judge(hub, item, [next(found) for _ in keys])
        mended = mend and repair(hub, wrong)
        if mend and not mended and wrong is not None:  # it may have been changed for another item of the page
            wrong = check.judge(hub, item, [*_read(hub, keys)])
            mended = repair(hub, wrong)
        if wrong is not None:
            yield Finding(check.name, name_item(check.tables[0], item) + wrong.detail, mended)


def _read(hub: Hub, keys: Sequence[Key]) -> Iterator[Item | None]:
    for batch in pieces(keys, _READ_TOGETHER):
        yield from hub.store.batch_get(batch)


def repair(hub: Hub, wrong: Inconsistency | None) -> bool:
    """Write the repair. Return false if there is no repair, or if an item has changed since the check."""
    if wrong is None or not wrong.mend:
        return False
    try:
        hub.store.transact(wrong.mend)
    except (ConditionFailed, Busy):
        return False
    return True
