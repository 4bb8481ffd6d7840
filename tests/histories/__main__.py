"""Check the linearizability of histories of eight clients on DynamoDB Local and dynoxide.

Each engine runs two histories. Both histories kill client processes. In the second history, the storage also stops for
a while.
"""

import secrets
import time

from infra import command
from infra.local.engines import DYNAMODB_ENGINES
from tests.histories.linearizability import MODELS, Operation, find_wrong
from tests.histories.recording import Plan, record
from tests.kit.logs import silent


def main(arguments: list[str] | None = None) -> int:
    """Record and check histories. Print a line for each history, and the operations of each object without a valid
    order.

    Return 1 if a history is invalid or most of its outcomes are unknown.
    """
    parser = command.parser("tests.histories", __doc__)
    parser.add_argument("--seed", default="", help="what operations and deaths are drawn from; a new one by default")
    parser.add_argument("--operations", type=int, default=400, help="of each history")
    parser.add_argument("--frozen", type=float, default=30.0, help="how long the storage stands still, in seconds")
    parser.add_argument("--engine", choices=DYNAMODB_ENGINES, action="append", help="by default each of them")
    options = parser.parse_args(arguments)
    seed, is_right = options.seed or secrets.token_hex(4), True
    print(f"SEED={seed}", flush=True)
    for engine in options.engine or DYNAMODB_ENGINES:
        for frozen in (0.0, options.frozen):
            is_right &= _check(Plan(seed, engine, options.operations, frozen_seconds=frozen))
    return 0 if is_right else 1


def _check(plan: Plan) -> bool:
    began = time.monotonic()
    with silent():
        history = record(plan)
    wrong = find_wrong(history.operations, MODELS)
    print(
        f"{plan.engine:15} {plan.frozen_seconds:4.0f} s frozen: {len(history.operations)} operations, "
        f"{history.unknown} of unknown outcome, {history.deaths} processes killed; "
        f"{len(wrong)} objects not linearizable; {time.monotonic() - began:.0f} s",
        flush=True,
    )
    for subject, operations in wrong.items():
        print(f"  {subject}", *map(_line, operations), sep="\n    ")
    if not history.is_conclusive:
        print("  Most outcomes are unknown: this history proves nothing.")
    return history.is_conclusive and not wrong


def _line(operation: Operation) -> str:
    call, client = " ".join(str(each)[:12] for each in operation.call), f"client {operation.client}"
    return f"{operation.began:.3f} to {operation.ended:.3f}  {client}: {call} -> {operation.outcome}"


if __name__ == "__main__":
    command.run(main)
