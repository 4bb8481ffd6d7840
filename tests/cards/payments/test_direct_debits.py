"""Mandates and direct debits: who may collect, what is to be paid, and what happens at the cut-off."""

from __future__ import annotations

from typing import Any

import pytest

from chalicelib.cards.payments.provider_completion import finish_due_payments
from tests.cards.ledgers import movements, payment, prove, state, transactions
from tests.cards.scenes import DAY, GBP, SEPA, Scene
from tests.cards.tariff import DEBITS_A_YEAR, with_tariff

CANCEL, DECIDE = "cancelExternalPaymentMandate", "changeDDExternalPaymentStatus"


@pytest.fixture(scope="module")
def tariff(stage: Scene) -> Scene:
    return with_tariff(stage)


def decide(scene: Scene, number: int, should_pay: int, reason: Any = 0, **members: Any) -> int | None:
    """The code that the decision is refused with."""
    return scene.do(DECIDE, epm_transaction_id=number, should_pay=should_pay, reason=reason, **members).status_code


def passed(scene: Scene, number: int) -> Any:
    """What came of a direct debit, its cut-off having passed."""
    return scene.data("simulateDirectDebit", epm_transaction_id=number)


def announced(scene: Scene, amount: int = 2500, held: int = 10_000) -> tuple[Any, int, int]:
    """The address of an account with money, a mandate, and a direct debit that waits."""
    address = scene.funded(held)
    mandate = scene.mandate(address)
    return address, mandate, scene.debit(mandate, amount)["epm_transaction_id"]


# -- mandates


def test_cancelling_a_mandate_twice_returns_4005(stage: Scene) -> None:
    mandate = stage.mandate(stage.address())

    assert stage.data(CANCEL, epm_mandate_id=mandate, reason=2) == []
    assert stage.do(CANCEL, epm_mandate_id=mandate, reason=2).status_code == 4005
    assert stage.do(CANCEL, epm_mandate_id=mandate, reason=99).status_code == 2005


def test_a_cancelled_mandate_rejects_new_and_pending_direct_debits(stage: Scene) -> None:
    address, mandate, number = announced(stage)
    stage.data(CANCEL, epm_mandate_id=mandate, reason=1)

    refused = stage.debit(mandate, 100)
    assert (refused["state"], refused["reason"]) == ("J", "the mandate is cancelled")
    assert (passed(stage, number)["state"], stage.balances(address["account_id"])[0]) == ("J", 10_000)


def test_a_rejected_direct_debit_of_a_cancelled_mandate_is_final(stage: Scene) -> None:
    mandate = stage.mandate(stage.funded(100))
    stage.data(CANCEL, epm_mandate_id=mandate, reason=1)
    number = stage.debit(mandate, 100)["epm_transaction_id"]

    assert decide(stage, number, 1) == 4008
    assert stage.sim("simulateDirectDebit", epm_transaction_id=number).status_code == 4008
    stage.clock.advance(DAY)
    stage.hub.cards.call(finish_due_payments)
    assert state(stage, number) == "J"


@pytest.mark.parametrize(("level", "code"), [(500, None), (499, 3011)])
def test_a_mandate_above_the_access_level_returns_3011(stage: Scene, level: int, code: int | None) -> None:
    mandate = stage.mandate(stage.address(stage.account(access_level=500, currency_ison=GBP)))
    cancel = {"epm_mandate_id": mandate, "reason": 1}

    assert stage.of_caller("other").do(CANCEL, **cancel).status_code == 3011
    assert stage.of_caller("other").sim("simulateDirectDebit", epm_mandate_id=mandate, amount=1).status_code == 3011
    assert stage.do(CANCEL, **cancel, access_level=level).status_code == code
    assert stage.do(CANCEL, **cancel | {"epm_mandate_id": 999_999_999}).status_code == 3011


