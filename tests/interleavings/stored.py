"""What requests have changed in the tables, without identifiers, times and sealed values.

A place in a list that was reserved and not used is no change: others need it no longer, and it expires. Equal early
reports are one. Revisions, which count writes, are left out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, cast

from chalicelib.cards.reconciliation.ledger_proof import LedgerMismatch
from chalicelib.cards.storage.time_ordered import CANCELLED, RESERVED_BY
from chalicelib.foundation.dynamodb.items import unpack
from chalicelib.foundation.dynamodb.store import Store
from infra.admin.ledger_verification import prove_ledger
from tests.cards.network_books import PastTheStore
from tests.causeway import GROWING, Causeway
from tests.kit.tables import rows
from tests.openbanking.faults import table_of

TABLES = (*GROWING, "clients")
_NAMES = r"\w*ids?|revision|\w*_shard|auth_code|last_four|of|pvv|stan|trace_number|trans_link"
_RANDOM = re.compile(
    rf'"(?:{_NAMES})": (?:\d+|"[^"]*"|\[[\d, ]*\])'  # by name
    r'|#[\w-]+|[\w-]{20,}+(?!":)|\d{7,}'  # parts of keys; long values; times
)


class Stored:
    """The tables of a service as they stand at the beginning."""

    def __init__(self, causeway: Causeway) -> None:
        self._causeway = causeway
        self._before = {table: [*rows(table_of(causeway, table))] for table in TABLES}

    def changes(self) -> tuple[str, ...]:
        """The rows that were written, and how many were replaced or deleted."""
        return tuple(sorted(line for table in TABLES for line in self._changes_of(table)))

    def ledger_mismatch(self) -> str:
        """What the proof of the ledger finds; empty if it holds."""
        try:
            prove_ledger(cast(Store, PastTheStore(self._causeway)))
        except LedgerMismatch as mismatch:
            return str(mismatch)
        return ""

    def _changes_of(self, table: str) -> Iterator[str]:
        before, now = self._before[table], rows(table_of(self._causeway, table))
        new = [row for row in now if row not in before]
        if gone := len(before) - len(now) + len(new):
            yield f"{table}: {gone} replaced or deleted"
        yield from (f"{table}: {_shape(row)}" for row in new if not row.keys() & {RESERVED_BY, CANCELLED})


def _shape(row: Mapping[str, Any]) -> str:
    item = unpack(dict(row))
    if early := item.get("early"):
        item["early"] = [report for number, report in enumerate(early) if report not in early[:number]]
    return _RANDOM.sub("#", json.dumps(item, sort_keys=True, default=_as_text))


def _as_text(value: Any) -> Any:
    match value:
        case bytes():
            return "sealed"
        case set() | frozenset():
            return sorted(value)
    return str(value)
