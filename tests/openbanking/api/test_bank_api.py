"""Tests of the API for banks: authentication, responses, saved consents, and every error with its code."""

import hashlib
import uuid
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import pytest

from chalicelib.foundation.crypto import signatures
from tests.causeway import Causeway
from tests.openbanking.kit import TOKEN, URL, VERSIONS, camel_case, error_code

# -- init_authorization


@VERSIONS
def test_init_authorization_returns_the_tpp_and_the_requested_scopes(causeway: Causeway, version: int) -> None:
    asked = causeway.tpp.authorize(version)

    answer = causeway.banks[version].call("/init_authorization", {URL[version]: asked["redirect_url"]})

    body = {name.lower().replace("_", ""): value for name, value in answer.body.items()}
    assert answer.status == 200
    assert body["tppname"] == "Budget Friend"
    assert body["tppregistrationnumber"] == f"SANDBOX-{causeway.tpp.client_id[:8]}"
    assert body["scopes"] == causeway.banks[version].scopes
    segment = "/bank/cancel/" if version == 1 else "/bank/v2/cancel/"
    assert body["cancelurl"].startswith(f"http://127.0.0.1:8000{segment}")
    assert set(answer.body) == (
        {"tpp_name", "tpp_registration_number", "scopes", "cancel_url"}
        if version == 1
        else {"tppName", "tppRegistrationNumber", "scopes", "cancelUrl"}
    )


@VERSIONS
def test_init_authorization_accepts_a_url_with_a_reordered_and_escaped_query(causeway: Causeway, version: int) -> None:
    url = causeway.tpp.authorize(version, state="a b/c?d=é")["redirect_url"]
    parts = urlsplit(url)
    other = parts._replace(query=urlencode(list(reversed(parse_qsl(parts.query))), safe="/:")).geturl()

    assert other != url
    assert causeway.banks[version].call("/init_authorization", {URL[version]: other}).status == 200


@VERSIONS
def test_init_authorization_and_consent_accept_the_longest_authorization_url(causeway: Causeway, version: int) -> None:
    callback = "https://tpp.example.com/cb?" + "&" * (2048 - 27)
    causeway.tpp.client = causeway.hub.openbanking.clients.create(
        owner="a@example.com", title="Long", callback_urls=[callback]
    ).client
    asked = causeway.tpp.authorize(
        version, state="\U0001f600" * 512, code_challenge="c" * 43, code_challenge_method="S256", redirect_uri=callback
    )

    assert len(asked["redirect_url"]) > 12_000
    assert causeway.banks[version].call("/init_authorization", {URL[version]: asked["redirect_url"]}).status == 200
    saved = causeway.banks[version].call("/consent", causeway.banks[version].consent_body(asked["redirect_url"]))
    back = saved.body.get("callback_url") or saved.body["callbackUrl"]
    assert dict(parse_qsl(urlsplit(back).query))["state"] == "\U0001f600" * 512


CALLBACKS = {
    "plain": ("https://tpp.example.com/cb", "https://tpp.example.com/cb?authorization_code="),
    "a query": ("https://tpp.example.com/cb?a=1", "https://tpp.example.com/cb?a=1&authorization_code="),
    "an empty query": ("https://tpp.example.com/cb?", "https://tpp.example.com/cb?authorization_code="),
    "an open query": ("https://tpp.example.com/cb?a=1&", "https://tpp.example.com/cb?a=1&authorization_code="),
}


@pytest.mark.parametrize(("callback", "beginning"), CALLBACKS.values(), ids=CALLBACKS)
def test_callback_redirect_preserves_the_query_of_the_registered_url(
    causeway: Causeway, callback: str, beginning: str
) -> None:
    causeway.tpp.client = causeway.hub.openbanking.clients.create(
        owner="a@example.com", title="Own", callback_urls=[callback]
    ).client

    consented = causeway.psu.approve(1, state="s")
    path = cancel_path(causeway, 1, causeway.tpp.authorize(1)["redirect_url"])

    assert consented.callback_url.startswith(beginning)
    assert consented.query["state"] == "s"
    left = causeway.call("GET", path).headers["location"]
    assert left.startswith(beginning.replace("authorization_code", "error"))


