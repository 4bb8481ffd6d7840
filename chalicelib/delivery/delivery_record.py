"""Delivery records: kind, receiver and state.

Each delivery is one item collection, which consists of the item ``record`` and of bodies in parts (see
``sealed_bodies``). A record is *due* until the receiver has accepted the delivery (*delivered*) or the last attempt has
ended (*failed*). A worker that starts an attempt writes its name to ``claimed_by`` and postpones the due time. If the
worker never finishes, the record becomes due again. Due records are in the index of due times. Failed records are in
the index of failures and in the client's index of failures.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from chalicelib.delivery.delivery_plan import DeliveryPlan
from chalicelib.foundation import jsontext
from chalicelib.foundation.dynamodb.conditions import Attr, Condition
from chalicelib.foundation.dynamodb.sharded_index import ShardedIndex
from chalicelib.foundation.dynamodb.store import Item, Put, Update, absent
from chalicelib.foundation.lazy_dataclasses import dataclass

TABLE = "deliveries"
ROW_KEY = ("delivery_id", "part")
"""The members of a row's key."""
RECORD, BODY = "record", "body"
CLAIMED_SECONDS = 60
"""The maximum duration of an attempt, which is twice a function's time-out. After this time, the worker is considered
dead.
"""
HISTORY = 20
"""The number of latest attempts that are stored in a record."""

_HEADERS = ("sent", "received")

State = Literal["due", "delivered", "failed"]

DUE = ShardedIndex(TABLE, "due", "due_shard", "due_at")
FAILED = ShardedIndex(TABLE, "failed", "failed_shard", "failed_at")
OF_BANK = ShardedIndex(TABLE, "bank", "bank_shard", "created_at")
OF_CLIENT = ShardedIndex(TABLE, "client", "client_shard", "created_at")
FAILED_OF_CLIENT = ShardedIndex(TABLE, "client-failed", "client_failed_shard", "created_at")
OF_MANAGER = ShardedIndex(TABLE, "manager", "manager_shard", "created_at")


@dataclass(frozen=True, slots=True)
class Delivery:
    """One delivery. Times are Unix seconds.

    Attributes:
        kind: selects its plan and its sender.
        topic: an event's type, or the path of a webhook or call.
        receiver: ``bank#<BIC>``, ``client#<Client ID>``, ``manager#<programme manager's id>`` or ``mailbox#<digest of
            the address>``.
        bic: the bank concerned, if any. ``client_id``, ``consent_id`` and ``manager_id`` are set in the same way.
        request_id: the delivery's id for the receiver, which is the same at every attempt.
        cause_id: the request that caused the delivery, if any.
        attempts: the number of attempts begun.
        give_up_at: the time after which no attempt is made.
        claimed_by: the attempt in progress, or an attempt that never ended.
        sending: whether the attempt in ``claimed_by`` may have sent data.
        abandoned: whether an attempt that may have sent data never ended, so its outcome is unknown.
        body_parts: the number of parts in which the body is stored.
        answer: the HTTP status for the caller of an asynchronous call, and where the response body is stored.
        swept_at: the time when the sweeper last queued the delivery, if ever. Older records lack this attribute.
        history: finished attempts, oldest first: ``at``, ``milliseconds``, ``status`` and ``error`` if any, the
            headers ``sent`` and ``received``, if any, and ``reply``, the name under which the beginning of the response
            body is stored, if any (see ``recorded_exchange``).
    """

    delivery_id: str
    kind: str
    topic: str
    receiver: str
    bic: str | None
    client_id: str | None
    consent_id: str | None
    manager_id: int | None
    request_id: str
    cause_id: str | None
    state: State
    attempts: int
    created_at: int
    due_at: int | None
    give_up_at: int
    expires_at: int
    claimed_by: str | None
    sending: bool
    abandoned: bool
    body_parts: int
    answer: Mapping[str, Any] | None
    history: tuple[Mapping[str, Any], ...]
    delivered_at: int | None
    failed_at: int | None
    swept_at: int | None = None

    @classmethod
    def from_item(cls, item: Item) -> Delivery:
        members: dict[str, Any] = {name: item.get(name) for name in cls.__dataclass_fields__}
        return cls(**members | {"history": tuple(_unpack_entry(entry) for entry in item.get("history", ()))})

    @property
    def last(self) -> Mapping[str, Any]:
        """The latest finished attempt, or an empty value if no attempt has finished."""
        return self.history[-1] if self.history else {}

    @property
    def latency(self) -> int | None:
        """The duration of the latest finished attempt in milliseconds, or ``None`` if no attempt has finished."""
        return self.last.get("milliseconds")

    @property
    def concerned_bank(self) -> str:
        """The BIC of the bank concerned, if any. A call to a bank always has this BIC."""
        assert self.bic is not None, "it concerns a bank"
        return self.bic

    @property
    def concerned_client(self) -> str:
        """The Client ID of the client concerned, if any. A client's events and calls always have this Client ID."""
        assert self.client_id is not None, "it concerns a client"
        return self.client_id

    @property
    def concerned_manager(self) -> int:
        """The id of the programme manager concerned, if any. A card event always has this id."""
        assert self.manager_id is not None, "it concerns a programme manager"
        return self.manager_id

    def is_running(self, now: int) -> bool:
        """Whether an attempt is in progress."""
        return self.state == "due" and self.claimed_by is not None and (self.due_at or 0) > now


