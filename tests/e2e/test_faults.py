"""Every fault by name on the whole stack, through the TPP API. All are played together: one takes 20 seconds.

The one that takes a day is played in ``test_clock``.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest

from chalicelib import bootstrap
from chalicelib.demo_bank import clearing
from chalicelib.demo_bank.faults import FAULTS, MANY_ACCOUNTS
from chalicelib.demo_bank.profiles import PROFILES
from tests.e2e.bank_customers import bearer, initiate, pay
from tests.e2e.parties import Tpp

pytestmark = pytest.mark.e2e
Seen = dict[str, Any]
_THREADS = 8


def _read(tpp: Tpp, bank: Mapping[str, Any], fault: str) -> Seen:
    """What a TPP sees of a fault of every call."""
    access_token = bearer(tpp, bank, fault)
    begun = time.monotonic()
    answer = tpp.call("GET", "/tpp/accounts", bearer=access_token)
    return {"answer": answer, "seconds": time.monotonic() - begun, "bearer": access_token}


def _many(tpp: Tpp, bank: Mapping[str, Any], fault: str) -> Seen:
    seen = _read(tpp, bank, fault)
    first = seen["answer"].json()["accounts"][0]
    named = f"account_id={first.get('id') or first['resource_id']}"
    call = "account_payments?" if bank["api_version"] == 1 else "account_transactions?booking_status=both&"
    begun = time.monotonic()
    page = tpp.call("GET", f"/tpp/{call}{named}", bearer=seen["bearer"])
    return seen | {"page": page, "page_seconds": time.monotonic() - begun}


def _refused_payment(tpp: Tpp, bank: Mapping[str, Any], fault: str) -> Seen:
    return {"answer": initiate(tpp, bank, bearer(tpp, bank, fault))}


def _payment(tpp: Tpp, bank: Mapping[str, Any], fault: str) -> Seen:
    """A payment's status after confirmation, and half a minute later."""
    access_token = bearer(tpp, bank, fault)
    started = initiate(tpp, bank, access_token)
    assert started.status_code == 200, started.text
    back = pay(tpp, started.json()["confirmation_url"], fault)

    def status() -> Any:
        found = tpp.call("GET", f"/tpp/payment_status?payment_id={back['payment_id']}", bearer=access_token).json()
        return found.get("payment_status", found.get("transaction_status"))

    first = status()
    time.sleep(21)
    return {"back": back, "first": first, "status": status}


_PLAYS: Mapping[str, Callable[[Tpp, Mapping[str, Any], str], Seen]] = {
    "many": _many,
    "refuses-payments": _refused_payment,
    "payment-stays-pending": _payment,
    "payment-rejected-later": _payment,
}


@pytest.fixture(scope="module")
def played(stack: dict[str, Any]) -> Iterator[Mapping[tuple[str, int], Future[Seen]]]:
    """What a TPP sees of each fault at each fault bank, by name and version."""
    tpp = Tpp(stack["base_url"], stack["client"]["client_id"], stack["client"]["callback_url"])
    names = sorted((fault.name for fault in FAULTS if not fault.consent_seconds), key=lambda name: name != "silent")
    with ThreadPoolExecutor(_THREADS) as pool:
        yield {
            (name, bank["api_version"]): pool.submit(_PLAYS.get(name, _read), tpp, bank, name)
            for name in names
            for bank in stack["fault_banks"]
        }


@pytest.fixture(params=[1, 2], ids=["bank one", "bank two"])
def seen(
    request: pytest.FixtureRequest, played: Mapping[tuple[str, int], Future[Seen]]
) -> Callable[[str], tuple[int, Seen]]:
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
    assert 3 <= found["seconds"] < 20


def test_a_silent_bank_is_given_up_after_20_seconds(seen: See) -> None:
    _, found = seen("silent")
    assert details(found["answer"]) == "no answer came in time"
    assert 20 <= found["seconds"] < 28


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
    assert found["page_seconds"] < 10


def test_a_bank_refuses_payments(seen: See) -> None:
    version, found = seen("refuses-payments")
    assert details(found["answer"]).startswith({1: "5102: ", 2: "PAYMENT_REFUSED: "}[version])


def test_a_payment_stays_pending(seen: See) -> None:
    version, found = seen("payment-stays-pending")
    pending = {1: 1, 2: "PDNG"}[version]
    assert (found["back"]["status"], found["first"], found["status"]()) == (str(pending), pending, pending)


def test_a_payment_is_rejected_later(seen: See, operator: bootstrap.Hub) -> None:
    version, found = seen("payment-rejected-later")
    assert (found["back"]["status"], found["first"]) == {1: ("1", 1), 2: ("ACSP", "ACSP")}[version]

    clearing.run_due_work(operator)

    assert found["status"]() == {1: 2, 2: "RJCT"}[version]
