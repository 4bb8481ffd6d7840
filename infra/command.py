"""Functions that all commands of this repository share: usage in the help text, and Ctrl-C handling."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import NoReturn

from chalicelib.foundation.version import VERSION

PYTHON = ".venv/bin/python"
"""The Python interpreter of commands, as a path relative to the repository."""
INTERRUPTED = 130
"""The exit code after Ctrl-C, as in a shell."""


def parser(module: str, description: str | None, python: str = PYTHON) -> argparse.ArgumentParser:
    """Create an argument parser with ``--version``. The help text shows how to run ``module`` with ``python``."""
    made = argparse.ArgumentParser(
        prog=f"{python} -m {module}", description=(description or "").strip().replace("``", "`")
    )
    made.add_argument("--version", action="version", version=VERSION, help="show the version and exit")
    return made


def run(main: Callable[[], int | None]) -> NoReturn:
    """Run a command and exit with its code. Ctrl-C prints one line on standard error and exits with 130."""
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        print("causeway: interrupted.", file=sys.stderr)
        sys.exit(INTERRUPTED)
