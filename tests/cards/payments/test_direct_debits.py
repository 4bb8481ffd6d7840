"""Tests of mandates and direct debits: authorized creditors, payment decisions and processing at the cut-off."""

from typing import Any

import pytest

from chalicelib.cards.payments.provider_completion import finish_due_payments
from tests.cards.issuer import DAY, GBP, SEPA, Issuer
from tests.cards.programmes import DEBITS_A_YEAR, with_tariff
from tests.cards.stored_money import movements, payment, prove, state, transactions

CANCEL, DECIDE = "cancelExternalPaymentMandate", "changeDDExternalPaymentStatus"


@pytest.fixture(scope="module")
def tariff(issuer: Issuer) -> Issuer:
    return with_tariff(issuer)


def decide(issuer: Issuer, number: int, should_pay: int, reason: Any = 0, **members: Any) -> int | None:
    return issuer.do(DECIDE, epm_transaction_id=number, should_pay=should_pay, reason=reason, **members).status_code


def passed(issuer: Issuer, number: int) -> Any:
    return issuer.data("simulateDirectDebit", epm_transaction_id=number)


def announced(issuer: Issuer, amount: int = 2500, held: int = 10_000) -> tuple[Any, int, int]:
    address = issuer.funded_address(held)
    mandate = issuer.mandate(address)
    return address, mandate, issuer.debit(mandate, amount)["epm_transaction_id"]


# -- mandates


def test_cancelling_a_mandate_twice_returns_4005(issuer: Issuer) -> None:
    mandate = issuer.mandate(issuer.address())

    assert issuer.data(CANCEL, epm_mandate_id=mandate, reason=2) == []
    assert issuer.do(CANCEL, epm_mandate_id=mandate, reason=2).status_code == 4005
    assert issuer.do(CANCEL, epm_mandate_id=mandate, reason=99).status_code == 2005


def test_a_cancelled_mandate_rejects_new_and_pending_direct_debits(issuer: Issuer) -> None:
    address, mandate, number = announced(issuer)
    issuer.data(CANCEL, epm_mandate_id=mandate, reason=1)

    refused = issuer.debit(mandate, 100)
    assert (refused["state"], refused["reason"]) == ("J", "the mandate is cancelled")
    assert (passed(issuer, number)["state"], issuer.balances(address["account_id"])[0]) == ("J", 10_000)


def test_the_rejection_of_a_direct_debit_of_a_cancelled_mandate_is_final(issuer: Issuer) -> None:
    mandate = issuer.mandate(issuer.funded_address(100))
    issuer.data(CANCEL, epm_mandate_id=mandate, reason=1)
    number = issuer.debit(mandate, 100)["epm_transaction_id"]

    assert decide(issuer, number, 1) == 4008
    assert issuer.sim("simulateDirectDebit", epm_transaction_id=number).status_code == 4008
    issuer.clock.advance(DAY)
    issuer.hub.cards.call(finish_due_payments)
    assert state(issuer, number) == "J"


@pytest.mark.parametrize(("level", "code"), [(500, None), (499, 3011)])
def test_a_mandate_above_the_access_level_returns_3011(issuer: Issuer, level: int, code: int | None) -> None:
    mandate = issuer.mandate(issuer.address(issuer.account(access_level=500, currency_ison=GBP)))
    cancel = {"epm_mandate_id": mandate, "reason": 1}

    assert issuer.as_caller("other").do(CANCEL, **cancel).status_code == 3011
    assert issuer.as_caller("other").sim("simulateDirectDebit", epm_mandate_id=mandate, amount=1).status_code == 3011
    assert issuer.do(CANCEL, **cancel, access_level=level).status_code == code
    assert issuer.do(CANCEL, **cancel | {"epm_mandate_id": 999_999_999}).status_code == 3011


@pytest.mark.parametrize(("status", "code"), [("A", None), ("S", 4008), ("B", 4008)])
def test_a_mandate_can_be_created_only_for_an_active_address(issuer: Issuer, status: str, code: int | None) -> None:
    address = issuer.address()
    issuer.data("changeExternalPaymentAddressStatus", epm_address_id=address["id"], status=status)
    members = {"epm_address_id": address["id"], "creditor_name": "Gym", "reference": "M1"}

    assert issuer.sim("simulateMandate", **members).status_code == code


