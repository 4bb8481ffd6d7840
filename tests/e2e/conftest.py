"""Fixtures of end-to-end tests: PSU approvals on the running stack, and the results of simulated bank faults."""

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from chalicelib import bootstrap
from chalicelib.demo_bank.faults import FAULTS
from chalicelib.foundation.settings import Settings
from tests.e2e.parties import Journey, Tpp, bearer, initiate, pay
from tests.kit import pythons

FaultResult = dict[str, Any]
_THREADS = 8


def _read(tpp: Tpp, bank: Mapping[str, Any], fault: str) -> FaultResult:
    access_token = bearer(tpp, bank, fault)
    return {"answer": tpp.call("GET", "/tpp/accounts", bearer=access_token), "bearer": access_token}


def _many(tpp: Tpp, bank: Mapping[str, Any], fault: str) -> FaultResult:
    seen = _read(tpp, bank, fault)
    first = seen["answer"].json()["accounts"][0]
    named = f"account_id={first.get('id') or first['resource_id']}"
    call = "account_payments?" if bank["api_version"] == 1 else "account_transactions?booking_status=both&"
    return seen | {"page": tpp.call("GET", f"/tpp/{call}{named}", bearer=seen["bearer"])}


def _refused_payment(tpp: Tpp, bank: Mapping[str, Any], fault: str) -> FaultResult:
    return {"answer": initiate(tpp, bank, bearer(tpp, bank, fault))}


def _payment(tpp: Tpp, bank: Mapping[str, Any], fault: str) -> FaultResult:
    """Confirm a payment. Return its status after the confirmation, and a function that requests its current status."""
    access_token = bearer(tpp, bank, fault)
    started = initiate(tpp, bank, access_token)
    assert started.status_code == 200, started.text
    back = pay(tpp, started.json()["confirmation_url"], fault)

    def status() -> Any:
        found = tpp.call("GET", f"/tpp/payment_status?payment_id={back['payment_id']}", bearer=access_token).json()
        return found.get("payment_status", found.get("transaction_status"))

    return {"back": back, "first": status(), "status": status}


_FAULT_CALLS: Mapping[str, Callable[[Tpp, Mapping[str, Any], str], FaultResult]] = {
    "many": _many,
    "refuses-payments": _refused_payment,
    "payment-stays-pending": _payment,
    "payment-rejected-later": _payment,
}


FaultResults = Mapping[tuple[str, int], Future[FaultResult]]
"""The result of each fault at each fault bank, by fault name and bank version."""
ReadFault = Callable[[str], tuple[int, FaultResult]]
"""A function that waits for the test result of the simulated bank fault with the given name, and returns the protocol
version of the bank and the result.
"""


def details(answer: Any) -> str:
    assert answer.status_code == 502, answer.text
    return str(answer.json()["additionalErrors"][0]["details"])


@contextmanager
def running_faults(stack: Mapping[str, Any]) -> Iterator[FaultResults]:
    tpp = Tpp(stack["base_url"], stack["client"]["client_id"], stack["client"]["callback_url"])
    names = sorted((fault.name for fault in FAULTS if not fault.consent_seconds), key=lambda name: name != "silent")
    with ThreadPoolExecutor(_THREADS) as pool:
        yield {
            (name, bank["api_version"]): pool.submit(_FAULT_CALLS.get(name, _read), tpp, bank, name)
            for name in names
            for bank in stack["fault_banks"]
        }


@pytest.fixture(scope="session")
def python(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Install a Python environment in which the repository's commands start without a delay."""
    with pythons.installed(tmp_path_factory.mktemp("warm")) as command:
        yield command


@pytest.fixture(scope="session")
def fault_results(shared_stack: dict[str, Any]) -> Iterator[FaultResults]:
    with running_faults(shared_stack) as results:
        yield results


@pytest.fixture(params=[1, 2], ids=["bank one", "bank two"])
def read_fault(request: pytest.FixtureRequest, fault_results: FaultResults) -> ReadFault:
    return lambda fault: (request.param, fault_results[fault, request.param].result())


@pytest.fixture(params=[1, 2], ids=["bank one", "bank two"])
def bank(request: pytest.FixtureRequest, stack: dict[str, Any]) -> dict[str, Any]:
    return next(bank for bank in stack["banks"] if bank["api_version"] == request.param)


@pytest.fixture
def journey(bank: dict[str, Any], tpp: Tpp) -> Journey:
    return tpp.journey(bank)


@pytest.fixture
def credentials(operator: bootstrap.Hub) -> dict[str, Any]:
    made = operator.openbanking.clients.create(owner="sdk@example.com", title="SDK", secret=True)
    assert made.secret is not None
    return {"client_id": made.client.client_id, "client_secret": made.secret}


@pytest.fixture(scope="module")
def lasting_operator(stack: dict[str, Any]) -> Iterator[bootstrap.Hub]:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in stack["environment"].items():
            patch.setenv(name, value)
        yield bootstrap.Hub(Settings.from_environment(stack["environment"]))
