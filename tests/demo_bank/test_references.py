"""Test references of payments: each reference triggers a failure that a TPP must handle."""

from decimal import Decimal

import pytest

from chalicelib.demo_bank import clearing, execution
from chalicelib.demo_bank.banks import get_bank
from chalicelib.demo_bank.instructions import REFERENCES, decimal_amount
from chalicelib.demo_bank.transactions import generate_statement
from tests.demo_bank.single_bank import BULK, PAID, SINGLE, SingleBank, code, outcome


def test_every_test_reference_is_documented_and_fits_into_a_version_1_reference(bank: SingleBank) -> None:
    page = bank.call("GET", bank.domain).text
    for reference in REFERENCES:
        assert len(reference.name) <= 18
        assert reference.name in page


@pytest.mark.parametrize(
    ("reference", "first", "second"),
    [("TEST-NO-FUNDS", 5101, "INSUFFICIENT_FUNDS"), ("TEST-REFUSED", 5102, "PAYMENT_REFUSED")],
)
def test_a_test_reference_rejects_a_payment(bank: SingleBank, reference: str, first: int, second: str) -> None:
    given, name = bank.token(), bank.profile.name
    for path, body in (
        (SINGLE[name], bank.single(reference=reference)),
        (BULK[name], bank.bulk(["1", "2"], reference=reference)),
    ):
        assert code(bank.webhook(path, body, token=given)) == (400, bank.either(first, second))


def test_a_structured_test_reference_is_recognised(two: SingleBank) -> None:
    structured = {"reference": "TEST-REFUSED", "reference_type": "SCOR"}
    body = two.single() | {"remittance_information_structured": structured}
    assert code(two.webhook(SINGLE["two"], body, token=two.token())) == (400, "PAYMENT_REFUSED")


def test_the_timeout_test_reference_delays_the_response(bank: SingleBank) -> None:
    waits: list[float] = []
    get_bank(bank.profile.name, bank).pause = waits.append
    answer = bank.initiate(reference="TEST-TIMEOUT")
    assert 20 < waits[0] < 29
    assert outcome(bank.at_confirmation(answer).refuse_to_pay())


def test_the_malformed_test_reference_returns_a_malformed_response(bank: SingleBank) -> None:
    reply = bank.webhook(bank.single_path, bank.single(reference="TEST-MALFORMED"), token=bank.token())
    assert reply.status == 200
    assert "confirmation_url" not in reply.body


def test_the_late_reject_test_reference_rejects_a_confirmed_payment_and_refunds_the_amount(bank: SingleBank) -> None:
    given = bank.token()
    before = bank.balances(given)
    answer = bank.initiate(given, reference="test-late-reject")
    browser = bank.at_confirmation(answer)
    back = outcome(browser.pay())
    assert back["status"] == bank.either("1", "ACSP")
    assert bank.balances(given) == (before[0], before[1] - PAID)
    bank.clock.advance(execution.SETTLE_SECONDS)
    clearing.process_due_payments(get_bank(bank.profile.name, bank))
    assert bank.balances(given) == before == bank.sums(given)
    assert bank.reported_statuses() == bank.either([2], ["ACSP", "RJCT"])
    assert bank.payment_status(back["payment_id"], given) == bank.either(2, "RJCT")
    assert "the money is back" in browser.open(answer["confirmation_url"]).text


def test_the_unknown_test_reference_returns_an_unknown_status_for_ten_minutes(bank: SingleBank) -> None:
    given = bank.token()
    back = bank.pay(given, reference="TEST-UNKNOWN")
    assert back["status"] == bank.either("0", "PDNG")
    bank.clock.advance(execution.UNKNOWN_SECONDS - 1)
    assert bank.payment_status(back["payment_id"], given) == bank.either(0, "PDNG")
    bank.clock.advance(1)
    assert bank.payment_status(back["payment_id"], given) == bank.either(4, "ACSC")
    clearing.process_due_payments(get_bank(bank.profile.name, bank))
    assert bank.reported_statuses() == bank.either([0, 4], ["PDNG", "ACSC"])


def test_a_payment_with_the_pending_test_reference_reserves_its_amount_for_30_days(bank: SingleBank) -> None:
    given = bank.token()
    before = bank.balances(given)
    back = bank.pay(given, reference="TEST-PENDING")
    assert back["status"] == bank.either("1", "PDNG")
    assert bank.balances(given) == (before[0], before[1] - PAID)
    bank.clock.advance(29 * 86_400)
    clearing.process_due_payments(get_bank(bank.profile.name, bank))
    assert bank.sums(given)[1] == bank.balances(given)[1] == bank.balances(given)[0] + reserved(bank) - PAID
    bank.clock.advance(86_400)
    assert bank.payment_status(back["payment_id"], given) == bank.either(1, "PDNG")
    assert bank.sums(given)[1] == bank.balances(given)[1] == bank.balances(given)[0] + reserved(bank)
    assert bank.reported_statuses() == bank.either([], ["PDNG"])


def reserved(bank: SingleBank) -> Decimal:
    pending = generate_statement(bank.account(), bank.clock.now().date()).pending
    return decimal_amount(sum(entry.amount for entry in pending), bank.account().currency)
