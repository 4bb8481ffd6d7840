"""Blueprints of scheduled jobs and queue consumers."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import wraps
from importlib import import_module
from typing import Any, Generic, Self, TypeVar

from chalice.app import Blueprint

from chalicelib.foundation.context import deadline

P = TypeVar("P")
ENTRY_POINT = "chalicelib.jobs"
"""The module that binds all jobs."""
RESERVE_SECONDS = 5.0
"""The end of a function's time, in which its schedule begins no call of AWS: Lambda stops what still runs."""


class Jobs(Blueprint, Generic[P]):
    """A blueprint whose jobs use parts of the service. Bind it before registration, like ``Routes``."""

    _bound: Callable[[], P] | None = None

    def bind(self, parts: Callable[[], P]) -> Self:
        """Bind jobs to the result of ``parts``, which is called in each run."""
        self._bound = parts
        return self

    def schedule(
        self, expression: Any, name: str | None = None, description: str = ""
    ) -> Callable[[Callable[[Any], None]], Any]:
        """Register a scheduled job, which ends at its function's timeout."""
        register = super().schedule(expression, name, description)

        def decorate(job: Callable[[Any], None]) -> Any:
            @wraps(job)
            def run(event: Any) -> None:
                seconds = event.context.get_remaining_time_in_millis() / 1000 - RESERVE_SECONDS
                with deadline(time.monotonic, time.monotonic() + seconds):
                    job(event)

            return register(run)

        return decorate

    def parts(self) -> P:
        """Return the parts for a run. Lambda imports a job's module without the entry point, so this method imports it.

        This fallback is permanent, because an update of a stage does not change the handlers of its functions.
        """
        if self._bound is None:
            import_module(ENTRY_POINT)
        assert self._bound is not None, f"{ENTRY_POINT} binds all jobs"
        return self._bound()
