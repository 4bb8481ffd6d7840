"""Tests of authorization requests: permitted parameters, and the use of ``state``."""

from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlencode, urlsplit

import pytest

from chalicelib.openbanking.protocol import refusals
from chalicelib.openbanking.records.authorization_requests import authorization_key, compute_authorization_id
from tests.causeway import Causeway
from tests.openbanking.kit import URL, VERSIONS

BIC = {1: "ALPHGB21", 2: "BETADEF1"}


@VERSIONS
def test_the_redirect_url_consists_of_the_address_of_the_bank_and_the_oauth_parameters(
    causeway: Causeway, version: int
) -> None:
    asked = causeway.tpp.authorize(version, state="xyz")

    parts = urlsplit(asked["redirect_url"])
    assert f"{parts.scheme}://{parts.netloc}{parts.path}" == causeway.banks[version].record.authorization_url
    assert dict(parse_qsl(parts.query)) == {
        "response_type": "code",
        "client_id": causeway.tpp.client_id,
        "redirect_uri": "http://127.0.0.1:8000/authorize/callback",
        "scope": " ".join(causeway.banks[version].scopes),
        "state": "xyz",
        "consent_type": "reusable",
    }
    assert asked["state"] == "xyz"
    assert asked["expires_in"] == 1800


def test_the_redirect_url_contains_the_code_challenge(causeway: Causeway) -> None:
    url = causeway.tpp.authorize(1, code_challenge="c" * 43, code_challenge_method="S256")["redirect_url"]

    assert "code_challenge=" + "c" * 43 + "&code_challenge_method=S256" in url


def test_a_state_is_generated_for_an_authorization_request_without_a_state(causeway: Causeway) -> None:
    first, second = causeway.tpp.authorize(1), causeway.tpp.authorize(1)

    assert len(first["state"]) == 43
    assert first["state"] != second["state"]
    assert first["state"] in first["redirect_url"]


def test_a_state_that_the_client_has_already_used_returns_400(causeway: Causeway) -> None:
    causeway.tpp.authorize(1, state="once")

    answer = causeway.tpp.call("POST", "/tpp/authorize", {"bic": BIC[2], "scopes": ["accounts"], "state": "once"})

    assert (answer.status, answer.body["code"]) == (400, "FORMAT_ERROR")
    assert "state" in answer.body["title"]


def test_two_clients_may_use_the_same_state(causeway: Causeway) -> None:
    other = causeway.hub.openbanking.clients.create(owner="other@example.com", title="Other").client
    causeway.tpp.authorize(1, state="same")

    answer = causeway.tpp.call(
        "POST",
        "/tpp/authorize",
        {"bic": BIC[1], "scopes": ["account.list"], "state": "same"},
        client_id=other.client_id,
    )

    assert answer.status == 200


def test_an_authorization_request_accepts_a_bic_of_8_or_11_characters_in_upper_or_lower_case(
    causeway: Causeway,
) -> None:
    for bic in ("ALPHGB21", "ALPHGB21XXX", "alphgb21"):
        assert causeway.tpp.call("POST", "/tpp/authorize", {"bic": bic, "scopes": ["account.list"]}).status == 200


def test_a_one_time_consent_can_have_payment_scopes_only(causeway: Causeway) -> None:
    request = {"bic": BIC[1], "consent_type": "one_time"}

    assert causeway.tpp.call("POST", "/tpp/authorize", request | {"scopes": ["payment.init"]}).status == 200
    assert (
        causeway.tpp.call("POST", "/tpp/authorize", request | {"scopes": ["payment.init", "account.list"]}).status
        == 400
    )


