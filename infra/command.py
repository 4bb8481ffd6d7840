"""Common parts of this repository's commands: usage in help, and Ctrl-C."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import NoReturn

PYTHON = ".venv/bin/python"
"""The Python of every command, as typed in the repository's folder."""
INTERRUPTED = 130
"""The exit code after Ctrl-C, as in shells."""


def parser(module: str, description: str | None) -> argparse.ArgumentParser:
    """A parser for the command of ``module``, whose help shows it as it is typed."""
    return argparse.ArgumentParser(
        prog=f"{PYTHON} -m {module}", description=(description or "").strip().replace("``", "`")
    )


def run(main: Callable[[], int | None]) -> NoReturn:
    """Run a command and exit with its code. Ctrl-C is one line on standard error, and the exit code 130."""
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        print("causeway: interrupted.", file=sys.stderr)
        sys.exit(INTERRUPTED)
