"""The Python SDK at the banks whose customers are faults: the right error, with the right advice."""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from causeway import tpp as sdk
from causeway.errors import ApiError, AuthorizationEnded, BankUnavailable, CausewayError, WaitTimeout
from tests.e2e.bank_customers import walk_through
from tests.e2e.sdk_users import Credentials, account_id, browser, consent_of, order

pytestmark = [pytest.mark.e2e, pytest.mark.sdk]
AT_ONCE = sdk.Retries(waits=())


@pytest.fixture(params=[1, 2], ids=["fault bank one", "fault bank two"])
def fault_bank(request: pytest.FixtureRequest, stack: dict[str, Any]) -> dict[str, Any]:
    return next(bank for bank in stack["fault_banks"] if bank["api_version"] == request.param)


@pytest.fixture
def impatient(stack: dict[str, Any], credentials: Credentials) -> Iterator[sdk.Tpp]:
    """A client that repeats nothing: repeats would pause the fault banks for other tests."""
    with sdk.Tpp(stack["base_url"], **credentials, retries=AT_ONCE) as tpp:
        yield tpp


@pytest.mark.parametrize(
    ("customer", "expected", "advice"),
    [
        ("down", BankUnavailable, "later"),
        ("rate-limited", BankUnavailable, "later"),
        ("nonsense", BankUnavailable, "later"),
        ("token-refused", AuthorizationEnded, "authorize again"),
    ],
)
def test_a_fault_of_the_bank_is_an_error_that_says_what_to_do(
    impatient: sdk.Tpp,
    stack: dict[str, Any],
    fault_bank: dict[str, Any],
    customer: str,
    expected: type[CausewayError],
    advice: str,
) -> None:
    consent = consent_of(impatient, stack, fault_bank, customer)

    with pytest.raises(expected) as caught:
        list(consent.accounts())

    assert isinstance(caught.value, ApiError)
    assert type(caught.value) is expected
    assert advice in caught.value.advice
    assert caught.value.additional
    assert uuid.UUID(caught.value.request_id)
    assert (caught.value.retry_after == 30) is (customer == "rate-limited") or caught.value.retry_after


def test_a_refused_payment_says_that_the_bank_refused(
    impatient: sdk.Tpp, stack: dict[str, Any], fault_bank: dict[str, Any]
) -> None:
    consent = consent_of(impatient, stack, fault_bank, "refuses-payments")

    with pytest.raises(ApiError) as caught:
        consent.pay(order(stack, consent.version))

    assert (type(caught.value), caught.value.reason_code) == (ApiError, "refused_by_bank")
    assert "new payment" in caught.value.advice


def test_a_slow_bank_is_waited_for_at_once_or_later(
    impatient: sdk.Tpp, stack: dict[str, Any], fault_bank: dict[str, Any]
) -> None:
    consent = consent_of(impatient, stack, fault_bank, "slow")

    assert len(list(consent.accounts())) == len(list(consent.accounts(prefer_async=True))) > 0


def test_a_long_history_is_read_page_by_page(
    impatient: sdk.Tpp, stack: dict[str, Any], fault_bank: dict[str, Any]
) -> None:
    consent = consent_of(impatient, stack, fault_bank, "many")
    accounts = list(consent.accounts())
    number = account_id(accounts[0])
    history: Iterator[Any] = consent.payments(number) if consent.version == 1 else consent.transactions(number)

    found = [getattr(one, "id", None) or one.transaction_id for one in itertools.islice(history, 250)]

    assert len(accounts) == 200
    assert len(set(found)) == 250


def test_an_empty_list_of_accounts_is_no_error(
    impatient: sdk.Tpp, stack: dict[str, Any], fault_bank: dict[str, Any]
) -> None:
    assert list(consent_of(impatient, stack, fault_bank, "no-accounts").accounts()) == []


def test_a_payment_that_stays_pending_ends_the_wait_with_its_status(
    impatient: sdk.Tpp, stack: dict[str, Any], fault_bank: dict[str, Any]
) -> None:
    consent = consent_of(impatient, stack, fault_bank, "payment-stays-pending")
    paid = consent.pay(order(stack, consent.version))
    walk_through(browser(stack, "/payments/callback"), paid.confirmation_url, "payment-stays-pending")

    with pytest.raises(WaitTimeout) as caught:
        consent.wait_for_payment(paid.payment_id, timeout=2)

    assert isinstance(caught.value.last, sdk.ReportedStatus | sdk.AskedStatus)
    assert not sdk.is_paid(caught.value.last)
