"""Blueprints of scheduled jobs and queue consumers."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Generic, Self, TypeVar

from chalice.app import Blueprint

P = TypeVar("P")
ENTRY_POINT = "chalicelib.jobs"
"""The module that binds all jobs."""


class Jobs(Blueprint, Generic[P]):
    """A blueprint whose jobs use parts of the service. It is bound before it is registered, as ``Routes`` are."""

    _bound: Callable[[], P] | None = None

    def bind(self, parts: Callable[[], P]) -> Self:
        """Let jobs use the result of ``parts``, which is called in each run."""
        self._bound = parts
        return self

    def parts(self) -> P:
        """The parts for a run. Lambda loads the module of a job alone, without the entry point, which is loaded now."""
        if self._bound is None:
            import_module(ENTRY_POINT)
        assert self._bound is not None, f"{ENTRY_POINT} binds all jobs"
        return self._bound()
