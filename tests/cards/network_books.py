"""What stands in the tables when cards are used: to be compared between two runs, and proved past the store."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from chalicelib.cards.storage.time_ordered import CANCELLED, RESERVED_BY
from chalicelib.delivery.delivery_record import RECORD
from chalicelib.foundation.dynamodb.store import Item, Store
from infra.admin.ledger_verification import prove_ledger
from tests.cards.books import Books
from tests.causeway import Causeway
from tests.openbanking.faults import items

TABLES = ("cards", "idempotency", "programmes", "ledger", "card-activity", "deliveries")
_ONE_RUN_ONLY = frozenset(
    (
        *("owner", "part", "id", "at", "last_at", "written_by", "movement", "auth_code", "trans_link", "of"),
        *("authorize_id", "authorization_id", "transaction_id", "parent_id", "due_shard", "part_of_account"),
        *("transmission_time", "transaction_local_time", "expires_at"),
        *("stan", "trace_id", "trace_number", "retrieval_reference_number", "delivery_id", "body", "added"),
    )
)
"""What differs between two runs that do the same."""


@dataclass(frozen=True)
class PastTheStore:
    """Reads the emulator's tables without a call of DynamoDB, and without its time."""

    causeway: Causeway
    _kept: dict[str, list[Item]] = field(default_factory=dict)

    def scan(self, table: str) -> Iterator[Item]:
        return iter(self._rows(table))

    def get(self, table: str, key: Item) -> Item | None:
        return next((row for row in self._rows(table) if key.items() <= row.items()), None)

    def batch_get(self, keys: Sequence[tuple[str, Item]]) -> list[Item | None]:
        return [self.get(*key) for key in keys]

    def each(
        self, table: str, partition: tuple[str, Any], *, sort_prefix: tuple[str, str], **how: Any
    ) -> Iterator[Item]:
        """All of it after ``after``; ``newest_first`` is the other way round."""
        (name, value), (sort, prefix) = partition, sort_prefix
        after = (how.get("after") or {sort: ""})[sort]
        found = [row for row in self._rows(table) if row[name] == value and row[sort].startswith(prefix)]
        found = sorted((row for row in found if row[sort] > after), key=lambda row: str(row[sort]))
        return iter(found[::-1] if how.get("newest_first") else found)

    def wait(self, attempt: int) -> None:
        """Nothing gets better by waiting."""

    def _rows(self, table: str) -> list[Item]:
        if table not in self._kept:
            self._kept[table] = items(self.causeway, table)
        return self._kept[table]


def check(causeway: Causeway, before: Collection[tuple[str, int]] = ()) -> None:
    """Whether all of it belongs together, and the ledger proves."""
    Books(causeway).check(before)
    prove_ledger(cast(Store, PastTheStore(causeway)))


def shape(causeway: Causeway) -> list[str]:
    """What stands there, without what differs between two runs."""
    rows = [row for table in ("ledger", "card-activity") for row in items(causeway, table) if _is_written(row)]
    told = [f"told {row['kind']} {row['topic']}" for row in items(causeway, "deliveries") if row["part"] == RECORD]
    return sorted([*map(_shape, rows), *told, *Books(causeway).shape()])


def _is_written(row: Mapping[str, Any]) -> bool:
    """Not a reserved place without a row."""
    return RESERVED_BY not in row and CANCELLED not in row


def _shape(row: Mapping[str, Any]) -> str:
    """A row's place by name, its members' names, and what is in those that are the same in every run."""
    place = row["owner"].partition("#")[0], row["part"].partition("#")[0]
    kept = {name: value for name, value in row.items() if name not in _ONE_RUN_ONLY}
    network = {name: value for name, value in kept.pop("network", {}).items() if name not in _ONE_RUN_ONLY}
    return f"{place} {sorted(row)} {json.dumps([kept, network], sort_keys=True, default=str)}"
