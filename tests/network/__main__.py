"""Run the hub many times over an unreliable network; the seed and the run's number determine each run."""

import time
import uuid
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from chalicelib.foundation.http import outbound
from chalicelib.foundation.http.outbound import NotReached, Outbound, OutboundError, Reply
from chalicelib.openbanking.bank_client.bank_circuits import Breaker
from infra import command
from tests.network.run import Network, NetworkVerdict, Run

_SHOWN = 5
"""The maximum number of violated guarantees to print for each run."""


def repeat_payments() -> None:
    """Retry a payment without a response with another X-Request-Id."""
    post: Any = Outbound.post

    def post_twice(self: Outbound, url: str, body: bytes, headers: Mapping[str, str], **how: Any) -> Reply:
        try:
            reply: Reply = post(self, url, body, headers, **how)
        except OutboundError:
            if not how.get("fresh"):
                raise
            reply = post(self, url, body, {**headers, "X-Request-Id": str(uuid.uuid4())}, **how)
        return reply

    Outbound.post = post_twice  # type: ignore[method-assign]


def deny_sending() -> None:
    outbound.translate = lambda error, handled, *, sent: NotReached("no connection could be made")


def share_circuits() -> None:
    admit, record = Breaker.admit, Breaker.record_failure
    Breaker.admit = lambda self, key: admit(self, "all")  # type: ignore[method-assign]
    Breaker.record_failure = lambda self, key: record(self, "all")  # type: ignore[method-assign]


DEFECTS: Mapping[str, tuple[Callable[[], None], str]] = {
    "repeat_payments": (repeat_payments, "was paid as"),
    "deny_sending": (deny_sending, "was sent 2 times, and asked for 1 times"),
    "share_circuits": (share_circuits, "a read of the good bank was answered"),
}
"""The defects that a hub can have, by name: the function that causes the defect, and text of the expected violation."""


def main(arguments: list[str] | None = None) -> int:
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
        run.run()
        verdict = NetworkVerdict(run, log)
        calls, broken, endings = (
            calls + len(run.received.calls),
            broken + bool(verdict.broken),
            endings + verdict.endings,
        )
        for line in verdict.broken[:_SHOWN]:
            print(f"BROKEN in run {number}: {line}", flush=True)
    network.stop()
    seconds = (time.monotonic_ns() - begun) / 10**9
    print(f"{options.runs} runs, {calls} calls at banks and receivers, {seconds:.0f} s of this machine")
    for title, counted in (("Fates of requests:", network.fates()), ("Answers to TPPs:", endings)):
        print(title, *(f"  {count:6} {name}" for name, count in sorted(counted.items())), sep="\n")
    print(f"{broken} runs broke promises" if broken else "Every promise was kept")
    return 1 if broken else 0


if __name__ == "__main__":
    command.run(main)
