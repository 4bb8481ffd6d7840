"""Where statistics are wired: what was measured and reported of banks, and the records of their days."""

from __future__ import annotations

from functools import cached_property

from chalicelib.foundation.clock import Clock
from chalicelib.foundation.dynamodb.store import Store
from chalicelib.foundation.metrics import Metrics
from chalicelib.statistics.current_day import CurrentDay
from chalicelib.statistics.daily_reports import DailyReports
from chalicelib.statistics.day_records import DayRecords
from chalicelib.statistics.hourly_counter_reader import KeptCounters
from chalicelib.statistics.ingest import Ingest


class StatisticsRoom:
    """All parts; each is made when it is first asked for."""

    def __init__(self, store: Store, clock: Clock, metrics: Metrics) -> None:
        self._store = store
        self._clock = clock
        self._metrics = metrics

    @cached_property
    def reports(self) -> DailyReports:
        return DailyReports(self._store, self._clock)

    @cached_property
    def records(self) -> DayRecords:
        return DayRecords(self._store)

    @cached_property
    def ingest(self) -> Ingest:
        return Ingest(self._clock, self._slips, self.reports, self.records, self._metrics)

    @cached_property
    def today(self) -> CurrentDay:
        return CurrentDay(self._clock, self._slips)

    @property
    def _slips(self) -> KeptCounters:
        return KeptCounters(self._store)
