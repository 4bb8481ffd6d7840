"""Tests of the worker, which attempts a delivery at the planned times until success or the last attempt."""

from collections.abc import Mapping, Sequence

import pytest

from chalicelib.bootstrap import PLANS
from chalicelib.delivery import worker as module
from chalicelib.delivery.delivery_plan import DAY, MINUTE, SWEEP_WAITS
from chalicelib.delivery.delivery_record import CLAIMED_SECONDS
from chalicelib.delivery.outcomes import Delivered, StoredAnswer
from chalicelib.delivery.sweeper import sweep
from chalicelib.delivery.worker import Worker
from chalicelib.foundation import context, log
from chalicelib.foundation.aws.errors import NotSent
from chalicelib.foundation.aws.queues import Queue
from chalicelib.foundation.dynamodb.store import Busy, Conflict, Operation, StoreUnavailable, Throttled
from tests.causeway import Causeway
from tests.delivery.conftest import RETRY_DELAYS, Receiver, begin_attempt, dead_letters, failure, record_delivery
from tests.kit.logs import Lines

pytestmark = pytest.mark.dynamodb


def wait(causeway: Causeway, delivery_id: str) -> None:
    due_at = causeway.delivery(delivery_id).due_at
    assert due_at is not None
    causeway.clock.advance(max(0, due_at - causeway.clock.time()))


def exchanged(sent: Mapping[str, str], received: Mapping[str, str] | None = None, body: bytes = b"") -> None:
    captured = context.captured()
    captured.sent, captured.received, captured.beginning = sent, received, body


def replies(causeway: Causeway, delivery_id: str) -> list[str]:
    names = [entry["reply"] for entry in causeway.delivery(delivery_id).history if "reply" in entry]
    stored = causeway.hub.delivery.bodies.open_stored(delivery_id, dict.fromkeys(names, 1))
    return [stored[name] for name in names]


# -- one attempt


def test_an_accepted_delivery_has_the_state_delivered(causeway: Causeway, worker: Worker, receiver: Receiver) -> None:
    recorded = record_delivery(causeway, body='{"amount":1.50}', request_id="a-request")
    worker.attempt(recorded)

    (dispatch,) = receiver.got
    assert (dispatch.delivery.delivery_id, dispatch.delivery.request_id) == (recorded, "a-request")
    assert (dispatch.body, dispatch.delivery.abandoned) == ('{"amount":1.50}', False)
    delivery = causeway.delivery(recorded)
    assert delivery.state == "delivered"
    assert delivery.attempts == 1
    assert delivery.delivered_at == causeway.clock.time()
    assert delivery.last == {"at": causeway.clock.time(), "milliseconds": 0, "status": 200}
    assert (delivery.due_at, delivery.claimed_by) == (None, None)


def test_a_delivery_without_a_body_is_sent_with_an_empty_body(
    worker: Worker, receiver: Receiver, recorded: str
) -> None:
    worker.attempt(recorded)

    assert receiver.got[0].body == ""


def test_an_attempt_records_its_duration(causeway: Causeway, worker: Worker, receiver: Receiver, recorded: str) -> None:
    receiver.meanwhile = lambda: causeway.clock.advance(1.25)
    worker.attempt(recorded)

    assert causeway.delivery(recorded).last["milliseconds"] == 1250


# -- headers


def test_an_attempt_records_the_sent_and_received_headers(
    causeway: Causeway, worker: Worker, receiver: Receiver, recorded: str
) -> None:
    receiver.meanwhile = lambda: exchanged({"X-Api-Key": "a secret", "Accept": "*/*"}, {"Retry-After": "7"})
    receiver.failures = [failure(status=503)]
    worker.attempt(recorded)
    wait(causeway, recorded)
    worker.attempt(recorded)

    first, second = causeway.delivery(recorded).history
    assert first["sent"] == {"x-api-key": "***", "accept": "*/*"}
    assert first["received"] == {"retry-after": "7"}
    assert second.keys() == {"at", "milliseconds", "status"}  # nothing was sent
    assert causeway.delivery(recorded).latency == second["milliseconds"]


@pytest.mark.parametrize("failure", [failure(), failure(final=True), RuntimeError("a defect")])
def test_an_attempt_without_a_response_records_only_the_sent_headers(
    causeway: Causeway, worker: Worker, receiver: Receiver, recorded: str, failure: Exception
) -> None:
    receiver.meanwhile = lambda: exchanged({"Accept": "*/*"})
    receiver.failures = [failure]
    worker.attempt(recorded)

    last = causeway.delivery(recorded).last
    assert last["sent"] == {"accept": "*/*"}
    assert "received" not in last


