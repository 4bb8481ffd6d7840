"""Tests of faults before and after a provider call: each payment completes once, with one response."""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from chalicelib.cards.payments.provider import NoProvider, ProviderOrder, ProviderSilent, Receipt
from chalicelib.cards.payments.provider_completion import finish_due_payments
from chalicelib.foundation.dynamodb.store import AnswerLost
from tests.cards.issuer import GBP, UK, Issuer
from tests.cards.stored_money import entries, movements, payment, prove, state

pytestmark = pytest.mark.faults

BEFORE, AFTER = "before", "after"
"""The time of an action: before the provider receives an order, or after the provider responds."""


def nothing(_: ProviderOrder) -> None:
    """Perform no action."""


class Watched:
    def __init__(self, issuer: Issuer) -> None:
        self._provider = issuer.hub.cards.payment_provider
        self._happens: dict[str, Callable[[ProviderOrder], object]] = {}
        self.submitted: list[int] = []
        self.found: list[int] = []
        issuer.hub.cards.__dict__["payment_provider"] = self

    def once(self, when: str, happens: Callable[[ProviderOrder], object]) -> None:
        self._happens[when] = happens

    def open_address(self, opening: Any) -> Any:
        return self._provider.open_address(opening)

    def submit(self, order: ProviderOrder) -> Receipt:
        self.submitted.append(order.payment_id)
        self._happens.pop(BEFORE, nothing)(order)
        receipt = self._provider.submit(order)
        instead = self._happens.pop(AFTER, nothing)(order)
        return instead if isinstance(instead, Receipt) else receipt

    def find(self, payment_id: int) -> Receipt | None:
        self.found.append(payment_id)
        return self._provider.find(payment_id)


@pytest.fixture
def provider(new_issuer: Issuer) -> Watched:
    return Watched(new_issuer)


@pytest.fixture
def breaking(new_issuer: Issuer) -> Iterator[Callable[..., Callable[[ProviderOrder], None]]]:
    """Yield a function that makes the next write fail.

    The write is either not applied, or applied with a lost response.
    """
    with contextlib.ExitStack() as stack:

        def breaks(*, applied: bool) -> Callable[[ProviderOrder], None]:
            return lambda _: stack.enter_context(new_issuer.causeway.answer_lost("transact", applied=applied))

        yield breaks


def raising(error: Exception) -> Callable[[ProviderOrder], None]:
    def raises(_: ProviderOrder) -> None:
        raise error

    return raises


def later(issuer: Issuer, seconds: int = 60) -> int:
    issuer.clock.advance(seconds)
    return issuer.hub.cards.call(finish_due_payments)


def holds_and_releases(issuer: Issuer, address: Any) -> list[int]:
    """Return the held amounts of each movement. Releases are negative."""
    rows = movements(issuer, address["account_id"])
    return [amount for row in rows if (amount := entries(row).get(("held", GBP), 0))]


# -- cut off


def test_the_scheduled_job_completes_a_transfer_interrupted_before_the_provider_call(
    new_issuer: Issuer, provider: Watched
) -> None:
    address, reference = new_issuer.funded_address(10_000), new_issuer.reference()
    provider.once(BEFORE, raising(RuntimeError("the process is gone")))

    assert new_issuer.transfer(address, 2500, request_reference_id=reference).status_code == 9001

    [number] = provider.submitted
    assert (state(new_issuer, number), new_issuer.balances(address["account_id"])) == ("P", (7500, 10_000, 0))
    assert new_issuer.transfer(address, 2500, request_reference_id=reference).status_code == 8001
    assert new_issuer.transfer(address, 2501, request_reference_id=reference).status_code == 8002
    assert (later(new_issuer, 59), provider.found) == (0, [])
    assert (later(new_issuer, 1), provider.submitted) == (1, [number, number])
    answer = new_issuer.transfer(address, 2500, request_reference_id=reference)
    assert (answer.duplicated, answer.data["id"]) == (1, number)
    assert answer.data["external_transaction_reference"] == 9_000_000_000 + number
    assert (later(new_issuer), holds_and_releases(new_issuer, address)) == (0, [2500])
    assert new_issuer.result(number, "settled")["available_balance"] == 7500
    prove(new_issuer)


