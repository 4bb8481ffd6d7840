"""Tests of payments between two addresses of this service, which are booked immediately without a provider."""

from typing import Any

import pytest

from tests.cards.issuer import EUR, GBP, SEPA, SPECIAL_GBP, Issuer
from tests.cards.programmes import IN_A_WEEK, OUT_A_DAY, with_tariff
from tests.cards.stored_money import movements, payment, prove, transactions

CHANGE = "changeExternalPaymentAddressStatus"


@pytest.fixture(scope="module")
def tariff(issuer: Issuer) -> Issuer:
    return with_tariff(issuer)


def to(address: Any) -> dict[str, Any]:
    return {"destination_iban": address["iban"]}


@pytest.mark.parametrize("country", [276, 250, 826])
def test_a_lower_case_iban_of_this_service_is_recognized(issuer: Issuer, country: int) -> None:
    source, target = issuer.funded_address(100, EUR), issuer.address(method=SEPA, country_ison=country)

    issuer.pending_payment(source, 100, destination_iban=target["iban"].lower())

    assert issuer.balances(target["account_id"]) == (100, 100, 0)


def test_a_payment_to_an_address_of_this_service_is_credited_immediately(issuer: Issuer) -> None:
    source, target = issuer.funded_address(10_000), issuer.address()
    sort_code = {name: target[name] for name in ("sort_code", "account_number")}

    answer = issuer.transfer(source, 2500, **{f"destination_{name}": value for name, value in sort_code.items()})

    assert (answer.status, "external_transaction_reference" in answer.data) == ("success", False)
    assert issuer.balances(source["account_id"]) == (7500, 7500, 0)
    assert issuer.balances(target["account_id"]) == (2500, 2500, 0)
    paid = payment(issuer, answer.data["id"])
    assert paid.counterpart is not None
    came = payment(issuer, paid.counterpart)
    assert paid.state == "S"
    assert came.state == "S"
    assert came.payment == "in"
    assert came.counterpart == paid.id
    out, into = (transactions(issuer, source["account_id"])[-1], transactions(issuer, target["account_id"])[-1])
    assert out["id"] == answer.data["transaction_id"]
    assert out["transaction_type"] == 61
    assert out["trans_link"] == answer.data["trans_link"]
    assert into["transaction_type"] == 60
    assert into["direction"] == "credit"
    assert into["holder_amount"] == 2500
    assert (
        movements(issuer, source["account_id"])[-1]["entries"] == movements(issuer, target["account_id"])[-1]["entries"]
    )


@pytest.mark.parametrize(("amount", "code"), [(10_000, None), (10_001, 5001)])
def test_an_internal_transfer_above_the_available_balance_returns_5001(
    issuer: Issuer, amount: int, code: int | None
) -> None:
    source, target = issuer.funded_address(10_000), issuer.address()

    assert issuer.transfer(source, amount, **to(target)).status_code == code
    assert issuer.balances(target["account_id"])[0] == (0 if code else amount)


def test_a_duplicate_internal_transfer_moves_money_once(issuer: Issuer) -> None:
    source, target, reference = issuer.funded_address(10_000), issuer.address(), issuer.reference()

    first = issuer.transfer(source, 100, **to(target), request_reference_id=reference)
    again = issuer.transfer(source, 100, **to(target), request_reference_id=reference)

    assert again.duplicated == 1
    assert again.data == first.data
    assert issuer.balances(target["account_id"])[0] == 100


@pytest.mark.parametrize(("result", "code"), [("settled", None), ("rejected", 4008), ("returned", 4008)])
def test_an_internal_transfer_accepts_only_the_result_settled(issuer: Issuer, result: str, code: int | None) -> None:
    source = issuer.funded_address(10_000)
    number = issuer.pending_payment(source, 100, **to(issuer.address()))

    answer = issuer.sim("simulateOutboundResult", epm_transaction_id=number, result=result)

    assert (answer.status_code, issuer.balances(source["account_id"])[0]) == (code, 9900)


def test_an_internal_transfer_reaches_an_account_of_another_programme_manager(issuer: Issuer, tariff: Issuer) -> None:
    source, target = issuer.funded_address(10_000), tariff.address()

    number = issuer.pending_payment(source, 2500, **to(target))

    assert tariff.balances(target["account_id"]) == (2500, 2500, 0)
    came = payment(issuer, number).counterpart
    assert issuer.do("inboundReturn", epm_transaction_id=came).status_code == 3011
    assert tariff.sim("simulateOutboundResult", epm_transaction_id=number, result="settled").status_code == 3011