def test_a_deferred_attempt_records_no_history_and_no_latency(
    causeway: Causeway, worker: Worker, receiver: Receiver, recorded: str
) -> None:
    receiver.failures = [failure(not_made=True)]
    worker.attempt(recorded)

    delivery = causeway.delivery(recorded)
    assert (delivery.history, delivery.latency) == ((), None)


def test_a_delivery_recorded_before_headers_were_stored_is_attempted(
    causeway: Causeway, worker: Worker, receiver: Receiver, recorded: str
) -> None:
    key = {"delivery_id": recorded, "part": "record"}
    before = {"at": 1, "milliseconds": 250, "status": 503, "error": "it answered with status 503"}
    causeway.hub.store.update("deliveries", key, set={"history": [before], "attempts": 1})
    assert (causeway.delivery(recorded).last, causeway.delivery(recorded).latency) == (before, 250)

    receiver.meanwhile = lambda: exchanged({"Accept": "*/*"}, {})
    worker.attempt(recorded)

    first, second = causeway.delivery(recorded).history
    assert first == before
    assert (second["sent"], second["received"]) == ({"accept": "*/*"}, {})


# -- the receiver's answers


def test_an_attempt_stores_the_beginning_of_the_response_encrypted(
    causeway: Causeway, worker: Worker, receiver: Receiver, recorded: str
) -> None:
    receiver.failures = [failure(status=503)]
    for words in (b"the queue is full", b"taken"):
        receiver.meanwhile = lambda body=words: exchanged({}, {}, body)
        worker.attempt(recorded)
        wait(causeway, recorded) if causeway.delivery(recorded).due_at else None

    first, second = causeway.delivery(recorded).history
    assert replies(causeway, recorded) == ["the queue is full", "taken"]
    assert first["reply"] != second["reply"]
    part = causeway.hub.store.get("deliveries", {"delivery_id": recorded, "part": f"{first['reply']}#000"})
    assert part is not None
    assert b"queue" not in part["sealed"]
    assert part["expires_at"] == first["at"] + PLANS["event"].retention


@pytest.mark.parametrize(("kind", "is_kept"), [(kind, PLANS[kind].keeps_replies) for kind in PLANS])
def test_responses_are_stored_only_for_events_relayed_calls_and_payments(
    causeway: Causeway, worker: Worker, receiver: Receiver, kind: str, is_kept: bool
) -> None:
    recorded = record_delivery(causeway, kind)
    receiver.meanwhile = lambda: exchanged({}, {}, b"words")
    worker.attempt(recorded)

    assert is_kept == (kind in ("event", "relay", "payment"))
    assert replies(causeway, recorded) == (["words"] if is_kept else [])


def test_the_response_to_the_last_attempt_is_stored(
    causeway: Causeway, worker: Worker, receiver: Receiver, recorded: str
) -> None:
    receiver.failures = [failure(status=410, final=True)]
    receiver.meanwhile = lambda: exchanged({}, {}, b"gone for good")
    worker.attempt(recorded)

    assert causeway.delivery(recorded).state == "failed"
    assert replies(causeway, recorded) == ["gone for good"]


def test_a_response_without_a_body_is_not_stored(
    causeway: Causeway, worker: Worker, receiver: Receiver, recorded: str
) -> None:
    receiver.meanwhile = lambda: exchanged({}, {}, b"")
    worker.attempt(recorded)

    assert "reply" not in causeway.delivery(recorded).last


# -- logs


def test_an_attempt_logs_the_request_id_of_its_cause(causeway: Causeway, worker: Worker, lines: Lines) -> None:
    log.bind(request_id="the-cause")
    recorded = record_delivery(causeway)
    log.clear()
    worker.attempt(recorded)

    (line,) = lines.all()
    assert line["message"] == "delivered"
    assert line["delivery_id"] == recorded
    assert line["attempts"] == 1
    assert line["request_id"] == "the-cause"


def test_an_attempt_without_a_cause_logs_the_request_id_sent_to_the_receiver(
    causeway: Causeway, worker: Worker, lines: Lines
) -> None:
    log.clear()
    recorded = record_delivery(causeway, request_id="a-request")
    worker.attempt(recorded)

    assert [line["request_id"] for line in lines.all()] == ["a-request"]


