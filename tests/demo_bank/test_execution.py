"""Payment execution: payments are confirmed, settled, rejected or expired, and never duplicated."""

from decimal import Decimal
from typing import Any

import pytest

from chalicelib.demo_bank import clearing, execution, orders
from chalicelib.demo_bank.banks import get_bank
from tests.demo_bank.parties import Browser
from tests.demo_bank.single_bank import BULK, OTHER, PAID, SINGLE, SLOW, SingleBank, code, outcome


def test_a_confirmed_instant_payment_is_booked_immediately(bank: SingleBank) -> None:
    given = bank.token()
    before = bank.balances(given)
    assert before == bank.sums(given)
    back = bank.pay(given)
    assert back == {"order": "7", "status": bank.either("4", "ACSC"), "payment_id": back["payment_id"]}
    assert bank.balances(given) == (before[0] - PAID, before[1] - PAID) == bank.sums(given)
    assert bank.payment_status(back["payment_id"], given) == bank.either(4, "ACSC")
    assert bank.reported_statuses() == bank.either([4], ["ACSP", "ACSC"])


def test_a_non_instant_payment_is_pending_until_its_settlement(bank: SingleBank) -> None:
    given = bank.token()
    before = bank.balances(given)
    back = bank.pay(given, scheme=SLOW[bank.profile.name])
    assert back["status"] == bank.either("4", "ACSP")
    assert bank.balances(given) == (before[0], before[1] - PAID) == bank.sums(given)
    bank.clock.advance(execution.SETTLE_SECONDS - 1)
    assert clearing.process_due_payments(get_bank(bank.profile.name, bank)) == 0
    bank.clock.advance(1)
    assert clearing.process_due_payments(get_bank(bank.profile.name, bank)) == 1
    assert bank.balances(given) == (before[0] - PAID, before[1] - PAID) == bank.sums(given)
    assert bank.reported_statuses() == bank.either([4], ["ACSP", "ACSC"])
    assert clearing.process_due_payments(get_bank(bank.profile.name, bank)) == 0


def test_a_swift_payment_is_debited_in_the_currency_of_the_account(two: SingleBank) -> None:
    given, sek = two.token(), two.account(position=1)
    body = two.single("100", scheme="SWIFT") | {
        "debtor_account": {"iban": sek.iban},
        "instructed_amount": {"amount": "100", "currency": "SEK"},
        "creditor_bank": {"name": "Elsewhere Bank", "country": "SE"},
    }
    before = two.balances(given, sek)[0]
    answer = two.ask(SINGLE["two"], body, given)
    assert outcome(two.at_confirmation(answer).pay())["status"] == "ACSP"
    two.clock.advance(execution.SETTLE_SECONDS)
    assert two.balances(given, sek) == two.sums(given, sek)
    assert two.balances(given, sek)[0] == before - 100


def test_a_payment_to_an_account_at_the_same_bank_is_credited(bank: SingleBank) -> None:
    name = bank.profile.name
    mine, theirs, receiver = bank.token(), bank.token(OTHER[name]), bank.account(OTHER[name])
    before = bank.balances(theirs, receiver)
    back = bank.pay(mine, to=receiver.iban)
    assert back["status"] == bank.either("4", "ACCC")
    assert bank.balances(theirs, receiver) == (before[0] + PAID, before[1] + PAID) == bank.sums(theirs, receiver)
    assert bank.balances(mine) == bank.sums(mine)
    assert bank.reported_statuses() == bank.either([4], ["ACSP", "ACSC", "ACCC"])


def test_a_bulk_payment_of_1000_payments_causes_one_debit_and_has_one_status(bank: SingleBank) -> None:
    name = bank.profile.name
    given, receiver = bank.token(), bank.account(OTHER[name])
    before = bank.balances(given)[0]
    body = bank.bulk(["0.50"] * 999 + ["0.75"], to=receiver.iban)
    answer = bank.ask(BULK[name], body, given)
    browser = bank.at_confirmation(answer)
    assert "Confirm 1000 payments" in browser.page.text
    assert browser.page.text.count('<li class="row">') == 1003  # the first three stand above the list
    assert "500.25" in browser.page.text
    assert outcome(browser.pay())["status"] == bank.either("4", "ACCC")
    assert bank.balances(given)[0] == before - Decimal("500.25")
    assert bank.balances(given) == bank.sums(given)
    theirs = bank.token(OTHER[name])
    assert bank.balances(theirs, receiver) == bank.sums(theirs, receiver)
    if bank.profile.version == 2:
        asked = {"payment_id": answer["payment_id"]}
        assert bank.ask("/v2_payment_bulk_status", asked, given) == {"transaction_status": "ACCC"}
        assert code(bank.webhook("/v2_payment_single_status", asked, token=given))[0] == 404


def test_the_second_of_two_simultaneous_payments_is_rejected_for_insufficient_funds(
    bank: SingleBank, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = bank.token()
    most = str(bank.balances(given)[1])
    first, second = (bank.at_confirmation(bank.initiate(given, amount=most)) for _ in range(2))
    real, replies = bank.store.transact, []

    def meanwhile(operations: Any) -> None:
        monkeypatch.setattr(bank.store, "transact", real)
        replies.append(second.pay())
        real(operations)

    monkeypatch.setattr(bank.store, "transact", meanwhile)
    late = outcome(first.pay())
    assert outcome(replies[0])["status"] == bank.either("4", "ACSC")
    assert late["status"] == bank.either("2", "RJCT")
    assert late["message"] == execution.NO_FUNDS
    assert bank.balances(given)[1] == 0
    assert bank.balances(given) == bank.sums(given)


def test_a_double_click_executes_one_payment_and_both_responses_redirect_to_one_callback(
    bank: SingleBank, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = bank.token()
    before = bank.balances(given)[0]
    browser = bank.at_confirmation(bank.initiate(given))
    impatient = Browser(bank)
    impatient.cookies, impatient.page = dict(browser.cookies), browser.page
    real, replies = bank.store.transact, []

    def meanwhile(operations: Any) -> None:
        monkeypatch.setattr(bank.store, "transact", real)
        replies.append(impatient.pay())
        real(operations)

    monkeypatch.setattr(bank.store, "transact", meanwhile)
    first = browser.pay()
    assert first.location == replies[0].location == browser.pay().location
    assert bank.balances(given)[0] == before - PAID


def test_an_unconfirmed_payment_is_cancelled_after_its_deadline(bank: SingleBank) -> None:
    given = bank.token()
    answer = bank.initiate(given)
    browser = bank.at_confirmation(answer)
    bank.clock.advance(orders.CONFIRM_SECONDS)
    assert clearing.process_due_payments(get_bank(bank.profile.name, bank)) == 1
    assert bank.reported_statuses() == bank.either([3], ["CANC"])
    back = outcome(browser.pay())
    assert (back["status"], back["payment_id"]) == (bank.either("3", "CANC"), answer["payment_id"])
    assert "not confirmed in time" in back["message"]
    assert bank.payment_status(answer["payment_id"], given) == bank.either(3, "CANC")


def test_booked_payments_are_listed_by_date_newest_first(one: SingleBank) -> None:
    given = one.token()
    one.pay(given, scheme=SLOW["one"])
    one.clock.advance(3 * 86_400)
    one.pay(given)

    asked = {"account_id": one.account().account_id, "record_count": 100, "current_page": 1}
    rows = one.ask("/account_payments", asked, given)["payments"]
    days = [row["date_created"] for row in rows if row["status"] == 4]
    assert len(set(days)) > 1
    assert days == sorted(days, reverse=True)
