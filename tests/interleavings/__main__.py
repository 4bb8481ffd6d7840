"""Plays every order of the calls of each pair, without a fault and with every fault of every call.

One is played again by its id: ``--replay "redeem redeem:0110"``, or ``"redeem redeem:0110:0.1 lost"``.
"""

from __future__ import annotations

import os
import sys
import time

from moto import mock_aws

from infra import command
from infra.local.resources import create_resources
from tests import lean_emulator
from tests.interleavings import card_pairs, delivery_pairs, openbanking_pairs
from tests.interleavings.playing import Findings, pair_of
from tests.interleavings.scheduler import Fault
from tests.silence import silent
from tests.world import World

PAIRS = openbanking_pairs.pair | card_pairs.pair | delivery_pairs.pair


class NotReplayable(Exception):
    """An id names no schedule of a pair."""


def main(arguments: list[str] | None = None) -> int:
    """Play, print a line for each pair, and every wrong schedule by its id; answers the exit code."""
    parser = command.parser("tests.interleavings", __doc__)
    parser.add_argument("--replay", metavar="ID", help="play one schedule, and print its outcome")
    options = parser.parse_args(arguments)
    os.environ |= lean_emulator.ENVIRONMENT
    lean_emulator.answer_calls()
    lean_emulator.install()
    with mock_aws():
        create_resources(emulated=True, dynamodb_apart=False)
        world = World.first()
        if options.replay is None:
            return _play_all(world)
        try:
            replay(world.again(), options.replay)
        except NotReplayable as error:
            print(f"{options.replay}: {error}", file=sys.stderr)
            return 2
    return 0


def _play_all(first: World) -> int:
    total, started, unrelated = Findings(), time.monotonic(), 0
    for title, prepare in PAIRS.items():
        world, began = first.again(), time.monotonic()
        with world.installed(), silent(), pair_of(world, prepare) as pair:
            found = pair.play_all_with_faults()
        print(f"{title:40} {found.played:6} schedules, {found.shared:6} of one item, {time.monotonic() - began:5.1f} s")
        for schedule, difference in found.wrong.items():
            print(f"  {title}:{schedule} differs from one after the other:\n{difference}")
        if not found.shared:
            print("  the requests have nothing to do with each other")
        total, unrelated = total + found, unrelated + (not found.shared)
    print(f"{len(PAIRS)} pairs, {total.played} schedules, {time.monotonic() - started:.0f} s")
    print(f"{len(total.wrong)} schedules differ from one after the other")
    return 1 if total.wrong or unrelated else 0


def replay(world: World, identifier: str) -> None:
    """Play a schedule again, and print its outcome. Raises: NotReplayable."""
    title, _, name = identifier.partition(":")
    if title not in PAIRS:
        raise NotReplayable(f"there is no pair {title!r}; there are: {', '.join(PAIRS)}")
    digits, _, text = name.partition(":")
    try:
        schedule, fault = tuple(map(int, digits)), Fault.read(text) if text else None
    except ValueError:
        raise NotReplayable("a schedule is the numbers of requests, such as 0110 or 0110:0.1 lost") from None
    with world.installed(), pair_of(world, PAIRS[title]) as pair:
        played = pair.play(schedule, fault)
        if played.schedule != schedule or (fault and not played.reaches(fault)):
            raise NotReplayable(f"stale: the calls of this pair come as {''.join(map(str, played.schedule))} now")
        print(*pair.outcome(played).lines, sep="\n")


if __name__ == "__main__":
    command.run(main)
