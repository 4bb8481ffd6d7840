"""``/sandbox/clock``: business time of the one-machine stack. Anyone can read the time. Advances need the operator's
key.
"""

from __future__ import annotations

from collections.abc import Mapping

from chalice.app import Response

from chalicelib.foundation import log
from chalicelib.foundation.clock import timestamp
from chalicelib.foundation.durations import InvalidDuration, read_duration
from chalicelib.foundation.dynamodb.store import StoreError
from chalicelib.foundation.http.web import Incoming, UnreadableBody, WrongMethod, json_answer
from chalicelib.foundation.identifiers import digest, matches
from chalicelib.foundation.moved_clock import ClockBusy
from chalicelib.sandbox_clock.clock_advance import BusinessTime, OutOfRange
from chalicelib.sandbox_clock.container import ClockContainer

_EXAMPLE = 'send {"advance": "7d"}, or a duration of ISO 8601 such as PT61M'


class NotOperator(Exception):
    """The request does not have the operator's key."""


class InvalidAdvance(ValueError):
    """The body is not a valid request for a clock advance. The message contains the reason."""


def answer_failure(error: Exception) -> Response:
    """Return the JSON body of a refusal or a failure: ``error`` and ``error_description``."""
    match error:
        case WrongMethod():
            return _refuse(405, "method_not_allowed", str(error))
        case NotOperator():
            headers = {"WWW-Authenticate": "Bearer"}
            return _refuse(401, "invalid_key", "send the operator_key of .local/stack.json as a bearer token", headers)
        case UnreadableBody() | InvalidAdvance():
            return _refuse(415 if getattr(error, "kind", "") == "type" else 400, "invalid_request", str(error))
        case ClockBusy():
            return _refuse(409, "clock_busy", "the clock is being moved; try again when that is done")
        case StoreError():
            log.exception("clock not moved", error=type(error).__name__)
            return _refuse(503, "temporarily_unavailable", "storage failed; GET tells how far time has moved")
    log.exception("clock not moved", error=type(error).__name__)
    return _refuse(500, "server_error", "the error is the service's; GET tells how far time has moved")


def _refuse(status: int, code: str, sentence: str, headers: Mapping[str, str] | None = None) -> Response:
    return json_answer({"error": code, "error_description": sentence}, status, headers)


def serve(clock: ClockContainer, incoming: Incoming) -> Response:
    """``GET`` returns business time. ``POST`` advances business time, and responds after all due work has run."""
    return _move(clock, incoming) if incoming.method == "POST" else _answer_time(clock.advance.now())


def _move(clock: ClockContainer, incoming: Incoming) -> Response:
    _require_key(clock.shared.settings.operator_key, incoming.headers.get("authorization", ""))
    seconds = read_seconds(incoming.json())
    try:
        return _answer_time(clock.advance.advance(seconds))
    except OutOfRange as error:
        raise InvalidAdvance(str(error)) from None


def _require_key(key: str | None, authorization: str) -> None:
    scheme, _, sent = authorization.partition(" ")
    if not key or scheme.lower() != "bearer" or not matches(sent.strip(), digest(key)):
        raise NotOperator


def read_seconds(body: object) -> int:
    """Parse the duration in ``{"advance": duration}`` and return its seconds. Raises: InvalidAdvance."""
    given = body.get("advance") if isinstance(body, dict) and len(body) == 1 else None
    if not isinstance(given, str):
        raise InvalidAdvance(_EXAMPLE)
    try:
        return read_duration(given)
    except InvalidDuration as error:
        raise InvalidAdvance(f"advance is {error}") from None


def _answer_time(reached: BusinessTime) -> Response:
    return json_answer({"now": timestamp(reached.now), "offset_seconds": reached.offset_seconds})
