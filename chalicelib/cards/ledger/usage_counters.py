"""Limits on the number, sum and countries of movements within a time window, and the counters of their usage.

Every entry of a limit group counts movements in windows of its duration: UTC days, ISO weeks, months or years. An entry
for single transactions keeps no counts. Times are Unix seconds, amounts are in minor units. Amounts are converted into
the entry's currency at the base rate.

The counters of a card, an account or a holder are stored in one versioned item. A card's item also holds the time of
the last row in its lists, which keeps the rows in order.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, field, replace
from datetime import UTC, datetime
from typing import Any, Literal

from chalicelib.cards.ledger.conversion import NoRate, convert_at_base_rate
from chalicelib.cards.ledger.transaction_attributes import TransactionAttributes, counted_entries
from chalicelib.cards.ledger.transaction_record import TABLE
from chalicelib.cards.programs.catalogue import Catalogue, LimitEntry, LimitGroup
from chalicelib.cards.protocol import values
from chalicelib.cards.storage.record import without_none
from chalicelib.foundation.dynamodb.conditions import Attr
from chalicelib.foundation.dynamodb.store import Item, Put, absent
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.foundation.requests.facts import Key

Bound = Literal["amount", "count", "country_count"]

_DAY = 24 * 3600
_WEEK = 7 * _DAY
_A_MONDAY = 4 * _DAY
"""Monday, 5 January 1970, in Unix seconds."""


@dataclass(frozen=True, slots=True)
class WindowUsage:
    """A movement's counts in the window that starts at ``start``, subtracted again on release.

    ``country`` is set only if the entry limits the number of countries.
    """

    key: str
    start: int
    amount: int
    count: int
    country: int | None = None

    @property
    def as_dict(self) -> dict[str, Any]:
        return without_none(asdict(self))


@dataclass(frozen=True, slots=True)
class Window:
    """The counts since ``start``; ``countries`` maps each country to its number of movements."""

    start: int
    count: int = 0
    amount: int = 0
    countries: Mapping[int, int] = field(default_factory=dict)

    def add(self, counted: WindowUsage, times: Literal[1, -1] = 1) -> Window:
        """The window with a movement added, or subtracted on release (``times=-1``). Counts never go below zero."""
        countries = dict(self.countries)
        if counted.country is not None:
            countries[counted.country] = countries.get(counted.country, 0) + times
        return Window(
            self.start,
            max(0, self.count + times * counted.count),
            max(0, self.amount + times * counted.amount),
            {country: movements for country, movements in countries.items() if movements > 0},
        )


Windows = Mapping[str, Window]
"""The windows of a card, an account or a holder, keyed by group and entry: ``3.1``, or ``risk.7.1`` for a risk rule."""

OF_RISK = "risk."
"""The prefix of risk rules' windows."""


@dataclass(frozen=True, slots=True)
class LimitLeft:
    """The remaining limits of an entry; ``None`` if unlimited. ``date_valid`` is the first second after the window."""

    entry: LimitEntry
    count: int | None
    amount: int | None
    country_count: int | None
    date_valid: int


class LimitExceeded(Exception):
    """A movement exceeds an entry: it requires ``asked``, but only ``left`` of ``bound`` remains."""

    def __init__(self, entry: LimitEntry, bound: Bound, asked: int, left: int) -> None:
        self.entry = entry
        self.bound: Bound = bound
        self.asked = asked
        self.left = left
        super().__init__(f"the {bound} of limit {entry.id} is exceeded")


def window_bounds(duration: int, now: int) -> tuple[int, int]:
    """The first second of the window that contains ``now``, and the first second after it."""
    today = datetime.fromtimestamp(now, UTC)
    match duration:
        case values.PER_TRANSACTION:
            return now, now
        case values.PER_DAY:
            return now - now % _DAY, now - now % _DAY + _DAY
        case values.PER_WEEK:
            start = now - (now - _A_MONDAY) % _WEEK
            return start, start + _WEEK
        case values.PER_MONTH:
            following = today.year + today.month // 12, today.month % 12 + 1
            return _start_of_month(today.year, today.month), _start_of_month(*following)
        case _:
            return _start_of_month(today.year, 1), _start_of_month(today.year + 1, 1)


