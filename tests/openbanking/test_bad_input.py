"""Near-valid and hostile input: a documented error of the right version, nothing changed, never a 5xx."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chalicelib.openbanking.protocol.errors import ADDITIONAL, VERSION_1, VERSION_2
from tests.world import IBAN, Answer, World

odd_text = st.one_of(
    st.text(max_size=40),
    st.sampled_from(["", "\x00", "a\r\nb", "\ud800", " ", "ß", "Ω" * 50, "a" * 9000, "null", "../..", "' OR 1=1"]),
)
json_value = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.decimals(allow_nan=False, allow_infinity=False), odd_text),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(odd_text, inner, max_size=4)),
    max_leaves=12,
)
relaxed = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)


@st.composite
def near(draw: st.DrawFn, valid: dict[str, Any]) -> Any:
    """A valid body with some of its members taken away, replaced, or joined by others."""
    body = dict(valid)
    for name in draw(st.sets(st.sampled_from(sorted(valid)), max_size=2)):
        if draw(st.booleans()):
            body[name] = draw(json_value)
        else:
            del body[name]
    if draw(st.integers(0, 4)) == 0:
        body[draw(odd_text)] = draw(json_value)
    return body if draw(st.integers(0, 9)) else draw(json_value)


def documented(answer: Answer, version: int) -> None:
    """The answer is a success or an error of the version's tables, with the table's HTTP status."""
    assert answer.status < 500 or answer.status == 502
    if answer.status == 200:
        return
    body = answer.body
    if version == 1:
        assert set(body) == {"error_code", "message"}
        assert answer.status == VERSION_1[body["error_code"]].status
        return
    assert answer.status == VERSION_2[body["code"]].status
    for additional in body.get("additionalErrors", []):
        assert additional["code"] in ADDITIONAL or additional["code"] in VERSION_2
        assert additional["details"]


AUTHORIZE = {
    "bic": "ALPHGB21",
    "scopes": ["account.list"],
    "state": "s",
    "redirect_uri": "http://127.0.0.1:8000/authorize/callback",
    "code_challenge": "c" * 43,
    "code_challenge_method": "S256",
    "consent_type": "reusable",
}


@relaxed
@given(body=near(AUTHORIZE))
def test_authorize_answers_anything(world: World, body: Any) -> None:
    documented(world.tpp("POST", "/tpp/authorize", body), 2)


@relaxed
@given(body=near({"authorization_code": "c", "grant_type": "authorization_code", "code_verifier": "v" * 43}))
def test_the_token_endpoint_answers_anything(world: World, body: Any) -> None:
    answer = world.tpp("POST", "/tpp/token", body)

    documented(answer, 2)
    assert answer.body["error"]
    assert answer.body["error_description"]


@relaxed
@given(body=near({"token": "t", "token_type_hint": "access_token"}))
def test_the_revocation_endpoint_answers_anything(world: World, body: Any) -> None:
    documented(world.tpp("POST", "/tpp/token/revoke", body), 2)


@pytest.mark.parametrize("version", [1, 2])
@relaxed
@given(data=st.data())
def test_the_bank_facing_calls_answer_anything(world: World, version: int, data: st.DataObject) -> None:
    url = world.authorize(version)["redirect_url"]
    valid = world.consent_body(version, url, account_ids=["1"], account_numbers=["12345678"], ibans=[IBAN])
    path = data.draw(st.sampled_from(["/consent", "/init_authorization", "/token/revoke"]))

    documented(world.bank(version, path, data.draw(near(valid))), version)


@relaxed
@given(raw=st.binary(max_size=200), content_type=st.sampled_from(["application/json", "text/plain", "", "ä", "a/b;c"]))
@pytest.mark.parametrize("path", ["/tpp/authorize", "/tpp/token", "/tpp/token/revoke", "/bank/consent"])
def test_any_bytes_are_answered(world: World, path: str, raw: bytes, content_type: str) -> None:
    headers = {"content-type": content_type, "x-api-key": world.client.client_id}

    documented(world.call("POST", path, raw, headers), 1 if path.startswith("/bank") else 2)


@relaxed
@given(value=odd_text, name=st.sampled_from(["x-api-key", "authorization", "x-request-id", "psu-ip-address"]))
def test_any_header_is_answered(world: World, name: str, value: str) -> None:
    documented(world.tpp("GET", "/tpp/accounts", headers={name: value}), 2)


@pytest.mark.parametrize("size", [65_537, 1_000_000])
@pytest.mark.parametrize("path", ["/tpp/authorize", "/tpp/token", "/tpp/token/revoke"])
def test_a_body_that_is_too_large_is_refused(world: World, path: str, size: int) -> None:
    answer = world.tpp("POST", path, {"state": "s" * size})

    assert (answer.status, answer.body["code"]) == (400, "FORMAT_ERROR")
    assert "larger" in answer.body["title"]


def test_an_error_never_quotes_what_was_sent(world: World) -> None:
    secret = "hunter2-hunter2"
    bodies = [{"authorization_code": secret}, {"refresh_token": secret, "grant_type": secret}, {secret[:7]: secret}]

    for body in bodies:
        answer = world.tpp("POST", "/tpp/token", body)
        assert secret not in answer.text