@pytest.mark.parametrize("applied", [False, True], ids=["lost", "written"])
def test_a_transfer_interrupted_after_the_provider_call_is_submitted_once(
    new_issuer: Issuer, provider: Watched, breaking: Any, applied: bool
) -> None:
    address, reference = new_issuer.funded_address(10_000), new_issuer.reference()
    provider.once(AFTER, breaking(applied=applied))

    assert new_issuer.transfer(address, 2500, request_reference_id=reference).status_code == (None if applied else 9001)

    assert later(new_issuer) == (0 if applied else 1)
    answer = new_issuer.transfer(address, 2500, request_reference_id=reference)
    assert (answer.duplicated, answer.data["id"]) == (1, provider.submitted[0])
    assert len(provider.submitted) == 1
    assert holds_and_releases(new_issuer, address) == [2500]


@pytest.mark.parametrize("applied", [False, True], ids=["lost", "written"])
def test_an_unrecorded_rejection_by_the_provider_is_recorded_once(
    new_issuer: Issuer, provider: Watched, breaking: Any, applied: bool
) -> None:
    address, reference = new_issuer.funded_address(10_000), new_issuer.reference()
    members = {"destination_account_name": "Refuse Ltd", "request_reference_id": reference}
    provider.once(AFTER, breaking(applied=applied))

    assert new_issuer.transfer(address, 2500, **members).status_code == (7001 if applied else 9001)

    later(new_issuer)
    answer = new_issuer.transfer(address, 2500, **members)
    assert (answer.status_code, answer.duplicated) == (7001, 1)
    assert holds_and_releases(new_issuer, address) == [2500, -2500]
    assert (state(new_issuer, provider.submitted[0]), len(provider.submitted)) == ("J", 1)


@pytest.mark.parametrize("applied", [False, True], ids=["lost", "written"])
def test_a_transfer_whose_hold_request_lost_its_storage_response_is_submitted_once(
    new_issuer: Issuer, provider: Watched, applied: bool
) -> None:
    address, reference = new_issuer.funded_address(10_000), new_issuer.reference()
    with new_issuer.causeway.answer_lost("transact", applied=applied):
        assert new_issuer.transfer(address, 2500, request_reference_id=reference).status_code == (
            None if applied else 9001
        )
    assert len(provider.submitted) == int(applied)

    assert later(new_issuer) == 0
    answer = new_issuer.transfer(address, 2500, request_reference_id=reference)

    assert (answer.status, answer.duplicated) == ("success", int(applied))
    assert (len(provider.submitted), holds_and_releases(new_issuer, address)) == (1, [2500])


@pytest.mark.parametrize(("name", "asked"), [("Silent Ltd", 1), ("Lost Ltd", 2)])
def test_an_order_known_to_the_provider_is_not_submitted_again(
    new_issuer: Issuer, provider: Watched, name: str, asked: int
) -> None:
    address, reference = new_issuer.funded_address(10_000), new_issuer.reference()
    members = {"destination_account_name": name, "request_reference_id": reference}

    assert new_issuer.transfer(address, 2500, **members).status_code == 8001
    assert [later(new_issuer), later(new_issuer)] == [1, 0]

    assert new_issuer.transfer(address, 2500, **members).duplicated == 1
    assert len(provider.submitted) == asked
    assert len(set(provider.submitted)) == 1
    assert holds_and_releases(new_issuer, address) == [2500]


def test_the_scheduled_job_completes_a_payment_without_a_request_reference(
    new_issuer: Issuer, provider: Watched
) -> None:
    address = new_issuer.funded_address(10_000)

    assert new_issuer.transfer(address, 2500, destination_account_name="Lost Ltd").status_code == 8001
    assert later(new_issuer) == 1

    assert payment(new_issuer, provider.submitted[0]).provider_reference
    assert new_issuer.result(provider.submitted[0], "settled")["settled_balance"] == 7500


