"""Runs Schemathesis on every OpenAPI document against a stack of its own."""

from __future__ import annotations

import argparse
import os
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from chalicelib.website.openapi_documents import DOCUMENTS
from infra import command
from infra.local import stackfile
from infra.local.background import run_stack
from tests.fuzzing.bank_fixtures import prepare
from tests.fuzzing.parties import Parties
from tests.fuzzing.runner import Outcome, run

EXAMPLES = 300
_PARTS = {"tpp": 3, "bank-v1": 1, "bank-v2": 1}
_PROCESSES = 2
_LOG = Path("build") / "fuzzing.log"


def main(arguments: list[str] | None = None) -> int:
    """The command; answers its exit code."""
    parser = command.parser("tests.fuzzing", __doc__)
    parser.add_argument("--examples", type=int, default=EXAMPLES, help="requests per operation")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="what the requests are generated from")
    parser.add_argument("--document", choices=DOCUMENTS, action="append", help="only this one")
    options = parser.parse_args(arguments)
    print(f"{options.examples} requests per operation, --seed {options.seed}", flush=True)
    begun = time.monotonic()
    _LOG.parent.mkdir(exist_ok=True)
    with _LOG.open("wb") as log, run_stack(output=log) as stack:
        stackfile.point_at_stack(os.environ, stack["environment"])
        parties = Parties(stack["base_url"], stack["client"]["client_id"], prepare(stack))
        outcomes = _run(parties, options)
    failed = [outcome for outcome in outcomes if outcome.failures]
    for outcome in failed:
        for failure in outcome.failures.values():
            print(f"\n{outcome.operation}\n  {failure}")
    requests = sum(outcome.statuses.total() for outcome in outcomes)
    print(f"\n{requests} requests in {time.monotonic() - begun:.0f} s, {len(failed)} operations failed")
    print(f"What the service logged is in {_LOG}")
    return 1 if failed else 0


def _run(parties: Parties, options: argparse.Namespace) -> list[Outcome]:
    tasks = [
        (name, (index, count))
        for name, count in _PARTS.items()
        if name in (options.document or DOCUMENTS)
        for index in range(count)
    ]
    with ProcessPoolExecutor(_PROCESSES, mp_context=get_context("spawn")) as pool:
        running = [pool.submit(run, parties, name, options.examples, options.seed, part) for name, part in tasks]
        return [outcome for task in running for outcome in task.result()]


if __name__ == "__main__":
    command.run(main)