@pytest.mark.parametrize(
    ("account_status", "address_status", "code"),
    [("A", "A", None), ("R", "A", None), ("S", "A", 7001), ("A", "S", 7001), ("A", "B", 7001)],
)
def test_a_suspended_or_blocked_destination_returns_7001(
    issuer: Issuer, account_status: str, address_status: str, code: int | None
) -> None:
    source = issuer.funded_address(10_000)
    target = issuer.address()
    issuer.data("changeAccountStatus", account_id=target["account_id"], account_status=account_status)
    issuer.data(CHANGE, epm_address_id=target["id"], status=address_status)

    answer = issuer.transfer(source, 100, **to(target))

    assert (answer.status_code, issuer.balances(target["account_id"])[0]) == (code, 0 if code else 100)
    assert issuer.balances(source["account_id"])[0] == (10_000 if code else 9900)


def test_a_transfer_above_a_limit_of_the_destination_returns_7001_and_is_not_counted(tariff: Issuer) -> None:
    source = tariff.address(tariff.account(currency_ison=GBP, limit_group_id=OUT_A_DAY))
    target = tariff.address(tariff.account(currency_ison=GBP, limit_group_id=IN_A_WEEK))
    tariff.inbound(source, 10_000)
    tariff.inbound(target, 500)

    codes = [tariff.transfer(source, amount, **to(target)).status_code for amount in (501, 500, 1, 0)]

    assert codes == [7001, None, 7001, 2005]
    assert tariff.transfer(source, 501).status_code == 5002
    assert tariff.transfer(source, 500).status == "success"


def test_an_internal_direct_credit_is_sent_back_by_a_direct_credit_return(issuer: Issuer) -> None:
    source, target = issuer.funded_address(2500), issuer.address()
    arrived = payment(issuer, issuer.pending_payment(source, 2500, **to(target), schemes="BACS")).counterpart

    assert issuer.do("inboundReturn", epm_transaction_id=arrived).status_code == 4008
    assert issuer.data("directCreditReturn", epm_transaction_id=arrived) == []
    assert issuer.balances(source["account_id"]) == (2500, 2500, 0)


def test_a_destination_in_another_currency_returns_7001(issuer: Issuer) -> None:
    source, target = issuer.funded_address(10_000, EUR), issuer.address()

    assert issuer.transfer(source, 100, **to(target)).status_code == 7001


def test_a_transfer_to_the_same_account_returns_2005(issuer: Issuer) -> None:
    source = issuer.funded_address(10_000)
    another = issuer.address(source["account_id"])

    assert issuer.transfer(source, 100, **to(source)).status_code == 2005
    assert issuer.transfer(source, 100, **to(another)).status_code == 2005
    assert issuer.balances(source["account_id"]) == (10_000, 10_000, 0)


# -- special accounts


def test_a_special_account_receives_and_sends_payments(issuer: Issuer) -> None:
    source, account = issuer.special_address(), f"special_account#1.{SPECIAL_GBP}"
    earlier = len(transactions(issuer, account))
    before = issuer.inbound(source, 10_000)["available_balance"]
    target = issuer.address()

    assert issuer.transfer(source, before + 1).status_code == 5001
    number = issuer.pending_payment(source, 2500)
    assert issuer.result(number, "settled")["available_balance"] == before - 2500
    issuer.pending_payment(source, 500, **to(target))
    assert issuer.balances(target["account_id"]) == (500, 500, 0)
    issuer.pending_payment(target, 100, **to(source))
    assert issuer.inbound(source, 1)["available_balance"] == before - 2500 - 500 + 100 + 1
    rows = transactions(issuer, account)[earlier:]
    assert [row["transaction_type"] for row in rows] == [60, 61, 61, 60, 60]


def test_a_transfer_to_a_special_account_in_another_currency_is_converted(issuer: Issuer) -> None:
    sepa = issuer.special_address(SPECIAL_GBP, SEPA)
    before = issuer.inbound(sepa, 10_000)["available_balance"]

    number = issuer.pending_payment(sepa, 1000)

    assert issuer.result(number, "settled")["settled_balance"] == before - 862  # 8.612 pounds
    assert issuer.transfer(sepa, 100, **to(issuer.special_address())).status_code == 2005


def test_every_balance_equals_the_sum_of_its_ledger_rows(issuer: Issuer) -> None:
    prove(issuer)
