"""Tests of storage and provider faults during payments: money moves once or not at all.

If the outcome is unknown, a retry gets the response after the scheduled job has finished the payment.
"""

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar
from unittest.mock import patch

import pytest

from chalicelib.cards.payments.provider import (
    AddressRequest,
    BankAccount,
    OpenedAddress,
    Provider,
    ProviderOrder,
    ProviderSilent,
    Receipt,
)
from chalicelib.cards.payments.provider_completion import finish_due_payments
from chalicelib.cards.payments.sandbox_provider import SandboxProvider
from chalicelib.cards.protocol.status_codes import Status
from chalicelib.foundation.dynamodb.store import StoreError
from tests.cards.case import Case
from tests.cards.cases import MONEY_CASES, warmed
from tests.cards.fault_runs import (
    MANNERS,
    MONEY,
    REPEATED,
    WITH_REFERENCE,
    WITHOUT,
    CaseRun,
    Targets,
    apart_from_duplicated,
)
from tests.cards.issuer import GBP, MANAGER, UK, Envelope, Issuer
from tests.cards.stored_cards import StoredCards
from tests.cards.stored_money import StoredMoney
from tests.causeway import Causeway
from tests.kit.source_code import within
from tests.openbanking.call_sites import CARDS, STORE, call_sites
from tests.openbanking.faults import Fault, Snapshot, items

pytestmark = pytest.mark.faults

TARGETS = Targets()
TABLES = ("cards", "idempotency", "programmes", "ledger", "external-payments")
_UNKNOWN = (Status.INTERNAL, Status.IN_PROGRESS, Status.CONFLICT)
_UNTIL_THE_SCHEDULE = 61
ASKING = [case for case in MONEY_CASES if case.asked and "refuses" not in case.name]


@pytest.fixture
def issuer(causeway: Causeway, monkeypatch: pytest.MonkeyPatch) -> Issuer:
    """Return an issuer with sequential calls. Check that no order is submitted twice."""
    monkeypatch.setattr(causeway.hub.store, "pause", lambda seconds: None)
    monkeypatch.setattr("chalicelib.foundation.parallel.WIDTH", 1)
    submit = SandboxProvider.submit

    def once(provider: SandboxProvider, order: ProviderOrder) -> Receipt:
        assert order.payment_id not in orders(causeway), "the provider has this order"
        return submit(provider, order)

    monkeypatch.setattr(SandboxProvider, "submit", once)
    return Issuer(causeway)


def orders(causeway: Causeway) -> set[int]:
    rows = items(causeway, "external-payments")
    return {int(row["owner"].partition("#")[2]) for row in rows if row["part"] == "order"}


def settle_down(issuer: Issuer) -> None:
    issuer.clock.advance(_UNTIL_THE_SCHEDULE)
    issuer.hub.cards.call(finish_due_payments)


def shape(causeway: Causeway) -> list[str]:
    claims = (f"claim {sorted(row)}" for row in items(causeway, "idempotency"))
    return sorted([*StoredMoney(causeway).shape(), *claims])


def check(causeway: Causeway) -> None:
    StoredCards(causeway).check()
    StoredMoney(causeway).check(at_rest=True)


class MoneyRun(CaseRun):
    """A run of a case that moves money. The scheduled job completes unfinished payments."""

    tables = TABLES

    def __init__(self, issuer: Issuer, case: Case, manner: str) -> None:
        self._before_it: list[str] = []
        super().__init__(issuer, case, manner)
        self._settle()
        self._after_it = shape(issuer.causeway)
        self._begin()
        self._before_it = shape(issuer.causeway)

    def with_fault(self, fault: Fault) -> None:
        self._begin()
        with fault:
            answer = self._do()
        failed = answer.status_code in _UNKNOWN
        if self._manner != WITHOUT:
            answer = self._until_known(answer)
            again = self._do()
            assert apart_from_duplicated(again) == apart_from_duplicated(answer)
            assert again.duplicated == 1
        self._settle()
        if failed and self._manner == WITHOUT:
            assert shape(self._causeway) in (self._before_it, self._after_it), "all of it or nothing"
        else:
            self._is_right(answer)
            assert shape(self._causeway) == self._after_it
        check(self._causeway)

    def _settle(self) -> None:
        settle_down(self._issuer)

    def _until_known(self, answer: Envelope) -> Envelope:
        for _ in range(3):
            if answer.status_code not in _UNKNOWN:
                break
            self._settle()
            answer = self._do()
        assert answer.duplicated == 1 or self._manner != REPEATED
        return answer


