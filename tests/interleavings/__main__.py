"""Plays requests of one object in many orders of their calls, without a fault and with faults.

Of pairs every order, without a fault and with every fault of every call; of three requests a sample by the seed,
without a fault and with one. Then the first of each pair crashes at each call, jobs clean up, and the second comes.

One is played again by its id: ``--replay "code/redeem, redeem:0110"``, with a fault
``"code/redeem, redeem:0110:0.1 lost"``, after a crash ``"code/redeem, redeem:later:0.1 crash before"``.
"""

from __future__ import annotations

import os
import random
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations_with_replacement

from moto import mock_aws

from infra import command
from infra.local.resources import create_resources
from tests.causeway import Causeway
from tests.interleavings import card_scenes, delivery_scenes, openbanking_scenes
from tests.interleavings.crashes import LATER, PlayedCrash
from tests.interleavings.outcomes import Outcome
from tests.interleavings.playing import Findings, PlayedScene, Sample, scene_of
from tests.interleavings.scenes import Scene
from tests.interleavings.scheduler import Fault, Schedule
from tests.kit import emulator
from tests.kit.logs import silent

SCENES = openbanking_scenes.scene | card_scenes.scene | delivery_scenes.scene
TRIPLES, SCHEDULES = 3, 20
"""So many triples of each scene are played, in so many orders."""
Play = Callable[[PlayedScene, str, random.Random], Findings]


class NotReplayable(Exception):
    """An id names no schedule."""


def main(arguments: list[str] | None = None) -> int:
    """Play, print a line for each group, and every wrong schedule by its id; answers the exit code."""
    parser = command.parser("tests.interleavings", __doc__)
    parser.add_argument("--replay", metavar="ID", help="play one schedule, and print its outcome")
    parser.add_argument("--seed", type=int, default=0, help="which triples are played")
    options = parser.parse_args(arguments)
    os.environ |= emulator.ENVIRONMENT
    emulator.answer_calls()
    emulator.install()
    with mock_aws():
        create_resources(emulated=True, dynamodb_apart=False)
        causeway = Causeway.first()
        if options.replay is None:
            return _play_all(causeway, options.seed)
        try:
            replay(causeway.again(), options.replay)
        except NotReplayable as error:
            print(f"{options.replay}: {error}", file=sys.stderr)
            return 2
    return 0


def _play_all(first: Causeway, seed: int) -> int:
    total, started, groups, unrelated = Findings(), time.monotonic(), 0, 0
    for title, scene in SCENES.items():
        for names, play, found, seconds in _play_scene(first.again(), scene, random.Random(f"{seed} {title}")):
            _print(f"{title}/{names}", found, seconds)
            if found.shared:
                total, groups = total + found, groups + 1
            unrelated += play is play_pair and not found.shared
    print(f"{groups} groups, {total.played} schedules, seed {seed}, {time.monotonic() - started:.0f} s")
    print(f"{len(total.wrong)} schedules differ from what is allowed")
    return 1 if total.wrong or unrelated else 0


def _play_scene(causeway: Causeway, scene: Scene, chance: random.Random) -> list[tuple[str, Play, Findings, float]]:
    """What was played of a scene: the names, how, what was found, and in how many seconds."""
    played = []
    with causeway.installed(), silent(), scene_of(causeway, scene) as prepared:
        for play, names in _groups(scene.pairs, [*prepared.requests], chance):
            began = time.monotonic()
            found = play(prepared, names, chance)
            played.append((names, play, found, time.monotonic() - began))
    return played


def _groups(pairs: Sequence[str], names: Sequence[str], chance: random.Random) -> Iterator[tuple[Play, str]]:
    """What is played of a scene."""
    triples = [", ".join(three) for three in combinations_with_replacement(names, 3)]
    yield from ((play_pair, pair) for pair in pairs)
    yield from ((play_triple, triple) for triple in chance.sample(triples, min(TRIPLES, len(triples))))
    yield from ((play_crash, each) for pair in pairs for each in in_both_orders(pair))


def in_both_orders(pair: str) -> Sequence[str]:
    first, second = pair.split(", ")
    return [*dict.fromkeys([pair, f"{second}, {first}"])]


def play_pair(scene: PlayedScene, names: str, chance: random.Random) -> Findings:
    """Every order, without a fault and with every fault of every call."""
    return scene.group(names).play_all_with_faults()


def play_triple(scene: PlayedScene, names: str, chance: random.Random) -> Findings:
    """A sample of the orders, without a fault and with one."""
    group = scene.group(names, Sample(SCHEDULES, chance))
    return group.play_all() + group.play_all(chance.choice(group.faults))


def play_crash(scene: PlayedScene, names: str, chance: random.Random) -> Findings:
    """Every crash of the first request, alone and with a crash of the jobs that clean up before the second."""
    return PlayedCrash(scene, names).play_all(chance)


def _print(title: str, found: Findings, seconds: float) -> None:
    print(f"{title:60} {found.played:6} schedules, {found.shared:6} of one item, {seconds:5.1f} s")
    for schedule, difference in found.wrong.items():
        print(f"  {title}:{schedule} differs from what is allowed:\n{difference}")
    if not found.shared:
        print("  the requests have nothing to do with each other: this does not count")


def replay(causeway: Causeway, identifier: str) -> None:
    """Play a schedule again, and print its outcome. Raises: NotReplayable."""
    title, _, schedule = identifier.partition(":")
    name, _, names = title.partition("/")
    if name not in SCENES:
        raise NotReplayable(f"there is no scene {name!r}; there are: {', '.join(SCENES)}")
    digits, _, text = schedule.partition(":")
    try:
        numbers = () if digits == LATER else tuple(map(int, digits))
        faults = [Fault.read(each) for each in text.split(", ") if each]
    except ValueError:
        raise NotReplayable("a schedule is the numbers of requests, such as 0110 or 0110:0.1 lost") from None
    with causeway.installed(), scene_of(causeway, SCENES[name]) as scene:
        if unknown := {*names.split(", ")} - {*scene.requests}:
            raise NotReplayable(f"there is no {unknown.pop()!r} in it; there are: {', '.join(scene.requests)}")
        outcome = _replay_crash(scene, names, faults) if digits == LATER else _replay(scene, names, numbers, *faults)
        print(*outcome.lines, sep="\n")


def _replay(scene: PlayedScene, names: str, schedule: Schedule, fault: Fault | None = None) -> Outcome:
    played = scene.group(names).play(schedule, fault)
    if played.schedule != schedule or (fault and not played.reaches(fault)):
        raise NotReplayable(f"stale: the calls of this pair come as {''.join(map(str, played.schedule))} now")
    return scene.outcome(played.results)


def _replay_crash(scene: PlayedScene, names: str, crashes: Sequence[Fault]) -> Outcome:
    crash = PlayedCrash(scene, names)
    return crash.outcome(crash.play(*crashes))


if __name__ == "__main__":
    command.run(main)