def client_receiver(client_id: str) -> str:
    """The receiver of a client's events."""
    return f"client#{client_id}"


def record_key(delivery_id: str) -> tuple[str, Item]:
    return TABLE, {"delivery_id": delivery_id, "part": RECORD}


def part_key(delivery_id: str, name: str, number: int = 0) -> tuple[str, Item]:
    """Return the key of a body part. The body is ``BODY`` or a response."""
    return TABLE, {"delivery_id": delivery_id, "part": f"{name}#{number:03}"}


def put_delivery(delivery: Delivery) -> Put:
    """Return the write operation that creates a delivery, which is due immediately."""
    members = {name: getattr(delivery, name) for name in Delivery.__dataclass_fields__}
    item = {name: value for name, value in members.items() if value is not None} | {"history": []}
    item |= DUE.entry(delivery.delivery_id)
    for index, owner in ((OF_BANK, delivery.bic), (OF_CLIENT, delivery.client_id), (OF_MANAGER, delivery.manager_id)):
        item |= {} if owner is None else index.entry(delivery.delivery_id, str(owner))
    return Put(TABLE, {**item, "part": RECORD}, absent("delivery_id"))


def update_claim(delivery: Delivery, claim: str, now: int, *, sending: bool) -> tuple[Delivery, Update]:
    """Return the delivery with a new attempt, and the write operation of this claim. The write succeeds for only one
    worker.

    ``sending`` is false for an attempt that is too late to send the delivery.
    """
    claimed = replace(
        delivery,
        attempts=delivery.attempts + 1,
        claimed_by=claim,
        sending=sending,
        abandoned=delivery.abandoned or delivery.sending,
        due_at=now + CLAIMED_SECONDS,
    )
    names = ("attempts", "claimed_by", "sending", "abandoned", "due_at")
    return claimed, Update(
        *record_key(delivery.delivery_id),
        set={name: getattr(claimed, name) for name in names},
        condition=_is_unchanged(delivery),
    )


def update_due_time(delivery: Delivery, until: int) -> Update:
    """Return the write operation that postpones an unclaimed delivery."""
    return Update(*record_key(delivery.delivery_id), set={"due_at": until}, condition=_is_unchanged(delivery))


SWEPT = (
    "delivery_id",
    "part",
    "kind",
    "receiver",
    "bic",
    "state",
    "due_at",
    "give_up_at",
    "claimed_by",
    "delivered_at",
    "failed_at",
    "swept_at",
)
"""The attributes of a delivery that a sweep needs. Other attributes are not read, because the history can be long."""


def update_sweep(delivery: Delivery, swept_at: int | None) -> Update:
    """Return the write operation that records the time when the sweeper last queued a due delivery."""
    return Update(
        *record_key(delivery.delivery_id),
        set={} if swept_at is None else {"swept_at": swept_at},
        remove=("swept_at",) if swept_at is None else (),
        condition=_is_unchanged(delivery) & _equals("swept_at", delivery.swept_at),
    )


def update_unmade_attempt(claimed: Delivery, until: int) -> Update:
    """Return the write operation that reverts an attempt that was not made, so that the attempt is not counted."""
    return Update(
        *record_key(claimed.delivery_id),
        set={"due_at": until, "attempts": claimed.attempts - 1, "sending": False},
        remove=("claimed_by",),
        condition=_still_claimed(claimed),
    )