@pytest.mark.parametrize("manner", MANNERS)
@pytest.mark.parametrize("case", MONEY_CASES, ids=str)
def test_a_storage_fault_never_moves_money_twice(issuer: Issuer, case: Case, manner: str) -> None:
    TARGETS.run(f"{case} {manner}", MoneyRun(issuer, case, manner), issuer.causeway)


class Overtaken(MoneyRun):
    """A transfer that a concurrent process changes or finishes before the request receives the provider's response."""

    def __init__(self, issuer: Issuer, case: Case, intrude: Callable[[Issuer, int], object]) -> None:
        self._intrude = intrude
        super().__init__(issuer, case, WITH_REFERENCE)

    def with_fault(self, fault: Fault) -> None:
        self._current = fault
        super().with_fault(fault)

    def _do(self) -> Envelope:
        fault, provider = getattr(self, "_current", self.untouched), self._issuer.hub.cards.payment_provider

        assert isinstance(provider, SandboxProvider)

        def submit(order: ProviderOrder) -> Receipt:
            receipt = SandboxProvider.submit(provider, order)
            with fault.resting():
                self._intrude(self._issuer, order.payment_id)
            return receipt

        with patch.object(provider, "submit", submit):
            return super()._do()

    def _settle(self) -> None:
        super()._settle()
        for payment in orders(self._causeway):
            self._intrude(self._issuer, payment)

    def _is_right(self, answer: Envelope) -> None:
        assert answer.status_code is None, answer.raw


def report(issuer: Issuer, payment: int) -> object:
    return issuer.result(payment, "settled")


def finish(issuer: Issuer, _: int) -> None:
    settle_down(issuer.with_own_clock())


@pytest.mark.parametrize("intrude", [report, finish])
def test_a_storage_fault_never_moves_money_twice_under_contention(
    issuer: Issuer, intrude: Callable[[Issuer, int], object]
) -> None:
    (case,) = (case for case in MONEY_CASES if case.name == "transferToExternalPayment")
    TARGETS.run(f"overtaken by {intrude.__name__}", Overtaken(issuer, case, intrude), issuer.causeway)


# -- the schedule


@contextlib.contextmanager
def failing(issuer: Issuer, method: str, error: Exception) -> Iterator[None]:

    def fail(_: object) -> Any:
        raise error

    provider = issuer.hub.cards.payment_provider
    setattr(provider, method, fail)
    try:
        yield
    finally:
        delattr(provider, method)


def silent(name: str) -> Callable[[Issuer], object]:

    def create(issuer: Issuer) -> object:
        return issuer.transfer(
            issuer.funded_address(500), 300, destination_account_name=name, request_reference_id=issuer.reference()
        )

    return create


def silent_return(issuer: Issuer) -> object:
    came = issuer.inbound(issuer.address(), 500, sender_name="Silent")["epm_transaction_id"]
    return issuer.do("inboundReturn", epm_transaction_id=came, reason=1)


def refused_return(issuer: Issuer) -> object:
    came = issuer.inbound(issuer.address(), 500, sender_name="Refuse")["epm_transaction_id"]
    with issuer.causeway.storage_gone("put"):
        return issuer.do("inboundReturn", epm_transaction_id=came, reason=1)


def cut_off(amount: int) -> Callable[[Issuer], object]:
    def create(issuer: Issuer) -> object:
        announced = issuer.debit(issuer.mandate(issuer.funded_address(500)), amount)
        issuer.clock.advance(24 * 3600)
        return announced

    return create


def unopened(name: str) -> Callable[[Issuer], object]:

    def create(issuer: Issuer) -> object:
        wanted = {"account_id": issuer.account(), "epm_method_id": UK, "currency_ison": GBP, "account_name": name}
        with failing(issuer, "open_address", ProviderSilent("no answer")):
            return issuer.do("assignExternalPaymentAddress", **wanted)

    return create


BROKEN = "a payment at a provider that is broken"
DUE: dict[str, Callable[[Issuer], object]] = {
    "an answer that was lost": silent("Silent"),
    "an order that was lost": silent("Lost"),
    "a return": silent_return,
    "a return that is refused": refused_return,
    "a direct debit": cut_off(500),
    "a direct debit without funds": cut_off(501),
    "an address": unopened("Alice"),
    "an address that is refused": unopened("Refuse"),
    BROKEN: silent("Silent"),
}


