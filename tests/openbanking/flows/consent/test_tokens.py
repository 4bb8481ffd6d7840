"""Tests of tokens: single use, rotation, retries, and revocation after misuse."""

import base64
import hashlib
from urllib.parse import urlencode

import pytest

from chalicelib.openbanking.protocol import refusals
from tests.causeway import Causeway
from tests.kit.logs import Lines
from tests.openbanking.kit import VERSIONS, basic


@VERSIONS
def test_a_code_is_exchanged_for_an_access_token_and_a_refresh_token(causeway: Causeway, version: int) -> None:
    body = causeway.tpp.tokens(version)

    assert body["token_type"] == "Bearer"
    assert body["expires_in"] == 3600
    assert body["scope"] == " ".join(causeway.banks[version].scopes)
    assert set(body) == {
        "access_token",
        "token_type",
        "expires_in",
        "refresh_token",
        "scope",
        "unified_scopes",
        "consent_id",
        "valid_until",
    }
    assert body["valid_until"] == "2026-08-29T09:00:00+00:00"  # 180 days


@VERSIONS
def test_the_token_endpoint_accepts_a_form_with_unknown_parameters(causeway: Causeway, version: int) -> None:
    code = causeway.psu.approve(version).query["code"]
    form = {
        "grant_type": "authorization_code",
        "code": code,
        "redirect_uri": causeway.tpp.client.callback_url,
        "client_id": causeway.tpp.client_id,
        "something_else": "is ignored",
    }

    answer = causeway.tpp.call("POST", "/tpp/token", form=form, client_id="")

    assert answer.status == 200
    assert answer.headers["cache-control"] == "no-store"


def test_an_unknown_member_of_a_json_token_request_returns_400(causeway: Causeway) -> None:
    answer = causeway.tpp.call("POST", "/tpp/token", {"refresh_token": "x", "something_else": "y"})

    assert answer.status == 400
    assert answer.body["error"] == "invalid_request"
    assert answer.body["additionalErrors"][0]["code"] == "EXTRA_FIELDS_PROVIDED"


@VERSIONS
def test_a_second_use_of_a_code_revokes_the_tokens_of_the_code_and_notifies_the_bank(
    causeway: Causeway, version: int
) -> None:
    code = causeway.psu.approve(version).query["code"]
    first = causeway.tpp.call("POST", "/tpp/token", {"code": code}).body
    causeway.queued()

    second = causeway.tpp.call("POST", "/tpp/token", {"code": code})

    assert second.status == 400
    assert second.body["error"] == "invalid_grant"
    assert causeway.tpp.call("GET", "/tpp/consent", bearer=first["access_token"]).status == 401
    assert causeway.tpp.call("POST", "/tpp/token", {"refresh_token": first["refresh_token"]}).status == 400
    assert len(causeway.queued()) == 1


def test_a_second_use_of_an_expired_code_still_ends_the_consent(causeway: Causeway) -> None:
    code = causeway.psu.approve(1).query["code"]
    first = causeway.tpp.call("POST", "/tpp/token", {"code": code}).body
    causeway.clock.advance(seconds=3000)

    causeway.tpp.call("POST", "/tpp/token", {"code": code})

    assert causeway.tpp.call("GET", "/tpp/consent", bearer=first["access_token"]).status == 401


def test_a_code_expires_after_10_minutes(causeway: Causeway) -> None:
    code = causeway.psu.approve(1).query["code"]
    causeway.clock.advance(seconds=600)

    answer = causeway.tpp.call("POST", "/tpp/token", {"code": code})

    assert (answer.status, answer.body["error"]) == (400, "invalid_grant")