def count_movement(
    catalogue: Catalogue,
    group: LimitGroup | None,
    windows: Windows,
    facts: TransactionAttributes,
    amount: int,
    currency: int,
    now: int,
    *,
    forced: bool,
    further: int | None = None,
) -> tuple[Windows, list[WindowUsage]]:
    """Count a movement of ``amount`` in ``currency``. Returns the updated windows and the movement's counts.

    A ``forced`` movement is never refused; its amount counts as 0 if there is no rate. ``further`` is an amount of the
    same transaction that was already counted: only ``amount`` is counted, but limits on single transactions apply to
    the sum.

    Raises: LimitExceeded, NoRate.
    """
    changed = dict(live_windows(catalogue, windows, now))
    counted: list[WindowUsage] = []
    for key, entry in counted_entries(catalogue, _entries(group), facts):
        found = current_window(entry.duration, changed.get(key), now)
        is_single = entry.duration == values.PER_TRANSACTION
        worth = _counted_amount(catalogue, entry, amount + (further or 0) if is_single else amount, currency, forced)
        is_new = further is None
        country = None if entry.country_count is None or not is_new else facts.country
        share = WindowUsage(key, found.start, worth, int(is_new), country)
        if not forced:
            _require_left(entry, found, share)
        if not is_single:
            changed[key] = found.add(share)
            counted.append(share)
    return changed, counted


def release_counts(windows: Windows, counted: Iterable[WindowUsage]) -> Windows:
    """The windows after a movement's counts are subtracted. Counts of past windows are ignored."""
    changed = dict(windows)
    for share in counted:
        found = changed.get(share.key)
        if found is not None and found.start == share.start:
            changed[share.key] = found.add(share, -1)
    return changed


def list_left(group: LimitGroup | None, windows: Windows, now: int) -> list[LimitLeft]:
    """The remaining limits of a group's entries, in order."""
    return [_limit_left(entry, current_window(entry.duration, windows.get(key), now)) for key, entry in _entries(group)]


def live_windows(catalogue: Catalogue, windows: Windows, now: int) -> Iterator[tuple[str, Window]]:
    """The current windows, including those of risk rules.

    A window of an unknown entry is kept until its calendar year ends, because this process may not have loaded a
    new entry yet.
    """
    durations: dict[str, int] = {}
    for name in {key.rpartition(".")[0] for key in windows}:
        durations |= _durations(catalogue, name)
    for key, found in windows.items():
        if found.start >= window_bounds(durations.get(key, values.PER_YEAR), now)[0]:
            yield key, found


def current_window(duration: int, found: Window | None, now: int) -> Window:
    """The window to count in: the stored one if it is current, otherwise a new one.

    A stored window with a later start is also used, because another process's clock may be ahead.
    """
    start, _ = window_bounds(duration, now)
    if found is None or found.start < start or duration == values.PER_TRANSACTION:
        return Window(start)
    is_of_duration = window_bounds(duration, found.start)[0] == found.start  # an operator may have changed it since
    return found if is_of_duration else Window(start)


def _start_of_month(year: int, month: int) -> int:
    return int(datetime(year, month, 1, tzinfo=UTC).timestamp())


def _entries(group: LimitGroup | None) -> list[tuple[str, LimitEntry]]:
    """The entries of a group, each with its window key."""
    return [(f"{group.id}.{entry.id}", entry) for entry in group.entries] if group else []


def _durations(catalogue: Catalogue, name: str) -> dict[str, int]:
    """Durations by window key for the group whose windows have the key prefix ``name``."""
    if name.startswith(OF_RISK):
        risk_group = catalogue.risk_groups.get(int(name.removeprefix(OF_RISK)))
        rules = risk_group.rules if risk_group else ()
        return {f"{name}.{rule.id}": rule.duration for rule in rules if rule.duration is not None}
    return {key: entry.duration for key, entry in _entries(catalogue.limit_groups.get(int(name)))}


def _counted_amount(catalogue: Catalogue, entry: LimitEntry, amount: int, currency: int, forced: bool) -> int:
    """The amount in the entry's currency; 0 without an amount limit. Raises: NoRate, unless ``forced`` (then 0)."""
    if entry.amount is None:
        return 0
    try:
        return convert_at_base_rate(catalogue, amount, currency, entry.amount_currency)
    except NoRate:
        if forced:
            return 0
        raise


def _limit_left(entry: LimitEntry, found: Window) -> LimitLeft:
    return LimitLeft(
        entry,
        _subtract_used(entry.count, found.count),
        _subtract_used(entry.amount, found.amount),
        _subtract_used(entry.country_count, len(found.countries)),
        window_bounds(entry.duration, found.start)[1],
    )


def _subtract_used(bound: int | None, used: int) -> int | None:
    return None if bound is None else max(0, bound - used)


