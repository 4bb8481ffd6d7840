"""Tests of relayed calls: bank requests, TPP responses, and errors for bank failures."""

from typing import Any

import pytest

from chalicelib.foundation.crypto import signatures
from chalicelib.foundation.http.outbound import ConnectionDropped, NotReached, Reply, ResponseTooLarge, TimedOut
from tests.causeway import Answer, Causeway
from tests.openbanking.kit import IBAN, VERSIONS, always

ACCOUNT: dict[int, dict[str, Any]] = {
    1: {"id": 1, "name": "Main", "iban": IBAN, "currency": "GBP"},
    2: {"resource_id": "r1", "iban": IBAN, "currency": "EUR"},
}
PATH = {1: "/accounts", 2: "/v2_accounts"}
ONE = {1: "/account", 2: "/v2_account"}


def good(version: int, **members: Any) -> dict[str, Any]:
    return ({"status": "success"} if version == 1 else {}) | members


def accounts(causeway: Causeway, version: int, answer: Any, **headers: str) -> Answer:
    causeway.banks[version].answers[PATH[version]] = lambda sent: answer
    return causeway.tpp.call(
        "GET", "/tpp/accounts", bearer=causeway.tpp.tokens(version)["access_token"], headers=headers
    )


@VERSIONS
def test_numbers_of_a_bank_response_reach_the_tpp_unchanged(causeway: Causeway, version: int) -> None:
    raw = b'{"status":"success","accounts":[%s],"balance":0.10,"huge":12345678901234567890.5}' % (
        b'{"id":1,"name":"Main","iban":"GB33BUKB20201555555555","currency":"GBP","extra":1.50}'
        if version == 1
        else b'{"resource_id":"r1","currency":"EUR","extra":1.50}'
    )

    answer = accounts(causeway, version, Reply(200, raw, {}, 0.02))

    assert answer.status == 200
    assert '"extra":1.50' in answer.text
    assert '"balance":0.10' in answer.text
    assert '"huge":12345678901234567890.5' in answer.text
    assert ('"status"' in answer.text) is (version == 2)


@VERSIONS
def test_a_bank_call_has_all_headers_and_a_signature_over_its_body(causeway: Causeway, version: int) -> None:
    request_id = "0f8fad5b-d9cb-469f-a165-70867728950e"
    consented = causeway.psu.approve(version)
    tokens = causeway.tpp.call("POST", "/tpp/token", {"code": consented.query["code"]}).body
    causeway.banks[version].answers[PATH[version]] = lambda sent: good(version, accounts=[ACCOUNT[version]])

    causeway.tpp.call(
        "GET",
        "/tpp/accounts",
        bearer=tokens["access_token"],
        headers={"x-request-id": request_id, "psu-ip-address": "2001:db8::1"},
    )

    sent = causeway.banks[version].received[0]
    assert sent.body == b"{}"
    assert sent.headers["X-Api-Key"] == causeway.banks[version].api_key
    assert sent.headers["X-Auth-Token"] == consented.bank_token
    assert sent.headers["X-Request-Id"] == request_id
    assert sent.headers["PSU-IP-Address"] == "2001:db8::1"
    assert sent.headers["Content-Type"] == "application/json"
    assert signatures.verify(causeway.hub.keyring.public_keys(), sent.body, sent.headers["X-Signature"])


@VERSIONS
def test_server_timing_header_separates_bank_and_hub_durations(causeway: Causeway, version: int) -> None:
    answer = accounts(causeway, version, good(version, accounts=[]))

    assert answer.headers["server-timing"] == "bank;dur=10.0, hub;dur=0.0"


