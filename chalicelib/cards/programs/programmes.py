"""Programme manager configurations: cached reads, and marks on entries in use.

Reads are cached for at most a minute. Each entry is an item. The first use of an entry sets ``used`` on condition that
the item exists. Removal requires that ``used`` is not set. So an entry in use cannot be removed, and concurrent use and
removal cannot both succeed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal
from functools import partial
from typing import Any

from chalicelib.cards.programs.catalogue import KINDS, Catalogue, Entry, Rate, entry
from chalicelib.foundation import log
from chalicelib.foundation.clock import Clock
from chalicelib.foundation.dynamodb.conditions import Attr
from chalicelib.foundation.dynamodb.store import Item, Store, Update
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.foundation.parallel import together
from chalicelib.foundation.requests.engine import DecideAgain, Engine, if_permitted

TABLE = "programmes"
CACHED_SECONDS = 60
HEAD = "manager"
"""The sort key of the item with a programme manager's own members: name, currencies, test BINs, rates, events."""

EntryId = tuple[str, int]
"""An entry's kind, named as in ``KINDS``, and its id."""


class UnknownManager(LookupError):
    """No programme manager has this id."""


class EntryGone(DecideAgain):
    """The operator removed entries after the catalogue was read and before their first use."""

    def __init__(self, references: Iterable[EntryId]) -> None:
        self.references = tuple(references)
        super().__init__(", ".join(f"{kind} {number}" for kind, number in self.references))


@dataclass(frozen=True, slots=True)
class SetUp:
    """The items of a programme manager as stored.

    ``revision`` is the number of changes, and is 0 for a new programme manager. ``used`` are the entries that cannot be
    removed. ``credentials`` maps names to access key digests.
    """

    catalogue: Catalogue
    revision: int
    used: frozenset[EntryId]
    credentials: Mapping[str, str]


class Programmes:
    """The store of configurations. An operator's change takes effect in all processes within a minute."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self.cache: dict[int, tuple[int, SetUp]] = {}
        self.used: set[tuple[int, EntryId]] = set()

    def catalogue(self, manager_id: int) -> Catalogue:
        """Return a programme manager's configuration.

        Raises:
            UnknownManager: no programme manager has this id.
            StoreError: storage did not respond, and nothing is cached.
        """
        return self._cached(manager_id).catalogue

    def credentials(self, manager_id: int) -> Mapping[str, str]:
        """Return the access key digests of a programme manager's credentials, by name. Raises: UnknownManager,
        StoreError.
        """
        return self._cached(manager_id).credentials

    def mark_used(self, catalogue: Catalogue, references: Iterable[EntryId]) -> None:
        """Mark entries as used before the transaction that uses them. Entries that are already marked are not written
        again.

        Raises:
            EntryGone: an entry was removed. The next call of ``catalogue`` reads from the store.
        """
        known, manager_id = self.used, catalogue.manager_id
        new = [reference for reference in dict.fromkeys(references) if (manager_id, reference) not in known]
        if not new:
            return
        marked = together([partial(self._mark, manager_id, reference) for reference in new])
        if gone := [reference for reference, there in zip(new, marked, strict=True) if not there]:
            self.cache.pop(manager_id, None)
            raise EntryGone(gone)

    def set_up(self, manager_id: int) -> SetUp:
        """Return the stored configuration for the command line. The result is empty for an unknown programme
        manager.
        """
        return _set_up(manager_id, self._store.rows(TABLE, ("owner", owner(manager_id))))

    def _cached(self, manager_id: int) -> SetUp:
        read_at, found = self.cache.get(manager_id, (0, None))
        if found is None or not 0 <= self._clock.time() - read_at < CACHED_SECONDS:
            found = self._refresh(manager_id, found)
            self.cache[manager_id] = (self._clock.time(), found)
        return found

    def _refresh(self, manager_id: int, before: SetUp | None) -> SetUp:
        try:
            found = self.set_up(manager_id)
        except Exception:
            if before is None:
                raise
            log.exception("programme not reloaded")  # what was read before goes on for as long again
            return before
        if not found.revision:
            raise UnknownManager(manager_id)
        self.used |= {(manager_id, reference) for reference in found.used}
        return found

    def _mark(self, manager_id: int, reference: EntryId) -> bool:
        update = Update(*entry_key(manager_id, *reference), set={"used": True}, condition=Attr("owner").exists())
        if not Engine(self._store).carry_out(if_permitted([update], True, lambda _: False, is_repeatable=True)):
            return False
        self.used.add((manager_id, reference))
        return True


def owner(manager_id: int) -> str:
    """Return the partition key of a programme manager's items."""
    return f"manager#{manager_id}"


def head_key(manager_id: int) -> tuple[str, Item]:
    return TABLE, {"owner": owner(manager_id), "part": HEAD}


def entry_key(manager_id: int, kind: str, number: int) -> tuple[str, Item]:
    """Return the key of an entry's item."""
    return TABLE, {"owner": owner(manager_id), "part": f"{kind}#{number}"}


def head_members(catalogue: Catalogue) -> dict[str, Any]:
    """Return the head item's members, except key, revision and ``None`` values."""
    return {
        "name": catalogue.name,
        "currencies": list(catalogue.currencies),
        "test_bins": list(catalogue.test_bins),
        "rates": {
            f"{source}/{target}": {"base": str(rate.base), "markup_percent": str(rate.markup_percent)}
            for (source, target), rate in catalogue.rates.items()
        },
        "events_url": catalogue.events_url,
        "events_encryption_key": catalogue.events_encryption_key,
        "delivers_validation_values": catalogue.delivers_validation_values or None,
    }


def _set_up(manager_id: int, rows: Iterable[Item]) -> SetUp:
    head: Item = {}
    found: dict[str, dict[int, Entry]] = {kind: {} for kind in KINDS}
    used, credentials = set(), {}
    for row in rows:
        kind, _, name = row["part"].partition("#")
        if kind == HEAD:
            head = row
        elif kind == "credential":
            credentials[name] = row["access_key"]
        else:
            found[kind][int(name)] = entry(kind, row)
            used |= {(kind, int(name))} if row.get("used") else set()
    entries: dict[str, Any] = {f"{kind}s": dict(sorted(each.items())) for kind, each in found.items()}
    catalogue = Catalogue(
        manager_id,
        head.get("name", ""),
        tuple(head.get("currencies", ())),
        tuple(head.get("test_bins", ())),
        _read_rates(head.get("rates", {})),
        head.get("events_url"),
        head.get("events_encryption_key"),
        head.get("delivers_validation_values", False),
        **entries,
    )
    return SetUp(catalogue, head.get("revision", 0), frozenset(used), credentials)


def _read_rates(stored: Mapping[str, Any]) -> dict[tuple[int, int], Rate]:
    pairs = ((key.split("/"), rate) for key, rate in stored.items())
    return {(int(source), int(target)): _read_rate(rate) for (source, target), rate in pairs}


def _read_rate(stored: Mapping[str, str] | str) -> Rate:
    """Read a stored rate. A plain string is a rate that was stored before markups were introduced."""
    if isinstance(stored, str):
        return Rate(Decimal(stored), Decimal(0))
    return Rate(Decimal(stored["base"]), Decimal(stored["markup_percent"]))
