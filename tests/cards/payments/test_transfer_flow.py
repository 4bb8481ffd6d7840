"""Tests of outbound payments: holds, bookings, payment schemes and payments within this service."""

from typing import Any

import pytest

from chalicelib.cards.payments.payment_record import ExternalPayment
from tests.cards.issuer import EUR, EXTERNAL_IBANS, GBP, LEFT_OUT, SEPA, UK, Issuer
from tests.cards.programmes import with_tariff
from tests.cards.stored_money import entries, movements, payment, prove, transactions

CHANGE = "changeExternalPaymentAddressStatus"
BARCLAYS, RIGHT, WRONG = "202959", "63748472", "63748473"
"""A sort code with a modulus check, a valid account number and an invalid account number."""


@pytest.fixture(scope="module")
def tariff(issuer: Issuer) -> Issuer:
    return with_tariff(issuer)


@pytest.fixture(scope="module")
def rich(tariff: Issuer) -> dict[int, Any]:
    return {UK: tariff.funded_address(900_000_000), SEPA: tariff.funded_address(900_000_000, EUR)}


# -- hold, then a result


def test_an_outbound_payment_is_held_until_its_settlement(issuer: Issuer) -> None:
    address = issuer.funded_address(10_000)
    account = address["account_id"]

    answer = issuer.transfer(address, 2500, reference_number="INV 7", description="Rent", note="thanks")

    number = answer.data["id"]
    own = {name: address[name] for name in ("id", "account_number", "account_name", "iban", "sort_code")}
    assert answer.data == {
        "id": number,
        "external_transaction_reference": 9_000_000_000 + number,
        "settlement_amount": 2500,
        "settlement_currency": GBP,
        "instructed_amount": 2500,
        "instructed_currency": GBP,
        "source_bank_account_address": [own | {"bic": ""}],
        "destination_bank_account_address": [{"account_name": "Alice", "iban": EXTERNAL_IBANS[UK]}],
        "created_at": str(issuer.clock.time()),
    }
    assert issuer.balances(account) == (7500, 10_000, 0)
    assert [row["transaction_type"] for row in transactions(issuer, account)] == [60]
    told = issuer.result(number, "settled")
    assert told["state"] == "S"
    assert told["available_balance"] == 7500
    assert told["settled_balance"] == 7500
    [row] = [row for row in transactions(issuer, account) if row["id"] == told["transaction_id"]]
    assert row["transaction_type"] == 61
    assert row["direction"] == "debit"
    assert row["amount"] == 2500
    assert row["holder_amount"] == 2500
    assert row["description"] == "Rent"
    assert row["reference"] == "INV 7"
    assert row["epm_transaction_id"] == number


@pytest.mark.parametrize(("result", "final", "left"), [("settled", "S", 7500), ("rejected", "J", 10_000)])
def test_a_duplicate_result_releases_the_hold_once(issuer: Issuer, result: str, final: str, left: int) -> None:
    address = issuer.funded_address(10_000)
    number = issuer.pending_payment(address, 2500)

    first, again = issuer.result(number, result), issuer.result(number, result)

    assert first == again
    assert (again["state"], issuer.balances(address["account_id"])) == (final, (left, left, 0))
    held = [entries(row).get(("held", GBP)) for row in movements(issuer, address["account_id"])]
    assert held == [None, 2500, -2500]


def test_a_rejected_payment_adds_no_transaction_to_the_transaction_list(issuer: Issuer) -> None:
    address = issuer.funded_address(10_000)

    told = issuer.result(issuer.pending_payment(address, 2500), "rejected", reason="AC04")

    assert "transaction_id" not in told
    assert [row["transaction_type"] for row in transactions(issuer, address["account_id"])] == [60]


def test_a_returned_payment_is_credited_once(issuer: Issuer) -> None:
    address = issuer.funded_address(10_000)
    number = issuer.pending_payment(address, 2500)
    settled = issuer.result(number, "settled")

    returned, again = issuer.result(number, "returned"), issuer.result(number, "returned")

    assert returned == again
    assert returned["transaction_id"] != settled["transaction_id"]
    assert returned["state"] == "R"
    assert returned["available_balance"] == 10_000
    assert returned["settled_balance"] == 10_000
    out, back = transactions(issuer, address["account_id"])[1:]
    assert back["id"] == returned["transaction_id"]
    assert back["transaction_type"] == 63
    assert back["direction"] == "credit"
    assert out["trans_link"] == back["trans_link"]


@pytest.mark.parametrize(
    ("told", "then", "code"),
    [
        ([], "returned", 4008),
        (["settled"], "rejected", 4008),
        (["rejected"], "settled", 4008),
        (["rejected"], "returned", 4008),
        (["settled", "returned"], "settled", 4004),
        (["settled", "returned"], "rejected", 4004),
    ],
)
def test_a_result_that_contradicts_an_earlier_payment_result_is_rejected_and_changes_nothing(
    issuer: Issuer, told: list[str], then: str, code: int
) -> None:
    address = issuer.funded_address(10_000)
    number = issuer.pending_payment(address, 2500)
    for result in told:
        issuer.result(number, result)
    before = issuer.balances(address["account_id"])

    answer = issuer.sim("simulateOutboundResult", epm_transaction_id=number, result=then)

    assert (answer.status_code, issuer.balances(address["account_id"])) == (code, before)


