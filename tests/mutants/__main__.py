"""Put small defects into core modules at random, one at a time, and see whether the unit tests notice."""

from __future__ import annotations

import secrets
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue

from infra import command
from tests.mutants.drawing import Mutant, draw
from tests.mutants.hunt import Hunt, Outcome

GOAL = 0.95
"""The share of mutants that must die."""


def main(arguments: list[str] | None = None) -> int:
    """Draw, hunt, and tell; answers the exit code."""
    parser = command.parser("tests.mutants", __doc__)
    parser.add_argument("--seed", default="", help="what the mutants are drawn by; one of its own when left out")
    parser.add_argument("--count", type=int, default=100, help="so many mutants")
    parser.add_argument("--processes", type=int, default=2, help="so many mutants at a time")
    parser.add_argument("--list", action="store_true", help="only list them")
    options = parser.parse_args(arguments)
    seed, begun = options.seed or secrets.token_hex(4), time.monotonic()
    mutants = draw(seed, options.count)
    print(f"SEED={seed} COUNT={len(mutants)}", flush=True)
    if options.list:
        print(*mutants, sep="\n")
        return 0
    outcomes = _hunt(mutants, options.processes)
    survivors = [each.mutant for each in outcomes if each.killed_by is None]
    died = len(outcomes) - len(survivors)
    print(f"\n{died} of {len(outcomes)} died, in {(time.monotonic() - begun) / 60:.0f} minutes. Survivors:")
    print("\n".join(map(str, survivors)) or "none")
    return 0 if died >= GOAL * len(outcomes) else 1


def _hunt(mutants: list[Mutant], processes: int) -> list[Outcome]:
    with tempfile.TemporaryDirectory(prefix="causeway-mutants-") as place, ThreadPoolExecutor(processes) as pool:
        hunts: SimpleQueue[Hunt] = SimpleQueue()
        for number in range(processes):
            hunts.put(hunt := Hunt(Path(place) / str(number)))
        if failed := hunt.failure_without_mutant(processes):
            sys.exit(f"causeway: {failed} fails without a mutant.")

        def one(mutant: Mutant) -> Outcome:
            hunt = hunts.get()
            try:
                outcome = hunt.kill(mutant)
            finally:
                hunts.put(hunt)
            print(f"{mutant}\n    {outcome.killed_by or 'SURVIVED'}", flush=True)
            return outcome

        return [*pool.map(one, mutants)]


if __name__ == "__main__":
    command.run(main)
