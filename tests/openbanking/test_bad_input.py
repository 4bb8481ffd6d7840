"""Tests of nearly valid and hostile input: the response is a documented error, and the request changes nothing."""

import base64
import hashlib
import uuid
from collections.abc import Iterator
from urllib.parse import urlencode

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chalicelib.openbanking.protocol.psu_context import PSU_HEADERS
from tests.causeway import Causeway
from tests.openbanking.kit import CONSENT_IDS, IBAN, TOKEN, TOKENS, URL, VERSIONS, always
from tests.openbanking.odd_input import documented, near, odd_text, relaxed

costly = settings(relaxed, max_examples=20)
"""Hypothesis settings for tests in which every example begins with a complete authorization."""


VERIFIER = "v" * 43
CHALLENGE = base64.urlsafe_b64encode(hashlib.sha256(VERIFIER.encode()).digest()).rstrip(b"=").decode()
PKCE = {"code_challenge": CHALLENGE, "code_challenge_method": "S256"}


# -- bodies of TPPs


@relaxed
@given(data=st.data())
def test_a_rejected_authorize_request_with_random_input_does_not_consume_the_state(
    causeway: Causeway, data: st.DataObject
) -> None:
    state = uuid.uuid4().hex
    redirect = {"redirect_uri": causeway.tpp.client.callback_url, "consent_type": "reusable"}
    valid = {"bic": "ALPHGB21", "scopes": ["account.list"], "state": state, **redirect, **PKCE}

    answer = causeway.tpp.call("POST", "/tpp/authorize", data.draw(near(valid)))

    documented(answer, 2)
    used = answer.status == 200 and answer.body["state"] == state
    assert causeway.tpp.call("POST", "/tpp/authorize", valid).status == (400 if used else 200)


@costly
@given(data=st.data())
def test_a_rejected_token_request_with_random_input_does_not_invalidate_the_code(
    causeway: Causeway, data: st.DataObject
) -> None:
    causeway.forget_journeys()
    code = causeway.psu.approve(1, **PKCE).query["code"]
    valid = {"authorization_code": code, "grant_type": "authorization_code", "code_verifier": VERIFIER}
    valid |= {"redirect_uri": causeway.tpp.client.callback_url, "client_id": causeway.tpp.client_id}

    answer = causeway.tpp.call("POST", "/tpp/token", data.draw(near(valid)))

    documented(answer, 2)
    if answer.status != 200:
        assert answer.body["error"]
        assert answer.body["error_description"]
        answer = causeway.tpp.call("POST", "/tpp/token", valid)
    assert causeway.tpp.has_access(answer.body["access_token"])


@costly
@given(data=st.data())
def test_a_rejected_token_request_with_random_input_does_not_invalidate_the_refresh_token(
    causeway: Causeway, data: st.DataObject
) -> None:
    causeway.forget_journeys()
    tokens = causeway.tpp.tokens(2)
    valid = {"refresh_token": tokens["refresh_token"], "grant_type": "refresh_token", "scope": "accounts"}

    answer = causeway.tpp.call("POST", "/tpp/token", data.draw(near(valid)))

    documented(answer, 2)
    if answer.status != 200:
        assert causeway.tpp.has_access(tokens["access_token"])
        answer = causeway.tpp.call("POST", "/tpp/token", valid)
    assert causeway.tpp.has_access(answer.body["access_token"])


@costly
@given(data=st.data())
def test_a_revocation_with_random_input_revokes_only_the_named_token(causeway: Causeway, data: st.DataObject) -> None:
    causeway.forget_journeys()
    token = causeway.tpp.tokens(1)["access_token"]
    body = data.draw(near({"token": token, "token_type_hint": "access_token", "client_id": causeway.tpp.client_id}))

    answer = causeway.tpp.call("POST", "/tpp/token/revoke", body)

    documented(answer, 2)
    named = answer.status == 200 and body["token"] == token
    assert causeway.tpp.has_access(token) is not named
    assert causeway.tpp.call("POST", "/tpp/token/revoke", {"token": token}).status == 200
    assert not causeway.tpp.has_access(token)


