"""The programme managers' set-ups: reads for requests, cached for at most a minute, and marks of used entries.

Each entry is an item, and a used one cannot be removed: the first use sets ``used`` on condition that the item exists,
and a removal has the condition that ``used`` is not set. One of the two comes first.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from typing import Any

from boto3.dynamodb.conditions import Attr

from chalicelib.cards.programs.catalogue import KINDS, Catalogue, Entry, Rate, entry
from chalicelib.foundation import log
from chalicelib.foundation.clock import Clock
from chalicelib.foundation.dynamodb.store import ConditionFailed, Item, Store, StoreUnavailable
from chalicelib.foundation.parallel import together

TABLE = "programmes"
CACHED_SECONDS = 60
HEAD = "manager"
"""The part with a programme manager's own members: name, currencies, test BINs, rates, events."""

EntryId = tuple[str, int]
"""An entry by its kind, named as in ``KINDS``, and its id."""


class UnknownManager(LookupError):
    """No programme manager has this id."""


class EntryGone(LookupError):
    """The operator removed entries between the reading of a catalogue and their first use."""

    def __init__(self, references: Iterable[EntryId]) -> None:
        self.references = tuple(references)
        super().__init__(", ".join(f"{kind} {number}" for kind, number in self.references))


@dataclass(frozen=True, slots=True)
class SetUp:
    """A programme manager's items as read, for changes.

    ``revision`` counts the changes and is 0 for a new one; ``used`` are the entries that cannot be removed;
    ``credentials`` are the digests of access keys by name.
    """

    catalogue: Catalogue
    revision: int
    used: frozenset[EntryId]
    credentials: Mapping[str, str]


class Programmes:
    """The set-ups. An operator's change takes effect everywhere within a minute."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._cache: dict[int, tuple[int, Catalogue]] = {}
        self._used: set[tuple[int, EntryId]] = set()

    def catalogue(self, manager_id: int) -> Catalogue:
        """A programme manager's set-up. Raises: UnknownManager, StoreError when it was never read before."""
        read_at, catalogue = self._cache.get(manager_id, (0, None))
        if catalogue is None or self._clock.time() - read_at >= CACHED_SECONDS:
            catalogue = self._refresh(manager_id, catalogue)
            self._cache[manager_id] = (self._clock.time(), catalogue)
        return catalogue

    def mark_used(self, catalogue: Catalogue, references: Iterable[EntryId]) -> None:
        """Note that entries are in use, before the transaction that uses them; nothing is written a second time.

        Raises:
            EntryGone: when any was removed; the next ``catalogue`` is read afresh.
        """
        known, manager_id = self._used, catalogue.manager_id
        new = [reference for reference in dict.fromkeys(references) if (manager_id, reference) not in known]
        if not new:
            return
        marked = together([partial(self._mark, manager_id, reference) for reference in new])
        if gone := [reference for reference, there in zip(new, marked, strict=True) if not there]:
            self._cache.pop(manager_id, None)
            raise EntryGone(gone)

    def set_up(self, manager_id: int) -> SetUp:
        """The stored set-up, for the operator's command line; empty for an unknown programme manager."""
        return _set_up(manager_id, self._store.rows(TABLE, ("owner", owner(manager_id))))

    def _refresh(self, manager_id: int, before: Catalogue | None) -> Catalogue:
        try:
            found = self.set_up(manager_id)
        except Exception:
            if before is None:
                raise
            log.exception("programme not read again")  # what was read before goes on for as long again
            return before
        if not found.revision:
            raise UnknownManager(manager_id)
        self._used |= {(manager_id, reference) for reference in found.used}
        return found.catalogue

    def _mark(self, manager_id: int, reference: EntryId) -> bool:
        """Whether the entry was there to be marked."""
        table, key = entry_key(manager_id, *reference)
        there = Attr("owner").exists()
        try:
            try:
                self._store.update(table, key, set={"used": True}, condition=there)
            except StoreUnavailable:  # writing it twice is writing it once
                self._store.update(table, key, set={"used": True}, condition=there)
        except ConditionFailed:
            return False
        self._used.add((manager_id, reference))
        return True


def owner(manager_id: int) -> str:
    """The partition of a programme manager's items."""
    return f"manager#{manager_id}"


def head_key(manager_id: int) -> tuple[str, Item]:
    return TABLE, {"owner": owner(manager_id), "part": HEAD}


def entry_key(manager_id: int, kind: str, number: int) -> tuple[str, Item]:
    """The key of an entry."""
    return TABLE, {"owner": owner(manager_id), "part": f"{kind}#{number}"}


def head_members(catalogue: Catalogue) -> dict[str, Any]:
    """The head item's members besides key and revision, without ``None``."""
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


def _read_rates(kept: Mapping[str, Any]) -> dict[tuple[int, int], Rate]:
    pairs = ((key.split("/"), rate) for key, rate in kept.items())
    return {(int(source), int(target)): _read_rate(rate) for (source, target), rate in pairs}


def _read_rate(kept: Mapping[str, str] | str) -> Rate:
    """A rate that is only text was kept before there were markups."""
    if isinstance(kept, str):
        return Rate(Decimal(kept), Decimal(0))
    return Rate(Decimal(kept["base"]), Decimal(kept["markup_percent"]))
