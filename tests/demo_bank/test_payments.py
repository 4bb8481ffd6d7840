"""Payments from initiation to settlement: what the bank checks, where the money goes, and what the service is told."""

from __future__ import annotations

import re
import uuid
from decimal import Decimal
from typing import Any

import pytest
import requests

from chalicelib.demo_bank import clearing, execution, orders
from chalicelib.demo_bank.references import REFERENCES
from chalicelib.demo_bank.runtime import bank
from tests.demo_bank.paying import (
    AWAY,
    BACK,
    BULK,
    CURRENCY,
    CUSTOMER,
    DIRECT,
    OTHER,
    SINGLE,
    SLOW,
    account,
    ask,
    at_confirmation,
    balances,
    bulk,
    code,
    initiate,
    outcome,
    pay,
    reported,
    single,
    sums,
    token,
)
from tests.demo_bank.stage import Browser, Stage

STATUS = {"one": "/account_payment", "two": "/v2_payment_single_status"}
PAID = Decimal("12.50")


def status(stage: Stage, payment_id: str, given: str) -> Any:
    answer = ask(stage, STATUS[stage.profile.name], {"payment_id": payment_id}, given)
    return answer["payment"]["status"] if stage.profile.version == 1 else answer["transaction_status"]


def in_versions(stage: Stage, first: Any, second: Any) -> Any:
    return first if stage.profile.version == 1 else second


# -- the answer to an initiation


def test_an_initiation_answers_a_page_to_confirm_at_and_an_id_that_cannot_be_guessed(stage: Stage) -> None:
    given = token(stage)
    first, second = initiate(stage, given), initiate(stage, given)
    assert first["payment_id"] != second["payment_id"]
    assert re.fullmatch("[a-z2-7]{18}", first["payment_id"])
    place = first["confirmation_url"].removeprefix(f"{stage.domain}/payment/")
    assert re.fullmatch(r"[a-z2-7]{18}\.[A-Za-z0-9_-]{43}", place)
    assert first.get("status") == in_versions(stage, None, "ACTC")
    assert stage.call("GET", f"{stage.domain}/payment/{first['payment_id']}").status == 404
    assert stage.call("GET", first["confirmation_url"][:-1]).status == 404


def test_a_repeated_request_gets_the_payment_that_it_made(stage: Stage) -> None:
    given, request_id, path = token(stage), str(uuid.uuid4()), SINGLE[stage.profile.name]
    body = single(stage)
    first = ask(stage, path, body, given, x_request_id=request_id)
    assert ask(stage, path, body, given, x_request_id=request_id) == first
    assert initiate(stage, given) != first
    other = stage.webhook(path, single(stage, "12.51"), token=given, x_request_id=request_id)
    assert code(other) == in_versions(stage, (400, 4001), (400, "HEADERS_ERROR"))


@pytest.mark.parametrize("amount", ["0.001", "1.999", "12345678901234.00"])
def test_an_amount_that_cannot_be_paid_is_refused(stage: Stage, amount: str) -> None:
    if stage.profile.version == 1 and len(amount) > 11:
        pytest.skip("longer than version 1 takes")
    reply = stage.webhook(SINGLE[stage.profile.name], single(stage, amount), token=token(stage))
    assert code(reply) == in_versions(stage, (400, 4001), (400, "FORMAT_ERROR"))


def test_an_account_of_somebody_else_or_not_approved_pays_nothing(stage: Stage) -> None:
    name = stage.profile.name
    other = account(stage, OTHER[name]).iban
    debtor: dict[str, Any] = in_versions(stage, {"sender_iban": other}, {"debtor_account": {"iban": other}})
    reply = stage.webhook(SINGLE[name], single(stage) | debtor, token=token(stage))
    assert code(reply) == in_versions(stage, (400, 4001), (404, "RESOURCE_UNKNOWN"))


def test_a_payment_in_another_currency_than_the_accounts_is_refused(stage: Stage) -> None:
    name = stage.profile.name
    if stage.profile.version == 1:
        body = single(stage, scheme="SCT") | {"currency": "EUR"}
    else:
        where = {"name": "Elsewhere Bank", "country": "SE"}
        amount = {"amount": "1", "currency": "SEK"}
        body = single(stage, scheme="SWIFT") | {"instructed_amount": amount, "creditor_bank": where}
    reply = stage.webhook(SINGLE[name], body, token=token(stage))
    assert code(reply) == in_versions(stage, (400, 4001), (400, "FORMAT_ERROR"))
    assert "currency" in reply.text


