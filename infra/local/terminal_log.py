"""The stack's log on a terminal: one readable line per request, and problems in colour.

The log file contains all other lines, for example those of schedules and deliveries. Without a terminal, or with
``LOG_FORMAT=json``, standard output contains the same JSON lines as on AWS.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Mapping
from datetime import datetime

from botocore.exceptions import HTTPClientError
from rich.console import Console
from rich.text import Text

from chalicelib.foundation import log, metrics
from chalicelib.foundation.aws.errors import NoAnswer, NotSent
from infra.local import logfile

VARIABLE = "LOG_FORMAT"
END_SECONDS = 0.5
"""Maximum number of seconds between the loss of an engine's connections and the end of its process."""
PAUSE_SECONDS = 30.0
"""Number of seconds after a wait in which further connection failures do not wait for an engine's exit. Each wait
delays the log of all requests.
"""
_STATUS_STYLES = {2: "green", 3: "cyan", 4: "yellow", 5: "bold red"}


class TerminalLog(logging.Handler):
    """Writes one line for each request, and one for each warning or error."""

    def __init__(
        self,
        console: Console,
        engine_has_failed: Callable[[float], bool] = lambda _: False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__()
        self._console = console
        self._engine_has_failed = engine_has_failed
        self._clock = clock
        self._next_wait = -math.inf
        self._bank_milliseconds: dict[str, float] = {}

    def emit(self, record: logging.LogRecord) -> None:
        request_id = log.request_id() or ""
        members = log.members_of(record)
        if record.levelno >= logging.WARNING:
            if record.exc_info and self._engine_has_failed(self._wait_seconds(record)):
                return  # the stack is about to end with the reason
            self._console.print(_describe_problem(record, members, request_id))
        elif record.getMessage() == "bank called" and logfile.is_api():
            taken = self._bank_milliseconds.get(request_id, 0) + members["milliseconds"]
            self._bank_milliseconds[request_id] = taken
        elif record.getMessage() == "request":
            bank = self._bank_milliseconds.pop(request_id, None)
            self._console.print(_describe_request(record, members, bank, request_id))

    def _wait_seconds(self, record: logging.LogRecord) -> float:
        """Return the time to wait for an engine's exit, which may be the cause of ``record``."""
        now = self._clock()
        if now < self._next_wait or not _is_connection_failure(record):
            return 0
        self._next_wait = now + PAUSE_SECONDS
        return END_SECONDS


def wants_text(chosen: str, *, is_terminal: bool) -> bool:
    """Return whether to write readable text to standard output, according to ``LOG_FORMAT``. Raises: ValueError."""
    if chosen not in {"", "json", "text"}:
        raise ValueError(f"{VARIABLE} must be json or text, not {chosen}")
    return chosen == "text" or (is_terminal and not chosen)


def attach(engine_has_failed: Callable[[float], bool]) -> None:
    """Write readable log lines to standard output, except those caused by an engine's exit."""
    logger = log.logger()
    logger.removeHandler(logger.handlers[0])
    logger.addHandler(TerminalLog(Console(soft_wrap=True, highlight=False), engine_has_failed))
    metrics.set_output(lambda _: None)


def _describe_request(
    record: logging.LogRecord, members: Mapping[str, object], bank: float | None, request_id: str
) -> Text:
    status = int(str(members["status"]))
    hub = float(str(members["milliseconds"])) - (bank or 0)
    return Text.assemble(
        (_time(record), "dim"),
        f"  {members['method']!s:<6} {members['route']!s:<34} ",
        (str(status), _STATUS_STYLES.get(status // 100, "")),
        f"  hub {hub:6.1f} ms",
        f"  bank {bank:6.1f} ms" if bank is not None else " " * 16,
        (f"  {request_id}", "dim"),
    )


def _describe_problem(record: logging.LogRecord, members: Mapping[str, object], request_id: str) -> Text:
    style = "yellow" if record.levelno < logging.ERROR else "bold red"
    said = "".join(f"  {name}={value}" for name, value in members.items() if name != "request_id")
    trace = f"\n{log.format_exception(record.exc_info)}" if record.exc_info else ""
    return Text.assemble(
        (_time(record), "dim"), ("  " + record.getMessage(), style), said, (f"  {request_id}", "dim"), trace
    )


def _is_connection_failure(record: logging.LogRecord) -> bool:
    error = record.exc_info[1] if record.exc_info else None
    while error and not isinstance(error, NotSent | NoAnswer | HTTPClientError):
        error = error.__cause__ or error.__context__
    return error is not None


def _time(record: logging.LogRecord) -> str:
    return datetime.fromtimestamp(record.created).astimezone().strftime("%H:%M:%S")
