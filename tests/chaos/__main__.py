"""Run the full kill test. Two runs with the same seed and the same engine are identical."""

import secrets
import time
from collections.abc import Iterator
from pathlib import Path

from infra import command
from infra.local.engines import ENGINES
from tests.chaos.run import Run, Size
from tests.chaos.verdict import Verdict
from tests.chaos.worker import WITH_STACK

_SHOWN = 20


def main(arguments: list[str] | None = None) -> int:
    parser = command.parser("tests.chaos", __doc__)
    parser.add_argument("--seed", default=secrets.token_hex(4), help="the seed of all draws; a new one by default")
    parser.add_argument("--deliveries", type=int, default=1000, help="notices; payments and reads come on top")
    parser.add_argument("--backlog", type=int, default=100, help="events of one receiver that wait at the beginning")
    parser.add_argument("--kills", type=int, default=100, help="workers that must be killed, or the run proves nothing")
    parser.add_argument("--engine", choices=ENGINES, default=ENGINES[0], help="the DynamoDB engine")
    parser.add_argument("--folder", type=Path, default=Path("build"), help="the folder of the log and the transcript")
    parser.add_argument("--full-disks", type=int, default=3, help="how often the disk is full, with the emulator only")
    options = parser.parse_args(arguments)
    full_disks = options.full_disks if options.engine == ENGINES[0] else 0
    print(f"SEED={options.seed} ENGINE={options.engine}", flush=True)
    begun = time.monotonic()
    options.folder.mkdir(parents=True, exist_ok=True)
    log, transcript = options.folder / "chaos.log", options.folder / "chaos.transcript"
    log.write_text("")
    run = Run(options.seed, Size(options.deliveries, options.engine, full_disks, options.backlog), log)
    try:
        run.play()
        verdict = Verdict(run, log, run.size.most_waiting)
    finally:
        run.stop()
    transcript.write_text("\n".join(run.observed.transcript) + "\n")
    broken = [*verdict.broken, *_missing_faults(run, options.kills)]
    print(_summary(run, verdict, time.monotonic() - begun))
    print(f"\nThe log is {log}, the transcript {transcript}")
    print(f"Transcript {run.observed.digest}")
    for line in broken[:_SHOWN]:
        print(f"BROKEN: {line}")
    print(f"{len(broken)} promises broken" if broken else "Every promise was kept")
    return 1 if broken else 0


def _missing_faults(run: Run, kills: int) -> Iterator[str]:
    """Return the required faults that did not occur in the run. A run is conclusive only if this list is empty."""
    if run.observed.kills.total() < kills:
        yield f"only {run.observed.kills.total()} workers were killed"
    if run.size.engine == ENGINES[0] and not run.late.count:
        yield "no answer of DynamoDB came too late"
    if run.size.full_disks and not run.observed.kills[WITH_STACK]:
        yield "the disk was never full"


def _summary(run: Run, verdict: Verdict, seconds: float) -> str:
    observed, calls, hours = run.observed, run.received.calls, run.observed.simulated / 3600
    failed = sum(call.response not in ("200", "refused") for call in calls)
    arrived = sum(record.state == "delivered" for record in verdict.notices)
    kills = sorted(observed.kills.items(), key=lambda each: each[0].split()[::-1])
    lines = [
        f"{arrived} of {len(verdict.notices)} notices arrived",
        f"{len(calls)} calls were made to receivers, and {failed} of them failed",
        f"{observed.attempts} messages were consumed in {hours:.1f} simulated hours ({seconds:.0f} s)",
        f"{observed.longest} messages waited at the same time, at most",
        f"{run.late.count} answers of DynamoDB came too late",
        f"{observed.resent} notices were sent again by hand after their last attempt",
        f"{len(verdict.orders)} orders reached their banks, of {len(verdict.ordered)} that were accepted",
        f"{len(observed.unanswered)} calls of TPPs were not answered and not repeated",
        "\nOutcomes that TPPs fetched of their accepted calls:",
        *(f"  {count:4} {ending}" for ending, count in sorted(verdict.endings.items())),
        f"\n{observed.kills.total()} workers were killed:",
        *(f"  {count:4} {where}" for where, count in kills),
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    command.run(main)
