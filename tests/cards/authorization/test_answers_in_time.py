"""Tests of authorizations on slow storage: the network gets code 91 in time, and records remain complete and unique."""

import base64
import contextlib
import json
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from unittest.mock import patch

import pytest

from chalicelib.cards.authorization.decline_recovery import TASK
from chalicelib.cards.authorization.hold_release import expire_holds
from chalicelib.cards.protocol.values import HOLD_SECONDS
from chalicelib.foundation import context, jsontext
from chalicelib.foundation.aws import calls, environment
from chalicelib.foundation.aws.calls import Call
from chalicelib.foundation.aws.errors import NotSent
from chalicelib.foundation.aws.queues import Queue
from chalicelib.foundation.dynamodb.store import StoreError
from tests.cards.authorization.issuers import authorizes, card_item, cardholder
from tests.cards.authorization.shops import A_DAY, LIMITED, Holder
from tests.cards.issuer import GBP, LEFT_OUT, Envelope, Issuer
from tests.cards.slow_storage import ANSWERING, DECIDING, READS, SlowStorage, every, first
from tests.cards.stored_cards import check
from tests.kit.emulator import answered
from tests.kit.http import Connection, socket_server
from tests.kit.tables import Refused, carried_out
from tests.kit.time import PATIENCE_SECONDS
from tests.openbanking.faults import items


@dataclass
class SlowEngine:
    """A DynamoDB server that never responds. The server executes the received calls when ``carry_out`` is called.

    ``made`` lists the received operations. ``arrived`` is called for each received operation.
    """

    arrived: Callable[[], None]
    made: list[str] = field(default_factory=list)
    _waiting: list[tuple[str, Mapping[str, Any]]] = field(default_factory=list)
    _arrival: threading.Condition = field(default_factory=threading.Condition)

    def carry_out(self) -> list[int]:
        with self._arrival:
            assert self._arrival.wait_for(lambda: self._waiting, PATIENCE_SECONDS)
            waiting, self._waiting = self._waiting, []
        return [_answer(*call)[0] for call in waiting]

    def serve(self, connection: Connection) -> None:
        request = connection.request()
        head, _, body = request.partition(b"\r\n\r\n")
        [target] = [line for line in head.split(b"\r\n") if line.lower().startswith(b"x-amz-target")]
        operation = target.decode().rpartition(".")[2]
        with self._arrival:
            self.made.append(operation)
            self._waiting.append((operation, json.loads(body)))
            self.arrived()
            self._arrival.notify_all()
        connection.stop.wait(PATIENCE_SECONDS)


def _answer(operation: str, request: Mapping[str, Any]) -> tuple[int, bytes]:
    from moto.core.models import DEFAULT_ACCOUNT_ID
    from moto.dynamodb.models import dynamodb_backends

    tables = dynamodb_backends[DEFAULT_ACCOUNT_ID]["eu-west-1"].tables
    try:
        status, answer = 200, carried_out(operation, dict(request), tables)
    except Refused as refusal:
        status, answer = 400, {"__type": refusal.code, "message": str(refusal), **refusal.members}
    return status, json.dumps(answer).encode()


@contextlib.contextmanager
def slow_engine(
    issuer: Issuer, monkeypatch: pytest.MonkeyPatch, *held: str, seconds: float = 0
) -> Iterator[SlowEngine]:
    """Redirect the ``held`` storage calls to a server that does not respond. Each call advances the clock by
    ``seconds``.

    The client times out after 0.05 seconds.
    """
    engine, store = SlowEngine(partial(issuer.clock.advance, seconds)), issuer.hub.store
    over_http = store.send
    with socket_server(engine.serve) as server, monkeypatch.context() as patch:

        def send(operation: str, request: dict[str, Any]) -> dict[str, Any]:
            if operation in held:
                return over_http(operation, request)
            return answered(Call("dynamodb", operation, request), environment.endpoint("dynamodb").region)

        patch.setattr(calls, "READ_SECONDS", 0.05)
        patch.setenv("AWS_ENDPOINT_URL_DYNAMODB", f"http://127.0.0.1:{server.port}")
        patch.setattr(store, "send", send)
        yield engine


REFUSED = NotSent("no connection could be made")
TRANSACTION = "TransactWriteItems"


