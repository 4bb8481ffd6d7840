"""Tests of pushed authorization requests (RFC 9126): a ``request_uri`` starts one authorization of its client."""

from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest

from chalicelib.openbanking.protocol import refusals
from chalicelib.openbanking.records.authorization_requests import LIFETIME
from tests.causeway import Answer, Causeway
from tests.openbanking.key_holder import CHALLENGE, KeyHolder, open_pushed, secure
from tests.openbanking.kit import VERSIONS


def push(causeway: Causeway, version: int = 2, **members: Any) -> Answer:
    """Push a request of a public client, or of a client with a secret. ``None`` removes a member."""
    form = {
        "response_type": "code",
        "bic": causeway.banks[version].bic,
        "scope": " ".join(causeway.banks[version].scopes),
        "code_challenge": CHALLENGE,
        "code_challenge_method": "S256",
        **members,
    }
    return causeway.tpp.call(
        "POST", "/oauth/par", form={name: value for name, value in form.items() if value is not None}
    )


def pushed(causeway: Causeway, version: int = 2, **members: Any) -> str:
    answer = push(causeway, version, **members)
    assert answer.status == 201, answer
    return str(answer.body["request_uri"])


def is_error_page(answer: Answer, row: refusals.RefusalRow = refusals.REQUEST_URI_INVALID) -> bool:
    message = row().message
    return answer.status == 400 and (message[0].upper() + message[1:]).replace("'", "&#39;") in answer.text


@VERSIONS
def test_a_pushed_request_redirects_to_the_bank(causeway: Causeway, version: int) -> None:
    answer = push(causeway, version, state="abc", consent_type="reusable")

    assert answer.status == 201
    assert answer.headers["cache-control"] == "no-store"
    assert answer.body["expires_in"] == 60
    assert answer.body["request_uri"].startswith("urn:ietf:params:oauth:request_uri:")
    opened = open_pushed(causeway, answer.body["request_uri"])
    assert opened.status == 303
    assert opened.headers["location"].startswith(causeway.banks[version].record.authorization_url)
    query = parse_qs(urlsplit(opened.headers["location"]).query)
    assert query["state"] == ["abc"]
    assert query["scope"] == [" ".join(causeway.banks[version].scopes)]
    assert query["redirect_uri"] == [causeway.tpp.client.callback_url]


@VERSIONS
def test_other_parameters_with_a_request_uri_are_ignored(causeway: Causeway, version: int) -> None:
    request_uri = pushed(causeway, version, state="abc")
    query = {
        "client_id": causeway.tpp.client_id,
        "request_uri": request_uri,
        "scope": "payments.single",
        "state": "other",
        "bic": "OTHERXX1",
        "redirect_uri": "https://evil.example.com",
    }

    opened = causeway.call("GET", f"/oauth/authorize?{urlencode(query)}")

    assert opened.status == 303
    assert parse_qs(urlsplit(opened.headers["location"]).query)["state"] == ["abc"]


def test_reloading_a_request_uri_repeats_the_redirect_while_the_request_is_open(causeway: Causeway) -> None:
    request_uri = pushed(causeway)
    first = open_pushed(causeway, request_uri)

    for seconds in (0, 59, 1200):
        causeway.clock.advance(seconds)
        again = open_pushed(causeway, request_uri)
        assert (again.status, again.headers["location"]) == (303, first.headers["location"])
    assert len([*causeway.hub.store.scan("authorizations")]) == 2


def test_a_redirect_contains_a_state_only_if_the_pushed_request_had_a_state(causeway: Causeway) -> None:
    for state in (None, "abc"):
        location = open_pushed(causeway, pushed(causeway, state=state)).headers["location"]
        saved = causeway.banks[2].call("/consent", causeway.banks[2].consent_body(location))
        query = parse_qs(urlsplit(saved.body["callbackUrl"]).query)
        assert query.get("state") == ([state] if state else None)
        assert query["iss"] == ["http://127.0.0.1:8000"]


def test_a_request_uri_expires_after_60_seconds(causeway: Causeway) -> None:
    early, late = pushed(causeway), pushed(causeway)

    causeway.clock.advance(59)
    assert open_pushed(causeway, early).status == 303
    causeway.clock.advance(1)
    assert is_error_page(open_pushed(causeway, late))


