"""Encrypts all records with the newest data key, so that older keys can be removed (PCI DSS 3.7.4).

On the operator's request, a scheduled job reads all tables with sealed values, page by page, and replaces the values of
older keys. Each replacement is conditional on the value that was read, so it never overwrites a concurrent change. The
next pass finds values that were skipped. After an interruption, the next run resumes with the page that was not
recorded.

The progress is one item, replaced after every page of a table. A pass reads all tables with sealed values. When it
ends, each older data key without values is unused since the start of the pass. Passes repeat until a pass finds no
value of any older key.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial, reduce
from operator import and_
from typing import Self

from chalicelib.foundation import log
from chalicelib.foundation.clock import CLOCK_SKEW_SECONDS, Clock
from chalicelib.foundation.crypto.keyring import Keyring, Unsealable, Vault, data_key_id
from chalicelib.foundation.crypto.sealed_places import SealedPlace, reseal_values, sealed_values
from chalicelib.foundation.dynamodb.conditions import Attr
from chalicelib.foundation.dynamodb.store import AnswerLost, Busy, ConditionFailed, Item, Put, Store, absent
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.foundation.parallel import together

PAGE = 100
"""The number of items in a page. A page is read, resealed in parallel, and then recorded in the progress."""
RETENTION_SECONDS = 35 * 24 * 3600
"""The number of seconds for which an unused key is retained. Tables can be restored to any second of the last 35 days.
Encrypted tasks expire earlier, after at most 14 days in each queue. Cursors and sessions that are signed with a derived
key also expire earlier.
"""
PROGRESS = ("statistics", {"subject": "data-keys", "part": "resealing"})
"""The table and the key of the item that stores the progress."""
SETTLE_SECONDS = 960 + CLOCK_SKEW_SECONDS
"""The number of seconds after which no write with a value of an older key is in progress. Processes may use the
previous key for another minute, a function then runs for at most 900 seconds, and clocks may differ.
"""
PASS_SECONDS = 24 * 3600
"""The number of seconds between two passes, if the first pass found only values that will expire."""


@dataclass(frozen=True, slots=True)
class ResealingProgress:
    """The progress of resealing. Times are Unix seconds. Data keys are numbered as in the keyring, as text in maps.

    Attributes:
        data_key: the key that reseals values.
        requested_at: when the operator requested resealing.
        pass_at: the earliest start of the pass; once the pass has started, its start.
        table: the table to read next, or ``None`` before a pass starts and after all passes.
        after: the key of the last item read in the table.
        read: items read in this pass; ``resealed``: values resealed in this pass.
        found: values of older keys found in this pass, by key; ``left``: values found in the previous pass.
        unused_since: for each older key without values, the start of the first pass that found no values.
        finished_at: when the last pass ended; ``None`` while passes follow.
        version: the number of writes; 0 if there is no item yet.
    """

    data_key: int
    requested_at: int
    pass_at: int
    table: str | None = None
    after: Mapping[str, str] | None = None
    read: int = 0
    resealed: int = 0
    found: Mapping[str, int] | None = None
    left: Mapping[str, int] | None = None
    unused_since: Mapping[str, int] | None = None
    finished_at: int | None = None
    version: int = 0

    @classmethod
    def from_item(cls, item: Item) -> Self:
        return cls(**{name: item[name] for name in cls.__dataclass_fields__ if name in item})

    def put(self) -> tuple[ResealingProgress, Put]:
        """Return the write, which fails if another process wrote first, and the progress after the write."""
        after = replace(self, version=self.version + 1)
        as_read = Attr("version").eq(self.version) if self.version else absent("subject")
        table, key = PROGRESS
        members = {name: value for name, value in asdict(after).items() if value is not None}
        return after, Put(table, {**key, **members}, as_read)

    def request(self, data_key: int, created_at: int, now: int) -> ResealingProgress:
        """Start a series of passes with the key ``data_key``, created at ``created_at``."""
        pass_at = max(now, created_at + SETTLE_SECONDS if created_at else 0)
        return ResealingProgress(
            data_key, now, pass_at, left=self.left, unused_since=self.unused_since, version=self.version
        )

    def is_due(self, now: int) -> bool:
        """Whether a page may be read now."""
        return self.finished_at is None and (self.table is not None or now >= self.pass_at)

    def begin_pass(self, tables: Sequence[str], now: int) -> ResealingProgress:
        return replace(self, pass_at=now, table=tables[0], after=None, read=0, resealed=0, found={})

    def advance(self, read: int, resealed: int, found: Mapping[str, int], after: Item | None) -> ResealingProgress:
        """Return the progress after a page of the table."""
        total = dict(Counter(self.found or {}) + Counter(found))
        return replace(self, read=self.read + read, resealed=self.resealed + resealed, found=total, after=after)

    def next_table(self, tables: Sequence[str], older: Collection[int], now: int) -> ResealingProgress:
        """Move to the next table, or end the pass. ``older`` are the keys before ``data_key``."""
        following = tables[tables.index(self.table or "") + 1 :]
        return replace(self, table=following[0]) if following else self._end_pass(older, now)

    def _end_pass(self, older: Collection[int], now: int) -> ResealingProgress:
        found, known = self.found or {}, self.unused_since or {}
        unused = {str(key): known.get(str(key), self.pass_at) for key in older if str(key) not in found}
        if not found:
            return replace(self, table=None, left={}, unused_since=unused, finished_at=now)
        pause = SETTLE_SECONDS if self.resealed else PASS_SECONDS
        return replace(self, table=None, left=found, unused_since=unused, pass_at=now + pause)


class DataKeyNeeded(Exception):
    """A data key cannot be removed yet, or does not exist. The message is a sentence for the operator."""


@dataclass(frozen=True, slots=True)
class KeyStatus:
    """A data key and the number of values that still need it. Times are Unix seconds.

    Attributes:
        created_at: the creation time; 0 for a key of an earlier release.
        is_newest: whether the key seals new values.
        values_left: values found by the last complete pass, or ``None`` before such a pass.
        unused_since: since when the key has no values, or ``None`` if it has values, or no pass has completed.
        removable_at: when the key can be removed, if it has no values until then.
    """

    number: int
    created_at: int
    is_newest: bool
    values_left: int | None
    unused_since: int | None

    @property
    def removable_at(self) -> int | None:
        return None if self.unused_since is None else self.unused_since + RETENTION_SECONDS


@dataclass(frozen=True, slots=True)
class _Sealed:
    """The sealed values in an item: the number of values of each older key, and the number of resealed values."""

    found: Mapping[str, int]
    resealed: int = 0


class Resealing:
    """Encrypts the values at ``places`` with the newest key, reports the progress, and removes keys."""

    def __init__(
        self, store: Store, vault: Vault, keyring: Keyring, clock: Clock, places: Sequence[SealedPlace]
    ) -> None:
        self._store = store
        self._vault = vault
        self._keyring = keyring
        self._clock = clock
        self._places = places
        self.tables = tuple(dict.fromkeys(place.table for place in places))

    def progress(self) -> ResealingProgress | None:
        """Return the progress, or ``None`` if resealing was never requested."""
        item = self._store.get(*PROGRESS)
        return ResealingProgress.from_item(item) if item else None

    def request(self) -> ResealingProgress:
        """Request that all records be sealed with the newest key. Has no effect while such a pass runs.

        Raises:
            ConditionFailed: a concurrent request or run recorded its progress.
        """
        before = self.progress()
        number, created_at = self._newest_key()
        if before and before.finished_at is None and before.data_key >= number:
            return before
        now = self._clock.time()
        return self._write((before or ResealingProgress(number, now, now)).request(number, created_at, now))

    def run(self, until: float) -> ResealingProgress | None:
        """Read and seal pages until the monotonic time ``until``. Returns ``None`` if resealing was not requested."""
        progress = self.progress()
        if progress is None or progress.finished_at is not None:
            return progress
        number, created_at = self._newest_key()
        if progress.data_key > number:  # the key is so new that this process does not know it yet
            return progress
        if progress.data_key < number:
            progress = self._write(progress.request(number, created_at, self._clock.time()))
        before = progress
        while progress.is_due(self._clock.time()) and self._clock.monotonic() < until:
            progress = self._write(self._advance(progress))
        if progress != before:
            log.info("records sealed anew", read=progress.read, resealed=progress.resealed, table=progress.table)
        return progress

    def key_statuses(self) -> list[KeyStatus]:
        """Return the status of all data keys, oldest first."""
        progress, keys = self.progress(), self._keyring.data_keys()
        left = (progress.left if progress else None) or {}
        unused = (progress.unused_since if progress else None) or {}
        newest = max(keys)
        return [
            KeyStatus(
                number,
                created_at,
                number == newest,
                left.get(str(number), 0 if str(number) in unused else None),
                unused.get(str(number)),
            )
            for number, created_at in keys.items()
        ]

    def remove_key(self, number: int) -> None:
        """Delete a data key that no stored value needs.

        Raises:
            DataKeyNeeded: the key does not exist, or a value may still need it.
            SecretChanged: another operator changed the keys at the same time.
        """
        status = next((each for each in self.key_statuses() if each.number == number), None)
        if status is None:
            raise DataKeyNeeded(f"there is no data key {number}")
        if status.is_newest:
            raise DataKeyNeeded(f"data key {number} is the newest and encrypts new records: create another one first")
        if status.removable_at is None:
            raise DataKeyNeeded(f"data key {number} may still open records: run `keys reseal`, then see `keys data`")
        if (progress := self.progress()) and progress.finished_at is None and progress.table is not None:
            raise DataKeyNeeded("records are being read: wait until the pass is over, see `keys data`")
        if self._clock.time() < status.removable_at:
            raise DataKeyNeeded(f"backups of the last 35 days may still need data key {number}: see `keys data`")
        self._keyring.remove_data_key(number)

    def _newest_key(self) -> tuple[int, int]:
        return list(self._keyring.data_keys().items())[-1]

    def _older_keys(self, number: int) -> frozenset[int]:
        """Return the keys created before the key ``number``. Keys created during the pass are not included."""
        return frozenset(each for each in self._keyring.data_keys() if each < number)

    def _write(self, progress: ResealingProgress) -> ResealingProgress:
        after, put = progress.put()
        self._store.put(put.table, put.item, put.condition)
        return after

    def _advance(self, progress: ResealingProgress) -> ResealingProgress:
        """Read a page of the table and reseal the values that older keys sealed."""
        now = self._clock.time()
        if progress.table is None:
            progress = progress.begin_pass(self.tables, now)
        table = progress.table or self.tables[0]
        page = self._store.scan_page(table, dict(progress.after) if progress.after else None, PAGE)
        older = self._older_keys(progress.data_key)
        calls = [partial(self._reseal, table, item, older, progress.data_key) for item in page.items]
        outcomes = together(calls) if calls else []
        found = dict(sum((Counter(each.found) for each in outcomes), Counter()))
        progress = progress.advance(len(page.items), sum(each.resealed for each in outcomes), found, page.next)
        return progress if page.next else progress.next_table(self.tables, older, now)

    def _reseal(self, table: str, item: Item, older: frozenset[int], current: int) -> _Sealed:
        """Reseal the values of an item. Values that cannot be opened, and values of items that have changed, are only
        counted.
        """
        numbers = [number for value in sealed_values(item) if (number := data_key_id(value)) in older]
        if not numbers:
            return _Sealed({})
        found = dict(Counter(map(str, numbers)))
        try:
            return _Sealed(found, self._replace(table, item, older, current))
        except Unsealable:
            log.warning("sealed value not opened", table=table)
        except (ConditionFailed, Busy, AnswerLost):
            pass  # the next pass sees what the item is now
        return _Sealed(found)

    def _replace(self, table: str, item: Item, older: frozenset[int], current: int) -> int:
        changes, count = {}, 0
        for place in self._places:
            before = item.get(place.attribute)
            if place.table != table or before is None or (context := place.context(item)) is None:
                continue
            if numbers := [value for value in sealed_values(before) if data_key_id(value) in older]:
                changes[place.attribute] = reseal_values(self._vault, before, context, current)
                count += len(numbers)
        if changes:
            key = {name: item[name] for name in self._key(table)}
            unchanged = reduce(and_, [Attr(name).eq(item[name]) for name in changes])
            self._store.update(table, key, set=changes, condition=unchanged)
        return count

    def _key(self, table: str) -> tuple[str, ...]:
        return next(place.key for place in self._places if place.table == table)
