"""Runs a program that must not outlive its parent: ``python guard.py java …``, with a pipe as standard input.

The parent keeps the other end of that pipe open and writes nothing. Whatever ends the parent, even a signal that nobody
can catch, closes the pipe, and the guarded program is ended. Run as a script, not as a module: it must start fast.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
from typing import Any

GRACE = 5.0
"""How many seconds a program has between being asked to end and being killed."""


def exit_with_parent() -> None:
    """End this process as soon as its standard input is closed: for children that guard themselves."""

    def watch() -> None:
        with contextlib.suppress(OSError):
            while os.read(0, 1024):
                pass
        os._exit(0)

    threading.Thread(target=watch, daemon=True, name="parent-watch").start()


def end(child: subprocess.Popen[Any]) -> int:
    """Ask a child to end, and kill it when it does not; answers its exit code."""
    child.terminate()
    try:
        return child.wait(GRACE)
    except subprocess.TimeoutExpired:
        child.kill()
        return child.wait()


def main(command: list[str]) -> int:
    """Run ``command`` until it ends or standard input closes; answers its exit code."""
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL)

    def watch() -> None:
        with contextlib.suppress(OSError):
            while os.read(0, 1024):
                pass
        end(child)

    threading.Thread(target=watch, daemon=True, name="parent-watch").start()
    return child.wait()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
