"""Print code metrics, each with its value and its goal. With ``--names``, list the counted names."""

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from moto import mock_aws

from infra import command
from infra.local.resources import create_resources
from tests.causeway import Causeway
from tests.kit import emulator
from tests.kit.logs import silent
from tests.shape import ambient, modules, storage
from tests.shape.collaborators import Collaborators
from tests.shape.modules import Module
from tests.shape.traced import Trace, card_authorization, relayed_read

HEAD = f"{'figure':40} {'value':>6}   goal"
CONTAINER = "chalicelib/openbanking/container.py"


@dataclass(frozen=True)
class Figure:
    """A code metric. ``value`` must not exceed ``goal``; without a goal, ``value`` must not increase.
    ``names`` are the names of the counted items.
    """

    title: str
    value: int
    goal: int | None
    names: Sequence[str] = ()

    @property
    def row(self) -> str:
        goal = "not more" if self.goal is None else f"≤ {self.goal:,}"
        return f"{self.title:40} {self.value:6,}   {goal}"


def read_static() -> list[Figure]:
    chalicelib, infra = modules.read("chalicelib"), modules.read("infra")
    return [
        *_storage(chalicelib),
        _listed("ambient contexts", ambient.ambient_contexts(chalicelib), 1),
        *_collaborators(chalicelib),
        Figure("lines of openbanking/container.py", modules.lines(chalicelib, CONTAINER), 120),
        Figure("statements of chalicelib", modules.statements(chalicelib), 30_500),
        Figure("statements of infra", modules.statements(infra), None),
        _listed("modules over 400 lines", modules.long_modules([*chalicelib, *infra]), 0),
        _listed("functions over 40 statements", modules.long_functions([*chalicelib, *infra]), 0),
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


def main(arguments: list[str] | None = None) -> None:
    parser = command.parser("tests.shape", __doc__)
    parser.add_argument("--names", action="store_true", help="list what each figure counts")
    options = parser.parse_args(arguments)
    print(HEAD)
    for each in [*read_static(), *_traced()]:
        print(each.row)
        for name in each.names if options.names else ():
            print(f"    {name}")


def _traced() -> list[Figure]:
    """Return the metrics of two requests. The service and an emulator run in this process."""
    os.environ |= emulator.ENVIRONMENT
    emulator.answer_calls()
    emulator.install()
    with mock_aws(), silent():
        create_resources(emulated=True, dynamodb_apart=False)
        causeway = Causeway.first().again()
        with causeway.installed():
            read, authorization = relayed_read(causeway), card_authorization(causeway)
    return [*of_relayed_read(read), *of_card_authorization(authorization)]


if __name__ == "__main__":
    command.run(main)
