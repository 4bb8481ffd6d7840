"""The outcome of a decision: a response, conditional writes, and deliveries."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, Protocol, TypeVar

from chalicelib.foundation.dynamodb.store import Item, Operation
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.foundation.requests.facts import Key, writes_to

A = TypeVar("A")


class Deliveries(Protocol):
    """Deliveries to record: their writes, and the key of a row that only these writes create, if any."""

    @property
    def operations(self) -> Sequence[Operation]: ...

    @property
    def proof(self) -> Key | None: ...


class _NoDeliveries:
    operations: Sequence[Operation] = ()
    proof: Key | None = None


NO_DELIVERIES = _NoDeliveries()


@dataclass(frozen=True, slots=True)
class Proof:
    """The proof that an attempt was written: an item that only the attempt creates, or for which ``is_own`` is true."""

    keys: Sequence[Key]
    is_own: Callable[[Item], bool] = lambda _: True

    def shows(self, failed: Operation, item: Item | None) -> bool:
        """Whether an operation failed because of an item that this attempt wrote."""
        return item is not None and any(writes_to(failed, key) for key in self.keys) and self.is_own(item)


@dataclass(frozen=True, slots=True)
class Outcome(Generic[A]):
    """The result of a decision.

    Attributes:
        answer: the response, or the error to raise after all writes.
        writes: conditional writes, applied in one transaction with the write operations of ``deliveries``.
        deliveries: the deliveries to send.
        proof: the item that proves the write after a lost response. The default is a row of ``deliveries``.
        is_repeatable: whether the single update is idempotent, so that no transaction is needed.
        is_overwritten: whether other requests may overwrite the single put. If true, the put is written in a
            transaction.
        report: a function that writes log lines and metrics after the writes.
    """

    answer: A | Exception
    writes: Sequence[Operation] = ()
    deliveries: Deliveries = NO_DELIVERIES
    proof: Proof | None = None
    is_repeatable: bool = False
    is_overwritten: bool = False
    report: Callable[[], None] | None = None

    @property
    def operations(self) -> Sequence[Operation]:
        """Return all writes, including the write operations that record the deliveries."""
        return [*self.writes, *self.deliveries.operations]

    @property
    def written_proof(self) -> Proof | None:
        """Return the proof that the outcome was written."""
        if self.proof is None and self.deliveries.proof is not None:
            return Proof([self.deliveries.proof])
        return self.proof
