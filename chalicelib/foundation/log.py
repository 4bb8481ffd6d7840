"""Structured logs: one JSON object per line, with the request's id and without secrets.

Callers choose and name each member of a line. Never log a whole request, response, set of headers or URL (URLs
contain codes and cancel secrets).
"""

from __future__ import annotations

import logging
import traceback
from functools import cache
from typing import Any

from aws_lambda_powertools import Logger
from aws_lambda_powertools.logging.formatter import LambdaPowertoolsFormatter

_NAME = "causeway"


class _Formatter(LambdaPowertoolsFormatter):
    """Formats exceptions as code lines and types, because their messages may quote secrets."""

    def formatException(self, ei: Any) -> str:  # noqa: N802 - the name is the standard library's
        return format_exception(ei)


def format_exception(ei: Any) -> str:
    """The code lines and types of an exception and its causes, without messages; ``ei`` is from ``sys.exc_info``."""
    lines: list[str] = []
    error: BaseException | None = ei[1]
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        lines = [*traceback.format_tb(error.__traceback__), f"{type(error).__qualname__}\n", *lines]
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return "".join(lines).rstrip()


@cache
def logger() -> Logger:
    formatter = _Formatter(utc=True, serialize_stacktrace=False)
    made = Logger(service=_NAME, logger_formatter=formatter, log_uncaught_exceptions=False)
    made.remove_keys(["location"])  # it would always be this module
    return made


def set_level(level: str) -> None:
    """Write lines of ``level`` (``INFO``, …) and above."""
    logger().setLevel(level)


def bind(**members: Any) -> None:
    """Add members to all later lines of this request."""
    logger().thread_safe_append_keys(**members)


def request_id() -> str | None:
    """The request id of the current log context."""
    bound: str | None = logger().thread_safe_get_current_keys().get("request_id")
    return bound


def clear() -> None:
    logger().thread_safe_clear_keys()


def info(event: str, **members: Any) -> None:
    logger().info(event, extra=members)


def warning(event: str, **members: Any) -> None:
    logger().warning(event, extra=members)


def audit(event: str, **members: Any) -> None:
    """Write a line regardless of the log level."""
    line = logging.getLogger(_NAME)
    line.handle(line.makeRecord(_NAME, logging.INFO, "", 0, event, (), None, extra=members))


def exception(event: str, **members: Any) -> None:
    """Log the exception being handled; its traceback contains code lines, but no values."""
    logger().exception(event, extra=members)


def defect(event: str, error: BaseException, **members: Any) -> None:
    """Log an exception that was handled earlier, in the same format as ``exception``."""
    logger().error(event, exc_info=error, extra=members)
