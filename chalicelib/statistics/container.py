"""Wires statistics: measurements, bank reports and day records."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from chalicelib.foundation.container import Infrastructure
from chalicelib.statistics.measurements import Measurements

if TYPE_CHECKING:  # every request is measured; the rest is loaded when it is first asked for
    from chalicelib.statistics.client_activity import ActivityReader
    from chalicelib.statistics.current_day import CurrentDay
    from chalicelib.statistics.day_overviews import DayOverviews
    from chalicelib.statistics.day_records import DailyReports, DayRecords
    from chalicelib.statistics.downtime_probes import DowntimeProbes
    from chalicelib.statistics.downtimes import OpenDowntimes
    from chalicelib.statistics.hourly_counters import StoredCounters
    from chalicelib.statistics.ingest import ExpectedBank, Ingest
    from chalicelib.statistics.response_times import ResponseTimes
    from chalicelib.statistics.slow_calls import SlowCalls


class StatisticsContainer:
    """``expected_banks`` returns the banks whose days are recorded."""

    def __init__(self, shared: Infrastructure, expected_banks: Callable[[], Sequence[ExpectedBank]]) -> None:
        self.shared = shared
        self.expected_banks = expected_banks

    @cached_property
    def measurements(self) -> Measurements:
        return self.new_measurements()

    def new_measurements(self, not_before: int = 0) -> Measurements:
        shared = self.shared
        return Measurements(lambda: shared.store, shared.clock, shared.metrics, not_before, lambda: self.open_downtimes)

    @cached_property
    def reports(self) -> DailyReports:
        from chalicelib.statistics.day_records import DailyReports

        return DailyReports(self.shared.store, self.shared.clock)

    @cached_property
    def records(self) -> DayRecords:
        from chalicelib.statistics.day_records import DayRecords

        return DayRecords(self.shared.store)

    @cached_property
    def overviews(self) -> DayOverviews:
        from chalicelib.statistics.day_overviews import DayOverviews

        return DayOverviews(self.shared.store)

    @cached_property
    def ingest(self) -> Ingest:
        from chalicelib.statistics.ingest import Ingest

        return Ingest(
            self.shared.clock, self._counters, self.reports, self.records, self.overviews, self.shared.metrics
        )

    @cached_property
    def ingest_alone(self) -> Ingest:
        """An ingest in the only process that counts: it does not read the hours in which that counted nothing."""
        from chalicelib.statistics.hourly_counters import StoredCounters
        from chalicelib.statistics.ingest import Ingest

        counters = StoredCounters(self.shared.store, self.measurements.has_none)
        return Ingest(
            self.shared.clock, counters, self.reports, self.records, self.overviews, self.shared.metrics, is_alone=True
        )

    @property
    def activity(self) -> ActivityReader:
        from chalicelib.statistics.client_activity import ActivityReader

        return ActivityReader(self.shared.store, self.shared.clock, self.measurements.activity)

    @cached_property
    def today(self) -> CurrentDay:
        from chalicelib.statistics.current_day import CurrentDay

        return CurrentDay(self.shared.clock, self._counters)

    @cached_property
    def open_downtimes(self) -> OpenDowntimes:
        from chalicelib.statistics.downtimes import OpenDowntimes

        return OpenDowntimes(self.shared.store, self.shared.clock)

    @cached_property
    def downtime_probes(self) -> DowntimeProbes:
        from chalicelib.statistics.downtime_probes import DowntimeProbes

        return DowntimeProbes(self.shared.store, self.shared.clock.real)

    @cached_property
    def slow_calls(self) -> SlowCalls:
        from chalicelib.statistics.slow_calls import SlowCalls

        return SlowCalls(self.shared.store, self.shared.clock)

    @cached_property
    def response_times(self) -> ResponseTimes:
        from chalicelib.statistics.response_times import ResponseTimes

        return ResponseTimes(self.shared.store, self.shared.clock)

    @property
    def _counters(self) -> StoredCounters:
        from chalicelib.statistics.hourly_counters import StoredCounters

        return StoredCounters(self.shared.store)
