"""Tests of client authentication: required secrets, and challenges that name the missing credential."""

import base64
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from chalicelib.openbanking.protocol import refusals
from tests.causeway import Answer, Causeway
from tests.openbanking.examples import ROWS
from tests.openbanking.kit import basic

BEARER, BASIC = 'Bearer realm="causeway"', 'Basic realm="causeway"'
DIRECT = next(row for row in ROWS if row.is_direct and row.version == 2)
SECRET = refusals.SECRET_WRONG.sentence
UNKNOWN = refusals.CLIENT_UNKNOWN.sentence

Call = Callable[[Causeway, Mapping[str, str]], Answer]


def asks(method: str, path: str, body: Any = None) -> Call:
    return lambda causeway, headers: causeway.tpp.call(method, path, body, client_id="", headers=headers)


def pays(causeway: Causeway, headers: Mapping[str, str]) -> Answer:
    causeway.banks[2].answers[DIRECT.webhook] = lambda sent: {
        **DIRECT.answer,
        "payment_id": sent.headers["X-Request-Id"],
    }
    return causeway.tpp.call("POST", DIRECT.call, {"bic": "BETADEF1", **DIRECT.request}, client_id="", headers=headers)


def pays_later(causeway: Causeway, headers: Mapping[str, str]) -> Answer:
    return pays(causeway, {**headers, "prefer": "respond-async"})


WITHOUT_BEARER: Mapping[str, Call] = {
    "authorize": asks("POST", "/tpp/authorize", {"bic": "BETADEF1", "scopes": ["accounts"]}),
    "direct payment": pays,
    "direct payment, later": pays_later,
    "its status": asks("GET", "/tpp/payment_status?payment_id=unknown&bic=BETADEF1"),
    "its request": asks("GET", "/tpp/requests/unknown"),
    "banks": asks("GET", "/tpp/banks"),
    "scope": asks("GET", "/tpp/scope?bic=BETADEF1"),
    "token": asks("POST", "/tpp/token", {"code": "unknown"}),
    "revoke": asks("POST", "/tpp/token/revoke", {"token": "unknown"}),
}


@pytest.fixture
def careful(causeway: Causeway) -> Causeway:
    made = causeway.hub.openbanking.clients.create(owner="a@example.com", title="Careful", secret=True)
    causeway.tpp.client, causeway.tpp.client_secret = made.client, made.secret
    return causeway


def who(causeway: Causeway, *, key: str | None = None, secret: str | None = None) -> dict[str, str]:
    sent = {} if key is None else {"x-api-key": key}
    return sent if secret is None else sent | {"authorization": basic(causeway.tpp.client_id, secret)}


@pytest.mark.parametrize("name", WITHOUT_BEARER)
def test_every_call_without_a_bearer_token_requires_the_client_secret(careful: Causeway, name: str) -> None:
    call, client_id, secret = WITHOUT_BEARER[name], careful.tpp.client_id, careful.tpp.client_secret

    missing = call(careful, who(careful, key=client_id))
    wrong = call(careful, who(careful, key=client_id, secret="wrong"))
    idle = call(careful, who(careful, key=client_id) | {"authorization": "Bearer anything"})
    nothing_sent = not careful.banks[2].received
    right = [call(careful, who(careful, key=key, secret=secret)) for key in (client_id, None)]

    for refused in (missing, wrong, *([] if name in ("its status", "its request") else [idle])):
        assert refused.status == 401
        assert refused.body["code"] == "WRONG_CREDENTIALS"
        assert refused.body["title"] == SECRET
        assert refused.headers["www-authenticate"] == BASIC
    assert idle.status == 401
    assert nothing_sent
    assert {answer.status for answer in right} <= {200, 202, 400, 404}
    assert len({answer.status for answer in right}) == 1
    assert not any(answer.status == 401 for answer in right)


@pytest.mark.parametrize("name", WITHOUT_BEARER)
def test_a_client_without_a_stored_secret_needs_no_secret_and_sending_a_secret_returns_401(
    causeway: Causeway, name: str
) -> None:
    call, client_id = WITHOUT_BEARER[name], causeway.tpp.client_id

    bare = call(causeway, who(causeway, key=client_id))
    empty = call(causeway, who(causeway, secret=""))
    shown = call(causeway, who(causeway, secret="anything"))

    assert bare.status == empty.status != 401
    assert (shown.status, shown.body["title"]) == (401, SECRET)


