"""X-Request-Ids of payments: one id for one order at a bank (decisions: X-Request-Id).

A bank may answer an order whose id it has seen with the payment of the first. So an id is claimed, by bank and id, for
24 hours, before the bank is called. A repeat of the order, with the same client, path, consent and body, shares the
claim; any other order is refused. A claim counts the attempts that may have sent the order: one that provably sent
nothing takes itself off again, and the last of them leaves the id free.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from boto3.dynamodb.conditions import Attr, ConditionBase

from chalicelib.foundation.clock import Clock
from chalicelib.foundation.dynamodb.store import Item, Update, absent
from chalicelib.foundation.identifiers import digest

TABLE = "idempotency"
KEPT = 24 * 3600


@dataclass(frozen=True, slots=True)
class RequestId:
    """A request's id, sent or made, and the digest of the body."""

    text: str
    is_callers: bool
    body_digest: str

    @classmethod
    def of(cls, text: str, body: bytes, *, is_callers: bool) -> RequestId:
        return cls(text, is_callers, digest(body))


@dataclass(frozen=True, slots=True)
class RequestIdClaim:
    """The claim of an id: ``name`` has bank and id, ``order_digest`` identifies the whole order.

    ``is_callers`` is false for an id that was made here, which no other order can have before the answer.
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
        """The claim of a deferred order, from its delivery."""
        return cls(members["name"], members["order_digest"])

    def as_members(self) -> dict[str, str]:
        return {"name": self.name, "order_digest": self.order_digest}

    @property
    def key(self) -> tuple[str, Item]:
        return TABLE, {"claim": self.name}


class RequestIdClaims:
    """Makes the writes of claims; flows put them into transactions."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def update_to_claim(self, claim: RequestIdClaim, attempt: str) -> Update:
        """The write that claims an id before the bank is called; it fails while another order has it."""
        mine = Attr("order_digest").eq(claim.order_digest) & Attr("attempt").ne(attempt)
        ended = Attr("expires_at").lte(self._clock.time()) | Attr("sendings").lte(0)
        return self._update(claim, attempt, absent("claim") | ended | mine)

    def update_to_note(self, claim: RequestIdClaim, attempt: str) -> Update:
        """The write that records an order under an id that the service made."""
        return self._update(claim, attempt, None)

    def update_to_release(self, claim: RequestIdClaim) -> Update:
        """The write that undoes ``update_to_claim``: this attempt never sent the order."""
        return Update(*claim.key, add={"sendings": -1}, condition=Attr("order_digest").eq(claim.order_digest))

    def _update(self, claim: RequestIdClaim, attempt: str, condition: ConditionBase | None) -> Update:
        members = {"order_digest": claim.order_digest, "attempt": attempt, "expires_at": self._clock.time() + KEPT}
        return Update(*claim.key, set=members, add={"sendings": 1}, condition=condition)
