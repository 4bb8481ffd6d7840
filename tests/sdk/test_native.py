"""SDK calls in the shape of the bank's version return the classes of that version."""

import datetime
from dataclasses import replace
from decimal import Decimal
from typing import Any

import httpx
import pytest

from causeway.tpp import (
    AccountReferenceV2,
    AccountV1,
    AskedStatus,
    BalancesAnswerV1,
    BalancesAnswerV2,
    DirectPaymentV1,
    FundsAccountV1,
    FundsAmountV1,
    FundsRequestV1,
    InitiationAnswerV1,
    InitiationAnswerV2,
    InstructedAmountV2,
    PaymentAccountV2,
    ReportedStatus,
    SinglePaymentV1,
    SinglePaymentV2,
    is_paid,
)
from tests.sdk.scripted_hub import SCOPES, ScriptedHub, answer, tokens

pytestmark = pytest.mark.usefixtures("clock")
ACCOUNT_V1 = {"id": 1031926801, "name": "Everyday", "iban": "GB10DEMO04000431926801", "currency": "GBP"}
ACCOUNT_V2 = {"resource_id": "65e1d84d", "currency": "EUR", "a_new_member": [1, 2]}
PAYMENT_V1: dict[str, Any] = {
    "amount": Decimal("1.10"),
    "currency": "GBP",
    "receiver_name": "Oak Street Books",
    "receiver_iban": "GB10DEMO04000431926801",
    "callback_url": "https://tpp.example.com/callback",
}


def test_accounts_have_the_class_of_the_bank_version_and_preserve_unknown_members() -> None:
    hub = ScriptedHub(answer(body={"accounts": [ACCOUNT_V1]}), answer(body={"accounts": [ACCOUNT_V2]}))
    tpp = hub.tpp()

    (first,) = tpp.consent(tokens(version=1)).native.accounts()
    (second,) = tpp.consent(tokens(version=2)).native.accounts()

    assert isinstance(first, AccountV1)
    assert first.id == "1031926801"
    assert isinstance(second, AccountReferenceV2)
    assert second.extra == {"a_new_member": [1, 2]}
    assert second.to_json() == ACCOUNT_V2


def test_amounts_preserve_every_digit() -> None:
    body_v1 = '{"accounts": [{"id": "1", "name": "n", "balance": 1250.7500000000000000001, "currency": "GBP"}]}'
    body_v2 = '{"balances": [{"balance_amount": {"amount": "0.10", "currency": "EUR"}, "balance_type": "t"}]}'
    hub = ScriptedHub(httpx.Response(200, text=body_v1), httpx.Response(200, text=body_v2))
    tpp = hub.tpp()

    first = tpp.consent(tokens(version=1)).native.balances("1")
    second = tpp.consent(tokens(version=2)).native.balances("1")

    assert isinstance(first, BalancesAnswerV1)
    assert first.accounts[0].balance == Decimal("1250.7500000000000000001")
    assert isinstance(second, BalancesAnswerV2)
    assert str(second.balances[0].balance_amount.amount) == "0.10"


def payment(number: int) -> dict[str, Any]:
    return {"id": str(number), "reference": "r", "date_created": "2026-11-20", "amount": "1", "description": "d"}


def test_version_1_payments_are_read_until_a_page_is_shorter_than_its_limit() -> None:
    pages = [
        answer(body={"payments": [payment(1), payment(2)], "paginator": {"limit": "2", "current_page": 1}}),
        answer(body={"payments": [payment(3)], "paginator": {"limit": 2, "current_page": 2}}),
    ]
    hub = ScriptedHub(*pages)

    found = list(hub.tpp().consent(tokens(version=1)).native.payments("1", page_size=50))

    assert [one.id for one in found] == ["1", "2", "3"]
    assert [request.url.params["current_page"] for request in hub.requests] == ["1", "2"]
    assert hub.requests[0].url.params["record_count"] == "50"


def transaction(number: int) -> dict[str, Any]:
    return {"transaction_id": str(number), "transaction_amount": {"amount": "-1.00", "currency": "EUR"}}


def test_version_2_transactions_are_read_until_the_page_key_is_missing() -> None:
    pages = [
        answer(body={"transactions": {"booked": [transaction(1)]}, "page_key": "k/2"}),
        answer(body={"transactions": {"booked": []}, "page_key": "k3"}),
        answer(body={"transactions": {"booked": [transaction(2)]}, "page_key": None}),
    ]
    hub = ScriptedHub(*pages)
    consent = hub.tpp().consent(tokens())

    found = list(consent.native.transactions("a", date_from=datetime.date(2026, 11, 1), date_to="2026-11-30"))

    assert [one.transaction_id for one in found] == ["1", "2"]
    assert [request.url.params.get("page_key") for request in hub.requests] == [None, "k/2", "k3"]
    assert hub.requests[2].url.params["date_from"] == "2026-11-01"
    assert hub.requests[0].url.params["booking_status"] == "booked"


