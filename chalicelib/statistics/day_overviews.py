"""Day overviews: the figures of all banks for one UTC day in one item, so that a list of all banks takes few reads.

Overviews are derived from the day records, and rebuilt from them after each ingestion.
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from decimal import Decimal
from functools import partial

from chalicelib.foundation import jsontext
from chalicelib.foundation.dynamodb.conditions import Attr
from chalicelib.foundation.dynamodb.store import Conflict, Item, Put, Store, absent
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.foundation.parallel import pieces, together
from chalicelib.foundation.requests.engine import Engine, if_permitted
from chalicelib.statistics.call_counts import Histogram, percent, round_half_up
from chalicelib.statistics.day_records import TABLE, DayRecord, record_key
from chalicelib.statistics.days import DAY_SECONDS

_SUBJECT = "overview"
_BATCH = 100  # items of one read
_ROUNDS = 5
_BITS = 32  # of each bucket in a packed histogram
Row = Sequence[int]
"""A tuple of the members of ``BankFigures``, in their order. Rows are added member by member."""


@dataclass(frozen=True, slots=True)
class BankFigures:
    """A bank's figures for some days.

    Attributes:
        days: the number of days with a record.
        used_days: the number of days with requests to the bank, for which availability is known.
        made_up_days: the number of days with synthetic figures.
        down_seconds: the downtime in seconds.
        requests: the number of requests to the bank.
        failures: the number of requests that failed through the bank's fault.
        durations: the histogram of the time at the bank, packed (see ``pack_histogram``).
    """

    days: int = 0
    used_days: int = 0
    made_up_days: int = 0
    down_seconds: int = 0
    requests: int = 0
    failures: int = 0
    durations: int = 0

    @classmethod
    def total(cls, rows: Iterable[Row]) -> BankFigures:
        """Return the sums of rows. Without rows, all figures are zero."""
        return cls(*map(sum, zip(*rows, strict=True)))

    @property
    def availability(self) -> Decimal | None:
        """The availability as a percentage to three decimals, or ``None`` if the bank received no requests."""
        known = DAY_SECONDS * self.used_days
        return percent(known - self.down_seconds, known)

    @property
    def unavailability_minutes(self) -> Decimal:
        """The downtime in minutes, rounded to two decimals."""
        return round_half_up(Decimal(self.down_seconds) / 60, 2)

    @property
    def error_rate(self) -> Decimal | None:
        """The error rate as a percentage to three decimals, or ``None`` if the bank received no requests."""
        return percent(self.failures, self.requests)

    def percentile(self, percent: int) -> Decimal | None:
        """Return a percentile of the time at the bank in milliseconds, or ``None`` without successful requests."""
        return unpack_histogram(self.durations).percentile(percent)


def pack_histogram(histogram: Histogram) -> int:
    """Return the counts of all buckets as one number, 32 bits each, so that adding numbers adds histograms."""
    return sum(count << _BITS * bucket for bucket, count in histogram.buckets.items())


def unpack_histogram(packed: int) -> Histogram:
    """Return the buckets of a packed histogram. The sum of the durations is not known."""
    length = -(-packed.bit_length() // _BITS) * (_BITS // 8)
    counts = memoryview(packed.to_bytes(length, "little")).cast("I")
    return Histogram(Counter({bucket: count for bucket, count in enumerate(counts) if count}))


def row_of(record: DayRecord) -> Row:
    """Return the row of a day record."""
    total = record.total
    return (
        1,
        int(total.bank_requests > 0),
        int(record.made_up),
        record.down_seconds if total.bank_requests else 0,
        total.bank_requests,
        total.bank_failures,
        pack_histogram(record.latency.bank),
    )


@dataclass(frozen=True, slots=True)
class DayOverview:
    """The rows of all banks for one day, by BIC. ``revision`` is incremented by each change."""

    rows: Mapping[str, Row]
    revision: int = 1

    def to_item(self, day: date) -> Item:
        rows = {bic: [*row[:-1], f"{row[-1]:x}"] for bic, row in sorted(self.rows.items())}
        _, key = _key(day)
        return {**key, "rows": zlib.compress(jsontext.dumps(rows).encode()), "revision": self.revision}

    @classmethod
    def from_item(cls, item: Item) -> DayOverview:
        rows = jsontext.loads(zlib.decompress(item["rows"]))
        return cls({bic: (*row[:-1], int(row[-1], 16)) for bic, row in rows.items()}, item["revision"])


def without_made_up_rows(overviews: Mapping[date, DayOverview]) -> dict[date, DayOverview]:
    """Return the overviews without the rows of days with synthetic figures."""
    return {
        day: DayOverview(
            {bic: row for bic, row in each.rows.items() if not BankFigures(*row).made_up_days}, each.revision
        )
        for day, each in overviews.items()
    }


def read_overviews(store: Store, days: Iterable[date]) -> dict[date, DayOverview]:
    """Read the overviews of ``days``, with one read per 100 days, in parallel. The result omits overviews that are not
    built yet.
    """
    parts = together([partial(_read, store, piece) for piece in pieces(list(days), _BATCH)])
    return {day: overview for part in parts for day, overview in part.items()}


def build_overviews(store: Store, days: Iterable[date], bics: Sequence[str]) -> None:
    """Build the overviews of ``days`` from the stored records of the banks. An unchanged overview is not written.

    A write fails if another process has written the overview since the records were read, so no write is lost.

    Raises: Conflict, if the same days are repeatedly built concurrently.
    """
    waiting = list(days)
    for _ in range(_ROUNDS):
        stored = read_overviews(store, waiting)
        rows = _read_rows(store, waiting, bics)
        waiting = [day for day in waiting if not _put(store, day, rows.get(day, {}), stored.get(day))]
        if not waiting:
            return
    raise Conflict(f"the overviews of {len(waiting)} days kept changing")


def build_missing_overviews(store: Store, days: Iterable[date], bics: Sequence[str]) -> None:
    """Build the missing overviews of ``days``. Their records were stored before overviews existed."""
    days = list(days)
    known = read_overviews(store, days)
    build_overviews(store, [day for day in days if day not in known], bics)


def _read(store: Store, days: Sequence[date]) -> dict[date, DayOverview]:
    items = store.batch_get([_key(day) for day in days])
    return {day: DayOverview.from_item(item) for day, item in zip(days, items, strict=True) if item}


def _read_rows(store: Store, days: Sequence[date], bics: Sequence[str]) -> dict[date, dict[str, Row]]:
    rows: dict[date, dict[str, Row]] = {}
    for batch in pieces([record_key(bic, day) for day in days for bic in bics], _BATCH):
        for item in store.batch_get(batch):
            if item:
                record = DayRecord.from_item(item)
                rows.setdefault(record.day, {})[record.bic] = row_of(record)
    return rows


def _put(store: Store, day: date, rows: Mapping[str, Row], stored: DayOverview | None) -> bool:
    """Store a day's rows. Return ``False`` if another overview was stored after ``stored`` was read."""
    if stored and stored.rows == rows:
        return True
    overview = DayOverview(rows, stored.revision + 1 if stored else 1)
    unchanged = Attr("revision").eq(stored.revision) if stored else absent("subject")
    put = Put(TABLE, overview.to_item(day), unchanged)
    return Engine(store).carry_out(if_permitted([put], True, lambda _: False))


def _key(day: date) -> tuple[str, Item]:
    return TABLE, {"subject": _SUBJECT, "part": day.isoformat()}
