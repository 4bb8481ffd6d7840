"""Payment orders, identified by their X-Request-Id: an id identifies a single order at a bank.

If an id is reused for another order, the bank may return the first order's payment. The id is therefore claimed, per
bank, for 24 hours before the bank is called, and for as long as the order's outcome is unknown. Retries of the order
(same client, path, consent and body) share the claim. Any other order is refused. The claim counts the attempts that
may have sent the order. An attempt that provably did not send the order decrements the count. If the count reaches
zero, the id can be claimed again.

``open_attempts`` contains the attempts whose outcome is unknown. An attempt is added when the id is claimed, so orders
remain visible if the service is interrupted. While there are open attempts, a sparse index lists the order from the
time at which it should have an outcome. Orders are stored for 90 days.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from chalicelib.foundation.clock import Clock
from chalicelib.foundation.dynamodb.conditions import Attr, Condition
from chalicelib.foundation.dynamodb.sharded_index import ShardedIndex
from chalicelib.foundation.dynamodb.store import Item, Put, Update, absent
from chalicelib.foundation.identifiers import digest
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.foundation.requests.claims import TABLE, claim_key
from chalicelib.openbanking.protocol.payment_enumerations import OrderOutcome

UNRESOLVED = ShardedIndex(TABLE, "unresolved", "unresolved_shard", "unresolved_at")
CLAIMED_SECONDS = 24 * 3600
RETENTION_SECONDS = 90 * 24 * 3600
RUNNING_SECONDS = 60
"""The number of seconds after which an order that is still without an outcome counts as unresolved."""
_UNRESOLVED = (UNRESOLVED.partition, UNRESOLVED.time)


@dataclass(frozen=True, slots=True)
class Order:
    """A TPP's order for a bank.

    Attributes:
        path: the TPP's call.
        consent_id: ``None`` for a direct payment.
        order_digest: identifies client, path, consent and body, ``None`` for a deferred order that was accepted before
            the service claimed ids.
    """

    bic: str
    request_id: str
    client_id: str
    path: str
    consent_id: str | None
    api_version: int
    order_digest: str | None

    @property
    def key(self) -> tuple[str, Item]:
        return order_key(self.bic, self.request_id)


@dataclass(frozen=True, slots=True)
class RecordedOrder:
    """A stored order and its known outcome.

    Attributes:
        attempt: the latest attempt.
        payment_id: the payment's identifier; ``None`` if the bank has returned none.
        unresolved_at: the Unix second from which the order is unresolved, ``None`` if the outcome is known.
    """

    order: Order
    attempt: str
    payment_id: str | None
    outcome: OrderOutcome
    unresolved_at: int | None

    def has_outcome_by(self, now: int) -> bool:
        """Whether the order should have an outcome by ``now``, because the order is no longer being sent."""
        return self.unresolved_at is None or self.unresolved_at <= now

    @classmethod
    def from_item(cls, item: Item) -> RecordedOrder | None:
        """Return the order in an item, or ``None`` for a claim from an earlier version of the service."""
        if "outcome" not in item or "client_id" not in item:
            return None
        members: dict[str, Any] = {name: item.get(name) for name in Order.__dataclass_fields__}
        unresolved_at = item.get(UNRESOLVED.time)
        return cls(Order(**members), item["attempt"], item.get("payment_id"), item["outcome"], unresolved_at)


def compute_order_digest(client_id: str, path: str, consent_id: str | None, body: bytes) -> str:
    """Return the digest that identifies a retry of an order."""
    return digest("\n".join([client_id, path, consent_id or "", digest(body)]))


def order_key(bic: str, request_id: str) -> tuple[str, Item]:
    """Return the table and key of the order with an X-Request-Id at a bank."""
    return claim_key(f"order#{bic}#{request_id.lower()}")


def is_order(item: Item) -> bool:
    """Whether an item belongs to an order, not to a payment."""
    return "claim" in item


def has_attempt(item: Item, attempt: str) -> bool:
    """Whether ``item`` is claimed by an attempt."""
    return attempt == item.get("attempt") or attempt in item.get("open_attempts", ())


class Orders:
    """Builds the write operations of claims and outcomes, for the flows' transactions."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def put_claim(self, order: Order, attempt: str, running: int = RUNNING_SECONDS) -> Put:
        """Return the write operation that claims an X-Request-Id before the bank is called. It fails while another
        order has claimed the id.

        Without an outcome after ``running`` seconds, the order is unresolved.
        """
        now = self._clock.time()
        lapsed = Attr("claimed_until").lte(now) & Attr(UNRESOLVED.partition).not_exists()
        is_free = absent("claim") | Attr("expires_at").lte(now) | lapsed | Attr("sendings").lte(0)
        table, key = order.key
        claimed = {"attempt": attempt, "sendings": 1, "open_attempts": {attempt}, "outcome": "unknown"}
        item = {**key, **_members(order), **claimed, **self._times(), **self._unresolved_from(order, now + running)}
        return Put(table, item, is_free)

    def put_lost(self, order: Order, attempt: str, payment_id: str, *, is_accepted: bool) -> Put:
        """Return the write operation that restores a lost order from its payment. It fails if the order exists."""
        write = self.put_claim(order, attempt)
        item = {**write.item, "payment_id": payment_id}
        if is_accepted:
            lost = ("open_attempts", *_UNRESOLVED)
            item = {name: value for name, value in item.items() if name not in lost} | {"outcome": "accepted"}
        return replace(write, item=item, condition=absent("claim"))

    def update_claim(self, order: Order, attempt: str, found: Item, running: int = RUNNING_SECONDS) -> Update | None:
        """Return the write operation that claims an id for a retry of the order in ``found``, or ``None`` if ``found``
        is another order.

        An order that the bank has accepted remains resolved regardless of the retry's outcome.
        """
        if found.get("order_digest") != order.order_digest or found.get("attempt") == attempt:
            return None
        claimed = {"attempt": attempt, **self._times()}
        same = _is_of(order.order_digest) & Attr("attempt").ne(attempt)
        is_accepted = Attr("outcome").eq("accepted")
        if found.get("outcome") == "accepted":
            return Update(*order.key, set=claimed, add={"sendings": 1}, condition=same & is_accepted)
        unresolved = self._unresolved_from(order, self._clock.time() + running)
        return Update(
            *order.key,
            set={**_members(order), **claimed, **unresolved, "outcome": "unknown"},
            add={"sendings": 1, "open_attempts": frozenset({attempt})},
            condition=same & (Attr("outcome").not_exists() | Attr("outcome").ne("accepted")),
        )

    def update_accepted(self, key: tuple[str, Item], order_digest: str | None, payment_id: str) -> Update:
        """Return the write operation that records the order's payment at the bank.

        The write fails if the id now belongs to another order, or the order has another payment.
        """
        write = self._resolve(key, "accepted")
        same_payment = Attr("outcome").ne("accepted") | Attr("payment_id").eq(payment_id)
        condition = _is_of(order_digest) & (Attr("outcome").not_exists() | same_payment)
        return replace(write, set={**write.set, "payment_id": payment_id}, condition=condition)

    def update_unknown(self, order: Order, attempt: str, payment_id: str | None = None) -> Update:
        """Return the write operation that records an attempt with an unknown outcome. It fails if the order's outcome
        is known.

        ``payment_id`` is the id in the bank's unusable response.
        """
        named = {"payment_id": payment_id} if payment_id is not None else {}
        return Update(
            *order.key,
            set={**self._unresolved_from(order, self._clock.time()), **named},
            condition=Attr("open_attempts").contains(attempt),
        )

    def update_not_accepted(self, order: Order, attempt: str, *, sent: bool, alone: bool) -> Update:
        """Return the write operation for an attempt that did not lead to a payment.

        If ``sent`` is true, the bank refused the attempt; otherwise, the attempt never reached the bank. If ``alone``
        is true, the write resolves the order, and fails if the outcome of a different attempt is unknown.
        """
        counted: dict[str, Any] = {} if sent else {"sendings": -1}
        if not alone:
            return Update(
                *order.key,
                set=self._expiry(),
                add=counted,
                delete={"open_attempts": frozenset({attempt})},
                condition=_is_of(order.order_digest),
            )
        only = Attr("open_attempts").contains(attempt) & Attr("open_attempts").size().eq(1)
        return replace(self._resolve(order.key, "not_accepted"), add=counted, condition=only)

    def update_resolved(self, found: RecordedOrder, outcome: OrderOutcome, payment_id: str | None = None) -> Update:
        """Return the write operation that records an operator's resolution. It fails if the order has changed since the
        read.
        """
        write = self._resolve(found.order.key, outcome)
        named = {"payment_id": payment_id} if payment_id is not None else {}
        unchanged = Attr("attempt").eq(found.attempt) & Attr(UNRESOLVED.time).eq(found.unresolved_at)
        return replace(write, set={**write.set, **named}, condition=unchanged)

    def _resolve(self, key: tuple[str, Item], outcome: OrderOutcome) -> Update:
        changes = {"outcome": outcome, **self._expiry()}
        return Update(*key, set=changes, remove=("open_attempts", *_UNRESOLVED))

    def _unresolved_from(self, order: Order, at: int) -> Item:
        return {UNRESOLVED.time: at, **UNRESOLVED.entry(order.request_id)}

    def _times(self) -> Item:
        return {"claimed_until": self._clock.time() + CLAIMED_SECONDS, **self._expiry()}

    def _expiry(self) -> Item:
        return {"expires_at": self._clock.time() + RETENTION_SECONDS}


def _members(order: Order) -> Item:
    members = {name: getattr(order, name) for name in order.__dataclass_fields__}
    return {name: value for name, value in members.items() if value is not None}


def _is_of(order_digest: str | None) -> Condition:
    """Return the condition that the id is claimed by the order with this digest."""
    return Attr("order_digest").eq(order_digest)