REFUSED: dict[str, tuple[dict[str, Any], int, str, str | None]] = {
    "no bic": ({"bic": None}, 400, "FORMAT_ERROR", "INVALID_MODEL_TYPE"),
    "bad bic": ({"bic": "SHORT"}, 400, "FORMAT_ERROR", "INVALID_MODEL_TYPE"),
    "bic of another type": ({"bic": 5}, 400, "FORMAT_ERROR", "INVALID_MODEL_TYPE"),
    "unknown bic": ({"bic": "NONEGB21"}, 404, "RESOURCE_UNKNOWN", None),
    "no scopes": ({"scopes": None}, 400, "FORMAT_ERROR", "AUTHORIZATION_SCOPE_DOES_NOT_EXIST"),
    "empty scopes": ({"scopes": []}, 400, "FORMAT_ERROR", "AUTHORIZATION_SCOPE_NOT_CORRECT"),
    "scopes as text": ({"scopes": "account.list"}, 400, "FORMAT_ERROR", "AUTHORIZATION_SCOPE_NOT_CORRECT"),
    "scope of the other version": ({"scopes": ["accounts"]}, 400, "FORMAT_ERROR", "AUTHORIZATION_SCOPE_NOT_CORRECT"),
    "a scope twice": (
        {"scopes": ["account.list", "account.list"]},
        400,
        "FORMAT_ERROR",
        "AUTHORIZATION_SCOPE_NOT_CORRECT",
    ),
    "foreign redirect": ({"redirect_uri": "https://evil.example/"}, 400, "FORMAT_ERROR", None),
    "overlong state": ({"state": "s" * 513}, 400, "FORMAT_ERROR", "INVALID_MODEL_TYPE"),
    "empty state": ({"state": ""}, 400, "FORMAT_ERROR", "INVALID_MODEL_TYPE"),
    "control characters": ({"state": "a\r\nb"}, 400, "FORMAT_ERROR", "INVALID_MODEL_TYPE"),
    "plain challenge": (
        {"code_challenge": "c" * 43, "code_challenge_method": "plain"},
        400,
        "FORMAT_ERROR",
        "INVALID_MODEL_TYPE",
    ),
    "method without challenge": ({"code_challenge_method": "S256"}, 400, "FORMAT_ERROR", "INVALID_MODEL_TYPE"),
    "challenge without form": (
        {"code_challenge": "c", "code_challenge_method": "S256"},
        400,
        "FORMAT_ERROR",
        "INVALID_MODEL_TYPE",
    ),
    "unknown consent type": ({"consent_type": "forever"}, 400, "FORMAT_ERROR", "INVALID_MODEL_TYPE"),
    "unknown member": ({"colour": "red"}, 400, "FORMAT_ERROR", "EXTRA_FIELDS_PROVIDED"),
}


@pytest.mark.parametrize(("change", "status", "code", "additional"), REFUSED.values(), ids=REFUSED)
def test_an_invalid_authorization_request_returns_its_error_code(
    causeway: Causeway, change: dict[str, Any], status: int, code: str, additional: str | None
) -> None:
    request = {"bic": BIC[1], "scopes": ["account.list"]} | change

    answer = causeway.tpp.call(
        "POST", "/tpp/authorize", {name: value for name, value in request.items() if value is not None}
    )

    assert (answer.status, answer.body["code"]) == (status, code)
    assert len(answer.body["requestId"]) == 36
    if additional:
        assert answer.body["additionalErrors"][0]["code"] == additional


@pytest.mark.parametrize(
    ("headers", "status", "code"),
    [
        ({"x-api-key": ""}, 401, "AUTHENTICATION_REQUIRED"),
        ({"x-api-key": "unknown"}, 401, "WRONG_CREDENTIALS"),
        ({"x-api-key": "x" * 3000}, 401, "WRONG_CREDENTIALS"),
        ({"x-request-id": "not a uuid"}, 401, "REQUEST_ID_NOT_UUID"),
        ({"content-type": "text/plain"}, 400, "HEADERS_ERROR"),
    ],
)
def test_authorize_checks_headers_before_the_body(
    causeway: Causeway, headers: dict[str, str], status: int, code: str
) -> None:
    answer = causeway.tpp.call("POST", "/tpp/authorize", {"nonsense": 1}, headers=headers)

    assert (answer.status, answer.body["code"]) == (status, code)


def test_a_response_contains_the_request_id_in_lower_case_or_a_new_id_if_it_is_invalid(causeway: Causeway) -> None:
    given = "0F8FAD5B-D9CB-469F-A165-70867728950E"

    good = causeway.tpp.call("GET", "/tpp/banks", headers={"x-request-id": given})
    bad = causeway.tpp.call("GET", "/tpp/banks", headers={"x-request-id": "7"})

    assert good.headers["x-request-id"] == given.lower()
    assert len(bad.headers["x-request-id"]) == 36
    assert bad.body["requestId"] == bad.headers["x-request-id"]


def test_a_request_with_thousands_of_invalid_values_returns_a_short_error(causeway: Causeway) -> None:
    for scopes in (["\u00e9"] * 7_000, [5] * 20_000, ["s" * 65] * 900, [str(number) for number in range(7_000)]):
        for size in (len(scopes), 64):
            answer = causeway.tpp.call("POST", "/tpp/authorize", {"bic": BIC[1], "scopes": scopes[:size]})

            assert answer.status == 400
            assert len(answer.text) < 20_000
    answer = causeway.tpp.call("POST", "/tpp/authorize", {f"m{number}": number for number in range(4_500)})
    assert (answer.status, len(answer.text) < 20_000) == (400, True)