ALTERATIONS: dict[str, Callable[[str], str]] = {
    "another scope": lambda url: url.replace("scope=account", "scope=payment"),
    "a parameter more": lambda url: url + "&x=1",
    "a parameter twice": lambda url: url + "&state=0",
    "a fragment": lambda url: url + "#top",
    "another client": lambda url: url.replace("client_id=", "client_id=0"),
    "another state": lambda url: url.replace("state=", "state=0"),
    "another path": lambda url: url.replace("/authorize?", "/authorise?"),
    "no query": lambda url: url.partition("?")[0],
    "no address": lambda url: "nonsense",
    "a broken address": lambda url: "http://[::1" + url,
}


@VERSIONS
@pytest.mark.parametrize("alter", ALTERATIONS.values(), ids=ALTERATIONS)
def test_an_altered_or_unknown_authorization_url_returns_400(
    causeway: Causeway, version: int, alter: Callable[[str], str]
) -> None:
    url = alter(causeway.tpp.authorize(version)["redirect_url"])

    for path, body in (
        ("/init_authorization", {URL[version]: url}),
        ("/consent", causeway.banks[version].consent_body(url)),
    ):
        answer = causeway.banks[version].call(path, body)
        assert error_code(answer, version) == (400, 4301 if version == 1 else "AUTHORIZATION_REQUEST_URL_NOT_VALID")


@VERSIONS
def test_an_authorization_url_that_has_expired_was_used_or_is_for_another_bank_returns_400(
    causeway: Causeway, version: int
) -> None:
    wrong = (400, 4301 if version == 1 else "AUTHORIZATION_REQUEST_URL_NOT_VALID")
    used = causeway.psu.approve(version).request_url
    expired = causeway.tpp.authorize(version)["redirect_url"]
    foreign = causeway.tpp.authorize(3 - version)["redirect_url"]

    assert error_code(causeway.banks[version].call("/init_authorization", {URL[version]: used}), version) == wrong
    assert error_code(causeway.banks[version].call("/init_authorization", {URL[version]: foreign}), version) == wrong
    causeway.clock.advance(seconds=30 * 60)
    assert error_code(causeway.banks[version].call("/init_authorization", {URL[version]: expired}), version) == wrong
    assert (
        error_code(causeway.banks[version].call("/consent", causeway.banks[version].consent_body(expired)), version)
        == wrong
    )


# -- consent


@VERSIONS
def test_a_saved_consent_returns_a_callback_url_with_code_state_and_issuer(causeway: Causeway, version: int) -> None:
    consented = causeway.psu.approve(version, state="my state")

    assert consented.callback_url.startswith("http://127.0.0.1:8000/authorize/callback?")
    assert consented.query["authorization_code"] == consented.query["code"]
    assert consented.query["state"] == "my state"
    assert consented.query["iss"] == "http://127.0.0.1:8000"
    assert consented.valid_until == "2026-08-29T09:00:00+00:00"