# -- from announcement to cut-off


def test_a_direct_debit_is_pending_and_holds_no_money_before_its_cut_off(issuer: Issuer) -> None:
    address = issuer.funded_address(10_000)

    told = issuer.debit(issuer.mandate(address), 2500)

    assert told == {
        "epm_transaction_id": told["epm_transaction_id"],
        "state": "P",
        "cut_off": issuer.clock.time() + DAY,
        "available_balance": 10_000,
        "settled_balance": 10_000,
    }
    issuer.pending_payment(address, 10_000)


def test_a_direct_debit_is_booked_with_its_mandate_at_its_cut_off(issuer: Issuer) -> None:
    address, mandate, number = announced(issuer)

    told = passed(issuer, number)

    assert told["state"] == "S"
    assert told["available_balance"] == 7500
    assert told["settled_balance"] == 7500
    _, debit = transactions(issuer, address["account_id"])
    assert debit["transaction_type"] == 62
    assert debit["direction"] == "debit"
    assert debit["holder_amount"] == 2500
    assert debit["epm_mandate_id"] == mandate
    assert debit["epm_transaction_id"] == number
    assert debit["reference"] == "MEMBER-7"
    assert issuer.sim("simulateDirectDebit", epm_transaction_id=number).status_code == 4008
    assert decide(issuer, number, 0) == 4008
    assert len(movements(issuer, address["account_id"])) == 2


def test_the_last_decision_on_a_direct_debit_applies(issuer: Issuer) -> None:
    address, _, number = announced(issuer)
    mandate = issuer.mandate(address)
    other = issuer.debit(mandate, 700)["epm_transaction_id"]

    assert [decide(issuer, number, word) for word in (0, 0, 1)] == [None, None, None]
    assert [decide(issuer, other, word) for word in (1, 0)] == [None, None]

    assert passed(issuer, number)["state"] == "S"
    assert passed(issuer, other)["state"] == "J"
    assert issuer.balances(address["account_id"]) == (7500, 7500, 0)


@pytest.mark.parametrize(("reason", "code"), [(9, None), ("0", None), (10, 2005), ("A", 2002)])
def test_a_decision_reason_outside_0_to_9_is_rejected(issuer: Issuer, reason: Any, code: int | None) -> None:
    _, _, number = announced(issuer)

    assert decide(issuer, number, 0, reason) == code


@pytest.mark.parametrize(("seconds", "code"), [(DAY - 1, None), (DAY, 4008)])
def test_a_decision_after_the_cut_off_returns_4008(issuer: Issuer, seconds: int, code: int | None) -> None:
    _, _, number = announced(issuer)
    issuer.clock.advance(seconds)

    assert decide(issuer, number, 0) == code


def test_a_decision_is_accepted_only_for_a_payment_that_is_a_direct_debit(issuer: Issuer) -> None:
    address = issuer.funded_address(10_000)
    came = issuer.inbound(address, 100)["epm_transaction_id"]

    assert decide(issuer, issuer.pending_payment(address, 100), 0) == 4008
    assert decide(issuer, came, 0) == 4008
    issuer.data("inboundReturn", epm_transaction_id=came)
    assert decide(issuer, came, 0) == 4004
    assert decide(issuer, 999_999_999, 0) == 3011


@pytest.mark.parametrize(("level", "code"), [(500, None), (499, 3011)])
def test_a_decision_above_the_access_level_returns_3011(issuer: Issuer, level: int, code: int | None) -> None:
    mandate = issuer.mandate(issuer.address(issuer.account(access_level=500, currency_ison=GBP)))
    number = issuer.debit(mandate, 100)["epm_transaction_id"]

    assert decide(issuer.as_caller("other"), number, 0) == 3011
    assert decide(issuer, number, 0, access_level=level) == code


# -- what is in the way of a direct debit


