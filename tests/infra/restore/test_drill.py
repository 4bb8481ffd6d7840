"""After tables are restored to different times, ``doctor`` reports inconsistencies and repairs the safe cases."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import pytest

from chalicelib.foundation.aws.calls import Call, Members, Proceed, observe
from chalicelib.foundation.dynamodb.items import Item, unpack
from chalicelib.openbanking.flows.consent.expiry import record_due_events
from chalicelib.openbanking.flows.payments.outcomes import list_unresolved
from chalicelib.openbanking.records.orders import is_order
from infra.admin.doctor import find_all
from infra.restore.checks import CHECKS
from infra.restore.examination import Examination, Finding
from tests.cards.issuer import Issuer
from tests.causeway import Causeway
from tests.interleavings.outcomes import TABLES
from tests.interleavings.races import CARDS, OPENBANKING, Race, Requests, race
from tests.interleavings.scheduler import Request
from tests.kit.tables import rows
from tests.openbanking.faults import Snapshot, table_of
from tests.openbanking.payments import Pisp

State = Mapping[str, list[Item]]
_WRITES = frozenset({"TransactWriteItems", "PutItem", "UpdateItem", "DeleteItem"})


@dataclass(frozen=True)
class Moment:
    tables: Mapping[str, Snapshot]
    items: State

    @classmethod
    def of(cls, causeway: Causeway) -> Moment:
        items = {table: [unpack(dict(row)) for row in rows(table_of(causeway, table))] for table in TABLES}
        return cls({table: Snapshot(causeway, [table]) for table in TABLES}, items)

    def changes_since(self, earlier: Moment) -> dict[str, frozenset[str]]:
        changed = {
            table: [each for each in now if each not in earlier.items[table]] for table, now in self.items.items()
        }
        return {table: frozenset(kind_of(table, item) for item in new) for table, new in changed.items() if new}


@dataclass(frozen=True)
class Skew:
    """A restore in which one table has a later or an earlier snapshot than all other tables.

    Attributes:
        table, is_ahead: the table, and whether its snapshot is later.
        written: the kinds of items written between the two snapshots.
        lost: the written kinds that are missing after the restore.
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
    """Return the kind of an item. The kind is the table, the owner of a claim, or ``limits`` for usage counters."""
    if table == "idempotency":
        return str(item["claim"]).partition("#")[0]
    return "limits" if item.get("part") == "limits" else table


def moments_of(causeway: Causeway, request: Callable[[], Any]) -> list[Moment]:
    """Return the snapshots before a request and after each of the request's writes."""
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
    """Yield every restore in which one table has an earlier or a later snapshot than all other tables."""
    for earlier, later in combinations(moments, 2):
        changes = later.changes_since(earlier)
        written = frozenset[str]().union(*changes.values())
        for table in changes if len(changes) > 1 else ():
            others = frozenset[str]().union(*(kinds for other, kinds in changes.items() if other != table))
            yield Skew(table, False, earlier, later, written, changes[table])
            yield Skew(table, True, earlier, later, written, others)


@contextmanager
def requests_of(causeway: Causeway, race: Race) -> Iterator[Requests]:
    """Yield sets of competing requests. The client and the programme manager of the requests receive events."""
    causeway.tpp.set_events_url()
    with causeway.manager_wants_events():
        yield race.prepare(causeway)


def examine(causeway: Causeway, *, mend: bool) -> list[Finding]:
    return list(find_all(Examination(causeway.another_process(), mend=mend)))


RESTORED: dict[str, Race] = {}


@race(RESTORED, "defer, defer and work")
def deferred_order(causeway: Causeway) -> Mapping[str, Request]:
    pisp = Pisp(causeway, 2, consent_type="one_time")
    pisp.headers = {"prefer": "respond-async"}

    def work() -> None:
        assert pisp.pay("a-key").status == 202
        for delivery in causeway.recorded("payment"):
            causeway.hub.delivery.worker.attempt(delivery.delivery_id)

    return {"defer": lambda: pisp.pay("a-key"), "defer and work": work}


@race(RESTORED, "announce its end, announce both")
def expiring_consent(causeway: Causeway) -> Mapping[str, Request]:
    causeway.tpp.tokens(2)

    def announce() -> None:
        causeway.clock.advance(173 * 24 * 3600)
        causeway.hub.openbanking.call(record_due_events)

    def announce_both() -> None:
        announce()
        announce()

    return {"announce its end": announce, "announce both": announce_both}


