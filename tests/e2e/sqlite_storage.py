"""A durable storage of ``causeway.bank`` in a SQLite file, which can die at any step."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from tests.kit.time import PATIENCE_SECONDS

Values = Mapping[str, Any]
SCHEMA = """
    CREATE TABLE IF NOT EXISTS remembered (
        number INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT, key TEXT, value TEXT, owner TEXT, expires_at REAL,
        UNIQUE (kind, key)
    );
    CREATE TABLE IF NOT EXISTS books (number INTEGER PRIMARY KEY AUTOINCREMENT, what TEXT, subject TEXT);
"""


def open_file(file: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(file, timeout=PATIENCE_SECONDS, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.executescript(SCHEMA)
    return connection


class SqliteStorage:
    """``after`` is told each step that was written: ``add-call`` for example."""

    def __init__(self, file: Path, after: Callable[[str], None] = lambda step: None) -> None:
        self._connection = open_file(file)
        self._after = after

    async def add(self, kind: str, key: str, value: Values, *, owner: str = "", expires_at: float = 0.0) -> bool:
        gone = "DELETE FROM remembered WHERE kind = ? AND key = ? AND expires_at BETWEEN 0.1 AND ?"
        self._connection.execute(gone, (kind, key, time.time()))
        new = "INSERT OR IGNORE INTO remembered (kind, key, value, owner, expires_at) VALUES (?, ?, ?, ?, ?)"
        return self._wrote(f"add-{kind}", new, (kind, key, _text(value), owner, expires_at))

    async def get(self, kind: str, key: str) -> Values | None:
        asked = "SELECT value FROM remembered WHERE kind = ? AND key = ? AND NOT expires_at BETWEEN 0.1 AND ?"
        row = self._connection.execute(asked, (kind, key, time.time())).fetchone()
        return json.loads(row[0]) if row else None

    async def replace(self, kind: str, key: str, old: Values, new: Values | None) -> bool:
        named = (kind, key, _text(old))
        if new is None:
            gone = "DELETE FROM remembered WHERE kind = ? AND key = ? AND value = ?"
            return self._wrote(f"delete-{kind}", gone, named)
        changed = "UPDATE remembered SET value = ? WHERE kind = ? AND key = ? AND value = ?"
        return self._wrote(f"replace-{kind}", changed, (_text(new), *named))

    async def find(self, kind: str, owner: str = "") -> Mapping[str, Values]:
        asked = """SELECT key, value FROM remembered
            WHERE kind = ? AND owner = ? AND NOT expires_at BETWEEN 0.1 AND ? ORDER BY number"""
        rows = self._connection.execute(asked, (kind, owner, time.time()))
        return {key: json.loads(value) for key, value in rows}

    def book(self, what: str, subject: str) -> None:
        """Write a line into the bank's own books, which refuse nothing: what is done twice stands there twice."""
        self._wrote(what, "INSERT INTO books (what, subject) VALUES (?, ?)", (what, subject))

    def booked(self, what: str) -> list[str]:
        return read_books(self._connection, what)

    def _wrote(self, step: str, statement: str, values: tuple[Any, ...]) -> bool:
        if not self._connection.execute(statement, values).rowcount:
            return False
        self._after(step)
        return True


def books(file: Path, what: str) -> list[str]:
    """The lines of a kind in a bank's books."""
    with closing(open_file(file)) as connection:
        return read_books(connection, what)


def read_books(connection: sqlite3.Connection, what: str) -> list[str]:
    rows = connection.execute("SELECT subject FROM books WHERE what = ? ORDER BY number", (what,))
    return [subject for (subject,) in rows]


def _text(value: Values) -> str:
    return json.dumps(value, sort_keys=True)
