"""What a TPP does at a bank with a fault, by the fault's name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

from chalicelib.demo_bank.faults import FAULTS
from tests.e2e.bank_customers import bearer, initiate, pay
from tests.e2e.parties import Tpp

Seen = dict[str, Any]
_THREADS = 8


def _read(tpp: Tpp, bank: Mapping[str, Any], fault: str) -> Seen:
    """What a TPP sees of a fault of every call."""
    access_token = bearer(tpp, bank, fault)
    return {"answer": tpp.call("GET", "/tpp/accounts", bearer=access_token), "bearer": access_token}


def _many(tpp: Tpp, bank: Mapping[str, Any], fault: str) -> Seen:
    seen = _read(tpp, bank, fault)
    first = seen["answer"].json()["accounts"][0]
    named = f"account_id={first.get('id') or first['resource_id']}"
    call = "account_payments?" if bank["api_version"] == 1 else "account_transactions?booking_status=both&"
    return seen | {"page": tpp.call("GET", f"/tpp/{call}{named}", bearer=seen["bearer"])}


def _refused_payment(tpp: Tpp, bank: Mapping[str, Any], fault: str) -> Seen:
    return {"answer": initiate(tpp, bank, bearer(tpp, bank, fault))}


def _payment(tpp: Tpp, bank: Mapping[str, Any], fault: str) -> Seen:
    """A payment's status after confirmation, and as it is whenever it is asked for."""
    access_token = bearer(tpp, bank, fault)
    started = initiate(tpp, bank, access_token)
    assert started.status_code == 200, started.text
    back = pay(tpp, started.json()["confirmation_url"], fault)

    def status() -> Any:
        found = tpp.call("GET", f"/tpp/payment_status?payment_id={back['payment_id']}", bearer=access_token).json()
        return found.get("payment_status", found.get("transaction_status"))

    return {"back": back, "first": status(), "status": status}


_PLAYS: Mapping[str, Callable[[Tpp, Mapping[str, Any], str], Seen]] = {
    "many": _many,
    "refuses-payments": _refused_payment,
    "payment-stays-pending": _payment,
    "payment-rejected-later": _payment,
}


Plays = Mapping[tuple[str, int], Future[Seen]]
"""What a TPP sees of each fault at each fault bank, by name and version."""
See = Callable[[str], tuple[int, Seen]]
"""Waits for what is seen of a fault at one of the banks, and gives the bank's version, too."""


def details(answer: Any) -> str:
    """What the service says of a call that the bank did not answer properly."""
    assert answer.status_code == 502, answer.text
    return str(answer.json()["additionalErrors"][0]["details"])


@contextmanager
def playing(stack: Mapping[str, Any]) -> Iterator[Plays]:
    """Begin to play every fault, all of them together."""
    tpp = Tpp(stack["base_url"], stack["client"]["client_id"], stack["client"]["callback_url"])
    names = sorted((fault.name for fault in FAULTS if not fault.consent_seconds), key=lambda name: name != "silent")
    with ThreadPoolExecutor(_THREADS) as pool:
        yield {
            (name, bank["api_version"]): pool.submit(_PLAYS.get(name, _read), tpp, bank, name)
            for name in names
            for bank in stack["fault_banks"]
        }
