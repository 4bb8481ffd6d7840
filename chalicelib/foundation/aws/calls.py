"""Sends AWS calls. Each call is a signed request of a JSON protocol, which is sent once.

DynamoDB calls are retried by the store, which determines whether a retry is safe. ``send_twice`` retries calls of
services for which duplicate execution is acceptable. A call that AWS refused because of its signature (an expired
token, a wrong clock) was not executed. Such a call is signed and sent again once.
"""

from __future__ import annotations

import http.client
import json
import os
import random
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote, urlsplit

from chalicelib.foundation import context
from chalicelib.foundation.aws import answers, environment, signing
from chalicelib.foundation.aws.errors import THROTTLED, AwsError, ErrorResponse, NoAnswer, NotSent
from chalicelib.foundation.aws.services import SERVICES
from chalicelib.foundation.http.connection_pool import Connections, read_body
from chalicelib.foundation.http.deadline_connections import Exchange
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.foundation.version import USER_AGENT

Members = dict[str, Any]

CONNECT_SECONDS, READ_SECONDS = 0.5, 0.9
"""The maximum connect and read timeouts of a call with a tight deadline. They leave time for a retry."""
LONGEST_PAUSE = 1.0
"""The maximum number of seconds before a call is retried."""
CAPACITY, COST = 500, 5
"""The number of retry tokens of a process, and the number of tokens that one retry takes. AWS's SDKs use the same
values:
https://docs.aws.amazon.com/sdkref/latest/guide/feature-retry-behavior.html.
"""
_EXPIRED = {"ExpiredToken", "ExpiredTokenException"}
_WRONG_TIME = {
    *("RequestExpired", "RequestInTheFuture", "RequestTimeTooSkewed"),
    *("InvalidSignatureException", "SignatureDoesNotMatch"),
}
_SERVER_ERROR = 500
IDLE_SECONDS = 5.0
_UNQUOTED = "-=;:+&[]{}\"',"


@dataclass(frozen=True, slots=True)
class Call:
    """One attempt at sending a request.

    Attributes:
        service: the name in host names, such as ``dynamodb``.
        operation: AWS's name, such as ``PutItem``.
        body: the members in wire format.
    """

    service: str
    operation: str
    body: Members


class RepeatBudget:
    """Limits retries of throttled calls, because retries from many threads would multiply the traffic.

    Retries take tokens, and successful calls return them. Thread-safe.
    """

    def __init__(self, capacity: int = CAPACITY) -> None:
        self._capacity = self._left = capacity
        self._lock = threading.Lock()

    def take(self) -> bool:
        """Take the tokens of one retry. Returns false if too few tokens remain. In this case, the call must not be
        retried.
        """
        with self._lock:
            if self._left < COST:
                return False
            self._left -= COST
            return True

    def give_back(self, repeats: int) -> None:
        """Return the tokens that the retries of a successful call took. If the call had no retries, return one
        token.
        """
        if self._left < self._capacity:  # another thread's change is noticed by the next call
            with self._lock:
                self._left = min(self._capacity, self._left + (COST * repeats or 1))


REPEATS = RepeatBudget()
"""The retry budget of this process."""

Proceed = Callable[[Call], Members]
Observer = Callable[[Call, Proceed], Members]
"""A function that intercepts a call. It may change the call, refuse it or respond itself, and it receives the response.
"""

_observers: tuple[Observer, ...] = ()
_observers_lock = threading.Lock()
_encode = json.JSONEncoder(separators=(",", ":")).encode
connections = Connections(idle_seconds=IDLE_SECONDS)


def add_observer(observer: Observer) -> None:
    """Register an observer of all calls in this process. It runs before the observers already registered."""
    global _observers
    with _observers_lock:
        _observers = (observer, *_observers)


@contextmanager
def observe(observer: Observer) -> Iterator[None]:
    """Notify an observer of all calls that any thread makes in this context."""
    global _observers
    add_observer(observer)
    try:
        yield
    finally:
        with _observers_lock:
            _observers = tuple(each for each in _observers if each is not observer)


def send(service: str, operation: str, body: Members) -> Members:
    """Send a call once, within the service's limits and the request's deadline. Returns the response's members.

    Raises:
        AwsError: NotConfigured, NotSent, NoAnswer or ErrorResponse.
    """
    proceed: Proceed = _exchange
    for observer in reversed(_observers):
        proceed = _through(observer, proceed)
    return proceed(Call(service, operation, body))


def _through(observer: Observer, proceed: Proceed) -> Proceed:
    return lambda call: observer(call, proceed)


