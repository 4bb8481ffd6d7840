"""One request on its way: who asks, for what, with which rights; and its first read, which finds a repeat."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from chalicelib.cards.catalogue import Catalogue
from chalicelib.cards.credentials import Credential
from chalicelib.cards.idempotency import Claim, References
from chalicelib.cards.programmes import EntryId
from chalicelib.cards.protocol.actions import Action
from chalicelib.cards.protocol.status_codes import Refused, Status
from chalicelib.cards.record import Key, Record
from chalicelib.cards.turns import Turn
from chalicelib.foundation.identifiers import new_id
from chalicelib.foundation.store import Item, Operation, Store

R = TypeVar("R", bound=Record)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a flow decided: the answer's data, what is written with it, and the entries of the programme it uses.

    ``beside`` are members of the envelope that stand beside the data. With ``asks`` the answer is not known yet: when
    the operations are written, it asks a provider, writes what came of it, and tells the answer; it may be called once.
    """

    data: Any = ()
    operations: Sequence[Operation] = ()
    uses: Sequence[EntryId] = ()
    beside: Mapping[str, Any] = field(default_factory=dict)
    asks: Callable[[], str] | None = None


class RefusedWith(Refused):
    """A refusal that is decided together with writes: a wrong PIN is counted."""

    def __init__(self, status: Status, operations: Sequence[Operation], message: str = "") -> None:
        super().__init__(status, message)
        self.operations = tuple(operations)


@dataclass(slots=True)
class Call:
    """One attempt at one request.

    Attributes:
        request: its fields, checked.
        level: records above it do not exist for the caller.
        at: the time in Unix milliseconds.
        turn: the request's place among others of this process that change the same items.
        claim: with a ``request_reference_id``, where repeats find the answer.
        write_id: names this attempt in the records that it writes.
        has_looked: whether the claim was read.
    """

    store: Store
    references: References
    action: Action
    request: Any
    credential: Credential
    catalogue: Catalogue
    level: int
    at: int
    turn: Turn
    claim: Claim | None = None
    write_id: str = field(default_factory=new_id)
    has_looked: bool = False

    @property
    def now(self) -> int:
        """The time in Unix seconds."""
        return self.at // 1000

    @property
    def manager_id(self) -> int:
        return self.catalogue.manager_id

    def items(self, keys: Sequence[Key]) -> list[Item | None]:
        """Items, strongly consistent. The first time the claim is read along. Raises: Repeated, Refused."""
        if self.action.effect == "write":
            self.turn.approach(keys)
        if self.has_looked or self.claim is None:
            return self.store.batch_get(keys)
        self.has_looked = True
        own = self.references.keys(self.claim)
        found = self.store.batch_get([*own, *keys])
        self.references.look(self.claim, found[: len(own)], self.now)
        return found[len(own) :]

    def find(self, kind: type[R], number: int) -> R:
        """A record that the caller may see. Raises: Repeated, Refused."""
        return self.seen(kind, self.items([kind.key(number)])[0])

    def seen(self, kind: type[R], item: Item | None) -> R:
        """The record in ``item``. Raises: Refused, when there is none, or none for this caller."""
        if item is None or not self.sees(item):
            raise Refused(kind.missing)
        return kind.from_item(item)

    def sees(self, item: Item | None) -> bool:
        """Whether there is a record that the caller may see."""
        return (
            item is not None
            and bool(item["manager_id"] == self.manager_id)
            and bool(item["access_level"] <= self.level)
        )
