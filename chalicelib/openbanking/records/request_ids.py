"""X-Request-Ids of payments: an id identifies a single order at a bank (decisions: X-Request-Id).

If an id is reused for another order, the bank may return the first order's payment. The id is therefore claimed, per
bank, for 24 hours before the bank is called. Retries of the order (same client, path, consent and body) share the
claim; any other order is refused. The claim counts the attempts that may have sent the order. An attempt that provably
sent nothing decrements the count; at zero, the id is free again.
"""

from __future__ import annotations

from collections.abc import Mapping

from boto3.dynamodb.conditions import Attr, ConditionBase

from chalicelib.foundation.clock import Clock
from chalicelib.foundation.dynamodb.store import Item, Update, absent
from chalicelib.foundation.identifiers import digest
from chalicelib.foundation.lazy_dataclasses import dataclass

TABLE = "idempotency"
KEPT = 24 * 3600


@dataclass(frozen=True, slots=True)
class RequestId:
    """A request's id, received (``is_callers``) or generated, and the digest of its body."""

    text: str
    is_callers: bool
    body_digest: str

    @classmethod
    def of(cls, text: str, body: bytes, *, is_callers: bool) -> RequestId:
        return cls(text, is_callers, digest(body))


@dataclass(frozen=True, slots=True)
class RequestIdClaim:
    """The claim of an id: ``name`` combines bank and id, ``order_digest`` identifies the entire order.

    ``is_callers`` is false for a generated id, which no other order can use before the response.
    """

    name: str
    order_digest: str
    is_callers: bool = True

    @classmethod
    def of(
        cls, bic: str, request_id: RequestId, *, client_id: str, path: str, consent_id: str | None
    ) -> RequestIdClaim:
        asked = "\n".join([client_id, path, consent_id or "", request_id.body_digest])
        return cls(f"order#{bic}#{request_id.text.lower()}", digest(asked), request_id.is_callers)

    @classmethod
    def from_members(cls, members: Mapping[str, str]) -> RequestIdClaim:
        """Restore the claim of a deferred order from its delivery."""
        return cls(members["name"], members["order_digest"])

    def as_members(self) -> dict[str, str]:
        return {"name": self.name, "order_digest": self.order_digest}

    @property
    def key(self) -> tuple[str, Item]:
        return TABLE, {"claim": self.name}


class RequestIdClaims:
    """Builds the writes of claims, for the flows' transactions."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def update_to_claim(self, claim: RequestIdClaim, attempt: str) -> Update:
        """The write that claims an id before the bank is called; it fails while another order holds the id."""
        mine = Attr("order_digest").eq(claim.order_digest) & Attr("attempt").ne(attempt)
        ended = Attr("expires_at").lte(self._clock.time()) | Attr("sendings").lte(0)
        return self._update(claim, attempt, absent("claim") | ended | mine)

    def update_to_note(self, claim: RequestIdClaim, attempt: str) -> Update:
        """The write that records an order under a generated id."""
        return self._update(claim, attempt, None)

    def update_to_release(self, claim: RequestIdClaim) -> Update:
        """The write that undoes ``update_to_claim``, for an attempt that never sent the order."""
        return Update(*claim.key, add={"sendings": -1}, condition=Attr("order_digest").eq(claim.order_digest))

    def _update(self, claim: RequestIdClaim, attempt: str, condition: ConditionBase | None) -> Update:
        members = {"order_digest": claim.order_digest, "attempt": attempt, "expires_at": self._clock.time() + KEPT}
        return Update(*claim.key, set=members, add={"sendings": 1}, condition=condition)
