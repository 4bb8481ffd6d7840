"""The restore drill: tables as they stand between the writes of one request, each restored to another moment."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from chalicelib.foundation.aws.calls import Call, Members, Proceed, observe
from chalicelib.foundation.dynamodb.items import Item, unpack
from infra.admin.doctor import find_all
from infra.restore.examination import Examination, Finding
from tests.causeway import Causeway
from tests.interleavings.outcomes import TABLES
from tests.interleavings.races import Race, Requests
from tests.kit.tables import rows
from tests.openbanking.faults import Snapshot, table_of

State = Mapping[str, list[Item]]
_WRITES = frozenset({"TransactWriteItems", "PutItem", "UpdateItem", "DeleteItem"})


@dataclass(frozen=True)
class Moment:
    """All tables after a write: to go back to, and their items."""

    tables: Mapping[str, Snapshot]
    items: State

    @classmethod
    def of(cls, causeway: Causeway) -> Moment:
        items = {table: [unpack(dict(row)) for row in rows(table_of(causeway, table))] for table in TABLES}
        return cls({table: Snapshot(causeway, [table]) for table in TABLES}, items)

    def changes_since(self, earlier: Moment) -> dict[str, frozenset[str]]:
        """The kinds of items that were written, by table."""
        changed = {
            table: [each for each in now if each not in earlier.items[table]] for table, now in self.items.items()
        }
        return {table: frozenset(kind_of(table, item) for item in new) for table, new in changed.items() if new}


@dataclass(frozen=True)
class Skew:
    """One table restored to a later moment than all others, or to an earlier one.

    Attributes:
        table, is_ahead: that table, and whether it has what the others have not.
        written: the kinds of items that were written between the two moments.
        lost: those of them that are not there.
    """

    table: str
    is_ahead: bool
    earlier: Moment
    later: Moment
    written: frozenset[str]
    lost: frozenset[str]

    def __str__(self) -> str:
        return f"{self.table} {'ahead' if self.is_ahead else 'behind'}: without {', '.join(sorted(self.lost))}"

    def restore(self) -> None:
        for table in TABLES:
            moment = self.later if (table == self.table) == self.is_ahead else self.earlier
            moment.tables[table].restore()


def kind_of(table: str, item: Item) -> str:
    """The kind of an item: its table, of a claim who makes it, and of usage counters that they are such."""
    if table == "idempotency":
        return str(item["claim"]).partition("#")[0]
    return "limits" if item.get("part") == "limits" else table


def moments_of(causeway: Causeway, request: Callable[[], Any]) -> list[Moment]:
    """The moments of a request: before it, and after each of its writes."""
    moments = [Moment.of(causeway)]

    def see(call: Call, proceed: Proceed) -> Members:
        answer = proceed(call)
        if call.service == "dynamodb" and call.operation in _WRITES:
            moments.append(Moment.of(causeway))
        return answer

    with observe(see):
        request()
    return moments


def skews_of(moments: list[Moment]) -> Iterator[Skew]:
    """Every table as before some writes and the others as after them, and the other way round."""
    for earlier, later in combinations(moments, 2):
        changes = later.changes_since(earlier)
        written = frozenset[str]().union(*changes.values())
        for table in changes if len(changes) > 1 else ():
            others = frozenset[str]().union(*(kinds for other, kinds in changes.items() if other != table))
            yield Skew(table, False, earlier, later, written, changes[table])
            yield Skew(table, True, earlier, later, written, others)


@contextmanager
def requests_of(causeway: Causeway, race: Race) -> Iterator[Requests]:
    """The requests of a race, whose client and programme manager want events."""
    causeway.tpp.set_events_url()
    with causeway.manager_wants_events():
        yield race.prepare(causeway)


def examine(causeway: Causeway, *, mend: bool) -> list[Finding]:
    """What ``doctor`` finds in another process."""
    return list(find_all(Examination(causeway.another_process(), mend=mend)))
