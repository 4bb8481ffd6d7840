"""Run concurrent requests for one object in many orders of their DynamoDB calls, with and without faults.

Pairs run in every order, without a fault and with every fault of every call. Triples run in a random sample of orders.
In the last part, the first request of each pair crashes at each call, jobs clean up, and then the second request runs.

``--replay`` runs one schedule again. A schedule without a fault is ``--replay "code/redeem, redeem:0110"``, a schedule
with a fault is ``"code/redeem, redeem:0110:0.1 lost"``, and a schedule after a crash is
``"code/redeem, redeem:later:0.1 crash before"``.
"""

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
from tests.interleavings.exploration import LATER, CrashRecovery, Findings, PreparedRace, prepared
from tests.interleavings.outcomes import Outcome
from tests.interleavings.races import RACES
from tests.interleavings.scheduler import Fault, Schedule
from tests.kit import emulator
from tests.kit.logs import silent

TRIPLES, SCHEDULES = 3, 20
"""The number of triples of requests in each race, and the number of call orders for each triple."""


class NotReplayable(Exception):
    """Raised if an id does not name a schedule."""


def main(arguments: list[str] | None = None) -> int:
    """Print a line for each group and the id of every schedule with an invalid outcome. Return the exit code."""
    parser = command.parser("tests.interleavings", __doc__)
    parser.add_argument("--replay", metavar="ID", help="run one schedule, and print its outcome")
    parser.add_argument("--seed", type=int, default=0, help="what the triples are drawn from")
    options = parser.parse_args(arguments)
    os.environ |= emulator.ENVIRONMENT
    emulator.answer_calls()
    emulator.install()
    with mock_aws():
        create_resources(emulated=True, dynamodb_apart=False)
        causeway = Causeway.first()
        if options.replay is None:
            return _explore_all(causeway, options.seed)
        try:
            replay(causeway.again(), options.replay)
        except NotReplayable as error:
            print(f"{options.replay}: {error}", file=sys.stderr)
            return 2
    return 0


def _explore_all(first: Causeway, seed: int) -> int:
    total, started, groups, unrelated = Findings(), time.monotonic(), 0, 0
    for title, race in RACES.items():
        causeway, chance, lines = first.again(), random.Random(f"{seed} {title}"), list[tuple[str, Findings, float]]()
        with causeway.installed(), silent(), prepared(causeway, race) as prepared_race:
            for explore, names in _groups(race.pairs, [*prepared_race.requests], chance):
                began = time.monotonic()
                found = explore(prepared_race, names, chance)
                lines.append((f"{title}/{names}", found, time.monotonic() - began))
                unrelated += explore is explore_pair and not found.shared
        for name, found, seconds in lines:
            _print(name, found, seconds)
            if found.shared:
                total, groups = total + found, groups + 1
    print(f"{groups} groups, {total.executed} schedules, seed {seed}, {time.monotonic() - started:.0f} s")
    print(f"{len(total.wrong)} schedules differ from what is allowed")
    return 1 if total.wrong or unrelated else 0


Explore = Callable[[PreparedRace, str, random.Random], Findings]


def _groups(pairs: Sequence[str], names: Sequence[str], chance: random.Random) -> Iterator[tuple[Explore, str]]:
    triples = [", ".join(three) for three in combinations_with_replacement(names, 3)]
    yield from ((explore_pair, pair) for pair in pairs)
    yield from ((explore_triple, triple) for triple in chance.sample(triples, min(TRIPLES, len(triples))))
    yield from ((explore_crash, each) for pair in pairs for each in in_both_orders(pair))


def in_both_orders(pair: str) -> Sequence[str]:
    first, second = pair.split(", ")
    return [*dict.fromkeys([pair, f"{second}, {first}"])]


def explore_pair(race: PreparedRace, names: str, chance: random.Random) -> Findings:
    """Execute every order of the calls, without a fault and with every fault of every call."""
    return race.group(names).explore_with_faults()


def explore_triple(race: PreparedRace, names: str, chance: random.Random) -> Findings:
    """Execute a sample of the call orders, without a fault and with one fault."""
    group = race.group(names, SCHEDULES, chance)
    return group.explore() + group.explore(chance.choice(group.faults))


def explore_crash(race: PreparedRace, names: str, chance: random.Random) -> Findings:
    """Crash the first request at every call, with and without a crash of the cleanup jobs before the second request."""
    return CrashRecovery(race, names).explore(chance)


def _print(name: str, found: Findings, seconds: float) -> None:
    print(f"{name:60} {found.executed:6} schedules, {found.shared:6} of one item, {seconds:5.1f} s")
    for schedule, difference in found.wrong.items():
        print(f"  {name}:{schedule} differs from what is allowed:\n{difference}")
    if not found.shared:
        print("  the requests have nothing to do with each other: this does not count")


def replay(causeway: Causeway, identifier: str) -> None:
    """Run a schedule again and print the outcome. Raises: NotReplayable."""
    title, _, schedule = identifier.partition(":")
    title, _, names = title.partition("/")
    if title not in RACES:
        raise NotReplayable(f"there is no race {title!r}; there are: {', '.join(RACES)}")
    digits, _, text = schedule.partition(":")
    try:
        numbers = () if digits == LATER else tuple(map(int, digits))
        faults = [Fault.read(each) for each in text.split(", ") if each]
    except ValueError:
        raise NotReplayable("a schedule is the numbers of requests, such as 0110 or 0110:0.1 lost") from None
    with causeway.installed(), prepared(causeway, RACES[title]) as race:
        if unknown := {*names.split(", ")} - {*race.requests}:
            raise NotReplayable(f"there is no {unknown.pop()!r} in it; there are: {', '.join(race.requests)}")
        if digits == LATER:
            recovery = CrashRecovery(race, names)
            outcome = recovery.outcome(recovery.run(*faults))
        else:
            outcome = _replay_schedule(race, names, numbers, *faults)
        print(*outcome.lines, sep="\n")


def _replay_schedule(race: PreparedRace, names: str, schedule: Schedule, fault: Fault | None = None) -> Outcome:
    executed = race.group(names).execute(schedule, fault)
    if executed.schedule != schedule or (fault and not executed.reaches(fault)):
        raise NotReplayable(f"stale: the calls of this pair come as {''.join(map(str, executed.schedule))} now")
    return race.baseline.outcome(executed.results)


if __name__ == "__main__":
    command.run(main)
