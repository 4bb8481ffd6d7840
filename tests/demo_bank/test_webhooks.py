"""The webhooks of a demonstration bank: authentication, responses and errors."""

import hashlib
import re
from typing import Any

import pytest
import requests

from chalicelib.demo_bank import site, webhooks
from chalicelib.demo_bank.profiles import BY_NAME
from chalicelib.foundation.crypto import signatures
from tests.demo_bank.parties import BANK_PEMS, HUB_KEY, Reply
from tests.demo_bank.single_bank import SingleBank
from tests.kit.inputs import HALF, spoil

ACCOUNTS = {"one": "/accounts", "two": "/v2_accounts"}
ACCOUNT = {"one": "/account", "two": "/v2_account"}
CUSTOMERS = {"one": "ada", "two": "lena"}


def accounts(bank: SingleBank, token: str | None, **headers: Any) -> Reply:
    return bank.webhook(ACCOUNTS[bank.profile.name], token=token, **headers)


def approved(bank: SingleBank, accounts: int = 99) -> str:
    return bank.approve(CUSTOMERS[bank.profile.name], accounts)


def code_of(reply: Reply) -> Any:
    if "error_code" in reply.body:
        assert set(reply.body) == {"status", "error_code", "message"}
        assert reply.body["status"] == "error"
        return reply.body["error_code"]
    assert set(reply.body) <= {"code", "title", "timestamp", "requestId", "additionalErrors"}
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", reply.body["timestamp"])
    assert reply.body["requestId"] == reply.headers["x-request-id"]
    return reply.body["code"]


def test_every_webhook_of_the_protocol_is_implemented(bank: SingleBank) -> None:
    assert sorted(webhooks.webhook_rows(bank.profile.protocol)) == sorted(
        each.path for each in bank.profile.protocol.webhooks
    )


def test_version_1_returns_account_records(one: SingleBank) -> None:
    reply = accounts(one, approved(one))
    assert reply.status == 200
    assert reply.headers["content-type"] == "application/json"
    assert reply.body["status"] == "success"
    assert reply.body["accounts"][0] == {
        "id": "1031926801",
        "name": "Everyday Account",
        "iban": "GB10DEMO04000431926801",
        "currency": "GBP",
        "additional_data": [{"sort_code": "040004", "account_number": "31926801"}],
    }


def test_version_2_returns_account_references(two: SingleBank) -> None:
    reply = accounts(two, approved(two))
    assert reply.status == 200
    assert set(reply.body) == {"accounts"}
    giro, *_, card = reply.body["accounts"]
    assert giro == {
        "resource_id": giro["resource_id"],
        "iban": "DE61100999000004711001",
        "bban": "100999000004711001",
        "currency": "EUR",
        "name": "Girokonto",
        "payment_schemes": ["SCT", "SCTI"],
    }
    assert "iban" not in card


def test_only_approved_accounts_are_returned(bank: SingleBank) -> None:
    first, two_of_them = approved(bank, 1), approved(bank, 2)
    assert len(accounts(bank, first).body["accounts"]) == 1
    both = accounts(bank, two_of_them).body["accounts"]
    assert len(both) == 2
    member = "id" if bank.profile.version == 1 else "resource_id"
    path = ACCOUNT[bank.profile.name]
    assert bank.webhook(path, {"account_id": both[0][member]}, token=first).body["account"] == both[0]
    refused = bank.webhook(path, {"account_id": both[1][member]}, token=first)
    assert code_of(refused) in (4001, "RESOURCE_UNKNOWN")


def test_a_version_1_account_is_found_by_its_iban(one: SingleBank) -> None:
    token = approved(one)
    found = one.webhook("/account", {"iban": "GB84DEMO04000431926827"}, token=token)
    assert found.body["account"]["currency"] == "EUR"
    assert one.webhook("/account", {"iban": "GB33BUKB20201555555555"}, token=token).status == 400


def test_the_api_key_of_a_webhook_request_is_checked_before_all_other_members(bank: SingleBank) -> None:
    token = approved(bank)
    missing = accounts(bank, token, x_api_key=None, x_request_id=None, x_signature=None)
    assert (missing.status, code_of(missing)) in ((401, 4201), (401, "AUTHENTICATION_REQUIRED"))
    for wrong in ("key-three", "", "ключ"):
        reply = accounts(bank, token, x_api_key=wrong)
        assert reply.status == 401
    assert code_of(accounts(bank, token, x_api_key="key-three")) in (4200, "WRONG_CREDENTIALS")


@pytest.mark.parametrize("request_id", [None, "", "17", "not-a-uuid-but-36-characters-long-ok"])
def test_a_request_id_other_than_a_uuid_is_rejected(bank: SingleBank, request_id: str | None) -> None:
    reply = accounts(bank, approved(bank), x_request_id=request_id)
    assert (reply.status, code_of(reply)) in ((401, 4204), (401, "REQUEST_ID_NOT_UUID"))


def test_a_signature_for_a_different_body_or_with_a_different_key_is_rejected(bank: SingleBank) -> None:
    token = approved(bank)
    stranger = signatures.load_private_key(BANK_PEMS["two"])
    for signature in (None, "", "no base64!", signatures.sign(HUB_KEY, b"{ }"), signatures.sign(stranger, b"{}")):
        reply = accounts(bank, token, x_signature=signature)
        assert code_of(reply) in (4200, "HEADERS_ERROR")
        assert reply.status in (400, 401)
        for told in (*map(signatures.key_id, bank.runtime.hub_keys()), hashlib.sha256(b"{}").hexdigest()):
            assert told in reply.text