def test_a_scheme_that_does_not_fit_the_currency_is_refused(stage: Stage) -> None:
    scheme = in_versions(stage, "SCT", "FPS")
    reply = stage.webhook(SINGLE[stage.profile.name], single(stage, scheme=scheme), token=token(stage))
    assert code(reply) == in_versions(stage, (400, 4001), (400, "PAYMENT_SCHEME_INVALID"))


def test_bank_two_wants_to_know_where_the_money_goes(two: Stage) -> None:
    body = single(two)
    del body["creditor_account"]
    reply = two.webhook(SINGLE["two"], body, token=token(two))
    assert code(reply) == (400, "FORMAT_ERROR")
    assert "creditor_account" in reply.text


def test_more_money_than_there_is_is_refused_in_plain_words(stage: Stage) -> None:
    given = token(stage)
    available = balances(stage, given)[1]
    reply = stage.webhook(SINGLE[stage.profile.name], single(stage, str(available + Decimal("0.01"))), token=given)
    assert code(reply) == in_versions(stage, (400, 5101), (400, "INSUFFICIENT_FUNDS"))
    assert "not enough money" in reply.text
    assert initiate(stage, given, amount=str(available))


def test_nobody_pays_to_the_account_that_pays(stage: Stage) -> None:
    reply = stage.webhook(SINGLE[stage.profile.name], single(stage, to=account(stage).iban), token=token(stage))
    assert reply.status == 400


def test_a_swift_payment_leaves_an_account_in_its_currency(two: Stage) -> None:
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


# -- money moves


def test_a_confirmed_instant_payment_is_booked_at_once(stage: Stage) -> None:
    given = token(stage)
    before = balances(stage, given)
    assert before == sums(stage, given)
    back = pay(stage, given)
    assert back == {"order": "7", "status": in_versions(stage, "4", "ACSC"), "payment_id": back["payment_id"]}
    assert balances(stage, given) == (before[0] - PAID, before[1] - PAID) == sums(stage, given)
    assert status(stage, back["payment_id"], given) == in_versions(stage, 4, "ACSC")
    assert reported(stage) == in_versions(stage, [4], ["ACSP", "ACSC"])


def test_any_other_payment_is_pending_until_it_is_settled(stage: Stage) -> None:
    given = token(stage)
    before = balances(stage, given)
    back = pay(stage, given, scheme=SLOW[stage.profile.name])
    assert back["status"] == in_versions(stage, "4", "ACSP")
    assert balances(stage, given) == (before[0], before[1] - PAID) == sums(stage, given)
    stage.clock.advance(execution.SETTLE_SECONDS - 1)
    assert clearing.clear(bank(stage.profile.name)) == 0
    stage.clock.advance(1)
    assert clearing.clear(bank(stage.profile.name)) == 1
    assert balances(stage, given) == (before[0] - PAID, before[1] - PAID) == sums(stage, given)
    assert reported(stage) == in_versions(stage, [4], ["ACSP", "ACSC"])
    assert clearing.clear(bank(stage.profile.name)) == 0


def test_money_for_an_account_of_this_bank_arrives_there(stage: Stage) -> None:
    name = stage.profile.name
    mine, theirs, receiver = token(stage), token(stage, OTHER[name]), account(stage, OTHER[name])
    before = balances(stage, theirs, receiver)
    back = pay(stage, mine, to=receiver.iban)
    assert back["status"] == in_versions(stage, "4", "ACCC")
    assert balances(stage, theirs, receiver) == (before[0] + PAID, before[1] + PAID) == sums(stage, theirs, receiver)
    assert balances(stage, mine) == sums(stage, mine)
    assert reported(stage) == in_versions(stage, [4], ["ACSP", "ACSC", "ACCC"])


def test_what_was_paid_comes_back_in_the_next_month_and_the_sums_stay_right(stage: Stage) -> None:
    given = token(stage)
    untouched = {days: balances_on(stage, given, days) for days in (31, 200)}
    pay(stage, given)
    stage.clock.advance(31 * 86400)
    assert balances(stage, given) == untouched[31] == sums(stage, given)