def test_a_request_uri_after_consent_returns_an_error_page(causeway: Causeway) -> None:
    request_uri = pushed(causeway)
    location = open_pushed(causeway, request_uri).headers["location"]
    assert causeway.banks[2].call("/consent", causeway.banks[2].consent_body(location)).status == 200

    assert is_error_page(open_pushed(causeway, request_uri), refusals.AUTHORIZATION_ENDED)
    causeway.clock.advance(60)
    assert is_error_page(open_pushed(causeway, request_uri))


def test_a_request_uri_of_an_expired_request_returns_an_error_page(causeway: Causeway) -> None:
    request_uri = pushed(causeway)
    open_pushed(causeway, request_uri)

    causeway.clock.advance(LIFETIME)
    assert is_error_page(open_pushed(causeway, request_uri))


def test_a_request_uri_of_another_client_returns_an_error_page(causeway: Causeway) -> None:
    request_uri = pushed(causeway)
    other = causeway.hub.openbanking.clients.create(owner="b@example.com", title="Other").client

    assert is_error_page(open_pushed(causeway, request_uri, other.client_id))


@pytest.mark.parametrize("end", ["", "x", "x.y", "a" * 22 + "." + "b" * 43])
def test_a_forged_request_uri_returns_an_error_page(causeway: Causeway, end: str) -> None:
    assert is_error_page(open_pushed(causeway, f"urn:ietf:params:oauth:request_uri:{end}"))


def test_a_request_uri_with_a_wrong_secret_part_returns_an_error_page(causeway: Causeway) -> None:
    assert is_error_page(open_pushed(causeway, pushed(causeway)[:-1] + "~"))
    assert is_error_page(open_pushed(causeway, pushed(causeway)[:-10] + "A" * 10))


def test_a_request_uri_with_a_removed_callback_url_returns_an_error_page(causeway: Causeway) -> None:
    request_uri = pushed(causeway)
    causeway.hub.openbanking.clients.update(causeway.tpp.client_id, callback_urls=["https://new.example.com/callback"])

    assert is_error_page(open_pushed(causeway, request_uri))


def test_a_request_uri_of_an_inactive_client_returns_400(causeway: Causeway) -> None:
    request_uri = pushed(causeway)
    causeway.hub.openbanking.clients.deactivate(causeway.tpp.client_id)

    assert open_pushed(causeway, request_uri).status == 400


def test_a_head_request_for_a_request_uri_opens_no_authorization(causeway: Causeway) -> None:
    query = urlencode({"client_id": causeway.tpp.client_id, "request_uri": pushed(causeway)})

    answer = causeway.call("HEAD", f"/oauth/authorize?{query}")

    assert (answer.status, "location" in answer.headers) == (303, False)
    assert len([*causeway.hub.store.scan("authorizations")]) == 1


@pytest.mark.parametrize(
    ("members", "error"),
    [
        ({"response_type": None}, "invalid_request"),
        ({"response_type": "token"}, "unsupported_response_type"),
        ({"scope": None}, "invalid_scope"),
        ({"scope": "unknown"}, "invalid_scope"),
        ({"bic": None, "scope": "accounts account.list"}, "invalid_scope"),
        ({"bic": "bank"}, "invalid_request"),
        ({"bic": "OTHERXX1"}, "invalid_request"),
        ({"redirect_uri": "https://evil.example.com"}, "invalid_request"),
        ({"code_challenge_method": "plain"}, "invalid_request"),
        ({"code_challenge": "short"}, "invalid_request"),
        ({"consent_type": "one_time"}, "invalid_scope"),
        ({"dpop_jkt": "short"}, "invalid_request"),
        ({"response_mode": "fragment"}, "invalid_request"),
        ({"request": "e30.e30."}, "request_not_supported"),
        ({"request_uri": "urn:ietf:params:oauth:request_uri:x"}, "request_uri_not_supported"),
    ],
    ids=str,
)
def test_an_invalid_pushed_request_returns_400_and_stores_nothing(
    causeway: Causeway, members: dict[str, Any], error: str
) -> None:
    answer = push(causeway, **members)

    assert (answer.status, answer.body["error"]) == (400, error)
    assert [*causeway.hub.store.scan("authorizations")] == []