def test_results_are_booked_for_a_suspended_account_and_a_blocked_address(issuer: Issuer) -> None:
    address = issuer.funded_address(10_000)
    settled, rejected = issuer.pending_payment(address, 2500), issuer.pending_payment(address, 500)
    issuer.data("changeAccountStatus", account_id=address["account_id"], account_status="S")
    issuer.data(CHANGE, epm_address_id=address["id"], status="B")

    assert issuer.result(settled, "settled")["state"] == "S"
    assert issuer.result(rejected, "rejected")["state"] == "J"
    assert issuer.result(settled, "returned")["available_balance"] == 10_000


def test_closing_an_account_with_a_pending_payment_returns_4008(issuer: Issuer) -> None:
    address = issuer.funded_address(2500)
    number = issuer.pending_payment(address, 2500)
    close = {"account_id": address["account_id"], "account_status": "C"}

    assert issuer.do("changeAccountStatus", **close).status_code == 4008
    issuer.result(number, "settled")
    assert issuer.do("changeAccountStatus", **close).status == "success"


# -- funds


@pytest.mark.parametrize(("amount", "code"), [(10_000, None), (10_001, 5001)])
def test_a_payment_above_the_available_balance_returns_5001(issuer: Issuer, amount: int, code: int | None) -> None:
    address = issuer.funded_address(10_000)

    answer = issuer.transfer(address, amount)

    assert answer.status_code == code
    assert issuer.balances(address["account_id"])[0] == (0 if code is None else 10_000)


def test_a_held_amount_is_unavailable_for_a_second_payment(issuer: Issuer) -> None:
    address = issuer.funded_address(10_000)
    first = issuer.pending_payment(address, 6000)

    assert issuer.transfer(address, 4001).status_code == 5001
    assert issuer.transfer(address, 4000).status == "success"
    issuer.result(first, "rejected")
    assert issuer.transfer(address, 6001).status_code == 5001
    assert issuer.transfer(address, 6000).status == "success"


def test_a_payment_of_zero_returns_2005(issuer: Issuer) -> None:
    assert issuer.transfer(issuer.funded_address(100), 0).status_code == 2005


# -- who may pay


@pytest.mark.parametrize(("status", "code"), [("A", None), ("R", 4003), ("S", 4003)])
def test_only_an_active_account_can_send_payments(issuer: Issuer, status: str, code: int | None) -> None:
    address = issuer.funded_address(10_000)
    issuer.data("changeAccountStatus", account_id=address["account_id"], account_status=status)

    assert issuer.transfer(address, 100).status_code == code


@pytest.mark.parametrize(("status", "code"), [("A", None), ("S", 4008), ("B", 4008)])
def test_only_an_active_address_can_send_payments(issuer: Issuer, status: str, code: int | None) -> None:
    address = issuer.funded_address(10_000)
    issuer.data(CHANGE, epm_address_id=address["id"], status=status)

    assert issuer.transfer(address, 100).status_code == code


def test_a_payment_in_a_currency_other_than_the_address_currency_returns_5003(issuer: Issuer) -> None:
    address = issuer.funded_address(10_000)

    assert issuer.transfer(address, 100, currency_ison=EUR).status_code == 5003


@pytest.mark.parametrize(("level", "code"), [(500, None), (499, 3010)])
def test_a_payment_from_an_address_above_the_access_level_returns_3010(
    issuer: Issuer, level: int, code: int | None
) -> None:
    address = issuer.funded_address(10_000, access_level=500)

    answer = issuer.transfer(address, 100, access_level=level)

    assert answer.status_code == code
    if code is None:
        result = {"epm_transaction_id": answer.data["id"], "result": "settled"}
        assert issuer.sim("simulateOutboundResult", **result, access_level=499).status_code == 3011
        assert issuer.as_caller("other").sim("simulateOutboundResult", **result).status_code == 3011
        assert issuer.sim("simulateOutboundResult", **result, access_level=500).status == "success"


# -- where to, and how


@pytest.mark.parametrize(
    ("destination", "code"),
    [
        ({}, 2006),
        ({"destination_sort_code": "040004"}, 2006),
        ({"destination_account_number": "12345678"}, 2006),
        ({"destination_sort_code": "040004", "destination_account_number": "12345678"}, None),
        ({"destination_sort_code": BARCLAYS, "destination_account_number": RIGHT}, None),
        ({"destination_sort_code": BARCLAYS, "destination_account_number": WRONG}, 2005),
        ({"destination_sort_code": "040004", "destination_account_number": "12345"}, 2005),
        ({"destination_sort_code": "040004", "destination_account_number": "123456789"}, 2005),
        ({"destination_sort_code": "040004", "destination_account_number": "1234567A"}, 2005),
        ({"destination_iban": EXTERNAL_IBANS[UK]}, None),
        ({"destination_iban": "GB28NWBK60161331926819"}, 2005),
        ({"destination_iban": EXTERNAL_IBANS[SEPA]}, 2005),
        ({"destination_iban": EXTERNAL_IBANS[UK], "destination_sort_code": "040004"}, 2006),
        (
            {"destination_iban": EXTERNAL_IBANS[UK], "destination_sort_code": "040004"}
            | {"destination_account_number": "12345678"},
            2005,
        ),
        (
            {"destination_iban": EXTERNAL_IBANS[UK], "destination_sort_code": "601613"}
            | {"destination_account_number": "31926819"},
            None,
        ),
    ],
)
def test_a_uk_address_pays_to_a_sort_code_and_account_number_or_a_british_iban(
    tariff: Issuer, rich: dict[int, Any], destination: dict[str, str], code: int | None
) -> None:
    members = {"destination_iban": LEFT_OUT} | destination

    assert tariff.transfer(rich[UK], 100, **members).status_code == code


