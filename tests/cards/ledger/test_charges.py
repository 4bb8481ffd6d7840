"""Tests of charges for movements: converted amounts and fees on the account, in transactions and in the ledger."""

from decimal import Decimal

import pytest

from tests.cards.issuer import EUR, EVERYDAY_ACCOUNT, EXTERNAL_IBANS, GBP, PREPAID_ACCOUNT, SEPA, UK, Issuer
from tests.cards.programmes import BLENDED, DINAR, SEPARATE, YEN, with_tariff
from tests.cards.stored_money import entries, movements, prove, transactions


@pytest.fixture(scope="module")
def tariff(issuer: Issuer) -> Issuer:
    return with_tariff(issuer)


# -- fees


def test_a_separate_fee_is_held_with_the_payment_and_listed_separately(tariff: Issuer) -> None:
    address = tariff.funded_address(10_000)
    account = address["account_id"]
    tariff.data("assignAccountToFeeRuleGroup", account_id=account, fee_group_id=SEPARATE)

    answer = tariff.transfer(address, 2000)  # 35 and 0.2 % are 39, and 50 is the least

    assert answer.data["settlement_amount"] == 2000
    assert tariff.balances(account) == (7950, 10_000, 0)
    tariff.result(answer.data["id"], "settled")
    assert tariff.balances(account) == (7950, 7950, 0)
    _, main, fee = transactions(tariff, account)
    assert main["holder_amount"] == 2000
    assert main["fee"] == 0
    assert main["transaction_type"] == 61
    assert fee["holder_amount"] == 50
    assert fee["transaction_type"] == 70
    assert fee["direction"] == "debit"
    assert (fee["parent_id"], fee["trans_link"]) == (main["id"], main["trans_link"])
    assert (fee["fee_code"], fee["description"]) == ("EXTOUT", "To Britain")
    booked = entries(movements(tariff, account)[-1])
    assert booked["settled", GBP] == -2050
    assert booked["external", GBP] == 2000
    assert booked["fees", GBP] == 50


@pytest.mark.parametrize(
    ("amount", "fee"), [(7250, 50), (7749, 50), (7750, 51), (57_249, 149), (57_250, 150), (90_000, 150)]
)
def test_a_fee_is_limited_to_its_minimum_and_maximum(tariff: Issuer, amount: int, fee: int) -> None:
    address = tariff.funded_address(100_000)
    tariff.data("assignAccountToFeeRuleGroup", account_id=address["account_id"], fee_group_id=SEPARATE)

    tariff.pending_payment(address, amount)

    assert tariff.balances(address["account_id"])[0] == 100_000 - amount - fee


def test_a_fee_depends_on_the_destination_country(tariff: Issuer) -> None:
    address = tariff.funded_address(10_000, EUR)
    account = address["account_id"]
    tariff.data("assignAccountToFeeRuleGroup", account_id=account, fee_group_id=SEPARATE)

    tariff.pending_payment(address, 1000)
    assert tariff.balances(account)[0] == 10_000 - 1000 - 100
    tariff.pending_payment(address, 1000, destination_iban=EXTERNAL_IBANS[UK])
    assert tariff.balances(account)[0] == 8900 - 1000 - 63  # 50 pence


def test_a_blended_fee_is_included_in_the_holder_amount_of_a_transfer(tariff: Issuer) -> None:
    address = tariff.funded_address(10_000)
    account = address["account_id"]
    tariff.data("assignAccountToFeeRuleGroup", account_id=account, fee_group_id=BLENDED)

    answer = tariff.transfer(address, 2000)  # 1.00 EUR is 80 pence

    assert (answer.data["settlement_amount"], tariff.balances(account)[0]) == (2000, 7920)
    tariff.result(answer.data["id"], "settled")
    _, main = transactions(tariff, account)
    assert main["amount"] == 2000
    assert main["holder_amount"] == 2080
    assert main["fee"] == 80


def test_a_rejected_payment_has_no_fee_and_the_fee_of_a_returned_payment_is_not_refunded(tariff: Issuer) -> None:
    address = tariff.funded_address(10_000)
    account = address["account_id"]
    tariff.data("assignAccountToFeeRuleGroup", account_id=account, fee_group_id=SEPARATE)
    rejected, returned = tariff.pending_payment(address, 2000), tariff.pending_payment(address, 3000)
    assert tariff.balances(account) == (4900, 10_000, 0)

    tariff.result(rejected, "rejected")
    assert tariff.balances(account) == (6950, 10_000, 0)
    tariff.result(returned, "settled")
    assert tariff.result(returned, "returned")["available_balance"] == 9950
    assert [row["transaction_type"] for row in transactions(tariff, account)] == [60, 61, 70, 63]


@pytest.mark.parametrize(("amount", "code"), [(9945, None), (9946, 5001)])
def test_a_balance_that_does_not_cover_the_fee_returns_5001(tariff: Issuer, amount: int, code: int | None) -> None:
    address = tariff.funded_address(10_000)
    tariff.data("assignAccountToFeeRuleGroup", account_id=address["account_id"], fee_group_id=SEPARATE)

    answer = tariff.transfer(address, amount)  # 35 pence and 0.2 %, which is 20 here

    assert (answer.status_code, tariff.balances(address["account_id"])[0]) == (code, 10_000 if code else 0)


