"""Methods without a route: HEAD returns the headers of GET and changes no data, OPTIONS lists the allowed methods."""

from urllib.parse import urlencode, urlsplit

import pytest

from app import app
from chalicelib.foundation.http.web import OTHERS
from tests.causeway import Answer, Causeway
from tests.kit.storage import address, nothing_changes, person_cookie
from tests.openbanking.payments import Pisp
from tests.website.web_user import WebUser


def is_interface(path: str) -> bool:
    """Return whether the path belongs to an API in which unsupported methods return 401."""
    return path.split("/")[1] in ("tpp", "bank")


ELSEWHERE = sorted(path for path in app.routes if not is_interface(path))
GETS = [path for path in ELSEWHERE if "GET" in app.routes[path]]
POSTS = [path for path in ELSEWHERE if "GET" not in app.routes[path]]


def test_every_path_has_a_catch_all_route_for_unsupported_methods() -> None:
    assert [path for path, methods in app.routes.items() if OTHERS not in methods] == []


@pytest.mark.parametrize("route", GETS)
@pytest.mark.parametrize("signed_in", [True, False])
def test_a_head_request_returns_the_headers_of_a_get_request_and_changes_no_data(
    causeway: Causeway, monkeypatch: pytest.MonkeyPatch, route: str, signed_in: bool
) -> None:
    headers = {"cookie": person_cookie(causeway)} if signed_in else {}
    usual = causeway.call("GET", address(route), headers=headers)
    with nothing_changes(causeway, monkeypatch):
        answer = causeway.call("HEAD", address(route), headers=headers)

    assert (answer.status, answer.text) == (usual.status, "")
    assert answer.headers.keys() == usual.headers.keys()
    for name in ("content-type", "location", "cache-control"):
        assert answer.headers.get(name) == usual.headers.get(name)


@pytest.mark.parametrize("route", ELSEWHERE)
def test_an_options_request_returns_the_allowed_methods(
    causeway: Causeway, monkeypatch: pytest.MonkeyPatch, route: str
) -> None:
    with nothing_changes(causeway, monkeypatch):
        answer = causeway.call("OPTIONS", address(route))

    named = {*app.routes[route]} - {OTHERS}
    assert (answer.status, answer.text) == (204, "")
    assert set(answer.headers["allow"].split(", ")) == named | {"OPTIONS"} | ({"HEAD"} if "GET" in named else set())
    assert "x-request-id" in answer.headers


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE", "TRACE", "FOO", OTHERS])
@pytest.mark.parametrize("route", ELSEWHERE)
def test_a_request_with_an_unsupported_method_returns_405_with_the_header_allow(
    causeway: Causeway, monkeypatch: pytest.MonkeyPatch, route: str, method: str
) -> None:
    with nothing_changes(causeway, monkeypatch):
        answer = causeway.call(method, address(route))

    assert answer.status == 405
    assert answer.headers["allow"] == causeway.call("OPTIONS", address(route)).headers["allow"]
    assert answer.headers["content-type"] in ("application/json", "text/html; charset=utf-8")
    assert answer.text


@pytest.mark.parametrize("route", POSTS)
def test_a_head_request_returns_405_for_a_path_that_does_not_support_get(causeway: Causeway, route: str) -> None:
    answer = causeway.call("HEAD", address(route))

    assert (answer.status, answer.text) == (405, "")
    assert "GET" not in answer.headers["allow"]


@pytest.mark.parametrize("method", ["HEAD", "OPTIONS", "PUT", "FOO"])
@pytest.mark.parametrize(
    "path", ["/tpp/accounts", "/tpp/banks", "/bank/consent", "/bank/public_key", "/bank/v2/consent"]
)
def test_an_api_request_with_an_unsupported_method_returns_401(causeway: Causeway, method: str, path: str) -> None:
    answer = causeway.call(method, path)

    assert answer.status == 401
    if method == "HEAD":
        assert answer.text == ""
    elif path.startswith(("/bank/v2", "/tpp")):
        assert answer.body["code"] == "API_ACTION_DOES_NOT_EXIST"
    else:
        assert answer.body["error_code"] == 4202


# -- addresses whose GET changes something


def head(
    causeway: Causeway, monkeypatch: pytest.MonkeyPatch, url: str, headers: dict[str, str] | None = None
) -> Answer:
    parts = urlsplit(url)
    with nothing_changes(causeway, monkeypatch):
        answer = causeway.call("HEAD", f"{parts.path}?{parts.query}", headers=headers)
    assert answer.text == ""
    return answer


def test_a_head_request_to_oauth_authorize_opens_no_authorization(
    causeway: Causeway, monkeypatch: pytest.MonkeyPatch
) -> None:
    query = {
        "response_type": "code",
        "client_id": causeway.tpp.client_id,
        "scope": "account.list",
        "bic": causeway.banks[1].bic,
        "state": "once",
    }
    answer = head(causeway, monkeypatch, f"/oauth/authorize?{urlencode(query)}")

    assert (answer.status, answer.headers.get("location")) == (303, None)
    assert causeway.call("GET", f"/oauth/authorize?{urlencode(query)}").status == 303
    assert head(causeway, monkeypatch, f"/oauth/authorize?{urlencode(query | {'client_id': 'nobody'})}").status == 400


def test_a_head_request_to_the_callback_does_not_use_the_authorization_code(
    causeway: Causeway, monkeypatch: pytest.MonkeyPatch
) -> None:
    user = WebUser.signed_in(causeway, "psu@example.com")
    client_id = user.create_client()
    user.open_request(client_id)
    back = user.approve(user.run_request(client_id))
    cookie = "; ".join(f"{name}={value}" for name, value in user.cookies.items())

    assert head(causeway, monkeypatch, back, {"cookie": cookie}).status == 303
    user.get(back)
    user.follow()
    assert "You have tokens" in user.text


def test_a_head_request_to_the_cancel_url_does_not_close_the_authorization(
    causeway: Causeway, monkeypatch: pytest.MonkeyPatch
) -> None:
    for version in (1, 2):
        url = causeway.tpp.authorize(version)["redirect_url"]
        asked = (
            causeway.banks[version]
            .call("/init_authorization", {"request_url" if version == 1 else "requestUrl": url})
            .body
        )
        assert head(causeway, monkeypatch, asked.get("cancel_url") or asked["cancelUrl"]).status == 401
        assert causeway.banks[version].call("/consent", causeway.banks[version].consent_body(url)).status == 200


def test_a_head_request_to_the_payment_callback_sends_no_bank_request(
    causeway: Causeway, monkeypatch: pytest.MonkeyPatch
) -> None:
    Pisp(causeway, 2).pay()

    assert head(causeway, monkeypatch, "/payments/callback?bic=BETADEF1&payment_id=P-1").status == 200


def test_a_head_request_to_a_demonstration_bank_starts_no_authorization_journey(
    causeway: Causeway, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = head(causeway, monkeypatch, "/demo-bank/one/authorize?state=x&client_id=y")

    assert answer.status == 303
    assert answer.headers.get("location") is None
    assert answer.headers.get("set-cookie") is None
