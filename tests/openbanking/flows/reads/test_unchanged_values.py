"""Tests of values that the hub passes on unchanged or without loss of information."""

from typing import Any

import pytest

from chalicelib.foundation import jsontext
from chalicelib.openbanking.records.consents import consent_key
from tests.causeway import Causeway
from tests.openbanking.kit import IBAN, VERSIONS, always
from tests.openbanking.payments import KINDS, Pisp, order

OTHER_IBAN = "DE89370400440532013000"


def pay_and_read(causeway: Causeway, version: int, kind: str, **members: Any) -> Any:
    pisp = Pisp(causeway, version, kind)
    payee = members if version == 1 else {"creditor_account": members}
    if kind == "bulk":
        answer = pisp.pay(payments=[_bulk_item(version) | payee])
    else:
        answer = pisp.pay(**({"receiver_iban": ""} if version == 1 else {}) | payee)
    assert answer.status == 200, answer
    sent = jsontext.loads(pisp.bank.received[-1].body)
    sent = sent["payments"][0] if kind == "bulk" else sent
    return sent if version == 1 else sent["creditor_account"]


def _bulk_item(version: int) -> dict[str, Any]:
    amount = {"amount": "12.30", "currency": "EUR"}
    if version == 1:
        return {"receiver_name": "Ada Receiver", **amount}
    return {"creditor_name": "Ada", "instructed_amount": amount}


# -- account numbers and sort codes


@KINDS
@pytest.mark.parametrize(
    ("sort_code", "number", "expected"),
    [
        (40004, 1234567, ("040004", "01234567")),
        (400040, 12345678, ("400040", "12345678")),
        ("040004", "01234567", ("040004", "01234567")),
        (0, 0, ("000000", "00000000")),
    ],
)
def test_a_numeric_sort_code_and_a_numeric_account_number_reach_the_bank_zero_padded(
    causeway: Causeway, kind: str, sort_code: Any, number: Any, expected: tuple[str, str]
) -> None:
    sent = pay_and_read(causeway, 2, kind, sort_code=sort_code, account_number=number)

    assert (sent["sort_code"], sent["account_number"]) == expected


@KINDS
def test_a_version_1_account_number_with_a_sort_code_reaches_the_bank_zero_padded(
    causeway: Causeway, kind: str
) -> None:
    sent = pay_and_read(causeway, 1, kind, receiver_sort_code="040004", receiver_account_number=1234567)

    assert (sent["receiver_sort_code"], sent["receiver_account_number"]) == ("040004", "01234567")


def test_a_version_1_account_number_without_a_sort_code_reaches_the_bank_unchanged(causeway: Causeway) -> None:
    pisp = Pisp(causeway, 1)

    assert pisp.pay(receiver_account_number=1234567).status == 200
    assert b'"receiver_account_number":1234567' in pisp.bank.received[-1].body


SHORT_ACCOUNT = {"sort_code": 40004, "account_number": 1234567}
WHOLE_ACCOUNT = {"sort_code": "040004", "account_number": "01234567"}


def test_a_numeric_debtor_account_reaches_the_bank_zero_padded(causeway: Causeway) -> None:
    pisp = Pisp(causeway, 2)
    assert pisp.pay(debtor_account=SHORT_ACCOUNT).status == 200

    assert jsontext.loads(pisp.bank.received[-1].body)["debtor_account"] == WHOLE_ACCOUNT


def test_a_numeric_account_of_a_funds_confirmation_reaches_the_bank_zero_padded(causeway: Causeway) -> None:
    bearer = causeway.tpp.tokens(2, scopes=["funds_confirmations"])["access_token"]
    bank = causeway.banks[2]
    bank.answers["/v2_funds_confirmations"] = always({"funds_available": True})
    body = {"account": SHORT_ACCOUNT, "instructed_amount": {"amount": "12.50", "currency": "EUR"}}
    assert causeway.tpp.call("POST", "/tpp/funds_confirmations", body, bearer=bearer).status == 200

    assert jsontext.loads(bank.received[-1].body)["account"] == WHOLE_ACCOUNT