@pytest.mark.parametrize(
    "wrong",
    [
        {"redirect_uri": "https://evil.example/callback"},
        {"code_verifier": "a" * 43},
        {"code_verifier": None},
        {"code_verifier": "too short"},
    ],
)
def test_a_wrong_redirect_uri_or_verifier_returns_400_and_does_not_invalidate_the_code(
    causeway: Causeway, wrong: dict[str, str | None]
) -> None:
    verifier = "v" * 64
    challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()
    consented = causeway.psu.approve(2, code_challenge=challenge, code_challenge_method="S256")
    good = {"code": consented.query["code"], "code_verifier": verifier}
    bad = {name: value for name, value in (good | wrong).items() if value is not None}

    refused = causeway.tpp.call("POST", "/tpp/token", bad)
    accepted = causeway.tpp.call("POST", "/tpp/token", good)

    assert (refused.status, refused.body["error"]) == (400, "invalid_grant")
    assert accepted.status == 200


def test_a_verifier_without_a_challenge_returns_400_and_does_not_invalidate_the_code(causeway: Causeway) -> None:
    code = causeway.psu.approve(1).query["code"]

    assert causeway.tpp.call("POST", "/tpp/token", {"code": code, "code_verifier": "v" * 43}).status == 400
    assert causeway.tpp.call("POST", "/tpp/token", {"code": code}).status == 200


def test_a_code_of_another_client_returns_400_and_remains_valid(causeway: Causeway) -> None:
    code = causeway.psu.approve(1).query["code"]
    other = causeway.hub.openbanking.clients.create(owner="other@example.com", title="Other").client

    stolen = causeway.tpp.call("POST", "/tpp/token", {"code": code}, client_id=other.client_id)

    assert (stolen.status, stolen.body["error"]) == (400, "invalid_grant")
    assert causeway.tpp.call("POST", "/tpp/token", {"code": code}).status == 200


def test_a_refresh_token_of_another_client_returns_400_and_remains_valid(causeway: Causeway) -> None:
    refresh = {"refresh_token": causeway.tpp.tokens(1)["refresh_token"]}
    other = causeway.hub.openbanking.clients.create(owner="other@example.com", title="Other").client

    stolen = causeway.tpp.call("POST", "/tpp/token", refresh, client_id=other.client_id)

    assert (stolen.status, stolen.body["error"]) == (400, "invalid_grant")
    assert causeway.tpp.call("POST", "/tpp/token", refresh).status == 200


@VERSIONS
def test_a_refresh_returns_a_new_refresh_token(causeway: Causeway, version: int) -> None:
    first = causeway.tpp.tokens(version)

    second = causeway.tpp.call(
        "POST", "/tpp/token", {"grant_type": "refresh_token", "refresh_token": first["refresh_token"]}
    )

    assert second.status == 200
    assert second.body["access_token"] != first["access_token"]
    assert second.body["refresh_token"] != first["refresh_token"]
    assert causeway.tpp.call("GET", "/tpp/consent", bearer=second.body["access_token"]).status == 200


def test_a_repeated_refresh_within_a_minute_returns_the_same_tokens(causeway: Causeway) -> None:
    first = causeway.tpp.tokens(1)
    lost = causeway.tpp.call("POST", "/tpp/token", {"refresh_token": first["refresh_token"]}).body
    causeway.clock.advance(seconds=59)

    again = causeway.tpp.call("POST", "/tpp/token", {"refresh_token": first["refresh_token"]}).body

    assert again["access_token"] == lost["access_token"]
    assert again["refresh_token"] == lost["refresh_token"]
    assert again["expires_in"] == 3541


def test_using_a_refresh_token_after_its_successor_was_used_ends_the_consent(causeway: Causeway) -> None:
    first = causeway.tpp.tokens(1)
    second = causeway.tpp.call("POST", "/tpp/token", {"refresh_token": first["refresh_token"]}).body
    third = causeway.tpp.call("POST", "/tpp/token", {"refresh_token": second["refresh_token"]}).body

    reused = causeway.tpp.call("POST", "/tpp/token", {"refresh_token": first["refresh_token"]})

    assert (reused.status, reused.body["error"]) == (400, "invalid_grant")
    assert causeway.tpp.call("GET", "/tpp/consent", bearer=third["access_token"]).status == 401