def test_a_pushed_request_must_have_a_form_encoded_body(causeway: Causeway) -> None:
    members = {"response_type": "code", "bic": causeway.banks[2].bic, "scope": "accounts", "unknown": "is ignored"}

    assert causeway.tpp.call("POST", "/oauth/par", form=members).status == 201
    bodies: list[Any] = [members, [], "text", 5]
    for body in bodies:
        answer = causeway.tpp.call("POST", "/oauth/par", body)
        assert (answer.status, answer.body["code"], answer.body["error"]) == (400, "HEADERS_ERROR", "invalid_request")
        assert answer.body["title"] == "Content-Type must be application/x-www-form-urlencoded"
    without_type = causeway.call(
        "POST", "/oauth/par", urlencode(members).encode(), {"x-api-key": causeway.tpp.client_id}
    )
    assert without_type.status == 400


def test_a_pushed_request_requires_client_authentication(causeway: Causeway) -> None:
    secret = causeway.hub.openbanking.clients.rotate_secret(causeway.tpp.client_id, 0).secret

    assert (push(causeway).status, push(causeway).body["error"]) == (401, "invalid_client")
    causeway.tpp.client_secret = secret
    assert push(causeway).status == 201


def test_a_client_that_must_push_authorization_requests_cannot_send_a_direct_request(causeway: Causeway) -> None:
    causeway.hub.openbanking.clients.update(
        causeway.tpp.client_id, security={"require_pushed_authorization_requests": True}
    )
    wanted = refusals.REQUEST_NOT_PUSHED().message
    query = {
        "response_type": "code",
        "client_id": causeway.tpp.client_id,
        "scope": "accounts",
        "bic": causeway.banks[2].bic,
    }

    direct = causeway.tpp.call("POST", "/tpp/authorize", {"bic": query["bic"], "scopes": ["accounts"]})
    by_browser = causeway.call("GET", f"/oauth/authorize?{urlencode(query)}")

    assert (direct.status, direct.body["title"]) == (400, wanted)
    assert parse_qs(urlsplit(by_browser.headers["location"]).query)["error_description"] == [wanted]
    assert open_pushed(causeway, pushed(causeway)).status == 303


# -- the key of the code (RFC 9449 §10)


def test_a_dpop_proof_in_a_pushed_request_binds_the_code_to_the_key_of_the_proof(causeway: Causeway) -> None:
    holder, thief = KeyHolder(), KeyHolder()
    secure(causeway, holder)
    code = holder.code(causeway, proof=holder.proof(causeway, path="/oauth/par"))

    stolen = holder.redeem(causeway, code, proof=thief.proof(causeway))
    assert (stolen.status, stolen.body["error"]) == (400, "invalid_grant")
    assert holder.redeem(causeway, code, proof=None).status == 400
    assert holder.redeem(causeway, code).status == 200


def test_the_parameter_dpop_jkt_binds_the_code_to_the_key_with_this_thumbprint(causeway: Causeway) -> None:
    holder = KeyHolder()
    secure(causeway, holder)
    code = holder.code(causeway, dpop_jkt=holder.thumbprint)

    assert holder.redeem(causeway, code, proof=KeyHolder().proof(causeway)).status == 400
    assert holder.redeem(causeway, code).status == 200


def test_a_dpop_proof_whose_key_does_not_match_dpop_jkt_returns_400(causeway: Causeway) -> None:
    holder = KeyHolder()
    secure(causeway, holder)

    answer = holder.push(causeway, dpop_jkt=KeyHolder().thumbprint, proof=holder.proof(causeway, path="/oauth/par"))

    assert (answer.status, answer.body["error"]) == (400, "invalid_request")
    assert answer.body["title"] == refusals.DPOP_JKT_OTHER().message


def test_reloading_a_request_with_another_dpop_jkt_redirects_with_an_error(causeway: Causeway) -> None:
    query = {
        "response_type": "code",
        "client_id": causeway.tpp.client_id,
        "scope": "accounts",
        "bic": causeway.banks[2].bic,
        "state": "abc",
        "dpop_jkt": KeyHolder().thumbprint,
    }
    path = "/oauth/authorize?"

    first = causeway.call("GET", path + urlencode(query)).headers["location"]
    assert causeway.call("GET", path + urlencode(query)).headers["location"] == first
    other = causeway.call("GET", path + urlencode(query | {"dpop_jkt": KeyHolder().thumbprint})).headers["location"]
    assert parse_qs(urlsplit(other).query)["error_description"] == [refusals.STATE_USED().message]