def _require_left(entry: LimitEntry, found: Window, share: WindowUsage) -> None:
    """Check a movement against the limits that remain in a window. Raises: LimitExceeded."""
    left = _limit_left(entry, found)
    is_new_country = share.country is not None and share.country not in found.countries
    bounds: list[tuple[Bound, int, int | None]] = [
        ("amount", share.amount, left.amount),
        ("count", share.count, left.count),
        ("country_count", int(is_new_country), left.country_count),
    ]
    for bound, asked, rest in bounds:
        if rest is not None and asked > rest:
            raise LimitExceeded(entry, bound, asked, rest)


Owner = Literal["card", "account", "holder"]


@dataclass(frozen=True, slots=True)
class Counters:
    """The windows of one owner. ``version`` is the number of writes, 0 before the first.

    ``last_at``: the time of the last row in a card's lists, in Unix milliseconds.
    """

    owner: str
    version: int = 0
    windows: Windows = field(default_factory=dict)
    last_at: int = 0

    @classmethod
    def from_item(cls, kind: Owner, number: int, item: Item | None) -> Counters:
        """The counters stored in an item; empty if there is no item."""
        owner = f"{kind}#{number}"
        if item is None:
            return cls(owner)
        windows = {key: _read_window(plain) for key, plain in item["windows"].items()}
        return cls(owner, item["version"], windows, item.get("last_at", 0))

    def put(self, after: Counters, write_id: str) -> Put:
        """A conditional put of the ``after`` counters; fails if they were changed concurrently."""
        item: Item = {
            "owner": self.owner,
            "part": "limits",
            "version": self.version + 1,
            "windows": {key: _window_item(window) for key, window in after.windows.items()},
            "written_by": write_id,
            **({"last_at": after.last_at} if after.last_at else {}),
        }
        return Put(TABLE, item, Attr("version").eq(self.version) if self.version else absent("owner"))


class CounterChanges:
    """Counter and card-list changes for one DynamoDB transaction; each owner's counters are written once."""

    def __init__(self) -> None:
        self._changed: dict[str, tuple[Counters, Counters]] = {}

    def copy(self) -> CounterChanges:
        """A copy with which to try a movement that may be refused."""
        copied = CounterChanges()
        copied._changed = dict(self._changed)
        return copied

    def current(self, kept: Counters) -> Counters:
        """An owner's counters with all changes so far; ``kept`` is their state as read."""
        return self._changed.get(kept.owner, (kept, kept))[1]

    def try_count(
        self,
        kept: Counters,
        catalogue: Catalogue,
        group: LimitGroup | None,
        facts: TransactionAttributes,
        amount: int,
        now: int,
        *,
        forced: bool,
        further: int | None,
    ) -> tuple[Windows, list[dict[str, Any]]]:
        """The windows and counts of ``count_movement`` in ``facts.currency``, the counts as stored in items."""
        before, currency = self.current(kept).windows, facts.currency
        windows, counted = count_movement(
            catalogue, group, before, facts, amount, currency, now, forced=forced, further=further
        )
        return windows, [each.as_dict for each in counted]

    def change(self, kept: Counters, windows: Windows) -> None:
        self._changed[kept.owner] = kept, replace(self.current(kept), windows=windows)

    def give_back(self, kept: Counters, counted: Iterable[WindowUsage]) -> None:
        self.change(kept, release_counts(self.current(kept).windows, counted))

    def note_listing(self, kept: Counters, at: int) -> None:
        """Record the time (Unix milliseconds) of a new row in a card's lists."""
        self._changed[kept.owner] = kept, replace(self.current(kept), last_at=max(at, self.current(kept).last_at))

    def operations(self, write_id: str) -> list[Put]:
        return [kept.put(after, write_id) for kept, after in self._changed.values()]


def key(kind: Owner, number: int) -> Key:
    """The key of a card's, account's or holder's counters."""
    return TABLE, {"owner": f"{kind}#{number}", "part": "limits"}


def keys(owners: Iterable[tuple[Owner, int]]) -> list[Key]:
    """The keys of the counters of several owners."""
    return [key(kind, number) for kind, number in owners]


def read_all(owners: Iterable[tuple[Owner, int]], items: Iterable[Item | None]) -> list[Counters]:
    """The counters of several owners, stored in the items at ``keys``."""
    return [Counters.from_item(kind, number, item) for (kind, number), item in zip(owners, items, strict=True)]


def _window_item(window: Window) -> Item:
    """The stored form of a window; map keys must be strings."""
    countries = {str(country): movements for country, movements in window.countries.items()}
    return {"start": window.start, "count": window.count, "amount": window.amount, "countries": countries}


def _read_window(plain: Mapping[str, Any]) -> Window:
    countries = {int(country): movements for country, movements in plain["countries"].items()}
    return Window(plain["start"], plain["count"], plain["amount"], countries)