@pytest.mark.parametrize(("status", "code"), [("A", None), ("S", 4008), ("B", 4008)])
def test_only_an_active_address_gets_mandates(stage: Scene, status: str, code: int | None) -> None:
    address = stage.address()
    stage.data("changeExternalPaymentAddressStatus", epm_address_id=address["id"], status=status)
    members = {"epm_address_id": address["id"], "creditor_name": "Gym", "reference": "M1"}

    assert stage.sim("simulateMandate", **members).status_code == code


# -- from announcement to cut-off


def test_a_direct_debit_is_pending_and_holds_nothing_before_its_cut_off(stage: Scene) -> None:
    address = stage.funded(10_000)

    told = stage.debit(stage.mandate(address), 2500)

    assert told == {
        "epm_transaction_id": told["epm_transaction_id"],
        "state": "P",
        "cut_off": stage.clock.time() + DAY,
        "available_balance": 10_000,
        "settled_balance": 10_000,
    }
    stage.paid(address, 10_000)


def test_a_direct_debit_is_booked_with_its_mandate_at_its_cut_off(stage: Scene) -> None:
    address, mandate, number = announced(stage)

    told = passed(stage, number)

    assert told["state"] == "S"
    assert told["available_balance"] == 7500
    assert told["settled_balance"] == 7500
    _, debit = transactions(stage, address["account_id"])
    assert debit["transaction_type"] == 62
    assert debit["direction"] == "debit"
    assert debit["holder_amount"] == 2500
    assert debit["epm_mandate_id"] == mandate
    assert debit["epm_transaction_id"] == number
    assert debit["reference"] == "MEMBER-7"
    assert stage.sim("simulateDirectDebit", epm_transaction_id=number).status_code == 4008
    assert decide(stage, number, 0) == 4008
    assert len(movements(stage, address["account_id"])) == 2


def test_the_last_decision_on_a_direct_debit_counts(stage: Scene) -> None:
    address, _, number = announced(stage)
    mandate = stage.mandate(address)
    other = stage.debit(mandate, 700)["epm_transaction_id"]

    assert [decide(stage, number, word) for word in (0, 0, 1)] == [None, None, None]
    assert [decide(stage, other, word) for word in (1, 0)] == [None, None]

    assert passed(stage, number)["state"] == "S"
    assert passed(stage, other)["state"] == "J"
    assert stage.balances(address["account_id"]) == (7500, 7500, 0)


@pytest.mark.parametrize(("reason", "code"), [(9, None), ("0", None), (10, 2005), ("A", 2002)])
def test_a_decision_reason_outside_0_to_9_is_rejected(stage: Scene, reason: Any, code: int | None) -> None:
    _, _, number = announced(stage)

    assert decide(stage, number, 0, reason) == code


@pytest.mark.parametrize(("seconds", "code"), [(DAY - 1, None), (DAY, 4008)])
def test_a_decision_after_the_cut_off_returns_4008(stage: Scene, seconds: int, code: int | None) -> None:
    _, _, number = announced(stage)
    stage.clock.advance(seconds)

    assert decide(stage, number, 0) == code


def test_a_decision_is_accepted_only_for_a_direct_debit(stage: Scene) -> None:
    address = stage.funded(10_000)
    came = stage.inbound(address, 100)["epm_transaction_id"]

    assert decide(stage, stage.paid(address, 100), 0) == 4008
    assert decide(stage, came, 0) == 4008
    stage.data("inboundReturn", epm_transaction_id=came)
    assert decide(stage, came, 0) == 4004
    assert decide(stage, 999_999_999, 0) == 3011


@pytest.mark.parametrize(("level", "code"), [(500, None), (499, 3011)])
def test_a_decision_above_the_access_level_returns_3011(stage: Scene, level: int, code: int | None) -> None:
    mandate = stage.mandate(stage.address(stage.account(access_level=500, currency_ison=GBP)))
    number = stage.debit(mandate, 100)["epm_transaction_id"]

    assert decide(stage.of_caller("other"), number, 0) == 3011
    assert decide(stage, number, 0, access_level=level) == code