def test_a_refresh_token_used_again_after_a_minute_ends_the_consent(causeway: Causeway) -> None:
    first = causeway.tpp.tokens(1)
    second = causeway.tpp.call("POST", "/tpp/token", {"refresh_token": first["refresh_token"]}).body
    causeway.clock.advance(seconds=61)

    reused = causeway.tpp.call("POST", "/tpp/token", {"refresh_token": first["refresh_token"]})

    assert reused.status == 400
    assert causeway.tpp.call("GET", "/tpp/consent", bearer=second["access_token"]).status == 401


def test_a_forged_refresh_token_of_an_existing_consent_does_not_end_the_consent(causeway: Causeway) -> None:
    tokens = causeway.tpp.tokens(1)
    ids, _, secret = tokens["refresh_token"].partition(".")

    assert causeway.tpp.call("POST", "/tpp/token", {"refresh_token": f"{ids}.{'A' * 43}"}).status == 400
    assert (
        causeway.tpp.call("POST", "/tpp/token", {"refresh_token": f"{tokens['consent_id']}~{'0' * 22}.{secret}"}).status
        == 400
    )
    assert causeway.tpp.call("GET", "/tpp/consent", bearer=tokens["access_token"]).status == 200


def test_tokens_expire_with_their_consent(causeway: Causeway) -> None:
    tokens = causeway.tpp.tokens(1)
    causeway.clock.advance(seconds=180 * 24 * 3600 - 1800)
    refreshed = causeway.tpp.call("POST", "/tpp/token", {"refresh_token": tokens["refresh_token"]}).body
    assert refreshed["expires_in"] == 1800
    causeway.clock.advance(seconds=1800)

    assert causeway.tpp.call("GET", "/tpp/consent", bearer=refreshed["access_token"]).status == 401
    assert causeway.tpp.call("POST", "/tpp/token", {"refresh_token": refreshed["refresh_token"]}).status == 400


def test_an_access_token_expires_after_an_hour(causeway: Causeway) -> None:
    tokens = causeway.tpp.tokens(1)
    causeway.clock.advance(seconds=3599)
    assert causeway.tpp.call("GET", "/tpp/consent", bearer=tokens["access_token"]).status == 200
    causeway.clock.advance(seconds=1)

    answer = causeway.tpp.call("GET", "/tpp/consent", bearer=tokens["access_token"])

    assert answer.status == 401
    assert answer.headers["www-authenticate"].startswith("Bearer")


# -- answers that get lost


@VERSIONS
def test_a_code_exchange_with_a_lost_storage_response_returns_the_tokens(causeway: Causeway, version: int) -> None:
    code = causeway.psu.approve(version).query["code"]

    with causeway.answer_lost("transact", applied=True):
        answer = causeway.tpp.call("POST", "/tpp/token", {"code": code})

    assert answer.status == 200
    assert causeway.tpp.call("GET", "/tpp/consent", bearer=answer.body["access_token"]).status == 200
    assert causeway.tpp.call("POST", "/tpp/token", {"refresh_token": answer.body["refresh_token"]}).status == 200


@VERSIONS
def test_a_code_exchange_that_was_not_stored_returns_500_and_can_be_repeated(causeway: Causeway, version: int) -> None:
    code = causeway.psu.approve(version).query["code"]

    with causeway.answer_lost("transact", applied=False):
        failed = causeway.tpp.call("POST", "/tpp/token", {"code": code})

    assert failed.status == 500
    assert failed.body["error"] == "server_error"
    assert failed.headers["retry-after"] == "1"
    assert causeway.tpp.call("POST", "/tpp/token", {"code": code}).status == 200