# -- bodies of banks


@VERSIONS
@relaxed
@given(data=st.data())
def test_init_authorization_with_random_input_returns_a_documented_response(
    causeway: Causeway, version: int, data: st.DataObject
) -> None:
    causeway.forget_journeys()
    valid = {URL[version]: causeway.tpp.authorize(version)["redirect_url"]}

    documented(causeway.banks[version].call("/init_authorization", data.draw(near(valid))), version)
    assert causeway.banks[version].call("/init_authorization", valid).status == 200


@VERSIONS
@relaxed
@given(data=st.data())
def test_a_rejected_consent_with_random_input_saves_nothing(
    causeway: Causeway, version: int, data: st.DataObject
) -> None:
    causeway.forget_journeys()
    url = causeway.tpp.authorize(version)["redirect_url"]
    valid = causeway.banks[version].consent_body(url, account_ids=["1"], account_numbers=["12345678"], ibans=[IBAN])

    answer = causeway.banks[version].call("/consent", data.draw(near(valid)))

    documented(answer, version)
    if answer.status != 200:
        answer = causeway.banks[version].call("/consent", valid)
        assert answer.status == 200
    assert causeway.banks[version].call("/consent", valid).status in (400, 409)


@VERSIONS
@costly
@given(data=st.data())
def test_a_rejected_bank_revocation_with_random_input_does_not_end_the_consent(
    causeway: Causeway, version: int, data: st.DataObject
) -> None:
    causeway.forget_journeys()
    consented = causeway.psu.approve(version)
    bearer = causeway.tpp.call("POST", "/tpp/token", {"code": consented.query["code"]}).body["access_token"]
    valid = {TOKEN[version]: consented.bank_token}

    answer = causeway.banks[version].call("/token/revoke", data.draw(near(valid)))

    documented(answer, version)
    assert causeway.tpp.has_access(bearer) is (answer.status != 200)
    assert causeway.banks[version].call("/token/revoke", valid).status == 200
    assert not causeway.tpp.has_access(bearer)


@VERSIONS
@costly
@given(data=st.data())
def test_a_consent_status_with_random_input_returns_a_documented_response(
    causeway: Causeway, version: int, data: st.DataObject
) -> None:
    causeway.forget_journeys()
    token = causeway.psu.approve(version).bank_token
    valid = {TOKENS[version]: [token], CONSENT_IDS[version]: [token.partition(".")[0]]}

    answer = causeway.banks[version].call("/consents/status", data.draw(near(valid)))

    documented(answer, version)
    found = causeway.banks[version].call("/consents/status", valid).body["consents"]
    assert [entry["status"] for entry in found] == ["authorised"] * 2


# -- bytes, headers, parameters

CONTENT_TYPES = ["application/json", "application/x-www-form-urlencoded", "text/plain", "", "ä", "a/b;c"]


@relaxed
@given(raw=st.binary(max_size=200), content_type=st.sampled_from(CONTENT_TYPES))
@pytest.mark.parametrize("path", ["/tpp/authorize", "/tpp/token", "/tpp/token/revoke"])
def test_random_bytes_from_a_tpp_return_a_documented_response(
    causeway: Causeway, path: str, raw: bytes, content_type: str
) -> None:
    headers = {"content-type": content_type, "x-api-key": causeway.tpp.client_id}

    documented(causeway.call("POST", path, raw, headers), 2)


@VERSIONS
@relaxed
@given(
    raw=st.binary(max_size=200),
    content_type=st.sampled_from(CONTENT_TYPES),
    path=st.sampled_from(["/init_authorization", "/consent", "/token/revoke", "/consents/status"]),
)
def test_random_signed_bytes_from_a_bank_return_400(
    causeway: Causeway, version: int, path: str, raw: bytes, content_type: str
) -> None:
    answer = causeway.banks[version].call(path, raw=raw, headers={"content-type": content_type})

    documented(answer, version)
    assert answer.status == 400


