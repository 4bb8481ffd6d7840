"""Pushed authorization requests (RFC 9126): what a client pushes, until its user's browser brings the ``request_uri``.

A ``request_uri`` opens a request within 60 seconds. Its record is kept while that request can be open, so that loading
it again leads to the same request.
"""

from __future__ import annotations

from chalicelib.foundation.clock import Clock
from chalicelib.foundation.dynamodb.store import Item, Put, absent
from chalicelib.foundation.identifiers import OpaqueToken, new_credential, new_id
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.openbanking.protocol.oauth_security import REQUEST_URI, REQUEST_URI_SECONDS
from chalicelib.openbanking.records.authorization_requests import LIFETIME, TABLE, NewAuthorizationRequest


@dataclass(frozen=True, slots=True)
class PushedRequest:
    """A validated request that a client has pushed; ``valid_until`` (Unix seconds) ends its first use."""

    request: NewAuthorizationRequest
    digest: str
    valid_until: int

    @classmethod
    def from_item(cls, item: Item) -> PushedRequest:
        return cls(NewAuthorizationRequest.from_item(item["request"]), item["digest"], item["valid_until"])


def pushed_key(pushed_id: str) -> tuple[str, Item]:
    """The table and key of a pushed request. Its prefix tells it from authorization requests."""
    return TABLE, {"authorization_id": f"pushed/{pushed_id}"}


def parse_request_uri(request_uri: str) -> OpaqueToken | None:
    """The credential in a ``request_uri``; ``None`` if it is not one of this service."""
    if not request_uri.startswith(REQUEST_URI):
        return None
    return OpaqueToken.parse(request_uri.removeprefix(REQUEST_URI), parts=1)


class PushedRequests:
    """Builds the writes of pushed requests."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def put_pushed(self, request: NewAuthorizationRequest) -> tuple[str, Put]:
        """The ``request_uri`` of a request, and the write that stores it."""
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
