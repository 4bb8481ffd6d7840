"""Tests of authorizations during write conflicts: the network gets a response in time, and records are added later."""

import contextlib
import random
from collections.abc import Iterator, Sequence
from contextvars import Context
from typing import Any
from unittest.mock import patch

import pytest

from chalicelib.cards.authorization.hold_release import expire_holds
from chalicelib.cards.authorization.late_declines import KIND, RETENTION_SECONDS
from chalicelib.cards.issuing.card_record import Card
from chalicelib.cards.issuing.holder_record import Holder as HolderRecord
from chalicelib.cards.ledger import usage_counters
from chalicelib.cards.ledger.account_record import Account
from chalicelib.foundation.dynamodb.store import Conflict, Item, Operation, Store, StoreError, Throttled
from tests.cards.authorization.issuers import authorizes, cardholder, messages, reissued, with_strict_rules
from tests.cards.authorization.shops import A_DAY, LIMITED, Holder
from tests.cards.events.event_listener import Listener
from tests.cards.issuer import GBP, Issuer
from tests.causeway import Causeway
from tests.kit.storage import record_transactions

pytestmark = pytest.mark.dynamodb

STEP = 0.15
"""The seconds that a transaction takes when concurrent requests conflict with it."""


@pytest.fixture
def strict_issuer(causeway: Causeway) -> Issuer:
    """Return an issuer with empty tables, because unfinished late declines would appear in the next test's lists."""
    return with_strict_rules(Issuer(causeway))


