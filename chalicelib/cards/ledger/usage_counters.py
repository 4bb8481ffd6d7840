"""Limits on the number, sum and countries of movements within a time window, and the counters of their usage.

Every entry of a limit group counts movements in windows of its duration: UTC days, ISO weeks, months or years. An entry
for single transactions stores no counts. Times are Unix seconds, amounts are in minor units. Amounts are converted into
the entry's currency at the base rate.

The counters of a card, an account or a holder are stored in one versioned item. A card's item also has the time of
the last row in its lists, so that new rows are added in order.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

from chalicelib.cards.ledger.conversion import NoRate, convert_at_base_rate
from chalicelib.cards.ledger.transaction_attributes import TransactionAttributes, counted_entries
from chalicelib.cards.ledger.transaction_record import TABLE
from chalicelib.cards.programs.catalogue import Catalogue, LimitEntry, LimitGroup
from chalicelib.cards.protocol import values
from chalicelib.cards.protocol.status_codes import Refused, Status
from chalicelib.cards.storage.record import without_none
from chalicelib.foundation.dynamodb.conditions import Attr
from chalicelib.foundation.dynamodb.store import Item, Put, absent
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.foundation.requests.facts import Key

Bound = Literal["amount", "count", "country_count"]
Usage = dict[str, list[dict[str, Any]]]
"""A movement's counts by counter owner, in the form stored in items."""


@dataclass(frozen=True, slots=True)
class WindowUsage:
    """The counts of a movement in the window that starts at ``start``. A release subtracts these counts.

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
    """The counts since ``start``. ``countries`` maps each country code to the number of movements in the country."""

    start: int
    count: int = 0
    amount: int = 0
    countries: Mapping[str, int] = field(default_factory=dict)

    @property
    def as_item(self) -> Item:
        """Return the stored form. Each member is copied separately, because ``asdict`` takes seven times as long."""
        return {"start": self.start, "count": self.count, "amount": self.amount, "countries": dict(self.countries)}

    def add(self, counted: WindowUsage, times: Literal[1, -1] = 1) -> Window:
        """Return the window with a movement added, or subtracted if ``times`` is -1. Counts never go below zero."""
        countries = dict(self.countries)
        if counted.country is not None:
            country = str(counted.country)
            countries[country] = countries.get(country, 0) + times
        return Window(
            self.start,
            max(0, self.count + times * counted.count),
            max(0, self.amount + times * counted.amount),
            {country: movements for country, movements in countries.items() if movements > 0},
        )


Windows = Mapping[str, Window]
"""The windows of a card, an account or a holder, keyed as in ``Catalogue.window_durations``."""


@dataclass(frozen=True, slots=True)
class LimitLeft:
    """The remaining limits of an entry. ``None`` means unlimited. ``date_valid`` is the first second after the
    window.
    """

    entry: LimitEntry
    count: int | None
    amount: int | None
    country_count: int | None
    date_valid: int


class LimitExceeded(Exception):
    """A movement exceeds a limit.

    ``bound`` is the exceeded bound of the limit: amount, count or countries. ``asked`` is the value that the movement
    requires, and ``left`` is the remaining value.
    """

    def __init__(self, entry: LimitEntry, bound: Bound, asked: int, left: int) -> None:
        self.entry = entry
        self.bound: Bound = bound
        self.asked = asked
        self.left = left
        super().__init__(f"the {bound} of limit {entry.id} is exceeded")


class OverLimit(Refused):
    """The refusal of a movement that exceeds a limit. ``bound`` is the kind of the exceeded limit: amount, count or
    countries.
    """

    def __init__(self, owner: str, exceeded: LimitExceeded) -> None:
        self.bound = exceeded.bound
        bound, name = exceeded.bound.replace("_", " "), exceeded.entry.name
        named = f' "{name}"' if name else ""
        super().__init__(
            Status.LIMIT_EXCEEDED, f"the {bound} of the {owner.partition('#')[0]}'s limit{named} is exceeded"
        )


def window_bounds(duration: int, now: int) -> tuple[int, int]:
    """Return the first second of the window that contains ``now``, and the first second after the window."""
    if duration == values.PER_TRANSACTION:
        return now, now
    today = datetime.fromtimestamp(now, UTC).replace(hour=0, minute=0, second=0)
    match duration:
        case values.PER_DAY:
            start, end = today, today + timedelta(days=1)
        case values.PER_WEEK:
            start = today - timedelta(days=today.weekday())
            end = start + timedelta(days=7)
        case values.PER_MONTH:
            start = today.replace(day=1)
            end = (start + timedelta(days=31)).replace(day=1)
        case _:
            start = today.replace(month=1, day=1)
            end = start.replace(year=start.year + 1)
    return int(start.timestamp()), int(end.timestamp())


def count_movement(
    catalogue: Catalogue,
    group: LimitGroup | None,
    windows: Windows,
    facts: TransactionAttributes,
    amount: int,
    now: int,
    *,
    forced: bool,
    further: int | None = None,
) -> tuple[Windows, list[WindowUsage]]:
    """Count a movement of ``amount`` in ``facts.currency``. Returns the updated windows and the movement's counts.

    A movement is never refused if ``forced`` is true. If there is no rate, the amount of a forced movement counts as 0.
    ``further`` is an amount of the same transaction that was already counted. Only ``amount`` is counted, but limits on
    single transactions apply to the sum of ``amount`` and ``further``.

    Raises: LimitExceeded, NoRate.
    """
    changed = live_windows(catalogue, windows, now)
    counted: list[WindowUsage] = []
    for key, entry in counted_entries(catalogue, _entries(group), facts):
        found = current_window(entry.duration, changed.get(key), now)
        is_single = entry.duration == values.PER_TRANSACTION
        counts = amount + (further or 0) if is_single else amount
        worth = _counted_amount(catalogue, entry, counts, facts.currency, forced)
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
    """Return the windows after a movement's counts are subtracted. Counts of past windows are ignored."""
    changed = dict(windows)
    for share in counted:
        found = changed.get(share.key)
        if found is not None and found.start == share.start:
            changed[share.key] = found.add(share, -1)
    return changed


