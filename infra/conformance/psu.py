"""The PSU of the test: a person who follows instructions in a browser, or a command.

The command is called as ``COMMAND consent URL approve``, ``COMMAND consent URL refuse``, ``COMMAND payment URL
confirm``, ``COMMAND payment URL refuse`` or ``COMMAND revoke``. Exit code 0 means done, 3 means not supported, and any
other code means failed.
"""

from __future__ import annotations

import select
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TextIO

NOT_SUPPORTED = 3
"""The exit code of a command that does not support the requested action."""
REMINDER_SECONDS = 60
_OUTPUT = 2000
Action = Literal["consent", "payment", "revoke"]
SENTENCES = {
    ("consent", "approve"): "Open this address, and approve the access at the bank:",
    ("consent", "refuse"): "Open this address, and refuse the access at the bank:",
    ("payment", "confirm"): "Open this address, and confirm the payment at the bank:",
    ("payment", "refuse"): "Open this address, and refuse the payment at the bank:",
    ("revoke", ""): "End the access of «Causeway conformance kit» at the bank's own pages.",
}


@dataclass(frozen=True, slots=True)
class Task:
    """A task for the PSU.

    Attributes:
        url: the page to open; empty for ``revoke``.
        decision: ``approve``, ``confirm`` or ``refuse``; empty for ``revoke``.
        is_done: returns whether the kit has observed the outcome, for example the return of the browser.
    """

    action: Action
    url: str
    decision: str
    is_done: Callable[[], bool]

    @property
    def name(self) -> str:
        return f"{self.action} {self.decision}".strip()


@dataclass(frozen=True, slots=True)
class PsuOutcome:
    """The outcome of a task: done, not supported, or failed. ``text`` contains the reason."""

    state: Literal["done", "unsupported", "failed"]
    text: str = ""


class Psu(Protocol):
    """The PSU who decides on the bank's pages."""

    def act(self, task: Task) -> PsuOutcome:
        """Carry out a task."""


class ScriptPsu:
    """A command that acts as the PSU. ``seconds`` is its time limit."""

    def __init__(self, command: Sequence[str], seconds: float) -> None:
        self._command = tuple(command)
        self._seconds = seconds

    def act(self, task: Task) -> PsuOutcome:
        arguments = [task.action, *([task.url, task.decision] if task.url else [])]
        try:
            ended = subprocess.run(
                [*self._command, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                timeout=self._seconds,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return PsuOutcome("failed", f"psu.command did not end within {self._seconds:g} s for: {task.name}")
        except OSError as error:
            return PsuOutcome("failed", f"psu.command cannot be executed: {error.strerror}")
        output = _end_of(ended.stdout.strip())
        if ended.returncode == NOT_SUPPORTED:
            return PsuOutcome("unsupported", output or f"psu.command does not support: {task.name}")
        if ended.returncode:
            said = f"psu.command ended with exit code {ended.returncode} for: {task.name}"
            return PsuOutcome("failed", f"{said}\n{output}" if output else said)
        return PsuOutcome("done", output)


def _end_of(output: str) -> str:
    if len(output) <= _OUTPUT:
        return output
    line = output.find("\n", -_OUTPUT - 1) + 1
    return output[line or -_OUTPUT :]


class BrowserPsu:
    """A person who follows instructions on the terminal. If input is a terminal, ``s`` and Enter skip a step."""

    def __init__(self, seconds: float, output: TextIO, wait: Callable[[Callable[[], bool], float], bool]) -> None:
        self._seconds = seconds
        self._output = output
        self._wait = wait

    def act(self, task: Task) -> PsuOutcome:
        said = SENTENCES[task.action, task.decision]
        skips = "  (s and Enter skip this step)" if can_read() else ""
        print(f"\n{said}{skips}\n  {task.url}".rstrip(), file=self._output, flush=True)
        started = time.monotonic()
        reminded = started
        while not self._wait(task.is_done, 0.5):
            now = time.monotonic()
            if has_skipped():
                return PsuOutcome("unsupported", f"the operator skipped: {task.name}")
            if now - started >= self._seconds:
                return PsuOutcome("failed", f"nothing happened within {self._seconds:g} s of: {task.name}")
            if now - reminded >= REMINDER_SECONDS:
                reminded = now
                left = self._seconds - (now - started)
                print(f"  still waiting for: {task.name} ({left:.0f} s left)", file=self._output, flush=True)
        return PsuOutcome("done")


def can_read() -> bool:
    return sys.stdin is not None and sys.stdin.isatty()


def has_skipped() -> bool:
    return can_read() and bool(select.select([sys.stdin], [], [], 0)[0]) and sys.stdin.readline().strip() == "s"
