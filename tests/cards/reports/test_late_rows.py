"""Lists over all cards while transactions land long after their decision: no page passes a row that may still come."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any
from unittest.mock import patch

import pytest

from chalicelib.cards.authorization.activity_record import TABLE
from chalicelib.cards.storage.reserved_rows import ABANDONED_AFTER, CONFIRMED_WITHIN, RESERVED_BY
from chalicelib.cards.storage.time_ordered import CERTAIN_AFTER
from chalicelib.foundation.dynamodb.store import ConditionFailed, Operation, Store, StoreUnavailable
from tests.cards.reports.test_addendum_record import LODGING
from tests.cards.scenes import EUR, Scene
from tests.dynamodb_calls import counted

PAGE = 3


@dataclass
class Poller:
    """Reads a list over all cards, page after page, from the second of its first request on."""

    scene: Scene
    action: str
    name: str
    dates: dict[str, Any]
    seen: list[int] = field(default_factory=list)

    def poll(self, **members: Any) -> list[int]:
        """The ids of the rows that one page adds."""
        last = {"last_id": self.seen[-1]} if self.seen else {}
        rows = self.scene.data(self.action, **{"item_count": PAGE} | self.dates | last | members)
        self.seen += (new := [int(row[self.name]) for row in rows])
        return new

    def follow(self) -> list[int]:
        """The ids of all rows that can be had now."""
        before = len(self.seen)
        while self.poll():
            pass
        return self.seen[before:]


@dataclass
class ListOfAll:
    """A list over all cards: ``write`` adds a row and returns its id."""

    poller: Poller
    write: Callable[[], int]
    rival: Callable[[], int]


def activity(scene: Scene) -> ListOfAll:
    cards = [scene.spendable(900_00) for _ in range(2)]
    others = scene.beside()

    def advise(where: Scene, card: Any) -> int:
        use = {"card_id": card.card_id, "transaction_type": 0, "amount": 100, "currency_ison": EUR}
        return int(where.sim("simulateAdvice", response_code="00", **use).data["authorize_id"])

    scene.clock.advance(5)
    dates = {"date_from": scene.clock.time(), "date_to": scene.clock.time() + 36_000}
    poller = Poller(scene, "getCardsActivity", "authorize_id", dates)
    return ListOfAll(poller, lambda: advise(scene, cards[0]), lambda: advise(others, cards[1]))


def addendums(scene: Scene) -> ListOfAll:
    booked = [scene.inbound(scene.address(), 1000)["transaction_id"] for _ in range(2)]
    others = scene.beside()

    def tell(where: Scene, number: int) -> int:
        told = where.data("simulateAddendum", transaction_id=number, addendum_type="lodging", data=LODGING)
        return int(told["id"])

    scene.clock.advance(5)
    dates = {"date_imported_from": scene.clock.time(), "date_imported_to": scene.clock.time() + 36_000}
    poller = Poller(scene, "getFinancialDetailAddendums", "id", dates)
    return ListOfAll(poller, lambda: tell(scene, booked[0]), lambda: tell(others, booked[1]))


@pytest.fixture(params=[activity, addendums], ids=["activity of all cards", "addendums of all"])
def listed(request: pytest.FixtureRequest, stage: Scene) -> ListOfAll:
    of_all: ListOfAll = request.param(stage)
    return of_all


@contextlib.contextmanager
def landing(after: Callable[[], None]) -> Iterator[None]:
    """Transactions land when ``after`` has run; those that it makes itself land at once."""
    transact = Store.transact

    def late(self: Store, operations: Sequence[Operation]) -> None:
        with patch.object(Store, "transact", transact):
            after()
        transact(self, operations)

    with patch.object(Store, "transact", late):
        yield


@pytest.mark.parametrize("seconds", [3, 10, 14.5])
def test_a_row_that_lands_late_is_on_the_next_page(stage: Scene, listed: ListOfAll, seconds: float) -> None:
    poller, others = listed.poller, []

    def go_on() -> None:
        for _ in range(3):
            others.append(listed.rival())
            stage.clock.advance(seconds / 3)
            poller.poll()

    with landing(go_on):
        late = listed.write()
    stage.clock.advance(2)
    poller.follow()

    assert sorted(poller.seen) == sorted([late, *others])