def test_fees_of_a_payment_are_determined_when_the_payment_is_requested(tariff: Issuer) -> None:
    address = tariff.funded_address(10_000)
    account = address["account_id"]
    free = tariff.pending_payment(address, 1000)
    tariff.data("assignAccountToFeeRuleGroup", account_id=account, fee_group_id=SEPARATE)
    dear = tariff.pending_payment(address, 1000)
    tariff.data("assignAccountToFeeRuleGroup", account_id=account, fee_group_id=BLENDED)

    assert tariff.result(free, "settled")["settled_balance"] == 9000
    assert tariff.result(dear, "settled")["settled_balance"] == 7950


def test_a_fee_without_a_rate_to_the_accounts_currency_returns_5003(tariff: Issuer) -> None:
    address = tariff.address(tariff.account(currency_ison=YEN), SEPA)
    tariff.inbound(address, 10_000)
    tariff.data("assignAccountToFeeRuleGroup", account_id=address["account_id"], fee_group_id=SEPARATE)

    assert tariff.transfer(address, 100, destination_iban=EXTERNAL_IBANS[UK]).status_code == 5003
    assert tariff.transfer(address, 100).status == "success"


# -- other currencies


@pytest.mark.parametrize(
    ("programme", "shown"), [(EVERYDAY_ACCOUNT, 820), (PREPAID_ACCOUNT, 800)], ids=["blended", "beside"]
)
def test_an_account_in_another_currency_pays_at_the_marked_up_rate(tariff: Issuer, programme: int, shown: int) -> None:
    account = tariff.account(currency_ison=GBP, program_id=programme)
    tariff.inbound(tariff.address(account), 10_000)

    answer = tariff.transfer(tariff.address(account, SEPA), 1000)  # 8.00 GBP, and 0.20 for the conversion

    amounts = [
        answer.data[f"{name}_{what}"] for name in ("instructed", "settlement") for what in ("amount", "currency")
    ]
    assert amounts == [1000, EUR, shown, GBP]
    assert tariff.balances(account) == (9180, 10_000, 0)
    tariff.result(answer.data["id"], "settled")
    assert tariff.balances(account) == (9180, 9180, 0)
    assert entries(movements(tariff, account)[-1]) == {
        ("held", GBP): -820,
        ("pending", GBP): 820,
        ("settled", GBP): -820,
        ("conversion", GBP): 800,
        ("fees", GBP): 20,
        ("conversion", EUR): -1000,
        ("external", EUR): 1000,
    }
    main = transactions(tariff, account)[-1]
    assert main["amount"] == 1000
    assert main["currency"] == EUR
    assert main["holder_amount"] == shown
    assert main["holder_currency"] == GBP
    assert (main["base_rate"], main["holder_rate"]) == (Decimal("0.8"), Decimal("0.82"))
    assert (main["conversion_fee"], main["conversion_fee_blended"]) == (20, programme == EVERYDAY_ACCOUNT)
    assert tariff.result(answer.data["id"], "returned")["available_balance"] == 10_000


@pytest.mark.parametrize(("currency", "taken", "fee"), [(YEN, 1640, 40), (DINAR, 2563, 63)])
def test_a_conversion_uses_the_minor_units_of_the_accounts_currency(
    tariff: Issuer, currency: int, taken: int, fee: int
) -> None:
    account = tariff.account(currency_ison=currency)
    address = tariff.address(account, SEPA)
    before = tariff.inbound(address, 2000)["available_balance"]

    tariff.result(tariff.pending_payment(address, 1000), "settled")  # 10.00 EUR: 1600 yen, or 2.500 dinars, and 2.5 %

    assert tariff.balances(account)[0] == before - taken
    assert entries(movements(tariff, account)[-1])["fees", currency] == fee


def test_a_payment_in_a_foreign_currency_is_charged_the_fee_and_the_conversion_mark_up(tariff: Issuer) -> None:
    account = tariff.account(currency_ison=GBP, fee_group_id=SEPARATE)
    assert tariff.inbound(tariff.address(account), 10_000)["available_balance"] == 9900

    number = tariff.pending_payment(tariff.address(account, SEPA), 1000)  # 8.00, 0.20, and 1.00 EUR, which is 0.80

    assert tariff.balances(account) == (9000, 9900, 0)
    tariff.result(number, "settled")
    booked = entries(movements(tariff, account)[-1])
    assert booked["settled", GBP] == -900
    assert booked["fees", GBP] == 100
    assert booked["conversion", GBP] == 800