REFUSED_CONSENTS: dict[str, tuple[dict[str, Any], int, str]] = {
    "no url": ({"request_url": None}, 4300, "AUTHORIZATION_REQUEST_URL_DOES_NOT_EXIST"),
    "empty url": ({"request_url": ""}, 4301, "AUTHORIZATION_REQUEST_URL_NOT_VALID"),
    "url of another type": ({"request_url": 7}, 4301, "AUTHORIZATION_REQUEST_URL_NOT_VALID"),
    "no scopes": ({"scopes": None}, 4302, "AUTHORIZATION_SCOPE_DOES_NOT_EXIST"),
    "empty scopes": ({"scopes": []}, 4303, "AUTHORIZATION_SCOPE_NOT_CORRECT"),
    "scopes as text": ({"scopes": "accounts"}, 4303, "AUTHORIZATION_SCOPE_NOT_CORRECT"),
    "unknown scope": ({"scopes": ["everything"]}, 4303, "AUTHORIZATION_SCOPE_NOT_CORRECT"),
    "a scope twice": ({"scopes": ["twice"]}, 4303, "AUTHORIZATION_SCOPE_NOT_CORRECT"),
    "fewer scopes": ({"scopes": ["fewer"]}, 4306, "AUTHORIZATION_SELECTED_WRONG_SCOPE"),
    "more scopes": ({"scopes": ["more"]}, 4306, "AUTHORIZATION_SELECTED_WRONG_SCOPE"),
    "bad iban": ({"ibans": ["GB00BUKB20201555555555"]}, 4305, "AUTHORIZATION_IBAN_NOT_VALID"),
    "no account": ({"ibans": None}, 4307, "AUTHORIZATION_ACCOUNT_IDENTIFIERS_MISSING"),
    "empty accounts": ({"ibans": [], "account_ids": []}, 4307, "AUTHORIZATION_ACCOUNT_IDENTIFIERS_MISSING"),
    "unknown member": ({"extra": 1}, 4001, "EXTRA_FIELDS_PROVIDED"),
    "account id of another type": ({"account_ids": [True]}, 4001, "INVALID_MODEL_TYPE"),
    "control characters": ({"account_ids": ["a\u0000b"]}, 4001, "INVALID_MODEL_TYPE"),
    "overlong": ({"account_ids": ["a" * 256]}, 4001, "INVALID_MODEL_TYPE"),
}
FEWER = {1: ["account.list"], 2: ["accounts"]}
MORE = {1: ["account.list", "account.details", "account.balance"], 2: ["accounts", "accounts.balances"]}


@VERSIONS
@pytest.mark.parametrize(("change", "v1", "v2"), REFUSED_CONSENTS.values(), ids=REFUSED_CONSENTS)
def test_an_invalid_consent_returns_400_and_the_authorization_request_remains_open(
    causeway: Causeway, version: int, change: dict[str, Any], v1: int, v2: str
) -> None:
    asked = MORE[version] if change.get("scopes") == ["fewer"] else causeway.banks[version].scopes
    url = causeway.tpp.authorize(version, scopes=asked)["redirect_url"]
    special = {"fewer": FEWER[version], "more": MORE[version], "twice": [asked[0], asked[0]]}
    scopes = change.get("scopes", asked)
    members = change | {"scopes": special.get(scopes[0], scopes) if isinstance(scopes, list) and scopes else scopes}
    body = {"request_url": url, "ibans": ["GB33BUKB20201555555555"]} | members
    sent = {name: value for name, value in body.items() if value is not None}
    spelled = sent if version == 1 else {camel_case(name): value for name, value in sent.items()}

    refused = causeway.banks[version].call("/consent", spelled)
    accepted = causeway.banks[version].call("/consent", causeway.banks[version].consent_body(url, scopes=asked))

    assert error_code(refused, version) == (400, v1 if version == 1 else v2)
    assert accepted.status == 200


@VERSIONS
def test_a_second_consent_for_one_authorization_request_is_rejected(causeway: Causeway, version: int) -> None:
    url = causeway.psu.approve(version).request_url

    answer = causeway.banks[version].call("/consent", causeway.banks[version].consent_body(url))

    assert error_code(answer, version) == (
        (409, 4205) if version == 1 else (400, "AUTHORIZATION_REQUEST_URL_NOT_VALID")
    )


@VERSIONS
def test_a_consent_for_an_inactive_tpp_is_rejected(causeway: Causeway, version: int) -> None:
    url = causeway.tpp.authorize(version)["redirect_url"]
    causeway.hub.openbanking.clients.deactivate(causeway.tpp.client_id)

    answer = causeway.banks[version].call("/consent", causeway.banks[version].consent_body(url))

    assert error_code(answer, version) == ((502, 4005) if version == 1 else (403, "SERVICE_BLOCKED"))


