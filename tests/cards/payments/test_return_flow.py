"""Tests of returns: the permitted actions for each payment, full returns, and rejected returns."""

from typing import Any

import pytest

from chalicelib.cards.payments.provider_completion import finish_due_payments
from tests.cards.issuer import EUR, GBP, SEPA, SPECIAL_EUR, UK, Envelope, Issuer
from tests.cards.programmes import SEPARATE, with_tariff
from tests.cards.stored_money import entries, movements, payment, prove, state, transactions

INBOUND, CREDIT, DEBIT = "inboundReturn", "directCreditReturn", "directDebitReturn"


@pytest.fixture(scope="module")
def tariff(issuer: Issuer) -> Issuer:
    return with_tariff(issuer)


def came(issuer: Issuer, amount: int, scheme: str = "FPS", **members: Any) -> tuple[Any, int]:
    uk = scheme in ("FPS", "BACS", "CHAPS")
    address = issuer.address(method=UK if uk else SEPA)
    return address, issuer.inbound(address, amount, scheme=scheme, **members)["epm_transaction_id"]


def back(issuer: Issuer, number: int, action: str = INBOUND, **members: Any) -> Envelope:
    name = "returned_epm_transaction_id" if action == DEBIT else "epm_transaction_id"
    least: dict[str, Any] = {name: number} | ({"reason": "MD06"} if action == DEBIT else {})
    return issuer.do(action, **least | members)


def of_every_kind(issuer: Issuer, address: Any) -> dict[str, int]:
    found = {"settled in": issuer.inbound(address, 10_000)["epm_transaction_id"]}
    found["direct credit"] = issuer.inbound(address, 100, scheme="BACS")["epm_transaction_id"]
    found["pending out"] = issuer.pending_payment(address, 100)
    for result in ("settled", "rejected"):
        found[f"{result} out"] = issuer.pending_payment(address, 100)
        issuer.result(found[f"{result} out"], result)
    mandate = issuer.mandate(address)
    found["pending debit"] = issuer.debit(mandate, 100)["epm_transaction_id"]
    found["settled debit"] = issuer.debit(mandate, 100, passed=True)["epm_transaction_id"]
    found["rejected debit"] = issuer.debit(mandate, 900_000, passed=True)["epm_transaction_id"]
    returned = issuer.inbound(address, 100)["epm_transaction_id"]
    found["the return"] = issuer.data(INBOUND, epm_transaction_id=returned)["id"]
    return found


def test_each_return_action_accepts_only_settled_payments_of_the_kind_of_the_action(issuer: Issuer) -> None:
    payments = of_every_kind(issuer, issuer.funded_address(5000))
    own = {INBOUND: "settled in", CREDIT: "direct credit", DEBIT: "settled debit"}

    codes = {
        back(issuer, number, action).status_code
        for action, kind in own.items()
        for other, number in payments.items()
        if other != kind
    }

    assert codes == {4008}
    assert [back(issuer, payments[kind], action).status_code for action, kind in own.items()] == [None, None, None]


def test_a_return_sends_back_the_whole_amount(issuer: Issuer) -> None:
    address, number = came(issuer, 2500)
    issuer.inbound(address, 100)

    answer = back(issuer, number, reason=2, reference="Not ours")

    own = {name: address[name] for name in ("id", "account_number", "account_name", "iban", "sort_code")}
    assert answer.data == {
        "id": answer.data["id"],
        "external_transaction_reference": 9_000_000_000 + answer.data["id"],
        "settlement_amount": 2500,
        "settlement_currency": GBP,
        "instructed_amount": 2500,
        "instructed_currency": GBP,
        "transaction_id": answer.data["transaction_id"],
        "trans_link": answer.data["trans_link"],
        "source_bank_account_address": [own | {"bic": ""}],
        "created_at": str(issuer.clock.time()),
    }
    assert issuer.balances(address["account_id"]) == (100, 100, 0)
    assert (state(issuer, number), state(issuer, answer.data["id"])) == ("R", "S")
    first, *_, last = transactions(issuer, address["account_id"])
    assert last["id"] == answer.data["transaction_id"]
    assert last["transaction_type"] == 64
    assert last["direction"] == "debit"
    assert last["trans_link"] == first["trans_link"]
    assert last["reference"] == "Not ours"
    assert last["parent_id"] == first["id"]
    held = [entries(row).get(("held", GBP)) for row in movements(issuer, address["account_id"])]
    assert held == [None, None, 2500, -2500]


