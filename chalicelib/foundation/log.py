"""Structured logs: one JSON object a line, each with the request's id, none with a secret.

A line is written with named members that the caller chooses one by one; no line ever takes a whole request, answer,
header set or address (addresses carry codes and cancel secrets).
"""

from __future__ import annotations

from functools import cache
from typing import Any

from aws_lambda_powertools import Logger


@cache
def logger() -> Logger:
    return Logger(service="causeway", utc=True, log_uncaught_exceptions=False)


def bind(**members: Any) -> None:
    """Give every following line of this request these members."""
    logger().thread_safe_append_keys(**members)


def clear() -> None:
    logger().thread_safe_clear_keys()


def info(event: str, **members: Any) -> None:
    logger().info(event, extra=members)


def warning(event: str, **members: Any) -> None:
    logger().warning(event, extra=members)


def exception(event: str, **members: Any) -> None:
    """Log the exception being handled; its traceback has code lines, no values."""
    logger().exception(event, extra=members)