def test_the_scheduled_job_resends_an_order_every_minute_after_a_provider_timeout(
    new_issuer: Issuer, provider: Watched
) -> None:
    address, silent = new_issuer.funded_address(10_000), raising(ProviderSilent("no answer"))
    provider.once(BEFORE, silent)
    assert new_issuer.transfer(address, 2500).status_code == 8001

    for asked in (1, 2):
        provider.once(BEFORE, silent)
        assert (later(new_issuer, 59), len(provider.submitted)) == (0, asked)
        assert (later(new_issuer, 1), len(provider.submitted)) == (0, asked + 1)

    assert later(new_issuer) == 1
    assert len(set(provider.submitted)) == 1
    assert holds_and_releases(new_issuer, address) == [2500]


def test_two_concurrent_processes_complete_a_payment_once(new_issuer: Issuer, provider: Watched) -> None:
    address = new_issuer.funded_address(10_000)
    new_issuer.transfer(address, 2500, destination_account_name="Lost Ltd")
    moved: list[int] = []
    provider.once(BEFORE, lambda _: moved.append(new_issuer.with_own_clock().hub.cards.call(finish_due_payments)))

    assert later(new_issuer) == 1

    assert moved == [0]
    assert len(provider.submitted) == 2
    assert holds_and_releases(new_issuer, address) == [2500]


# -- meanwhile


def test_a_retry_during_the_provider_call_returns_8001(new_issuer: Issuer, provider: Watched) -> None:
    address, reference = new_issuer.funded_address(10_000), new_issuer.reference()
    repeats: list[Any] = []

    def repeat(_: ProviderOrder) -> None:
        repeats.append(new_issuer.transfer(address, 2500, request_reference_id=reference))

    provider.once(BEFORE, repeat)
    answer = new_issuer.transfer(address, 2500, request_reference_id=reference)

    assert (answer.status, [each.status_code for each in repeats]) == ("success", [8001])
    assert (len(provider.submitted), holds_and_releases(new_issuer, address)) == (1, [2500])


