"""Tests of simulateAuthorization: held amounts, limit counts, records and responses."""

from dataclasses import replace
from typing import Any

import pytest

from chalicelib.cards.authorization import activity_record
from chalicelib.cards.protocol.values import HOLD_SECONDS
from tests.cards.authorization.issuers import EACH_CARD, TWICE_A_DAY, authorizes, cardholder, code, messages
from tests.cards.authorization.shops import A_DAY, BACK_A_WEEK, BLENDED, LIMITED, NOT_BLENDING, SEPARATE, Holder
from tests.cards.issuer import BRITAIN, EUR, GBP, GERMANY, LEFT_OUT, USD, Issuer
from tests.cards.stored_money import entries, movements
from tests.kit.storage import record_transactions

# -- approvals


def test_an_approval_holds_the_amount_and_records_the_message(strict_issuer: Issuer) -> None:
    user = cardholder(strict_issuer, card_fee_group_id=SEPARATE, **LIMITED)

    answer = user.request_authorization(10_00, mcc="5411", merchant_name="Grocer", merchant_country_ison=GERMANY)

    number = answer["authorize_id"]
    assert {name: value for name, value in answer.items() if name not in ("risk_actions", "security_checks")} == {
        "authorize_id": number,
        "trans_link": f"{number:012}",
        "response_code": "00",
        "auth_code": answer["auth_code"],
        "approved_amount": 10_00,
        "holder_amount": 10_00,
        "holder_currency_ison": GBP,
        "fee_amount": 40,
        "available_balance": 89_60,
        "settled_balance": 100_00,
    }
    assert len(answer["auth_code"]) == 6
    assert answer["auth_code"].isdigit()
    assert user.balances() == (100_00, 10_40, 0, 89_60)
    kept = user.record(answer["trans_link"])
    assert kept.state == "H"
    assert kept.response_code == "00"
    assert kept.left == 10_00
    assert kept.held == 10_40
    assert kept.card_id == user.card_id
    assert kept.account_id == user.account
    assert kept.holder_id == user.card.holder_id
    assert (kept.auth_code, kept.due_at) == (answer["auth_code"], strict_issuer.clock.time() + HOLD_SECONDS)
    row = movements(strict_issuer, user.account)[-1]
    assert row["cause"] == "authorization"
    assert row["authorization_id"] == number
    assert row["at"] == kept.at
    assert entries(row) == {("held", GBP): 10_40, ("pending", GBP): -10_40}
    assert (user.limit_usage(A_DAY), user.counted_countries()) == ([(1, 10_00)], {GERMANY: 1})
    [message] = messages(user)
    assert message["authorize_id"] == number
    assert message["authorize_type"] == 1
    assert message["response_code"] == "00"
    assert message["actual"] == 1
    assert message["reversal"] == 0
    assert message["transaction_fee"] == 40
    assert message["merchant_name"] == "Grocer"
    assert message["mcc"] == 5411
    assert message["country_ison"] == GERMANY
    assert message["at"] == kept.at
    assert authorizes(user) == [number]
    assert user.transactions() == [], "nothing is booked yet"


def test_an_authorization_is_written_in_one_transaction(strict_issuer: Issuer) -> None:
    approved = cardholder(strict_issuer, **LIMITED)
    with record_transactions(strict_issuer.causeway) as made:
        approved.request_authorization(10_00)
        approved.request_authorization(1_000_00)
        approved.request_authorization(10_00, pin="0000")

    listed = ["Put authorization", "Put activity", "Put activity"]
    assert [sorted(each) for each in made] == [
        sorted(
            [*listed, "Put authorize", "Update account", "Put movement", *["Put limits"] * 3, "ConditionCheck card"]
        ),
        sorted([*listed, "Put limits", "ConditionCheck card"]),
        sorted([*listed, "Put limits", "Update card"]),
    ]


