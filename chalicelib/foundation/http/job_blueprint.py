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
"""The name of the module that binds all jobs."""
RESERVE_SECONDS = 5.0
"""The number of seconds before a function's timeout in which a scheduled job starts no AWS calls, because Lambda aborts
calls in progress at the timeout.
"""


class Jobs(Blueprint, Generic[P]):
    """A blueprint for jobs that use components of the service. Call ``bind`` before registration, as for ``Routes``."""

    _bound: Callable[[], P] | None = None

    def bind(self, parts: Callable[[], P]) -> Self:
        """Bind jobs to the result of ``parts``, which is called at the start of each run."""
        self._bound = parts
        return self

    def schedule(
        self, expression: Any, name: str | None = None, description: str = ""
    ) -> Callable[[Callable[[Any], None]], Any]:
        """Register a scheduled job. The job has a deadline shortly before its function's timeout."""
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
        """Return the components for a run. Imports the entry point if needed, because Lambda imports only the module of
        the job.

        This fallback is permanent, because an update of a stage does not change the handlers of its functions.
        """
        if self._bound is None:
            import_module(ENTRY_POINT)
        assert self._bound is not None, f"{ENTRY_POINT} binds all jobs"
        return self._bound()
