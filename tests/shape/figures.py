"""The table of figures: what is counted, how much it is, and how much it shall be."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from tests.shape import ambient, modules, sizes, storage
from tests.shape.collaborators import Collaborators
from tests.shape.modules import Module
from tests.shape.traced import Trace

HEAD = f"{'figure':40} {'value':>6}   goal"
CONTAINER = "chalicelib/openbanking/container.py"


@dataclass(frozen=True)
class Figure:
    """One row: ``value`` shall be at most ``goal``, or not grow if there is none; ``names`` are what it counts."""

    title: str
    value: int
    goal: int | None
    names: Sequence[str] = ()

    @property
    def row(self) -> str:
        """A line of the table."""
        goal = "not more" if self.goal is None else f"≤ {self.goal:,}"
        return f"{self.title:40} {self.value:6,}   {goal}"


def read_static() -> list[Figure]:
    """The figures of the source of this repository."""
    chalicelib, infra = modules.read("chalicelib"), modules.read("infra")
    return [
        *_storage(chalicelib),
        _listed("ambient contexts", ambient.ambient_contexts(chalicelib), 1),
        *_collaborators(chalicelib),
        Figure("lines of openbanking/container.py", sizes.lines(chalicelib, CONTAINER), 120),
        Figure("statements of chalicelib", sizes.statements(chalicelib), 30_500),
        Figure("statements of infra", sizes.statements(infra), None),
        _listed("modules over 400 lines", sizes.long_modules([*chalicelib, *infra]), 0),
        _listed("functions over 40 statements", sizes.long_functions([*chalicelib, *infra]), 0),
    ]


def of_relayed_read(trace: Trace) -> list[Figure]:
    return _of_trace("relayed read", trace, (30, 80, 140))


def of_card_authorization(trace: Trace) -> list[Figure]:
    return _of_trace("card authorization", trace, (45, 250, 250))


def _storage(chalicelib: Sequence[Module]) -> list[Figure]:
    counted: list[tuple[str, Callable[[Sequence[Module]], list[str]], int]] = [
        ("store writes in flows", storage.store_writes, 0),
        ("handlers of store errors", storage.store_error_handlers, 12),
        ("idempotency modules", storage.idempotency_modules, 1),
        ("modules that spell the idempotency table", storage.idempotency_tables, 1),
    ]
    return [_listed(title, count(chalicelib), goal) for title, count, goal in counted]


def _collaborators(chalicelib: Sequence[Module]) -> list[Figure]:
    found = Collaborators(chalicelib)
    return [
        _listed("dataclasses of collaborators only", found.dataclasses(), 5),
        _listed("other classes of collaborators only", found.classes(), None),
        _listed("factories of collaborators only", found.factories(), None),
    ]


def _of_trace(what: str, trace: Trace, goals: tuple[int, int, int]) -> list[Figure]:
    files, switches, functions = goals
    return [
        _listed(f"{what}: files", sorted(trace.files), files),
        Figure(f"{what}: switches of file", trace.switches, switches),
        _listed(f"{what}: functions", sorted(trace.functions), functions),
    ]


def _listed(title: str, names: Iterable[str], goal: int | None) -> Figure:
    found = list(names)
    return Figure(title, len(found), goal, found)