@VERSIONS
def test_a_refresh_with_a_lost_storage_response_returns_the_new_tokens(causeway: Causeway, version: int) -> None:
    first = causeway.tpp.tokens(version)

    with causeway.answer_lost("transact", applied=True):
        answer = causeway.tpp.call("POST", "/tpp/token", {"refresh_token": first["refresh_token"]})

    assert answer.status == 200
    assert causeway.tpp.call("GET", "/tpp/consent", bearer=answer.body["access_token"]).status == 200
    assert causeway.tpp.call("POST", "/tpp/token", {"refresh_token": first["refresh_token"]}).body == answer.body
    assert causeway.tpp.call("POST", "/tpp/token", {"refresh_token": answer.body["refresh_token"]}).status == 200


@VERSIONS
def test_a_refresh_that_was_not_stored_returns_500_and_can_be_repeated(causeway: Causeway, version: int) -> None:
    first = causeway.tpp.tokens(version)

    with causeway.answer_lost("transact", applied=False):
        failed = causeway.tpp.call("POST", "/tpp/token", {"refresh_token": first["refresh_token"]})

    assert (failed.status, failed.body["error"]) == (500, "server_error")
    assert causeway.tpp.call("GET", "/tpp/consent", bearer=first["access_token"]).status == 200
    assert causeway.tpp.call("POST", "/tpp/token", {"refresh_token": first["refresh_token"]}).status == 200


def test_two_concurrent_exchanges_of_a_code_revoke_the_tokens_of_the_code(causeway: Causeway) -> None:
    code, done = causeway.psu.approve(1).query["code"], []

    with causeway.meanwhile("transact", lambda: done.append(causeway.tpp.call("POST", "/tpp/token", {"code": code}))):
        late = causeway.tpp.call("POST", "/tpp/token", {"code": code})

    assert [done[0].status, late.status] == [200, 400]
    assert causeway.tpp.call("GET", "/tpp/consent", bearer=done[0].body["access_token"]).status == 401


def test_two_concurrent_refreshes_return_the_same_tokens(causeway: Causeway) -> None:
    first, done = causeway.tpp.tokens(1), []
    refresh = {"refresh_token": first["refresh_token"]}

    with causeway.meanwhile("transact", lambda: done.append(causeway.tpp.call("POST", "/tpp/token", refresh))):
        late = causeway.tpp.call("POST", "/tpp/token", refresh)

    assert late.status == 200
    assert late.body == done[0].body


def test_a_code_exchange_during_a_revocation_returns_the_error_expired_and_logs_no_misuse(
    causeway: Causeway, lines: Lines
) -> None:
    consented = causeway.psu.approve(1)

    with causeway.meanwhile(
        "transact", lambda: causeway.banks[1].call("/token/revoke", {"access_token": consented.bank_token})
    ):
        late = causeway.tpp.call("POST", "/tpp/token", {"code": consented.query["code"]})

    assert (late.status, late.body["error_description"]) == (400, "the authorization code has expired")
    assert "misused_token" not in lines.text


def test_a_refresh_during_a_revocation_returns_400(causeway: Causeway) -> None:
    first = causeway.tpp.tokens(1)

    def revoke() -> None:
        causeway.tpp.call("POST", "/tpp/token/revoke", {"token": first["access_token"]})

    with causeway.meanwhile("transact", revoke):
        late = causeway.tpp.call("POST", "/tpp/token", {"refresh_token": first["refresh_token"]})

    assert (late.status, late.body["error"]) == (400, "invalid_grant")


# -- client authentication


UNREADABLE = {
    *("empty", "no JSON", "too large", "deep", "another content type"),
    *("a form with a member twice", "a form that is no text"),
}
BAD_BODIES: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "application/json"),
    "no JSON": (b"{", "application/json"),
    "no object": (b"[]", "application/json"),
    "nothing in it": (b"{}", "application/json"),
    "an unknown member": (b'{"code":"a","colour":"red"}', "application/json"),
    "another type": (b'{"code":5,"token":5}', "application/json"),
    "another grant": (b'{"grant_type":"password"}', "application/json"),
    "too large": (b'{"code":"' + b"a" * 70_000 + b'"}', "application/json"),
    "deep": (b"[" * 5000, "application/json"),
    "another content type": (b"<a/>", "text/xml"),
    "a form with a member twice": (b"code=a&code=b&token=a&token=b", "application/x-www-form-urlencoded"),
    "a form that is no text": (b"code=%ff", "application/x-www-form-urlencoded"),
    "an empty form": (b"", "application/x-www-form-urlencoded"),
}


