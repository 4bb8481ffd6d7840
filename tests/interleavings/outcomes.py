"""What requests come to: their answers, what others received, and what is stored, without random values."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from difflib import unified_diff
from typing import Any, NamedTuple

from chalicelib.cards.authorization.authorizer import NOT_AVAILABLE
from chalicelib.delivery.journal import NotResendable
from chalicelib.foundation import jsontext
from chalicelib.openbanking.protocol.refusals import STILL_RUNNING
from tests.cards.contest import UNDECIDED
from tests.cards.issuer import Envelope
from tests.causeway import Answer, Causeway

_NAMES = r"\w*id|\w*reference|trans_link|auth_code|pan|pin|cvc2|acs_password|account_number"
_RANDOM = re.compile(
    rf'\b(?:{_NAMES})\\*":\s*(?:\d+|\\*"\w*)'
    r"|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
    r'|(?![A-Z_]+\\*")[\w-]{20,}+(?!\\*":)'  # names and codes are longer, too
)
"""Identifiers, tokens and codes."""


class Outcome(NamedTuple):
    """What requests come to.

    Attributes:
        answers: in the order of the requests, as from ``answers``.
        received: the paths that banks and the client were called at, with the number of different calls: one that is
            repeated with its id is the same.
        stored: the changes in the tables.
    """

    answers: str
    received: tuple[str, ...]
    stored: tuple[str, ...]

    @property
    def lines(self) -> Sequence[str]:
        return [self.answers, *self.received, *self.stored]


def received(causeway: Causeway) -> tuple[str, ...]:
    """The calls that banks and the client have received, as in ``Outcome``."""
    calls = Counter(path for path, _ in {*_received(causeway)})
    return tuple(sorted(f"{path}: {number}" for path, number in calls.items()))


def answers(results: Sequence[Any]) -> str:
    """Answers without random values, which are numbered as they come: equal ones remain so."""
    names: dict[str, str] = {}
    return _RANDOM.sub(
        lambda found: names.setdefault(found[0], f"#{len(names)}"), jsontext.dumps([*map(_content, results)])
    )


def difference(outcome: Outcome, allowed: Iterable[Outcome]) -> str:
    """The lines of an outcome that differ from those of the most similar one that is allowed."""
    lines = outcome.lines
    nearest = min((each.lines for each in allowed), key=lambda each: len({*each} ^ {*lines}))
    return "\n".join([*unified_diff(nearest, lines, lineterm="", n=0)][2:])


def is_to_come_again(result: Any) -> bool:
    """Whether an answer asks for the request again: another one is in progress, or in its way."""
    match result:
        case Answer(409, _, text):
            return STILL_RUNNING.sentence in text
        case Envelope():
            return result.status_code in UNDECIDED or (result.data or {}).get("response_code") == NOT_AVAILABLE
        case NotResendable():
            return True
        case _:
            return False


def _received(causeway: Causeway) -> Iterator[tuple[str, str]]:
    """Each call's path and id."""
    for side in causeway.banks.values():
        yield from ((each.path, each.headers["X-Request-Id"]) for each in side.received)
    yield from (("event", each.headers["webhook-id"]) for each in causeway.receiver.received)


def _content(result: Any) -> Any:
    match result:
        case Answer(status, _, text):
            return [status, text]
        case Envelope(raw):
            return raw
        case _:
            return repr(result)
