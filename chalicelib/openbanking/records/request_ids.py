"""Payment orders by their X-Request-Id: an id identifies a single order at a bank (decisions: X-Request-Id).

If an id is reused for another order, the bank may return the first order's payment. The id is therefore claimed, per
bank, for 24 hours before the bank is called, and for as long as the order's outcome is unknown. Retries of the order
(same client, path, consent and body) share the claim; any other order is refused. The claim counts the attempts that
may have sent the order. An attempt that provably sent nothing decrements the count; at zero, the id is free again.

From the claim until an outcome is known, an order is *unresolved*: a sparse index lists it once it should have ended
(``unresolved_at``). An interrupted service therefore leaves no order behind unseen. Orders are kept for 90 days.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from boto3.dynamodb.conditions import Attr, ConditionBase

from chalicelib.foundation.clock import Clock
from chalicelib.foundation.dynamodb.sharded_index import ShardedIndex
from chalicelib.foundation.dynamodb.store import Item, Update, absent
from chalicelib.foundation.identifiers import digest
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.openbanking.protocol.payment_enumerations import PaymentOutcome

TABLE = "idempotency"
UNRESOLVED = ShardedIndex(TABLE, "unresolved", "unresolved_shard", "unresolved_at")
KEPT = 24 * 3600
"""Seconds for which an id is claimed."""
RECORDED = 90 * 24 * 3600
"""Seconds for which an order is kept."""
RUNNING_SECONDS = 60
"""Seconds after which an order that is still without an outcome counts as unresolved."""


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
class Order:
    """An order sent to a bank: ``path`` is the TPP's call, ``consent_id`` is ``None`` for a direct payment."""

    bic: str
    request_id: str
    client_id: str
    path: str
    consent_id: str | None
    api_version: int

    @classmethod
    def from_members(cls, members: Mapping[str, Any]) -> Order:
        known: dict[str, Any] = {name: members.get(name) for name in cls.__dataclass_fields__}
        return cls(**known)

    def as_members(self) -> dict[str, Any]:
        members = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return {name: value for name, value in members.items() if value is not None}


@dataclass(frozen=True, slots=True)
class RequestIdClaim:
    """The claim of an id: ``name`` combines bank and id, ``order_digest`` identifies the entire order.

    ``is_callers`` is false for a generated id, which no other order can use before the response. ``order`` is ``None``
    for deferred orders that an earlier version of the service accepted.
    """

    name: str
    order_digest: str
    is_callers: bool = True
    order: Order | None = None

    @classmethod
    def of(cls, order: Order, request_id: RequestId) -> RequestIdClaim:
        asked = "\n".join([order.client_id, order.path, order.consent_id or "", request_id.body_digest])
        return cls(_name(order.bic, order.request_id), digest(asked), request_id.is_callers, order)

    @classmethod
    def from_members(cls, members: Mapping[str, Any]) -> RequestIdClaim:
        """Restore the claim of a deferred order from its delivery."""
        order = Order.from_members(members) if "client_id" in members else None
        return cls(members["name"], members["order_digest"], order=order)

    def as_members(self) -> dict[str, Any]:
        order = self.order.as_members() if self.order else {}
        return {"name": self.name, "order_digest": self.order_digest, **order}

    @property
    def key(self) -> tuple[str, Item]:
        return claim_key(self.name)


@dataclass(frozen=True, slots=True)
class RecordedOrder:
    """A stored order and what is known of its outcome.

    ``payment_id`` is ``None`` if the bank named none, ``outcome`` if neither the bank nor the operator settled it.
    ``unresolved_at`` (Unix seconds) is ``None`` once the outcome is known.
    """

    order: Order
    order_digest: str
    payment_id: str | None
    outcome: PaymentOutcome | None
    unresolved_at: int | None

    @classmethod
    def from_item(cls, item: Item) -> RecordedOrder | None:
        """The order in an item; ``None`` for a claim that an earlier version of the service wrote."""
        if "client_id" not in item:
            return None
        payment_id = item.get("payment_id") if item.get("payment_of") in (None, item["order_digest"]) else None
        order = Order.from_members(item)
        return cls(order, item["order_digest"], payment_id, item.get("outcome"), item.get(UNRESOLVED.time))


def order_key(bic: str, request_id: str) -> tuple[str, Item]:
    """The table and key of the order under an X-Request-Id at a bank."""
    return claim_key(_name(bic, request_id))


def claim_key(name: str) -> tuple[str, Item]:
    return TABLE, {"claim": name}


