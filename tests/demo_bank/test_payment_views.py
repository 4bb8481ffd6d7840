"""The pages of a payment at a demonstration bank."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from chalicelib.demo_bank import clearing, execution, orders, payment_views, site
from chalicelib.demo_bank.banks import get_bank
from chalicelib.openbanking.protocol.versions import VERSIONS
from tests.demo_bank.parties import Reply
from tests.demo_bank.single_bank import CUSTOMER, DIRECT, OTHER, SingleBank, outcome


def test_a_direct_payment_requires_a_sign_in_and_an_account_choice(bank: SingleBank) -> None:
    name = bank.profile.name
    answer = bank.ask(DIRECT[name], bank.single(sender=False), None)
    assert answer.get("status") == bank.either(None, "RCVD")
    browser = bank.browser()
    browser.open(f"{bank.domain}/my-accounts")
    browser.submit("/my-accounts", fields=[("username", OTHER[name]), ("password", f"sandbox-{OTHER[name]}")])
    assert "An application" in browser.open(answer["confirmation_url"]).text
    assert 'name="password"' in browser.page.text
    assert "Which account pays?" in browser.pay_as(OTHER[name]).text
    chosen = bank.account(OTHER[name])
    assert chosen.name in browser.pay_from(chosen.account_id).text
    assert outcome(browser.pay())["status"] == bank.either("4", "ACSC")
    given = bank.token(OTHER[name])
    assert bank.balances(given, chosen) == bank.sums(given, chosen)
    assert bank.reported_statuses() == bank.either([4], ["ACTC", "ACSP", "ACSC"])
    if bank.profile.version == 2:
        asked = {"payment_id": answer["payment_id"]}
        assert bank.ask("/v2_payment_single_status", asked, None) == {"transaction_status": "ACSC"}
        assert bank.webhook("/v2_payment_single_status", asked, token=bank.token()).status == 404


def policy(reply: Reply) -> dict[str, str]:
    directives = (part.strip().partition(" ") for part in reply.headers["content-security-policy"].split(";"))
    return {name: value for name, _, value in directives}


def test_the_confirmation_page_shows_the_amount_payee_reference_account_and_client(bank: SingleBank) -> None:
    text = bank.at_confirmation(bank.initiate(reference="Rent <July>")).page.text
    for shown in ("12.50", "Zoë O&#39;Brien", "Rent &lt;July&gt;", bank.account().name, "Budget &lt;Friend&gt;"):
        assert shown in text
    assert "https://tpp.example" in text


def test_the_security_policy_of_the_confirmation_page_limits_form_targets_and_forbids_scripts(bank: SingleBank) -> None:
    page = bank.at_confirmation(bank.initiate()).page
    assert policy(page)["form-action"] == "'self' https://tpp.example"
    assert policy(page)["default-src"] == "'none'"
    for forbidden in ("<script", "style=", "onclick"):
        assert forbidden not in page.text


def test_payment_details_are_hidden_before_the_sign_in(bank: SingleBank) -> None:
    page = bank.browser().open(bank.initiate()["confirmation_url"])
    assert page.status == 200
    for secret in ("12.50", "Brien", "Invoice", bank.account().name):
        assert secret not in page.text


def test_a_signed_in_customer_is_directed_to_the_confirmation_page(bank: SingleBank) -> None:
    first, second = (bank.initiate(given) for given in [bank.token()] * 2)
    browser = bank.at_confirmation(first)
    assert 'id="sent"' in browser.open(second["confirmation_url"]).text


def test_a_signed_in_customer_cannot_see_a_payment_of_another_customer(bank: SingleBank) -> None:
    browser = bank.at_confirmation(bank.initiate())
    name = bank.profile.name
    theirs = bank.initiate(bank.token(OTHER[name]), sender=False)
    assert 'name="password"' in browser.open(theirs["confirmation_url"]).text
    assert "not from an account of this customer" in browser.pay_as(CUSTOMER[name]).text


def test_a_payment_refused_by_the_customer_is_cancelled_with_the_reason(bank: SingleBank) -> None:
    browser = bank.at_confirmation(bank.initiate())
    back = outcome(browser.refuse_to_pay())
    assert (back["status"], back["message"]) == (bank.either("3", "CANC"), "The customer refused")
    assert outcome(browser.pay("123456")) == back
    assert bank.reported_statuses() == bank.either([3], ["CANC"])


def test_refusing_a_payment_requires_no_sign_in(bank: SingleBank) -> None:
    browser = bank.browser()
    browser.open(bank.initiate()["confirmation_url"])
    assert outcome(browser.refuse_to_pay())["status"] == bank.either("3", "CANC")


def test_a_wrong_key_code_can_be_corrected_twice(bank: SingleBank) -> None:
    browser = bank.at_confirmation(bank.initiate())
    right = browser.key_code()
    wrong = f"{(int(right) + 1) % 1_000_000:06d}"
    browser.submit("/payment/confirm", fields=[("key_code", wrong)])
    assert "You have 2 more tries" in browser.page.text
    browser.submit("/payment/confirm", fields=[("key_code", wrong)])
    assert "You have one more try" in browser.page.text
    assert outcome(browser.pay(f"{right[:3]} {right[3:]}"))["status"] == bank.either("4", "ACSC")


def test_the_third_wrong_key_code_cancels_the_payment(bank: SingleBank) -> None:
    browser = bank.at_confirmation(bank.initiate())
    for _ in range(payment_views.KEY_CODES - 1):
        browser.submit("/payment/confirm", fields=[("key_code", "x")])
    back = outcome(browser.pay("é"))
    assert (back["status"], back["message"]) == (bank.either("3", "CANC"), "The key code was wrong three times")


def test_key_codes_of_different_payments_differ(bank: SingleBank) -> None:
    given = bank.token()
    first, second = (bank.at_confirmation(bank.initiate(given)) for _ in range(2))
    assert first.key_code() != second.key_code()


def test_too_many_wrong_passwords_cancel_the_payment(bank: SingleBank) -> None:
    browser = bank.browser()
    browser.open(bank.initiate()["confirmation_url"])
    for _ in range(payment_views.SIGN_INS - 1):
        reply = browser.submit("/payment/sign-in", fields=[("username", "ada"), ("password", "wrong")])
        assert "do not match" in reply.text
    last = browser.submit("/payment/sign-in", follow=False, fields=[("username", "ada"), ("password", "wrong")])
    assert outcome(last)["message"] == "The customer could not be authenticated"


def test_a_payment_is_not_confirmed_without_the_form_token(bank: SingleBank) -> None:
    browser = bank.at_confirmation(bank.initiate())
    right = browser.key_code()
    page = browser.page
    broken = page.text.replace('name="form_token" value="', 'name="form_token" value="0')
    browser.page = Reply(page.status, page.headers, broken, page.url)
    assert browser.pay(right).location.startswith("/demo-bank/")
    assert bank.reported_statuses() == []


def test_a_form_submitted_from_another_site_returns_403(bank: SingleBank) -> None:
    body = f"payment={bank.initiate()['confirmation_url'].rpartition('/')[2]}".encode()
    headers = {"sec-fetch-site": "cross-site", "content-type": "application/x-www-form-urlencoded"}
    assert bank.call("POST", f"{bank.domain}/payment/refuse", body, headers).status == 403
    assert bank.reported_statuses() == []


def test_a_customer_can_change_the_account_before_confirming(one: SingleBank) -> None:
    browser = one.browser()
    browser.open(one.initiate(sender=False)["confirmation_url"])
    browser.pay_as("ada")
    everyday, saver = one.account(), one.account(position=1)
    assert "Your accounts in GBP" in browser.page.text
    assert one.account(position=2).name not in browser.page.text
    browser.pay_from(everyday.account_id)
    first = browser.key_code()
    browser.open(f"{browser.page.url}?change=1")
    browser.pay_from(saver.account_id)
    assert saver.name in browser.page.text
    assert browser.key_code() != first
    assert outcome(browser.pay())["status"] == "4"


def test_accounts_without_funds_and_accounts_of_other_customers_cannot_be_chosen(bank: SingleBank) -> None:
    name = bank.profile.name
    browser = bank.browser()
    browser.open(bank.initiate(sender=False, amount="99999.00")["confirmation_url"])
    browser.pay_as(CUSTOMER[name])
    assert "not enough money in this account" in browser.pay_from(bank.account().account_id).text
    assert "choose the account" in browser.pay_from(bank.account(OTHER[name]).account_id).text


def test_the_creditor_account_is_not_offered_as_debtor_account(bank: SingleBank) -> None:
    browser = bank.browser()
    browser.open(bank.initiate(sender=False, to=bank.account().iban)["confirmation_url"])
    browser.pay_as(bank.customer)
    assert bank.account().account_id not in browser.page.text


def test_the_page_of_a_finished_payment_shows_its_outcome(bank: SingleBank) -> None:
    answer = bank.initiate()
    browser = bank.at_confirmation(answer)
    back = browser.pay().location
    page = browser.open(answer["confirmation_url"])
    assert page.status == 200
    assert "This payment has been made" in page.text
    assert back.replace("&", "&amp;") in page.text
    assert page.headers["referrer-policy"] == "no-referrer"
    assert "12.50" in page.text
    assert "12.50" not in bank.browser().open(answer["confirmation_url"]).text


def meanwhile(bank: SingleBank, monkeypatch: pytest.MonkeyPatch, happens: Callable[[], object]) -> None:
    """Call ``happens`` between the storage read and the storage write of the next page request."""
    real = bank.store.transact

    def transact(operations: Any) -> None:
        monkeypatch.setattr(bank.store, "transact", real)
        happens()
        real(operations)

    monkeypatch.setattr(bank.store, "transact", transact)


def test_a_payment_confirmation_succeeds_while_a_status_report_is_postponed(
    bank: SingleBank, monkeypatch: pytest.MonkeyPatch
) -> None:
    at, answer = get_bank(bank.profile.name, bank), bank.initiate()
    browser = bank.at_confirmation(answer)
    order = orders.find(at, answer["payment_id"])
    assert order is not None
    meanwhile(bank, monkeypatch, lambda: execution.save_transition(at, order, replace(order, report_attempts=1)))
    assert outcome(browser.pay())["status"] == bank.either("4", "ACSC")


def test_a_debtor_account_changed_during_the_confirmation_requires_a_new_confirmation(
    one: SingleBank, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = one.token()
    before = one.balances(given)
    answer = one.initiate(given, sender=False)
    browser, other = one.browser(), one.browser()
    for window in (browser, other):
        window.open(answer["confirmation_url"])
        window.pay_as("ada")
    browser.pay_from(one.account().account_id)
    other.open(f"{answer['confirmation_url']}?change=1")
    meanwhile(one, monkeypatch, lambda: other.pay_from(one.account(position=1).account_id))
    page = browser.open(browser.pay().location)
    assert "This payment changed" in page.text
    assert one.account(position=1).name in page.text
    assert one.balances(given) == before


def test_a_status_report_to_a_slow_service_is_sent_later_without_delaying_the_psu(two: SingleBank) -> None:
    browser = two.at_confirmation(two.initiate(to=two.account(OTHER["two"]).iban))
    two.hub.answer_seconds = 3
    two.hub.timeouts.clear()
    outcome(browser.pay())
    assert two.reported_statuses() == ["ACSP", "ACSC"]
    assert two.hub.timeouts == [(3, 5), (2, 2)]
    two.clock.advance(clearing.FIRST_REPEAT)
    clearing.process_due_payments(get_bank("two", two))
    assert two.reported_statuses() == ["ACSP", "ACSC", "ACCC"]


def test_an_unknown_payment_link_returns_404(bank: SingleBank) -> None:
    for place in ("nothing", "a.b", "%2e%2e", "ä"):
        assert bank.call("GET", f"{bank.domain}/payment/{place}").status == 404
    for form in ("sign-in", "choose", "confirm", "refuse"):
        assert bank.call("POST", f"{bank.domain}/payment/{form}", b"payment=nothing").status == 404


def test_the_link_of_a_payment_with_a_lost_storage_key_returns_404(bank: SingleBank) -> None:
    url = bank.initiate()["confirmation_url"]
    bank.secret[bank.profile.name]["storage_key"] = "cd" * 32
    bank.clock.advance(61)
    assert bank.call("GET", url).status == 404


def test_page_paths_and_webhook_paths_are_disjoint() -> None:
    pages = {place for method, place in site.PAGES if method == "POST"}
    assert not pages & {webhook.path for version in VERSIONS.values() for webhook in version.webhooks}


def test_a_head_request_does_not_expire_a_payment(bank: SingleBank) -> None:
    answer = bank.ask(DIRECT[bank.profile.name], bank.single(sender=False), None)
    order = orders.find(bank.runtime, answer["payment_id"])
    assert order is not None
    bank.clock.advance(order.confirm_by - bank.clock.time())

    head = bank.call("HEAD", answer["confirmation_url"])
    left = orders.find(bank.runtime, answer["payment_id"])
    assert head.status == 200
    assert head.text == ""
    assert left == order
    bank.call("GET", answer["confirmation_url"])
    assert orders.find(bank.runtime, answer["payment_id"]) != order