def test_messages_are_listed_in_their_order_of_arrival_while_the_clock_is_stopped(strict_issuer: Issuer) -> None:
    user = cardholder(strict_issuer)
    numbers = [user.request_authorization(amount)["authorize_id"] for amount in (1_00, 200_00, 2_00, 3_00)]

    assert [row["authorize_id"] for row in messages(user)] == numbers
    times = [row["at"] for row in messages(user)]
    assert times == sorted(set(times))
    assert authorizes(user) == [numbers[0], *numbers[2:]]


def test_only_the_approved_part_of_a_partial_approval_is_held_counted_and_recorded(strict_issuer: Issuer) -> None:
    user = cardholder(strict_issuer, 9_00, **LIMITED)

    answer = user.request_authorization(10_00, partial_approval=1, cashback_amount=5_00)

    assert answer["response_code"] == "10"
    assert answer["approved_amount"] == 9_00
    assert answer["holder_amount"] == 9_00
    assert user.balances() == (9_00, 9_00, 0, 0)
    assert user.hold(answer["trans_link"]) == ("H", 9_00, 9_00)
    assert user.limit_usage(A_DAY) == [(1, 9_00)]
    [message] = messages(user)
    assert message["transaction_amount"] == 9_00
    assert message["response_code"] == "10"
    assert message["actual"] == 1


def test_cashback_is_held_with_the_purchase(strict_issuer: Issuer) -> None:
    user = cardholder(strict_issuer, 15_00)

    answer = user.request_authorization(10_00, cashback_amount=5_00)

    assert (answer["response_code"], answer["approved_amount"]) == ("00", 15_00)
    assert user.balances() == (15_00, 15_00, 0, 0)
    [message] = messages(user)
    assert (message["transaction_amount"], message["cashback_amount"]) == (15_00, 5_00)


# -- declines


def test_a_decline_is_recorded_and_changes_no_balance_and_no_limit(strict_issuer: Issuer) -> None:
    user = cardholder(strict_issuer, **LIMITED)

    answer = user.request_authorization(100_01, merchant_country_ison=GERMANY)

    number = answer["authorize_id"]
    assert answer["response_code"] == "61"
    assert answer["approved_amount"] == 0
    assert answer["holder_amount"] == 0
    assert answer["fee_amount"] == 0
    assert "auth_code" not in answer
    assert (answer["available_balance"], answer["settled_balance"]) == (100_00, 100_00)
    assert user.balances() == (100_00, 0, 0, 100_00)
    kept = user.record(answer["trans_link"])
    assert kept.state == "D"
    assert kept.response_code == "61"
    assert kept.left == 0
    assert kept.held == 0
    assert kept.counted is None
    assert user.movement_causes() == []
    assert (user.limit_usage(A_DAY), user.counted_countries()) == ([(0, 0)], {})
    [message] = messages(user)
    assert message["authorize_id"] == number
    assert message["response_code"] == "61"
    assert message["actual"] == 0
    assert (message["transaction_amount"], message["billing_amount"]) == (100_01, 100_01)
    assert not {"auth_code", "date_valid"} & message.keys()
    assert authorizes(user) == []


@pytest.mark.parametrize(("currency", "shown"), [(GBP, GBP), (EUR, EUR), (USD, GBP)])
def test_a_decline_returns_the_balance_of_the_account_in_the_purchase_currency(
    strict_issuer: Issuer, currency: int, shown: int
) -> None:
    user = cardholder_with_euros(strict_issuer)

    answer = user.request_authorization(10_00, currency, expiry_year=2028)

    assert (answer["response_code"], answer["holder_currency_ison"]) == ("54", shown)
    assert answer["available_balance"] == (50_00 if shown == EUR else 100_00)
    assert user.record(answer["trans_link"]).account_id == (user.euros if shown == EUR else user.account)


def test_an_unknown_card_number_returns_14_and_is_not_recorded(strict_issuer: Issuer) -> None:
    user = cardholder(strict_issuer)
    before = sum(1 for _ in strict_issuer.hub.store.scan(activity_record.TABLE))

    answer = user.request_authorization(10_00, card_id=LEFT_OUT, pan="2223000000000007", cvc2="123")

    assert answer["response_code"] == "14"
    assert answer["holder_currency_ison"] == GBP
    assert answer["available_balance"] == 0
    assert answer["settled_balance"] == 0
    assert answer["security_checks"][0]["cvv_2"] == 1
    assert sum(1 for _ in strict_issuer.hub.store.scan(activity_record.TABLE)) == before


