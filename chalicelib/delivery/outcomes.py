"""Outcomes of an attempt: delivered, failed, or not made."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from chalicelib.delivery.delivery_record import Delivery
from chalicelib.foundation.dynamodb.store import Operation
from chalicelib.foundation.lazy_dataclasses import dataclass

Keep = Callable[[Sequence[Operation]], None]
"""Writes an outcome and its other effects in one transaction.

Raises ``Undeliverable`` if the response is unusable. The attempt has then failed, and nothing was written.
"""


@dataclass(frozen=True, slots=True)
class StoredAnswer:
    """The response for the caller of a deferred call: an HTTP status and JSON."""

    status: int
    text: str


@dataclass(frozen=True, slots=True)
class Delivered:
    """The receiver accepted the delivery. ``status`` is the HTTP status, or ``None`` if no message had to be sent."""

    status: int | None
    answer: StoredAnswer | None = None
    keep: Keep | None = None


class Undeliverable(Exception):
    """An attempt failed.

    Attributes:
        final: whether retrying is pointless.
        status: the receiver's HTTP status, if it responded.
        retry_after: seconds from the receiver's ``Retry-After``.
        not_made: whether no message was sent. In this case, the attempt is not counted.
        answer: the outcome for the caller of a deferred call, used if the failed attempt was the last attempt.
        keep: a function that writes the outcome, used if the failed attempt was the last attempt.
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
    """The input of a sender: a delivery and its body."""

    delivery: Delivery
    body: str


def not_in_time(dispatch: Dispatch) -> Undeliverable:
    """Return the failure that ends an expired delivery for which no caller waits."""
    return Undeliverable("not sent in time", final=True)


@dataclass(frozen=True, slots=True)
class Sender:
    """Sends one kind of delivery.

    Attributes:
        send: a function that returns when the receiver has accepted the delivery. Raises: Undeliverable.
        abandon: a function that returns the failure of an expired delivery and sends no message.
    """

    send: Callable[[Dispatch], Delivered]
    abandon: Callable[[Dispatch], Undeliverable] = not_in_time