# -- directories


def test_the_bank_list_is_returned_in_pages(causeway: Causeway) -> None:
    first = causeway.tpp.call("GET", "/tpp/banks?limit=1").body
    second = causeway.tpp.call("GET", "/tpp/banks?limit=1&page=2").body
    beyond = causeway.tpp.call("GET", "/tpp/banks?page=1000").body

    assert [bank["bic"] for bank in first["banks"]] == ["ALPHGB21"]
    assert second["banks"][0]["bic"] == "BETADEF1"
    assert first["page"] == 1
    assert first["limit"] == 1
    assert first["total"] == 2
    assert beyond["banks"] == []


BAD_PAGES = ["page=0", "page=x", "page=1.5", "page=1.0", "page=1_0", "page=+1", "page=%2B1", "page=-1", "page=1%0A"]
BAD_PAGES += ["page=%D9%A1", "page=1000001", f"page={'1' * 5000}", "limit=101", "limit=0", "limit=1&limit=2", "size=3"]


@pytest.mark.parametrize("query", BAD_PAGES)
def test_an_invalid_page_parameter_returns_400(causeway: Causeway, query: str) -> None:
    answer = causeway.tpp.call("GET", f"/tpp/banks?{query}")

    assert (answer.status, answer.body["code"]) == (400, "PARAMETER_NOT_CONSISTENT")


@VERSIONS
def test_a_scope_query_returns_the_scopes_of_a_bank_with_their_service(causeway: Causeway, version: int) -> None:
    body = causeway.tpp.call("GET", f"/tpp/scope?bic={BIC[version]}").body

    assert body["bic"] == BIC[version]
    assert len(body["scopes"]) == (7 if version == 1 else 6)
    assert body["scopes"][0]["service"] == "AISP"


@pytest.mark.parametrize(
    ("query", "status", "code"),
    [
        ("bic=NONEGB21", 404, "RESOURCE_UNKNOWN"),
        ("bic=1", 400, "PARAMETER_NOT_CONSISTENT"),
        ("", 400, "PARAMETER_NOT_CONSISTENT"),
    ],
)
def test_a_scope_query_without_a_known_bank_is_rejected(causeway: Causeway, query: str, status: int, code: str) -> None:
    answer = causeway.tpp.call("GET", f"/tpp/scope?{query}")

    assert (answer.status, answer.body["code"]) == (status, code)


# -- the front door of RFC 6749


def front_door(causeway: Causeway, **changes: str | None) -> Any:
    query = {
        "response_type": "code",
        "client_id": causeway.tpp.client_id,
        "redirect_uri": causeway.tpp.client.callback_url,
        "scope": "account.list account.details",
        "state": "s",
        "bic": BIC[1],
    } | changes
    present = {name: value for name, value in query.items() if value is not None}
    return causeway.call("GET", f"/oauth/authorize?{urlencode(present)}")


def test_the_authorization_endpoint_redirects_to_the_bank(causeway: Causeway) -> None:
    answer = front_door(causeway)

    assert answer.status == 303
    assert answer.headers["location"].startswith(causeway.banks[1].record.authorization_url)


def test_reloading_the_authorization_endpoint_repeats_the_redirect(causeway: Causeway) -> None:
    assert front_door(causeway).headers["location"] == front_door(causeway).headers["location"]


def test_a_reused_state_with_other_parameters_redirects_with_an_error(causeway: Causeway) -> None:
    front_door(causeway)

    answer = front_door(causeway, scope="account.list")

    query = parse_qs(urlsplit(answer.headers["location"]).query)
    assert answer.headers["location"].startswith(causeway.tpp.client.callback_url)
    assert query["error"] == ["invalid_request"]
    assert query["state"] == ["s"]
    assert query["iss"] == ["http://127.0.0.1:8000"]