def test_a_failed_page_request_is_retried_without_losing_or_duplicating_items() -> None:
    hub = ScriptedHub(
        answer(body={"transactions": {"pending": [transaction(1)]}, "page_key": "2"}),
        httpx.ReadError("reset"),
        answer(body={"transactions": {"pending": [transaction(2)]}}),
    )

    found = list(hub.tpp().consent(tokens()).native.transactions("a", booking_status="pending"))

    assert [one.transaction_id for one in found] == ["1", "2"]


@pytest.mark.parametrize(("version", "kind"), [(1, AccountV1), (2, AccountReferenceV2)])
def test_the_version_of_a_consent_with_unified_scopes_is_queried_once(version: int, kind: type) -> None:
    details = {
        "consent_id": "consent-1",
        "status": "authorised",
        "consent_type": "reusable",
        "scopes": SCOPES[version].split(),
        "unified_scopes": ["accounts:read"],
        "bic": "DEMODEF1",
        "ibans": [],
        "account_ids": [],
        "account_numbers": [],
        "created_at": "2026-11-21T09:30:00+00:00",
        "valid_until": "2027-05-21T09:30:00+00:00",
    }
    listed = answer(body={"accounts": [{1: ACCOUNT_V1, 2: ACCOUNT_V2}[version]]})
    hub = ScriptedHub(answer(body=details), listed, listed)
    consent = hub.tpp().consent(replace(tokens(), scope="accounts:read"))

    found = [*consent.native.accounts(), *consent.native.accounts()]

    assert {type(account) for account in found} == {kind}
    assert consent.native.version() == version
    assert hub.paths == ["/tpp/consent", "/tpp/accounts", "/tpp/accounts"]


@pytest.mark.parametrize("scope", [SCOPES[2], "payments:write"])
def test_an_initiation_has_the_class_of_its_order(scope: str) -> None:
    initiated = {"payment_id": "P1", "confirmation_url": "https://bank.example/"}
    hub = ScriptedHub(answer(body=initiated), answer(body={**initiated, "status": "RCVD"}))
    pay = hub.tpp().consent(replace(tokens(), scope=scope)).native.pay
    order = SinglePaymentV2(
        creditor_account=PaymentAccountV2(iban="DE12100999000005820011"),
        creditor_name="Oak Street Books",
        instructed_amount=InstructedAmountV2(amount=Decimal("12.50"), currency="EUR"),
        callback_url="https://tpp.example.com/callback",
    )

    assert isinstance(pay(SinglePaymentV1(**PAYMENT_V1)), InitiationAnswerV1)
    assert isinstance(pay(order), InitiationAnswerV2)
    assert hub.paths == ["/tpp/payment_initiation"] * 2


def test_a_direct_payment_authenticates_by_the_client_secret() -> None:
    hub = ScriptedHub(answer(body={"payment_id": "P1", "confirmation_url": "https://bank.example/"}))

    paid = hub.tpp().native.pay_direct(DirectPaymentV1(bic="DEMOGB21", **PAYMENT_V1))

    assert isinstance(paid, InitiationAnswerV1)
    assert str(hub.header("Authorization")[0]).startswith("Basic ")
    assert hub.json()["amount"] == "1.10"


@pytest.mark.parametrize(
    ("final", "kind"),
    [({"payment_status": 4, "history": []}, ReportedStatus), ({"transaction_status": "ACSC"}, AskedStatus)],
)
def test_waiting_for_a_payment_ends_with_the_final_native_status(final: dict[str, Any], kind: type) -> None:
    pending = {"payment_status": 1, "history": []} if kind is ReportedStatus else {"transaction_status": "ACTC"}
    hub = ScriptedHub(*(answer(body={"payment_id": "P1", **status}) for status in (pending, final)))

    status = hub.tpp().consent(tokens()).native.wait_for_payment("P1")

    assert isinstance(status, kind)
    assert is_paid(status)
    assert hub.paths == ["/tpp/payment_status"] * 2


def test_funds_are_confirmed_in_the_format_of_the_version() -> None:
    hub = ScriptedHub(answer(body={"funds_available": True}))
    amount = FundsAmountV1(amount=Decimal("25.00"), currency="GBP")
    request = FundsRequestV1(account=FundsAccountV1(iban="GB10DEMO04000431926801"), instructed_amount=amount)

    assert hub.tpp().consent(tokens(version=1)).native.confirm_funds(request).funds_available
    assert hub.paths == ["/tpp/funds_confirmations"]
