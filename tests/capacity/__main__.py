"""Counts what requests take of AWS anew, and writes what comes of it to ``infra/capacity.md``."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from infra import command
from infra.capacity import counts, page
from infra.capacity.counts import Counted, Machine
from tests import conftest, lean_emulator
from tests.bench.__main__ import _silent
from tests.bench.bare import Bare
from tests.bench.measures import warm
from tests.bench.relayed import Relayed
from tests.bench.scene import scene
from tests.capacity.player import played
from tests.world import World

ROUNDS = 5


@contextlib.contextmanager
def world() -> Iterator[World]:
    """A world on the emulator within this process."""
    from moto import mock_aws

    from infra.local.resources import lay

    assert conftest.DYNAMODB_ENDPOINT is None, "units are counted on the emulator within this process"
    lean_emulator.install()
    with mock_aws():
        lay(emulated=True, dynamodb_apart=False)
        yield World.first()


def _machine() -> Machine:
    with scene(), _silent():
        ratio = warm(Bare(), Relayed())
    return Machine(round(ratio.bare, 2), round(ratio.ours, 2))


def main(arguments: list[str] | None = None) -> None:
    """The command."""
    command.parser("tests.capacity", __doc__).parse_args(arguments)
    machine = _machine()
    with _silent(), world() as first:
        counts.save(Counted(machine, list(played(first, ROUNDS))))
    page.write()
    print(f"written: {page.PATH}")


if __name__ == "__main__":
    command.run(main)
