"""The PSU's way through a payment."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from chalicelib.demo_bank import clearing, execution, orders, payment_views, site
from chalicelib.demo_bank.banks import get_bank
from chalicelib.openbanking.protocol.versions import VERSIONS
from tests.demo_bank.paying import (
    CUSTOMER,
    DIRECT,
    OTHER,
    account,
    ask,
    at_confirmation,
    balances,
    either,
    initiate,
    outcome,
    reported,
    single,
    sums,
    token,
)
from tests.demo_bank.stage import Reply, Stage


def test_a_direct_payment_requires_a_sign_in_and_an_account_choice(stage: Stage) -> None:
    name = stage.profile.name
    answer = ask(stage, DIRECT[name], single(stage, sender=False), None)
    assert answer.get("status") == either(stage, None, "RCVD")
    browser = stage.browser()
    browser.open(f"{stage.domain}/my-accounts")
    browser.submit("/my-accounts", fields=[("username", OTHER[name]), ("password", f"sandbox-{OTHER[name]}")])
    assert "An application" in browser.open(answer["confirmation_url"]).text
    assert 'name="password"' in browser.page.text
    assert "Which account pays?" in browser.pay_as(OTHER[name]).text
    chosen = account(stage, OTHER[name])
    assert chosen.name in browser.pay_from(chosen.account_id).text
    assert outcome(browser.pay())["status"] == either(stage, "4", "ACSC")
    given = token(stage, OTHER[name])
    assert balances(stage, given, chosen) == sums(stage, given, chosen)
    assert reported(stage) == either(stage, [4], ["ACTC", "ACSP", "ACSC"])
    if stage.profile.version == 2:
        asked = {"payment_id": answer["payment_id"]}
        assert ask(stage, "/v2_payment_single_status", asked, None) == {"transaction_status": "ACSC"}
        assert stage.webhook("/v2_payment_single_status", asked, token=token(stage)).status == 404


def policy(reply: Reply) -> dict[str, str]:
    directives = (part.strip().partition(" ") for part in reply.headers["content-security-policy"].split(";"))
    return {name: value for name, _, value in directives}


def test_the_confirmation_page_shows_amount_payee_reference_account_and_client(stage: Stage) -> None:
    text = at_confirmation(stage, initiate(stage, reference="Rent <July>")).page.text
    for shown in ("12.50", "Zoë O&#39;Brien", "Rent &lt;July&gt;", account(stage).name, "Budget &lt;Friend&gt;"):
        assert shown in text
    assert "https://tpp.example" in text


def test_the_confirmation_page_limits_form_targets_and_forbids_scripts(stage: Stage) -> None:
    page = at_confirmation(stage, initiate(stage)).page
    assert policy(page)["form-action"] == "'self' https://tpp.example"
    assert policy(page)["default-src"] == "'none'"
    for forbidden in ("<script", "style=", "onclick"):
        assert forbidden not in page.text


def test_payment_details_are_hidden_before_the_sign_in(stage: Stage) -> None:
    page = stage.browser().open(initiate(stage)["confirmation_url"])
    assert page.status == 200
    for secret in ("12.50", "Brien", "Invoice", account(stage).name):
        assert secret not in page.text


def test_a_signed_in_customer_goes_straight_to_the_confirmation(stage: Stage) -> None:
    first, second = (initiate(stage, given) for given in [token(stage)] * 2)
    browser = at_confirmation(stage, first)
    assert 'id="sent"' in browser.open(second["confirmation_url"]).text


def test_a_signed_in_customer_cannot_see_a_payment_of_another_customer(stage: Stage) -> None:
    browser = at_confirmation(stage, initiate(stage))
    name = stage.profile.name
    theirs = initiate(stage, token(stage, OTHER[name]), sender=False)
    assert 'name="password"' in browser.open(theirs["confirmation_url"]).text
    assert "not from an account of this customer" in browser.pay_as(CUSTOMER[name]).text


def test_refusing_a_payment_cancels_it_and_returns_the_reason(stage: Stage) -> None:
    browser = at_confirmation(stage, initiate(stage))
    back = outcome(browser.refuse_to_pay())
    assert (back["status"], back["message"]) == (either(stage, "3", "CANC"), "The customer refused")
    assert outcome(browser.pay("123456")) == back
    assert reported(stage) == either(stage, [3], ["CANC"])


def test_refusing_a_payment_requires_no_sign_in(stage: Stage) -> None:
    browser = stage.browser()
    browser.open(initiate(stage)["confirmation_url"])
    assert outcome(browser.refuse_to_pay())["status"] == either(stage, "3", "CANC")


def test_a_wrong_key_code_may_be_corrected_twice(stage: Stage) -> None:
    browser = at_confirmation(stage, initiate(stage))
    right = browser.key_code()
    wrong = f"{(int(right) + 1) % 1_000_000:06d}"
    browser.submit("/payment/confirm", fields=[("key_code", wrong)])
    assert "You have 2 more tries" in browser.page.text
    browser.submit("/payment/confirm", fields=[("key_code", wrong)])
    assert "You have one more try" in browser.page.text
    assert outcome(browser.pay(f"{right[:3]} {right[3:]}"))["status"] == either(stage, "4", "ACSC")


def test_the_third_wrong_key_code_cancels_the_payment(stage: Stage) -> None:
    browser = at_confirmation(stage, initiate(stage))
    for _ in range(payment_views.KEY_CODES - 1):
        browser.submit("/payment/confirm", fields=[("key_code", "x")])
    back = outcome(browser.pay("é"))
    assert (back["status"], back["message"]) == (either(stage, "3", "CANC"), "The key code was wrong three times")


def test_a_key_code_differs_for_each_payment(stage: Stage) -> None:
    given = token(stage)
    first, second = (at_confirmation(stage, initiate(stage, given)) for _ in range(2))
    assert first.key_code() != second.key_code()


def test_too_many_wrong_passwords_cancel_the_payment(stage: Stage) -> None:
    browser = stage.browser()
    browser.open(initiate(stage)["confirmation_url"])
    for _ in range(payment_views.SIGN_INS - 1):
        reply = browser.submit("/payment/sign-in", fields=[("username", "ada"), ("password", "wrong")])
        assert "do not match" in reply.text
    last = browser.submit("/payment/sign-in", follow=False, fields=[("username", "ada"), ("password", "wrong")])
    assert outcome(last)["message"] == "The customer could not be authenticated"


def test_a_payment_is_not_confirmed_without_the_form_token(stage: Stage) -> None:
    browser = at_confirmation(stage, initiate(stage))
    right = browser.key_code()
    page = browser.page
    broken = page.text.replace('name="form_token" value="', 'name="form_token" value="0')
    browser.page = Reply(page.status, page.headers, broken, page.url)
    assert browser.pay(right).location.startswith("/demo-bank/")
    assert reported(stage) == []


def test_a_form_of_another_site_returns_403(stage: Stage) -> None:
    body = f"payment={initiate(stage)['confirmation_url'].rpartition('/')[2]}".encode()
    headers = {"sec-fetch-site": "cross-site", "content-type": "application/x-www-form-urlencoded"}
    assert stage.call("POST", f"{stage.domain}/payment/refuse", body, headers).status == 403
    assert reported(stage) == []


def test_a_customer_may_change_the_account_before_confirming(one: Stage) -> None:
    browser = one.browser()
    browser.open(initiate(one, sender=False)["confirmation_url"])
    browser.pay_as("ada")
    everyday, saver = account(one), account(one, position=1)
    assert "Your accounts in GBP" in browser.page.text
    assert account(one, position=2).name not in browser.page.text
    browser.pay_from(everyday.account_id)
    first = browser.key_code()
    browser.open(f"{browser.page.url}?change=1")
    browser.pay_from(saver.account_id)
    assert saver.name in browser.page.text
    assert browser.key_code() != first
    assert outcome(browser.pay())["status"] == "4"


def test_an_account_without_funds_or_of_another_customer_cannot_be_chosen(stage: Stage) -> None:
    name = stage.profile.name
    browser = stage.browser()
    browser.open(initiate(stage, sender=False, amount="99999.00")["confirmation_url"])
    browser.pay_as(CUSTOMER[name])
    assert "not enough money in this account" in browser.pay_from(account(stage).account_id).text
    assert "choose the account" in browser.pay_from(account(stage, OTHER[name]).account_id).text


def test_the_creditor_account_is_not_offered_as_debtor_account(stage: Stage) -> None:
    browser = stage.browser()
    browser.open(initiate(stage, sender=False, to=account(stage).iban)["confirmation_url"])
    browser.pay_as(CUSTOMER[stage.profile.name])
    assert account(stage).account_id not in browser.page.text


def test_the_page_of_a_finished_payment_shows_its_outcome(stage: Stage) -> None:
    answer = initiate(stage)
    browser = at_confirmation(stage, answer)
    back = browser.pay().location
    page = browser.open(answer["confirmation_url"])
    assert page.status == 200
    assert "This payment has been made" in page.text
    assert back.replace("&", "&amp;") in page.text
    assert page.headers["referrer-policy"] == "no-referrer"
    assert "12.50" in page.text
    assert "12.50" not in stage.browser().open(answer["confirmation_url"]).text


def meanwhile(stage: Stage, monkeypatch: pytest.MonkeyPatch, happens: Callable[[], object]) -> None:
    """Let something happen between the next page's reading and its writing."""
    real = stage.store.transact

    def transact(operations: Any) -> None:
        monkeypatch.setattr(stage.store, "transact", real)
        happens()
        real(operations)

    monkeypatch.setattr(stage.store, "transact", transact)


