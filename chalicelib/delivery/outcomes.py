"""Outcomes of an attempt: delivered, failed, or not made."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from chalicelib.delivery.delivery_record import Delivery
from chalicelib.foundation.dynamodb.store import Operation

Keep = Callable[[Sequence[Operation]], None]
"""Writes an outcome in one transaction with its other effects.

Raises ``Undeliverable`` when what arrived turns out to be of no use: then the attempt failed, and nothing was written.
"""


@dataclass(frozen=True, slots=True)
class StoredAnswer:
    """The answer to the caller of a deferred call: an HTTP status and JSON."""

    status: int
    text: str


@dataclass(frozen=True, slots=True)
class Delivered:
    """The receiver accepted it with this HTTP ``status``."""

    status: int
    answer: StoredAnswer | None = None
    keep: Keep | None = None


class Undeliverable(Exception):
    """An attempt failed.

    Attributes:
        final: no other attempt will help.
        status: the receiver's HTTP status, if there was an answer.
        retry_after: seconds from the receiver's ``Retry-After``.
        not_made: nothing was sent, so it does not count as an attempt.
        answer: the outcome for the caller of a deferred call if this was the last attempt.
        keep: writes the outcome, should this have been the last attempt.
    """

    def __init__(
        self,
        reason: str,
        *,
        final: bool = False,
        status: int | None = None,
        retry_after: int | None = None,
        not_made: bool = False,
        answer: StoredAnswer | None = None,
        keep: Keep | None = None,
    ) -> None:
        self.final = final
        self.status = status
        self.retry_after = retry_after
        self.not_made = not_made
        self.answer = answer
        self.keep = keep
        super().__init__(reason)


@dataclass(frozen=True, slots=True)
class Dispatch:
    """A sender's input: the delivery and its body."""

    delivery: Delivery
    body: str


def not_in_time(dispatch: Dispatch) -> Undeliverable:
    """The end of a delivery without a caller."""
    return Undeliverable("it could not be sent in time", final=True)


@dataclass(frozen=True, slots=True)
class Sender:
    """Sends one kind of delivery.

    Attributes:
        send: answers when the receiver has it. Raises: Undeliverable.
        abandon: the failure of a delivery for which it is too late; nothing may be sent any more.
    """

    send: Callable[[Dispatch], Delivered]
    abandon: Callable[[Dispatch], Undeliverable] = not_in_time