def test_a_version_1_account_query_accepts_an_iban_or_an_account_id(causeway: Causeway) -> None:
    bank = causeway.banks[1]
    bank.answers[ONE[1]] = lambda sent: good(1, account=ACCOUNT[1])
    bearer = causeway.tpp.tokens(1)["access_token"]

    assert causeway.tpp.call("GET", f"/tpp/account?iban={IBAN}", bearer=bearer).body == {"account": ACCOUNT[1]}
    assert causeway.tpp.call("GET", "/tpp/account?account_id=77", bearer=bearer).status == 200
    assert [sent.body for sent in bank.received] == [b'{"iban":"GB33BUKB20201555555555"}', b'{"account_id":"77"}']


@pytest.mark.parametrize("account", [ACCOUNT[2], [ACCOUNT[2]]])
def test_a_version_2_account_as_an_object_or_a_list_of_one_returns_an_object(causeway: Causeway, account: Any) -> None:
    causeway.banks[2].answers[ONE[2]] = lambda sent: good(2, account=account)

    answer = causeway.tpp.call("GET", "/tpp/account?account_id=r1", bearer=causeway.tpp.tokens(2)["access_token"])

    assert answer.body == {"account": ACCOUNT[2]}


def test_known_version_2_members_in_camel_case_reach_the_tpp_in_snake_case(causeway: Causeway) -> None:
    camel = {"resourceId": "r1", "currency": "EUR", "accountNumber": "12345678", "ownDetail": {"innerValue": 1}}

    body = accounts(causeway, 2, good(2, accounts=[camel])).body

    assert body["accounts"] == [
        {"resource_id": "r1", "currency": "EUR", "account_number": "12345678", "ownDetail": {"innerValue": 1}}
    ]


# -- what is refused before the bank is called


@pytest.mark.parametrize(
    ("version", "query"),
    [
        (1, ""),
        (1, "iban=GB00BUKB20201555555555"),
        (1, "account_id=" + "1" * 256),
        (1, "colour=red"),
        (1, "account_id=1&account_id=2"),
        (2, ""),
        (2, "iban=GB33BUKB20201555555555"),
    ],
)
def test_a_query_that_is_invalid_for_the_api_version_of_the_bank_returns_400(
    causeway: Causeway, version: int, query: str
) -> None:
    answer = causeway.tpp.call("GET", f"/tpp/account?{query}", bearer=causeway.tpp.tokens(version)["access_token"])

    assert (answer.status, answer.body["code"]) == (400, "PARAMETER_NOT_CONSISTENT")
    assert causeway.banks[version].received == []


@VERSIONS
def test_a_call_outside_the_scopes_of_the_consent_returns_403(causeway: Causeway, version: int) -> None:
    scope = "account.balance" if version == 1 else "accounts.balances"
    bearer = causeway.tpp.tokens(version, scopes=[scope])["access_token"]

    answer = causeway.tpp.call("GET", "/tpp/accounts", bearer=bearer)

    assert (answer.status, answer.body["code"]) == (403, "SERVICE_BLOCKED")
    assert causeway.banks[version].received == []


def test_an_account_not_approved_by_the_psu_returns_403(causeway: Causeway) -> None:
    bearer = causeway.tpp.tokens(1)["access_token"]

    answer = causeway.tpp.call("GET", "/tpp/account?iban=DE89370400440532013000", bearer=bearer)

    assert (answer.status, answer.body["code"]) == (403, "SERVICE_BLOCKED")
    assert causeway.banks[1].received == []