@pytest.mark.parametrize("path", ["/tpp/token", "/tpp/token/revoke"])
@pytest.mark.parametrize("kind", BAD_BODIES)
@pytest.mark.parametrize("who", ["nobody", "unknown", "inactive", "without its secret", "with a wrong secret"])
def test_errors_in_a_body_are_returned_to_authenticated_clients_only(
    causeway: Causeway, path: str, kind: str, who: str
) -> None:
    body, content_type = BAD_BODIES[kind]
    headers = {"content-type": content_type}
    if who == "unknown":
        headers["x-api-key"] = "unknown"
    elif who == "inactive":
        headers["x-api-key"] = causeway.tpp.client_id
        causeway.hub.openbanking.clients.deactivate(causeway.tpp.client_id)
    elif who != "nobody":
        careful = causeway.hub.openbanking.clients.create(owner="a@example.com", title="Careful", secret=True).client
        headers["x-api-key"] = careful.client_id
        if who == "with a wrong secret":
            headers["authorization"] = "Basic " + base64.b64encode(f"{careful.client_id}:x".encode()).decode()

    answer = causeway.call("POST", path, body, headers)

    if kind in UNREADABLE and who in ("nobody", "without its secret"):  # which the body may well have said
        assert (answer.status, answer.body["error"]) == (400, "invalid_request")
        assert "www-authenticate" not in answer.headers
    else:
        assert (answer.status, answer.body["error"]) == (401, "invalid_client")
        assert answer.headers["www-authenticate"] == 'Basic realm="causeway"'
        assert "additionalErrors" not in answer.body


@pytest.mark.parametrize("path", ["/tpp/token", "/tpp/token/revoke"])
@pytest.mark.parametrize("fault", ["a member twice", "70 kB", "no text"])
def test_an_unreadable_token_request_with_client_credentials_returns_400(
    causeway: Causeway, path: str, fault: str
) -> None:
    made = causeway.hub.openbanking.clients.create(owner="a@example.com", title="Careful", secret=True)
    named = urlencode({"client_id": made.client.client_id, "client_secret": made.secret or ""})
    rest = {"a member twice": "code=a&code=b&token=a&token=b", "70 kB": "code=" + "a" * 70_000, "no text": "code=%ff"}

    answer = causeway.call(
        "POST", path, f"{named}&{rest[fault]}".encode(), {"content-type": "application/x-www-form-urlencoded"}
    )

    assert answer.status == 400
    assert answer.body["error"] == "invalid_request"
    assert answer.body["code"] == "FORMAT_ERROR"
    assert "www-authenticate" not in answer.headers


def test_the_token_endpoint_permits_repetition_only_of_the_parameter_resource(causeway: Causeway) -> None:
    code = causeway.psu.approve(1).query["code"]
    form = [("grant_type", "authorization_code"), ("code", code), ("client_id", causeway.tpp.client_id)]
    resources = [("resource", "https://one.example"), ("resource", "https://two.example")]
    kind = {"content-type": "application/x-www-form-urlencoded"}

    twice = causeway.call("POST", "/tpp/token", urlencode([*form, ("scope", "a"), ("scope", "b")]).encode(), kind)
    answer = causeway.call("POST", "/tpp/token", urlencode([*form, *resources]).encode(), kind)

    assert (twice.status, twice.body["error"]) == (400, "invalid_request")
    assert answer.status == 200


