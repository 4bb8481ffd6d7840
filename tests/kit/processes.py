"""Helpers that find programs required by tests, and end processes together with the test that started them.

This plugin skips a test with ``@pytest.mark.needs("curl")`` if the program is missing. A summary line counts the
skipped tests by program. If the variable ``REQUIRE_PROGRAMS`` is set, as in the merge gate, the test fails instead.
"""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from tests.kit.time import PATIENCE_SECONDS

REQUIRED = "REQUIRE_PROGRAMS"
PATHS = {"chromium": os.environ.get("CHROMIUM") or "/usr/bin/chromium"}
_REASON = "not installed: "


def require(*programs: str) -> None:
    """Skip the running test if one of ``programs`` is missing. If programs are required, fail the test instead."""
    missing = sorted({name for name in programs if shutil.which(PATHS.get(name, name)) is None})
    if missing and os.environ.get(REQUIRED):
        pytest.fail(_REASON + ", ".join(missing), pytrace=False)
    if missing:
        pytest.skip(_REASON + ", ".join(missing))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    require(*(name for mark in item.iter_markers("needs") for name in mark.args))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    reasons = [report.longrepr[2] for report in terminalreporter.stats.get("skipped", [])]
    missing = [reason.partition(_REASON)[2] for reason in reasons if _REASON in reason]
    counts = Counter(name for names in missing for name in names.split(", "))
    if counts:
        programs = ", ".join(f"{name} ({count})" for name, count in sorted(counts.items()))
        terminalreporter.write_line(f"{len(missing)} tests skipped, because programs are not installed: {programs}")


def run(
    command: Sequence[str], folder: Path, environ: Mapping[str, str] | None = None, seconds: float = PATIENCE_SECONDS
) -> subprocess.CompletedProcess[str]:
    """Run a command in a new session, and kill its remaining processes, including background processes.

    Raises: subprocess.TimeoutExpired: the command, or a process with an open output, exceeds ``seconds``.
    """
    with subprocess.Popen(
        command,
        cwd=folder,
        env=environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            output, errors = process.communicate(timeout=seconds)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
    return subprocess.CompletedProcess(command, process.returncode, output, errors)


SDK_SOURCE = Path(__file__).parents[2] / "sdk" / "src"


def check_types(program: Path) -> str:
    """Run mypy in strict mode on a user's program. Return the output of mypy."""
    options = [
        "--strict",
        "--config-file=",
        f"--cache-dir={SDK_SOURCE.parents[1]}/.mypy_cache/user-programs",
        "--follow-imports=normal",
    ]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *options, str(program)],
        capture_output=True,
        text=True,
        env={"MYPYPATH": str(SDK_SOURCE), "PATH": ""},
        cwd=program.parent,
        check=False,
    )
    return done.stdout + done.stderr
