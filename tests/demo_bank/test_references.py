"""Named test references: each failure that a TPP has to handle, forced."""

from __future__ import annotations

from decimal import Decimal

import pytest

from chalicelib.demo_bank import clearing, execution
from chalicelib.demo_bank.banks import get_bank
from chalicelib.demo_bank.instructions import REFERENCES, decimal_amount
from chalicelib.demo_bank.transactions import generate_statement
from tests.demo_bank.paying import (
    BULK,
    PAID,
    SINGLE,
    account,
    at_confirmation,
    balances,
    bulk,
    code,
    either,
    initiate,
    outcome,
    pay,
    reported,
    single,
    status,
    sums,
    token,
)
from tests.demo_bank.stage import Stage


def test_names_of_test_references_fit_into_a_version_1_reference_and_are_documented(stage: Stage) -> None:
    page = stage.call("GET", stage.domain).text
    for reference in REFERENCES:
        assert len(reference.name) <= 18
        assert reference.name in page


@pytest.mark.parametrize(
    ("reference", "first", "second"),
    [("TEST-NO-FUNDS", 5101, "INSUFFICIENT_FUNDS"), ("TEST-REFUSED", 5102, "PAYMENT_REFUSED")],
)
def test_a_test_reference_rejects_a_payment(stage: Stage, reference: str, first: int, second: str) -> None:
    given, name = token(stage), stage.profile.name
    for path, body in (
        (SINGLE[name], single(stage, reference=reference)),
        (BULK[name], bulk(stage, ["1", "2"], reference=reference)),
    ):
        assert code(stage.webhook(path, body, token=given)) == (400, either(stage, first, second))


def test_a_structured_test_reference_is_recognised(two: Stage) -> None:
    structured = {"reference": "TEST-REFUSED", "reference_type": "SCOR"}
    body = single(two) | {"remittance_information_structured": structured}
    assert code(two.webhook(SINGLE["two"], body, token=token(two))) == (400, "PAYMENT_REFUSED")


def test_the_timeout_reference_delays_the_answer(stage: Stage) -> None:
    waits: list[float] = []
    get_bank(stage.profile.name, stage).pause = waits.append
    answer = initiate(stage, reference="TEST-TIMEOUT")
    assert 20 < waits[0] < 29
    assert outcome(at_confirmation(stage, answer).refuse_to_pay())


def test_the_malformed_reference_returns_a_malformed_answer(stage: Stage) -> None:
    reply = stage.webhook(SINGLE[stage.profile.name], single(stage, reference="TEST-MALFORMED"), token=token(stage))
    assert reply.status == 200
    assert "confirmation_url" not in reply.body


def test_the_late_reject_reference_rejects_a_confirmed_payment_and_returns_the_money(stage: Stage) -> None:
    given = token(stage)
    before = balances(stage, given)
    answer = initiate(stage, given, reference="test-late-reject")
    browser = at_confirmation(stage, answer)
    back = outcome(browser.pay())
    assert back["status"] == either(stage, "1", "ACSP")
    assert balances(stage, given) == (before[0], before[1] - PAID)
    stage.clock.advance(execution.SETTLE_SECONDS)
    clearing.process_due_payments(get_bank(stage.profile.name, stage))
    assert balances(stage, given) == before == sums(stage, given)
    assert reported(stage) == either(stage, [2], ["ACSP", "RJCT"])
    assert status(stage, back["payment_id"], given) == either(stage, 2, "RJCT")
    assert "the money is back" in browser.open(answer["confirmation_url"]).text


def test_the_unknown_reference_keeps_the_status_unknown_for_ten_minutes(stage: Stage) -> None:
    given = token(stage)
    back = pay(stage, given, reference="TEST-UNKNOWN")
    assert back["status"] == either(stage, "0", "PDNG")
    stage.clock.advance(execution.UNKNOWN_SECONDS - 1)
    assert status(stage, back["payment_id"], given) == either(stage, 0, "PDNG")
    stage.clock.advance(1)
    assert status(stage, back["payment_id"], given) == either(stage, 4, "ACSC")
    clearing.process_due_payments(get_bank(stage.profile.name, stage))
    assert reported(stage) == either(stage, [0, 4], ["PDNG", "ACSC"])


def test_the_pending_reference_keeps_a_payment_pending_and_its_money_reserved_for_30_days(stage: Stage) -> None:
    given = token(stage)
    before = balances(stage, given)
    back = pay(stage, given, reference="TEST-PENDING")
    assert back["status"] == either(stage, "1", "PDNG")
    assert balances(stage, given) == (before[0], before[1] - PAID)
    stage.clock.advance(29 * 86_400)
    clearing.process_due_payments(get_bank(stage.profile.name, stage))
    assert sums(stage, given)[1] == balances(stage, given)[1] == balances(stage, given)[0] + reserved(stage) - PAID
    stage.clock.advance(86_400)
    assert status(stage, back["payment_id"], given) == either(stage, 1, "PDNG")
    assert sums(stage, given)[1] == balances(stage, given)[1] == balances(stage, given)[0] + reserved(stage)
    assert reported(stage) == either(stage, [], ["PDNG"])


def reserved(stage: Stage) -> Decimal:
    """What the generated pending transactions of today come to."""
    pending = generate_statement(account(stage), stage.clock.now().date()).pending
    return decimal_amount(sum(entry.amount for entry in pending), account(stage).currency)