@race(RESTORED, "transfer, transfer")
def transfer_with_a_reference(causeway: Causeway) -> Mapping[str, Request]:
    issuer = Issuer(causeway)
    address, reference = issuer.funded_address(10_00), issuer.reference()
    return {"transfer": lambda: issuer.transfer(address, 8_00, request_reference_id=reference)}


RACES = OPENBANKING | CARDS | RESTORED
PAIRS = [(title, pair) for title, each in RACES.items() for pair in each.pairs]
REQUESTS = list(dict.fromkeys((title, name) for title, pair in PAIRS for name in pair.split(", ")))
MENDING = frozenset(check.name for check in CHECKS if check.mends)


@dataclass(frozen=True)
class Harmless:
    """A tolerated data loss that the ``doctor`` command does not report.

    A loss is tolerated if two conditions hold. The interrupted operation wrote only items of the kinds ``written``. All
    lost items are of the kinds ``lost``, or all remaining items are of the kinds ``kept``.
    """

    reason: str
    written: str
    lost: str = ""
    kept: str = ""

    def covers(self, written: frozenset[str], lost: frozenset[str]) -> bool:
        is_lost_or_kept = lost <= {*self.lost.split()} or written - lost <= {*self.kept.split()}
        return written <= {*self.written.split()} and is_lost_or_kept


MONEY = "cards ledger limits external-payments card-activity card-api deliveries"
HARMLESS = (
    Harmless(
        "An event is a hint: its receiver reads the state. Nothing tells a lost one from one that was never wanted",
        f"authorizations consents payments order tpp {MONEY}",
        "deliveries",
    ),
    Harmless(
        "A bank's repeat is refused, or changes nothing, since the state has changed",
        "authorizations consents payments deliveries bank",
        "deliveries bank",
    ),
    Harmless(
        "A card is created twice if its reference is lost: `idempotency` is restored to the latest moment",
        "cards deliveries card-api",
        "deliveries card-api",
    ),
    Harmless("`payments unresolved` lists the order", "order payments deliveries", kept="deliveries"),
    Harmless("A reference without its response is not carried out", MONEY, kept="card-api"),
    Harmless("`finish` asks the provider once more", "external-payments card-api", "external-payments"),
    Harmless("A request ends within 30 minutes", "authorizations deliveries", "authorizations deliveries"),
    Harmless("The bank's next report or answer has the status", "payments deliveries bank", "payments deliveries bank"),
    Harmless(
        "Cards and books are as before; only an event tells of what came after, as when all are restored together",
        MONEY,
        kept="deliveries",
    ),
    Harmless(
        "A decline moves no money", "cards card-activity limits deliveries", "cards card-activity limits deliveries"
    ),
)


@pytest.mark.parametrize(("title", "name"), REQUESTS)
def test_one_doctor_run_reports_and_repairs_the_inconsistencies_after_a_restore(
    causeway: Causeway, title: str, name: str
) -> None:
    wrong = {}
    with requests_of(causeway, RACES[title]) as requests:
        moments = moments_of(causeway, requests.take(name))
        for skew in skews_of(moments):
            skew.restore()
            found = examine(causeway, mend=True)
            if not found and not any(each.covers(skew.written, skew.lost) for each in HARMLESS):
                wrong[str(skew)] = "not named"
            if left := [each for each in found if each.check in MENDING and not each.mended]:
                wrong[str(skew)] = f"not mended: {left}"
            if again := [each for each in examine(causeway, mend=True) if each.check in MENDING]:
                wrong[str(skew)] = f"found again: {again}"

    assert wrong == {}


@pytest.mark.parametrize(("title", "pair"), PAIRS)
def test_doctor_reports_no_inconsistency_if_storage_is_restored_after_any_write_of_a_request(
    causeway: Causeway, title: str, pair: str
) -> None:
    with requests_of(causeway, RACES[title]) as requests:
        taken = [requests.take(name) for name in pair.split(", ")]
        moments = [each for request in taken for each in moments_of(causeway, request)]
        named = [found for each in moments for found in _at(causeway, each)]

    assert named == []


@pytest.mark.parametrize(
    ("title", "name"), [("order", "pay with a key"), ("order with a request id", "pay"), ("one time consent", "pay")]
)
def test_a_payment_retried_after_a_restore_is_sent_to_the_bank_with_the_same_request_id(
    causeway: Causeway, title: str, name: str
) -> None:
    wrong = {}
    with requests_of(causeway, RACES[title]) as requests:
        pay = requests.take(name)
        moments = moments_of(causeway, pay)
        bank = causeway.banks[2]
        first = _orders(causeway)
        for skew in skews_of(moments):
            skew.restore()
            examine(causeway, mend=True)
            bank.received.clear()
            causeway.clock.advance(60)
            pay()
            if others := _orders(causeway) - first:
                wrong[str(skew)] = others

    assert len(first) == 1
    assert wrong == {}


