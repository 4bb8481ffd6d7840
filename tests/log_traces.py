"""A pytest plugin that fails a test if the service's log lines during the test violate a rule.

Restoring the storage in a test also restores the lines. The plugin also checks the running stack's log at the end.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from contextvars import ContextVar
from functools import cache, partial
from logging import LogRecord
from typing import Any, NamedTuple
from unittest.mock import patch

import pytest

from chalicelib.cards.card_data import numbers
from chalicelib.delivery.delivery_record import Delivery
from tests.cards.leak_search import SAID
from tests.cards.leak_watch import observed


class Line(NamedTuple):
    """A log line. ``begun`` is the number of lines before the request or attempt of the line began."""

    message: str
    members: Mapping[str, Any]
    begun: int = 0


Rule = Callable[[Sequence[Line]], Iterator[str]]
"""A function that describes each violation of a rule in a trace."""


def payments_have_orders(lines: Sequence[Line]) -> Iterator[str]:
    """Check that a bank is called for a payment only after the order is recorded, and only once per record.

    A call that was not sent may be retried.
    """
    recorded: Counter[tuple[str, str]] = Counter()
    for message, members, _ in lines:
        if message == "order recorded":
            recorded[members["bic"], members["sent_as"]] += 1
        elif message == "bank called" and members["webhook"] in _paths_of_payments():
            bic, request_id = order = members["bic"], members["sent_as"]
            if not recorded[order]:
                yield f"{bic} was called for the payment {request_id}, which was not recorded"
            elif members.get("failure") != "NotReached":
                recorded[order] -= 1


def deliveries_end_once(lines: Sequence[Line]) -> Iterator[str]:
    """Check that a delivery is completed once, unless an operator resends it."""
    ended: set[str] = set()
    for message, members, _ in lines:
        if message in ("delivered", "delivery failed"):
            if members["delivery_id"] in ended:
                yield f"the delivery {members['delivery_id']} was completed before it was {message}"
            ended.add(members["delivery_id"])
        elif message == "delivery resent":
            ended.discard(members.get("delivery_id", ""))


def ended_consents_are_not_used(lines: Sequence[Line]) -> Iterator[str]:
    """Check that requests after the end of a consent call the bank only to revoke its token. Events may be sent."""
    ended: dict[str, int] = {}
    for number, (message, members, begun) in enumerate(lines):
        if message == "consent ended":
            ended.setdefault(members.get("consent_id", ""), number)
        elif message == "bank called" and members["webhook"] != "/revoke_token":
            consent_id = members.get("consent_id", "")
            if ended.get(consent_id, begun) < begun:
                yield f"{members['webhook']} was called for the consent {consent_id}, which had ended"


RULES: tuple[Rule, ...] = (payments_have_orders, deliveries_end_once, ended_consents_are_not_used)
MESSAGES = frozenset(
    ("order recorded", "bank called", "delivered", "delivery failed", "delivery resent", "consent ended")
)
SHAPES = {
    "token, code or secret": re.compile(
        r"[^\w-](?=[\w-]{43}(?![\w-]))(?=[\w-]{0,42}[a-z])(?=[\w-]{0,42}[A-Z])[\w-]{0,42}[0-9]", re.ASCII
    ),
    "card API secret": re.compile(
        r'[^\w-](?<!"authorization_id":")(?<!SHA-256 )[0-9a-f]{32}(?:[0-9a-f]{32})?(?![\w-])'
    ),
    "events secret": re.compile("whsec_[A-Za-z0-9+/]{8}"),
    "assertion": re.compile(r"eyJ[\w-]+\.eyJ[\w-]+\."),
    "private key": re.compile("BEGIN [A-Z ]*PRIVATE KEY"),
    "credential of a header": re.compile("(?:Bearer|Basic|DPoP) [A-Za-z0-9+/=~._-]{8}"),
    "secret in an address": re.compile(r"[?&](?:code|token|secret|state|request_uri|\w+_token)="),
}
_CARD_NUMBER = re.compile(r"[^\w.-]([2-6][0-9]{15})(?![\w.-])")
_OF_CARDS = ("pin", "cvc", "cvv", "validation")
_DIGITS = re.compile("[0-9]{3,}")


def no_secrets(texts: Sequence[str]) -> Iterator[str]:
    if any(_secrets_in("\n".join(texts))):
        found = ((kind, _DIGITS.sub("#", text)) for text in texts for kind in _secrets_in(text))
        yield from (f"a {kind} was logged: {text:.100}" for kind, text in found)


def _secrets_in(text: str) -> Iterator[str]:
    yield from (kind for kind, shape in SHAPES.items() if shape.search(text))
    if any(map(numbers.is_valid, _CARD_NUMBER.findall(text))):
        yield "card number"
    words = text.lower()
    if any(name in words for name in _OF_CARDS) and SAID.search(text):
        yield "PIN or verification value"


class Trace:
    """The log lines since the test began. Restoring the storage removes the later lines."""

    def __init__(self, rules: Sequence[Rule] = RULES) -> None:
        self._rules = rules
        self._begun: ContextVar[int] = ContextVar("begun", default=0)
        self._begin()

    def _begin(self) -> None:
        self._lines: list[Line] = []
        self._texts: list[str] = []
        self._broken: dict[str, None] = {}
        self._begun.set(0)

    def __len__(self) -> int:
        return len(self._lines)

    def add(self, message: str, members: Mapping[str, Any], text: str) -> None:
        self._texts.append(text)
        if message in MESSAGES:
            self._lines.append(Line(message, members, self._begun.get()))

    def begin_request(self) -> None:
        """Begin a request or attempt. The next lines of this thread belong to the request or attempt."""
        self._begun.set(len(self))

    def add_order(self, bic: str, request_id: str) -> None:
        """Add a line for an order that a test stores directly, as an earlier version did."""
        self.add("order recorded", {"bic": bic, "sent_as": request_id}, "")

    def set_back(self, length: int) -> None:
        self._judge()
        del self._lines[length:]
        self._begun.set(min(self._begun.get(), length))

    def end(self) -> list[str]:
        """End the trace, begin a new trace, and return the violations."""
        try:
            self._judge()
            return [*self._broken, *no_secrets(self._texts)]
        finally:
            self._begin()

    def _judge(self) -> None:
        self._broken |= dict.fromkeys(problem for rule in self._rules for problem in rule(self._lines))


TRACE = Trace()


def check_log(texts: Iterable[str]) -> None:
    """Check a stack's log with the rules for which the log has all lines. Raises: AssertionError."""
    trace = Trace([payments_have_orders])
    for text in texts:
        if text.startswith("{") and "message" in (members := json.loads(text)):
            trace.add(members["message"], members, text)
    _none_of(trace.end())


