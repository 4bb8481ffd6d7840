"""Every simulated fault on the whole stack, through the TPP API. All faults run in parallel.

``test_clock`` covers the fault that takes a day. ``test_late_faults`` covers results that take 20 seconds.
"""

from typing import Any

import pytest

from chalicelib.demo_bank.faults import MANY_ACCOUNTS
from chalicelib.demo_bank.profiles import PROFILES
from tests.e2e.conftest import ReadFault, details
from tests.e2e.parties import Tpp

pytestmark = pytest.mark.e2e


def test_the_bank_list_contains_the_two_fault_banks(stack: dict[str, Any], tpp: Tpp) -> None:
    listed = {bank["bic"] for bank in tpp.call("GET", "/tpp/banks").json()["banks"]}
    assert listed >= {profile.bic for profile in PROFILES}


def test_the_slow_fault_delays_a_valid_response(read_fault: ReadFault) -> None:
    _, found = read_fault("slow")
    assert found["answer"].status_code == 200


def test_the_down_fault_returns_the_error_code_for_an_unavailable_bank(read_fault: ReadFault) -> None:
    version, found = read_fault("down")
    assert details(found["answer"]).startswith({1: "5103: ", 2: "OUT_OF_SERVICE: "}[version])


def test_the_rate_limited_fault_returns_an_error_code_and_retry_after(read_fault: ReadFault) -> None:
    version, found = read_fault("rate-limited")
    assert details(found["answer"]).startswith({1: "5104: ", 2: "TOO_MANY_REQUESTS: "}[version])
    assert found["answer"].headers["Retry-After"] == "30"


def test_the_nonsense_fault_returns_an_invalid_json_error(read_fault: ReadFault) -> None:
    _, found = read_fault("nonsense")
    assert details(found["answer"]) == (
        "the bank responded with status 200 and invalid JSON: Expecting value at line 1 column 1"
    )


def test_the_token_refused_fault_requires_a_new_authorization(read_fault: ReadFault) -> None:
    _, found = read_fault("token-refused")
    assert details(found["answer"])
    assert "authorize again" in found["answer"].json()["title"]


def test_the_no_accounts_fault_returns_an_empty_list(read_fault: ReadFault) -> None:
    _, found = read_fault("no-accounts")
    assert (found["answer"].status_code, found["answer"].json()) == (200, {"accounts": []})


def test_the_fault_named_many_returns_many_accounts_and_full_pages(read_fault: ReadFault) -> None:
    _, found = read_fault("many")
    assert len(found["answer"].json()["accounts"]) == MANY_ACCOUNTS
    page = found["page"].json()
    assert len(page["payments"] if "payments" in page else page["transactions"]["booked"]) == 100


def test_the_fault_named_refuses_payments_returns_the_error_code_for_a_refused_payment(read_fault: ReadFault) -> None:
    version, found = read_fault("refuses-payments")
    assert details(found["answer"]).startswith({1: "5102: ", 2: "PAYMENT_REFUSED: "}[version])