@pytest.fixture(autouse=True)
def _at_once(strict_issuer: Issuer, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(strict_issuer.hub.store, "pause", lambda seconds: None)
    strict_issuer.causeway.queued()
    yield
    strict_issuer.hub.cards.call(expire_holds)
    check(strict_issuer.causeway)


@pytest.fixture
def user(strict_issuer: Issuer) -> Holder:
    """Return a holder with 100.00 GBP. The process has cached the credentials and has free identifiers."""
    holder = cardholder(strict_issuer, **LIMITED)
    holder.request_authorization(0, transaction_type=39)
    return holder


def purchase(user: Holder, **members: Any) -> dict[str, Any]:
    least = {"card_id": user.card_id, "transaction_type": 0, "amount": 10_00, "currency_ison": GBP}
    return {**least, **members}


def ask(user: Holder, **members: Any) -> Envelope:
    answer = user.issuer.sim("simulateAuthorization", **purchase(user, **members))
    assert answer.status == "success", answer.raw
    return answer


def work(issuer: Issuer) -> list[str]:
    messages = issuer.causeway.queued()
    for message in messages:
        issuer.hub.delivery.worker.attempt(message)
    return messages


def listed(user: Holder) -> list[tuple[str, int]]:
    user.issuer.hub.cards.call(expire_holds)
    user.issuer.clock.advance(20)
    span = {"date_from": 0, "date_to": user.issuer.clock.time(), "item_count": 100}
    of_card = user.issuer.data("getCardsActivity", card_id=user.card_id, **span)
    return [(row["response_code"], row["authorize_type"]) for row in of_card][1:]


def left_over(user: Holder) -> tuple[tuple[int, int, int, int], list[tuple[int, int]]]:
    return user.balances(), user.limit_usage(A_DAY)


NOTHING_USED = ((100_00, 0, 0, 100_00), [(0, 0)])


def test_an_authorization_with_a_slow_read_returns_91_and_a_worker_records_the_decline(user: Holder) -> None:
    with SlowStorage(user.issuer, every("never", *READS)) as storage:
        answer = ask(user).data

    assert answer["response_code"] == "91"
    assert storage.made == ["BatchGetItem"] * 2, "one read to decide, and one to decline"
    assert len(work(user.issuer)) == 1
    assert listed(user) == [("91", 1)]
    assert user.record(answer["trans_link"]).response_code == "91"
    assert left_over(user) == NOTHING_USED


def test_a_worker_reverses_an_approval_that_storage_commits_after_the_response(user: Holder) -> None:
    reference = user.issuer.reference()
    with SlowStorage(user.issuer, every("later", TRANSACTION)) as storage:
        answer = ask(user, request_reference_id=reference)
        assert storage.made.count(TRANSACTION) == 2
        storage.land()

    assert answer.data["response_code"] == "91"
    assert user.balances()[1] == 10_00, "it is held until the worker comes"
    assert len(work(user.issuer)) == 1
    assert left_over(user) == NOTHING_USED
    assert listed(user) == [("00", 1), ("00", 4), ("91", 1)]
    again = ask(user, request_reference_id=reference)
    assert (again.duplicated, again.data) == (1, answer.data)


def test_a_duplicate_decline_message_changes_nothing(user: Holder) -> None:
    with SlowStorage(user.issuer, every("later", TRANSACTION)) as storage:
        ask(user, request_reference_id=user.issuer.reference())
        storage.land()
    [message] = work(user.issuer)
    tables = ("cards", "card-activity", "ledger", "idempotency")
    before = [items(user.issuer.causeway, table) for table in tables]

    user.issuer.hub.delivery.worker.attempt(message)

    assert [items(user.issuer.causeway, table) for table in tables] == before


def test_storage_rejects_a_transaction_after_the_worker_recorded_the_decline(user: Holder) -> None:
    with SlowStorage(user.issuer, every("later", TRANSACTION)) as storage:
        ask(user)
    work(user.issuer)

    assert storage.land() == ["TransactionCanceledException"] * 2
    assert left_over(user) == NOTHING_USED
    assert listed(user) == [("91", 1)]


def test_a_request_with_a_lost_transaction_is_declined_and_its_late_write_is_rejected(user: Holder) -> None:
    reference = user.issuer.reference()
    with SlowStorage(user.issuer, first("later", TRANSACTION)) as storage:
        answer = ask(user, request_reference_id=reference)

    assert answer.data["response_code"] == "91"
    assert answer.data["available_balance"] == 100_00
    assert storage.land() == ["TransactionCanceledException"]
    assert work(user.issuer) == []
    assert left_over(user) == NOTHING_USED
    assert listed(user) == [("91", 1)]
    again = ask(user, request_reference_id=reference)
    assert (again.duplicated, again.data) == (1, answer.data)


@pytest.mark.parametrize("with_reference", [False, True])
def test_an_approval_is_returned_although_the_storage_response_was_lost(user: Holder, with_reference: bool) -> None:
    reference = {"request_reference_id": user.issuer.reference()} if with_reference else {}
    with SlowStorage(user.issuer, first("applied", TRANSACTION)) as storage:
        answer = ask(user, **reference)

    assert (answer.data["response_code"], answer.duplicated) == ("00", 0)
    assert storage.made.count(TRANSACTION) == (1 if with_reference else 2), (
        "its claim or record shows that it is written"
    )
    assert user.balances()[1] == 10_00
    assert work(user.issuer) == []
    assert authorizes(user) == [answer.data["authorize_id"]]


def test_a_decline_that_the_queue_rejects_is_counted_in_a_metric_and_the_hold_expires(
    user: Holder, capsys: pytest.CaptureFixture[str]
) -> None:
    with (
        SlowStorage(user.issuer, every("later", TRANSACTION)) as storage,
        patch.object(Queue, "send", side_effect=REFUSED),
    ):
        answer = ask(user)
        storage.land()

    assert answer.data["response_code"] == "91"
    assert capsys.readouterr().out.count('"UnrecordedDeclines":[1]') == 1
    assert work(user.issuer) == []
    assert user.balances()[1] == 10_00
    user.issuer.clock.advance(HOLD_SECONDS)
    user.issuer.hub.cards.call(expire_holds)
    assert left_over(user)[0] == NOTHING_USED[0]


def test_an_authorization_with_a_slow_credentials_lookup_returns_91(
    user: Holder, capsys: pytest.CaptureFixture[str]
) -> None:
    user.issuer.hub.cards.credentials.cache.clear()
    with SlowStorage(user.issuer, every("never", *READS)):
        answer = ask(user).data

    assert (answer["response_code"], answer["authorize_id"]) == ("91", int(answer["trans_link"]))
    assert work(user.issuer) == []
    assert capsys.readouterr().out.count('"UnrecordedDeclines":[1]') == 1


def test_a_retry_before_the_worker_runs_causes_a_new_decision_that_the_worker_does_not_change(user: Holder) -> None:
    reference = user.issuer.reference()
    with SlowStorage(user.issuer, every("never", *READS)):
        first_answer = ask(user, request_reference_id=reference).data
    repeat = ask(user, request_reference_id=reference)
    work(user.issuer)

    assert (first_answer["response_code"], repeat.data["response_code"], repeat.duplicated) == ("91", "00", 0)
    assert listed(user) == [("00", 1), ("91", 1)]
    assert user.balances()[1] == 10_00
    again = ask(user, request_reference_id=reference)
    assert (again.duplicated, again.data) == (1, repeat.data)


def test_a_decline_committed_after_the_timeout_is_listed_before_the_decline_with_code_91(user: Holder) -> None:
    reference = user.issuer.reference()
    with SlowStorage(user.issuer, every("later", TRANSACTION)) as storage:
        answer = ask(user, request_reference_id=reference, amount=500_00)
        storage.land()
    work(user.issuer)

    assert listed(user) == [("61", 1), ("91", 1)]
    assert left_over(user) == NOTHING_USED
    assert ask(user, request_reference_id=reference, amount=500_00).data == answer.data


def test_a_worker_finds_a_card_by_its_number(user: Holder) -> None:
    with SlowStorage(user.issuer, every("never", *READS)):
        answer = ask(user, card_id=LEFT_OUT, pan=user.card.pan).data
    work(user.issuer)

    assert answer["response_code"] == "91"
    assert listed(user) == [("91", 1)]


@pytest.mark.parametrize("unknown", [{"card_id": 10**9}, {"card_id": LEFT_OUT, "pan": "4111110000000000"}])
def test_a_worker_stores_only_the_response_for_an_unknown_card(user: Holder, unknown: dict[str, Any]) -> None:
    reference = user.issuer.reference()
    with SlowStorage(user.issuer, every("never", *READS)):
        answer = ask(user, request_reference_id=reference, **unknown)
    before = items(user.issuer.causeway, "card-activity")
    work(user.issuer)

    assert answer.data["response_code"] == "91"
    assert items(user.issuer.causeway, "card-activity") == before
    again = ask(user, request_reference_id=reference, **unknown)
    assert (again.duplicated, again.data) == (1, answer.data)


def test_an_authorization_in_a_process_without_free_identifiers_returns_91(user: Holder) -> None:
    sequences = user.issuer.hub.cards.sequences
    sequences.left = {**sequences.left, "authorization": range(0)}
    with SlowStorage(user.issuer, every("never", "UpdateItem")):
        answer = ask(user).data

    assert (answer["response_code"], len(str(answer["authorize_id"]))) == ("91", 11)
    work(user.issuer)
    assert user.record(answer["trans_link"]).response_code == "91"
    assert listed(user) == [("91", 1)]


def test_a_worker_completes_a_decline_message_after_a_storage_failure(user: Holder) -> None:
    with SlowStorage(user.issuer, every("later", TRANSACTION)) as storage:
        ask(user)
        storage.land()
    [message] = user.issuer.causeway.queued()
    worker = user.issuer.hub.delivery.worker
    with SlowStorage(user.issuer, every("never"), seconds=0), pytest.raises(StoreError):
        worker.attempt(message)
    worker.attempt(message)

    assert left_over(user) == NOTHING_USED
    assert listed(user) == [("00", 1), ("00", 4), ("91", 1)]


def test_two_workers_with_the_same_message_reverse_an_approval_once(user: Holder) -> None:
    with SlowStorage(user.issuer, every("later", TRANSACTION)) as storage:
        ask(user)
        storage.land()
    [message] = user.issuer.causeway.queued()
    worker = user.issuer.hub.delivery.worker
    with user.issuer.causeway.meanwhile("transact", lambda: worker.attempt(message)):
        worker.attempt(message)

    assert left_over(user) == NOTHING_USED
    assert listed(user) == [("00", 1), ("00", 4), ("91", 1)]


def test_a_decline_message_encrypts_the_card_data_and_omits_pin_and_cvc2(user: Holder) -> None:
    secrets = {"pan": user.card.pan, "pin": user.card.pin, "cvc2": user.card.cvc2}
    with SlowStorage(user.issuer, every("never", *READS)):
        ask(user, card_id=LEFT_OUT, merchant_name="Secret Shop", **secrets)
    [message] = user.issuer.causeway.queued()
    sealed = base64.b64decode(jsontext.loads(message)["sealed"])
    details = user.issuer.hub.vault.unseal(sealed, f"tasks/{TASK}")

    assert set(jsontext.loads(message)) == {"task", "request_id", "sealed"}
    assert "Secret Shop" in details
    assert user.card.pan not in details
    assert not {"pin", "cvc2", "pan"} & jsontext.loads(details).keys()


def test_an_event_queue_call_times_out_within_the_networks_deadline(user: Holder) -> None:
    waits: list[float] = []

    def note(*_: Any) -> list[str]:
        waits.append(context.seconds_left())
        return []

    with (
        user.issuer.causeway.manager_wants_events(card_item(user)["manager_id"]),
        patch.object(Queue, "send_all", note),
    ):
        ask(user)

    user.issuer.hub.cards.programmes.cache.clear()
    assert [wait <= 2.75 for wait in waits] == [True]


def test_no_storage_call_starts_after_the_deadline(user: Holder) -> None:
    with SlowStorage(user.issuer, every("never"), seconds=ANSWERING) as storage, patch.object(Queue, "send") as sent:
        assert ask(user).data["response_code"] == "91"

    assert storage.made == ["BatchGetItem"]
    assert sent.call_count == 1


# -- over HTTP, with the client's own timeouts


def test_an_authorization_with_a_timeout_of_a_database_read_returns_91(
    user: Holder, monkeypatch: pytest.MonkeyPatch
) -> None:
    with slow_engine(user.issuer, monkeypatch, "BatchGetItem", TRANSACTION, seconds=DECIDING) as engine:
        assert ask(user).data["response_code"] == "91"

    assert set(engine.made) == {"BatchGetItem"}
    assert len(work(user.issuer)) == 1
    assert listed(user) == [("91", 1)]


def test_a_late_database_commit_leaves_no_hold(user: Holder, monkeypatch: pytest.MonkeyPatch) -> None:
    reference = user.issuer.reference()
    with slow_engine(user.issuer, monkeypatch, TRANSACTION) as engine:
        monkeypatch.setattr(user.issuer.hub.store, "pause", lambda seconds: user.issuer.clock.advance(1))
        answer = ask(user, request_reference_id=reference)
        assert 200 in engine.carry_out()

    assert answer.data["response_code"] == "91"
    assert len(work(user.issuer)) == 1
    assert left_over(user) == NOTHING_USED
    assert [code for code, _ in listed(user)].count("91") == 1
    assert ask(user, request_reference_id=reference).data == answer.data