@VERSIONS
def test_a_consent_with_a_payment_scope_needs_no_account(causeway: Causeway, version: int) -> None:
    scope = "payment.init" if version == 1 else "payments.single"
    url = causeway.tpp.authorize(version, scopes=[scope])["redirect_url"]
    body = causeway.banks[version].consent_body(url, scopes=[scope], ibans=[])

    assert causeway.banks[version].call("/consent", body).status == 200


# -- repeats


@VERSIONS
def test_a_retry_with_the_same_request_id_and_body_returns_the_same_response(causeway: Causeway, version: int) -> None:
    url = causeway.tpp.authorize(version)["redirect_url"]
    headers = {"x-request-id": str(uuid.uuid4())}

    first = causeway.banks[version].call("/consent", causeway.banks[version].consent_body(url), headers=headers)
    second = causeway.banks[version].call("/consent", causeway.banks[version].consent_body(url), headers=headers)

    assert first.status == second.status == 200
    assert first.text == second.text


@VERSIONS
def test_a_request_id_that_was_used_with_another_body_returns_400(causeway: Causeway, version: int) -> None:
    url = causeway.tpp.authorize(version)["redirect_url"]
    headers = {"x-request-id": str(uuid.uuid4())}
    causeway.banks[version].call("/consent", causeway.banks[version].consent_body(url), headers=headers)

    other = causeway.banks[version].consent_body(url, account_ids=["other"])
    answer = causeway.banks[version].call("/consent", other, headers=headers)

    assert error_code(answer, version) == (400, 4001 if version == 1 else "HEADERS_ERROR")


@VERSIONS
def test_a_request_id_can_be_reused_after_a_day(causeway: Causeway, version: int) -> None:
    headers = {"x-request-id": str(uuid.uuid4())}
    body = {URL[version]: causeway.tpp.authorize(version)["redirect_url"]}
    causeway.banks[version].call("/init_authorization", body, headers=headers)
    causeway.clock.advance(seconds=24 * 3600)

    later = {URL[version]: causeway.tpp.authorize(version)["redirect_url"]}

    assert causeway.banks[version].call("/init_authorization", later, headers=headers).status == 200


# -- the gate

GATE: dict[str, tuple[dict[str, str | None], tuple[int, int], tuple[int, str]]] = {
    "no key": ({"x-api-key": None}, (401, 4201), (401, "AUTHENTICATION_REQUIRED")),
    "a key without form": ({"x-api-key": "secret"}, (401, 4200), (401, "WRONG_CREDENTIALS")),
    "a wrong key": ({"x-api-key": f"ALPHGB21.{'A' * 43}"}, (401, 4200), (401, "WRONG_CREDENTIALS")),
    "an unknown bank's key": ({"x-api-key": f"NONEGB21.{'A' * 43}"}, (401, 4200), (401, "WRONG_CREDENTIALS")),
    "no request id": ({"x-request-id": None}, (401, 4204), (401, "REQUEST_ID_NOT_UUID")),
    "a request id that is no UUID": ({"x-request-id": "1"}, (401, 4204), (401, "REQUEST_ID_NOT_UUID")),
    "a signature over other bytes": ({"x-signature": "other"}, (401, 4200), (400, "HEADERS_ERROR")),
    "a signature that is no base64": ({"x-signature": "%%%"}, (401, 4200), (400, "HEADERS_ERROR")),
    "another content type": ({"content-type": "text/xml"}, (400, 4001), (400, "HEADERS_ERROR")),
}


@VERSIONS
@pytest.mark.parametrize(("headers", "v1", "v2"), GATE.values(), ids=GATE)
@pytest.mark.parametrize("path", ["/init_authorization", "/consent", "/token/revoke"])
def test_a_bank_call_with_invalid_credentials_or_headers_is_rejected(
    causeway: Causeway,
    version: int,
    path: str,
    headers: dict[str, str | None],
    v1: tuple[int, int],
    v2: tuple[int, str],
) -> None:
    if headers.get("x-signature") == "other":
        headers = {"x-signature": signatures.sign(causeway.banks[version].key, b"other bytes")}

    answer = causeway.banks[version].call(path, {URL[version]: "x"}, headers=headers)

    assert error_code(answer, version) == (v1 if version == 1 else v2)