def update_retry(claimed: Delivery, until: int, entry: Mapping[str, Any]) -> Update:
    """Return the write operation that records a failed attempt. The next attempt is due at ``until``."""
    return Update(
        *record_key(claimed.delivery_id),
        set={"due_at": until, "history": _history(claimed, entry), "sending": False},
        remove=("claimed_by",),
        condition=_still_claimed(claimed),
    )


def update_end(
    claimed: Delivery,
    plan: DeliveryPlan,
    state: Literal["delivered", "failed"],
    entry: Mapping[str, Any],
    answer: Item | None,
    now: int,
) -> Update:
    """Return the write operation that ends a delivery.

    ``entry`` is the history entry of the last attempt. ``answer`` is the response for the caller of a deferred call, if
    any.
    """
    changes: Item = {"state": state, f"{state}_at": now, "sending": False, "history": _history(claimed, entry)}
    changes |= {"answer": answer} if answer else {}
    if state == "failed":
        changes |= FAILED.entry(claimed.delivery_id)
        changes |= FAILED_OF_CLIENT.entry(claimed.delivery_id, claimed.client_id) if claimed.client_id else {}
    changes |= {} if plan.has_caller else {"expires_at": now + plan.retention}
    return Update(
        *record_key(claimed.delivery_id),
        set=changes,
        remove=("claimed_by", DUE.time, DUE.partition),
        condition=_still_claimed(claimed),
    )


def update_dropped(delivery: Delivery, plan: DeliveryPlan, now: int) -> Update:
    """Return the write operation that fails a delivery without further attempts. Commands that resend failed deliveries
    skip this delivery.
    """
    return Update(
        *record_key(delivery.delivery_id),
        set={"state": "failed", "failed_at": now, "sending": False, "expires_at": now + plan.retention},
        remove=("claimed_by", DUE.time, DUE.partition),
        condition=_is_unchanged(delivery),
    )


def update_abandoned(delivery: Delivery) -> Update:
    """Return the write operation that marks the outcome of a due delivery as unknown."""
    return Update(
        *record_key(delivery.delivery_id),
        set={"abandoned": True},
        remove=("claimed_by",),
        condition=_is_unchanged(delivery),
    )


def update_revival(delivery: Delivery, plan: DeliveryPlan, now: int) -> list[Update]:
    """Return the write operations that make a finished delivery due again, with a full set of attempts."""
    expires_at = now + plan.lifetime + plan.retention
    changes = {
        "state": "due",
        "attempts": 0,
        "abandoned": False,
        "due_at": now,
        "give_up_at": now + plan.lifetime,
        "expires_at": expires_at,
    }
    record = Update(
        *record_key(delivery.delivery_id),
        set=changes | DUE.entry(delivery.delivery_id),
        remove=("claimed_by", "delivered_at", FAILED.time, FAILED.partition, FAILED_OF_CLIENT.partition),
        condition=_is_unchanged(delivery),
    )
    keys = [part_key(delivery.delivery_id, BODY, number) for number in range(delivery.body_parts)]
    there = Attr("delivery_id").exists()
    return [record, *(Update(*key, set={"expires_at": expires_at}, condition=there) for key in keys)]


def _is_unchanged(delivery: Delivery) -> Condition:
    condition = Attr("state").eq(delivery.state)
    for name in ("due_at", "claimed_by", "delivered_at", "failed_at"):
        condition = condition & _equals(name, getattr(delivery, name))
    return condition


def _equals(name: str, value: Any) -> Condition:
    return Attr(name).not_exists() if value is None else Attr(name).eq(value)


def _still_claimed(claimed: Delivery) -> Condition:
    return Attr("claimed_by").eq(claimed.claimed_by)


def _history(claimed: Delivery, entry: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    return [_pack_entry(each) for each in [*claimed.history, entry][-HISTORY:]]


def _pack_entry(entry: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a history entry as stored. Headers are stored as one string, because a page of records has thousands of
    headers.
    """
    return {**entry, **{name: jsontext.dumps(entry[name]) for name in _HEADERS if name in entry}}


def _unpack_entry(entry: Mapping[str, Any]) -> Mapping[str, Any]:
    return {**entry, **{name: jsontext.loads(entry[name]) for name in _HEADERS if name in entry}}