def balances_on(stage: Stage, given: str, days: int) -> tuple[Decimal, Decimal]:
    stage.clock.advance(days * 86400)
    found = balances(stage, given) if days < 180 else (Decimal(), Decimal())
    stage.clock.advance(-days * 86400)
    return found


def test_of_two_payments_confirmed_at_once_only_one_overdraws_nothing(
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
    assert outcome(replies[0])["status"] == in_versions(stage, "4", "ACSC")
    assert late["status"] == in_versions(stage, "2", "RJCT")
    assert late["message"] == execution.NO_FUNDS
    assert balances(stage, given)[1] == 0
    assert balances(stage, given) == sums(stage, given)


def test_a_double_click_pays_once_and_leads_to_the_same_place(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
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


# -- bulk


def test_a_bulk_of_a_thousand_is_one_debit_and_shows_every_payment(stage: Stage) -> None:
    name = stage.profile.name
    given, receiver = token(stage), account(stage, OTHER[name])
    before = balances(stage, given)[0]
    body = bulk(stage, ["0.50"] * 999 + ["0.75"], to=receiver.iban)
    answer = ask(stage, BULK[name], body, given)
    browser = at_confirmation(stage, answer)
    assert "Confirm 1000 payments" in browser.page.text
    assert browser.page.text.count("<tr><td>") == 1000
    assert "500.25" in browser.page.text
    assert outcome(browser.pay())["status"] == in_versions(stage, "4", "ACCC")
    assert balances(stage, given)[0] == before - Decimal("500.25")
    assert balances(stage, given) == sums(stage, given)
    theirs = token(stage, OTHER[name])
    assert balances(stage, theirs, receiver) == sums(stage, theirs, receiver)
    if stage.profile.version == 2:
        asked = {"payment_id": answer["payment_id"]}
        assert ask(stage, "/v2_payment_bulk_status", asked, given) == {"transaction_status": "ACCC"}
        assert code(stage.webhook("/v2_payment_single_status", asked, token=given))[0] == 404


def test_a_bulk_body_of_four_megabytes_is_taken(one: Stage) -> None:
    body = bulk(one, ["0.01"] * 10)
    raw = requests.models.complexjson.dumps(body, default=str).encode()
    reply = one.webhook(BULK["one"], raw=raw + b" " * (4_000_000 - len(raw)), token=token(one))
    assert reply.status == 200


# -- one-time consents and direct payments


def test_the_token_of_a_one_time_consent_initiates_one_payment_and_may_ask_for_its_status(stage: Stage) -> None:
    name = stage.profile.name
    scopes = in_versions(stage, ["payment.init"], ["payments.single"])
    given = stage.approve(CUSTOMER[name], scopes=scopes, is_one_time=True)
    request_id = str(uuid.uuid4())
    answer = ask(stage, SINGLE[name], single(stage), given, x_request_id=request_id)
    assert ask(stage, SINGLE[name], single(stage), given, x_request_id=request_id) == answer
    again = stage.webhook(SINGLE[name], single(stage), token=given)
    assert code(again) == in_versions(stage, (401, 4202), (401, "AUTHENTICATION_REQUIRED"))
    assert outcome(at_confirmation(stage, answer).pay())["payment_id"] == answer["payment_id"]
    if stage.profile.version == 2:
        assert status(stage, answer["payment_id"], given) == "ACSC"


def test_the_consent_type_of_the_request_is_kept_with_the_consent(stage: Stage) -> None:
    stage.hub.scopes = in_versions(stage, ["payment.init"], ["payments.single"])
    browser = stage.browser().arrive(consent_type="one_time")
    browser.sign_in(CUSTOMER[stage.profile.name])
    browser.choose(1)
    assert browser.confirm().status == 303
    path = SINGLE[stage.profile.name]
    assert stage.webhook(path, single(stage), token=stage.hub.token).status == 200
    assert stage.webhook(path, single(stage), token=stage.hub.token).status == 401


def test_a_direct_payment_has_the_customer_sign_in_and_choose_the_account(stage: Stage) -> None:
    name = stage.profile.name
    answer = ask(stage, DIRECT[name], single(stage, sender=False), None)
    assert answer.get("status") == in_versions(stage, None, "RCVD")
    browser = stage.browser()
    browser.open(f"{stage.domain}/my-accounts")
    browser.submit("/my-accounts", fields=[("username", OTHER[name]), ("password", f"sandbox-{OTHER[name]}")])
    assert "An application" in browser.open(answer["confirmation_url"]).text
    assert 'name="password"' in browser.page.text
    assert "Which account pays?" in browser.pay_as(OTHER[name]).text
    chosen = account(stage, OTHER[name])
    assert chosen.name in browser.pay_from(chosen.account_id).text
    assert outcome(browser.pay())["status"] == in_versions(stage, "4", "ACSC")
    given = token(stage, OTHER[name])
    assert balances(stage, given, chosen) == sums(stage, given, chosen)
    assert reported(stage) == in_versions(stage, [4], ["ACTC", "ACSP", "ACSC"])
    if stage.profile.version == 2:
        asked = {"payment_id": answer["payment_id"]}
        assert ask(stage, STATUS["two"], asked, None) == {"transaction_status": "ACSC"}
        assert stage.webhook(STATUS["two"], asked, token=token(stage)).status == 404


def test_the_status_of_a_consented_payment_is_not_told_without_its_token(two: Stage) -> None:
    asked = {"payment_id": initiate(two)["payment_id"]}
    assert code(two.webhook(STATUS["two"], asked)) == (401, "AUTHENTICATION_REQUIRED")
    assert code(two.webhook(STATUS["two"], asked, token=token(two))) == (404, "RESOURCE_UNKNOWN")
    assert code(two.webhook(STATUS["two"], {"payment_id": "none"}, token=token(two))) == (404, "RESOURCE_UNKNOWN")


# -- refused, expired, and told to the service


def test_a_payment_that_is_not_confirmed_in_time_is_cancelled(stage: Stage) -> None:
    given = token(stage)
    answer = initiate(stage, given)
    browser = at_confirmation(stage, answer)
    stage.clock.advance(orders.CONFIRM_SECONDS)
    assert clearing.clear(bank(stage.profile.name)) == 1
    assert reported(stage) == in_versions(stage, [3], ["CANC"])
    back = outcome(browser.pay())
    assert (back["status"], back["payment_id"]) == (in_versions(stage, "3", "CANC"), answer["payment_id"])
    assert "not confirmed in time" in back["message"]
    assert status(stage, answer["payment_id"], given) == in_versions(stage, 3, "CANC")


def test_a_report_that_did_not_arrive_is_sent_again_as_the_same_report(stage: Stage) -> None:
    at = bank(stage.profile.name)
    stage.hub.errors["/payments/status"] = requests.ConnectionError("away")
    given = token(stage)
    assert pay(stage, given)["status"] == in_versions(stage, "4", "ACSC")
    pay(stage, given)
    first = stage.hub.named("/payments/status")
    assert clearing.clear(at) == 0
    stage.clock.advance(60)
    assert clearing.clear(at) == 2
    assert len(stage.hub.named("/payments/status")) == len(first) + 1  # the second waits: nobody is there
    stage.hub.errors.clear()
    stage.clock.advance(120)
    assert clearing.clear(at) == 2
    sent = [(body, headers["X-Request-Id"]) for _, body, headers in stage.hub.named("/payments/status")]
    assert sent.count((first[0][1], first[0][2]["X-Request-Id"])) == 3
    assert len({request_id for _, request_id in sent}) == in_versions(stage, 2, 4)
    assert clearing.clear(at) == 0


def test_a_report_that_the_service_refuses_is_not_repeated(stage: Stage) -> None:
    refusal = in_versions(stage, {"error_code": 4001, "message": "no"}, {"code": "FORMAT_ERROR", "title": "no"})
    stage.hub.errors["/payments/status"] = (400, refusal)
    pay(stage)
    stage.clock.advance(3600)
    assert clearing.clear(bank(stage.profile.name)) == 0


def test_reports_are_signed_and_spelled_in_the_banks_version(stage: Stage) -> None:
    back = pay(stage)
    path, body, headers = stage.hub.named("/payments/status")[-1]
    assert path == in_versions(stage, "/bank/payments/status", "/bank/v2/payments/status")
    expected: dict[str, Any] = in_versions(
        stage,
        {"payment_id": back["payment_id"], "payment_status": 4},
        {"paymentId": back["payment_id"], "paymentStatus": "ACSC"},
    )
    assert body == expected
    assert headers["X-Signature"]


def test_a_payment_that_cannot_be_read_keeps_no_other_waiting(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    given = token(stage)
    for _ in range(2):
        initiate(stage, given)
    stage.clock.advance(orders.CONFIRM_SECONDS)
    real, failed = execution.refresh, []

    def refresh(at: Any, order: Any) -> Any:
        if not failed:
            failed.append(order)
            raise RuntimeError("broken")
        return real(at, order)

    monkeypatch.setattr(execution, "refresh", refresh)
    clearing.run()
    assert len(reported(stage)) == 1


def test_neither_the_callback_url_nor_the_pages_secret_is_stored(stage: Stage) -> None:
    answer = initiate(stage)
    stored = repr(list(stage.store.scan("demo-banks")))
    assert answer["payment_id"] in stored
    assert BACK not in stored
    assert answer["confirmation_url"].rpartition(".")[2] not in stored


# -- test references


def test_the_names_of_test_references_fit_into_a_version_1_reference_and_are_shown(stage: Stage) -> None:
    page = stage.call("GET", stage.domain).text
    for reference in REFERENCES:
        assert len(reference.name) <= 18
        assert reference.name in page


@pytest.mark.parametrize(
    ("reference", "first", "second"),
    [("TEST-NO-FUNDS", 5101, "INSUFFICIENT_FUNDS"), ("TEST-REFUSED", 5102, "PAYMENT_REFUSED")],
)
def test_a_payment_can_be_refused_on_purpose(stage: Stage, reference: str, first: int, second: str) -> None:
    given, name = token(stage), stage.profile.name
    for path, body in (
        (SINGLE[name], single(stage, reference=reference)),
        (BULK[name], bulk(stage, ["1", "2"], reference=reference)),
    ):
        assert code(stage.webhook(path, body, token=given)) == (400, in_versions(stage, first, second))


def test_a_structured_reference_counts_as_well(two: Stage) -> None:
    structured = {"reference": "TEST-REFUSED", "reference_type": "SCOR"}
    body = single(two) | {"remittance_information_structured": structured}
    assert code(two.webhook(SINGLE["two"], body, token=token(two))) == (400, "PAYMENT_REFUSED")


def test_an_answer_can_come_too_late_on_purpose(stage: Stage) -> None:
    waits: list[float] = []
    bank(stage.profile.name).pause = waits.append
    answer = initiate(stage, reference="TEST-TIMEOUT")
    assert 20 < waits[0] < 29
    assert outcome(at_confirmation(stage, answer).refuse_to_pay())


def test_an_answer_can_be_malformed_on_purpose(stage: Stage) -> None:
    reply = stage.webhook(SINGLE[stage.profile.name], single(stage, reference="TEST-MALFORMED"), token=token(stage))
    assert reply.status == 200
    assert "confirmation_url" not in reply.body


def test_a_payment_can_be_rejected_late_and_the_money_comes_back(stage: Stage) -> None:
    given = token(stage)
    before = balances(stage, given)
    back = pay(stage, given, reference="test-late-reject")
    assert back["status"] == in_versions(stage, "1", "ACSP")
    assert balances(stage, given) == (before[0], before[1] - PAID)
    stage.clock.advance(execution.SETTLE_SECONDS)
    clearing.clear(bank(stage.profile.name))
    assert balances(stage, given) == before == sums(stage, given)
    assert reported(stage) == in_versions(stage, [2], ["ACSP", "RJCT"])
    assert status(stage, back["payment_id"], given) == in_versions(stage, 2, "RJCT")


def test_a_status_can_be_unknown_for_ten_minutes(stage: Stage) -> None:
    given = token(stage)
    back = pay(stage, given, reference="TEST-UNKNOWN")
    assert back["status"] == in_versions(stage, "0", "PDNG")
    stage.clock.advance(execution.UNKNOWN_SECONDS - 1)
    assert status(stage, back["payment_id"], given) == in_versions(stage, 0, "PDNG")
    stage.clock.advance(1)
    assert status(stage, back["payment_id"], given) == in_versions(stage, 4, "ACSC")
    clearing.clear(bank(stage.profile.name))
    assert reported(stage) == in_versions(stage, [0, 4], ["PDNG", "ACSC"])


def test_money_is_written_in_the_currencys_own_digits(stage: Stage) -> None:
    assert CURRENCY[stage.profile.name] in ("GBP", "EUR")
    assert AWAY[stage.profile.name]
    given = token(stage)
    assert all(-amount.as_tuple().exponent == 2 for amount in balances(stage, given))  # type: ignore[operator]
