"""The DynamoDB store: reads, conditions, transactions, retries and failures."""

import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from secrets import token_hex
from typing import Any

import pytest

from chalicelib.foundation.aws.calls import CAPACITY, COST, RepeatBudget, send
from chalicelib.foundation.aws.errors import AwsError, ErrorResponse, NoAnswer, NotConfigured, NotSent
from chalicelib.foundation.dynamodb.conditions import Attr
from chalicelib.foundation.dynamodb.errors import InProgress
from chalicelib.foundation.dynamodb.store import (
    ATTEMPTS,
    PATIENCE,
    SENDINGS,
    AnswerLost,
    Check,
    ConditionFailed,
    Conflict,
    Delete,
    Item,
    Page,
    Put,
    Store,
    StoreError,
    StoreUnavailable,
    Throttled,
    Update,
    absent,
)
from chalicelib.foundation.identifiers import new_id

pytestmark = pytest.mark.dynamodb

PREFIX = "causeway-local"
ROWS = "idempotency"
CONSENTS = "consents"


class Recorder:
    """A connection to DynamoDB that records calls and raises the prepared errors before or after the real call.

    The connection ignores transaction tokens, as some emulators do. ``meanwhile`` runs once, after the first lost
    response.
    """

    def __init__(self) -> None:
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.failures: list[AwsError] = []
        self.lost_answers: list[AwsError] = []
        self.meanwhile: Callable[[], object] | None = None

    def __call__(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        self.calls.append((operation, request))
        if self.failures:
            raise self.failures.pop(0)
        forgotten = {"ClientRequestToken": token_hex(16)} if "ClientRequestToken" in request else {}
        answer = send("dynamodb", operation, request | forgotten)
        if self.lost_answers:
            lost = self.lost_answers.pop(0)
            meanwhile, self.meanwhile = self.meanwhile, None
            if meanwhile:
                meanwhile()
            raise lost
        return answer


@pytest.fixture
def client(resources: None) -> Recorder:
    return Recorder()


@pytest.fixture
def pauses() -> list[float]:
    return []


@pytest.fixture
def store(client: Recorder, pauses: list[float]) -> Store:
    return Store(client, PREFIX, pause=pauses.append, budget=RepeatBudget())


@pytest.fixture
def key() -> Item:
    return {"claim": new_id()}


def refusal(code: str, status: int = 400, **members: Any) -> ErrorResponse:
    return ErrorResponse("TransactWriteItems", code, status=status, members=members)


def cancelled(*codes: str) -> ErrorResponse:
    return refusal("TransactionCanceledException", CancellationReasons=[{"Code": code} for code in codes])


# -- reading


def test_a_stored_item_is_read_back_unchanged(store: Store, key: Item) -> None:
    item = {
        **key,
        "text": "Zoë",
        "empty": "",
        "whole": 5,
        "negative": -5,
        "large": 12345678901234567890123456789012345678,
        "amount": Decimal("1.5"),
        "bytes": b"\x00\xff",
        "yes": True,
        "nothing": None,
        "list": [1, "a", [b"b"]],
        "map": {"a": {"b": Decimal("0.01")}},
    }
    store.put(ROWS, item)
    read = store.get(ROWS, key)

    assert read == item
    assert read is not None
    assert {name: type(value) for name, value in read.items()} == {name: type(value) for name, value in item.items()}


def test_a_missing_item_is_returned_as_none(store: Store, key: Item) -> None:
    assert store.get(ROWS, key) is None


@pytest.mark.parametrize("value", [1.5, {"amount": 1.5}, [1.5]])
def test_writing_a_float_value_is_rejected(store: Store, client: Recorder, key: Item, value: object) -> None:
    with pytest.raises(TypeError, match="Float types are not supported"):
        store.put(ROWS, {**key, "value": value})
    assert client.calls == []


def test_a_batch_read_is_one_consistent_call_in_the_requested_order(store: Store, client: Recorder) -> None:
    first, second, absent_one = ({"claim": new_id()} for _ in range(3))
    part = {"consent_id": new_id(), "part": "consent"}
    for item in (first, second):
        store.put(ROWS, {**item, "title": item["claim"]})
    store.put(CONSENTS, {**part, "state": "authorised"})
    client.calls.clear()

    keys = [(ROWS, second), (CONSENTS, part), (ROWS, absent_one), (ROWS, first), (ROWS, second)]
    found = store.batch_get(keys)

    assert [item and item.get("title") for item in found] == [
        second["claim"],
        None,
        None,
        first["claim"],
        second["claim"],
    ]
    assert found[1] == {**part, "state": "authorised"}
    ((name, request),) = client.calls
    assert name == "BatchGetItem"
    assert all(table["ConsistentRead"] for table in request["RequestItems"].values())


def test_a_projected_batch_read_returns_only_the_requested_attributes(store: Store, key: Item) -> None:
    store.put(ROWS, {**key, "name": "a", "status": "b", "title": "c"})

    assert store.batch_get([(ROWS, key)], ["claim", "name", "status", "absent"]) == [
        {**key, "name": "a", "status": "b"}
    ]


def test_a_batch_read_distinguishes_items_by_sort_key(store: Store) -> None:
    consent_id = new_id()
    keys = [(CONSENTS, {"consent_id": consent_id, "part": part}) for part in ("b", "a", "c")]
    for table, item in keys:
        store.put(table, item)

    assert [item and item["part"] for item in store.batch_get(keys)] == ["b", "a", "c"]


def test_a_batch_read_of_more_than_100_keys_is_rejected(store: Store) -> None:
    with pytest.raises(ValueError, match="at most 100"):
        store.batch_get([(ROWS, {"claim": str(number)}) for number in range(101)])


class HalfAnswers:
    """A fake DynamoDB call that processes one key of each batch, or no key if ``stuck`` is true, and returns the rest
    as unprocessed.
    """

    def __init__(self, stuck: bool = False) -> None:
        self.asked: list[int] = []
        self._stuck = stuck

    def __call__(self, operation: str, members: dict[str, Any]) -> dict[str, Any]:
        ((table, request),) = members["RequestItems"].items()
        keys = request["Keys"]
        self.asked.append(len(keys))
        done = [] if self._stuck else keys[:1]
        left = {**request, "Keys": keys[len(done) :]}
        return {"Responses": {table: done}, "UnprocessedKeys": {table: left} if left["Keys"] else {}}


def test_unprocessed_keys_of_a_batch_read_are_requested_again(pauses: list[float]) -> None:
    client = HalfAnswers()
    keys: list[tuple[str, Item]] = [(ROWS, {"claim": name}) for name in ("one", "two", "three")]

    found = Store(client, PREFIX, pause=pauses.append).batch_get(keys)

    assert found == [{"claim": "one"}, {"claim": "two"}, {"claim": "three"}]
    assert client.asked == [3, 2, 1]
    assert len(pauses) == 2


def test_a_batch_read_with_keys_that_remain_unprocessed_raises_throttled_error(pauses: list[float]) -> None:
    client = HalfAnswers(stuck=True)

    with pytest.raises(Throttled, match="left keys unprocessed"):
        Store(client, PREFIX, pause=pauses.append).get(ROWS, {"claim": "one"})
    assert len(client.asked) == ATTEMPTS


# -- single writes


def test_a_write_with_a_failed_condition_returns_the_stored_item_and_writes_nothing(store: Store, key: Item) -> None:
    store.put(ROWS, {**key, "title": "first"}, absent("claim"))

    for write in (
        lambda: store.put(ROWS, {**key, "title": "second"}, absent("claim")),
        lambda: store.update(ROWS, key, set={"title": "second"}, condition=Attr("title").eq("other")),
        lambda: store.delete(ROWS, key, Attr("title").eq("other")),
    ):
        with pytest.raises(ConditionFailed) as caught:
            write()
        assert caught.value.item == {**key, "title": "first"}
        assert caught.value.failed == [0]
    assert store.get(ROWS, key) == {**key, "title": "first"}


def test_a_write_with_a_failed_condition_on_a_missing_item_returns_none(store: Store, key: Item) -> None:
    with pytest.raises(ConditionFailed) as caught:
        store.update(ROWS, key, set={"title": "a"}, condition=Attr("claim").exists())

    assert caught.value.item is None
    assert store.get(ROWS, key) is None


def test_a_retry_of_the_same_put_succeeds(store: Store, key: Item) -> None:
    item = {**key, "title": "a", "sealed": b"\x01", "list": [Decimal("1.0")]}
    store.put(ROWS, item, absent("claim"))

    store.put(ROWS, item, absent("claim"))


def test_an_update_sets_removes_and_adds_attributes_and_returns_the_new_item(store: Store, key: Item) -> None:
    store.put(ROWS, {**key, "title": "old", "note": "x", "other": "y", "count": 2})

    item = store.update(
        ROWS,
        key,
        set={"title": "new", "status": "active"},
        remove=["note", "other"],
        add={"count": 3, "visits": 1},
        condition=Attr("title").eq("old") & Attr("count").lt(5),
    )

    assert item == {**key, "title": "new", "status": "active", "count": 5, "visits": 1}
    assert store.get(ROWS, key) == item


def test_an_update_adds_and_deletes_set_members_and_removes_an_empty_set(store: Store, key: Item) -> None:
    def change(**changes: Any) -> Item | None:
        store.transact([Update(ROWS, key, **changes)])
        return store.get(ROWS, key)

    assert change(add={"ids": frozenset({"a", "b"})}) == {**key, "ids": {"a", "b"}}
    assert change(delete={"ids": frozenset({"b", "c"})}, set={"title": "x"}) == {**key, "ids": {"a"}, "title": "x"}
    assert store.update(ROWS, key, add={"ids": frozenset({"a", "d"})})["ids"] == {"a", "d"}
    assert change(delete={"ids": frozenset({"a", "d"})}) == {**key, "title": "x"}
    assert change(delete={"ids": frozenset({"a"})}) == {**key, "title": "x"}


@pytest.mark.parametrize("changes", [{"set": {"name": "a"}}, {"remove": ["name"]}, {"add": {"size": 1}}])
def test_an_update_accepts_a_single_change_with_reserved_names(
    store: Store, key: Item, changes: dict[str, Any]
) -> None:
    store.put(ROWS, {**key, "name": "b", "size": 1})

    assert store.update(ROWS, key, **changes)["claim"] == key["claim"]


def test_an_update_creates_a_missing_item(store: Store, key: Item) -> None:
    assert store.update(ROWS, key, add={"count": 1}) == {**key, "count": 1}


def test_deleting_a_missing_item_succeeds(store: Store, key: Item) -> None:
    store.put(ROWS, key)
    store.delete(ROWS, key)
    store.delete(ROWS, key)

    assert store.get(ROWS, key) is None


# -- transactions


def test_a_transaction_applies_every_kind_of_operation(store: Store) -> None:
    made, changed, gone, checked = ({"claim": new_id()} for _ in range(4))
    for item in (changed, gone, checked):
        store.put(ROWS, item)

    store.transact(
        [
            Put(ROWS, {**made, "title": "made"}, absent("claim")),
            Update(ROWS, changed, set={"title": "changed"}, condition=Attr("claim").exists()),
            Delete(ROWS, gone, Attr("claim").exists()),
            Check(ROWS, checked, Attr("claim").exists()),
        ]
    )

    assert store.batch_get([(ROWS, item) for item in (made, changed, gone, checked)]) == [
        {**made, "title": "made"},
        {**changed, "title": "changed"},
        None,
        checked,
    ]


def test_a_failed_transaction_writes_nothing_and_reports_the_failed_operations(store: Store) -> None:
    new, taken, missing, good = ({"claim": new_id()} for _ in range(4))
    store.put(ROWS, {**taken, "title": "taken"})
    store.put(ROWS, good)

    with pytest.raises(ConditionFailed) as caught:
        store.transact(
            [
                Put(ROWS, new, absent("claim")),
                Put(ROWS, taken, absent("claim")),
                Check(ROWS, good, Attr("claim").exists()),
                Update(ROWS, missing, set={"title": "x"}, condition=Attr("claim").exists()),
            ]
        )

    assert caught.value.failed == [1, 3]
    assert caught.value.items == [None, {**taken, "title": "taken"}, None, None]
    assert caught.value.item == {**taken, "title": "taken"}
    assert store.get(ROWS, new) is None


# -- conflicts, repeats and outages


CONFLICTS = [cancelled("None", "TransactionConflict"), refusal("TransactionConflictException")]
THROTTLES = [
    cancelled("TransactionConflict", "ThrottlingError"),
    refusal("ThrottlingException"),
    refusal("ProvisionedThroughputExceededException"),
]


@pytest.mark.parametrize("failure", [*CONFLICTS, *THROTTLES])
def test_a_conflicting_transaction_is_retried_with_the_same_token(
    store: Store, client: Recorder, pauses: list[float], key: Item, failure: ErrorResponse
) -> None:
    client.failures = [failure] * (ATTEMPTS - 1)

    store.transact([Put(ROWS, key, absent("claim"))])

    assert store.get(ROWS, key) == key
    tokens = [request["ClientRequestToken"] for name, request in client.calls if name == "TransactWriteItems"]
    assert len(tokens) == ATTEMPTS
    assert len(set(tokens)) == 1
    assert len(pauses) == ATTEMPTS - 1
    assert sum(pauses) < 1


def test_each_transaction_has_a_unique_token(store: Store, client: Recorder) -> None:
    """Forked processes with the same random seed also use different tokens."""
    for _ in range(2):
        random.seed(1)
        store.transact([Put(ROWS, {"claim": new_id()})])

    assert len({request["ClientRequestToken"] for _, request in client.calls}) == 2


@pytest.mark.parametrize(
    ("failure", "expected"), [*((each, Conflict) for each in CONFLICTS), *((each, Throttled) for each in THROTTLES)]
)
def test_a_persistent_transaction_conflict_or_throttling_raises_a_typed_exception(
    store: Store, client: Recorder, key: Item, failure: ErrorResponse, expected: type[StoreError]
) -> None:
    client.failures = [failure] * ATTEMPTS

    with pytest.raises(expected):
        store.transact([Put(ROWS, key)])
    assert len(client.calls) == ATTEMPTS


def test_64_threads_share_the_dynamodb_retry_budget_of_the_process(resources: None, key: Item) -> None:
    sent: list[str] = []

    def throttle(operation: str, request: Item) -> Item:
        sent.append(operation)
        raise THROTTLES[1]

    def put(store: Store) -> None:
        with pytest.raises(Throttled):
            store.put(ROWS, key)

    budget = RepeatBudget()
    with ThreadPoolExecutor(64) as threads:
        list(threads.map(put, [Store(throttle, PREFIX, lambda _: None, budget=budget) for _ in range(64)]))

    assert len(sent) == 64 + CAPACITY // COST


def test_successful_calls_refill_the_dynamodb_retry_budget(client: Recorder, key: Item) -> None:
    store = Store(client, PREFIX, lambda _: None, budget=RepeatBudget(COST))
    client.failures = [THROTTLES[1], THROTTLES[1]]
    with pytest.raises(Throttled):
        store.put(ROWS, key)

    for _ in range(COST):
        store.put(ROWS, key)
    client.failures = [THROTTLES[1]]
    store.put(ROWS, key)

    client.failures = [THROTTLES[1]]  # the repeat that succeeded has given its tokens back
    store.put(ROWS, key)


def test_repeated_requests_for_unprocessed_keys_reduce_the_retry_budget(key: Item) -> None:
    asked: list[Item] = []

    def leave(operation: str, request: Item) -> Item:
        asked.append(request)
        return {"Responses": {}, "UnprocessedKeys": request["RequestItems"]}

    with pytest.raises(Throttled):
        Store(leave, PREFIX, lambda _: None, budget=RepeatBudget(2 * COST)).get(ROWS, key)
    assert len(asked) == 3


def test_a_throttled_store_call_waits_for_the_retry_after_time(
    store: Store, client: Recorder, pauses: list[float], key: Item
) -> None:
    client.failures = [
        ErrorResponse("PutItem", "ThrottlingException", headers={"retry-after": seconds}) for seconds in ("1", "600")
    ]

    store.put(ROWS, key)

    assert 1 <= pauses[0] < 1.1
    assert 2 <= pauses[1] < 2.1


def test_a_single_write_that_conflicts_with_a_transaction_is_retried(store: Store, client: Recorder, key: Item) -> None:
    client.failures = [refusal("TransactionConflictException")]

    assert store.update(ROWS, key, set={"title": "a"}) == {**key, "title": "a"}


def test_a_write_with_a_failed_condition_and_a_conflict_raises_condition_failed(
    store: Store, client: Recorder, key: Item
) -> None:
    client.failures = [cancelled("TransactionConflict", "ConditionalCheckFailed")]

    with pytest.raises(ConditionFailed) as caught:
        store.transact([Put(ROWS, key), Put(ROWS, key)])
    assert caught.value.failed == [1]


def calls_of(store: Store, key: Item) -> dict[str, Callable[[], object]]:
    return {
        "get": lambda: store.get(ROWS, key),
        "query": lambda: store.query(ROWS, ("claim", key["claim"])),
        "scan": lambda: next(iter(store.scan(ROWS)), None),  # the first page: other tests may have left more than one
        "put": lambda: store.put(ROWS, key),
        "delete": lambda: store.delete(ROWS, key),
        "transact": lambda: store.transact([Put(ROWS, key)]),
        "update": lambda: store.update(ROWS, key, set={"title": "a"}),
        "conditional delete": lambda: store.delete(ROWS, key, Attr("claim").exists()),
    }


WITHOUT_PROOF = ("update", "conditional delete")
"""Store calls after which the stored item does not show which process wrote the item."""
REPEATABLE = ("get", "query", "scan", "put", "delete", "transact")


@pytest.mark.parametrize(
    "failure",
    [
        refusal("ResourceNotFoundException"),
        refusal("AccessDeniedException"),
        refusal("ValidationException"),
        cancelled("ValidationError"),
        NotConfigured("no credentials"),
    ],
)
@pytest.mark.parametrize("call", [*REPEATABLE, *WITHOUT_PROOF])
def test_a_permanent_dynamodb_error_raises_store_unavailable_without_a_retry(
    store: Store, client: Recorder, key: Item, call: str, failure: AwsError
) -> None:
    client.failures = [failure]

    with pytest.raises(StoreUnavailable) as caught:
        calls_of(store, key)[call]()
    assert caught.value.__cause__ is failure
    assert len(client.calls) == 1


# -- lost answers

NEVER_SENT = [NotSent("refused")]
LOST = [NoAnswer("timed out"), refusal("InternalServerError"), refusal("UnheardOf", 503)]
DROPPED = LOST[1]


@pytest.mark.parametrize("failure", [*LOST, *NEVER_SENT])
@pytest.mark.parametrize("call", REPEATABLE)
def test_a_dynamodb_call_with_a_lost_response_is_retried_once(
    store: Store, client: Recorder, pauses: list[float], key: Item, call: str, failure: AwsError
) -> None:
    client.failures = [failure]

    calls_of(store, key)[call]()

    (first, sent), (second, sent_again) = client.calls
    assert (first, sent) == (second, sent_again)
    assert len(pauses) == 1


@pytest.mark.parametrize("failure", LOST)
@pytest.mark.parametrize("call", [call for call in REPEATABLE if call != "transact"])
def test_a_dynamodb_call_with_three_lost_responses_raises_the_answer_lost_exception(
    store: Store, client: Recorder, key: Item, call: str, failure: AwsError
) -> None:
    client.failures = [*[DROPPED] * (SENDINGS - 1), failure]

    with pytest.raises(AnswerLost) as caught:
        calls_of(store, key)[call]()
    assert caught.value.__cause__ is failure
    assert len(client.calls) == SENDINGS


@pytest.mark.parametrize("failure", NEVER_SENT)
@pytest.mark.parametrize("call", [*REPEATABLE, *WITHOUT_PROOF])
def test_a_dynamodb_call_that_was_never_sent_is_retried(
    store: Store, client: Recorder, key: Item, call: str, failure: AwsError
) -> None:
    store.put(ROWS, key)
    client.failures = [failure] * (SENDINGS - 1)

    calls_of(store, key)[call]()

    assert client.failures == []


@pytest.mark.parametrize("call", [*REPEATABLE, *WITHOUT_PROOF])
def test_an_unreachable_database_raises_the_store_unavailable_exception(
    store: Store, client: Recorder, key: Item, call: str
) -> None:
    client.failures = [NEVER_SENT[0]] * SENDINGS

    with pytest.raises(StoreUnavailable) as caught:
        calls_of(store, key)[call]()
    assert not isinstance(caught.value, AnswerLost)
    assert client.failures == []


@pytest.mark.parametrize("failure", LOST)
@pytest.mark.parametrize("call", WITHOUT_PROOF)
def test_a_write_with_an_unverifiable_effect_is_not_retried_after_a_lost_response(
    store: Store, client: Recorder, key: Item, call: str, failure: AwsError
) -> None:
    client.failures = [failure]

    with pytest.raises(AnswerLost):
        calls_of(store, key)[call]()
    assert len(client.calls) == 1


@pytest.mark.parametrize("failure", [*LOST, refusal("TransactionInProgressException")])
def test_a_transaction_with_lost_responses_is_retried_until_the_deadline(
    client: Recorder, key: Item, failure: AwsError
) -> None:
    now = 0.0

    def pause(seconds: float) -> None:
        nonlocal now
        now += max(seconds, 0.1)

    client.failures = [failure] * 1000
    store = Store(client, PREFIX, pause, monotonic=lambda: now)

    with pytest.raises(AnswerLost) as caught:
        store.transact([Put(ROWS, key, absent("claim"))])
    assert caught.value.__cause__ is failure
    assert now < PATIENCE + 2
    tokens = [request["ClientRequestToken"] for _, request in client.calls]
    assert len(tokens) > 10
    assert len(set(tokens)) == 1


def test_a_transaction_in_progress_is_retried_until_the_transaction_is_applied(
    store: Store, client: Recorder, key: Item
) -> None:
    client.failures = [DROPPED, *[refusal("TransactionInProgressException")] * 9]

    store.transact([Put(ROWS, key, absent("claim"))])

    assert store.get(ROWS, key) == key


def test_a_transaction_that_remains_in_progress_raises_in_progress_error(client: Recorder, key: Item) -> None:
    client.failures = [refusal("TransactionInProgressException")]

    with pytest.raises(InProgress):
        Store(client, PREFIX, lambda _: None, patience=0).transact([Put(ROWS, key)])
    assert issubclass(InProgress, AnswerLost)


@pytest.mark.parametrize("failure", [*CONFLICTS, *THROTTLES, refusal("ValidationException"), LOST[1]])
def test_a_store_error_has_the_request_id_of_dynamodb_and_no_message_text(
    client: Recorder, key: Item, failure: ErrorResponse
) -> None:
    headers = {"x-amzn-requestid": "R4"}
    client.failures = [ErrorResponse("PutItem", failure.code, "quoted", members=failure.members, headers=headers)]

    with pytest.raises(StoreError, match=rf"^PutItem: {failure.code} \(request R4\)") as caught:
        Store(client, PREFIX, lambda _: None, patience=0).put(ROWS, key)
    assert "quoted" not in str(caught.value)


def test_retries_of_a_slow_database_stop_after_the_time_limit(client: Recorder, key: Item) -> None:
    now = 0.0

    def monotonic() -> float:
        nonlocal now
        now += 6  # each call takes as long as the client waits
        return now

    client.failures = [LOST[0]] * 20

    with pytest.raises(AnswerLost):
        Store(client, PREFIX, lambda _: None, monotonic=monotonic).transact([Put(ROWS, key)])
    assert len(client.calls) == 2


def test_an_increment_with_a_lost_response_is_applied_once(store: Store, client: Recorder, key: Item) -> None:
    client.lost_answers = [DROPPED]

    with pytest.raises(StoreUnavailable):
        store.update(ROWS, key, add={"count": 1})
    assert store.get(ROWS, key) == {**key, "count": 1}


@pytest.mark.parametrize("lost", [*LOST, refusal("ThrottlingException")])
def test_the_retry_of_a_put_with_a_lost_response_detects_the_applied_put(
    store: Store, client: Recorder, key: Item, lost: AwsError
) -> None:
    client.lost_answers = [lost]

    store.put(ROWS, {**key, "title": "a"}, absent("claim"))

    assert [name for name, _ in client.calls] == ["PutItem", "PutItem"]
    assert store.get(ROWS, key) == {**key, "title": "a"}


def test_the_retry_of_a_transaction_with_a_put_detects_the_applied_transaction(
    store: Store, client: Recorder, key: Item
) -> None:
    counter = {"claim": new_id()}
    client.lost_answers = [DROPPED]

    store.transact([Update(ROWS, counter, add={"count": 1}), Put(ROWS, {**key, "title": "a"}, absent("claim"))])

    tokens = [request["ClientRequestToken"] for _, request in client.calls]
    assert len(tokens) == 2
    assert len(set(tokens)) == 1
    assert store.get(ROWS, key) == {**key, "title": "a"}
    assert store.get(ROWS, counter) == {**counter, "count": 1}


PUTS: list[Callable[[Store, Item], None]] = [
    lambda store, item: store.put(ROWS, item, absent("claim")),
    lambda store, item: store.transact([Put(ROWS, item, absent("claim"))]),
]


@pytest.mark.parametrize("write", PUTS, ids=["put", "transact"])
def test_a_write_of_another_process_after_a_lost_response_raises_condition_failed(
    store: Store, client: Recorder, key: Item, write: Callable[[Store, Item], None]
) -> None:
    other = {**key, "title": "other"}
    client.lost_answers = [DROPPED]
    client.meanwhile = lambda: Store(client, PREFIX).put(ROWS, other)

    with pytest.raises(ConditionFailed) as caught:
        write(store, {**key, "title": "own"})
    assert caught.value.item == other
    assert store.get(ROWS, key) == other


@pytest.mark.parametrize("write", PUTS, ids=["put", "transact"])
def test_the_retry_of_a_write_that_never_reached_dynamodb_raises_condition_failed(
    store: Store, client: Recorder, key: Item, write: Callable[[Store, Item], None]
) -> None:
    store.put(ROWS, {**key, "title": "other"})
    client.failures = [DROPPED]

    with pytest.raises(ConditionFailed) as caught:
        write(store, {**key, "title": "own"})
    assert caught.value.item == {**key, "title": "other"}


def test_an_equal_item_does_not_prove_that_a_conflicting_transaction_was_applied(
    store: Store, client: Recorder, key: Item
) -> None:
    store.put(ROWS, key)
    client.failures = [cancelled("TransactionConflict")]

    with pytest.raises(ConditionFailed):
        store.transact([Put(ROWS, key, absent("claim"))])


def test_only_a_conditional_put_proves_that_a_transaction_was_applied(
    store: Store, client: Recorder, key: Item
) -> None:
    state = {"claim": new_id(), "state": "open"}
    store.put(ROWS, state)
    client.lost_answers = [DROPPED]
    closing = Update(ROWS, {"claim": state["claim"]}, set={"state": "closed"}, condition=Attr("state").eq("open"))

    with pytest.raises(ConditionFailed) as caught:
        store.transact([Put(ROWS, key), closing])
    assert caught.value.item == {**state, "state": "closed"}


def test_a_conflict_after_a_lost_response_raises_the_answer_lost_exception(
    store: Store, client: Recorder, key: Item
) -> None:
    client.failures = [DROPPED, *[cancelled("TransactionConflict")] * ATTEMPTS]

    with pytest.raises(AnswerLost) as caught:
        store.transact([Put(ROWS, key, absent("claim"))])
    assert caught.value.__cause__ is DROPPED


def test_a_rejection_after_a_lost_response_raises_the_answer_lost_exception(
    store: Store, client: Recorder, key: Item
) -> None:
    client.failures = [DROPPED, refusal("AccessDeniedException")]

    with pytest.raises(AnswerLost):
        store.transact([Put(ROWS, key, absent("claim"))])


# -- queries


@pytest.fixture
def partition(store: Store) -> str:
    """Store a consent that consists of seven items, and a second consent. Return the id of the first consent."""
    consent_id = new_id()
    for part in ("a#1", "a#2", "a#3", "b#1", "b#2", "c#1", "c#2"):
        store.put(CONSENTS, {"consent_id": consent_id, "part": part})
    store.put(CONSENTS, {"consent_id": new_id(), "part": "a#1"})
    return consent_id


def parts(items: list[Item]) -> list[str]:
    return [item["part"] for item in items]


def test_a_query_reads_one_partition_in_order(store: Store, client: Recorder, partition: str) -> None:
    client.calls.clear()
    page = store.query(CONSENTS, ("consent_id", partition))

    assert parts(page.items) == ["a#1", "a#2", "a#3", "b#1", "b#2", "c#1", "c#2"]
    assert page.next is None
    assert client.calls[0][1]["ConsistentRead"]


def test_a_query_of_several_pages_continues_with_the_next_page(store: Store, partition: str) -> None:
    pages, after = [], None
    while True:
        page = store.query(CONSENTS, ("consent_id", partition), limit=3, after=after)
        pages.append(parts(page.items))
        after = page.next
        if after is None:
            break

    assert [part for page in pages for part in page] == ["a#1", "a#2", "a#3", "b#1", "b#2", "c#1", "c#2"]
    assert all(len(page) <= 3 for page in pages)


def test_a_query_can_run_in_descending_order_with_a_sort_key_prefix(store: Store, partition: str) -> None:
    page = store.query(CONSENTS, ("consent_id", partition), sort_prefix=("part", "a#"), newest_first=True)

    assert parts(page.items) == ["a#3", "a#2", "a#1"]


def test_a_query_of_an_index_finds_items_by_another_attribute(store: Store) -> None:
    shard = new_id()
    for number in range(3):
        delivery = {"delivery_id": f"{shard}-{number}", "part": "record"}
        store.put("deliveries", {**delivery, "due_shard": shard, "due_at": number})

    page = store.query("deliveries", ("due_shard", shard), index="due", limit=2)
    rest = store.query("deliveries", ("due_shard", shard), index="due", after=page.next)
    assert [item["due_at"] for item in page.items + rest.items] == [0, 1, 2]


def test_a_query_between_two_numbers_includes_the_first_and_the_last_number(store: Store) -> None:
    shard = new_id()
    for number in (1, 2, 3, 10, 11):
        delivery = {"delivery_id": f"{shard}-{number}", "part": "record"}
        store.put("deliveries", {**delivery, "due_shard": shard, "due_at": number})

    def found(first: int, last: int, **options: Any) -> list[int]:
        page = store.query("deliveries", ("due_shard", shard), index="due", between=("due_at", first, last), **options)
        return [item["due_at"] for item in page.items]

    assert found(2, 10) == [2, 3, 10]
    assert found(2, 10, newest_first=True, limit=2) == [10, 3]
    assert found(4, 9) == []


def test_a_query_between_two_texts_includes_the_first_and_the_last_text(store: Store) -> None:
    owner = new_id()
    for part in ("a#1", "a#2", "a#2~", "a#3", "b#1"):
        store.put("ledger", {"owner": owner, "part": part})

    def found(first: str, last: str, **options: Any) -> list[str]:
        page = store.query("ledger", ("owner", owner), between=("part", first, last), **options)
        return [item["part"] for item in page.items]

    assert found("a#2", "a#3") == ["a#2", "a#2~", "a#3"]
    assert found("a#", "a#~", limit=2) == ["a#1", "a#2"]
    assert found("a#4", "a#~") == []


def test_a_scan_reads_every_item_page_by_page(client: Recorder) -> None:
    def two_items(operation: str, request: dict[str, Any]) -> dict[str, Any]:
        return client(operation, request | {"Limit": 2})

    ids = {new_id() for _ in range(5)}
    store = Store(client, PREFIX)
    for item_id in ids:
        store.put("users", {"email": item_id})
    found = {item["email"] for item in Store(two_items, PREFIX).scan("users")}

    assert ids <= found
    scans = [request for name, request in client.calls if name == "Scan"]
    assert len(scans) >= 3
    assert all(request["ConsistentRead"] for request in scans)


def test_the_rows_method_returns_all_pages_of_a_partition(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = pages_of("ab", "c", store=store, monkeypatch=monkeypatch)

    assert [row["part"] for row in store.rows("cards", ("owner", "card#1"))] == ["a", "b", "c"]
    assert [which.get("after") for which in asked] == [None, {"part": "b"}]


def test_the_each_method_reads_the_next_page_only_when_needed(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = pages_of("ab", "c", store=store, monkeypatch=monkeypatch)
    rows = store.each("cards", ("owner", "card#1"), limit=2, newest_first=True)

    assert [next(rows)["part"], next(rows)["part"], len(asked)] == ["a", "b", 1]
    assert [row["part"] for row in rows] == ["c"]
    assert all((which["limit"], which["newest_first"]) == (2, True) for which in asked)


def test_the_last_page_of_a_query_has_no_next_key(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    pages_of("ab", "c", store=store, monkeypatch=monkeypatch)

    assert [page.next for page in store.pages("cards", ("owner", "card#1"))] == [{"part": "b"}, None]


def pages_of(*pages: str, store: Store, monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Make queries return the given pages. Each letter of a page is the sort key of a row. Return a list to which each
    query adds its arguments.
    """
    asked: list[dict[str, Any]] = []

    def query(table: str, partition: tuple[str, Any], **which: Any) -> Page:
        letters = pages[len(asked)]
        asked.append(dict(which))
        items: list[Item] = [{"part": letter} for letter in letters]
        return Page(items, items[-1] if len(asked) < len(pages) else None)

    monkeypatch.setattr(store, "query", query)
    return asked