def _none_of(broken: list[str]) -> None:
    assert not broken, "\n".join(["the log breaks rules:", *broken])


@cache
def _paths_of_payments() -> frozenset[str]:
    from chalicelib.openbanking.protocol.versions import VERSIONS

    return frozenset(webhook.path for version in VERSIONS.values() for webhook in version.payments.values())


@pytest.fixture(scope="session", autouse=True)
def lines_traced() -> Iterator[None]:
    """Trace every log line, the start of every request and attempt, and resent deliveries, which are not logged."""
    from chalicelib.application import Application
    from chalicelib.delivery import journal
    from chalicelib.delivery.worker import Worker
    from chalicelib.foundation import context, log

    def add(text: str, _: object, record: LogRecord) -> None:
        if vars(record).setdefault("traced_by", text) is text:  # and not by another handler's formatter
            is_read = record.msg in MESSAGES
            members = {**context.current().log_members, **log.members_of(record)} if is_read else {}
            TRACE.add(str(record.msg), members, text)

    def add_revival(_: object, delivery: Delivery, *__: object) -> None:
        TRACE.add("delivery resent", {"delivery_id": delivery.delivery_id}, "")

    with ExitStack() as patches:
        for owner, name, wrap in (
            (log.Formatter, "format", partial(observed, after=add)),
            (journal, "update_revival", partial(observed, after=add_revival)),
            (Application, "__call__", _begin_before),
            (Worker, "begin", _begin_before),
        ):
            patches.enter_context(patch.object(owner, name, wrap(getattr(owner, name))))
        yield


def _begin_before(real: Callable[..., Any]) -> Callable[..., Any]:
    def begin_and_call(*arguments: Any, **named: Any) -> Any:
        TRACE.begin_request()
        return real(*arguments, **named)

    return begin_and_call


@pytest.fixture(autouse=True)
def log_obeys_rules(lines_traced: None) -> Iterator[None]:
    yield
    _none_of(TRACE.end())