@VERSIONS
@pytest.mark.parametrize("signature", ["other", "%%%"])
def test_a_wrong_signature_in_a_sandbox_returns_the_known_key_ids_and_the_body_digest(
    causeway: Causeway, version: int, signature: str
) -> None:
    if signature == "other":
        signature = signatures.sign(causeway.banks[version].key, b"other bytes")
    body = b'{"a": "what the bank sent"}'

    answer = causeway.banks[version].call("/consent", raw=body, headers={"x-signature": signature})

    said = answer.body["message" if version == 1 else "title"]
    assert signatures.key_id(causeway.banks[version].key.public_key()) in said
    assert f"{len(body)} bytes, SHA-256 {hashlib.sha256(body).hexdigest()}" in said
    assert "what the bank sent" not in answer.text


def test_a_missing_signature_is_accepted_in_version_1_and_rejected_in_version_2(causeway: Causeway) -> None:
    unsigned: dict[str, str | None] = {"x-signature": None}
    first, second = causeway.tpp.authorize(1)["redirect_url"], causeway.tpp.authorize(2)["redirect_url"]

    assert causeway.banks[1].call("/init_authorization", {"request_url": first}, headers=unsigned).status == 200
    refused = causeway.banks[2].call("/init_authorization", {"requestUrl": second}, headers=unsigned)
    assert error_code(refused, 2) == (400, "HEADERS_ERROR")


def test_an_unsigned_version_1_call_of_a_bank_with_the_setting_signature_required_is_rejected(
    causeway: Causeway,
) -> None:
    url = causeway.tpp.authorize(1)["redirect_url"]
    causeway.hub.openbanking.banks.change("ALPHGB21", signature_required=True)
    try:
        unsigned = causeway.banks[1].call("/init_authorization", {"request_url": url}, headers={"x-signature": None})
        signed = causeway.banks[1].call("/init_authorization", {"request_url": url})
    finally:
        causeway.hub.openbanking.banks.change("ALPHGB21", signature_required=False)

    assert error_code(unsigned, 1) == (401, 4200)
    assert signed.status == 200


@VERSIONS
def test_a_call_by_a_bank_that_is_registered_for_another_api_version_returns_403(
    causeway: Causeway, version: int
) -> None:
    other = {"x-api-key": causeway.banks[3 - version].api_key}

    answer = causeway.banks[version].call("/consent", {}, headers=other)

    assert error_code(answer, version) == ((403, 4004) if version == 1 else (403, "SERVICE_BLOCKED"))


@VERSIONS
@pytest.mark.parametrize("raw", [b"", b"{", b"\xff", b"[" * 60_000, b'{"a":NaN}', b'{"a":1,"a":2}'])
def test_a_body_that_is_not_json_returns_400(causeway: Causeway, version: int, raw: bytes) -> None:
    answer = causeway.banks[version].call("/consent", raw=raw)

    assert error_code(answer, version) == (400, 4003 if version == 1 else "FORMAT_ERROR")


@VERSIONS
@pytest.mark.parametrize("raw", [b"[]", b"null", b'"text"', b"7", b'{"x":"' + b"a" * 4_000_000 + b'"}'])
def test_a_body_with_an_invalid_structure_or_an_excessive_size_returns_400(
    causeway: Causeway, version: int, raw: bytes
) -> None:
    answer = causeway.banks[version].call("/consent", raw=raw)

    assert answer.status == 400
    assert error_code(answer, version)[1] in ({4001} if version == 1 else {"INVALID_MODEL_TYPE", "FORMAT_ERROR"})


