"""Structured logs: one JSON object per line, with the request's id and without secrets.

Callers choose and name each member of a line. Never log a whole request, response, set of headers or URL (URLs
contain codes and cancel secrets).
"""

from __future__ import annotations

import json
import logging
import os
import sys
import time
import traceback
from collections.abc import Mapping
from functools import cache
from typing import Any

from chalicelib.foundation import context

bind, clear = context.bind, context.clear
_NAME = "causeway"
_TRACE = "_X_AMZN_TRACE_ID"
_encode = json.JSONEncoder(default=str, separators=(",", ":"), ensure_ascii=False).encode


class Formatter(logging.Formatter):
    """Formats log records as one JSON object per line, with times in UTC.

    Exceptions are formatted as code lines and types, because their messages may quote secrets.
    """

    def format(self, record: logging.LogRecord) -> str:
        moment = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(record.created))
        line = {
            "level": record.levelname,
            "message": record.msg,
            "timestamp": f"{moment},{int(record.msecs):03}+0000",
            "service": _NAME,
            **context.current().log_members,
            **members_of(record),
        }
        if record.exc_info and record.exc_info[0]:
            line |= {"exception": format_exception(record.exc_info), "exception_name": record.exc_info[0].__name__}
        if trace := os.environ.get(_TRACE):
            line["xray_trace_id"] = trace.partition(";")[0].removeprefix("Root=")
        known = {name: value for name, value in line.items() if value is not None}
        return _encode(known)


def members_of(record: logging.LogRecord) -> Mapping[str, Any]:
    """Return the log members that the caller passed, without the members bound to the request."""
    members: Mapping[str, Any] = vars(record).get("members", {})
    return members


def format_exception(ei: Any) -> str:
    """Format an exception and its causes as code lines and types. ``ei`` is from ``sys.exc_info``."""
    lines: list[str] = []
    error: BaseException | None = ei[1]
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        lines = [*traceback.format_tb(error.__traceback__), f"{type(error).__qualname__}\n", *lines]
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return "".join(lines).rstrip()


@cache
def logger() -> logging.Logger:
    """Return the service's logger, which writes to standard output."""
    made = logging.getLogger(_NAME)
    handler = logging.StreamHandler(sys.stdout)
    handler.setFormatter(Formatter())
    made.addHandler(handler)
    made.setLevel(logging.INFO)
    made.propagate = False  # Lambda's root logger would write every line again
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False  # no line has them
    return made


def set_level(level: str) -> None:
    """Write only log lines of ``level`` (``INFO``, …) or a higher level."""
    logger().setLevel(level)


def request_id() -> str | None:
    """Return the request id of the current log context."""
    return context.current().log_members.get("request_id")


def info(event: str, **members: Any) -> None:
    _write(logging.INFO, event, members)


def warning(event: str, **members: Any) -> None:
    _write(logging.WARNING, event, members)


def audit(event: str, **members: Any) -> None:
    """Write a log line regardless of the log level."""
    _write(logging.INFO, event, members, always=True)


def exception(event: str, **members: Any) -> None:
    """Log the exception being handled. Its traceback contains code lines, but no values."""
    _write(logging.ERROR, event, members, sys.exception())


def defect(event: str, error: BaseException, **members: Any) -> None:
    """Log an exception that was handled earlier, in the same format as ``exception``."""
    _write(logging.ERROR, event, members, error)


def _write(
    level: int, event: str, members: Mapping[str, Any], error: BaseException | None = None, *, always: bool = False
) -> None:
    """Write a log line. The caller's code location is omitted, because determining it is slow."""
    if not always and not logger().isEnabledFor(level):
        return
    raised = (type(error), error, error.__traceback__) if error else None
    record = logging.LogRecord(_NAME, level, "", 0, event, (), raised)
    record.members = members
    logger().handle(record)
