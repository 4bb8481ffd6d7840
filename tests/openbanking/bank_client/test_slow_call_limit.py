"""Tests of the limit of calls that wait for a slow bank: cancelled calls, TPP responses and storage calls."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any
from unittest.mock import Mock

import pytest

from chalicelib.foundation import context
from chalicelib.foundation.aws import calls
from chalicelib.foundation.aws.errors import NoAnswer, NotSent
from chalicelib.foundation.dynamodb.store import Conflict, StoreError, Throttled
from chalicelib.foundation.http.outbound import Reply, TimedOut
from chalicelib.foundation.jsontext import dumps
from chalicelib.openbanking.bank_client.bank_circuits import STORAGE_SECONDS, TAKE_SECONDS, limit_slow_call
from chalicelib.statistics.call_counts import TABLE
from chalicelib.statistics.slow_calls import HELD_SECONDS, SLOTS, SLOW_SECONDS, SlowCalls
from tests.causeway import Causeway
from tests.kit.storage import record_calls
from tests.openbanking.accounts import NO_ACCOUNTS, Aisp, know_downtime
from tests.openbanking.call_measurements import expected_counts, measure_counts
from tests.openbanking.kit import VERSIONS
from tests.openbanking.payments import WEBHOOKS, Pisp, payment_answer


class HangingTable:
    """A context in which one table of the service does not respond and receives no writes."""

    def __init__(self, causeway: Causeway, table: str) -> None:
        self._causeway, self._store = causeway, causeway.hub.store
        self._name = f"{causeway.hub.settings.prefix}-{table}"

    def __enter__(self) -> HangingTable:
        self._send, self._pause = self._store.send, self._store.pause
        self._store.send, self._store.pause = self._hang_for_table, self._causeway.clock.advance
        return self

    def __exit__(self, *_: object) -> None:
        self._store.send, self._store.pause = self._send, self._pause

    def _hang_for_table(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        if request.get("TableName") != self._name:
            return self._send(operation, request)
        left = context.seconds_left()
        if left <= 0:
            raise NotSent(operation)
        self._causeway.clock.advance(min(calls.READ_SECONDS, left))
        raise NoAnswer(operation)


def slow_reply(body: object, seconds: float = SLOW_SECONDS) -> Reply:
    return Reply(200, dumps(body).encode(), {}, seconds)


def take_all_slots(causeway: Causeway, version: int) -> None:
    slow_calls = SlowCalls(causeway.hub.store, causeway.clock)
    for _ in range(SLOTS):
        assert slow_calls.take(causeway.banks[version].bic) is not None


@VERSIONS
def test_a_slow_read_returns_502_with_retry_after_if_no_slot_for_slow_calls_is_free(
    causeway: Causeway, version: int
) -> None:
    aisp = Aisp(causeway, version)
    take_all_slots(causeway, version)

    answer = aisp.list_accounts(slow_reply(NO_ACCOUNTS[version]))

    assert (answer.status, answer.headers["retry-after"]) == (502, "30")
    assert answer.body["code"] == "ASPSP_UNKNOWN_ERROR"
    (additional,) = answer.body["additionalErrors"]
    assert additional["details"] == "no answer came within 3 s, and 50 other calls wait for the bank"


@VERSIONS
def test_a_slow_read_occupies_a_free_slot_for_slow_calls_returns_200_and_releases_the_slot(
    causeway: Causeway, version: int
) -> None:
    aisp = Aisp(causeway, version)
    take_all_slots(causeway, version)
    causeway.clock.advance(HELD_SECONDS)

    for _ in range(SLOTS + 1):
        assert aisp.list_accounts(slow_reply(NO_ACCOUNTS[version])).status == 200


def test_a_read_that_the_bank_answers_in_time_occupies_no_slot_for_slow_calls(causeway: Causeway) -> None:
    aisp = Aisp(causeway)
    take_all_slots(causeway, 1)

    with record_calls(causeway) as calls:
        assert aisp.list_accounts(slow_reply(NO_ACCOUNTS[1], SLOW_SECONDS - 0.1)).status == 200

    assert "PutItem" not in calls


def test_a_slow_read_makes_two_additional_storage_writes(causeway: Causeway) -> None:
    aisp = Aisp(causeway)
    assert aisp.list_accounts().status == 200

    with record_calls(causeway) as calls:
        assert aisp.list_accounts(slow_reply(NO_ACCOUNTS[1])).status == 200

    assert calls == ["BatchGetItem", "PutItem", "PutItem"]


def test_cancelled_slow_reads_open_the_circuit_breaker_of_the_instance(causeway: Causeway) -> None:
    aisp = Aisp(causeway)
    take_all_slots(causeway, 1)
    for _ in range(5):
        aisp.list_accounts(slow_reply(NO_ACCOUNTS[1]))

    assert aisp.list_accounts().status == 502
    assert aisp.calls == 5


def test_a_cancelled_slow_read_does_not_count_as_a_bank_failure(causeway: Causeway) -> None:
    """A call counts as a failure of the bank only if the bank does not respond within the full time limit."""
    aisp = Aisp(causeway)

    def give_up() -> None:
        take_all_slots(causeway, 1)
        aisp.list_accounts(slow_reply(NO_ACCOUNTS[1]))

    assert measure_counts(causeway, give_up) == expected_counts(1, "AISP", calls=1, not_asked=1)


@VERSIONS
def test_a_slow_payment_is_not_cancelled_if_no_slot_for_slow_calls_is_free(causeway: Causeway, version: int) -> None:
    pisp = Pisp(causeway, version)
    take_all_slots(causeway, version)
    pisp.bank.answers[WEBHOOKS[version, "single"]] = lambda sent: slow_reply(payment_answer(version))

    assert (pisp.pay().status, pisp.calls) == (200, 1)


@pytest.mark.parametrize("call", ["put", "rows"])
def test_a_slow_read_continues_if_the_storage_of_slots_for_slow_calls_fails(causeway: Causeway, call: str) -> None:
    aisp = Aisp(causeway)
    if call == "rows":
        take_all_slots(causeway, 1)

    with causeway.storage_gone(call):
        assert aisp.list_accounts(slow_reply(NO_ACCOUNTS[1])).status == 200


@pytest.mark.parametrize("refused", [Conflict, Throttled])
def test_a_slow_read_is_cancelled_if_too_many_calls_compete_for_a_slot_for_slow_calls(
    causeway: Causeway, monkeypatch: pytest.MonkeyPatch, refused: type[StoreError]
) -> None:
    aisp = Aisp(causeway)
    monkeypatch.setattr(SlowCalls, "take", Mock(side_effect=refused("busy")))

    assert aisp.list_accounts(slow_reply(NO_ACCOUNTS[1])).headers["retry-after"] == "30"


def test_a_read_that_times_out_releases_its_slot_for_slow_calls(causeway: Causeway) -> None:
    """Every call to a bank that does not respond takes a slot before the time limit of the call."""
    aisp = Aisp(causeway)
    slow_calls = causeway.hub.openbanking.bank_client.slow_calls

    def time_out() -> None:
        with limit_slow_call(slow_calls, aisp.bank.bic, may_give_up=True) as slow_check:
            slow_check.check()
            raise TimedOut("no answer came in time")

    for _ in range(SLOTS + 1):
        with pytest.raises(TimedOut):
            time_out()


# -- storage that hangs


def test_occupying_a_slot_for_slow_calls_ends_at_a_time_limit_if_storage_hangs(causeway: Causeway) -> None:
    slow_calls, started = causeway.hub.openbanking.bank_client.slow_calls, causeway.clock.monotonic()

    with (
        HangingTable(causeway, TABLE),
        limit_slow_call(slow_calls, causeway.banks[1].bic, may_give_up=True) as slow_check,
    ):
        slow_check.check()

    assert causeway.clock.monotonic() - started == pytest.approx(TAKE_SECONDS)


def test_releasing_a_slot_for_slow_calls_ends_at_a_time_limit_if_storage_hangs(causeway: Causeway) -> None:
    slow_calls, started = causeway.hub.openbanking.bank_client.slow_calls, causeway.clock.monotonic()

    with ExitStack() as steps:
        slow_check = steps.enter_context(limit_slow_call(slow_calls, causeway.banks[1].bic, may_give_up=True))
        slow_check.check()
        hanging = HangingTable(causeway, TABLE).__enter__()
    hanging.__exit__()

    assert causeway.clock.monotonic() - started == pytest.approx(STORAGE_SECONDS)


@pytest.mark.parametrize("is_probe", [False, True])
def test_a_payment_is_recorded_soon_after_a_slow_response_if_the_statistics_table_hangs(
    causeway: Causeway, is_probe: bool
) -> None:
    pisp = Pisp(causeway, 1)
    answered_at, recorded_at = [], []
    if is_probe:
        know_downtime(causeway)

    with ExitStack() as steps:

        def answer(sent: object) -> Reply:
            causeway.clock.advance(10)
            answered_at.append(causeway.clock.monotonic())
            steps.enter_context(causeway.meanwhile("transact", lambda: recorded_at.append(causeway.clock.monotonic())))
            steps.enter_context(HangingTable(causeway, TABLE))
            return slow_reply(payment_answer(1), 10)

        pisp.bank.answers[WEBHOOKS[1, "single"]] = answer
        paid = pisp.pay()

    assert (paid.status, paid.body["payment_id"]) == (200, "P-1")
    assert recorded_at[0] - answered_at[0] == pytest.approx(TAKE_SECONDS + STORAGE_SECONDS * is_probe)
    assert pisp.report(1).status == 200