@pytest.mark.parametrize("wrong", [-1, 1000000, True, "12 34", jsontext.Number("40004.0"), jsontext.Number("-0")])
def test_an_invalid_sort_code_returns_400(causeway: Causeway, wrong: Any) -> None:
    pisp = Pisp(causeway, 2)

    answer = pisp.pay(creditor_account={"sort_code": wrong, "account_number": "12345678"})

    assert (answer.status, answer.body["code"]) == (400, "FORMAT_ERROR")
    assert pisp.calls == 0


# -- numbers


@pytest.mark.parametrize("amount", ["-0", "0", "-0.00", "9733.70", "1e5", "123456789012345678901"])
def test_a_number_in_a_bank_response_reaches_the_tpp_with_every_digit(causeway: Causeway, amount: str) -> None:
    bearer = causeway.tpp.tokens(2, scopes=["accounts.balances"])["access_token"]
    balance = f'{{"balance_amount":{{"amount":{amount},"currency":"EUR"}},"balance_type":"interimBooked"}}'
    raw = f'{{"balances":[{balance}]}}'
    causeway.banks[2].answers["/v2_account_balances"] = lambda sent: jsontext.loads(raw)

    answer = causeway.tpp.call("GET", "/tpp/account_balance?account_id=1", bearer=bearer)

    assert (answer.status, answer.text) == (200, raw)


# -- addresses


@VERSIONS
@KINDS
@pytest.mark.parametrize("scheme", ["HTTP", "Http", "http"])
def test_a_payment_callback_url_accepts_an_upper_case_url_scheme(
    causeway: Causeway, version: int, kind: str, scheme: str
) -> None:
    pisp = Pisp(causeway, version, kind)
    url = f"{scheme}://127.0.0.1:8000/payments/callback"

    assert pisp.pay(callback_url=url).status == 200
    assert f'"callback_url":"{url}"'.encode() in pisp.bank.received[-1].body


def test_a_registered_callback_url_accepts_an_upper_case_url_scheme(causeway: Causeway) -> None:
    urls = ["HTTP://127.0.0.1:8000/authorize/callback"]
    causeway.tpp.client = causeway.hub.openbanking.clients.update(causeway.tpp.client_id, callback_urls=urls).client

    assert causeway.psu.approve(1).callback_url.startswith(f"{urls[0]}?")
    assert Pisp(causeway, 1).pay().status == 200


@VERSIONS
def test_the_psu_ip_address_reaches_the_bank_unchanged(causeway: Causeway, version: int) -> None:
    pisp = Pisp(causeway, version)
    body = order(causeway, version, "single")

    causeway.tpp.call(
        "POST", "/tpp/payment_initiation", body, bearer=pisp.bearer, headers={"psu-ip-address": "::ffff:203.0.113.7"}
    )

    assert pisp.bank.received[-1].headers["PSU-IP-Address"] == "::ffff:203.0.113.7"


# -- consents


@VERSIONS
def test_a_repeated_identifier_in_a_consent_is_stored_once(causeway: Causeway, version: int) -> None:
    asked = causeway.tpp.authorize(version)
    spaced = f"{IBAN[:4]} {IBAN[4:]}".lower()
    members = {
        "ibans": [OTHER_IBAN, IBAN, IBAN, spaced, OTHER_IBAN],
        "account_ids": [4711, "4711", "A-1", "A-1"],
        "account_numbers": ["12345678", "400040 12345678", "12345678 400040", "12345678", 12345678],
    }
    saved = causeway.banks[version].call(
        "/consent", causeway.banks[version].consent_body(asked["redirect_url"], **members)
    )
    assert saved.status == 200, saved

    (item,) = (each for each in causeway.hub.store.scan("consents") if each["part"] == "consent")
    assert item == causeway.hub.store.get(*consent_key(item["consent_id"]))
    assert item["accounts"] == {
        "ibans": [OTHER_IBAN, IBAN],
        "account_ids": ["4711", "A-1"],
        "account_numbers": ["12345678", "400040 12345678"],
    }
