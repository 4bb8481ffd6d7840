"""Payment initiation: the bank's response, and the checks that only the bank can make."""

import re
import uuid
from decimal import Decimal
from typing import Any

import pytest

from chalicelib.foundation import jsontext
from tests.demo_bank.single_bank import BACK, BULK, CUSTOMER, DIRECT, OTHER, PAID, SINGLE, SingleBank, code, outcome


def test_an_initiation_returns_an_unguessable_confirmation_url_and_payment_id(bank: SingleBank) -> None:
    given = bank.token()
    first, second = bank.initiate(given), bank.initiate(given)
    assert first["payment_id"] != second["payment_id"]
    assert re.fullmatch("[a-z2-7]{18}", first["payment_id"])
    place = first["confirmation_url"].removeprefix(f"{bank.domain}/payment/")
    assert re.fullmatch(r"[a-z2-7]{18}\.[A-Za-z0-9_-]{43}", place)
    assert first.get("status") == bank.either(None, "ACTC")
    assert bank.call("GET", f"{bank.domain}/payment/{first['payment_id']}").status == 404
    assert bank.call("GET", first["confirmation_url"][:-1]).status == 404


def test_a_duplicate_request_id_returns_the_same_payment(bank: SingleBank) -> None:
    given, request_id, path = bank.token(), str(uuid.uuid4()), bank.single_path
    body = bank.single()
    first = bank.ask(path, body, given, x_request_id=request_id)
    assert bank.ask(path, body, given, x_request_id=request_id) == first
    assert bank.ask(path, body, given, x_request_id=request_id.upper()) == first
    assert bank.initiate(given) != first
    other = bank.webhook(path, bank.single("12.51"), token=given, x_request_id=request_id)
    assert code(other) == bank.either((400, 4001), (400, "HEADERS_ERROR"))


@pytest.mark.parametrize("amount", ["0.001", "1.999", "0.01000001"])
def test_an_amount_with_more_than_two_decimals_is_rejected(bank: SingleBank, amount: str) -> None:
    reply = bank.webhook(bank.single_path, bank.single(amount), token=bank.token())
    assert code(reply) == bank.either((400, 4001), (400, "FORMAT_ERROR"))
    assert "decimal places" in reply.text


def test_an_account_of_another_customer_is_rejected_as_debtor(bank: SingleBank) -> None:
    name = bank.profile.name
    other = bank.account(OTHER[name]).iban
    debtor: dict[str, Any] = bank.either({"sender_iban": other}, {"debtor_account": {"iban": other}})
    reply = bank.webhook(SINGLE[name], bank.single() | debtor, token=bank.token())
    assert code(reply) == bank.either((400, 4001), (404, "RESOURCE_UNKNOWN"))


def test_a_payment_in_a_currency_other_than_the_account_currency_is_rejected(bank: SingleBank) -> None:
    name = bank.profile.name
    if bank.profile.version == 1:
        body = bank.single(scheme="SCT") | {"currency": "EUR"}
    else:
        where = {"name": "Elsewhere Bank", "country": "SE"}
        amount = {"amount": "1", "currency": "SEK"}
        body = bank.single(scheme="SWIFT") | {"instructed_amount": amount, "creditor_bank": where}
    reply = bank.webhook(SINGLE[name], body, token=bank.token())
    assert code(reply) == bank.either((400, 4001), (400, "FORMAT_ERROR"))
    assert "currency" in reply.text


def test_a_scheme_incompatible_with_the_currency_is_rejected(bank: SingleBank) -> None:
    scheme = bank.either("SCT", "FPS")
    reply = bank.webhook(bank.single_path, bank.single(scheme=scheme), token=bank.token())
    assert code(reply) == bank.either((400, 4001), (400, "PAYMENT_SCHEME_INVALID"))


def test_bank_two_requires_a_creditor_account(two: SingleBank) -> None:
    body = two.single()
    del body["creditor_account"]
    reply = two.webhook(SINGLE["two"], body, token=two.token())
    assert code(reply) == (400, "FORMAT_ERROR")
    assert "creditor_account" in reply.text


def test_an_amount_above_the_balance_is_rejected(bank: SingleBank) -> None:
    given = bank.token()
    available = bank.balances(given)[1]
    reply = bank.webhook(bank.single_path, bank.single(str(available + Decimal("0.01"))), token=given)
    assert code(reply) == bank.either((400, 5101), (400, "INSUFFICIENT_FUNDS"))
    assert "not enough money" in reply.text
    assert bank.initiate(given, amount=str(available))


def test_a_payment_to_the_debtor_account_is_rejected(bank: SingleBank) -> None:
    reply = bank.webhook(bank.single_path, bank.single(to=bank.account().iban), token=bank.token())
    assert reply.status == 400


def test_a_bulk_payment_body_of_four_megabytes_is_accepted(bank: SingleBank) -> None:
    raw = jsontext.dumps(bank.bulk(["0.01"] * 10)).encode()
    path = BULK[bank.profile.name]
    assert bank.webhook(path, raw=raw + b" " * (4_100_000 - len(raw)), token=bank.token()).status == 200
    assert bank.webhook(path, raw=raw + b" " * 5_000_000, token=bank.token()).status == 400


