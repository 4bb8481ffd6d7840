"""Defects of a hub, to see whether the verdict finds them."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from typing import Any

from chalicelib.foundation.http import outbound
from chalicelib.foundation.http.outbound import NotReached, Outbound, OutboundError, Reply
from chalicelib.openbanking.bank_client.bank_circuits import Breaker


def repeat_payments() -> None:
    """A payment without an answer is sent again, with another X-Request-Id."""
    post: Any = Outbound.post

    def post_twice(self: Outbound, url: str, body: bytes, headers: Mapping[str, str], **how: Any) -> Reply:
        try:
            reply: Reply = post(self, url, body, headers, **how)
        except OutboundError:
            if not how.get("fresh"):
                raise
            reply = post(self, url, body, {**headers, "X-Request-Id": str(uuid.uuid4())}, **how)
        return reply

    Outbound.post = post_twice  # type: ignore[method-assign]


def deny_sending() -> None:
    """A lost answer is taken for a request that was never sent."""
    outbound._translate = lambda error, handled, *, sent: NotReached("no connection could be made")


def share_circuits() -> None:
    """One circuit is for all banks."""
    admit, record = Breaker.admit, Breaker.record_failure
    Breaker.admit = lambda self, key: admit(self, "all")  # type: ignore[method-assign]
    Breaker.record_failure = lambda self, key: record(self, "all")  # type: ignore[method-assign]


DEFECTS: Mapping[str, tuple[Callable[[], None], str]] = {
    "repeat_payments": (repeat_payments, "was paid as"),
    "deny_sending": (deny_sending, "was sent 2 times, and asked for 1 times"),
    "share_circuits": (share_circuits, "a read of the good bank was answered"),
}
"""Each by its name, with what the verdict says of it."""