def is_order(item: Item) -> bool:
    """Whether an item is that of an order, not of a payment."""
    return "claim" in item


class RequestIdClaims:
    """Builds the writes of claims and outcomes, for the flows' transactions."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def update_to_claim(self, claim: RequestIdClaim, attempt: str, running: int = RUNNING_SECONDS) -> Update:
        """The write that claims an id before the bank is called; it fails while another order holds the id.

        Without an outcome after ``running`` seconds, the order is listed as unresolved.
        """
        now = self._clock.time()
        mine = Attr("order_digest").eq(claim.order_digest) & Attr("attempt").ne(attempt)
        lapsed = Attr("claimed_until").lte(now) & Attr(UNRESOLVED.partition).not_exists()
        ended = Attr("expires_at").lte(now) | lapsed | Attr("sendings").lte(0)
        unresolved = self._unresolved(claim, now + running) if claim.order else {}
        return Update(
            *claim.key,
            set=self._members(claim, attempt) | unresolved,
            remove=("outcome",),
            add={"sendings": 1},
            condition=absent("claim") | ended | mine,
        )

    def update_to_note(self, claim: RequestIdClaim, attempt: str, outcome: Update) -> Update:
        """The write that records an order under a generated id, together with its ``outcome``."""
        members = {**self._members(claim, attempt), **outcome.set}
        return replace(outcome, set=members, add={"sendings": 1}, condition=None)

    def update_to_release(self, claim: RequestIdClaim, *, alone: bool) -> Update:
        """The write that undoes ``update_to_claim``, for an attempt that never sent the order.

        ``alone``: no other attempt may have sent it, so the bank does not have it; the write fails if one may.
        """
        condition: ConditionBase = Attr("order_digest").eq(claim.order_digest)
        if not alone:
            return Update(*claim.key, add={"sendings": -1}, condition=condition)
        return replace(self._settle(claim.key, "not_taken"), add={"sendings": -1}, condition=condition & _SENT_ONCE)

    def update_refused(self, claim: RequestIdClaim) -> Update:
        """The write for a refusal by the bank; it fails if another attempt may have sent the order."""
        return replace(self._settle(claim.key, "not_taken"), condition=_SENT_ONCE)

    def update_taken(self, key: tuple[str, Item], payment_id: str, order_digest: str | None) -> Update:
        """The write for a payment that the bank has."""
        write = self._settle(key, None)
        return replace(write, set={**write.set, **_payment_of(payment_id, order_digest)})

    def update_not_taken(self, key: tuple[str, Item]) -> Update:
        """The write for an order that the bank does not have, as the operator found out; fails for a settled order."""
        return replace(self._settle(key, "not_taken"), condition=Attr(UNRESOLVED.partition).exists())

    def update_unknown(self, claim: RequestIdClaim, payment_id: str | None) -> Update:
        """The write for an unknown outcome; ``payment_id`` as far as the bank's response named one."""
        named = _payment_of(payment_id, claim.order_digest) if payment_id is not None else {}
        return Update(*claim.key, set=self._unresolved(claim, self._clock.time()) | named)

    def _settle(self, key: tuple[str, Item], outcome: PaymentOutcome | None) -> Update:
        settled = {"outcome": outcome} if outcome is not None else {}
        removed = (UNRESOLVED.partition, UNRESOLVED.time, *(() if settled else ("outcome",)))
        return Update(*key, set={**settled, "expires_at": self._recorded_until()}, remove=removed)

    def _unresolved(self, claim: RequestIdClaim, at: int) -> Item:
        return {UNRESOLVED.time: at, **UNRESOLVED.entry(claim.name)}

    def _members(self, claim: RequestIdClaim, attempt: str) -> Item:
        return {
            **(claim.order.as_members() if claim.order else {}),
            "order_digest": claim.order_digest,
            "attempt": attempt,
            "claimed_until": self._clock.time() + KEPT,
            "expires_at": self._recorded_until(),
        }

    def _recorded_until(self) -> int:
        return self._clock.time() + RECORDED


_SENT_ONCE: ConditionBase = Attr("sendings").eq(1)


def _payment_of(payment_id: str, order_digest: str | None) -> Item:
    """The payment, and its order, because the id may later be claimed for another one."""
    return {"payment_id": payment_id} | ({"payment_of": order_digest} if order_digest else {})


def _name(bic: str, request_id: str) -> str:
    return f"order#{bic}#{request_id.lower()}"