@pytest.mark.parametrize(
    ("method", "path", "code"),
    [
        ("POST", "/bank/nothing", 4202),
        ("POST", "/bank/no/thing", 4202),
        ("GET", "/bank/consent", 4202),
        ("DELETE", "/bank/consent", 4202),
        ("POST", "/bank/v2/nothing", "API_ACTION_DOES_NOT_EXIST"),
        ("POST", "/bank/v2/no/thing", "API_ACTION_DOES_NOT_EXIST"),
        ("GET", "/bank/v2/consent", "API_ACTION_DOES_NOT_EXIST"),
        ("PATCH", "/tpp/nothing", "API_ACTION_DOES_NOT_EXIST"),
        ("GET", "/tpp/no/thing", "API_ACTION_DOES_NOT_EXIST"),
        ("GET", "/tpp/token", "API_ACTION_DOES_NOT_EXIST"),
        ("PUT", "/tpp/accounts", "API_ACTION_DOES_NOT_EXIST"),
    ],
)
def test_an_unknown_action_returns_401_in_the_error_format_of_its_api(
    causeway: Causeway, method: str, path: str, code: object
) -> None:
    answer = causeway.call(method, path, b"{}")

    assert answer.status == 401
    assert answer.body.get("error_code", answer.body.get("code")) == code
    assert answer.headers["x-request-id"]


# -- revocation


@VERSIONS
def test_a_revocation_returns_different_codes_for_malformed_and_unknown_tokens(
    causeway: Causeway, version: int
) -> None:
    foreign = causeway.psu.approve(3 - version).bank_token
    malformed = causeway.banks[version].call("/token/revoke", {TOKEN[version]: "nonsense"})
    unknown = causeway.banks[version].call("/token/revoke", {TOKEN[version]: f"{'0' * 22}.{'A' * 43}"})
    of_another = causeway.banks[version].call("/token/revoke", {TOKEN[version]: foreign})

    assert error_code(malformed, version) == (400, 4001 if version == 1 else "AUTHORIZATION_TOKEN_NOT_VALID")
    for answer in (unknown, of_another):
        assert error_code(answer, version) == ((401, 4202) if version == 1 else (404, "RESOURCE_UNKNOWN"))


# -- cancelling


def cancel_path(causeway: Causeway, version: int, url: str) -> str:
    body = causeway.banks[version].call("/init_authorization", {URL[version]: url}).body
    return str(urlsplit(body.get("cancel_url") or body["cancelUrl"]).path)


@VERSIONS
def test_opening_the_cancel_url_again_repeats_the_redirect_with_the_first_reason(
    causeway: Causeway, version: int
) -> None:
    asked = causeway.tpp.authorize(version, state="s1")
    path = cancel_path(causeway, version, asked["redirect_url"])

    first = causeway.call("GET", f"{path}?error=server_error&error_description=Bank%20is%20%22closed%22")
    again = causeway.call("GET", path)

    assert first.status == again.status == 303
    assert first.headers["location"] == again.headers["location"]
    query = dict(parse_qsl(urlsplit(first.headers["location"]).query))
    assert query == {
        "error": "server_error",
        "error_description": "Bank is closed",
        "state": "s1",
        "iss": "http://127.0.0.1:8000",
    }
    refused = causeway.banks[version].call("/consent", causeway.banks[version].consent_body(asked["redirect_url"]))
    assert error_code(refused, version)[0] == 400


@VERSIONS
def test_the_cancel_url_without_a_reason_redirects_with_access_denied(causeway: Causeway, version: int) -> None:
    path = cancel_path(causeway, version, causeway.tpp.authorize(version)["redirect_url"])

    assert "error=access_denied" in causeway.call("GET", path).headers["location"]


@VERSIONS
def test_opening_the_cancel_url_after_the_consent_redirects_and_does_not_invalidate_the_code(
    causeway: Causeway, version: int
) -> None:
    asked = causeway.tpp.authorize(version)
    path = cancel_path(causeway, version, asked["redirect_url"])
    saved = causeway.banks[version].call("/consent", causeway.banks[version].consent_body(asked["redirect_url"]))
    code = dict(parse_qsl(urlsplit(saved.body.get("callback_url") or saved.body["callbackUrl"]).query))["code"]

    answer = causeway.call("GET", path)

    assert answer.status == 303
    assert causeway.tpp.call("POST", "/tpp/token", {"code": code}).status == 200