def test_a_deferred_payment_possibly_sent_before_a_restore_is_not_sent_again(causeway: Causeway) -> None:
    pisp = Pisp(causeway, 2, consent_type="one_time")
    pisp.headers = {"prefer": "respond-async"}
    pisp.pay("a-key")
    [delivery] = causeway.recorded("payment")
    causeway.clock.advance(10 * 60)

    found = examine(causeway, mend=True)
    causeway.hub.delivery.worker.attempt(delivery.delivery_id)
    pisp.pay("another-key")

    assert [(each.check, each.mended) for each in found] == [("deferred-payment-at-risk", True)]
    assert causeway.delivery(delivery.delivery_id).state == "failed"
    assert pisp.calls == 0
    [order] = causeway.hub.openbanking.call(list_unresolved, 10)
    assert order.order.request_id == delivery.request_id


def test_doctor_does_not_change_a_deferred_payment_in_progress(causeway: Causeway) -> None:
    pisp = Pisp(causeway, 2)
    pisp.headers = {"prefer": "respond-async"}
    pisp.pay()
    [delivery] = causeway.recorded("payment")
    causeway.clock.advance(delivery.give_up_at - causeway.clock.time())
    attempt = causeway.hub.delivery.worker.begin(delivery.delivery_id)
    assert attempt is not None
    causeway.clock.advance(5)

    assert examine(causeway, mend=True) == []
    causeway.hub.delivery.worker.carry_out(attempt)
    assert causeway.delivery(delivery.delivery_id).state == "delivered"


def test_a_deferred_payment_retried_after_a_restore_returns_the_first_response(causeway: Causeway) -> None:
    pisp = Pisp(causeway, 2)
    pisp.headers = {"prefer": "respond-async"}
    first = pisp.pay("a-key")
    for delivery in causeway.recorded("payment"):
        causeway.hub.delivery.worker.attempt(delivery.delivery_id)
    lose_claims(causeway)

    examine(causeway, mend=True)

    assert pisp.pay("a-key").body == first.body
    assert len(causeway.recorded("payment")) == pisp.calls == 1


def test_orders_of_earlier_versions_are_consistent(causeway: Causeway) -> None:
    Pisp(causeway, 2).pay()
    for item in causeway.hub.store.scan("idempotency"):
        if is_order(item):
            causeway.hub.store.update("idempotency", {"claim": item["claim"]}, remove=["outcome", "payment_id"])

    assert examine(causeway, mend=False) == []


def test_a_transfer_retried_after_a_repaired_restore_is_paid_at_most_once(causeway: Causeway) -> None:
    with requests_of(causeway, RACES["transfer with a reference"]) as requests:
        transfer = requests.take("transfer")
        moments = moments_of(causeway, transfer)
        before, wrong, played = _transfers(moments[0]), {}, 0
        for skew in skews_of(moments):
            skew.restore()
            if all(found.mended for found in examine(causeway, mend=True)):  # the stage is opened
                transfer()
                played += 1
                if _transfers(Moment.of(causeway)) > before + 1:
                    wrong[str(skew)] = "paid twice"

    assert wrong == {}
    assert played > 2


@pytest.mark.parametrize("name", ["revoke", "revoke by bank"])
def test_a_read_with_a_revoked_consent_returns_401_after_a_restore(causeway: Causeway, name: str) -> None:
    with requests_of(causeway, RACES["tokens"]) as requests:
        read, revoke = requests.take("read"), requests.take(name)
        assert read().status == 200
        answers = set()
        for skew in skews_of(moments_of(causeway, revoke)):
            skew.restore()
            examine(causeway, mend=True)
            answers.add(read().status)

    assert answers == {401}


def lose_claims(causeway: Causeway) -> None:
    for item in causeway.hub.store.scan("idempotency"):
        causeway.hub.store.delete("idempotency", {"claim": item["claim"]})


def _at(causeway: Causeway, moment: Moment) -> list[str]:
    for table in moment.tables.values():
        table.restore()
    return [str(found) for found in examine(causeway, mend=False)]


def _transfers(moment: Moment) -> int:
    return sum(item.get("payment") == "out" for item in moment.items["external-payments"])


def _orders(causeway: Causeway) -> set[str]:
    sent = [each for side in causeway.banks.values() for each in side.received]
    return {each.headers["X-Request-Id"] for each in sent if "payment" in each.path}