def list_left(group: LimitGroup | None, windows: Windows, now: int) -> list[LimitLeft]:
    """Return the remaining limits of a limit group's entries, in the order of the entries."""
    current = [(entry, current_window(entry.duration, windows.get(key), now)) for key, entry in _entries(group)]
    return [
        LimitLeft(entry, **_left(entry, found), date_valid=window_bounds(entry.duration, found.start)[1])
        for entry, found in current
    ]


def live_windows(catalogue: Catalogue, windows: Windows, now: int) -> dict[str, Window]:
    """Return the current windows, including the windows of risk rules.

    A window of an unknown entry is retained until its calendar year ends, because this process may not have loaded a
    new entry yet.
    """
    durations = catalogue.window_durations
    starts = {key: window_bounds(durations.get(key, values.PER_YEAR), now)[0] for key in windows}
    return {key: found for key, found in windows.items() if found.start >= starts[key]}


def current_window(duration: int, found: Window | None, now: int) -> Window:
    """Return the stored window if it is current, otherwise a new window.

    A stored window with a later start is also used, because another process's clock may be ahead.
    """
    start, _ = window_bounds(duration, now)
    if found is None or found.start < start or duration == values.PER_TRANSACTION:
        return Window(start)
    is_of_duration = window_bounds(duration, found.start)[0] == found.start  # an operator may have changed it since
    return found if is_of_duration else Window(start)


def _entries(group: LimitGroup | None) -> list[tuple[str, LimitEntry]]:
    return [(f"{group.id}.{entry.id}", entry) for entry in group.entries] if group else []


def _counted_amount(catalogue: Catalogue, entry: LimitEntry, amount: int, currency: int, forced: bool) -> int:
    if entry.amount is None:
        return 0
    try:
        return convert_at_base_rate(catalogue, amount, currency, entry.amount_currency)
    except NoRate:
        if forced:
            return 0
        raise


def _left(entry: LimitEntry, found: Window) -> dict[Bound, int | None]:
    used: dict[Bound, int] = {"amount": found.amount, "count": found.count, "country_count": len(found.countries)}
    most: dict[Bound, int | None] = {bound: getattr(entry, bound) for bound in used}
    return {bound: None if limit is None else max(0, limit - used[bound]) for bound, limit in most.items()}