@pytest.mark.parametrize(("held", "final"), [(2500, "S"), (2499, "J")])
def test_a_direct_debit_above_the_available_balance_is_rejected(issuer: Issuer, held: int, final: str) -> None:
    address, _, number = announced(issuer, held=held + 700)
    issuer.pending_payment(address, 700)

    told = passed(issuer, number)

    assert (told["state"], told["available_balance"]) == (final, 0 if final == "S" else held)


@pytest.mark.parametrize(("status", "final"), [("A", "S"), ("R", "J"), ("S", "J")])
def test_a_direct_debit_is_paid_only_from_an_active_account(issuer: Issuer, status: str, final: str) -> None:
    address, _, number = announced(issuer)
    issuer.data("changeAccountStatus", account_id=address["account_id"], account_status=status)

    assert passed(issuer, number)["state"] == final


@pytest.mark.parametrize(("status", "final"), [("A", "S"), ("S", "J"), ("B", "J")])
def test_a_direct_debit_is_paid_only_from_an_active_address(issuer: Issuer, status: str, final: str) -> None:
    address, _, number = announced(issuer)
    issuer.data("changeExternalPaymentAddressStatus", epm_address_id=address["id"], status=status)

    assert passed(issuer, number)["state"] == final


def test_a_direct_debit_of_a_closed_account_is_rejected(issuer: Issuer) -> None:
    address = issuer.address()
    number = issuer.debit(issuer.mandate(address), 100)["epm_transaction_id"]
    issuer.data("changeAccountStatus", account_id=address["account_id"], account_status="C")

    assert passed(issuer, number)["state"] == "J"


def test_limits_count_direct_debits_and_ignore_rejected_direct_debits(tariff: Issuer) -> None:
    address = tariff.address(tariff.account(currency_ison=GBP, limit_group_id=DEBITS_A_YEAR))
    tariff.inbound(address, 10_000)
    mandate = tariff.mandate(address)

    states = [tariff.debit(mandate, amount, passed=True)["state"] for amount in (501, 499, 2, 1, 1)]

    assert states == ["J", "S", "J", "S", "J"]
    tariff.pending_payment(address, 9000)


# -- the schedule


def test_the_scheduled_job_handles_a_direct_debit_from_its_cut_off_time_on(issuer: Issuer) -> None:
    address, _, number = announced(issuer)
    poor = issuer.debit(issuer.mandate(issuer.address()), 100)["epm_transaction_id"]
    issuer.clock.advance(DAY - 1)
    issuer.hub.cards.call(finish_due_payments)
    assert (state(issuer, number), state(issuer, poor)) == ("P", "P")

    issuer.clock.advance(1)
    assert issuer.hub.cards.call(finish_due_payments) >= 2
    assert (state(issuer, number), state(issuer, poor)) == ("S", "J")
    assert payment(issuer, poor).reason
    assert issuer.hub.cards.call(finish_due_payments) == 0
    assert issuer.balances(address["account_id"]) == (7500, 7500, 0)


def test_the_scheduled_job_rejects_a_direct_debit_with_a_negative_decision(issuer: Issuer) -> None:
    address, _, number = announced(issuer)
    decide(issuer, number, 0, 4)
    issuer.clock.advance(DAY)

    issuer.hub.cards.call(finish_due_payments)

    assert (state(issuer, number), issuer.balances(address["account_id"])[0]) == ("J", 10_000)


def test_a_special_account_pays_direct_debits(issuer: Issuer) -> None:
    address = issuer.special_address()
    before = issuer.inbound(address, 1000)["settled_balance"]

    told = issuer.debit(issuer.mandate(address), 300, passed=True)

    assert (told["state"], told["settled_balance"]) == ("S", before - 300)


def test_a_sepa_address_pays_direct_debits(issuer: Issuer) -> None:
    address = issuer.address(method=SEPA)
    issuer.inbound(address, 1000)

    assert issuer.debit(issuer.mandate(address), 1000, passed=True)["available_balance"] == 0


def test_every_balance_equals_the_sum_of_its_ledger_rows(issuer: Issuer) -> None:
    prove(issuer)