@pytest.mark.parametrize("path", ["/tpp/token", "/tpp/token/revoke"])
@pytest.mark.parametrize(("body", "content_type"), BAD_BODIES.values(), ids=BAD_BODIES)
def test_an_invalid_body_of_a_known_client_returns_400(
    causeway: Causeway, path: str, body: bytes, content_type: str
) -> None:
    answer = causeway.call("POST", path, body, {"content-type": content_type, "x-api-key": causeway.tpp.client_id})

    assert answer.status == 400
    assert answer.body["error"] in ("invalid_request", "unsupported_grant_type")
    assert "www-authenticate" not in answer.headers


@pytest.mark.parametrize("name", ["a\x00b", "\r\n", "x" * 65, "Ω" * 64])
def test_a_malformed_client_id_returns_401_with_the_error_invalid_client(causeway: Causeway, name: str) -> None:
    answer = causeway.tpp.call("POST", "/tpp/token", {"code": "x", "client_id": name}, client_id="")

    assert (answer.status, answer.body["error"]) == (401, "invalid_client")


@pytest.mark.parametrize("path", ["/tpp/token", "/tpp/token/revoke"])
def test_an_invalid_request_id_is_reported_to_known_clients_only(causeway: Causeway, path: str) -> None:
    body, headers = {"code" if path == "/tpp/token" else "token": "x"}, {"x-request-id": "1"}

    known = causeway.tpp.call("POST", path, body, headers=headers)
    unknown = causeway.tpp.call("POST", path, body, headers=headers, client_id="unknown")

    assert (known.status, known.body["code"]) == (401, "REQUEST_ID_NOT_UUID")
    assert (unknown.status, unknown.body["code"]) == (401, "WRONG_CREDENTIALS")


def test_a_token_request_without_the_client_secret_returns_401(causeway: Causeway) -> None:
    made = causeway.hub.openbanking.clients.create(owner="a@example.com", title="Careful", secret=True)
    causeway.tpp.client, causeway.tpp.client_secret = made.client, made.secret
    code = causeway.psu.approve(1).query["code"]
    without = {"authorization": ""}

    missing = causeway.tpp.call("POST", "/tpp/token", {"code": code}, headers=without)
    wrong = causeway.tpp.call("POST", "/tpp/token", {"code": code, "client_secret": "wrong"}, headers=without)
    right = causeway.tpp.call(
        "POST",
        "/tpp/token",
        form={"grant_type": "authorization_code", "code": code},
        client_id="",
        headers={"authorization": basic(made.client.client_id, made.secret or "")},
    )

    for refused in (missing, wrong):
        assert (refused.status, refused.body["error"]) == (401, "invalid_client")
        assert refused.body["code"] == "WRONG_CREDENTIALS"
        assert refused.body["error_description"] == refusals.SECRET_WRONG.sentence
        assert refused.headers["www-authenticate"] == 'Basic realm="causeway"'
    assert right.status == 200


def test_a_request_with_two_different_client_ids_returns_401_with_the_error_invalid_client(causeway: Causeway) -> None:
    other = causeway.hub.openbanking.clients.create(owner="other@example.com", title="Other").client

    by_body = causeway.tpp.call("POST", "/tpp/token", {"code": "x", "client_id": other.client_id})
    by_basic = causeway.tpp.call(
        "POST", "/tpp/token", {"code": "x"}, headers={"authorization": basic(other.client_id, "")}
    )

    for answer in (by_body, by_basic):
        assert (answer.status, answer.body["error"]) == (401, "invalid_client")


def test_a_token_request_without_a_client_returns_401(causeway: Causeway) -> None:
    answer = causeway.tpp.call("POST", "/tpp/token", {"code": "x"}, client_id="")

    assert answer.status == 401
    assert answer.body["code"] == "AUTHENTICATION_REQUIRED"
    assert answer.body["error"] == "invalid_client"