def test_reloading_the_authorization_endpoint_after_the_consent_redirects_with_an_error(causeway: Causeway) -> None:
    url = front_door(causeway).headers["location"]
    causeway.banks[1].call("/consent", causeway.banks[1].consent_body(url))

    assert "error=invalid_request" in front_door(causeway).headers["location"]


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"response_type": "token"}, "unsupported_response_type"),
        ({"response_type": None}, "invalid_request"),
        ({"bic": "NONEGB21"}, "invalid_request"),
        ({"scope": None}, "invalid_scope"),
        ({"scope": "everything"}, "invalid_scope"),
        ({"code_challenge": "x", "code_challenge_method": "S256"}, "invalid_request"),
        ({"request": "e30."}, "request_not_supported"),
        ({"request_uri": "urn:example:request"}, "request_uri_not_supported"),
        ({"request_uri": "urn:example:request", "response_type": None, "scope": None}, "request_uri_not_supported"),
        ({"registration": "{}"}, "registration_not_supported"),
    ],
)
def test_an_invalid_authorization_request_redirects_with_an_error(
    causeway: Causeway, changes: dict[str, str | None], error: str
) -> None:
    answer = front_door(causeway, **changes)

    query = parse_qs(urlsplit(answer.headers["location"]).query)
    assert answer.status == 303
    assert query["error"] == [error]
    assert query["error_description"][0]


@pytest.mark.parametrize(
    "changes", [{"client_id": "unknown"}, {"client_id": None}, {"redirect_uri": "https://evil.example/"}]
)
def test_a_request_with_an_unknown_client_or_redirect_uri_returns_a_page_without_a_redirect(
    causeway: Causeway, changes: dict[str, str | None]
) -> None:
    answer = front_door(causeway, **changes)

    assert answer.status == 400
    assert answer.headers["content-type"].startswith("text/html")
    assert "location" not in answer.headers


def test_an_empty_redirect_uri_is_treated_as_missing(causeway: Causeway) -> None:
    answer = front_door(causeway, redirect_uri="")

    assert answer.status == 303
    assert answer.headers["location"].startswith(causeway.banks[1].record.authorization_url)


@pytest.mark.parametrize("state", [None, ""])
def test_the_authorization_endpoint_generates_a_missing_state(causeway: Causeway, state: str | None) -> None:
    (made,) = parse_qs(urlsplit(front_door(causeway, state=state).headers["location"]).query)["state"]

    assert len(made) == 43


@pytest.mark.parametrize("sent", [None, "", "mine"])
@pytest.mark.parametrize("approved", [True, False])
@VERSIONS
def test_a_redirect_to_the_client_contains_a_state_only_if_the_client_sent_a_state(
    causeway: Causeway, version: int, approved: bool, sent: str | None
) -> None:
    causeway.tpp.set_events_url()
    scopes = " ".join(causeway.banks[version].scopes)
    url = front_door(causeway, state=sent, bic=BIC[version], scope=scopes).headers["location"]

    if approved:
        saved = causeway.banks[version].call("/consent", causeway.banks[version].consent_body(url)).body
        back = saved.get("callback_url") or saved["callbackUrl"]
    else:
        asked = causeway.banks[version].call("/init_authorization", {URL[version]: url}).body
        cancel = urlsplit(asked.get("cancel_url") or asked["cancelUrl"]).path
        back = causeway.call("GET", cancel).headers["location"]

    (told,) = causeway.recorded("event")
    causeway.hub.delivery.worker.attempt(told.delivery_id)
    expected = [sent] if sent else None
    assert parse_qs(urlsplit(back).query).get("state") == expected
    assert ("code" in parse_qs(urlsplit(back).query)) == approved
    assert causeway.receiver.events[-1]["data"].get("state") == (sent or None)


def test_a_redirect_to_the_client_contains_a_state_generated_by_tpp_authorize(causeway: Causeway) -> None:
    asked = causeway.tpp.authorize(2)

    saved = causeway.banks[2].call("/consent", causeway.banks[2].consent_body(asked["redirect_url"])).body

    assert parse_qs(urlsplit(saved["callbackUrl"]).query)["state"] == [asked["state"]]


def test_a_request_stored_without_the_field_named_returns_state_redirects_with_its_state(causeway: Causeway) -> None:
    asked = causeway.tpp.authorize(2)
    key = authorization_key(compute_authorization_id(causeway.tpp.client_id, asked["state"]))
    causeway.hub.store.update(*key, remove=["returns_state"])

    saved = causeway.banks[2].call("/consent", causeway.banks[2].consent_body(asked["redirect_url"])).body

    assert parse_qs(urlsplit(saved["callbackUrl"]).query)["state"] == [asked["state"]]


def test_a_storage_failure_redirects_to_the_client_with_the_error_server_error(causeway: Causeway) -> None:
    with causeway.storage_gone("put"):
        answer = front_door(causeway)

    assert answer.status == 303
    assert answer.headers["location"].startswith(f"{causeway.tpp.client.callback_url}?")
    query = parse_qs(urlsplit(answer.headers["location"]).query)
    assert query["error"] == ["server_error"]
    assert query["state"] == ["s"]
    assert query["iss"] == ["http://127.0.0.1:8000"]
    assert front_door(causeway).headers["location"].startswith(causeway.banks[1].record.authorization_url)