def send_twice(
    service: str,
    operation: str,
    body: Members,
    pause: Callable[[float], None] = time.sleep,
    budget: RepeatBudget = REPEATS,
) -> Members:
    """Send a call that may be executed twice. Retry once if there is no response, or if AWS is busy or failed.

    If little time remains, or if too many calls of this process were throttled, the call is sent only once.

    Raises: AwsError.
    """
    try:
        return send(service, operation, body)
    except AwsError as error:
        is_throttled = isinstance(error, ErrorResponse) and error.code in THROTTLED
        if context.is_tight() or not _may_succeed_later(error) or (is_throttled and not budget.take()):
            raise
        first = error
    asked = first.retry_after if isinstance(first, ErrorResponse) else 0.0
    pause(min(LONGEST_PAUSE, asked + random.uniform(0, LONGEST_PAUSE)))
    try:
        answer = send(service, operation, body)
    except NotSent:
        raise first from None  # which may have been carried out
    if is_throttled:
        budget.give_back(1)
    return answer


def _may_succeed_later(error: AwsError) -> bool:
    if isinstance(error, ErrorResponse):
        return error.status >= _SERVER_ERROR or error.code in THROTTLED
    return isinstance(error, NotSent | NoAnswer)


def _exchange(call: Call) -> Members:
    body = _encode(call.body).encode()
    timeouts(call.service)  # no credentials are asked for when there is no time left
    endpoint, used = environment.endpoint(call.service), environment.credentials()
    headers = _signed(call, body, endpoint, used)
    try:
        return answers.read(call.operation, _post(call, body, endpoint, headers))
    except ErrorResponse as refusal:
        if refusal.code in _EXPIRED:
            found = environment.credentials(instead_of=used)
            if found == used:
                raise
        elif refusal.code in _WRONG_TIME and signing.is_out_of_date(headers, refusal.headers.get("date", "")):
            found = used
        else:
            raise
    return answers.read(call.operation, _post(call, body, endpoint, _signed(call, body, endpoint, found)))


def _signed(
    call: Call, body: bytes, endpoint: environment.Endpoint, credentials: environment.Credentials
) -> dict[str, str]:
    return signing.sign(call.service, endpoint.region, credentials, endpoint.url, _headers(call), body)


def _post(call: Call, body: bytes, endpoint: environment.Endpoint, headers: Mapping[str, str]) -> answers.Answer:
    """Send a request and read the response. Raises: NotSent, NoAnswer."""
    connect, read = timeouts(call.service)
    until = time.monotonic() + min(connect + read, context.seconds_left())
    exchange = Exchange(until, ca_file=environment.authorities(), connect=connect, read=read, is_captured=False)
    proxy = environment.proxy_of(endpoint.url)
    try:
        with connections.response("POST", endpoint.url, body, headers, exchange, proxy=proxy) as response:
            received = {name.lower(): value for name, value in response.headers.items()}
            return answers.Answer(response.status, received, read_body(response, answers.LARGEST))
    except (OSError, ValueError, OverflowError, http.client.HTTPException) as error:
        why, where = _reason(error), f"{call.service} at {urlsplit(endpoint.url).hostname}"
        if exchange.sent:
            raise NoAnswer(f"{where} did not answer {call.operation}: {why}") from error
        raise NotSent(f"could not connect to {where}: {why}") from error


def _reason(error: Exception) -> str:
    """Return the reason of an error. For a value error, return only the name of the error, because its message quotes
    the request.
    """
    return str(error) if isinstance(error, OSError) and str(error) else type(error).__name__


def timeouts(service: str) -> tuple[float, float]:
    """Return the connect timeout and the response timeout in seconds. Raises: NotSent: no time is left."""
    left = context.seconds_left()
    if left <= 0:
        raise NotSent("the time limit of the request is over")
    own = SERVICES[service]
    connect, read = (CONNECT_SECONDS, READ_SECONDS) if context.is_tight() else (own.connect_seconds, own.read_seconds)
    return min(connect, left), min(read, left)


def _headers(call: Call) -> dict[str, str]:
    service = SERVICES[call.service]
    headers = {
        "Content-Type": f"application/x-amz-json-{service.json_version}",
        "X-Amz-Target": f"{service.target}.{call.operation}",
        "User-Agent": USER_AGENT,
    }
    trace = os.environ.get("_X_AMZN_TRACE_ID")
    if trace and "AWS_LAMBDA_FUNCTION_NAME" in os.environ:  # Lambda detects loops by it
        headers["X-Amzn-Trace-Id"] = quote(trace, safe=_UNQUOTED)
    return headers
