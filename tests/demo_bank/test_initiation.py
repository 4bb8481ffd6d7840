"""The answer to an initiation, and what the bank checks that the service cannot."""

from __future__ import annotations

import re
import uuid
from decimal import Decimal
from typing import Any

import pytest

from chalicelib.foundation import jsontext
from tests.demo_bank.paying import (
    BACK,
    BULK,
    CUSTOMER,
    DIRECT,
    OTHER,
    PAID,
    SINGLE,
    account,
    ask,
    at_confirmation,
    balances,
    bulk,
    code,
    either,
    initiate,
    outcome,
    single,
    status,
    token,
)
from tests.demo_bank.stage import Stage


def test_an_initiation_returns_an_unguessable_confirmation_url_and_payment_id(stage: Stage) -> None:
    given = token(stage)
    first, second = initiate(stage, given), initiate(stage, given)
    assert first["payment_id"] != second["payment_id"]
    assert re.fullmatch("[a-z2-7]{18}", first["payment_id"])
    place = first["confirmation_url"].removeprefix(f"{stage.domain}/payment/")
    assert re.fullmatch(r"[a-z2-7]{18}\.[A-Za-z0-9_-]{43}", place)
    assert first.get("status") == either(stage, None, "ACTC")
    assert stage.call("GET", f"{stage.domain}/payment/{first['payment_id']}").status == 404
    assert stage.call("GET", first["confirmation_url"][:-1]).status == 404


def test_a_repeated_request_id_returns_the_same_payment(stage: Stage) -> None:
    given, request_id, path = token(stage), str(uuid.uuid4()), SINGLE[stage.profile.name]
    body = single(stage)
    first = ask(stage, path, body, given, x_request_id=request_id)
    assert ask(stage, path, body, given, x_request_id=request_id) == first
    assert ask(stage, path, body, given, x_request_id=request_id.upper()) == first
    assert initiate(stage, given) != first
    other = stage.webhook(path, single(stage, "12.51"), token=given, x_request_id=request_id)
    assert code(other) == either(stage, (400, 4001), (400, "HEADERS_ERROR"))


@pytest.mark.parametrize("amount", ["0.001", "1.999", "0.01000001"])
def test_an_amount_with_more_than_two_decimals_is_rejected(stage: Stage, amount: str) -> None:
    reply = stage.webhook(SINGLE[stage.profile.name], single(stage, amount), token=token(stage))
    assert code(reply) == either(stage, (400, 4001), (400, "FORMAT_ERROR"))
    assert "decimal places" in reply.text


def test_an_account_of_another_customer_is_rejected_as_debtor(stage: Stage) -> None:
    name = stage.profile.name
    other = account(stage, OTHER[name]).iban
    debtor: dict[str, Any] = either(stage, {"sender_iban": other}, {"debtor_account": {"iban": other}})
    reply = stage.webhook(SINGLE[name], single(stage) | debtor, token=token(stage))
    assert code(reply) == either(stage, (400, 4001), (404, "RESOURCE_UNKNOWN"))


def test_a_payment_in_a_currency_other_than_the_accounts_is_rejected(stage: Stage) -> None:
    name = stage.profile.name
    if stage.profile.version == 1:
        body = single(stage, scheme="SCT") | {"currency": "EUR"}
    else:
        where = {"name": "Elsewhere Bank", "country": "SE"}
        amount = {"amount": "1", "currency": "SEK"}
        body = single(stage, scheme="SWIFT") | {"instructed_amount": amount, "creditor_bank": where}
    reply = stage.webhook(SINGLE[name], body, token=token(stage))
    assert code(reply) == either(stage, (400, 4001), (400, "FORMAT_ERROR"))
    assert "currency" in reply.text


def test_a_scheme_incompatible_with_the_currency_is_rejected(stage: Stage) -> None:
    scheme = either(stage, "SCT", "FPS")
    reply = stage.webhook(SINGLE[stage.profile.name], single(stage, scheme=scheme), token=token(stage))
    assert code(reply) == either(stage, (400, 4001), (400, "PAYMENT_SCHEME_INVALID"))


def test_bank_two_requires_a_creditor_account(two: Stage) -> None:
    body = single(two)
    del body["creditor_account"]
    reply = two.webhook(SINGLE["two"], body, token=token(two))
    assert code(reply) == (400, "FORMAT_ERROR")
    assert "creditor_account" in reply.text


def test_an_amount_above_the_balance_is_rejected(stage: Stage) -> None:
    given = token(stage)
    available = balances(stage, given)[1]
    reply = stage.webhook(SINGLE[stage.profile.name], single(stage, str(available + Decimal("0.01"))), token=given)
    assert code(reply) == either(stage, (400, 5101), (400, "INSUFFICIENT_FUNDS"))
    assert "not enough money" in reply.text
    assert initiate(stage, given, amount=str(available))


def test_a_payment_to_the_debtor_account_is_rejected(stage: Stage) -> None:
    reply = stage.webhook(SINGLE[stage.profile.name], single(stage, to=account(stage).iban), token=token(stage))
    assert reply.status == 400


def test_a_bulk_body_of_four_megabytes_is_accepted(stage: Stage) -> None:
    raw = jsontext.dumps(bulk(stage, ["0.01"] * 10)).encode()
    path = BULK[stage.profile.name]
    assert stage.webhook(path, raw=raw + b" " * (4_100_000 - len(raw)), token=token(stage)).status == 200
    assert stage.webhook(path, raw=raw + b" " * 5_000_000, token=token(stage)).status == 400