@pytest.mark.parametrize(("action", "scheme"), [(INBOUND, "FPS"), (CREDIT, "BACS"), (INBOUND, "SCT")])
def test_returning_a_payment_a_second_time_fails_with_code_4004(issuer: Issuer, action: str, scheme: str) -> None:
    address, number = came(issuer, 2500, scheme)
    issuer.inbound(address, 2500)
    reasons = {"reason": 1} if action == INBOUND else {"return_reason_id": 1}

    answers = [back(issuer, number, action, **reasons, reference=text) for text in ("one", "two")]

    assert [answer.status_code for answer in answers] == [None, 4004]
    assert issuer.balances(address["account_id"]) == (2500, 2500, 0)


def test_a_duplicate_return_request_has_the_first_response(issuer: Issuer) -> None:
    _, number = came(issuer, 2500)
    members = {"request_reference_id": issuer.reference()}

    first, again = back(issuer, number, **members), back(issuer, number, **members)

    assert (again.duplicated, again.data) == (1, first.data)


@pytest.mark.parametrize(
    ("scheme", "reason", "code"),
    [("FPS", {}, None), ("SCT", {}, 2006), ("SCTINST", {}, 2006), ("SCT", {"reason": 1}, None)],
)
def test_returning_a_sepa_payment_without_a_reason_fails_with_code_2006(
    issuer: Issuer, scheme: str, reason: dict[str, Any], code: int | None
) -> None:
    _, number = came(issuer, 2500, scheme)

    assert back(issuer, number, **reason).status_code == code


def test_the_response_to_a_direct_credit_return_has_empty_data(issuer: Issuer) -> None:
    address, number = came(issuer, 2500, "BACS")

    answer = back(issuer, number, CREDIT)

    assert (answer.data, issuer.balances(address["account_id"])) == ([], (0, 0, 0))


@pytest.mark.parametrize(("left", "code"), [(2500, None), (2499, 5001)])
def test_returning_a_payment_above_the_available_balance_fails_with_code_5001(
    issuer: Issuer, left: int, code: int | None
) -> None:
    address, number = came(issuer, 2500)
    issuer.inbound(address, 1000)
    issuer.pending_payment(address, 3500 - left)

    assert back(issuer, number).status_code == code
    assert state(issuer, number) == ("S" if code else "R")


@pytest.mark.parametrize(("status", "code"), [("A", None), ("R", 4003), ("S", 4003)])
def test_returning_a_payment_from_a_suspended_or_restricted_account_fails_with_code_4003(
    issuer: Issuer, status: str, code: int | None
) -> None:
    address, number = came(issuer, 2500)
    direct = issuer.inbound(address, 100, scheme="BACS")["epm_transaction_id"]
    issuer.data("changeAccountStatus", account_id=address["account_id"], account_status=status)

    assert back(issuer, number).status_code == code
    assert back(issuer, direct, CREDIT).status_code == code


@pytest.mark.parametrize("status", "ARSC")
def test_a_direct_debit_is_returned_in_every_account_status(issuer: Issuer, status: str) -> None:
    address = issuer.funded_address(2500)
    number = issuer.debit(issuer.mandate(address), 2500, passed=True)["epm_transaction_id"]
    issuer.data("changeAccountStatus", account_id=address["account_id"], account_status=status)

    answer = back(issuer, number, DEBIT, reference="Unknown to us")

    assert (answer.status_code, answer.data) == (None, [])
    assert issuer.balances(address["account_id"]) == (2500, 2500, 0)
    assert state(issuer, number) == "R"
    assert back(issuer, number, DEBIT).status_code == 4004
    last = transactions(issuer, address["account_id"])[-1]
    assert last["transaction_type"] == 63
    assert last["direction"] == "credit"
    assert last["reference"] == "Unknown to us"


@pytest.mark.parametrize(("reason", "code"), [("0", None), ("B", None), ("MS03", None), ("C", 2005), ("AC02", 2005)])
def test_a_direct_debit_return_accepts_only_bacs_and_sepa_reasons(
    issuer: Issuer, reason: str, code: int | None
) -> None:
    address = issuer.funded_address(100)
    number = issuer.debit(issuer.mandate(address), 100, passed=True)["epm_transaction_id"]

    assert back(issuer, number, DEBIT, reason=reason).status_code == code


# -- what the provider says


def test_a_payment_can_be_returned_after_a_rejected_return(issuer: Issuer, monkeypatch: pytest.MonkeyPatch) -> None:
    address, number = came(issuer, 2500, sender_name="Refuse Ltd")
    reference = issuer.reference()

    refused = back(issuer, number, request_reference_id=reference)

    assert (refused.status_code, issuer.balances(address["account_id"])) == (7001, (2500, 2500, 0))
    assert state(issuer, number) == "S"
    assert back(issuer, number, request_reference_id=reference).duplicated == 1
    assert back(issuer, number).status_code == 7001
    monkeypatch.setattr("chalicelib.cards.payments.sandbox_provider.REFUSE", "NO_RECORDS")
    assert back(issuer, number).status == "success"
    assert (state(issuer, number), issuer.balances(address["account_id"])) == ("R", (0, 0, 0))


