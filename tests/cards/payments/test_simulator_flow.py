"""Tests of the simulator, which creates inbound payments and payment results."""

from typing import Any

import pytest

from tests.cards.issuer import EUR, GBP, SEPA, UK, Issuer
from tests.cards.programmes import IN_A_WEEK, YEN, with_tariff
from tests.cards.stored_money import entries, movements, payment, prove, transactions

IN = "simulateInboundPayment"
DAY = 24 * 3600


@pytest.fixture(scope="module")
def tariff(issuer: Issuer) -> Issuer:
    return with_tariff(issuer)


def members(address: Any, amount: int = 100, **others: Any) -> dict[str, Any]:
    least = {"epm_address_id": address["id"], "amount": amount, "currency_ison": address["currency_ison"]}
    return least | {"scheme": "FPS" if address["epm_method_id"] == UK else "SCT", "sender_name": "Bob"} | others


def test_an_inbound_payment_is_booked_immediately(issuer: Issuer) -> None:
    address = issuer.address()

    told = issuer.data(IN, **members(address, 2500, reference="Salary"))

    assert told == {
        "epm_transaction_id": told["epm_transaction_id"],
        "transaction_id": told["transaction_id"],
        "state": "S",
        "available_balance": 2500,
        "settled_balance": 2500,
    }
    [row] = transactions(issuer, address["account_id"])
    assert row["id"] == told["transaction_id"]
    assert row["transaction_type"] == 60
    assert row["direction"] == "credit"
    assert (row["amount"], row["reference"]) == (2500, "Salary")
    [movement] = movements(issuer, address["account_id"])
    assert entries(movement) == {("settled", GBP): 2500, ("external", GBP): -2500}


@pytest.mark.parametrize(
    ("account", "address", "final"),
    [("A", "A", "S"), ("R", "A", "S"), ("S", "A", "J"), ("C", "A", "J"), ("A", "S", "J"), ("A", "B", "J")],
)
def test_an_inbound_payment_to_a_suspended_closed_or_blocked_destination_bounces(
    issuer: Issuer, account: str, address: str, final: str
) -> None:
    target = issuer.address()
    issuer.data("changeAccountStatus", account_id=target["account_id"], account_status=account)
    issuer.data("changeExternalPaymentAddressStatus", epm_address_id=target["id"], status=address)

    told = issuer.data(IN, **members(target, 2500))

    assert told["state"] == final
    assert ("transaction_id" in told) == (final == "S")
    assert ("reason" in told) == (final == "J")
    assert len(movements(issuer, target["account_id"])) == (1 if final == "S" else 0)
    assert issuer.balances(target["account_id"])[0] == told["available_balance"] == (2500 if final == "S" else 0)
    if final == "J":
        assert payment(issuer, told["epm_transaction_id"]).reason
        assert issuer.do("inboundReturn", epm_transaction_id=told["epm_transaction_id"]).status_code == 4008


@pytest.mark.parametrize(
    ("method", "scheme", "code"),
    [
        (UK, "FPS", None),
        (UK, "bacs", None),
        (UK, "CHAPS", None),
        (UK, "SCT", 2005),
        (SEPA, "SCTINST", None),
        (SEPA, "SCT", None),
        (SEPA, "FPS", 2005),
        (SEPA, "WIRE", 2005),
    ],
)
def test_an_inbound_payment_by_a_scheme_of_a_different_payment_method_returns_2005(
    issuer: Issuer, method: int, scheme: str, code: int | None
) -> None:
    assert issuer.sim(IN, **members(issuer.address(method=method), scheme=scheme)).status_code == code


def test_an_inbound_payment_of_zero_or_in_a_different_currency_is_rejected(issuer: Issuer) -> None:
    address = issuer.address()

    assert issuer.sim(IN, **members(address, currency_ison=EUR)).status_code == 5003
    assert issuer.sim(IN, **members(address, 0)).status_code == 2005
    assert issuer.sim(IN, **members(address, 1)).status == "success"