@pytest.mark.parametrize(
    ("headers", "status", "code"),
    [
        ({"authorization": ""}, 401, "AUTHENTICATION_REQUIRED"),
        ({"authorization": "Bearer nonsense"}, 401, "AUTHENTICATION_REQUIRED"),
        ({"authorization": f"Bearer {'0' * 22}~{'0' * 22}.{'A' * 43}"}, 401, "AUTHENTICATION_REQUIRED"),
        ({"authorization": "Basic abc"}, 401, "WRONG_CREDENTIALS"),
        ({"x-api-key": "unknown"}, 401, "WRONG_CREDENTIALS"),
        ({"x-api-key": ""}, 401, "AUTHENTICATION_REQUIRED"),
        ({"x-request-id": "1"}, 401, "REQUEST_ID_NOT_UUID"),
        ({"psu-ip-address": "somewhere"}, 400, "HEADERS_ERROR"),
    ],
)
def test_a_call_with_invalid_credentials_or_headers_is_rejected(
    causeway: Causeway, headers: dict[str, str], status: int, code: str
) -> None:
    answer = causeway.tpp.call("GET", "/tpp/accounts", bearer=causeway.tpp.tokens(1)["access_token"], headers=headers)

    assert (answer.status, answer.body["code"]) == (status, code)
    assert causeway.banks[1].received == []
    if code == "AUTHENTICATION_REQUIRED" and "x-api-key" not in headers:
        assert answer.headers["www-authenticate"].startswith("Bearer")


ORDER: dict[str, tuple[str, dict[str, str], tuple[int, str]]] = {
    "no client, a repeated parameter": ("a=1&a=1", {"x-api-key": ""}, (401, "AUTHENTICATION_REQUIRED")),
    "no client, a bad address": ("", {"x-api-key": "", "psu-ip-address": "x"}, (401, "AUTHENTICATION_REQUIRED")),
    "an unknown client": ("a=1&a=1", {"x-api-key": "x", "psu-ip-address": "x"}, (401, "WRONG_CREDENTIALS")),
    "an unknown client and a bad request id": ("", {"x-api-key": "x", "x-request-id": "1"}, (401, "WRONG_CREDENTIALS")),
    "a bad request id, a repeated parameter": ("a=1&a=1", {"x-request-id": "1"}, (401, "REQUEST_ID_NOT_UUID")),
    "a bad request id, a bad address": ("", {"x-request-id": "1", "psu-ip-address": "x"}, (401, "REQUEST_ID_NOT_UUID")),
    "a bad request id, no bearer": ("", {"x-request-id": "1", "authorization": ""}, (401, "REQUEST_ID_NOT_UUID")),
    "no bearer, a repeated parameter": ("a=1&a=1", {"authorization": ""}, (401, "AUTHENTICATION_REQUIRED")),
    "a bad bearer, a bad address": (
        "",
        {"authorization": "Bearer x", "psu-ip-address": "x"},
        (401, "AUTHENTICATION_REQUIRED"),
    ),
    "another scope, a repeated parameter": ("a=1&a=1", {}, (403, "SERVICE_BLOCKED")),
    "another scope, an unknown parameter": ("colour=red", {}, (403, "SERVICE_BLOCKED")),
    "another scope, a bad address": ("", {"psu-ip-address": "x"}, (403, "SERVICE_BLOCKED")),
}


@VERSIONS
@pytest.mark.parametrize(("query", "headers", "refused"), ORDER.values(), ids=ORDER)
def test_a_relayed_call_is_checked_in_the_documented_order(
    causeway: Causeway, version: int, query: str, headers: dict[str, str], refused: tuple[int, str]
) -> None:
    scope = "payment.init" if version == 1 else "payments.single"
    bearer = causeway.tpp.tokens(version, scopes=[scope])["access_token"]

    for path in ("/tpp/accounts", "/tpp/account"):
        answer = causeway.tpp.call("GET", f"{path}?{query}", bearer=bearer, headers=headers)

        assert (answer.status, answer.body["code"]) == refused


@pytest.mark.parametrize("query", ["a=1&a=1", "colour=red"])
def test_relayed_call_checks_parameters_before_the_account_approval(causeway: Causeway, query: str) -> None:
    bearer = causeway.tpp.tokens(1)["access_token"]

    answer = causeway.tpp.call("GET", f"/tpp/account?iban=DE89370400440532013000&{query}", bearer=bearer)

    assert (answer.status, answer.body["code"]) == (400, "PARAMETER_NOT_CONSISTENT")