@pytest.mark.parametrize("name", ["Silent Ltd", "Lost Ltd"])
def test_the_scheduled_job_completes_a_return_with_a_lost_response(issuer: Issuer, name: str) -> None:
    address, number = came(issuer, 2500, sender_name=name)
    reference = issuer.reference()

    assert back(issuer, number, request_reference_id=reference).status_code == 8001
    assert issuer.balances(address["account_id"]) == (0, 2500, 0)
    assert back(issuer, number).status_code == 4004, "it is on its way"
    issuer.clock.advance(60)
    issuer.hub.cards.call(finish_due_payments)
    answer = back(issuer, number, request_reference_id=reference)

    assert answer.duplicated == 1
    assert answer.data["settlement_amount"] == 2500
    assert state(issuer, number) == "R"
    assert issuer.balances(address["account_id"]) == (0, 0, 0)


# -- at home


def test_an_internal_transfer_is_returned_to_its_source_account(issuer: Issuer, tariff: Issuer) -> None:
    source, target = issuer.funded_address(10_000), tariff.address()
    paid = issuer.pending_payment(source, 2500, destination_iban=target["iban"])
    arrived = payment(issuer, paid).counterpart
    assert arrived is not None

    answer = back(tariff, arrived)

    assert (answer.status, "destination_bank_account_address" in answer.data) == ("success", False)
    assert state(issuer, paid) == "R"
    assert state(issuer, arrived) == "R"
    assert state(issuer, answer.data["id"]) == "S"
    assert issuer.balances(source["account_id"]) == (10_000, 10_000, 0)
    assert tariff.balances(target["account_id"]) == (0, 0, 0)
    assert [row["transaction_type"] for row in transactions(issuer, source["account_id"])] == [60, 61, 63]
    assert back(tariff, arrived).status_code == 4004
    assert issuer.sim("simulateOutboundResult", epm_transaction_id=paid, result="settled").status_code == 4004


def test_an_internal_return_credits_the_payer_in_full_and_refunds_no_fee(issuer: Issuer, tariff: Issuer) -> None:
    account = tariff.account(currency_ison=GBP, fee_group_id=SEPARATE)
    source, target = issuer.funded_address(10_000, EUR), tariff.address(account, SEPA)
    paid = issuer.pending_payment(
        source, 5000, destination_iban=target["iban"]
    )  # 40.00, 1.00 for the conversion, a fee of 0.40
    arrived = payment(issuer, paid).counterpart
    assert (arrived is not None, tariff.balances(account)[0]) == (True, 3860)

    assert back(tariff, arrived or 0, reason=1).status_code == 5001
    tariff.inbound(target, 100)  # 0.78 and a fee of 0.08
    assert tariff.balances(account)[0] == 3930
    assert back(tariff, arrived or 0, reason=1).data["settlement_amount"] == 3900

    assert issuer.balances(source["account_id"]) == (10_000, 10_000, 0)
    assert tariff.balances(account) == (30, 30, 0)


@pytest.mark.parametrize(("status", "code"), [("S", None), ("R", None), ("C", 7001)])
def test_returning_an_internal_transfer_to_a_closed_account_fails_with_code_7001(
    issuer: Issuer, status: str, code: int | None
) -> None:
    source, target = issuer.funded_address(2500), issuer.address()
    arrived = payment(issuer, issuer.pending_payment(source, 2500, destination_iban=target["iban"])).counterpart
    issuer.data("changeAccountStatus", account_id=source["account_id"], account_status=status)

    assert back(issuer, arrived or 0).status_code == code
    assert issuer.balances(source["account_id"])[0] == (0 if code else 2500)
    assert issuer.balances(target["account_id"])[0] == (2500 if code else 0)


# -- whose


@pytest.mark.parametrize(("level", "code"), [(500, None), (499, 3011)])
def test_returning_a_payment_above_the_access_level_fails_with_code_3011(
    issuer: Issuer, level: int, code: int | None
) -> None:
    address = issuer.address(issuer.account(access_level=500, currency_ison=GBP))
    number = issuer.inbound(address, 100)["epm_transaction_id"]

    assert issuer.as_caller("other").do(INBOUND, epm_transaction_id=number).status_code == 3011
    assert back(issuer, number, access_level=level).status_code == code


def test_a_payment_to_a_special_account_is_returned(issuer: Issuer) -> None:
    address = issuer.special_address(SPECIAL_EUR, SEPA)
    told = issuer.inbound(address, 2500)

    assert back(issuer, told["epm_transaction_id"], reason=1).status == "success"
    assert issuer.inbound(address, 1)["settled_balance"] == told["settled_balance"] - 2500 + 1


def test_every_balance_equals_the_sum_of_its_ledger_rows(issuer: Issuer) -> None:
    prove(issuer)