# -- accounts, conversion and fees


def test_an_authorization_uses_the_account_in_the_purchase_currency_or_the_first_account(strict_issuer: Issuer) -> None:
    user = cardholder_with_euros(strict_issuer)

    answers = [user.request_authorization(10_00, currency) for currency in (GBP, EUR, USD)]

    assert [(each["response_code"], each["holder_currency_ison"], each["holder_amount"]) for each in answers] == [
        ("00", GBP, 10_00),
        ("00", EUR, 10_00),
        ("00", GBP, 7_50),
    ]
    assert user.balances() == (100_00, 17_50, 0, 82_50)
    assert user.balances(user.euros) == (50_00, 10_00, 0, 40_00)


def test_insufficient_funds_return_51_although_an_account_in_another_currency_has_funds(strict_issuer: Issuer) -> None:
    user = cardholder_with_euros(strict_issuer)

    answer = user.request_authorization(50_01, EUR)

    assert (answer["response_code"], answer["holder_currency_ison"]) == ("51", EUR)
    assert (answer["available_balance"], answer["settled_balance"]) == (50_00, 50_00)


def cardholder_with_euros(issuer: Issuer) -> Holder:
    return cardholder(issuer, euros=50_00)


@pytest.mark.parametrize("auto_conversion", [0, 1])
def test_a_foreign_purchase_without_auto_conversion_returns_57(strict_issuer: Issuer, auto_conversion: int) -> None:
    user = cardholder(strict_issuer, auto_conversion=auto_conversion)

    answer = user.request_authorization(10_00, EUR)

    assert answer["response_code"] == ("00" if auto_conversion else "57")
    assert user.balances()[1] == (8_20 if auto_conversion else 0)


def test_a_hold_includes_a_blended_or_separate_conversion_mark_up(strict_issuer: Issuer) -> None:
    blending, apart = cardholder(strict_issuer), cardholder(strict_issuer, card_program_id=NOT_BLENDING)

    within, beside = (each.request_authorization(10_00, EUR) for each in (blending, apart))

    assert (within["holder_amount"], within["fee_amount"]) == (8_20, 0)
    assert (beside["holder_amount"], beside["fee_amount"]) == (8_00, 0)
    for user in (blending, apart):
        assert user.balances() == (100_00, 8_20, 0, 91_80)
        [message] = messages(user)
        assert (message["billing_amount"], message["billing_conversion_rate"]) == (8_00, "0.8")
        assert (message["currency_conversion_fee"], message["holder_conversion_rate"]) == (20, "0.8200")
        assert message["is_conversion_fee_blended"] == int(user is blending)
        assert message["transaction_currency_ison"] == EUR


def test_an_authorization_holds_the_fees_of_the_cards_fee_group(strict_issuer: Issuer) -> None:
    separate, blended = (
        cardholder(strict_issuer, card_fee_group_id=SEPARATE),
        cardholder(strict_issuer, card_fee_group_id=BLENDED),
    )

    beside, within = (each.request_authorization(10_00) for each in (separate, blended))

    assert beside["holder_amount"] == 10_00
    assert beside["fee_amount"] == 40
    assert separate.balances()[1] == 10_40
    assert within["holder_amount"] == 10_30
    assert within["fee_amount"] == 30
    assert blended.balances()[1] == 10_30
    assert [messages(each)[0]["blended_fee"] > 0 for each in (separate, blended)] == [False, True]


def test_a_balance_that_does_not_cover_the_fees_returns_51(strict_issuer: Issuer) -> None:
    user = cardholder(strict_issuer, 10_39, card_fee_group_id=SEPARATE)

    assert code(user, 10_00) == "51"
    answer = user.request_authorization(10_00, partial_approval=1)
    assert answer["response_code"] == "10"
    assert answer["approved_amount"] == 9_99
    assert user.balances() == (10_39, 10_39, 0, 0)