def test_a_one_time_token_initiates_one_payment_and_reads_its_status(stage: Stage) -> None:
    name = stage.profile.name
    scopes = either(stage, ["payment.init"], ["payments.single"])
    given = stage.approve(CUSTOMER[name], scopes=scopes, is_one_time=True)
    request_id = str(uuid.uuid4())
    answer = ask(stage, SINGLE[name], single(stage), given, x_request_id=request_id)
    assert ask(stage, SINGLE[name], single(stage), given, x_request_id=request_id) == answer
    again = stage.webhook(SINGLE[name], single(stage), token=given)
    assert code(again) == either(stage, (401, 4202), (401, "AUTHENTICATION_REQUIRED"))
    assert outcome(at_confirmation(stage, answer).pay())["payment_id"] == answer["payment_id"]
    if stage.profile.version == 2:
        assert status(stage, answer["payment_id"], given) == "ACSC"


def test_the_consent_type_of_the_request_is_stored_with_the_consent(stage: Stage) -> None:
    stage.hub.scopes = either(stage, ["payment.init"], ["payments.single"])
    browser = stage.browser().arrive(consent_type="one_time")
    browser.sign_in(CUSTOMER[stage.profile.name])
    browser.choose(1)
    assert browser.confirm().status == 303
    path = SINGLE[stage.profile.name]
    assert stage.webhook(path, single(stage), token=stage.hub.token).status == 200
    assert stage.webhook(path, single(stage), token=stage.hub.token).status == 401


def test_the_status_of_a_consented_payment_requires_its_token(two: Stage) -> None:
    asked = {"payment_id": initiate(two)["payment_id"]}
    assert code(two.webhook("/v2_payment_single_status", asked)) == (401, "AUTHENTICATION_REQUIRED")
    assert code(two.webhook("/v2_payment_single_status", asked, token=token(two))) == (404, "RESOURCE_UNKNOWN")
    assert code(two.webhook("/v2_payment_single_status", {"payment_id": "none"}, token=token(two))) == (
        404,
        "RESOURCE_UNKNOWN",
    )


def test_the_callback_url_and_the_confirmation_secret_are_not_stored(stage: Stage) -> None:
    answer = initiate(stage)
    stored = repr(list(stage.store.scan("demo-banks")))
    assert answer["payment_id"] in stored
    assert BACK not in stored
    assert answer["confirmation_url"].rpartition(".")[2] not in stored


def test_an_unapproved_account_is_rejected_as_debtor(stage: Stage) -> None:
    name = stage.profile.name
    second = account(stage, position=1) if stage.profile.version == 1 else account(stage, OTHER[name])
    debtor: dict[str, Any] = either(stage, {"sender_iban": second.iban}, {"debtor_account": {"bban": second.bban}})
    reply = stage.webhook(SINGLE[name], single(stage) | debtor, token=token(stage, accounts=1))
    assert code(reply) == either(stage, (400, 4001), (404, "RESOURCE_UNKNOWN"))


def test_a_consent_without_accounts_lets_the_customer_choose(stage: Stage) -> None:
    given = token(stage, accounts=0)
    assert initiate(stage, given)
    assert initiate(stage, given, sender=False)


def test_a_currency_without_an_account_of_the_customer_is_rejected(stage: Stage) -> None:
    given = token(stage, OTHER[stage.profile.name])
    if stage.profile.version == 1:
        body = single(stage, sender=False, scheme="SCT") | {"currency": "EUR"}
    else:
        where = {"name": "Elsewhere Bank", "country": "SE"}
        amount = {"amount": "1", "currency": "SEK"}
        body = single(stage, sender=False, scheme="SWIFT") | {"instructed_amount": amount, "creditor_bank": where}
    reply = stage.webhook(SINGLE[stage.profile.name], body, token=given)
    assert reply.status == 400
    assert "no account in this currency" in reply.text


def test_a_card_account_is_rejected_as_debtor(two: Stage) -> None:
    card = account(two, position=3)
    body = single(two) | {"debtor_account": {"bban": card.bban}}
    assert two.webhook(SINGLE["two"], body, token=token(two)).status == 400


def test_a_receiver_is_found_by_sort_code_and_account_number(one: Stage) -> None:
    receiver = account(one, "bilal")
    body = single(one) | {"receiver_account_number": receiver.number, "receiver_sort_code": "040004"}
    del body["receiver_iban"]
    before = balances(one, token(one, "bilal"), receiver)[0]
    answer = ask(one, SINGLE["one"], body, token(one))
    assert f"040004 {receiver.number}" in at_confirmation(one, answer).page.text
    outcome(at_confirmation(one, answer).pay())
    assert balances(one, token(one, "bilal"), receiver)[0] == before + PAID


def test_a_direct_payment_checks_funds_only_after_the_customer_confirms(two: Stage) -> None:
    more = balances(two, token(two))[1] + Decimal("0.01")
    answer = ask(two, DIRECT["two"], single(two, str(more)), None)
    assert answer["status"] == "ACTC"
    back = outcome(at_confirmation(two, answer).pay())
    assert back["status"] == "RJCT"
    assert "not enough money" in back["message"]
    assert two.webhook(DIRECT["two"], single(two, to=account(two).iban)).status == 400


def test_a_direct_payment_with_a_debtor_account_is_confirmed_by_its_owner_only(two: Stage) -> None:
    answer = ask(two, DIRECT["two"], single(two), None)
    assert answer["status"] == "ACTC"
    browser = two.browser()
    browser.open(answer["confirmation_url"])
    assert "not from an account of this customer" in browser.pay_as("mateusz").text
    assert "Confirm the payment" in browser.pay_as("lena").text
    assert outcome(browser.pay())["status"] == "ACSC"