def test_a_one_time_token_can_initiate_one_payment_and_read_its_status(bank: SingleBank) -> None:
    name = bank.profile.name
    scopes = bank.either(["payment.init"], ["payments.single"])
    given = bank.approve(CUSTOMER[name], scopes=scopes, is_one_time=True)
    request_id = str(uuid.uuid4())
    answer = bank.ask(SINGLE[name], bank.single(), given, x_request_id=request_id)
    assert bank.ask(SINGLE[name], bank.single(), given, x_request_id=request_id) == answer
    again = bank.webhook(SINGLE[name], bank.single(), token=given)
    assert code(again) == bank.either((401, 4202), (401, "AUTHENTICATION_REQUIRED"))
    assert outcome(bank.at_confirmation(answer).pay())["payment_id"] == answer["payment_id"]
    if bank.profile.version == 2:
        assert bank.payment_status(answer["payment_id"], given) == "ACSC"


def test_the_requested_consent_type_is_stored_with_the_consent(bank: SingleBank) -> None:
    bank.hub.scopes = bank.either(["payment.init"], ["payments.single"])
    browser = bank.browser().arrive(consent_type="one_time")
    browser.sign_in(bank.customer)
    browser.choose(1)
    assert browser.confirm().status == 303
    path = bank.single_path
    assert bank.webhook(path, bank.single(), token=bank.hub.token).status == 200
    assert bank.webhook(path, bank.single(), token=bank.hub.token).status == 401


def test_the_status_of_a_payment_with_consent_requires_the_consent_token(two: SingleBank) -> None:
    asked = {"payment_id": two.initiate()["payment_id"]}
    assert code(two.webhook("/v2_payment_single_status", asked)) == (401, "AUTHENTICATION_REQUIRED")
    assert code(two.webhook("/v2_payment_single_status", asked, token=two.token())) == (404, "RESOURCE_UNKNOWN")
    assert code(two.webhook("/v2_payment_single_status", {"payment_id": "none"}, token=two.token())) == (
        404,
        "RESOURCE_UNKNOWN",
    )


def test_the_callback_url_and_the_confirmation_secret_are_not_stored(bank: SingleBank) -> None:
    answer = bank.initiate()
    stored = repr(list(bank.store.scan("demo-banks")))
    assert answer["payment_id"] in stored
    assert BACK not in stored
    assert answer["confirmation_url"].rpartition(".")[2] not in stored


def test_an_unapproved_account_is_rejected_as_debtor(bank: SingleBank) -> None:
    name = bank.profile.name
    second = bank.account(position=1) if bank.profile.version == 1 else bank.account(OTHER[name])
    debtor: dict[str, Any] = bank.either({"sender_iban": second.iban}, {"debtor_account": {"bban": second.bban}})
    reply = bank.webhook(SINGLE[name], bank.single() | debtor, token=bank.token(accounts=1))
    assert code(reply) == bank.either((400, 4001), (404, "RESOURCE_UNKNOWN"))


def test_a_consent_without_accounts_lets_the_customer_choose_the_debtor_account(bank: SingleBank) -> None:
    given = bank.token(accounts=0)
    assert bank.initiate(given)
    assert bank.initiate(given, sender=False)


def test_a_currency_without_an_account_of_the_customer_is_rejected(bank: SingleBank) -> None:
    given = bank.token(OTHER[bank.profile.name])
    if bank.profile.version == 1:
        body = bank.single(sender=False, scheme="SCT") | {"currency": "EUR"}
    else:
        where = {"name": "Elsewhere Bank", "country": "SE"}
        amount = {"amount": "1", "currency": "SEK"}
        body = bank.single(sender=False, scheme="SWIFT") | {"instructed_amount": amount, "creditor_bank": where}
    reply = bank.webhook(bank.single_path, body, token=given)
    assert reply.status == 400
    assert "no account in this currency" in reply.text


def test_a_card_account_is_rejected_as_debtor(two: SingleBank) -> None:
    card = two.account(position=3)
    body = two.single() | {"debtor_account": {"bban": card.bban}}
    assert two.webhook(SINGLE["two"], body, token=two.token()).status == 400


def test_a_creditor_is_found_by_the_sort_code_and_the_account_number(one: SingleBank) -> None:
    receiver = one.account("bilal")
    body = one.single() | {"receiver_account_number": receiver.number, "receiver_sort_code": "040004"}
    del body["receiver_iban"]
    before = one.balances(one.token("bilal"), receiver)[0]
    answer = one.ask(SINGLE["one"], body, one.token())
    assert f"040004 {receiver.number}" in one.at_confirmation(answer).page.text
    outcome(one.at_confirmation(answer).pay())
    assert one.balances(one.token("bilal"), receiver)[0] == before + PAID


def test_the_funds_for_a_direct_payment_are_checked_after_the_customer_confirms(two: SingleBank) -> None:
    more = two.balances(two.token())[1] + Decimal("0.01")
    answer = two.ask(DIRECT["two"], two.single(str(more)), None)
    assert answer["status"] == "ACTC"
    back = outcome(two.at_confirmation(answer).pay())
    assert back["status"] == "RJCT"
    assert "not enough money" in back["message"]
    assert two.webhook(DIRECT["two"], two.single(to=two.account().iban)).status == 400


def test_a_direct_payment_with_a_debtor_account_can_be_confirmed_only_by_the_account_owner(two: SingleBank) -> None:
    answer = two.ask(DIRECT["two"], two.single(), None)
    assert answer["status"] == "ACTC"
    browser = two.browser()
    browser.open(answer["confirmation_url"])
    assert "not from an account of this customer" in browser.pay_as("mateusz").text
    assert "Confirm the payment" in browser.pay_as("lena").text
    assert outcome(browser.pay())["status"] == "ACSC"