def _require_left(entry: LimitEntry, found: Window, share: WindowUsage) -> None:
    is_new_country = share.country is not None and str(share.country) not in found.countries
    asked = {"amount": share.amount, "count": share.count, "country_count": int(is_new_country)}
    for bound, left in _left(entry, found).items():
        if left is not None and asked[bound] > left:
            raise LimitExceeded(entry, bound, asked[bound], left)


Owner = Literal["card", "account", "holder"]


@dataclass(frozen=True, slots=True)
class Counters:
    """The windows of one owner. ``version`` is the number of writes, which is 0 before the first write.

    ``last_at`` is the time of the last row in a card's lists, in Unix milliseconds.
    """

    owner: str
    version: int = 0
    windows: Windows = field(default_factory=dict)
    last_at: int = 0

    @classmethod
    def from_item(cls, kind: Owner, number: int, item: Item | None) -> Counters:
        """Return the counters stored in an item, or empty counters if there is no item."""
        owner = f"{kind}#{number}"
        if item is None:
            return cls(owner)
        windows = {key: Window(**plain) for key, plain in item["windows"].items()}
        return cls(owner, item["version"], windows, item.get("last_at", 0))

    def put(self, after: Counters, write_id: str) -> Put:
        """Return a conditional put of the ``after`` counters. The put fails if the counters were changed
        concurrently.
        """
        item: Item = {
            "owner": self.owner,
            "part": "limits",
            "version": self.version + 1,
            "windows": {key: window.as_item for key, window in after.windows.items()},
            "written_by": write_id,
            **({"last_at": after.last_at} if after.last_at else {}),
        }
        return Put(TABLE, item, Attr("version").eq(self.version) if self.version else absent("owner"))


@dataclass(slots=True)
class CounterChanges:
    """Counter and card-list changes for one DynamoDB transaction. Each owner's counters are written once."""

    _changed: dict[str, tuple[Counters, Counters]] = field(default_factory=dict)

    def copy(self) -> CounterChanges:
        """Return a copy, for example to test a movement that may be refused."""
        return CounterChanges(dict(self._changed))

    def current(self, counters: Counters) -> Counters:
        """Return an owner's counters with all changes so far. ``counters`` are the counters as read from storage."""
        return self._changed.get(counters.owner, (counters, counters))[1]

    def count(
        self,
        catalogue: Catalogue,
        limits: Iterable[tuple[Counters, LimitGroup | None]],
        facts: TransactionAttributes,
        amount: int,
        now: int,
        *,
        forced: bool,
        further: int | None,
    ) -> Usage:
        """Count a movement against the limits of all owners, or against no limit if a limit is exceeded.

        Return the amounts counted for each owner. See ``count_movement``.

        Raises: OverLimit, NoRate.
        """
        usage: Usage = {}
        changed: dict[str, tuple[Counters, Counters]] = {}
        for counters, group in limits:
            before = self.current(counters)
            try:
                windows, counted = count_movement(
                    catalogue, group, before.windows, facts, amount, now, forced=forced, further=further
                )
            except LimitExceeded as exceeded:
                raise OverLimit(counters.owner, exceeded) from None
            if counted:
                changed[counters.owner] = counters, replace(before, windows=windows)
                usage[counters.owner] = [each.as_dict for each in counted]
        self._changed |= changed
        return usage

    def change(self, counters: Counters, windows: Windows) -> None:
        self._changed[counters.owner] = counters, replace(self.current(counters), windows=windows)

    def give_back(self, counters: Counters, counted: Iterable[WindowUsage]) -> None:
        self.change(counters, release_counts(self.current(counters).windows, counted))

    def note_listing(self, counters: Counters, at: int) -> None:
        """Record the time (Unix milliseconds) of a new row in a card's lists."""
        self._changed[counters.owner] = (
            counters,
            replace(self.current(counters), last_at=max(at, self.current(counters).last_at)),
        )

    def operations(self, write_id: str) -> list[Put]:
        return [counters.put(after, write_id) for counters, after in self._changed.values()]


def key(kind: Owner, number: int) -> Key:
    """Return the key of the counters of a card, an account or a holder."""
    return TABLE, {"owner": f"{kind}#{number}", "part": "limits"}