@VERSIONS
def test_the_cancel_url_of_an_expired_request_still_redirects(causeway: Causeway, version: int) -> None:
    path = cancel_path(causeway, version, causeway.tpp.authorize(version)["redirect_url"])
    causeway.clock.advance(seconds=3600)

    assert causeway.call("GET", path).status == 303


@VERSIONS
def test_the_cancel_url_of_an_inactive_client_returns_404_without_a_redirect(causeway: Causeway, version: int) -> None:
    path = cancel_path(causeway, version, causeway.tpp.authorize(version)["redirect_url"])
    causeway.hub.openbanking.clients.deactivate(causeway.tpp.client_id)

    answer = causeway.call("GET", path)

    assert answer.status == 404
    assert answer.headers["content-type"].startswith("text/html")
    assert "location" not in answer.headers


@VERSIONS
@pytest.mark.parametrize("method", ["batch_get", "transact"])
def test_the_cancel_url_returns_an_html_page_when_storage_fails(causeway: Causeway, version: int, method: str) -> None:
    path = cancel_path(causeway, version, causeway.tpp.authorize(version)["redirect_url"])

    with causeway.storage_gone(method):
        failed = causeway.call("GET", path)

    assert failed.status == 500
    assert failed.headers["content-type"].startswith("text/html")
    assert "again" in failed.text
    assert "location" not in failed.headers
    assert causeway.call("GET", path).status == 303


@VERSIONS
def test_the_cancel_url_of_another_api_version_returns_404(causeway: Causeway, version: int) -> None:
    path = cancel_path(causeway, version, causeway.tpp.authorize(version)["redirect_url"])
    other = path.replace("/bank/", "/bank/v2/") if version == 1 else path.replace("/v2", "")

    assert causeway.call("GET", other).status == 404


@pytest.mark.parametrize("path", ["/bank/cancel/nonsense", f"/bank/v2/cancel/{'0' * 64}.{'A' * 43}"])
def test_an_unknown_cancel_url_returns_404_with_an_html_page(causeway: Causeway, path: str) -> None:
    answer = causeway.call("GET", path)

    assert answer.status == 404
    assert answer.headers["content-type"].startswith("text/html")
    assert "start again" in answer.text


# -- keys


def test_the_public_key_is_published_as_pem_and_as_jwks(causeway: Causeway) -> None:
    pem = causeway.call("GET", "/bank/public_key")
    jwks = causeway.call("GET", "/.well-known/jwks.json").body

    key = signatures.load_public_key(pem.text)
    assert jwks["keys"][0] == signatures.jwk(key)
    assert signatures.verify([key], b"x", signatures.sign(causeway.hub.keyring.signing_key(), b"x"))


@pytest.mark.parametrize("version", [1, 2])
def test_an_authorization_url_with_the_value_null_is_treated_as_missing(causeway: Causeway, version: int) -> None:
    answer = causeway.banks[version].call(
        "/init_authorization", {"request_url" if version == 1 else "requestUrl": None}
    )

    if version == 1:
        assert (answer.status, answer.body["error_code"]) == (400, 4300)
    else:
        assert answer.body["additionalErrors"][0]["code"] == "AUTHORIZATION_REQUEST_URL_DOES_NOT_EXIST"


def test_scopes_with_the_value_null_are_treated_as_missing(causeway: Causeway) -> None:
    answer = causeway.banks[1].call("/consent", {"request_url": "https://x.example", "scopes": None})

    assert answer.body["error_code"] == 4302


@pytest.mark.parametrize("version", [1, 2])
def test_a_consent_accepts_numeric_account_identifiers(causeway: Causeway, version: int) -> None:
    url = causeway.tpp.authorize(version)["redirect_url"]
    body = causeway.banks[version].consent_body(url, account_ids=[1001], account_numbers=[12345678])

    assert causeway.banks[version].call("/consent", body).status == 200


@pytest.mark.parametrize("path", ["/tpp", "/bank"])
def test_a_post_to_the_base_path_of_an_api_returns_401(causeway: Causeway, path: str) -> None:
    answer = causeway.call("POST", path)

    assert answer.status == 401
