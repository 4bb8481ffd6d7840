"""Pushed authorization requests (RFC 9126), stored until the user's browser presents the ``request_uri``.

A ``request_uri`` opens a request within 60 seconds. Its record is stored while that request can be open, so that a
reload leads to the same request. A request without a bank remains open for 30 more minutes, while its user chooses a
bank.
"""

from __future__ import annotations

from dataclasses import replace

from chalicelib.foundation.clock import Clock
from chalicelib.foundation.dynamodb.conditions import Attr
from chalicelib.foundation.dynamodb.store import Item, Put, Update, absent
from chalicelib.foundation.identifiers import OpaqueToken, new_credential, new_id
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.openbanking.protocol.oauth_security import REQUEST_URI, REQUEST_URI_SECONDS
from chalicelib.openbanking.records.authorization_requests import LIFETIME, TABLE, NewAuthorizationRequest

_PREFIX = "pushed/"


@dataclass(frozen=True, slots=True)
class PushedRequest:
    """A validated request that a client has pushed. ``valid_until`` (Unix seconds) ends its first use.

    ``kept_until`` ends the choice of a bank. It is ``None`` until the request is opened for the choice.
    """

    pushed_id: str
    request: NewAuthorizationRequest
    digest: str
    valid_until: int
    kept_until: int | None

    @classmethod
    def from_item(cls, item: Item) -> PushedRequest:
        return cls(
            item["authorization_id"].removeprefix(_PREFIX),
            NewAuthorizationRequest.from_item(item["request"]),
            item["digest"],
            item["valid_until"],
            item.get("kept_until"),
        )

    def can_be_opened(self, now: int) -> bool:
        return now < (self.kept_until or self.valid_until)


def pushed_key(pushed_id: str) -> tuple[str, Item]:
    """Return the table and key of a pushed request. The prefix distinguishes it from authorization requests."""
    return TABLE, {"authorization_id": f"{_PREFIX}{pushed_id}"}


def parse_request_uri(request_uri: str) -> OpaqueToken | None:
    """Return the credential in a ``request_uri``, or ``None`` if it was not issued by this service."""
    if not request_uri.startswith(REQUEST_URI):
        return None
    return OpaqueToken.parse(request_uri.removeprefix(REQUEST_URI), parts=1)


class PushedRequests:
    """Builds the write operations that store and extend pushed authorization requests."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def put_pushed(self, request: NewAuthorizationRequest) -> tuple[str, Put]:
        """Return the ``request_uri`` of a request, and the write operation that stores the request."""
        pushed_id, now = new_id(), self._clock.time()
        credential, digest = new_credential(pushed_id)
        table, key = pushed_key(pushed_id)
        item = {
            **key,
            "request": request.as_item(),
            "digest": digest,
            "valid_until": now + REQUEST_URI_SECONDS,
            "expires_at": now + REQUEST_URI_SECONDS + LIFETIME,
        }
        return f"{REQUEST_URI}{credential}", Put(table, item, absent("authorization_id"))

    def update_to_keep(self, pushed: PushedRequest) -> tuple[PushedRequest, Update]:
        """Return the request with more time for the choice of a bank, and the write operation that stores this request.

        The write fails if the request was already extended or the time to do so has passed.
        """
        now = self._clock.time()
        update = Update(
            *pushed_key(pushed.pushed_id),
            set={"kept_until": now + LIFETIME, "expires_at": now + 2 * LIFETIME},
            condition=Attr("kept_until").not_exists() & Attr("valid_until").gt(now),
        )
        return replace(pushed, kept_until=now + LIFETIME), update