def test_a_report_postponed_during_the_confirmation_does_not_fail_it(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    at, answer = get_bank(stage.profile.name, stage), initiate(stage)
    browser = at_confirmation(stage, answer)
    order = orders.find(at, answer["payment_id"])
    assert order is not None
    meanwhile(stage, monkeypatch, lambda: execution.save_transition(at, order, replace(order, report_attempts=1)))
    assert outcome(browser.pay())["status"] == either(stage, "4", "ACSC")


def test_an_account_changed_during_the_confirmation_requires_a_new_confirmation(
    one: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = token(one)
    before = balances(one, given)
    answer = initiate(one, given, sender=False)
    browser, other = one.browser(), one.browser()
    for window in (browser, other):
        window.open(answer["confirmation_url"])
        window.pay_as("ada")
    browser.pay_from(account(one).account_id)
    other.open(f"{answer['confirmation_url']}?change=1")
    meanwhile(one, monkeypatch, lambda: other.pay_from(account(one, position=1).account_id))
    page = browser.open(browser.pay().location)
    assert "This payment changed" in page.text
    assert account(one, position=1).name in page.text
    assert balances(one, given) == before


def test_a_slow_service_does_not_delay_the_psu_and_gets_the_last_report_later(two: Stage) -> None:
    browser = at_confirmation(two, initiate(two, to=account(two, OTHER["two"]).iban))
    two.hub.answer_seconds = 3
    two.hub.timeouts.clear()
    outcome(browser.pay())
    assert reported(two) == ["ACSP", "ACSC"]
    assert two.hub.timeouts == [(3, 5), (2, 2)]
    two.clock.advance(clearing.FIRST_REPEAT)
    clearing.process_due_payments(get_bank("two", two))
    assert reported(two) == ["ACSP", "ACSC", "ACCC"]


def test_an_unknown_payment_link_returns_404(stage: Stage) -> None:
    for place in ("nothing", "a.b", "%2e%2e", "ä"):
        assert stage.call("GET", f"{stage.domain}/payment/{place}").status == 404
    for form in ("sign-in", "choose", "confirm", "refuse"):
        assert stage.call("POST", f"{stage.domain}/payment/{form}", b"payment=nothing").status == 404


def test_payments_with_a_lost_storage_key_return_404(stage: Stage) -> None:
    url = initiate(stage)["confirmation_url"]
    stage.secret[stage.profile.name]["storage_key"] = "cd" * 32
    stage.clock.advance(61)
    assert stage.call("GET", url).status == 404


def test_no_page_path_equals_a_webhook_path() -> None:
    pages = {place for method, place in site.PAGES if method == "POST"}
    assert not pages & {webhook.path for version in VERSIONS.values() for webhook in version.webhooks}


def test_a_head_request_does_not_expire_a_payment(stage: Stage) -> None:
    answer = ask(stage, DIRECT[stage.profile.name], single(stage, sender=False), None)
    order = orders.find(stage.bank, answer["payment_id"])
    assert order is not None
    stage.clock.advance(order.confirm_by - stage.clock.time())

    head = stage.call("HEAD", answer["confirmation_url"])
    left = orders.find(stage.bank, answer["payment_id"])
    assert head.status == 200
    assert head.text == ""
    assert left == order
    stage.call("GET", answer["confirmation_url"])
    assert orders.find(stage.bank, answer["payment_id"]) != order
