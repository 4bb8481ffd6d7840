"""A disk that is full at times: the emulator, which cannot save what it has applied, ends, and starts from its file."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from importlib import import_module
from pathlib import Path
from typing import Any

from infra.local.emulator import Emulator, load_moto
from infra.local.emulator_state import EmulatorState, StateUnusable

_FEWEST = 40
"""Fewest saved calls between two full disks."""
_LARGE = 10_000_000
_CHANGED = (("moto.dynamodb.models", "DynamoDBBackend.create_table"), ("moto.kms.models", "Key"))
"""Parts of moto that restoring a state replaces."""


class FillingDisk:
    """The emulator's file at ``path``; it cannot be written ``times`` times, at calls drawn from ``seed``.

    Args:
        most: most saved calls between two failures.
        end_workers: ends what uses the emulator, as a stack ends with it.
        now: the time by which messages become visible.
    """

    def __init__(
        self, seed: str, path: Path, times: int, most: int, end_workers: Callable[[], None], now: Callable[[], float]
    ) -> None:
        self._draw = random.Random(seed)
        self._path = path
        self._left = times
        self._most = max(most, _FEWEST)
        self._end_workers = end_workers
        self._now = now
        self._until_full = self._next()
        self._moto: list[tuple[Any, str, Any]] = []
        self._state: _State | None = None
        self.is_filling = False
        self.has_ended = False
        path.unlink(missing_ok=True)

    def start(self) -> Emulator:
        """An emulator with the state of the file, with nothing left of one before it."""
        application = load_moto()
        if self._state:
            self._state.close()
        self._reset_moto()
        self.has_ended = False
        self._state = _State(self._path, self._is_full, self._stop)
        self._state.restore()
        return Emulator(application, self._state, self._now)

    def _reset_moto(self) -> None:
        if not self._moto:
            for module, name in _CHANGED:
                kind, _, attribute = name.rpartition(".")
                owner = getattr(import_module(module), kind) if kind else import_module(module)
                self._moto.append((owner, attribute, getattr(owner, attribute)))
        for owner, attribute, original in self._moto:
            setattr(owner, attribute, original)
        import_module("moto.moto_api._internal.models").moto_api_backend.reset()

    def _is_full(self) -> bool:
        """Whether this call cannot be saved."""
        if not self.is_filling or not self._left:
            return False
        self._until_full -= 1
        if self._until_full:
            return False
        self._left -= 1
        self._until_full = self._next()
        return True

    def _next(self) -> int:
        return self._draw.randint(_FEWEST, self._most)

    def _stop(self, error: StateUnusable) -> None:
        self.has_ended = True
        self._end_workers()
        raise ConnectionAbortedError(str(error))


class _State(EmulatorState):
    """A state whose file has no room at a call of which ``is_full`` says so: SQLite itself refuses what is written."""

    def __init__(self, path: Path, is_full: Callable[[], bool], end: Callable[[StateUnusable], object]) -> None:
        super().__init__(path, end)
        self._is_full = is_full

    def close(self) -> None:
        """As the end of a process does: what was not committed is not there."""
        self._file.close()

    def _write(self, changes: Iterable[tuple[str, str, str, str | None]]) -> None:
        if self._is_full():
            self._file.execute("PRAGMA max_page_count = 1")  # no more than it has
            changes = [*changes, ("filler", "", "", "x" * _LARGE)]
        super()._write(changes)
