"""Chalice's own error responses use the format of the called API."""

from typing import Any

import pytest

from tests.causeway import Causeway

ID = "0F8FAD5B-D9CB-469F-A165-70867728950E"
ELSEWHERE = {
    "GET /bank/consent": 1,
    "DELETE /bank/token/revoke": 1,
    "POST /bank/public_key": 1,
    "POST /bank/cancel/x": 1,
    "POST /bank/nothing": 1,
    "GET /bank/v2x": 1,
    "GET /bank/v2": 2,
    "POST /bank/v2": 2,
    "DELETE /bank/v2": 2,
    "GET /bank/v2/consent": 2,
    "PUT /bank/v2/token/revoke": 2,
    "POST /bank/v2/cancel/x": 2,
    "POST /bank/v2/no/thing": 2,
    "GET /bank/a/b/c": 1,
    "POST /bank/a/b/c/d/e/f": 1,
    "POST /bank/token/revoke/again": 1,
    "GET /bank/cancel/x/y/z": 1,
    "GET /bank/v2/a/b/c": 2,
    "POST /bank/v2/a/b/c/d/e/f": 2,
    "POST /bank/v2/payments/status/now": 2,
    "GET /bank/v2/cancel/x/y": 2,
    "GET /tpp/a/b/c": 2,
    "POST /tpp/a/b/c/d/e/f": 2,
    "DELETE /tpp/requests/x/y": 2,
    "GET /tpp/accounts/x/y/z": 2,
    "POST /tpp/accounts": 2,
    "GET /tpp/token/revoke": 2,
    "PATCH /tpp/nothing": 2,
}


@pytest.mark.parametrize(("call", "version"), ELSEWHERE.items(), ids=ELSEWHERE)
@pytest.mark.parametrize("content_type", ["application/json", "text/plain"])
def test_an_unknown_action_returns_401_in_the_format_of_its_api(
    causeway: Causeway, call: str, version: int, content_type: str
) -> None:
    method, path = call.split()
    answer = causeway.call(method, path, b"{}", {"x-request-id": ID, "content-type": content_type})

    assert answer.status == 401
    assert answer.headers["x-request-id"] == ID.lower()
    assert answer.headers["content-type"] == "application/json"
    if version == 1:
        assert (set(answer.body), answer.body["error_code"]) == ({"error_code", "message"}, 4202)
    else:
        assert (answer.body["code"], answer.body["requestId"]) == ("API_ACTION_DOES_NOT_EXIST", ID.lower())


@pytest.mark.parametrize("given", [None, "", "1", f"{ID} "])
@pytest.mark.parametrize("call", ["GET /bank/consent", "POST /bank/v2", "GET /tpp/token", "POST /tpp/nothing"])
def test_an_invalid_request_id_is_replaced(causeway: Causeway, call: str, given: str | None) -> None:
    method, path = call.split()
    answer = causeway.call(method, path, b"", {} if given is None else {"x-request-id": given})

    assert len(answer.headers["x-request-id"]) == 36
    assert answer.headers["x-request-id"] != ID.lower()


GETS = [
    "/health",
    "/",
    "/authorize/callback",
    "/terms",
    "/bank/public_key",
    "/bank/cancel/x",
    "/bank/v2/cancel/x",
    "/oauth/authorize",
    "/.well-known/jwks.json",
    "/.well-known/oauth-authorization-server",
    "/tpp/banks",
    "/tpp/scope?bic=ALPHGB21",
]


@pytest.mark.parametrize("content_type", ["", "text/plain", "application/x-www-form-urlencoded", "nonsense"])
@pytest.mark.parametrize("path", GETS)
def test_a_get_request_with_any_content_type_is_accepted(causeway: Causeway, path: str, content_type: str) -> None:
    usual = causeway.tpp.call("GET", path, headers={"x-request-id": ID})
    answer = causeway.tpp.call("GET", path, headers={"x-request-id": ID, "content-type": content_type})

    assert answer.status == usual.status
    assert answer.headers["content-type"] == usual.headers["content-type"]
    assert answer.headers["x-request-id"] == usual.headers["x-request-id"] == ID.lower()


@pytest.mark.parametrize("content_type", ["text/plain", "application/x-www-form-urlencoded", ""])
def test_a_request_to_a_cancel_url_with_any_content_type_is_accepted(causeway: Causeway, content_type: str) -> None:
    from urllib.parse import urlsplit

    url = causeway.tpp.authorize(1)["redirect_url"]
    path = urlsplit(causeway.banks[1].call("/init_authorization", {"request_url": url}).body["cancel_url"]).path

    answer = causeway.call("GET", path, headers={"content-type": content_type, "x-request-id": ID})

    assert (answer.status, answer.headers["x-request-id"]) == (303, ID.lower())


@pytest.mark.parametrize("path", ["/tpp/banks", "/tpp/nothing", "/tpp/token"])
def test_every_tpp_response_has_the_hub_time_in_server_timing(causeway: Causeway, path: str) -> None:
    assert "hub;dur=" in causeway.tpp.call("GET", path).headers["server-timing"]


@pytest.mark.parametrize(
    ("route", "members"),
    [
        ("/bank/consent", {"error_code", "message"}),
        ("/bank/v2/consent", {"code", "title", "timestamp", "requestId"}),
        ("/tpp/token", {"code", "title", "timestamp", "requestId", "error", "error_description"}),
    ],
)
def test_an_exception_outside_a_view_returns_500_in_the_format_of_the_api(
    causeway: Causeway, route: str, members: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from chalicelib.foundation.http.web import Incoming

    def broken(*_: Any) -> Any:
        raise LookupError("hunter2")

    monkeypatch.setattr(Incoming, "of", broken)
    answer = causeway.call("POST", route, b"{}", {"x-request-id": ID})

    assert (answer.status, set(answer.body)) == (500, members)
    assert answer.headers["x-request-id"] == ID.lower()
    assert "hunter2" not in answer.text