@pytest.mark.parametrize(
    ("body", "error"),
    [
        ({}, "invalid_request"),
        ({"code": "a", "refresh_token": "b"}, "invalid_request"),
        ({"code": "a", "authorization_code": "b"}, "invalid_request"),
        ({"grant_type": "password"}, "unsupported_grant_type"),
        ({"grant_type": "refresh_token", "code": "a"}, "invalid_request"),
        ({"code": "a"}, "invalid_grant"),
        ({"refresh_token": "a"}, "invalid_grant"),
        ({"code": "\n"}, "invalid_request"),
        ({"code": 5}, "invalid_request"),
        ([], "invalid_request"),
    ],
)
def test_an_invalid_token_request_returns_400_with_the_matching_oauth_error(
    causeway: Causeway, body: object, error: str
) -> None:
    answer = causeway.tpp.call("POST", "/tpp/token", body)

    assert answer.status == 400
    assert answer.body["error"] == error
    assert answer.body["error_description"]
    assert answer.body["code"] == "FORMAT_ERROR"


# -- revocation


@pytest.mark.parametrize("which", ["access_token", "refresh_token"])
def test_a_revocation_of_an_access_or_refresh_token_ends_the_consent_immediately(
    causeway: Causeway, which: str
) -> None:
    tokens = causeway.tpp.tokens(1)
    causeway.queued()

    answer = causeway.tpp.call("POST", "/tpp/token/revoke", {"token": tokens[which]})

    assert answer.status == 200
    assert causeway.tpp.call("GET", "/tpp/consent", bearer=tokens["access_token"]).status == 401
    assert len(causeway.queued()) == 1


def test_revoking_an_unknown_token_or_a_token_of_another_client_changes_nothing(causeway: Causeway) -> None:
    tokens = causeway.tpp.tokens(1)
    other = causeway.hub.openbanking.clients.create(owner="other@example.com", title="Other").client

    foreign = causeway.tpp.call(
        "POST", "/tpp/token/revoke", {"token": tokens["access_token"]}, client_id=other.client_id
    )
    unknown = causeway.tpp.call("POST", "/tpp/token/revoke", form={"token": "unknown"})

    assert (foreign.status, unknown.status) == (200, 200)
    assert causeway.tpp.call("GET", "/tpp/consent", bearer=tokens["access_token"]).status == 200


@VERSIONS
def test_a_revocation_by_the_bank_ends_a_consent_and_a_retry_of_the_revocation_succeeds(
    causeway: Causeway, version: int
) -> None:
    consented = causeway.psu.approve(version)
    tokens = causeway.tpp.call("POST", "/tpp/token", {"code": consented.query["code"]}).body
    causeway.queued()
    name = "access_token" if version == 1 else "accessToken"

    first = causeway.banks[version].call("/token/revoke", {name: consented.bank_token})
    repeated = causeway.banks[version].call("/token/revoke", {name: consented.bank_token})

    assert first.body == repeated.body == {"status": "success"}
    assert causeway.tpp.call("GET", "/tpp/consent", bearer=tokens["access_token"]).status == 401
    assert causeway.queued() == []  # the bank knows already


def test_a_call_of_a_deactivated_client_immediately_returns_401(causeway: Causeway) -> None:
    tokens = causeway.tpp.tokens(1)
    causeway.hub.openbanking.clients.deactivate(causeway.tpp.client_id)

    answer = causeway.tpp.call("GET", "/tpp/consent", bearer=tokens["access_token"])

    assert (answer.status, answer.body["code"]) == (401, "WRONG_CREDENTIALS")


def test_a_consent_query_returns_the_consent_of_the_bearer_token(causeway: Causeway) -> None:
    tokens = causeway.tpp.tokens(2)

    body = causeway.tpp.call("GET", "/tpp/consent", bearer=tokens["access_token"]).body

    assert body == {
        "consent_id": tokens["consent_id"],
        "status": "authorised",
        "consent_type": "reusable",
        "scopes": ["accounts"],
        "unified_scopes": ["accounts:read"],
        "bic": "BETADEF1",
        "ibans": ["GB33BUKB20201555555555"],
        "account_ids": [],
        "account_numbers": [],
        "valid_until": "2026-08-29T09:00:00+00:00",
    }
