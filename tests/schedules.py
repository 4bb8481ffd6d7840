"""Runs scheduled jobs as Lambda does."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from chalice.local import LambdaContext

from infra.local.event_runner import schedule_event


def run_schedule(job: Callable[[Any, Any], object], seconds: int = 55) -> None:
    """Run a job whose function may take so many seconds."""
    event = schedule_event("any", datetime.now(UTC), "eu-west-1")
    job(event, LambdaContext(function_name="any", memory_size=512, max_runtime_ms=seconds * 1000))