@VERSIONS
@pytest.mark.parametrize("content_type", [None, "", "text/plain", "application/x-www-form-urlencoded", "a/b;c", "x"])
def test_a_get_request_with_any_content_type_is_accepted(
    causeway: Causeway, version: int, content_type: str | None
) -> None:
    headers = {"x-request-id": "0f8fad5b-d9cb-469f-a165-70867728950e"}
    headers |= {} if content_type is None else {"content-type": content_type}

    answer = accounts(causeway, version, good(version, accounts=[]), **headers)

    assert answer.status == 200
    assert answer.headers["x-request-id"] == headers["x-request-id"]


@pytest.mark.parametrize("address", ["fe80::1%eth0", "fe80::1%\u00e9", "1.2.3.4, 5.6.7.8", "1.2.3", "", " "])
def test_an_invalid_psu_ip_address_returns_400(causeway: Causeway, address: str) -> None:
    answer = accounts(causeway, 1, good(1, accounts=[]), **{"psu-ip-address": address})

    assert (answer.status, answer.body["code"]) == (400, "HEADERS_ERROR")
    assert causeway.banks[1].received == []


def test_a_bearer_token_of_another_client_returns_401(causeway: Causeway) -> None:
    bearer = causeway.tpp.tokens(1)["access_token"]
    other = causeway.hub.openbanking.clients.create(owner="other@example.com", title="Other").client

    answer = causeway.tpp.call("GET", "/tpp/accounts", bearer=bearer, client_id=other.client_id)

    assert (answer.status, answer.body["code"]) == (401, "AUTHENTICATION_REQUIRED")


# -- a bank that fails

FAILURES: dict[str, tuple[Any, str]] = {
    "refused": (NotReached("no connection could be made"), "no connection"),
    "dropped": (ConnectionDropped("the connection broke before the response was complete"), "connection broke"),
    "timed out": (TimedOut("no answer came in time"), "in time"),
    "too large": (ResponseTooLarge("the answer is larger than 5 MB"), "5 MB"),
    "html": (Reply(200, b"<html>down</html>", {}, 0), "invalid JSON"),
    "empty": (Reply(200, b"", {}, 0), "invalid JSON"),
    "not utf-8": (Reply(200, b"\xff\xfe", {}, 0), "invalid JSON"),
    "a list": (Reply(200, b"[]", {}, 0), "JSON that is not an object"),
    "deep": (Reply(200, b"[" * 100_000, {}, 0), "invalid JSON"),
    "a number without end": (Reply(200, b'{"a":' + b"9" * 100_000 + b"}", {}, 0), "invalid JSON"),
    "server error": (Reply(500, b"{}", {}, 0), "status 500"),
    "redirect": (Reply(302, b"", {"Location": "http://127.0.0.1/"}, 0), "status 302"),
    "no accounts": (Reply(200, b'{"status":"success"}', {}, 0), "accounts is required"),
    "accounts of another type": (Reply(200, b'{"status":"success","accounts":{}}', {}, 0), "accounts must be a list"),
    "an account without currency": (
        Reply(200, b'{"status":"success","accounts":[{"id":1,"name":"a","iban":"b","resource_id":"c"}]}', {}, 0),
        "accounts.0.currency is required",
    ),
}


@VERSIONS
@pytest.mark.parametrize(("failure", "reason"), FAILURES.values(), ids=FAILURES)
def test_a_bank_failure_returns_502_with_the_reason(
    causeway: Causeway, version: int, failure: Any, reason: str
) -> None:
    answer = accounts(causeway, version, failure)

    assert (answer.status, answer.body["code"]) == (502, "ASPSP_UNKNOWN_ERROR")
    assert answer.body["additionalErrors"][0]["code"] == "ASPSP_ERROR_DESC"
    assert reason in answer.body["additionalErrors"][0]["details"]
    assert "Traceback" not in answer.text


