"""Cards and authorizations per second on the built-in emulator, whose tables grow meanwhile."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from chalicelib.bootstrap import Hub
from infra.local.process import ChildProcess, python_command
from infra.repository import ROOT
from tests.bench.against_bare import service
from tests.bench.authorizations import Authorizations

CLIENTS = 16
CARDS = 2_000
"""So many cards there are at the end."""
GOALS = {"cards": 100, "authorizations": 50}
_MEASURED = 200
_USED = 64
"""So many cards are used for the authorizations."""


@contextmanager
def emulator() -> Iterator[str]:
    """The address of an emulator in a process of its own."""
    child = ChildProcess(python_command("infra.local.emulator"), output=subprocess.PIPE, folder=ROOT)
    try:
        yield child.first_line()
    finally:
        child.stop()


def measured() -> Iterator[tuple[str, float, float]]:
    """What is measured, its pace per second, and the goal."""
    with emulator() as address, service(address) as (hub, credentials):
        yield from _paces(hub, credentials)


def _paces(hub: Hub, credentials: Mapping[str, str]) -> Iterator[tuple[str, float, float]]:
    spending = Authorizations(hub, credentials)
    cards = [spending.card() for _ in range(_USED)]

    made = _USED
    for until in (made + _MEASURED, CARDS):
        _pace(lambda _: spending.created(), until - _MEASURED - made)
        yield f"cards up to {until:5}", _pace(lambda _: spending.created(), _MEASURED), GOALS["cards"]
        spend = _pace(lambda number: spending(cards[number % _USED]), _MEASURED)
        yield f"authorizations at {until:5} cards", spend, GOALS["authorizations"]
        made = until


def _pace(make: Callable[[int], object], count: int) -> float:
    """How many come about per second of ``count`` that ``CLIENTS`` clients try."""
    begun = time.perf_counter()
    with ThreadPoolExecutor(CLIENTS) as clients:
        came_about = sum(map(bool, clients.map(make, range(count))))
    return came_about / (time.perf_counter() - begun)