# -- what is in the way of a direct debit


@pytest.mark.parametrize(("held", "final"), [(2500, "S"), (2499, "J")])
def test_a_direct_debit_above_the_available_balance_is_rejected(stage: Scene, held: int, final: str) -> None:
    address, _, number = announced(stage, held=held + 700)
    stage.paid(address, 700)

    told = passed(stage, number)

    assert (told["state"], told["available_balance"]) == (final, 0 if final == "S" else held)


@pytest.mark.parametrize(("status", "final"), [("A", "S"), ("R", "J"), ("S", "J")])
def test_a_direct_debit_is_paid_by_an_active_account_only(stage: Scene, status: str, final: str) -> None:
    address, _, number = announced(stage)
    stage.data("changeAccountStatus", account_id=address["account_id"], account_status=status)

    assert passed(stage, number)["state"] == final


@pytest.mark.parametrize(("status", "final"), [("A", "S"), ("S", "J"), ("B", "J")])
def test_a_direct_debit_is_paid_by_an_active_address_only(stage: Scene, status: str, final: str) -> None:
    address, _, number = announced(stage)
    stage.data("changeExternalPaymentAddressStatus", epm_address_id=address["id"], status=status)

    assert passed(stage, number)["state"] == final


def test_a_direct_debit_of_a_closed_account_is_rejected(stage: Scene) -> None:
    address = stage.address()
    number = stage.debit(stage.mandate(address), 100)["epm_transaction_id"]
    stage.data("changeAccountStatus", account_id=address["account_id"], account_status="C")

    assert passed(stage, number)["state"] == "J"


def test_limits_count_direct_debits_and_ignore_rejected_ones(tariff: Scene) -> None:
    address = tariff.address(tariff.account(currency_ison=GBP, limit_group_id=DEBITS_A_YEAR))
    tariff.inbound(address, 10_000)
    mandate = tariff.mandate(address)

    states = [tariff.debit(mandate, amount, passed=True)["state"] for amount in (501, 499, 2, 1, 1)]

    assert states == ["J", "S", "J", "S", "J"]
    tariff.paid(address, 9000)


# -- the schedule


def test_the_schedule_handles_direct_debits_from_the_second_of_their_cut_off(stage: Scene) -> None:
    address, _, number = announced(stage)
    poor = stage.debit(stage.mandate(stage.address()), 100)["epm_transaction_id"]
    stage.clock.advance(DAY - 1)
    stage.hub.cards.call(finish_due_payments)
    assert (state(stage, number), state(stage, poor)) == ("P", "P")

    stage.clock.advance(1)
    assert stage.hub.cards.call(finish_due_payments) >= 2
    assert (state(stage, number), state(stage, poor)) == ("S", "J")
    assert payment(stage, poor).reason
    assert stage.hub.cards.call(finish_due_payments) == 0
    assert stage.balances(address["account_id"]) == (7500, 7500, 0)


def test_the_schedule_rejects_a_direct_debit_with_a_negative_decision(stage: Scene) -> None:
    address, _, number = announced(stage)
    decide(stage, number, 0, 4)
    stage.clock.advance(DAY)

    stage.hub.cards.call(finish_due_payments)

    assert (state(stage, number), stage.balances(address["account_id"])[0]) == ("J", 10_000)


def test_a_special_account_pays_direct_debits(stage: Scene) -> None:
    address = stage.special_address()
    before = stage.inbound(address, 1000)["settled_balance"]

    told = stage.debit(stage.mandate(address), 300, passed=True)

    assert (told["state"], told["settled_balance"]) == ("S", before - 300)


def test_a_sepa_address_pays_direct_debits(stage: Scene) -> None:
    address = stage.address(method=SEPA)
    stage.inbound(address, 1000)

    assert stage.debit(stage.mandate(address), 1000, passed=True)["available_balance"] == 0


def test_every_balance_is_the_sum_of_its_rows(stage: Scene) -> None:
    prove(stage)