@pytest.mark.parametrize("name", WITHOUT_BEARER)
def test_a_request_with_two_different_client_ids_returns_401(careful: Causeway, name: str) -> None:
    other = careful.hub.openbanking.clients.create(owner="a@example.com", title="Other").client.client_id

    answer = WITHOUT_BEARER[name](careful, who(careful, key=other, secret=careful.tpp.client_secret))

    assert (answer.status, answer.body["code"]) == (401, "WRONG_CREDENTIALS")
    assert "two different values" in answer.body["title"]


@pytest.mark.parametrize("name", WITHOUT_BEARER)
def test_inactive_and_unknown_clients_return_the_same_error(careful: Causeway, name: str) -> None:
    careful.hub.openbanking.clients.deactivate(careful.tpp.client_id)

    inactive = WITHOUT_BEARER[name](careful, who(careful, secret=careful.tpp.client_secret))
    unknown = WITHOUT_BEARER[name](careful, who(careful, key="unknown"))

    assert [answer.body["title"] for answer in (inactive, unknown)] == [UNKNOWN, UNKNOWN]


@pytest.mark.parametrize("value", ["", "!!", base64.b64encode(b"\xff\xff").decode()])
def test_malformed_basic_credentials_return_401(careful: Causeway, value: str) -> None:
    answer = asks("GET", "/tpp/banks")(careful, {"authorization": f"Basic {value}"})

    assert answer.status == 401
    assert answer.headers["www-authenticate"] == BASIC


def test_a_call_with_a_bearer_token_needs_no_client_secret(careful: Causeway) -> None:
    tokens = careful.tpp.tokens(2)

    answer = careful.tpp.call("GET", "/tpp/consent", bearer=tokens["access_token"])

    assert answer.status == 200


def test_the_authorization_endpoint_needs_no_client_secret(careful: Causeway) -> None:
    query = f"response_type=code&client_id={careful.tpp.client_id}&bic=BETADEF1&scope=accounts"

    answer = careful.call("GET", f"/oauth/authorize?{query}")

    assert answer.headers["location"].startswith(careful.banks[2].record.authorization_url)


# -- challenges (RFC 6750 §3)


def test_a_call_without_credentials_returns_a_challenge_without_an_error(causeway: Causeway) -> None:
    for answer in (
        causeway.tpp.call("GET", "/tpp/accounts"),
        causeway.tpp.call("GET", "/tpp/payment_status?payment_id=a"),
    ):
        assert (answer.status, answer.body["code"]) == (401, "AUTHENTICATION_REQUIRED")
        assert answer.headers["www-authenticate"] == BEARER


def test_an_invalid_bearer_token_returns_401_with_the_error_invalid_token(causeway: Causeway) -> None:
    answer = causeway.tpp.call("GET", "/tpp/accounts", bearer="anything")

    assert (answer.status, answer.body["code"]) == (401, "AUTHENTICATION_REQUIRED")
    assert answer.headers["www-authenticate"] == f'{BEARER}, error="invalid_token"'


def test_a_call_without_the_required_scope_returns_403_with_the_error_insufficient_scope(causeway: Causeway) -> None:
    bearer = causeway.tpp.tokens(2)["access_token"]

    answer = causeway.tpp.call("GET", "/tpp/account_balance?account_id=1", bearer=bearer)

    assert (answer.status, answer.body["code"]) == (403, "SERVICE_BLOCKED")
    assert answer.headers["www-authenticate"] == f'{BEARER}, error="insufficient_scope"'


def test_a_call_without_a_client_returns_401_with_a_basic_challenge(causeway: Causeway) -> None:
    answer = causeway.tpp.call("GET", "/tpp/banks", client_id="")

    assert (answer.status, answer.body["code"]) == (401, "AUTHENTICATION_REQUIRED")
    assert answer.headers["www-authenticate"] == BASIC