def test_a_waiting_retry_returns_the_stored_response_after_the_payment_completes(
    new_issuer: Issuer, provider: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    address, reference = new_issuer.funded_address(10_000), new_issuer.reference()
    members = {"destination_account_name": "Silent Ltd", "request_reference_id": reference}
    new_issuer.transfer(address, 2500, **members)
    waits: list[int] = []

    def wait(attempt: int, _: float) -> None:
        waits.append(attempt)
        later(new_issuer)

    monkeypatch.setattr(new_issuer.hub.store, "wait", wait)
    answer = new_issuer.transfer(address, 2500, **members)

    assert (answer.duplicated, len(waits)) == (1, 1)


@pytest.mark.parametrize(
    ("name", "told", "code"),
    [
        ("Alice", ["settled"], None),
        ("Alice", ["rejected"], 7001),
        ("Alice", ["settled", "returned"], None),
        ("Silent Ltd", ["rejected"], 7001),
        ("Lost Ltd", ["settled"], None),
    ],
)
def test_a_payment_result_that_arrives_before_the_providers_response_is_accepted(
    new_issuer: Issuer, provider: Watched, name: str, told: list[str], code: int | None
) -> None:
    address, reference = new_issuer.funded_address(10_000), new_issuer.reference()
    members = {"destination_account_name": name, "request_reference_id": reference}

    def report(order: ProviderOrder) -> None:
        for result in told:
            new_issuer.result(order.payment_id, result)

    provider.once(BEFORE, report)
    answer = new_issuer.transfer(address, 2500, **members)
    if name != "Alice":
        assert (answer.status_code, later(new_issuer)) == (8001, 1)
        answer = new_issuer.transfer(address, 2500, **members)

    [number] = provider.submitted
    assert answer.status_code == code
    if code is None:
        assert answer.data["transaction_id"] == payment(new_issuer, number).transaction_id
    assert (later(new_issuer), holds_and_releases(new_issuer, address)) == (0, [2500, -2500])
    assert new_issuer.balances(address["account_id"])[0] == (7500 if told == ["settled"] else 10_000)
    assert payment(new_issuer, number).due_at is None


def test_the_outcome_of_a_payment_is_recomputed_after_a_concurrent_payment(
    new_issuer: Issuer, provider: Watched
) -> None:
    address = new_issuer.funded_address(10_000)
    provider.once(AFTER, lambda _: new_issuer.inbound(address, 100))

    assert new_issuer.transfer(address, 2500, destination_account_name="Refuse Ltd").status_code == 7001

    assert new_issuer.balances(address["account_id"]) == (10_100, 10_100, 0)
    assert holds_and_releases(new_issuer, address) == [2500, -2500]
    prove(new_issuer)


def test_an_order_has_the_payment_id_of_the_written_attempt(
    new_issuer: Issuer, provider: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    address, reference = new_issuer.funded_address(10_000), new_issuer.reference()
    store, attempts = new_issuer.hub.store, iter(("overtaken", "answer lost"))
    transact = store.transact

    def play(operations: Any) -> None:
        match next(attempts, ""):
            case "overtaken":
                with monkeypatch.context() as patching:
                    patching.setattr(store, "transact", transact)
                    new_issuer.inbound(address, 100)
                transact(operations)
            case "answer lost":
                transact(operations)
                raise AnswerLost("the connection broke")
            case _:
                transact(operations)

    monkeypatch.setattr(store, "transact", play)
    answer = new_issuer.transfer(address, 2500, request_reference_id=reference)

    assert provider.submitted == [answer.data["id"]]
    assert state(new_issuer, answer.data["id"]) == "P"
    assert next(attempts, None) is None
    prove(new_issuer)


# -- returns


@pytest.mark.parametrize("applied", [False, True], ids=["lost", "written"])
def test_an_interrupted_return_is_completed_once(
    new_issuer: Issuer, provider: Watched, breaking: Any, applied: bool
) -> None:
    address, reference = new_issuer.address(method=UK), new_issuer.reference()
    number = new_issuer.inbound(address, 2500)["epm_transaction_id"]
    members = {"epm_transaction_id": number, "request_reference_id": reference}
    provider.once(AFTER, breaking(applied=applied))

    assert new_issuer.do("inboundReturn", **members).status_code == (None if applied else 9001)
    assert later(new_issuer) == (0 if applied else 1)

    assert new_issuer.do("inboundReturn", **members).duplicated == 1
    assert (state(new_issuer, number), holds_and_releases(new_issuer, address)) == ("R", [2500, -2500])
    assert (len(provider.submitted), new_issuer.balances(address["account_id"])) == (1, (0, 0, 0))


def test_a_direct_debit_is_still_paid_if_the_provider_rejects_its_return(new_issuer: Issuer, provider: Watched) -> None:
    address = new_issuer.funded_address(2500)
    number = new_issuer.debit(new_issuer.mandate(address), 2500, passed=True)["epm_transaction_id"]
    members = {"returned_epm_transaction_id": number, "reason": "MD06"}
    provider.once(AFTER, lambda _: Receipt(accepted=False, reason="too late"))

    refused = new_issuer.do("directDebitReturn", **members)

    assert (refused.status_code, "too late" in refused.message) == (7001, True)
    assert (state(new_issuer, number), new_issuer.balances(address["account_id"])) == ("S", (0, 0, 0))
    assert new_issuer.do("directDebitReturn", **members).status == "success"
    assert (state(new_issuer, number), new_issuer.balances(address["account_id"])) == ("R", (2500, 2500, 0))
    assert holds_and_releases(new_issuer, address) == []


# -- without a provider


def test_a_transfer_without_a_provider_returns_7001_and_leaves_no_hold(new_issuer: Issuer) -> None:
    address = new_issuer.funded_address(2500)
    apart = new_issuer.with_own_clock()
    apart.hub.cards.__dict__["payment_provider"] = NoProvider()

    assert apart.transfer(address, 100).status_code == 7001
    members = {"account_id": address["account_id"], "epm_method_id": UK, "currency_ison": GBP}
    assert apart.do("assignExternalPaymentAddress", **members).status_code == 7001

    assert new_issuer.balances(address["account_id"]) == (2500, 2500, 0)