def test_the_public_keys_of_the_service_are_requested_once_a_minute(bank: SingleBank) -> None:
    token = approved(bank)
    for _ in range(3):
        assert accounts(bank, token).status == 200
    assert bank.hub.keys_fetched == 1
    bank.clock.advance(61)
    assert accounts(bank, token).status == 200
    assert bank.hub.keys_fetched == 2


def test_cached_public_keys_are_used_for_another_minute_after_a_failed_key_request(
    bank: SingleBank, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = approved(bank)
    assert accounts(bank, token).status == 200
    bank.hub.errors["/public_key"] = requests.ConnectionError("away")
    monkeypatch.setattr(bank.secrets, "get", lambda name: {}[name])
    bank.clock.advance(61)
    for _ in range(2):
        assert accounts(bank, token).status == 200
    assert bank.hub.keys_fetched == 2
    assert max(bank.hub.timeouts) == (3, 5)


@pytest.mark.parametrize("raw", [b"{", b"[1]", b'"text"', b'{"a":1}', b'{"a":1,"a":2}', b"\xff", b"[" * 5000])
def test_a_malformed_body_returns_400(bank: SingleBank, raw: bytes) -> None:
    reply = bank.webhook(ACCOUNTS[bank.profile.name], raw=raw, token=approved(bank))
    assert reply.status == 400
    assert code_of(reply) in (4001, 4003, "FORMAT_ERROR")


def test_an_empty_body_is_processed_as_an_empty_object(bank: SingleBank) -> None:
    assert bank.webhook(ACCOUNTS[bank.profile.name], raw=b"", token=approved(bank)).status == 200


def test_a_call_without_a_token_returns_401(bank: SingleBank) -> None:
    reply = accounts(bank, None)
    assert (reply.status, code_of(reply)) in ((401, 4201), (401, "AUTHENTICATION_REQUIRED"))


def test_an_unknown_token_returns_401(bank: SingleBank) -> None:
    reply = accounts(bank, "consent.unknown")
    assert (reply.status, code_of(reply)) in ((401, 4202), (401, "AUTHENTICATION_REQUIRED"))


def test_a_bank_token_expires_at_the_end_of_the_validity_period(bank: SingleBank) -> None:
    token = approved(bank)
    bank.clock.advance(180 * 86400 - 1)
    assert accounts(bank, token).status == 200
    bank.clock.advance(1)
    assert accounts(bank, token).status == 401


def test_a_token_of_another_bank_is_rejected(one: SingleBank) -> None:
    token = approved(one)
    one.profile = BY_NAME["two"]
    assert one.webhook("/v2_accounts", token=token).status == 401


def test_an_unapproved_scope_is_rejected(one: SingleBank) -> None:
    one.hub.scopes = ["account.balance"]
    reply = accounts(one, approved(one))
    assert (reply.status, code_of(reply)) == (401, 4200)


def test_a_revoked_token_is_rejected_and_can_be_revoked_again(bank: SingleBank) -> None:
    token, other = approved(bank), approved(bank)
    for _ in range(2):
        reply = bank.webhook("/revoke_token", {"access_token": token}, token=token)
        assert (reply.status, reply.body) == (200, {"status": "success"})
    assert accounts(bank, token).status == 401
    assert accounts(bank, other).status == 200


def test_revoking_an_unknown_token_returns_404(bank: SingleBank) -> None:
    reply = bank.webhook("/revoke_token", {"access_token": "consent.unknown"})
    assert (reply.status, code_of(reply)) in ((404, 4202), (404, "RESOURCE_UNKNOWN"))


def test_an_unknown_webhook_is_rejected_in_the_format_of_the_version(bank: SingleBank) -> None:
    other = "/v2_accounts" if bank.profile.version == 1 else "/accounts"
    assert code_of(bank.webhook(other)) in (4202, "API_ACTION_DOES_NOT_EXIST")


def test_an_internal_failure_returns_500_without_details(bank: SingleBank, monkeypatch: pytest.MonkeyPatch) -> None:
    token = approved(bank)
    monkeypatch.setattr(bank.store, "batch_get", lambda *_: 1 / 0)
    reply = accounts(bank, token)
    assert (reply.status, code_of(reply)) in ((500, 4002), (500, "INTERNAL_SERVER_ERROR"))
    assert "division" not in reply.text


def test_invalid_utf_8_is_rejected_by_every_webhook_and_page(bank: SingleBank) -> None:
    token = approved(bank)
    before = list(bank.store.scan("demo-banks"))
    for path, row in webhooks.webhook_rows(bank.profile.protocol).items():
        for body in spoil({name: ["a"] for name in row.webhook.request.model_fields}):
            reply = bank.webhook(path, body, token=token)
            assert (reply.status, code_of(reply)) == (400, 4003 if bank.profile.name == "one" else "FORMAT_ERROR")
    for method, path in site.PAGES:
        form = {"content-type": "application/x-www-form-urlencoded"}
        for body in (b"customer=\xed\xa0\x80", b"customer=%ED%A0%80"):
            assert bank.call(method, bank.domain + path, body if method == "POST" else None, form).status < 500
        assert bank.call(method, bank.domain + path, None, {"cookie": HALF}).status == 400
        assert bank.call(method, f"{bank.domain}{path}?state={HALF}", None, {}).status == 400
    assert list(bank.store.scan("demo-banks")) == before
