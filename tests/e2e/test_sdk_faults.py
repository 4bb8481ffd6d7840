"""The Python SDK at the fault banks: each simulated fault raises the expected error with the expected advice.

``test_sdk_clock`` covers faults that take time. A silent bank takes 20 seconds, in parallel with the other tests.
"""

import itertools
import uuid
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest

from causeway import tpp as sdk
from causeway.errors import ApiError, AuthorizationEnded, BankUnavailable, CausewayError, OutcomeUnknown, WaitTimeout
from chalicelib import bootstrap
from chalicelib.demo_bank.faults import FAULTS
from infra.psu_browser import confirm_payment
from tests.e2e.sdk_users import browser, consent_of, order, takes_time
from tests.kit.time import limit_under_test

pytestmark = [pytest.mark.e2e, pytest.mark.sdk]
AT_ONCE = sdk.Retries(waits=())
NAMES = [fault.name for fault in FAULTS if not takes_time(fault)]
Stack = dict[str, Any]
Check = Callable[[sdk.Consent, Stack], None]


@pytest.fixture(params=[1, 2], ids=["fault bank one", "fault bank two"])
def fault_bank(request: pytest.FixtureRequest, stack: Stack) -> dict[str, Any]:
    return bank_of(stack, request.param)


def bank_of(stack: Stack, version: int) -> dict[str, Any]:
    return next(bank for bank in stack["fault_banks"] if bank["api_version"] == version)


@pytest.fixture(scope="module")
def impatient(stack: Stack, lasting_operator: bootstrap.Hub) -> Iterator[sdk.Tpp]:
    """Create a client without retries, because retries would pause the fault banks for other tests."""
    made = lasting_operator.openbanking.clients.create(owner="sdk@example.com", title="SDK", secret=True)
    secret = str(made.secret)
    with sdk.Tpp(stack["base_url"], client_id=made.client.client_id, client_secret=secret, retries=AT_ONCE) as tpp:
        yield tpp


@pytest.fixture(scope="module", autouse=True)
def silent_bank_checks(impatient: sdk.Tpp, stack: Stack) -> Iterator[Mapping[int, Future[None]]]:
    """Start the checks of the silent bank of each version before all other checks."""
    with ThreadPoolExecutor(4) as pool:

        def check(version: int) -> None:
            consent = consent_of(impatient, stack, bank_of(stack, version), "silent")
            for each in [pool.submit(_silent_read, consent), pool.submit(_silent_payment, consent, stack)]:
                each.result()

        yield {version: pool.submit(check, version) for version in (1, 2)}


def raised(call: Callable[[], object], expected: type[CausewayError], advice: str) -> ApiError:
    with pytest.raises(expected) as caught:
        call()
    assert type(caught.value) is expected
    assert isinstance(caught.value, ApiError)
    assert advice in caught.value.advice
    assert caught.value.additional
    assert uuid.UUID(caught.value.request_id)
    return caught.value


def _silent_read(consent: sdk.Consent) -> None:
    error = raised(lambda: list(consent.accounts()), BankUnavailable, "later")
    assert error.additional[0]["details"] == "no answer came in time"


def _silent_payment(consent: sdk.Consent, stack: Stack) -> None:
    """Check that the outcome of the order is unknown, and that the same order is not sent again with the same key."""
    with pytest.raises(OutcomeUnknown) as caught:
        consent.pay(order(stack, consent.native.version()))
    assert "Do not pay again" in caught.value.advice
    named: Any = {"idempotency_key": caught.value.idempotency_key, "request_id": caught.value.order_id}
    with pytest.raises(OutcomeUnknown) as again:
        consent.pay(order(stack, consent.native.version()), **named)
    assert again.value.order_id == caught.value.order_id
    known = consent.payment_status(request_id=caught.value.order_id)
    assert (known.payment_id, known.outcome) == (None, "unknown")


def check_slow(consent: sdk.Consent, stack: Stack) -> None:
    assert len(list(consent.accounts())) == len(list(consent.accounts(prefer_async=True))) > 0


def check_down(consent: sdk.Consent, stack: Stack) -> None:
    raised(lambda: list(consent.accounts()), BankUnavailable, "later")


def check_rate_limited(consent: sdk.Consent, stack: Stack) -> None:
    assert raised(lambda: list(consent.accounts()), BankUnavailable, "later").retry_after == 30


def check_token_refused(consent: sdk.Consent, stack: Stack) -> None:
    raised(lambda: list(consent.accounts()), AuthorizationEnded, "authorize again")


def check_no_accounts(consent: sdk.Consent, stack: Stack) -> None:
    assert list(consent.accounts()) == []


def check_many(consent: sdk.Consent, stack: Stack) -> None:
    accounts = list(consent.accounts())
    found = [one.stable_key for one in itertools.islice(consent.transactions(accounts[0]), 250)]

    assert len(accounts) == 200
    assert len(set(found)) == 250


def check_refused(consent: sdk.Consent, stack: Stack) -> None:
    error = raised(lambda: consent.pay(order(stack, consent.native.version())), ApiError, "new payment")
    assert error.reason_code == "refused_by_bank"


def check_stays_pending(consent: sdk.Consent, stack: Stack) -> None:
    """Check that waiting for a payment that remains pending ends with the pending status."""
    paid = consent.pay(order(stack, consent.native.version()))
    confirm_payment(browser(stack, "/payments/callback"), paid.confirmation_url, "payment-stays-pending")

    with pytest.raises(WaitTimeout) as caught:
        consent.wait_for_payment(paid.payment_id, timeout=limit_under_test(2))

    assert isinstance(caught.value.last, sdk.PaymentStatus)
    assert (caught.value.last.status, caught.value.last.is_final) == ("pending", False)


CHECKS: Mapping[str, Check] = {
    "slow": check_slow,
    "down": check_down,
    "rate-limited": check_rate_limited,
    "nonsense": check_down,
    "token-refused": check_token_refused,
    "no-accounts": check_no_accounts,
    "many": check_many,
    "refuses-payments": check_refused,
    "payment-stays-pending": check_stays_pending,
}


@pytest.mark.parametrize("customer", [name for name in NAMES if name != "silent"])
def test_a_fault_of_the_bank_raises_the_expected_error_with_advice(
    impatient: sdk.Tpp, stack: Stack, fault_bank: dict[str, Any], customer: str
) -> None:
    CHECKS[customer](consent_of(impatient, stack, fault_bank, customer), stack)


@pytest.mark.parametrize("version", [1, 2])
def test_at_an_unresponsive_bank_a_read_fails_and_the_outcome_of_a_payment_is_unknown(
    silent_bank_checks: Mapping[int, Future[None]], version: int
) -> None:
    silent_bank_checks[version].result()
