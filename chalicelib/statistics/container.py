"""Wires statistics: measurements, bank reports and day records."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from chalicelib.foundation.container import Infrastructure
from chalicelib.foundation.wiring import Container, part
from chalicelib.statistics.measurements import Measurements

if TYPE_CHECKING:  # every request is measured; the rest is loaded when it is first asked for
    from chalicelib.statistics.client_activity import ActivityReader
    from chalicelib.statistics.current_day import CurrentDay
    from chalicelib.statistics.day_records import DailyReports
    from chalicelib.statistics.downtimes import OpenDowntimes
    from chalicelib.statistics.hourly_counters import StoredCounters
    from chalicelib.statistics.ingest import ExpectedBank, Ingest
    from chalicelib.statistics.response_times import ResponseTimes
    from chalicelib.statistics.slow_calls import SlowCalls


class StatisticsContainer(Container):
    """Creates the components of the statistics package on first use. ``expected_banks`` returns the banks that have
    daily statistics.
    """

    counters: StoredCounters = part("chalicelib.statistics.hourly_counters")
    reports: DailyReports = part("chalicelib.statistics.day_records")
    ingest: Ingest = part("chalicelib.statistics.ingest")
    today: CurrentDay = part("chalicelib.statistics.current_day")
    open_downtimes: OpenDowntimes = part("chalicelib.statistics.downtimes")
    slow_calls: SlowCalls = part("chalicelib.statistics.slow_calls")
    response_times: ResponseTimes = part("chalicelib.statistics.response_times")

    def __init__(self, shared: Infrastructure, expected_banks: Callable[[], Sequence[ExpectedBank]]) -> None:
        self.shared = shared
        self.parents = (shared,)
        self.expected_banks = expected_banks

    @cached_property
    def measurements(self) -> Measurements:
        return self.new_measurements()

    def new_measurements(self, not_before: int = 0) -> Measurements:
        shared = self.shared
        return Measurements(lambda: shared.store, shared.clock, shared.metrics, not_before, lambda: self.open_downtimes)

    @cached_property
    def ingest_alone(self) -> Ingest:
        """Return an ingest for the only process that counts calls. Hours without counted calls are skipped."""
        from chalicelib.statistics.hourly_counters import StoredCounters
        from chalicelib.statistics.ingest import Ingest

        counters = StoredCounters(self.shared.store, self.measurements.has_none)
        alone: Ingest = self.make(Ingest, counters=counters, is_alone=True)
        return alone

    @property
    def activity(self) -> ActivityReader:
        from chalicelib.statistics.client_activity import ActivityReader

        return ActivityReader(self.shared.store, self.shared.clock, self.measurements.activity)