# -- messages


def test_a_duplicate_message_sends_no_request(worker: Worker, receiver: Receiver, recorded: str) -> None:
    worker.attempt(recorded)
    worker.attempt(recorded)

    assert len(receiver.got) == 1


def test_a_message_during_a_running_attempt_sends_nothing(worker: Worker, receiver: Receiver, recorded: str) -> None:
    receiver.meanwhile = lambda: worker.attempt(recorded)
    worker.attempt(recorded)

    assert len(receiver.got) == 1


def test_a_message_of_an_unknown_delivery_is_ignored(causeway: Causeway, worker: Worker, receiver: Receiver) -> None:
    worker.attempt("no-such-delivery")

    assert receiver.got == []
    assert causeway.hub.store.get("deliveries", {"delivery_id": "no-such-delivery", "part": "record"}) is None


def test_queue_messages_are_accepted_in_any_order(causeway: Causeway, worker: Worker, receiver: Receiver) -> None:
    first, second = record_delivery(causeway), record_delivery(causeway)
    receiver.failures = [failure()]
    for delivery_id in (second, first, second, first):
        worker.attempt(delivery_id)

    assert [dispatch.delivery.delivery_id for dispatch in receiver.got] == [second, first]
    wait(causeway, second)
    worker.attempt(second)
    assert {causeway.delivery(first).state, causeway.delivery(second).state} == {"delivered"}


def test_a_queue_message_before_the_due_time_starts_no_attempt(
    causeway: Causeway, worker: Worker, receiver: Receiver, recorded: str
) -> None:
    receiver.failures = [failure()]
    worker.attempt(recorded)
    before = causeway.delivery(recorded)
    assert before.due_at is not None

    causeway.clock.advance(before.due_at - causeway.clock.time() - 1)
    worker.attempt(recorded)
    assert (len(receiver.got), causeway.delivery(recorded)) == (1, before)
    causeway.clock.advance(1)
    worker.attempt(recorded)
    assert len(receiver.got) == 2


# -- retries


@pytest.mark.parametrize("kind", ["event", "relay", "payment"])
@pytest.mark.usefixtures("exact")
def test_attempts_follow_the_schedule_and_the_last_failure_is_final(
    causeway: Causeway, worker: Worker, receiver: Receiver, kind: str
) -> None:
    recorded, waits = record_delivery(causeway, kind), PLANS[kind].waits
    receiver.always = failure(status=503)

    for number, delay in enumerate(waits, start=1):
        worker.attempt(recorded)
        delivery = causeway.delivery(recorded)
        assert delivery.state == "due"
        assert delivery.attempts == number
        assert delivery.claimed_by is None
        assert delivery.due_at == causeway.clock.time() + delay
        causeway.clock.advance(delay)
    worker.attempt(recorded)

    delivery = causeway.delivery(recorded)
    assert delivery.state == "failed"
    assert delivery.attempts == len(waits) + 1
    assert delivery.failed_at == causeway.clock.time()
    assert [entry["error"] for entry in delivery.history] == ["it answered with status 503"] * (len(waits) + 1)
    assert {entry["status"] for entry in delivery.history} == {503}
    causeway.clock.advance(2 * DAY)
    worker.attempt(recorded)
    assert len(receiver.got) == len(waits) + 1


def test_every_attempt_sends_the_same_id_and_body(causeway: Causeway, worker: Worker, receiver: Receiver) -> None:
    recorded = record_delivery(causeway, body="a body")
    receiver.failures = [failure(), failure("no answer came in time")]
    for _ in range(3):
        worker.attempt(recorded)
        causeway.clock.advance(6 * MINUTE)

    delivery = causeway.delivery(recorded)
    assert (delivery.state, delivery.attempts) == ("delivered", 3)
    assert [entry.get("error") for entry in delivery.history] == [
        "it answered with status 503",
        "no answer came in time",
        None,
    ]
    assert {(dispatch.delivery.request_id, dispatch.body) for dispatch in receiver.got} == {
        (delivery.request_id, "a body")
    }


@pytest.mark.parametrize("status", [404, 410])
def test_a_final_failure_ends_a_delivery_immediately(
    causeway: Causeway, worker: Worker, receiver: Receiver, recorded: str, status: int
) -> None:
    receiver.failures = [failure(f"it answered with status {status}", final=True, status=status)]
    worker.attempt(recorded)

    delivery = causeway.delivery(recorded)
    assert delivery.state == "failed"
    assert delivery.attempts == 1
    assert delivery.last["status"] == status
    assert recorded not in causeway.queued()