@VERSIONS
@relaxed
@given(
    value=odd_text,
    name=st.sampled_from(["x-api-key", "x-request-id", "x-signature", "content-type", "authorization", "cookie"]),
    path=st.sampled_from(["/init_authorization", "/consent", "/token/revoke", "/consents/status"]),
)
def test_a_random_header_from_a_bank_returns_a_documented_response(
    causeway: Causeway, version: int, path: str, name: str, value: str
) -> None:
    documented(causeway.banks[version].call(path, {}, headers={name: value}), version)


@pytest.fixture(params=[1, 2])
def bearer(request: pytest.FixtureRequest, causeway: Causeway) -> Iterator[str]:
    account = {"id": 1, "name": "Main", "iban": IBAN, "resource_id": "r1", "currency": "EUR"}
    for path in ("/accounts", "/account", "/v2_accounts", "/v2_account"):
        answer = {"status": "success", "account": account, "accounts": [account]}
        causeway.banks[request.param].answers[path] = always(answer)
    bearer: str = causeway.tpp.tokens(request.param)["access_token"]
    yield bearer
    assert causeway.tpp.has_access(bearer)
    assert causeway.tpp.call("GET", "/tpp/accounts", bearer=bearer).status == 200


PSU = [row.name.lower() for row in PSU_HEADERS]
HEADERS = ["x-api-key", "authorization", "x-request-id", *PSU, "content-type", "cookie", "prefer", "host"]


@relaxed
@given(value=odd_text, name=st.sampled_from(HEADERS))
def test_a_random_header_from_a_tpp_returns_a_documented_response(
    causeway: Causeway, bearer: str, name: str, value: str
) -> None:
    answer = causeway.tpp.call("GET", "/tpp/accounts", bearer=bearer, headers={name: value})

    documented(answer, 2)
    assert len(answer.headers["x-request-id"]) == 36
    sent = [each.headers for side in causeway.banks.values() for each in side.received]
    for headers in sent:
        assert all(text.isascii() and text.isprintable() for text in headers.values())
        assert set(headers) - {row.name for row in PSU_HEADERS} == {
            "Content-Type",
            "X-Api-Key",
            "X-Request-Id",
            "X-Signature",
            "X-Auth-Token",
        }


PATHS = ["account", "accounts", "consent", "consents", "banks"]
odd_parameter = st.tuples(
    st.one_of(odd_text, st.sampled_from(["iban", "account_id", "page", "limit", "bic", "status", "after"])),
    st.one_of(odd_text, st.sampled_from([IBAN, "DE89370400440532013000", "77", "1", "ALPHGB21"])),
)


@relaxed
@given(pairs=st.lists(odd_parameter, max_size=4), path=st.sampled_from(PATHS))
def test_random_query_parameters_return_a_documented_response(
    causeway: Causeway, bearer: str, path: str, pairs: list[tuple[str, str]]
) -> None:
    before = sum(len(side.received) for side in causeway.banks.values())

    answer = causeway.tpp.call("GET", f"/tpp/{path}?{urlencode(pairs, errors='replace')}", bearer=bearer)

    documented(answer, 2)
    asked = sum(len(side.received) for side in causeway.banks.values()) - before
    assert asked == (1 if answer.status == 200 and path.startswith("account") else 0)


@pytest.mark.parametrize("size", [65_537, 1_000_000])
@pytest.mark.parametrize("path", ["/tpp/authorize", "/tpp/token", "/tpp/token/revoke"])
def test_a_request_body_above_the_size_limit_is_refused(causeway: Causeway, path: str, size: int) -> None:
    answer = causeway.tpp.call("POST", path, {"state": "s" * size})

    assert (answer.status, answer.body["code"]) == (400, "FORMAT_ERROR")
    assert "larger" in answer.body["title"]


def test_an_error_response_contains_no_values_of_the_request(causeway: Causeway) -> None:
    secret = "hunter2-hunter2"
    bodies = [{"authorization_code": secret}, {"refresh_token": secret, "grant_type": secret}, {secret[:7]: secret}]

    for body in bodies:
        answer = causeway.tpp.call("POST", "/tpp/token", body)
        assert secret not in answer.text
