"""The engine repeats a decision after a write conflict, and determines whether a write with a lost response was
applied.
"""

from collections.abc import Callable, Sequence
from secrets import token_hex
from typing import Any

import pytest

from chalicelib.foundation.aws.calls import RepeatBudget, send
from chalicelib.foundation.aws.errors import AwsError, NoAnswer, NotSent
from chalicelib.foundation.dynamodb.conditions import Attr
from chalicelib.foundation.dynamodb.store import (
    ATTEMPTS,
    Busy,
    ConditionFailed,
    Conflict,
    Item,
    Operation,
    Put,
    Store,
    StoreUnavailable,
    Update,
    absent,
)
from chalicelib.foundation.identifiers import new_id
from chalicelib.foundation.requests.engine import Engine, if_permitted, try_to
from chalicelib.foundation.requests.facts import Facts, Key
from chalicelib.foundation.requests.outcome import Outcome, Proof

pytestmark = pytest.mark.dynamodb

ROWS = "idempotency"


class Line:
    """A connection to DynamoDB that records calls and ignores transaction tokens, as some emulators do.

    ``losses`` contains an entry for each call: ``None`` if the response is not lost, otherwise whether the call was
    executed before its response was lost. ``meanwhile`` lists the concurrent writes before the next write.
    """

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.losses: list[bool | None] = []
        self.meanwhile: list[Callable[[], object]] = []
        self.refusals: list[AwsError] = []

    def __call__(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        self.calls.append(operation)
        if operation == "BatchGetItem":
            return send("dynamodb", operation, request)
        if self.refusals:
            raise self.refusals.pop(0)
        if self.meanwhile:
            self.meanwhile.pop(0)()
        lost = self.losses.pop(0) if self.losses else None
        if lost is False:
            raise NoAnswer("the connection broke")
        forgotten = {"ClientRequestToken": token_hex(16)} if "ClientRequestToken" in request else {}
        answer = send("dynamodb", operation, request | forgotten)
        if lost:
            raise NoAnswer("the connection broke")
        return answer


class Deliveries:
    def __init__(self) -> None:
        self.key: Key = (ROWS, {"claim": new_id()})
        self.operations: Sequence[Operation] = (Put(ROWS, self.key[1], absent("claim")),)

    @property
    def proof(self) -> Key:
        return self.key


@pytest.fixture
def line(resources: None) -> Line:
    return Line()


@pytest.fixture
def store(line: Line) -> Store:
    return Store(line, "causeway-local", pause=lambda seconds: None, budget=RepeatBudget())


@pytest.fixture
def dispatched() -> list[object]:
    return []


@pytest.fixture
def engine(store: Store, dispatched: list[object]) -> Engine:
    return Engine(store, dispatched.append)


@pytest.fixture
def key() -> Key:
    return ROWS, {"claim": new_id()}


def others(key: Key, **members: Any) -> Callable[[], object]:
    """Return a write operation of a concurrent request. The write is not recorded."""
    item = {name: _typed(value) for name, value in {**key[1], **members}.items()}
    return lambda: send("dynamodb", "PutItem", {"TableName": f"causeway-local-{key[0]}", "Item": item})


def _typed(value: object) -> dict[str, str]:
    return {"N": str(value)} if isinstance(value, int) else {"S": str(value)}


def count_up(key: Key, seen: list[int] | None = None, **options: Any) -> Callable[[Facts], Outcome[int]]:

    def decide(facts: Facts) -> Outcome[int]:
        counted = (facts.item(key) or {}).get("count", 0)
        if seen is not None:
            seen.append(counted)
        unchanged = Attr("count").eq(counted) if counted else absent("claim")
        return Outcome(counted + 1, [Update(*key, set={"count": counted + 1}, condition=unchanged)], **options)

    return decide


def test_a_decision_without_a_conflict_makes_one_read_and_one_write(
    engine: Engine, line: Line, key: Key, store: Store
) -> None:
    assert engine.carry_out(count_up(key), engine.read([key])) == 1

    assert line.calls == ["BatchGetItem", "TransactWriteItems"]
    assert store.get(*key) == {**key[1], "count": 1}


def test_a_conflicting_decision_is_repeated_with_the_returned_item_without_a_read(
    engine: Engine, line: Line, key: Key
) -> None:
    seen: list[int] = []
    line.meanwhile = [others(key, count=5)]

    assert engine.carry_out(count_up(key, seen), engine.read([key])) == 6
    assert seen == [0, 5]
    assert line.calls == ["BatchGetItem", "TransactWriteItems", "TransactWriteItems"]


def test_repeated_conflicts_raise_a_conflict_error(engine: Engine, line: Line, key: Key) -> None:
    line.meanwhile = [others(key, count=5 + number) for number in range(ATTEMPTS)]

    with pytest.raises(Conflict):
        engine.carry_out(count_up(key), engine.read([key]))
    assert line.calls.count("TransactWriteItems") == ATTEMPTS


def test_the_if_busy_argument_replaces_the_conflict_error_of_a_decision(engine: Engine, line: Line, key: Key) -> None:
    line.meanwhile = [others(key, count=5 + number) for number in range(ATTEMPTS)]
    assert engine.carry_out(count_up(key), engine.read([key]), if_busy=lambda: -1) == -1


def test_a_decision_whose_put_is_rejected_returns_the_response_for_the_existing_item(
    engine: Engine, line: Line, key: Key
) -> None:
    line.meanwhile = [others(key, count=5)]

    assert (
        engine.carry_out(if_permitted([Put(*key, absent("claim"))], "new", lambda _: "there already"))
        == "there already"
    )
    assert line.calls == ["PutItem"]


def test_further_items_that_a_decision_requires_are_read_in_one_batch(engine: Engine, line: Line, key: Key) -> None:
    more = [(ROWS, {"claim": new_id()}) for _ in range(2)]

    def decide(facts: Facts) -> Outcome[list[Item | None]]:
        facts.require(*more)
        return Outcome([facts.item(each) for each in more])

    assert engine.carry_out(decide, engine.read([key])) == [None, None]
    assert line.calls == ["BatchGetItem", "BatchGetItem"]


def test_the_exception_of_a_refused_request_is_raised_after_the_writes_of_the_refusal(
    engine: Engine, key: Key, store: Store
) -> None:
    with pytest.raises(LookupError):
        engine.carry_out(lambda _: Outcome(LookupError(), [Put(*key)]), Facts())

    assert store.get(*key) == key[1]


def test_a_decision_with_a_single_put_uses_no_transaction(engine: Engine, line: Line, key: Key) -> None:
    engine.carry_out(lambda _: Outcome(None, [Put(*key, absent("claim"))]), Facts())
    assert line.calls == ["PutItem"]


@pytest.mark.parametrize("applied", [True, False])
def test_an_idempotent_update_uses_a_transaction_only_after_a_lost_response(
    engine: Engine, line: Line, key: Key, store: Store, applied: bool
) -> None:
    once = Update(*key, add={"members": frozenset({"a"})})
    line.losses = [applied]

    engine.carry_out(lambda _: Outcome(None, [once], is_repeatable=True), Facts())
    assert line.calls == ["UpdateItem", "TransactWriteItems"]
    assert store.get(*key) == {**key[1], "members": frozenset({"a"})}


def test_deliveries_are_written_with_the_outcome_of_a_decision_and_then_dispatched(
    engine: Engine, line: Line, key: Key, dispatched: list[object], store: Store
) -> None:
    deliveries = Deliveries()
    line.meanwhile = [others(key, count=1)]

    assert engine.carry_out(count_up(key, deliveries=deliveries), engine.read([key])) == 2
    assert dispatched == [deliveries]
    assert store.get(*deliveries.key) is not None


def test_an_outcome_that_was_not_written_is_neither_dispatched_nor_reported(
    engine: Engine, line: Line, key: Key, dispatched: list[object]
) -> None:
    reports: list[str] = []
    line.refusals = [NotSent("no connection")] * 3

    with pytest.raises(StoreUnavailable):
        engine.carry_out(
            count_up(key, deliveries=Deliveries(), report=lambda: reports.append("written")), engine.read([key])
        )
    assert (dispatched, reports) == ([], [])
    assert line.calls == ["BatchGetItem", *["TransactWriteItems"] * 3]  # what was never sent is not looked for


@pytest.mark.parametrize("proof", ["a delivery", "an item of its own"])
def test_the_proof_item_shows_that_an_outcome_with_lost_responses_was_written(
    engine: Engine, line: Line, key: Key, store: Store, proof: str
) -> None:
    line.losses = [True, *[False] * 40]
    own = Proof([key], lambda item: item["count"] == 1)
    options: dict[str, Any] = {"deliveries": Deliveries()} if proof == "a delivery" else {"proof": own}

    assert engine.carry_out(count_up(key, **options), engine.read([key])) == 1
    assert store.get(*key) == {**key[1], "count": 1}


def test_a_retried_write_that_conflicts_with_its_own_first_attempt_succeeds(
    engine: Engine, line: Line, key: Key
) -> None:
    seen: list[int] = []
    line.losses = [True]

    assert engine.carry_out(count_up(key, seen, deliveries=Deliveries()), engine.read([key])) == 1
    assert seen == [0]


@pytest.mark.parametrize("applied", [True, False])
def test_an_outcome_with_lost_responses_and_no_proof_item_raises_store_unavailable(
    engine: Engine, line: Line, key: Key, applied: bool
) -> None:
    line.losses = [applied, *[False] * 40]

    with pytest.raises(StoreUnavailable):
        engine.carry_out(count_up(key), engine.read([key]))


def test_a_failed_condition_of_a_write_that_the_caller_added_raises_condition_failed(engine: Engine, key: Key) -> None:
    other: Key = (ROWS, {"claim": new_id()})
    alongside = [Put(*other, Attr("claim").exists())]

    with pytest.raises(ConditionFailed):
        engine.carry_out(count_up(key), engine.read([key]), alongside=alongside)


def test_a_failed_write_that_the_caller_added_is_reported_instead_of_a_conflict(
    engine: Engine, line: Line, key: Key
) -> None:
    other: Key = (ROWS, {"claim": new_id()})
    line.meanwhile = [others(key, count=1)]

    with pytest.raises(ConditionFailed):
        engine.carry_out(count_up(key), engine.read([key]), alongside=[Put(*other, Attr("claim").exists())])


def test_the_proof_item_is_checked_for_the_latest_attempt(engine: Engine, line: Line, key: Key) -> None:
    line.meanwhile = [others(key, count=5)]
    line.losses = [None, True, *[False] * 40]
    any_attempt = Proof([key], lambda item: item["count"] > 5)

    assert engine.carry_out(count_up(key, proof=any_attempt), engine.read([key])) == 6


def test_a_decision_that_raises_condition_failed_is_repeated(engine: Engine, key: Key) -> None:
    failures = [ConditionFailed([None], [0])]

    def decide(_: Facts) -> Outcome[str]:
        if failures:
            raise failures.pop()
        return Outcome("decided", [Put(*key)])

    assert engine.carry_out(decide) == "decided"


def test_an_idempotent_update_removes_members_of_a_set(engine: Engine, key: Key, store: Store) -> None:
    store.put(key[0], {**key[1], "members": frozenset({"a", "b"})})
    once = Update(*key, delete={"members": frozenset({"a"})})

    engine.carry_out(lambda _: Outcome(None, [once], is_repeatable=True))
    assert store.get(*key) == {**key[1], "members": frozenset({"b"})}


def test_a_write_added_by_the_caller_is_applied_with_the_outcome(engine: Engine, key: Key, store: Store) -> None:
    other: Key = (ROWS, {"claim": new_id()})

    engine.carry_out(count_up(key), engine.read([key]), alongside=[Put(*other)])
    assert (store.get(*key), store.get(*other)) == ({**key[1], "count": 1}, other[1])


def test_the_try_to_function_suppresses_only_storage_errors() -> None:
    def fail() -> None:
        raise Busy("throttled")

    assert try_to(fail, "not written") is None
    with pytest.raises(ValueError, match="invalid literal"):
        try_to(lambda: int("one"), "not written")


def test_an_engine_without_a_queue_rejects_deliveries(store: Store, key: Key) -> None:
    with pytest.raises(TypeError, match="dispatches no deliveries"):
        Engine(store).carry_out(lambda _: Outcome(None, deliveries=Deliveries()), Facts())


def test_a_write_is_rejected_if_the_items_read_do_not_meet_the_condition(key: Key) -> None:
    write = Update(*key, set={"count": 2}, condition=Attr("count").eq(1))

    assert Facts().permits(write)
    assert Facts([key], [{**key[1], "count": 1}]).permits(write)
    assert not Facts([key], [None]).permits(write)
    assert not Facts([key], [key[1]]).permits(Put(*key, absent("claim")))
    assert not Facts([key], [{**key[1], "count": 1}]).permits(write, Put(*key, absent("claim")))