@pytest.mark.parametrize(("asked", "waited"), [(3, 5), (9, 9), (60, 10)], ids=["shorter", "longer", "too long"])
@pytest.mark.usefixtures("exact")
def test_retry_after_extends_a_wait_to_at_most_twice_the_planned_length(
    causeway: Causeway, worker: Worker, receiver: Receiver, recorded: str, asked: int, waited: int
) -> None:
    receiver.failures = [failure(status=429, retry_after=asked)]
    worker.attempt(recorded)

    assert causeway.delivery(recorded).due_at == causeway.clock.time() + waited


def test_the_history_contains_the_latest_attempts(
    causeway: Causeway, worker: Worker, receiver: Receiver, recorded: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chalicelib.delivery.delivery_record.HISTORY", 2)
    receiver.failures = [failure("first"), failure("second")]
    for _ in range(3):
        worker.attempt(recorded)
        causeway.clock.advance(6 * MINUTE)

    assert [entry.get("error") for entry in causeway.delivery(recorded).history] == ["second", None]


# -- what waits in the queue, and what in DynamoDB


@pytest.mark.usefixtures("exact")
def test_only_retries_within_15_minutes_are_queued_with_a_delay(
    causeway: Causeway, worker: Worker, receiver: Receiver, recorded: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[tuple[str, int]] = []
    monkeypatch.setattr(Queue, "send", lambda queue, body, delay=0: sent.append((body, delay)))
    receiver.always = failure()
    for delay in RETRY_DELAYS:
        worker.attempt(recorded)
        causeway.clock.advance(delay)

    assert sent == [(recorded, 5), (recorded, 300)]
    assert causeway.delivery(recorded).attempts == len(RETRY_DELAYS)


def test_the_outcome_of_an_attempt_is_written_despite_a_queue_failure(
    causeway: Causeway, worker: Worker, receiver: Receiver, recorded: str, monkeypatch: pytest.MonkeyPatch, lines: Lines
) -> None:
    def send(*arguments: object, **options: object) -> None:
        raise NotSent("no connection could be made")

    receiver.failures = [failure()]
    with monkeypatch.context() as patch:
        patch.setattr(Queue, "send", send)
        worker.attempt(recorded)

    assert (causeway.delivery(recorded).state, causeway.delivery(recorded).attempts) == ("due", 1)
    assert "delivery not queued" in lines.text
    wait(causeway, recorded)
    causeway.clock.advance(SWEEP_WAITS[0])
    causeway.hub.delivery.call(sweep)
    assert recorded in causeway.queued()


# -- attempts that were not made


@pytest.mark.usefixtures("exact")
def test_a_deferred_attempt_is_not_counted(
    causeway: Causeway, worker: Worker, receiver: Receiver, recorded: str
) -> None:
    receiver.failures = [failure("it is not asked now", not_made=True)] * 3
    for delay in (2, 2, 2):
        worker.attempt(recorded)
        delivery = causeway.delivery(recorded)
        assert delivery.state == "due"
        assert delivery.attempts == 0
        assert delivery.history == ()
        assert delivery.due_at == causeway.clock.time() + delay
        causeway.clock.advance(delay)
    worker.attempt(recorded)

    assert (causeway.delivery(recorded).state, causeway.delivery(recorded).attempts) == ("delivered", 1)


@pytest.mark.usefixtures("exact")
def test_a_deferred_attempt_waits_for_retry_after(
    causeway: Causeway, worker: Worker, receiver: Receiver, recorded: str
) -> None:
    receiver.failures = [failure("it is not asked now", not_made=True, retry_after=29)]
    worker.attempt(recorded)

    assert causeway.delivery(recorded).due_at == causeway.clock.time() + 29


def test_a_storage_failure_in_a_sender_is_counted_neither_as_an_attempt_nor_as_an_exception(
    causeway: Causeway, worker: Worker, receiver: Receiver, recorded: str
) -> None:
    receiver.failures = [StoreUnavailable("DynamoDB cannot be reached")]
    worker.attempt(recorded)

    delivery = causeway.delivery(recorded)
    assert delivery.state == "due"
    assert delivery.attempts == 0
    assert delivery.history == ()
    assert delivery.claimed_by is None
    assert dead_letters(causeway) == []


def test_a_delivery_that_is_always_deferred_fails_at_the_end_of_its_lifetime(
    causeway: Causeway, worker: Worker, receiver: Receiver
) -> None:
    recorded = record_delivery(causeway, "relay")
    receiver.always = failure("it is not asked now", not_made=True)
    started = causeway.clock.time()
    while causeway.delivery(recorded).state == "due":
        wait(causeway, recorded)
        worker.attempt(recorded)

    assert causeway.clock.time() - started <= PLANS["relay"].lifetime
    assert causeway.delivery(recorded).state == "failed"


# -- too late


@pytest.mark.parametrize("kind", PLANS)
def test_an_expired_delivery_fails_without_a_request(
    causeway: Causeway, worker: Worker, receiver: Receiver, kind: str
) -> None:
    recorded = record_delivery(causeway, kind, body="a body")
    causeway.clock.advance(PLANS[kind].lifetime + 1)
    worker.attempt(recorded)

    assert receiver.got == []
    dispatch = receiver.abandon[0]
    assert dispatch.delivery.delivery_id == recorded
    assert dispatch.body == "a body"
    assert dispatch.delivery.abandoned is False
    assert (causeway.delivery(recorded).state, causeway.delivery(recorded).last["error"]) == ("failed", "too late")


def test_a_delivery_is_sent_in_the_last_second_of_its_lifetime(
    causeway: Causeway, worker: Worker, receiver: Receiver
) -> None:
    recorded = record_delivery(causeway, "relay")
    causeway.clock.advance(PLANS["relay"].lifetime)
    worker.attempt(recorded)

    assert causeway.delivery(recorded).state == "delivered"


def test_a_failed_attempt_without_time_for_a_retry_ends_the_delivery(
    causeway: Causeway, worker: Worker, receiver: Receiver
) -> None:
    recorded = record_delivery(causeway, "relay")
    causeway.clock.advance(PLANS["relay"].lifetime)
    receiver.always = failure()
    worker.attempt(recorded)

    assert causeway.delivery(recorded).state == "failed"


# -- workers that die


def test_another_worker_sends_a_delivery_after_the_claim_of_a_terminated_worker_expires(
    causeway: Causeway, worker: Worker, receiver: Receiver, recorded: str
) -> None:
    begin_attempt(worker, recorded)

    causeway.clock.advance(CLAIMED_SECONDS - 1)
    worker.attempt(recorded)
    assert receiver.got == []
    causeway.clock.advance(1)
    worker.attempt(recorded)

    (dispatch,) = receiver.got
    assert dispatch.delivery.abandoned
    delivery = causeway.delivery(recorded)
    assert delivery.state == "delivered"
    assert delivery.attempts == 2
    assert dispatch.delivery.request_id == delivery.request_id


def test_a_delivery_fails_if_a_worker_was_terminated_in_each_of_its_attempts(
    causeway: Causeway, worker: Worker, receiver: Receiver
) -> None:
    recorded = record_delivery(causeway, "payment")
    for _ in range(2):
        begin_attempt(worker, recorded)
        causeway.clock.advance(CLAIMED_SECONDS)
    worker.attempt(recorded)

    assert receiver.got == []
    assert receiver.abandon[0].delivery.abandoned
    assert causeway.delivery(recorded).state == "failed"


def test_a_delivery_is_not_marked_as_abandoned_if_the_worker_crashes_during_its_expiry(
    causeway: Causeway, worker: Worker, receiver: Receiver
) -> None:
    recorded = record_delivery(causeway, "payment")
    causeway.clock.advance(PLANS["payment"].lifetime + 1)
    begin_attempt(worker, recorded)
    causeway.clock.advance(CLAIMED_SECONDS)
    worker.attempt(recorded)

    assert receiver.got == []
    assert not receiver.abandon[0].delivery.abandoned


@pytest.mark.parametrize(
    "failure",
    [
        failure("it is not asked now", not_made=True),
        StoreUnavailable("DynamoDB cannot be reached"),
        ZeroDivisionError(),
    ],
    ids=["not made", "storage", "defect"],
)
def test_a_delivery_is_marked_as_abandoned_until_an_attempt_has_an_outcome(
    causeway: Causeway, worker: Worker, receiver: Receiver, recorded: str, failure: Exception
) -> None:
    begin_attempt(worker, recorded)
    causeway.clock.advance(CLAIMED_SECONDS)
    receiver.failures = [failure]
    for _ in range(2):
        wait(causeway, recorded)
        worker.attempt(recorded)

    assert [dispatch.delivery.abandoned for dispatch in receiver.got] == [True, True]


def test_a_failed_attempt_does_not_mark_a_delivery_as_abandoned(
    causeway: Causeway, worker: Worker, receiver: Receiver, recorded: str
) -> None:
    receiver.failures = [failure()]
    worker.attempt(recorded)
    causeway.clock.advance(CLAIMED_SECONDS)
    worker.attempt(recorded)

    assert [dispatch.delivery.abandoned for dispatch in receiver.got] == [False, False]


@pytest.mark.parametrize("failures", [[], [failure()], [failure(final=True)], [failure(not_made=True)]])
def test_a_superseded_attempt_does_not_replace_the_outcome_of_the_later_attempt(
    causeway: Causeway, worker: Worker, receiver: Receiver, recorded: str, failures: list[Exception]
) -> None:
    def overtake() -> None:
        causeway.clock.advance(CLAIMED_SECONDS)
        worker.attempt(recorded)
        receiver.failures = failures

    receiver.meanwhile = overtake
    worker.attempt(recorded)

    delivery = causeway.delivery(recorded)
    assert delivery.state == "delivered"
    assert delivery.attempts == 2
    assert len(delivery.history) == 1
    assert recorded not in causeway.queued()


@pytest.mark.parametrize("ending", [[], [failure(final=True)]], ids=["delivered", "failed"])
def test_a_superseded_attempt_is_logged_as_superseded_and_the_outcome_is_logged_once(
    causeway: Causeway, worker: Worker, receiver: Receiver, recorded: str, lines: Lines, ending: list[Exception]
) -> None:
    def overtake() -> None:
        causeway.clock.advance(CLAIMED_SECONDS)
        worker.attempt(recorded)
        receiver.failures = ending

    receiver.meanwhile = overtake
    worker.attempt(recorded)

    assert [line["message"] for line in lines.all()] == ["delivered", "delivery superseded"]


def test_a_superseded_attempt_does_not_release_the_claim_of_the_later_attempt(
    causeway: Causeway, worker: Worker, receiver: Receiver, recorded: str
) -> None:
    def overtake() -> None:
        causeway.clock.advance(CLAIMED_SECONDS)
        begin_attempt(worker, recorded)

    receiver.meanwhile = overtake
    receiver.failures = [failure()]
    worker.attempt(recorded)

    delivery = causeway.delivery(recorded)
    assert (delivery.attempts, delivery.history) == (2, ())
    assert delivery.is_running(causeway.clock.time())


# -- storage whose answers get lost


def test_an_attempt_continues_after_a_lost_storage_response_to_its_claim(
    causeway: Causeway, worker: Worker, receiver: Receiver, recorded: str
) -> None:
    with causeway.answer_lost("transact", applied=True):
        worker.attempt(recorded)

    delivery = causeway.delivery(recorded)
    assert len(receiver.got) == 1
    assert delivery.state == "delivered"
    assert delivery.attempts == 1


def test_an_attempt_without_a_stored_claim_raises_an_error_and_sqs_retries_the_message(
    causeway: Causeway, worker: Worker, receiver: Receiver, recorded: str
) -> None:
    with causeway.answer_lost("transact", applied=False), pytest.raises(StoreUnavailable):
        worker.attempt(recorded)
    assert receiver.got == []
    worker.attempt(recorded)

    assert (len(receiver.got), causeway.delivery(recorded).state) == (1, "delivered")


@pytest.mark.parametrize(("applied", "sent"), [(True, 1), (False, 2)])
def test_a_delivery_is_sent_again_only_if_its_outcome_was_not_stored(
    causeway: Causeway, worker: Worker, receiver: Receiver, recorded: str, applied: bool, sent: int
) -> None:
    attempt = begin_attempt(worker, recorded)
    with causeway.answer_lost("transact", applied=applied), pytest.raises(StoreUnavailable):
        worker.carry_out(attempt)
    causeway.clock.advance(CLAIMED_SECONDS)
    worker.attempt(recorded)

    assert (len(receiver.got), causeway.delivery(recorded).state) == (sent, "delivered")
    assert len({dispatch.delivery.request_id for dispatch in receiver.got}) == 1


# -- answers, and what is written with an outcome


def test_the_response_to_a_relayed_call_is_stored_encrypted_for_one_day(
    causeway: Causeway, worker: Worker, receiver: Receiver
) -> None:
    recorded = record_delivery(causeway, "relay")
    receiver.arrived = Delivered(200, StoredAnswer(200, '{"amount":1.50}'))
    worker.attempt(recorded)

    delivery = causeway.delivery(recorded)
    assert delivery.answer is not None
    assert (delivery.answer["status"], delivery.answer["parts"]) == (200, 1)
    assert causeway.hub.delivery.bodies.open(recorded, delivery.answer["name"], 1) == '{"amount":1.50}'
    assert delivery.expires_at == delivery.created_at + DAY


def test_a_response_larger_than_a_transaction_is_stored(causeway: Causeway, worker: Worker, receiver: Receiver) -> None:
    recorded, text = record_delivery(causeway, "relay"), "é" * 2_500_000
    receiver.arrived = Delivered(200, StoredAnswer(200, text))
    worker.attempt(recorded)

    answer = causeway.delivery(recorded).answer
    assert answer is not None
    assert causeway.hub.delivery.bodies.open(recorded, answer["name"], answer["parts"]) == text


def test_the_response_of_a_superseded_attempt_is_discarded(
    causeway: Causeway, worker: Worker, receiver: Receiver
) -> None:
    recorded = record_delivery(causeway, "relay")

    def overtake() -> None:
        causeway.clock.advance(CLAIMED_SECONDS)
        receiver.arrived = Delivered(200, StoredAnswer(200, "the later"))
        worker.attempt(recorded)
        receiver.arrived = Delivered(200, StoredAnswer(200, "the earlier"))

    receiver.meanwhile = overtake
    worker.attempt(recorded)

    answer = causeway.delivery(recorded).answer
    assert answer is not None
    assert causeway.hub.delivery.bodies.open(recorded, answer["name"], answer["parts"]) == "the later"


def test_only_the_last_failure_stores_the_response_for_the_caller(
    causeway: Causeway, worker: Worker, receiver: Receiver
) -> None:
    recorded = record_delivery(causeway, "payment")
    receiver.always = failure(answer=StoredAnswer(502, "{}"))
    worker.attempt(recorded)
    assert causeway.delivery(recorded).answer is None
    wait(causeway, recorded)
    worker.attempt(recorded)

    delivery = causeway.delivery(recorded)
    assert delivery.state == "failed"
    assert delivery.answer is not None
    assert delivery.answer["status"] == 502


@pytest.mark.parametrize(
    "failure",
    [StoreUnavailable("DynamoDB cannot be reached"), ZeroDivisionError(), failure("a defect", final=True)],
    ids=["storage", "defect", "a sender's"],
)
def test_a_relayed_call_that_ends_with_an_exception_has_the_response_of_an_expired_call(
    causeway: Causeway, worker: Worker, receiver: Receiver, failure: Exception
) -> None:
    recorded = record_delivery(causeway, "relay")
    causeway.clock.advance(PLANS["relay"].lifetime)
    receiver.always, receiver.last_words = failure, StoredAnswer(502, "{}")
    while causeway.delivery(recorded).state == "due":
        wait(causeway, recorded)
        worker.attempt(recorded)

    delivery = causeway.delivery(recorded)
    assert (delivery.state, len(receiver.got)) == ("failed", 1)
    assert delivery.answer is not None, "the TPP is told something"
    assert delivery.answer["status"] == 502


@pytest.mark.parametrize("outcome", ["delivered", "failed"])
def test_the_operations_of_an_outcome_are_written_in_its_transaction(
    causeway: Causeway, worker: Worker, receiver: Receiver, recorded: str, outcome: str
) -> None:
    kept: list[Sequence[Operation]] = []

    def keep(operations: Sequence[Operation]) -> None:
        kept.append(operations)
        causeway.hub.store.transact(operations)

    receiver.arrived = Delivered(200, keep=keep)
    answer = StoredAnswer(502, "{}")
    receiver.failures = [failure(final=True, answer=answer, keep=keep)] if outcome == "failed" else []
    worker.attempt(recorded)

    assert causeway.delivery(recorded).state == outcome
    assert len(kept) == 1


# -- defects


def test_an_exception_counts_as_an_attempt_and_is_sent_to_the_dead_letter_queue(
    causeway: Causeway, worker: Worker, receiver: Receiver, recorded: str, lines: Lines
) -> None:
    receiver.failures = [ZeroDivisionError("hunter2")]
    worker.attempt(recorded)

    delivery = causeway.delivery(recorded)
    assert (delivery.state, delivery.attempts) == ("due", 1)
    assert delivery.last["error"] == "a defect of this service: ZeroDivisionError"
    assert "delivery hit a defect" in lines.text
    assert "hunter2" not in lines.text
    assert dead_letters(causeway) == [recorded]
    causeway.clock.advance(CLAIMED_SECONDS)
    worker.attempt(recorded)
    assert causeway.delivery(recorded).state == "delivered"
    assert dead_letters(causeway) == []


def test_a_failure_caused_by_an_exception_is_sent_to_the_dead_letter_queue(
    causeway: Causeway, worker: Worker, receiver: Receiver, recorded: str
) -> None:
    defect = failure("whether it has arrived is unknown", final=True)
    defect.__cause__ = ZeroDivisionError()
    receiver.failures = [defect]
    worker.attempt(recorded)

    assert causeway.delivery(recorded).state == "failed"
    assert dead_letters(causeway) == [recorded]


def test_a_failure_of_the_receiver_is_not_sent_to_the_dead_letter_queue(
    causeway: Causeway, worker: Worker, receiver: Receiver, recorded: str
) -> None:
    receiver.failures = [failure(), failure(final=True)]
    for _ in range(2):
        worker.attempt(recorded)
        causeway.clock.advance(CLAIMED_SECONDS)

    assert causeway.delivery(recorded).state == "failed"
    assert dead_letters(causeway) == []


def test_a_delivery_whose_attempts_all_raise_exceptions_fails(
    causeway: Causeway, worker: Worker, receiver: Receiver
) -> None:
    recorded = record_delivery(causeway, "payment")
    receiver.always = ZeroDivisionError()
    for _ in range(3):
        worker.attempt(recorded)
        causeway.clock.advance(MINUTE)

    assert (causeway.delivery(recorded).state, len(receiver.got)) == ("failed", 2)


def test_the_outcome_of_an_attempt_is_written_despite_a_dead_letter_queue_failure(
    causeway: Causeway, worker: Worker, receiver: Receiver, recorded: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def send(*arguments: object, **options: object) -> None:
        raise NotSent("no connection could be made")

    receiver.failures = [ZeroDivisionError()]
    with monkeypatch.context() as patch:
        patch.setattr(Queue, "send", send)
        worker.attempt(recorded)

    assert (causeway.delivery(recorded).state, causeway.delivery(recorded).attempts) == ("due", 1)


@pytest.fixture(params=[Conflict, Throttled])
def busy(request: pytest.FixtureRequest) -> Busy:
    error: Busy = request.param("others want it")
    return error


def test_an_outcome_is_written_without_freeing_a_contended_delivery_slot(
    causeway: Causeway, worker: Worker, receiver: Receiver, recorded: str, monkeypatch: pytest.MonkeyPatch, busy: Busy
) -> None:
    real = causeway.hub.store.transact

    def transact(operations: Sequence[Operation]) -> None:
        if receiver.got and any(getattr(each, "key", {}).get("part", "").startswith("slot#") for each in operations):
            raise busy
        real(operations)

    monkeypatch.setattr(causeway.hub.store, "transact", transact)
    worker.attempt(recorded)

    assert causeway.delivery(recorded).state == "delivered"


def test_a_delivery_is_deferred_without_an_error_if_the_delivery_slots_are_contended(
    causeway: Causeway, worker: Worker, receiver: Receiver, recorded: str, monkeypatch: pytest.MonkeyPatch, busy: Busy
) -> None:
    real = causeway.hub.store.transact

    def transact(operations: Sequence[Operation]) -> None:
        if len(operations) > 1:
            raise busy
        real(operations)

    with monkeypatch.context() as patch:
        patch.setattr(causeway.hub.store, "transact", transact)
        worker.attempt(recorded)
    assert receiver.got == []
    assert (causeway.delivery(recorded).state, causeway.delivery(recorded).attempts) == ("due", 0)

    wait(causeway, recorded)
    worker.attempt(recorded)
    assert causeway.delivery(recorded).state == "delivered"


def test_a_retried_claim_of_a_delivery_slot_first_reads_the_free_delivery_slots(
    causeway: Causeway, worker: Worker, receiver: Receiver, recorded: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    receiver.failures = [failure()]
    worker.attempt(recorded)
    wait(causeway, recorded)
    monkeypatch.setattr(module, "any_slot", lambda lane: pytest.fail("many would write to the same few items"))

    worker.attempt(recorded)
    assert causeway.delivery(recorded).state == "delivered"