def test_the_largest_amounts_are_booked_exactly(tariff: Issuer) -> None:
    most = 999_999_999_999_999
    yen = tariff.account(currency_ison=YEN)
    address, euros = tariff.address(yen, SEPA), tariff.address(method=SEPA)

    assert [tariff.inbound(euros, most)["settled_balance"] for _ in range(2)] == [most, 2 * most]
    assert tariff.inbound(address, most)["settled_balance"] == 1_559_999_999_999_998  # 156 yen for a euro: .44
    assert tariff.transfer(euros, 99_999_999_999, schemes="SCT").status == "success"
    assert tariff.transfer(euros, 100_000_000_000, schemes="SCT").status_code == 2005


@pytest.mark.parametrize(("level", "code"), [(500, None), (499, 3010)])
def test_an_inbound_payment_to_an_address_above_the_access_level_returns_3010(
    issuer: Issuer, level: int, code: int | None
) -> None:
    address = issuer.address(issuer.account(access_level=500, currency_ison=GBP))

    assert issuer.as_caller("other").sim(IN, **members(address)).status_code == 3010
    assert issuer.sim(IN, **members(address), access_level=level).status_code == code


def test_a_duplicate_inbound_payment_is_booked_once(issuer: Issuer) -> None:
    address, reference = issuer.address(), issuer.reference()

    first, again = (issuer.sim(IN, **members(address), request_reference_id=reference) for _ in range(2))

    assert again.duplicated == 1
    assert again.data == first.data
    assert issuer.balances(address["account_id"])[0] == 100


def test_an_inbound_payment_above_a_limit_bounces(tariff: Issuer) -> None:
    address = tariff.address(tariff.account(currency_ison=GBP, limit_group_id=IN_A_WEEK))

    assert [tariff.inbound(address, amount)["state"] for amount in (1001, 900, 101, 100, 1)] == list("JSJSJ")
    tariff.clock.advance(7 * DAY)
    assert [tariff.inbound(address, amount)["state"] for amount in (1000, 1)] == list("SJ")


def test_an_inbound_payment_below_one_minor_unit_is_booked_as_zero(tariff: Issuer) -> None:
    account = tariff.account(currency_ison=GBP)
    yen = tariff.account(currency_ison=YEN)

    assert tariff.inbound(tariff.address(account, SEPA), 1)["settled_balance"] == 0  # 0.78 pence
    assert tariff.inbound(tariff.address(yen, SEPA), 1)["settled_balance"] == 1  # 1.56 yen


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({}, 2006),
        ({"epm_mandate_id": 1}, 2006),
        ({"epm_mandate_id": 1, "amount": 0}, 2005),
        ({"epm_mandate_id": 1, "epm_transaction_id": 1, "amount": 1}, 2007),
        ({"epm_transaction_id": 1, "amount": 1}, 2007),
        ({"epm_mandate_id": 999_999_999, "amount": 1}, 3011),
        ({"epm_transaction_id": 999_999_999}, 3011),
    ],
)
def test_a_direct_debit_with_missing_or_conflicting_members_is_rejected(
    issuer: Issuer, given: dict[str, int], code: int
) -> None:
    assert issuer.sim("simulateDirectDebit", **given).status_code == code


def test_a_payment_result_is_accepted_only_for_an_outbound_payment(issuer: Issuer) -> None:
    address = issuer.funded_address(1000)
    came = issuer.inbound(address, 100)["epm_transaction_id"]
    debit = issuer.debit(issuer.mandate(address), 100)["epm_transaction_id"]
    result = {"result": "settled"}

    assert issuer.sim("simulateOutboundResult", epm_transaction_id=came, **result).status_code == 4008
    assert issuer.sim("simulateOutboundResult", epm_transaction_id=debit, **result).status_code == 4008
    assert issuer.sim("simulateOutboundResult", epm_transaction_id=999_999_999, **result).status_code == 3011
    assert issuer.sim("simulateOutboundResult", epm_transaction_id=came, result="lost").status_code == 2005
    assert issuer.sim("simulateOutboundResult", epm_transaction_id=came, result="vanished").status_code == 2005


def test_every_balance_equals_the_sum_of_its_ledger_rows(issuer: Issuer) -> None:
    prove(issuer)
