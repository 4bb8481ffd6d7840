"""The banks' average response times on the last full day, for a list of banks."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta
from decimal import Decimal

from chalicelib.foundation.clock import Clock
from chalicelib.foundation.dynamodb.store import Item, Store
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.foundation.parallel import pieces
from chalicelib.statistics.call_counts import round_half_up
from chalicelib.statistics.day_records import DayRecord, record_key
from chalicelib.statistics.days import midnight_after, yesterday

_RETRY_SECONDS = 600
"""The number of seconds after which a missing record is looked up again."""


@dataclass(frozen=True, slots=True)
class _Average:
    """A bank's average in milliseconds, or ``None``, and the Unix second until which it is cached."""

    milliseconds: int | None
    until: int


class ResponseTimes:
    """Average response times in whole milliseconds, computed from the banks' day records and cached until the next
    record is due.
    """

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._known: dict[str, _Average] = {}

    def of_banks(self, bics: Sequence[str]) -> dict[str, int | None]:
        """Return the average of each bank: of yesterday or, until that record exists, of the day before."""
        now, latest = self._clock.time(), yesterday(self._clock)
        unknown = [bic for bic in bics if bic not in self._known or now >= self._known[bic].until]
        for bic, record in self._read(unknown, latest).items():
            until = midnight_after(now) if record and record.day == latest else now + _RETRY_SECONDS
            self._known[bic] = _Average(_average(record), until)
        return {bic: self._known[bic].milliseconds for bic in bics}

    def _read(self, bics: Sequence[str], latest: date) -> dict[str, DayRecord | None]:
        found = self._read_day(bics, latest)
        missing = [bic for bic, record in found.items() if record is None]
        return found | self._read_day(missing, latest - timedelta(days=1))

    def _read_day(self, bics: Sequence[str], day: date) -> dict[str, DayRecord | None]:
        found: dict[str, DayRecord | None] = {}
        for batch in pieces(bics, 100):
            items = self._store.batch_get([record_key(bic, day) for bic in batch])
            found |= {bic: _read_measured(item) for bic, item in zip(batch, items, strict=True)}
        return found


def _read_measured(item: Item | None) -> DayRecord | None:
    record = DayRecord.from_item(item) if item else None
    return None if record is None or record.made_up else record


def _average(record: DayRecord | None) -> int | None:
    bank = record.latency.bank if record else None
    if bank is None or not bank.count:
        return None
    return int(round_half_up(Decimal(bank.microseconds) / 1000 / bank.count, 0))