def test_a_storage_failure_before_the_client_is_known_returns_an_error_page(causeway: Causeway) -> None:
    with causeway.storage_gone("batch_get"):
        answer = front_door(causeway)

    assert answer.status == 500
    assert answer.headers["content-type"].startswith("text/html")
    assert "location" not in answer.headers


@pytest.mark.parametrize("ended", ["expired", "cancelled", "approved"])
def test_repeating_an_authorization_request_that_has_ended_redirects_with_the_reason(
    causeway: Causeway, ended: str
) -> None:
    url = front_door(causeway).headers["location"]
    if ended == "expired":
        causeway.clock.advance(30 * 60)
    elif ended == "approved":
        causeway.banks[1].call("/consent", causeway.banks[1].consent_body(url))
    else:
        path = urlsplit(causeway.banks[1].call("/init_authorization", {"request_url": url}).body["cancel_url"]).path
        causeway.call("GET", path)

    again, other = front_door(causeway), front_door(causeway, scope="account.list")

    said, used = (parse_qs(urlsplit(answer.headers["location"]).query) for answer in (again, other))
    assert (said["error"], used["error"]) == (["invalid_request"], ["invalid_request"])
    assert "has ended or expired" in said["error_description"][0]
    assert "already been used" in used["error_description"][0]


@pytest.mark.parametrize(
    ("client_id", "said"),
    [
        ("unknown", refusals.CLIENT_UNKNOWN.sentence),
        ("x" * 65, refusals.CLIENT_UNKNOWN.sentence),
        (None, "The parameter client_id is missing"),
        ("", "The parameter client_id is missing"),
    ],
)
def test_the_authorization_endpoint_without_a_known_client_returns_a_page_with_the_reason(
    causeway: Causeway, client_id: str | None, said: str
) -> None:
    answer = front_door(causeway, client_id=client_id)

    assert answer.status == 400
    assert answer.headers["content-type"].startswith("text/html")
    assert said.lower() in answer.text.lower()
    assert "location" not in answer.headers


def test_the_authorization_endpoint_of_an_inactive_client_returns_400_without_a_redirect(causeway: Causeway) -> None:
    causeway.hub.openbanking.clients.deactivate(causeway.tpp.client_id)

    answer = front_door(causeway)

    assert (answer.status, "location" in answer.headers) == (400, False)


def test_the_authorization_endpoint_permits_repetition_only_of_the_parameter_resource(causeway: Causeway) -> None:
    query = {"response_type": "code", "client_id": causeway.tpp.client_id, "scope": "account.list", "bic": BIC[1]}
    start = f"/oauth/authorize?{urlencode(query)}"

    good = causeway.call("GET", f"{start}&resource=https%3A%2F%2Fone.example&resource=https%3A%2F%2Ftwo.example")
    twice = causeway.call("GET", f"{start}&nonce=1&nonce=2")

    assert good.headers["location"].startswith(causeway.banks[1].record.authorization_url)
    assert "error=invalid_request" in twice.headers["location"]


def test_the_authorization_endpoint_ignores_unknown_parameters(causeway: Causeway) -> None:
    assert front_door(causeway, nonce="n", prompt="login").headers["location"].startswith("http://127.0.0.1:1/bank-1")


def test_the_metadata_document_lists_the_endpoints_of_the_server(causeway: Causeway) -> None:
    body = causeway.call("GET", "/.well-known/oauth-authorization-server").body

    assert body["issuer"] == "http://127.0.0.1:8000"
    assert body["authorization_endpoint"] == "http://127.0.0.1:8000/oauth/authorize"
    assert body["token_endpoint"] == "http://127.0.0.1:8000/tpp/token"
    assert body["revocation_endpoint"] == "http://127.0.0.1:8000/tpp/token/revoke"
    assert body["code_challenge_methods_supported"] == ["S256"]


@VERSIONS
def test_a_request_without_a_consent_expires_after_a_day(causeway: Causeway, version: int) -> None:
    """The state of an approved request is stored until after the end of the consent."""
    causeway.tpp.authorize(version, state="open")
    causeway.psu.approve(version, state="approved")

    kept = {
        item["state"]: item["expires_at"] - causeway.clock.time() for item in causeway.hub.store.scan("authorizations")
    }

    assert kept == {"open": 24 * 3600, "approved": 400 * 24 * 3600}
