"""Records of the current request: the request's bank, outcome and client, separate from other requests."""

import threading
from collections.abc import Iterator
from math import inf

import pytest

from chalicelib.foundation.context import measuring
from chalicelib.statistics import current_call
from chalicelib.statistics.current_call import BankRequest, CurrentCall


def test_call_details_recorded_outside_a_measured_request_are_ignored() -> None:
    current_call.record_concern("ALPHGB21", "AISP")
    current_call.record_bank_request("ALPHGB21", "AISP", 1, "answered", 0.5)
    current_call.record_failure("hub")
    current_call.record_client("a-client")
    current_call.record_code("FORMAT_ERROR")
    current_call.clear_concern()

    call = CurrentCall(1, 0)
    with measuring(call, lambda: 0.0, inf):
        pass
    current_call.record_concern("ALPHGB21", "AISP")

    assert call == CurrentCall(1, 0)


@pytest.fixture
def call() -> Iterator[CurrentCall]:
    call = CurrentCall(1, 0)
    with measuring(call, lambda: 0.0, inf):
        yield call


def test_call_details_recorded_inside_a_measured_request_belong_to_its_call(call: CurrentCall) -> None:
    current_call.record_concern("ALPHGB21", "PISP")
    current_call.record_bank_request("ALPHGB21", "PISP", 2, "unanswered", 3.0)
    current_call.record_bank_request("ALPHGB21", "PISP", 6, "answered", 0.5)
    current_call.record_failure("bank")
    current_call.record_client("a-client")
    current_call.record_code("FORMAT_ERROR")

    assert (call.client_id, call.code) == ("a-client", "FORMAT_ERROR")
    assert (call.concern, call.fault) == (("ALPHGB21", "PISP"), "bank")
    assert call.bank_seconds == 3.5
    assert call.exchanges == [
        BankRequest("ALPHGB21", "PISP", 2, "unanswered", 3.0),
        BankRequest("ALPHGB21", "PISP", 6, "answered", 0.5),
    ]


def test_only_the_first_of_several_failures_is_recorded(call: CurrentCall) -> None:
    current_call.record_failure("bank")
    current_call.record_failure("hub")

    assert call.fault == "bank"


def test_clearing_the_current_bank_removes_bank_and_service(call: CurrentCall) -> None:
    current_call.record_concern("ALPHGB21", "PISP")
    current_call.clear_concern()

    assert call.concern is None


def test_a_nested_request_has_its_own_call(call: CurrentCall) -> None:
    """The bank calls the service while the service calls the bank in the same thread. Both calls are separate."""
    inner = CurrentCall(2, 0)

    with measuring(inner, lambda: 0.0, inf):
        current_call.record_concern("BETADEF1", "AISP")
    current_call.record_failure("caller")

    assert (call.concern, call.fault) == (None, "caller")
    assert (inner.concern, inner.fault) == (("BETADEF1", "AISP"), None)


def test_a_thread_does_not_record_details_in_the_call_of_another_thread(call: CurrentCall) -> None:
    thread = threading.Thread(target=current_call.record_failure, args=("hub",))
    thread.start()
    thread.join()

    assert call.fault is None
