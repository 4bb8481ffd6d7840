"""Where the money goes: confirmed, settled, rejected, expired, and never twice."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from chalicelib.demo_bank import clearing, execution, orders
from chalicelib.demo_bank.banks import get_bank
from tests.demo_bank.paying import (
    BULK,
    OTHER,
    PAID,
    SINGLE,
    SLOW,
    account,
    ask,
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
from tests.demo_bank.stage import Browser, Stage


def test_a_confirmed_instant_payment_is_booked_at_once(stage: Stage) -> None:
    given = token(stage)
    before = balances(stage, given)
    assert before == sums(stage, given)
    back = pay(stage, given)
    assert back == {"order": "7", "status": either(stage, "4", "ACSC"), "payment_id": back["payment_id"]}
    assert balances(stage, given) == (before[0] - PAID, before[1] - PAID) == sums(stage, given)
    assert status(stage, back["payment_id"], given) == either(stage, 4, "ACSC")
    assert reported(stage) == either(stage, [4], ["ACSP", "ACSC"])


def test_a_payment_by_another_scheme_is_pending_until_its_settlement(stage: Stage) -> None:
    given = token(stage)
    before = balances(stage, given)
    back = pay(stage, given, scheme=SLOW[stage.profile.name])
    assert back["status"] == either(stage, "4", "ACSP")
    assert balances(stage, given) == (before[0], before[1] - PAID) == sums(stage, given)
    stage.clock.advance(execution.SETTLE_SECONDS - 1)
    assert clearing.process_due_payments(get_bank(stage.profile.name, stage)) == 0
    stage.clock.advance(1)
    assert clearing.process_due_payments(get_bank(stage.profile.name, stage)) == 1
    assert balances(stage, given) == (before[0] - PAID, before[1] - PAID) == sums(stage, given)
    assert reported(stage) == either(stage, [4], ["ACSP", "ACSC"])
    assert clearing.process_due_payments(get_bank(stage.profile.name, stage)) == 0


def test_a_swift_payment_is_debited_in_the_currency_of_the_account(two: Stage) -> None:
    given, sek = token(two), account(two, position=1)
    body = single(two, "100", scheme="SWIFT") | {
        "debtor_account": {"iban": sek.iban},
        "instructed_amount": {"amount": "100", "currency": "SEK"},
        "creditor_bank": {"name": "Elsewhere Bank", "country": "SE"},
    }
    before = balances(two, given, sek)[0]
    answer = ask(two, SINGLE["two"], body, given)
    assert outcome(at_confirmation(two, answer).pay())["status"] == "ACSP"
    two.clock.advance(execution.SETTLE_SECONDS)
    assert balances(two, given, sek) == sums(two, given, sek)
    assert balances(two, given, sek)[0] == before - 100


def test_a_payment_to_an_account_of_the_same_bank_is_credited(stage: Stage) -> None:
    name = stage.profile.name
    mine, theirs, receiver = token(stage), token(stage, OTHER[name]), account(stage, OTHER[name])
    before = balances(stage, theirs, receiver)
    back = pay(stage, mine, to=receiver.iban)
    assert back["status"] == either(stage, "4", "ACCC")
    assert balances(stage, theirs, receiver) == (before[0] + PAID, before[1] + PAID) == sums(stage, theirs, receiver)
    assert balances(stage, mine) == sums(stage, mine)
    assert reported(stage) == either(stage, [4], ["ACSP", "ACSC", "ACCC"])


def test_a_bulk_of_1000_payments_is_one_debit_with_one_status(stage: Stage) -> None:
    name = stage.profile.name
    given, receiver = token(stage), account(stage, OTHER[name])
    before = balances(stage, given)[0]
    body = bulk(stage, ["0.50"] * 999 + ["0.75"], to=receiver.iban)
    answer = ask(stage, BULK[name], body, given)
    browser = at_confirmation(stage, answer)
    assert "Confirm 1000 payments" in browser.page.text
    assert browser.page.text.count('<li class="row">') == 1003  # the first three stand above the list
    assert "500.25" in browser.page.text
    assert outcome(browser.pay())["status"] == either(stage, "4", "ACCC")
    assert balances(stage, given)[0] == before - Decimal("500.25")
    assert balances(stage, given) == sums(stage, given)
    theirs = token(stage, OTHER[name])
    assert balances(stage, theirs, receiver) == sums(stage, theirs, receiver)
    if stage.profile.version == 2:
        asked = {"payment_id": answer["payment_id"]}
        assert ask(stage, "/v2_payment_bulk_status", asked, given) == {"transaction_status": "ACCC"}
        assert code(stage.webhook("/v2_payment_single_status", asked, token=given))[0] == 404


def test_the_second_of_two_simultaneous_payments_is_rejected_without_funds(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = token(stage)
    most = str(balances(stage, given)[1])
    first, second = (at_confirmation(stage, initiate(stage, given, amount=most)) for _ in range(2))
    real, replies = stage.store.transact, []

    def meanwhile(operations: Any) -> None:
        monkeypatch.setattr(stage.store, "transact", real)
        replies.append(second.pay())
        real(operations)

    monkeypatch.setattr(stage.store, "transact", meanwhile)
    late = outcome(first.pay())
    assert outcome(replies[0])["status"] == either(stage, "4", "ACSC")
    assert late["status"] == either(stage, "2", "RJCT")
    assert late["message"] == execution.NO_FUNDS
    assert balances(stage, given)[1] == 0
    assert balances(stage, given) == sums(stage, given)


def test_a_double_click_pays_once_and_redirects_to_the_same_callback(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = token(stage)
    before = balances(stage, given)[0]
    browser = at_confirmation(stage, initiate(stage, given))
    impatient = Browser(stage)
    impatient.cookies, impatient.page = dict(browser.cookies), browser.page
    real, replies = stage.store.transact, []

    def meanwhile(operations: Any) -> None:
        monkeypatch.setattr(stage.store, "transact", real)
        replies.append(impatient.pay())
        real(operations)

    monkeypatch.setattr(stage.store, "transact", meanwhile)
    first = browser.pay()
    assert first.location == replies[0].location == browser.pay().location
    assert balances(stage, given)[0] == before - PAID


def test_an_unconfirmed_payment_is_cancelled_after_its_deadline(stage: Stage) -> None:
    given = token(stage)
    answer = initiate(stage, given)
    browser = at_confirmation(stage, answer)
    stage.clock.advance(orders.CONFIRM_SECONDS)
    assert clearing.process_due_payments(get_bank(stage.profile.name, stage)) == 1
    assert reported(stage) == either(stage, [3], ["CANC"])
    back = outcome(browser.pay())
    assert (back["status"], back["payment_id"]) == (either(stage, "3", "CANC"), answer["payment_id"])
    assert "not confirmed in time" in back["message"]
    assert status(stage, answer["payment_id"], given) == either(stage, 3, "CANC")


def test_booked_payments_are_listed_by_date_newest_first(one: Stage) -> None:
    given = token(one)
    pay(one, given, scheme=SLOW["one"])
    one.clock.advance(3 * 86_400)
    pay(one, given)

    asked = {"account_id": account(one).account_id, "record_count": 100, "current_page": 1}
    rows = ask(one, "/account_payments", asked, given)["payments"]
    days = [row["date_created"] for row in rows if row["status"] == 4]
    assert len(set(days)) > 1
    assert days == sorted(days, reverse=True)
