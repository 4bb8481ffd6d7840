"""Many runs over a bad network, each drawn from the seed and its number."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path

from infra import command
from tests.network.defects import DEFECTS
from tests.network.run import Network, Run
from tests.network.verdict import NetworkVerdict

_SHOWN = 5


def main(arguments: list[str] | None = None) -> int:
    """The command; answers its exit code."""
    parser = command.parser("tests.network", __doc__)
    parser.add_argument("--seed", default="2026", help="what everything is drawn from")
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0, help="the number of the first run")
    parser.add_argument("--folder", type=Path, default=Path("build"), help="where the log of the last run goes")
    parser.add_argument("--defect", choices=DEFECTS, help="a defect of the hub, which the verdict must find")
    options = parser.parse_args(arguments)
    options.folder.mkdir(parents=True, exist_ok=True)
    log, begun = options.folder / "network.log", time.monotonic_ns()
    network = Network(log)
    if options.defect:
        DEFECTS[options.defect][0]()
    calls, broken, endings = 0, 0, Counter[str]()
    for number in range(options.first, options.first + options.runs):
        log.write_text("")
        run = Run(network, f"{options.seed}/{number}")
        run.play()
        verdict = NetworkVerdict(run, log)
        calls, broken, endings = calls + len(run.ledger.calls), broken + bool(verdict.broken), endings + verdict.endings
        for line in verdict.broken[:_SHOWN]:
            print(f"BROKEN in run {number}: {line}", flush=True)
    network.stop()
    seconds = (time.monotonic_ns() - begun) / 10**9
    print(f"{options.runs} runs, {calls} calls at banks and receivers, {seconds:.0f} s of this machine")
    for title, counted in (("What befell requests:", network.fates()), ("What TPPs were told:", endings)):
        print(title, *(f"  {count:6} {name}" for name, count in sorted(counted.items())), sep="\n")
    print(f"{broken} runs broke promises" if broken else "Every promise was kept")
    return 1 if broken else 0


if __name__ == "__main__":
    command.run(main)
