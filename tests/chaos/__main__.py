"""The kill test, in full; the same seed leads the same way again, on the same engine."""

from __future__ import annotations

import secrets
import time
from pathlib import Path

from infra import command
from infra.local.engines import ENGINES
from tests.chaos.lanes import WITH_STACK
from tests.chaos.run import Run, Size
from tests.chaos.verdict import Verdict

_SHOWN = 20


def main(arguments: list[str] | None = None) -> int:
    """The command; answers its exit code."""
    parser = command.parser("tests.chaos", __doc__)
    parser.add_argument("--seed", default="", help="what everything is drawn from; one of its own when left out")
    parser.add_argument("--deliveries", type=int, default=1000, help="notices; payments and questions come on top")
    parser.add_argument("--backlog", type=int, default=100, help="events of one receiver that wait at the beginning")
    parser.add_argument("--kills", type=int, default=100, help="so many must have died, or the run proves nothing")
    parser.add_argument("--parallel", type=int, default=1, help="workers at the same time, not on the emulator")
    parser.add_argument("--engine", choices=ENGINES, default="", help="what DynamoDB is; by default as it must be")
    parser.add_argument("--folder", type=Path, default=Path("build"), help="where the log and the transcript go")
    parser.add_argument(
        "--full-disks", type=int, help="how often the emulator's disk is full; 3 if it is alone, else 0"
    )
    options = parser.parse_args(arguments)
    seed = options.seed or secrets.token_hex(4)
    engine = options.engine or ("dynamodb-local" if options.parallel > 1 else ENGINES[0])
    alone = engine == ENGINES[0] and options.parallel == 1
    full_disks = options.full_disks if options.full_disks is not None else 3 * alone
    note = ", not replayable: workers run in parallel" if options.parallel > 1 else ""
    print(f"SEED={seed} ENGINE={engine}{note}", flush=True)
    begun = time.monotonic()
    options.folder.mkdir(parents=True, exist_ok=True)
    log = options.folder / "chaos.log"
    log.write_text("")
    run = Run(seed, Size(options.deliveries, options.parallel, engine, full_disks, options.backlog), log)
    try:
        run.play()
        verdict = Verdict(run, log, run.size.most_waiting)
    finally:
        run.stop()
    (options.folder / "chaos.transcript").write_text("\n".join(run.story.transcript) + "\n")
    kills = run.story.deaths.total()
    broken = [*verdict.broken, *([] if kills >= options.kills else [f"only {kills} workers died"])]
    if engine == ENGINES[0] and not run.late.count:
        broken.append("no answer of DynamoDB came too late")
    if full_disks and not run.story.deaths[WITH_STACK]:
        broken.append("the disk was never full")
    print(_summary(run, verdict, time.monotonic() - begun))
    print(f"\nThe log is {log}, what happened in which order {options.folder / 'chaos.transcript'}")
    print(f"Transcript {run.story.digest}")
    for line in broken[:_SHOWN]:
        print(f"BROKEN: {line}")
    print(f"{len(broken)} promises broken" if broken else "Every promise was kept")
    return 1 if broken else 0


def _summary(run: Run, verdict: Verdict, seconds: float) -> str:
    story, calls = run.story, run.ledger.calls
    failed = sum(call.said not in ("200", "refused") for call in calls)
    arrived = sum(record.state == "delivered" for record in verdict.notices)
    hours = story.simulated / 3600
    deaths = sorted(story.deaths.items(), key=lambda each: each[0].split()[::-1])
    lines = [
        f"{arrived} of {len(verdict.notices)} notices arrived",
        f"{len(calls)} calls were made to receivers, and {failed} of them failed",
        f"{story.attempts} messages were worked on in {hours:.1f} simulated hours, {seconds:.0f} s of this machine",
        f"{story.longest} messages waited at the same time, at most",
        f"{run.late.count} answers of DynamoDB came too late",
        f"{story.resent} notices were sent again by hand after their last attempt",
        f"{len(verdict.orders)} orders reached their banks, of {len(verdict.ordered)} that were accepted",
        f"{len(story.unanswered)} calls of TPPs were never answered and not repeated",
        "\nWhat TPPs were told of their accepted calls:",
        *(f"  {count:4} {ending}" for ending, count in sorted(verdict.endings.items())),
        f"\n{story.deaths.total()} workers were killed:",
        *(f"  {count:4} {where}" for where, count in deaths),
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    command.run(main)