def nested(version: int, depth: int, opening: bytes) -> bytes:
    closing = b"]" if opening == b"[" else b"}"
    inner = opening * (depth - 2) + (b"" if opening == b"[" else b"1") + closing * (depth - 2)
    return b'{"status":"success","accounts":[],"deep":{"inner":%s}}' % inner


@VERSIONS
@pytest.mark.parametrize("opening", [b"[", b'{"aB":'])
def test_a_bank_response_nested_above_100_levels_returns_502(causeway: Causeway, version: int, opening: bytes) -> None:
    bearer = causeway.tpp.tokens(version)["access_token"]
    for depth in (101, 200, 300, 330, 500, 900, 1000, 3000):
        reply = Reply(200, nested(version, depth, opening), {}, 0)
        causeway.banks[version].answers[PATH[version]] = always(reply)
        answer = causeway.tpp.call("GET", "/tpp/accounts", bearer=bearer)

        assert (answer.status, answer.body["code"]) == (502, "ASPSP_UNKNOWN_ERROR")


@VERSIONS
@pytest.mark.parametrize("opening", [b"[", b'{"aB":'])
def test_bank_response_nested_100_levels_reaches_the_tpp(causeway: Causeway, version: int, opening: bytes) -> None:
    answer = accounts(causeway, version, Reply(200, nested(version, 100, opening), {}, 0))

    assert answer.status == 200
    assert answer.text.count("[" if opening == b"[" else ":") > 95


@pytest.mark.parametrize(
    ("version", "status", "body"),
    [
        (1, 200, b'{"status":"error","error_code":1234,"message":"No such\\u0000 account"}'),
        (1, 400, b'{"status":"error","error_code":1234,"message":"No such\\u0000 account"}'),
        (2, 400, b'{"code":1234,"title":"No such\\u0000 account","timestamp":"x"}'),
        (2, 200, b'{"code":1234,"title":"No such\\u0000 account","timestamp":"x"}'),
    ],
)
def test_the_code_and_the_message_of_a_bank_error_reach_the_tpp(
    causeway: Causeway, version: int, status: int, body: bytes
) -> None:
    answer = accounts(causeway, version, Reply(status, body, {}, 0))

    assert answer.status == 502
    assert answer.body["additionalErrors"][0]["details"] == "1234: No such  account"


@pytest.mark.parametrize(
    ("version", "status", "body"),
    [
        (1, 200, b'{"status":"error","error_code":4202,"message":"Access token not found"}'),
        (2, 401, b'{"code":"AUTHENTICATION_REQUIRED","title":"Token revoked"}'),
    ],
)
def test_a_rejected_bank_token_returns_502_with_authorize_again(
    causeway: Causeway, version: int, status: int, body: bytes
) -> None:
    answer = accounts(causeway, version, Reply(status, body, {}, 0))

    assert answer.status == 502
    assert "authorize again" in answer.body["title"]


@VERSIONS
def test_an_overlong_member_of_a_bank_response_reaches_the_tpp_unchanged(causeway: Causeway, version: int) -> None:
    account = ACCOUNT[version] | {"name": "n" * 300}

    assert accounts(causeway, version, good(version, accounts=[account])).body["accounts"] == [account]


def test_a_version_1_response_without_a_status_returns_502(causeway: Causeway) -> None:
    assert accounts(causeway, 1, {"accounts": []}).status == 502


def test_a_read_at_an_inactive_bank_returns_404(causeway: Causeway) -> None:
    tokens = causeway.tpp.tokens(1)
    causeway.hub.openbanking.banks.change("ALPHGB21", active=False)
    try:
        answer = causeway.tpp.call("GET", "/tpp/accounts", bearer=tokens["access_token"])
    finally:
        causeway.hub.openbanking.banks.change("ALPHGB21", active=True)

    assert (answer.status, answer.body["code"]) == (404, "RESOURCE_UNKNOWN")
