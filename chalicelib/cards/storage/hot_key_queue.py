"""Lines in front of items that several requests of this process want to change at the same time.

Conditional writes decide who was first; here those who came second stand in line before they decide anew, and so do
others that come to read the same item, because otherwise most of what many requests decide on one account would be in
vain. A line is there as long as somebody stands in it. Between processes there are none: they wait, and try again.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from chalicelib.cards.storage.record import Key
from chalicelib.foundation.clock import Clock
from chalicelib.foundation.dynamodb.store import Operation, Put

Name = tuple[str, ...]


@dataclass(slots=True)
class _Line:
    name: Name
    front: threading.Lock = field(default_factory=threading.Lock)
    standing: int = 0


class Turns:
    """The lines of one process."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._lines: dict[Name, _Line] = {}

    def join(self, name: Name, *, opening: bool) -> _Line | None:
        """Stand in the line for an item; without ``opening`` only if others do."""
        with self._guard:
            line = self._lines.setdefault(name, _Line(name)) if opening else self._lines.get(name)
            if line is not None:
                line.standing += 1
            return line

    def leave(self, line: _Line) -> None:
        with self._guard:
            line.standing -= 1
            if not line.standing:
                del self._lines[line.name]


class Turn:
    """The place of one request: it stands in one line at most, and at ``until`` it stops waiting.

    ``until`` is a time of the clock's ``monotonic``.
    """

    def __init__(self, turns: Turns, clock: Clock, until: float) -> None:
        self._turns = turns
        self._clock = clock
        self._until = until
        self._line: _Line | None = None
        self._is_mine = False
        self._in_vain = 0
        self._has_ended = False

    @property
    def in_vain(self) -> int:
        """How often it was not first although it had stood in line: others than this process are in the way."""
        return self._in_vain

    @property
    def left(self) -> float:
        """How many seconds it may still wait; below zero, how long ago it had to stop."""
        return self._until - self._clock.monotonic()

    @property
    def is_over(self) -> bool:
        return self.left <= 0

    @property
    def has_ended(self) -> bool:
        """Whether it was told to wait no more."""
        return self._has_ended

    def end(self) -> None:
        """Wait no more."""
        self.leave()
        self._has_ended = True
        self._until = min(self._until, self._clock.monotonic())

    def approach(self, keys: Sequence[Key]) -> None:
        """Before items are read: wait for the requests that stand in line for one of them."""
        for table, key in keys if self._line is None and not self.is_over else ():
            self._stand(self._turns.join(_name(table, key), opening=False))
            if self._line is not None:
                return

    def contend(self, operation: Operation) -> None:
        """Stand in line for the item that somebody else has changed."""
        key = operation.item if isinstance(operation, Put) else operation.key
        name = _name(operation.table, key)
        if self._line is not None and self._line.name == name:
            self._in_vain += 1
            return
        self.leave()
        self._stand(self._turns.join(name, opening=True))

    def leave(self) -> None:
        """Let the next one go."""
        if self._line is None:
            return
        if self._is_mine:
            self._line.front.release()
        self._turns.leave(self._line)
        self._line, self._is_mine = None, False

    def _stand(self, line: _Line | None) -> None:
        if line is not None:
            self._line = line
            self._is_mine = line.front.acquire(timeout=max(0, self.left))


def _name(table: str, item: dict[str, Any]) -> Name:
    """An item by its key: what records stand under has an owner and a part."""
    return table, str(item["owner"]), str(item["part"])