@pytest.fixture(autouse=True)
def _without_sleep(strict_issuer: Issuer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(strict_issuer.hub.store, "pause", lambda seconds: None)


def contended(user: Holder) -> list[tuple[str, dict[str, Any]]]:
    holder = user.card.holder_id
    owners = (("card", user.card_id), ("account", user.account), ("holder", holder))
    limits = [usage_counters.key(kind, number) for kind, number in owners]  # type: ignore[arg-type]
    return [Card.key(user.card_id), Account.key(user.account), HolderRecord.key(holder), *limits]


def overtake(user: Holder) -> None:
    for place in contended(user):
        members: Item | None = {"windows": {}} if place[1]["part"] == "limits" else None
        user.issuer.hub.store.update(*place, add={"version": 1}, set=members)


@contextlib.contextmanager
def crowded(user: Holder, step: float = STEP) -> Iterator[None]:
    """Change all contended items before every transaction and advance the clock by ``step``."""
    transact = Store.transact

    def overtaken(self: Store, operations: Sequence[Operation]) -> None:
        overtake(user)
        user.issuer.clock.advance(step)
        transact(self, operations)

    with patch.object(Store, "transact", overtaken):
        yield


@contextlib.contextmanager
def timed(issuer: Issuer) -> Iterator[list[float]]:
    took: list[float] = []
    began = issuer.clock.monotonic()
    with patch.object(issuer.hub.store, "pause", issuer.clock.advance):
        yield took
    took.append(issuer.clock.monotonic() - began)


def finish(issuer: Issuer) -> int:
    done: int = issuer.hub.cards.call(expire_holds)
    return done


def late_decline(issuer: Issuer, number: int) -> Item:
    item = issuer.hub.store.get("card-activity", {"owner": f"{KIND}#{number}", "part": KIND})
    assert item is not None
    return item


def work(issuer: Issuer) -> int:
    tasks = issuer.causeway.queued()
    for task in tasks:
        issuer.hub.delivery.worker.attempt(task)
    return len(tasks)


def settle(issuer: Issuer) -> None:
    """Advance the clock until the worker and the job have listed all late rows."""
    for _ in range(100):
        if not work(issuer) + finish(issuer):
            return
        issuer.clock.advance(60)
    pytest.fail("the lists are never complete")


def listed(user: Holder, **members: Any) -> tuple[list[int], bool]:
    span = {"date_from": 0, "date_to": user.issuer.clock.time() + 3600, "item_count": 100}
    answer = user.issuer.do("getCardsActivity", **span | {"card_id": user.card_id} | members)
    assert answer.status == "success", answer.raw
    return [row["authorize_id"] for row in answer.data], answer.members["has_more_records"] == "Y"


def test_an_authorization_blocked_for_two_seconds_returns_91_within_three_seconds(strict_issuer: Issuer) -> None:
    user = cardholder(strict_issuer, **LIMITED)
    reference = {"request_reference_id": strict_issuer.reference()}
    use = {"card_id": user.card_id, "transaction_type": 0, "amount": 10_00, "currency_ison": GBP} | reference

    with crowded(user), timed(strict_issuer) as took:
        answer = strict_issuer.sim("simulateAuthorization", **use)

    assert 2 <= took[0] < 3
    assert answer.status == "success"
    number, link = answer.data["authorize_id"], answer.data["trans_link"]
    assert (answer.data["response_code"], answer.data["approved_amount"]) == ("91", 0)
    assert (answer.data["available_balance"], answer.data["settled_balance"]) == (100_00, 100_00)
    assert "auth_code" not in answer.data
    assert user.balances() == (100_00, 0, 0, 100_00)
    assert user.limit_usage(A_DAY) == [(0, 0)]
    finish(strict_issuer)
    [row] = messages(user)
    assert row["authorize_id"] == number
    assert row["response_code"] == "91"
    assert row["actual"] == 0
    assert row["transaction_amount"] == row["holder_amount"] == 10_00
    kept = user.record(link)
    assert kept.state == "D"
    assert kept.response_code == "91"
    assert kept.left == 0
    assert kept.held == 0
    assert kept.at == row["at"]
    assert authorizes(user) == []
    again = strict_issuer.sim("simulateAuthorization", **use)
    assert (again.duplicated, again.data) == (1, answer.data)
    assert len(messages(user)) == 1
    assert strict_issuer.sim("simulateReversal", trans_link=link).status_code == 4008


def test_a_late_decline_is_written_without_the_contended_items(strict_issuer: Issuer) -> None:
    user = cardholder(strict_issuer)

    with record_transactions(strict_issuer.causeway) as made, crowded(user):
        user.request_authorization(10_00)

    assert sorted(made[-1]) == ["Put activity", "Put authorization", "Put late-decline"]


def test_a_decision_after_the_deadline_is_not_written(strict_issuer: Issuer) -> None:
    """The last attempt meets no conflict, but the network's deadline has passed."""
    user, read = cardholder(strict_issuer), Store.batch_get

    def slowly(self: Store, keys: Any) -> Any:
        strict_issuer.clock.advance(1.01)
        return read(self, keys)

    with patch.object(Store, "batch_get", slowly):
        answer = user.request_authorization(10_00)

    assert (answer["response_code"], user.balances()[1]) == ("91", 0)


def test_an_authorization_with_conflicts_returns_91_after_waiting_two_seconds(strict_issuer: Issuer) -> None:
    user, transact = cardholder(strict_issuer), Store.transact

    def busy(self: Store, operations: Sequence[Operation]) -> None:
        if any(operation.table == "cards" for operation in operations):
            raise Conflict("busy")
        transact(self, operations)

    longest = patch("random.uniform", lambda least, most: most)
    with patch.object(Store, "transact", busy), longest, timed(strict_issuer) as took:
        answer = user.request_authorization(10_00)

    assert answer["response_code"] == "91"
    assert took == [pytest.approx(2)]


def test_an_authorization_with_constant_conflicts_returns_91(strict_issuer: Issuer) -> None:
    user = cardholder(strict_issuer)

    with crowded(user, step=0):
        answer = user.request_authorization(10_00)

    assert answer["response_code"] == "91"
    finish(strict_issuer)
    assert len(messages(user)) == 1


@pytest.mark.parametrize("busy", [Conflict, Throttled])
def test_a_worker_records_a_decline_that_storage_refused(strict_issuer: Issuer, busy: type[StoreError]) -> None:
    user = cardholder(strict_issuer)
    strict_issuer.causeway.queued()

    with patch.object(Store, "transact", side_effect=busy("busy")):
        assert user.request_authorization(10_00)["response_code"] == "91"

    assert work(strict_issuer) == 1
    finish(strict_issuer)
    assert [row["response_code"] for row in messages(user)] == ["91"]


def test_advices_and_increments_return_8003_after_ten_seconds_of_conflicts(strict_issuer: Issuer) -> None:
    user = cardholder(strict_issuer)
    link = user.authorize(10_00)["trans_link"]
    use = {"card_id": user.card_id, "transaction_type": 0, "amount": 10_00, "currency_ison": GBP}

    for action, members in (
        ("simulateAdvice", use | {"response_code": "00"}),
        ("simulateIncrement", {"trans_link": link, "amount": 1_00}),
    ):
        with crowded(user), timed(strict_issuer) as took:
            assert strict_issuer.sim(action, **members).status_code == 8003
        assert 10 <= took[0] < 11
    assert len(messages(user)) == 1


def test_an_unknown_card_number_returns_14_even_after_the_deadline(strict_issuer: Issuer) -> None:
    user = reissued(strict_issuer)
    unknown = {"pan": "4111110000000000", "transaction_type": 0, "amount": 1_00, "currency_ison": GBP}
    read = Store.batch_get

    def slowly(self: Store, keys: Any) -> Any:
        found = read(self, keys)
        strict_issuer.clock.advance(2.01)
        return found

    with patch.object(Store, "batch_get", slowly):
        assert strict_issuer.data("simulateAuthorization", **unknown)["response_code"] == "14"
    assert messages(user) == []


def test_a_late_decline_sends_an_authorization_event(issuer: Issuer) -> None:
    with issuer.causeway.manager_wants_events():
        card = issuer.spendable(5000)
        user = Holder(issuer, card)
        heard = Listener(issuer)
        heard.forget()
        with crowded(user):
            answer = issuer.purchase(card.card_id, 2000)

        [told] = heard.received_events("card.authorization")

    assert told["authorize_id"] == answer["authorize_id"]
    assert told["response_code"] == "91"
    assert told["available_balance"] == 5000


# -- lists


def test_a_late_decline_row_follows_all_previously_listed_rows(strict_issuer: Issuer) -> None:
    user = cardholder(strict_issuer)
    first = user.authorize(1_00)["authorize_id"]
    with crowded(user):
        late = user.request_authorization(2_00)["authorize_id"]
    second = user.authorize(3_00)["authorize_id"]

    assert listed(user) == ([first, second], False)
    assert finish(strict_issuer)
    third = user.authorize(4_00)["authorize_id"]
    assert listed(user) == ([first, second, late, third], False)
    assert listed(user, item_count=3) == ([first, second, late], True)
    assert listed(user, last_id=late) == ([third], False)
    assert finish(strict_issuer) == 0, "it is listed once"


def test_a_late_decline_expires_a_day_after_its_listing(strict_issuer: Issuer) -> None:
    user = cardholder(strict_issuer)
    with crowded(user):
        late = user.request_authorization(2_00)["authorize_id"]
    assert "expires_at" not in late_decline(strict_issuer, late)

    assert finish(strict_issuer)

    assert late_decline(strict_issuer, late)["expires_at"] == strict_issuer.clock.time() + RETENTION_SECONDS


def test_a_late_decline_row_follows_rows_of_a_faster_clock(strict_issuer: Issuer) -> None:
    user = cardholder(strict_issuer)
    ahead = Holder(strict_issuer.with_own_clock(days=7 / 86_400), user.card)
    first = ahead.authorize(1_00)["authorize_id"]
    with crowded(user):
        late = user.request_authorization(2_00)["authorize_id"]

    finish(strict_issuer)
    assert listed(user) == ([first, late], False)


def test_a_late_decline_row_is_listed_after_conflicts_on_the_card(strict_issuer: Issuer) -> None:
    finish(strict_issuer)
    user, transact, lost = cardholder(strict_issuer), Store.transact, list[int]()
    with crowded(user):
        late = user.request_authorization(2_00)["authorize_id"]

    def overtaken(self: Store, operations: Sequence[Operation]) -> None:
        if len(lost) < 6:
            lost.append(len(lost))
            overtake(user)
        transact(self, operations)

    with patch.object(Store, "transact", overtaken):
        assert finish(strict_issuer) == 0, "its attempts have ended"
        assert listed(user) == ([], False)
        assert finish(strict_issuer) == 1
    assert listed(user) == ([late], False)


def test_a_late_decline_that_is_cleared_before_its_listing_is_listed(strict_issuer: Issuer) -> None:
    user = cardholder(strict_issuer)
    with crowded(user):
        late = user.request_authorization(2_00)
    strict_issuer.sim("simulateClearing", trans_link=late["trans_link"], amount=2_00, currency_ison=GBP)

    finish(strict_issuer)

    assert listed(user) == ([late["authorize_id"]], False)


@pytest.mark.parametrize("of", ["card", "manager"])
@pytest.mark.parametrize("seed", range(4))
def test_activity_pages_list_rows_stored_during_paging_exactly_once(strict_issuer: Issuer, of: str, seed: int) -> None:
    """Each activity row is listed once, even if the row is stored up to 10 seconds after the authorization decision."""
    user, dice, transact = cardholder(strict_issuer), random.Random(seed), Store.transact
    rival = Holder(strict_issuer.another_process(), user.card)
    strict_issuer.clock.advance(60)
    least: dict[str, Any] = {"date_from": strict_issuer.clock.time(), "date_to": strict_issuer.clock.time() + 3600}
    least |= {"card_id": user.card_id} if of == "card" else {}
    written: list[str] = []
    read: list[int] = []

    def follow() -> None:
        last = {"last_id": read[-1]} if read else {}
        read.extend(
            row["authorize_id"] for row in strict_issuer.data("getCardsActivity", item_count=3, **least, **last)
        )

    def watched(self: Store, operations: Sequence[Operation]) -> None:
        is_late = not any(operation.table == "cards" for operation in operations)
        if is_crowded and not is_late:
            overtake(user)
            strict_issuer.clock.advance(2.1)
            return transact(self, operations)
        strict_issuer.clock.advance(dice.choice((0, 0.2, 0.5, 1.5, 3, 10)))
        if dice.random() < 0.5:
            with patch.object(Store, "transact", transact):
                written.append(Context().run(rival.request_authorization, 1)["response_code"])
        Context().run(follow)
        return transact(self, operations)

    for _ in range(25):
        is_crowded = dice.random() < 0.4
        with patch.object(Store, "transact", watched):
            written.append(user.request_authorization(1)["response_code"])
        strict_issuer.clock.advance(dice.choice((0, 0, 0.3, 0.9)))
        if dice.random() < 0.3:
            work(strict_issuer)
            finish(strict_issuer)
        follow()
    settle(strict_issuer)
    strict_issuer.clock.advance(60)
    for _ in written:
        follow()

    assert {"00", "91"} <= set(written)
    assert len(read) == len(set(read)) == len(written)
