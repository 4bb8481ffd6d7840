"""Programs as users of the SDK write them, checked as strictly as mypy can."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "sdk" / "src"
"""Where the package is."""


def mypy(program: Path) -> str:
    """What mypy says to a program of a user."""
    options = [
        "--strict",
        "--config-file=",
        f"--cache-dir={SOURCE.parents[1]}/.mypy_cache/user-programs",
        "--follow-imports=normal",
    ]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *options, str(program)],
        capture_output=True,
        text=True,
        env={"MYPYPATH": str(SOURCE), "PATH": ""},
        cwd=program.parent,
        check=False,
    )
    return done.stdout + done.stderr
