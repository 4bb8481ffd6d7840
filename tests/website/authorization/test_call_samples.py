"""The journey page displays each call as it was sent: body, curl command, Python program and response."""

import html
import json
import re
import shlex
from typing import Any

import pytest

from tests.causeway import Causeway
from tests.openbanking.key_holder import KeyHolder
from tests.website.web_user import WebUser


def section(user: WebUser, title: str) -> str:
    found = re.search(
        rf"<(?:h2|summary)>{title}</(?:h2|summary)>(.*?)(?:</section>|<summary>End the consent)",
        user.last.text,
        re.DOTALL,
    )
    assert found is not None, title
    return found[1]


def body(user: WebUser, title: str) -> dict[str, Any]:
    shown = section(user, title).partition('<div class="json">')[2].partition("As curl and Python")[0]
    text = re.sub(r'<span class="json-folded">\d+</span>|<[^>]+>', "", shown)
    members: dict[str, Any] = json.loads(html.unescape(text))
    return members


def programs(user: WebUser, title: str) -> list[str]:
    found = re.findall(r'<pre tabindex="0"[^>]*><code[^>]*>(.*?)</code>', section(user, title), re.DOTALL)
    return [html.unescape(program) for program in found]


def answer(user: WebUser, title: str) -> str:
    shown = section(user, title).partition("Answer: 200")[2]
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", shown)).split())


def sent(curl: str) -> tuple[str, dict[str, Any]]:
    words = shlex.split(curl.replace("\\\n", " "))
    return words[2].removeprefix("http://127.0.0.1:8000"), json.loads(words[words.index("-d") + 1])


def test_the_journey_page_shows_the_token_request_and_its_response(user: WebUser, client_id: str) -> None:
    user.get_tokens(client_id)
    request = body(user, "Token request")

    assert set(request) == {"authorization_code", "redirect_uri", "code_verifier"}
    assert request["authorization_code"] in user.text
    shown = answer(user, "Token request")
    for name in ("access-token", "refresh-token", "consent-id"):
        assert f'"{name.replace("-", "_")}" : "{user.code(name)}"' in shown
    assert '"expires_in" : 3600' in shown


def test_the_token_request_is_shown_before_the_code_exchange(
    causeway: Causeway, user: WebUser, secret_client: tuple[str, str]
) -> None:
    client_id, secret = secret_client
    user.open_callback(user.request_consent(client_id))
    curl, python = programs(user, "Token request")

    assert answer(user, "Token request") == ""
    assert f'-u "{client_id}:$CLIENT_SECRET"' in curl
    assert 'client_secret=os.environ["CLIENT_SECRET"]' in python
    assert secret not in user.last.text
    path, request = sent(curl)
    made = causeway.tpp.call("POST", path, {**request, "client_secret": secret}, client_id=client_id)
    assert (made.status, request) == (200, body(user, "Token request"))


def test_the_displayed_curl_commands_refresh_and_revoke_tokens(
    causeway: Causeway, user: WebUser, client_id: str
) -> None:
    state = user.get_tokens(client_id)
    path, request = sent(programs(user, "Refresh the tokens")[0])
    refreshed = causeway.tpp.call("POST", path, request, client_id=client_id)
    user.post("/authorize/callback", state=state, action="refresh")
    user.follow()

    assert user.code("access-token") == refreshed.body["access_token"], "within a minute the same pair is answered"
    assert body(user, "Latest refresh") == request
    assert f'"access_token" : "{refreshed.body["access_token"]}"' in answer(user, "Latest refresh")
    path, request = sent(programs(user, "End the consent")[0])
    assert (path, request) == ("/tpp/token/revoke", {"token": refreshed.body["refresh_token"]})
    assert causeway.tpp.call("POST", path, request, client_id=client_id).status == 200
    assert "The client ended it" in user.get(f"/authorize/callback?state={state}").text


def test_a_consent_ended_by_the_button_shows_the_revocation_response(user: WebUser, client_id: str) -> None:
    state = user.get_tokens(client_id)
    user.post("/authorize/callback", state=state, action="end")
    user.follow()

    assert "You ended it here" in user.text
    assert answer(user, "End the consent").startswith("{}")
    assert "<summary>Refresh the tokens</summary>" not in user.last.text


@pytest.mark.parametrize(
    "security", [{}, {"auth_method": "private_key_jwt", "jwks": KeyHolder().jwks}], ids=["public", "a key"]
)
def test_the_python_sample_compiles(
    causeway: Causeway, user: WebUser, client_id: str, security: dict[str, Any]
) -> None:
    user.get_tokens(client_id)
    state = user.hidden("state")
    if security:
        causeway.hub.openbanking.clients.update(client_id, security=security)
    user.get(f"/authorize/callback?state={state}")

    for title in ("Token request", "Refresh the tokens", "End the consent"):
        _, python = programs(user, title)
        compile(python, title, "exec")
        assert ("PrivateKeyJwt.load" in python) is bool(security)
    user.open_request(client_id)
    (python,) = re.findall(r'<code id="program-2">(.*?)</code>', user.last.text, re.DOTALL)
    compile(html.unescape(python), "authorize", "exec")
    assert "code_verifier=verifier" in html.unescape(python)


def test_a_journey_without_stored_responses_is_displayed_without_responses(
    causeway: Causeway, user: WebUser, client_id: str, email: str
) -> None:
    """Journeys of earlier versions store neither responses nor the reason why the journey ended."""
    state = user.get_tokens(client_id)
    journeys = causeway.hub.website.journeys
    journey = journeys.find(email, state)
    assert journey is not None
    kept = ("code", "code_verifier", "access_token", "refresh_token")
    secrets = {name: value for name, value in journeys.unseal_secrets(journey).items() if name in kept}
    old = {"sealed": journeys.seal_secrets(email, state, secrets), "refreshes": 1}
    (item,) = [each for each in causeway.hub.store.scan("website") if each.get("state") == state]
    key = {name: item[name] for name in ("owner", "part")}
    causeway.hub.store.update("website", key, set=old)

    user.get(f"/authorize/callback?state={state}")
    assert body(user, "Token request")["authorization_code"] == secrets["code"]
    assert answer(user, "Token request") == ""
    assert "Latest refresh" not in user.last.text
    causeway.hub.store.update("website", key, set={"ended_at": causeway.clock.time()})
    assert "The consent has ended" in user.get(f"/authorize/callback?state={state}").text