# -- credits and inquiries


@pytest.mark.parametrize("transaction_type", [2, 20, 21, 22, 26])
def test_a_credit_is_approved_without_a_hold(strict_issuer: Issuer, transaction_type: int) -> None:
    user = cardholder(strict_issuer, 0, **LIMITED)

    answer = user.request_authorization(50_00, transaction_type=transaction_type)

    assert answer["response_code"] == "00"
    assert answer["approved_amount"] == 50_00
    assert answer["available_balance"] == 0
    assert user.balances() == (0, 0, 0, 0)
    assert user.hold(answer["trans_link"]) == ("H", 50_00, 0)
    assert user.movement_causes() == []
    assert user.limit_usage(A_DAY, BACK_A_WEEK) == [(0, 0), (1, 50_00)]
    assert code(user, 1, transaction_type=transaction_type) == "61"


@pytest.mark.parametrize(
    ("status", "taken", "given"), [("A", "51", "00"), ("R", "62", "00"), ("S", "62", "62"), ("C", "46", "46")]
)
def test_account_status_determines_the_response_codes_of_debits_and_credits(
    strict_issuer: Issuer, status: str, taken: str, given: str
) -> None:
    user = cardholder(strict_issuer, 0)
    strict_issuer.data("changeAccountStatus", account_id=user.account, account_status=status)

    assert [code(user, transaction_type=each) for each in (0, 20)] == [taken, given]


@pytest.mark.parametrize("transaction_type", [30, 39])
@pytest.mark.parametrize("forced", [{}, {"force_response_code": "00"}])
def test_an_approved_inquiry_has_an_amount_of_zero_and_no_hold(
    strict_issuer: Issuer, transaction_type: int, forced: dict[str, Any]
) -> None:
    user = cardholder(strict_issuer, 5_00, **LIMITED, card_fee_group_id=SEPARATE)

    answer = user.request_authorization(50_00, transaction_type=transaction_type, **forced)

    assert answer["response_code"] == "00"
    assert answer["approved_amount"] == 0
    assert answer["fee_amount"] == 0
    assert len(answer["auth_code"]) == 6
    assert (user.balances(), user.limit_usage(A_DAY)) == ((5_00, 0, 0, 5_00), [(0, 0)])
    assert user.hold(answer["trans_link"]) == ("D", 0, 0)
    assert [(row["response_code"], row["transaction_type"]) for row in messages(user)] == [("00", transaction_type)]
    assert authorizes(user) == [], "it asked nothing of the holder's money"


def test_an_inquiry_declines_a_wrong_cvc2_and_a_suspended_account(strict_issuer: Issuer) -> None:
    user = cardholder(strict_issuer)
    assert code(user, 0, transaction_type=39, cvc2="000" if user.card.cvc2 != "000" else "001") == "N7"
    strict_issuer.data("changeAccountStatus", account_id=user.account, account_status="S")
    assert code(user, 0, transaction_type=30) == "62"


# -- limits over time


def test_daily_limits_reset_at_midnight(strict_issuer: Issuer) -> None:
    user = cardholder(strict_issuer, card_limit_group_id=TWICE_A_DAY)
    assert [code(user) for _ in range(3)] == ["00", "00", "65"]

    late, new = (strict_issuer.with_own_clock(days=seconds / 86400) for seconds in (15 * 3600 - 1, 15 * 3600))

    assert code(replace(user, issuer=late)) == "65"
    assert [code(replace(user, issuer=new)) for _ in range(3)] == ["00", "00", "65"]


def test_a_limit_for_a_single_use_counts_cashback_but_not_fees(strict_issuer: Issuer) -> None:
    user = cardholder(strict_issuer, card_limit_group_id=EACH_CARD, card_fee_group_id=SEPARATE)

    assert code(user, 45_00, cashback_amount=5_01) == "61"
    assert code(user, 45_00, cashback_amount=5_00, merchant_country_ison=BRITAIN) == "00"
