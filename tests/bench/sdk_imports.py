"""What an import of the SDK takes, in processor time of a fresh interpreter."""

from __future__ import annotations

import resource
import subprocess
import sys

from tests.sdk.user_programs import SOURCE

GOAL = 0.150
STATEMENTS = (
    "from causeway.tpp import Tpp",
    "from causeway.bank import Bank",
    "from causeway.bank import AccountReferenceV2, HubClient, Refused",
)


def seconds(statement: str) -> float:
    """The least of five, without what the interpreter takes by itself."""
    return _least(statement) - _least("pass")


def _least(statement: str) -> float:
    command = [sys.executable, "-I", "-c", f"import sys; sys.path.insert(0, {str(SOURCE)!r}); {statement}"]

    def once() -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    once()
    return min(once() for _ in range(5))