@pytest.mark.parametrize("number", ["1234567", "123456"])
def test_a_short_british_account_number_is_padded_with_leading_zeros(
    tariff: Issuer, rich: dict[int, Any], number: str
) -> None:
    place = {"destination_sort_code": "040004", "destination_account_number": number, "destination_iban": LEFT_OUT}

    payment = tariff.transfer(rich[UK], 100, **place).data["id"]

    [stored] = tariff.hub.store.batch_get([ExternalPayment.key(payment)])
    assert stored is not None
    destination = ExternalPayment.from_item(stored).destination
    assert destination is not None
    assert destination["account_number"] == number.zfill(8)


@pytest.mark.parametrize(
    ("destination", "code"),
    [
        ({"destination_iban": EXTERNAL_IBANS[SEPA]}, None),
        ({"destination_iban": "de89370400440532013000"}, None),
        ({"destination_iban": EXTERNAL_IBANS[UK]}, None),
        ({"destination_iban": "BR1800360305000010009795493C1"}, 2005),
        ({"destination_sort_code": "040004", "destination_account_number": "12345678"}, 2006),
    ],
)
def test_a_sepa_address_pays_only_to_a_sepa_iban(
    tariff: Issuer, rich: dict[int, Any], destination: dict[str, str], code: int | None
) -> None:
    assert tariff.transfer(rich[SEPA], 100, **destination).status_code == code


@pytest.mark.parametrize(
    ("method", "schemes", "amount", "taken"),
    [
        (UK, LEFT_OUT, 100_000_000, "FPS"),
        (UK, LEFT_OUT, 100_000_001, "CHAPS"),
        (UK, ["BACS", "FPS"], 100, "BACS"),
        (UK, "fps,chaps", 100_000_000, "FPS"),
        (UK, "FPS,CHAPS", 100_000_001, "CHAPS"),
        (UK, ["SCT", "FPS"], 100, "FPS"),
        (UK, "FPS", 100_000_001, 2005),
        (UK, ["SCT"], 100, 2005),
        (UK, ["SWIFT"], 100, 2005),
        (SEPA, LEFT_OUT, 10_000_000, "SCTINST"),
        (SEPA, LEFT_OUT, 10_000_001, "SCT"),
        (SEPA, ["SCT", "SCTINST"], 100, "SCT"),
        (SEPA, "SCTINST", 10_000_001, 2005),
        (SEPA, "FPS", 100, 2005),
    ],
)
def test_the_first_scheme_that_accepts_the_amount_is_used(
    tariff: Issuer, rich: dict[int, Any], method: int, schemes: Any, amount: int, taken: str | int
) -> None:
    answer = tariff.transfer(rich[method], amount, schemes=schemes)

    if isinstance(taken, int):
        assert answer.status_code == taken
    else:
        assert payment(tariff, answer.data["id"]).scheme == taken


def test_a_payment_rejected_by_the_provider_returns_7001_and_leaves_no_hold(issuer: Issuer) -> None:
    address = issuer.funded_address(10_000)

    answer = issuer.transfer(address, 100, destination_account_name="Refuse Ltd", request_reference_id="refused-000001")

    assert (answer.status_code, issuer.balances(address["account_id"])) == (7001, (10_000, 10_000, 0))
    again = issuer.transfer(address, 100, destination_account_name="Refuse Ltd", request_reference_id="refused-000001")
    assert (again.status_code, again.duplicated) == (7001, 1)
    assert len(movements(issuer, address["account_id"])) == 3


def test_a_duplicate_payment_moves_money_once(issuer: Issuer) -> None:
    address = issuer.funded_address(10_000)
    reference = issuer.reference()

    first = issuer.transfer(address, 100, request_reference_id=reference)
    issuer.result(first.data["id"], "settled")
    again = issuer.transfer(address, 100, request_reference_id=reference)
    other = issuer.transfer(address, 101, request_reference_id=reference)

    assert (again.duplicated, again.data) == (1, first.data)
    assert (other.duplicated, other.status_code) == (0, 8002)
    assert issuer.balances(address["account_id"]) == (9900, 9900, 0)


def test_every_balance_equals_the_sum_of_its_ledger_rows(issuer: Issuer) -> None:
    prove(issuer)
