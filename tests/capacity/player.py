"""Plays each kind in a world of its own, warm as a process that runs for a while, and counts what it takes."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import astuple, replace
from datetime import timedelta
from decimal import Decimal
from typing import Any, get_args
from unittest.mock import patch

from chalice.app import ScheduledEventConfig

from chalicelib.cards.storage.sequences import Sequences
from infra.capacity.counts import Group, KeyUnits, Kind, Units
from infra.capacity.places import about
from infra.local import schedules
from tests.capacity.background import BACKGROUND
from tests.capacity.card_plays import CARDS
from tests.capacity.plays import OPEN_BANKING, Play
from tests.capacity.recorder import Noted, Place, noted
from tests.world import START, Answer, ScriptedOutbound, World

PLAYS: Mapping[Group, tuple[Play, ...]] = dict(zip(get_args(Group), (OPEN_BANKING, CARDS, BACKGROUND), strict=True))

_MONTH = timedelta(days=30)
_NOTHING = Units(Decimal(0), Decimal(0))


def played(first: World, rounds: int = 1) -> Iterator[Kind]:
    """Every kind; processor time is the least of so many ``rounds``."""
    for group, plays in PLAYS.items():
        for play in plays:
            every = [_once(first, play, group) for _ in range(rounds)]
            yield replace(every[-1], processor=min(each.processor for each in every))


def _once(first: World, play: Play, group: Group) -> Kind:
    world = first.again()
    with world.installed():
        warm(world)
        with play.within(world):
            run = play.set_up(world)
            with _traffic() as traffic, noted() as notes:
                run()
    return _kind(play, group, notes, traffic)


def warm(world: World) -> None:
    """What a running process has found: banks, and the queue's address."""
    for side in world.banks.values():
        world.hub.banks.find(side.bank.bic)
    world.hub.banks.directory()
    world.hub.deliveries_queue.waiting()


@contextlib.contextmanager
def _traffic() -> Iterator[dict[str, int]]:
    """HTTP requests that come in, requests that go out, bytes that are sent with either, and identifiers taken."""
    seen = {"requests": 0, "banks": 0, "sent": 0, "numbers": 0}
    real_call, real_post, real_take = World.call, ScriptedOutbound.post, Sequences.take

    def call(world: World, *arguments: Any, **options: Any) -> Answer:
        answer = real_call(world, *arguments, **options)
        seen["requests"] += 1
        seen["sent"] += _size(answer.headers) + len(answer.text.encode())
        return answer

    def post(outbound: Any, url: str, body: bytes, headers: Mapping[str, str], **options: Any) -> Any:
        seen["banks"] += 1
        seen["sent"] += len(url) + _size(headers) + len(body)
        return real_post(outbound, url, body, headers, **options)

    def take(sequences: Sequences, name: Any, count: int) -> list[int]:
        seen["numbers"] += count
        return real_take(sequences, name, count)

    with (
        patch.object(World, "call", call),
        patch.object(ScriptedOutbound, "post", post),
        patch.object(Sequences, "take", take),
    ):
        yield seen


def _size(headers: Mapping[str, str]) -> int:
    return sum(len(name) + len(str(value)) + 4 for name, value in headers.items())


def _kind(play: Play, group: Group, notes: Noted, traffic: Mapping[str, int]) -> Kind:
    calls = notes.of("dynamodb")
    others = [f"{service}.{name}" for service, name in notes.calls if service != "dynamodb"]
    return Kind(
        name=play.name,
        title=play.title,
        group=group,
        calls=len(calls),
        waits=notes.waits,
        absent=notes.absent,
        tables=_summed(notes),
        keys=_of_each_path(notes),
        services={name: others.count(name) for name in sorted({*others})},
        function=play.function,
        runs=_runs(play.name),
        log=notes.log_bytes,
        processor=round(notes.processor * 1000, 3),
        **traffic,
    )


def _units(notes: Noted) -> Iterator[tuple[Place, Units]]:
    for place in sorted({*notes.reads, *notes.writes}, key=astuple):
        yield place, Units(Decimal(notes.reads[place]), Decimal(notes.writes[place]))


def _summed(notes: Noted) -> dict[str, Units]:
    """Units by table and index."""
    found: dict[str, Units] = {}
    for place, units in _units(notes):
        name = f"{place.table}.{place.index}" if place.index else place.table
        before = found.get(name, _NOTHING)
        found[name] = Units(before.read + units.read, before.write + units.write)
    return found


def _of_each_path(notes: Noted) -> dict[str, KeyUnits]:
    """What the busiest key gets of those that stand for the same."""
    found: dict[str, list[Units]] = {}
    for place, units in _units(notes):
        found.setdefault(about(place.table, place.index, place.partition).what, []).append(units)
    busiest = {what: max(each, key=lambda units: units.read + 3 * units.write) for what, each in found.items()}
    return {what: KeyUnits(units.read, units.write, len(found[what])) for what, units in busiest.items()}


def _runs(name: str) -> int:
    """How often the schedule of this name starts in 30 days."""
    from app import app

    found = [each for each in app.event_sources if isinstance(each, ScheduledEventConfig) and each.name == name]
    if not found:
        return 0
    [config] = found
    expression = config.schedule_expression
    schedule = schedules.parse(expression if isinstance(expression, str) else expression.to_string())
    first, second = START, schedule.after(START)
    runs = 0
    while second <= first + _MONTH:
        runs, second = runs + 1, schedule.after(second)
    return runs