@dataclass
class Run:
    issuer: Issuer
    name: str

    def __post_init__(self) -> None:
        warmed(self.issuer)
        DUE[self.name](self.issuer)
        self.issuer.clock.advance(_UNTIL_THE_SCHEDULE)
        self.issuer.hub.cards.programmes.catalogue(MANAGER)
        self._beginning = Snapshot(self.issuer.causeway, TABLES)
        self.untouched = Fault(self.issuer.causeway)
        moved = self._finish(self.untouched)
        assert moved == (self.name != BROKEN)
        settle_down(self.issuer)
        self._after = shape(self.issuer.causeway)

    def with_fault(self, fault: Fault) -> None:
        self._beginning.restore()
        with contextlib.suppress(StoreError) if fault.lasting else contextlib.nullcontext():
            self._finish(fault)
        settle_down(self.issuer)
        settle_down(self.issuer)
        assert shape(self.issuer.causeway) == self._after
        check(self.issuer.causeway)

    def _finish(self, fault: Fault) -> int:
        line_breaks = failing(self.issuer, "find", ConnectionError("the line broke"))
        with line_breaks if self.name == BROKEN else contextlib.nullcontext(), fault:
            return self.issuer.hub.cards.call(finish_due_payments)


@pytest.mark.parametrize("name", DUE)
def test_the_next_run_of_the_scheduled_job_finishes_the_work_of_a_failed_run(issuer: Issuer, name: str) -> None:
    TARGETS.run(name, Run(issuer, name), issuer.causeway)


def test_every_fault_was_injected_at_every_storage_call_that_moves_money() -> None:
    if len(TARGETS.runs) < len(MANNERS) * len(MONEY_CASES) + len(DUE) + 2:
        pytest.skip("not every case ran here")

    missed = TARGETS.missed(site for site in call_sites(STORE, (CARDS,)) if within(site.module, *MONEY))
    assert missed == [], "\n".join(missed)


# -- the provider


Reply = TypeVar("Reply")


class Failing:
    """The sandbox's provider with a method that fails ``times`` times, before or after its execution."""

    def __init__(self, provider: Provider, method: str, when: str, error: Exception, times: int) -> None:
        self._provider = provider
        self._fault = method, when
        self._error = error
        self._left = times
        self.taken: list[int] = []

    def submit(self, order: ProviderOrder) -> Receipt:
        return self._call("submit", lambda: self._submitted(order))

    def find(self, payment_id: int) -> Receipt | None:
        return self._call("find", lambda: self._provider.find(payment_id))

    def open_address(self, opening: AddressRequest) -> OpenedAddress:
        return self._call("open_address", lambda: self._provider.open_address(opening))

    def _submitted(self, order: ProviderOrder) -> Receipt:
        assert order.destination != BankAccount(""), "an order says where to"
        self.taken.append(order.payment_id)
        return self._provider.submit(order)

    def _call(self, method: str, answer: Callable[[], Reply]) -> Reply:
        strikes = self._fault[0] in (method, "all") and self._left > 0
        self._left -= strikes
        if strikes and self._fault[1] == "before":
            raise self._error
        made = answer()
        if strikes:
            raise self._error
        return made


ERRORS = {"silent": ProviderSilent("no answer"), "broken": ConnectionError("the line broke")}


@pytest.fixture
def providers(issuer: Issuer) -> Iterator[Callable[..., Failing]]:
    real, parts = issuer.hub.cards.payment_provider, vars(issuer.hub.cards)

    def put_in(*fault: Any) -> Failing:
        parts["payment_provider"] = failing = Failing(real, *fault)
        return failing

    yield put_in
    parts["payment_provider"] = real


@pytest.mark.parametrize("error", ERRORS)
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("times", [1, 3])
@pytest.mark.parametrize("case", ASKING, ids=str)
def test_a_failing_provider_receives_every_order_once(
    issuer: Issuer, providers: Callable[..., Failing], case: Case, times: int, when: str, error: str
) -> None:
    """The provider fails three times, so that the calls of the scheduled job also fail and are retried."""
    members = case.members(issuer) | {"request_reference_id": issuer.reference()}
    provider = providers("all", when, ERRORS[error], times)

    first = case.do(issuer, **members)
    held = StoredMoney(issuer.causeway)
    for _ in range(times + 1):
        settle_down(issuer)
    answer = case.do(issuer, **members)

    assert first.status_code in (Status.IN_PROGRESS, Status.INTERNAL), first.raw
    held.check()
    assert (answer.status, answer.duplicated) == ("success", 1), answer.raw
    assert len(provider.taken) == len(set(provider.taken)) == len(orders(issuer.causeway))
    check(issuer.causeway)
    assert issuer.hub.cards.call(finish_due_payments) == 0