def test_the_payer_and_the_payee_of_an_internal_transfer_have_separate_rates_and_fees(
    issuer: Issuer, tariff: Issuer
) -> None:
    source = issuer.funded_address(10_000, EUR)
    account = tariff.account(currency_ison=GBP, fee_group_id=SEPARATE)

    issuer.pending_payment(
        source, 5000, destination_iban=tariff.address(account, SEPA)["iban"]
    )  # 40.00, less 1.00 for the conversion and 1 %

    assert issuer.balances(source["account_id"]) == (5000, 5000, 0)
    assert tariff.balances(account) == (4000 - 100 - 40, 3860, 0)
    main, fee = transactions(tariff, account)
    assert main["holder_amount"] == 3900
    assert fee["holder_amount"] == 40
    assert fee["parent_id"] == main["id"]
    assert entries(movements(tariff, account)[-1]) == {
        (f"account#{source['account_id']}:settled", EUR): -5000,
        ("conversion", EUR): 5000,
        ("conversion", GBP): -4000,
        ("settled", GBP): 3860,
        ("fees", GBP): 140,
    }


# -- what comes in


@pytest.mark.parametrize(
    ("amount", "fee"), [(9, 8), (839, 8), (840, 9), (1239, 12), (1240, 13), (15_959, 159), (15_960, 160), (25_000, 160)]
)
def test_a_fee_of_an_inbound_payment_is_deducted_from_its_amount(tariff: Issuer, amount: int, fee: int) -> None:
    account = tariff.account(currency_ison=GBP, fee_group_id=SEPARATE)
    address = tariff.address(account)

    told = tariff.inbound(address, amount)  # 1 %, at least 0.10 EUR and at most 2.00, in pounds

    assert told["available_balance"] == amount - fee
    main, taken = transactions(tariff, account)
    assert main["id"] == told["transaction_id"]
    assert main["holder_amount"] == amount
    assert main["direction"] == "credit"
    assert taken["holder_amount"] == fee
    assert taken["direction"] == "debit"
    assert taken["parent_id"] == main["id"]


@pytest.mark.parametrize(("amount", "left"), [(7, 0), (8, 0), (9, 1)])
def test_the_fees_of_an_inbound_payment_never_exceed_the_amount_of_the_payment(
    tariff: Issuer, amount: int, left: int
) -> None:
    account = tariff.account(currency_ison=GBP, fee_group_id=SEPARATE)

    assert tariff.inbound(tariff.address(account), amount)["available_balance"] == left


def test_a_blended_fee_is_deducted_from_an_inbound_payment(tariff: Issuer) -> None:
    account = tariff.account(currency_ison=GBP, fee_group_id=BLENDED)

    assert tariff.inbound(tariff.address(account), 1000)["settled_balance"] == 990
    [main] = transactions(tariff, account)
    assert main["amount"] == 1000
    assert main["holder_amount"] == 990
    assert main["fee"] == 10


@pytest.mark.parametrize(("programme", "shown"), [(EVERYDAY_ACCOUNT, 780), (PREPAID_ACCOUNT, 800)])
def test_an_account_in_another_currency_is_credited_at_the_marked_down_rate(
    tariff: Issuer, programme: int, shown: int
) -> None:
    account = tariff.account(currency_ison=GBP, program_id=programme)
    address = tariff.address(account, SEPA)

    told = tariff.inbound(address, 1000)

    assert told["settled_balance"] == 780
    assert entries(movements(tariff, account)[-1]) == {
        ("settled", GBP): 780,
        ("conversion", GBP): -800,
        ("fees", GBP): 20,
        ("conversion", EUR): 1000,
        ("external", EUR): -1000,
    }
    [main] = transactions(tariff, account)
    assert main["holder_amount"] == shown
    assert main["conversion_fee"] == 20
    assert main["holder_rate"] == Decimal("0.78")
    returned = tariff.data("inboundReturn", epm_transaction_id=told["epm_transaction_id"], reason=1)
    assert (returned["settlement_amount"], tariff.balances(account)) == (shown, (0, 0, 0))


def test_a_direct_debit_is_charged_the_direct_debit_fee(tariff: Issuer) -> None:
    account = tariff.account(currency_ison=GBP)
    address = tariff.address(account)
    tariff.inbound(address, 1016)
    tariff.data("assignAccountToFeeRuleGroup", account_id=account, fee_group_id=SEPARATE)
    mandate = tariff.mandate(address)

    assert tariff.debit(mandate, 1001, passed=True)["state"] == "J"
    paid = tariff.debit(mandate, 1000, passed=True)  # 0.20 EUR is 16 pence

    assert (paid["state"], paid["available_balance"]) == ("S", 0)
    tariff.data("directDebitReturn", returned_epm_transaction_id=paid["epm_transaction_id"], reason="MD06")
    assert tariff.balances(account) == (1000, 1000, 0)


def test_a_direct_debit_in_another_currency_is_returned_in_full(tariff: Issuer) -> None:
    account = tariff.account(currency_ison=GBP)
    tariff.inbound(tariff.address(account), 820)

    paid = tariff.debit(tariff.mandate(tariff.address(account, SEPA)), 1000, passed=True)

    assert (paid["state"], paid["available_balance"]) == ("S", 0)
    tariff.data("directDebitReturn", returned_epm_transaction_id=paid["epm_transaction_id"], reason="AC01")
    assert tariff.balances(account) == (820, 820, 0)


def test_every_balance_equals_the_sum_of_its_ledger_rows(tariff: Issuer) -> None:
    prove(tariff)
