"""Every fault by name on the whole stack, through the TPP API. All are played together: one takes 20 seconds.

The one that takes a day is played in ``test_clock``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from chalicelib import bootstrap
from chalicelib.demo_bank import clearing
from chalicelib.demo_bank.faults import MANY_ACCOUNTS
from chalicelib.demo_bank.profiles import PROFILES
from tests.e2e.fault_plays import Plays, Seen
from tests.e2e.parties import Tpp
from tests.patience import wait_for

pytestmark = pytest.mark.e2e


@pytest.fixture(params=[1, 2], ids=["bank one", "bank two"])
def seen(request: pytest.FixtureRequest, played: Plays) -> Callable[[str], tuple[int, Seen]]:
    return lambda fault: (request.param, played[fault, request.param].result())


See = Callable[[str], tuple[int, Seen]]


def details(answer: Any) -> str:
    assert answer.status_code == 502, answer.text
    return str(answer.json()["additionalErrors"][0]["details"])


def test_both_fault_banks_are_listed_with_the_others(stack: dict[str, Any], tpp: Tpp) -> None:
    listed = {bank["bic"] for bank in tpp.call("GET", "/tpp/banks").json()["banks"]}
    assert listed >= {profile.bic for profile in PROFILES}


def test_a_slow_bank_answers(seen: See) -> None:
    _, found = seen("slow")
    assert found["answer"].status_code == 200


def test_a_silent_bank_is_given_up(seen: See) -> None:
    _, found = seen("silent")
    assert details(found["answer"]) == "no answer came in time"


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


def test_a_payment_stays_pending_when_the_schedule_has_rejected_another(seen: See, operator: bootstrap.Hub) -> None:
    version, found = seen("payment-stays-pending")
    pending = {1: 1, 2: "PDNG"}[version]
    assert found["first"] == pending
    wait_for_rejection(seen, operator)
    assert (found["back"]["status"], found["first"], found["status"]()) == (str(pending), pending, pending)


def test_a_payment_is_rejected_later(seen: See, operator: bootstrap.Hub) -> None:
    version, found = seen("payment-rejected-later")
    assert (found["back"]["status"], found["first"]) == {1: ("1", 1), 2: ("ACSP", "ACSP")}[version]

    wait_for_rejection(seen, operator)


def wait_for_rejection(seen: See, operator: bootstrap.Hub) -> None:
    """Run the bank's schedule until it has rejected the payment that is rejected later."""
    version, found = seen("payment-rejected-later")

    def is_rejected() -> bool:
        clearing.run_due_work(operator)
        return bool(found["status"]() == {1: 2, 2: "RJCT"}[version])

    wait_for(is_rejected, "the payment is not rejected")
