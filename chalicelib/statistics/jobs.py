"""The scheduled job of statistics."""

from __future__ import annotations

from typing import Any

from chalice.app import Cron

from chalicelib.foundation.http.job_blueprint import Jobs
from chalicelib.statistics.container import StatisticsContainer
from chalicelib.statistics.days import INGESTED_AT

statistics_jobs = Jobs[StatisticsContainer](__name__)


@statistics_jobs.schedule(Cron(INGESTED_AT % 60, INGESTED_AT // 60, "*", "*", "?", "*"), name="ingest")
def ingest(event: Any) -> None:
    """Compute day records and report missing reports. This job runs every night at 01:10 UTC."""
    statistics = statistics_jobs.parts()
    statistics.ingest.run(statistics.expected_banks())
