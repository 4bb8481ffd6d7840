"""Plays every order of the calls of each pair, without a fault and with every fault of every call.

One is played again by its id: ``--replay "redeem redeem:0110"``, or ``"redeem redeem:0110:0.1 lost"``.
"""

from __future__ import annotations

import os
import time

from moto import mock_aws

from infra import command
from infra.local.resources import create_resources
from tests import lean_emulator
from tests.interleavings import card_pairs, openbanking_pairs
from tests.interleavings.outcomes import outcome
from tests.interleavings.playing import PlayedPair
from tests.interleavings.scheduler import Fault
from tests.silence import silent
from tests.world import World

PAIRS = openbanking_pairs.PAIRS | card_pairs.PAIRS


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
        return _replay(world, options.replay) if options.replay else _play_all(world)


def _play_all(first: World) -> int:
    wrong = 0
    for title, prepare in PAIRS.items():
        world, started = first.again(), time.monotonic()
        with world.installed(), silent():
            found = PlayedPair(world, prepare).play_all_with_faults()
        wrong += len(found.wrong)
        print(
            f"{title:40} {found.played:6} schedules, {found.shared:6} of one item, {time.monotonic() - started:5.1f} s"
        )
        for schedule, came_to in found.wrong.items():
            print(f"  {title}:{schedule} comes to {came_to}\n  and not to one of {found.allowed}")
    print("as one after the other" if not wrong else f"{wrong} schedules come to something else")
    return 1 if wrong else 0


def _replay(first: World, identifier: str) -> int:
    title, digits, *faults = identifier.split(":")
    world = first.again()
    with world.installed():
        pair = PlayedPair(world, PAIRS[title])
        print(outcome(world, pair.play(tuple(map(int, digits)), *map(Fault.read, faults))))
    return 0


if __name__ == "__main__":
    command.run(main)
