"""Every fault by name on the whole stack, through the TPP API. All are played together.

The one that takes a day is played in ``test_clock``; what comes of a fault after 20 seconds is seen in
``test_late_faults``.
"""

from __future__ import annotations

from typing import Any

import pytest

from chalicelib.demo_bank.faults import MANY_ACCOUNTS
from chalicelib.demo_bank.profiles import PROFILES
from tests.e2e.fault_plays import See, details
from tests.e2e.parties import Tpp

pytestmark = pytest.mark.e2e


def test_both_fault_banks_are_listed_with_the_others(stack: dict[str, Any], tpp: Tpp) -> None:
    listed = {bank["bic"] for bank in tpp.call("GET", "/tpp/banks").json()["banks"]}
    assert listed >= {profile.bic for profile in PROFILES}


def test_a_slow_bank_answers(seen: See) -> None:
    _, found = seen("slow")
    assert found["answer"].status_code == 200


def test_a_bank_that_is_down_refuses(seen: See) -> None:
    version, found = seen("down")
    assert details(found["answer"]).startswith({1: "5103: ", 2: "OUT_OF_SERVICE: "}[version])


def test_a_bank_limits_the_rate(seen: See) -> None:
    version, found = seen("rate-limited")
    assert details(found["answer"]).startswith({1: "5104: ", 2: "TOO_MANY_REQUESTS: "}[version])
    assert found["answer"].headers["Retry-After"] == "30"


def test_a_bank_answers_nonsense(seen: See) -> None:
    _, found = seen("nonsense")
    assert details(found["answer"]) == "the bank responded with status 200 and invalid JSON"


def test_a_refused_token_needs_a_new_authorization(seen: See) -> None:
    _, found = seen("token-refused")
    assert details(found["answer"])
    assert "authorize again" in found["answer"].json()["title"]


def test_a_customer_has_no_accounts(seen: See) -> None:
    _, found = seen("no-accounts")
    assert (found["answer"].status_code, found["answer"].json()) == (200, {"accounts": []})


def test_a_customer_has_many_accounts_and_transactions(seen: See) -> None:
    _, found = seen("many")
    assert len(found["answer"].json()["accounts"]) == MANY_ACCOUNTS
    page = found["page"].json()
    assert len(page["payments"] if "payments" in page else page["transactions"]["booked"]) == 100


def test_a_bank_refuses_payments(seen: See) -> None:
    version, found = seen("refuses-payments")
    assert details(found["answer"]).startswith({1: "5102: ", 2: "PAYMENT_REFUSED: "}[version])
