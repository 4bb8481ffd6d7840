"""Tests of the measurements of authorization, token and revocation calls, and of calls that are not counted."""

from typing import Any
from urllib.parse import urlencode

import pytest

from chalicelib.foundation.http.outbound import NotReached
from infra.admin.probe import probe
from tests.causeway import Causeway
from tests.openbanking.call_measurements import BIC, deliver, error, expected_counts, measure_counts
from tests.openbanking.kit import VERSIONS
from tests.openbanking.payments import Pisp


@VERSIONS
def test_authorize_token_and_revoke_calls_count_as_authorization(causeway: Causeway, version: int) -> None:
    request = {"bic": BIC[version], "scopes": causeway.banks[version].scopes}
    codes: list[str] = []
    tokens: dict[str, Any] = {}

    def redeem() -> None:
        tokens.update(causeway.tpp.call("POST", "/tpp/token", {"code": codes[0]}).body)

    def refresh() -> None:
        tokens.update(causeway.tpp.call("POST", "/tpp/token", {"refresh_token": tokens["refresh_token"]}).body)

    def revoke() -> None:
        assert causeway.tpp.call("POST", "/tpp/token/revoke", {"token": tokens["access_token"]}).status == 200

    one = expected_counts(version, "authorization", calls=1)
    assert measure_counts(causeway, lambda: causeway.tpp.call("POST", "/tpp/authorize", request)) == one
    codes.append(causeway.psu.approve(version).query["code"])
    assert [measure_counts(causeway, redeem), measure_counts(causeway, refresh), measure_counts(causeway, revoke)] == [
        one
    ] * 3


@VERSIONS
@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ({"status": "success"}, {"answered": 1}),
        (NotReached("x"), {"unanswered": 1, "bank_failures": 1}),
        (404, {"answered": 1, "caller_failures": 1}),
    ],
    ids=["told", "not reached", "unknown there"],
)
def test_a_revocation_sent_to_a_bank_counts_as_authorization(
    causeway: Causeway, version: int, answer: Any, expected: dict[str, int]
) -> None:
    answer = error(1, 4202, 404) if answer == 404 else answer
    causeway.banks[version].answers["/revoke_token"] = lambda sent: answer
    token = causeway.tpp.tokens(version)["access_token"]
    causeway.tpp.call("POST", "/tpp/token/revoke", {"token": token})
    (delivery,) = causeway.recorded("revoke_token")

    assert measure_counts(causeway, lambda: deliver(delivery.delivery_id)) == expected_counts(
        version, "authorization", **expected
    )


def test_misuse_of_a_code_or_refresh_token_counts_as_a_caller_failure(causeway: Causeway) -> None:
    code = causeway.psu.approve(1).query["code"]
    causeway.tpp.call("POST", "/tpp/token", {"code": code})
    tokens = causeway.tpp.tokens(2)
    wrong: list[tuple[int, dict[str, Any]]] = [
        (1, {"code": code}),  # a second time
        (2, {"code": causeway.psu.approve(2).query["code"], "redirect_uri": "https://elsewhere.example"}),
        (2, {"code": causeway.psu.approve(2).query["code"], "code_verifier": "v" * 43}),
    ]
    for version, body in wrong:

        def redeem(body: dict[str, Any] = body) -> None:
            assert causeway.tpp.call("POST", "/tpp/token", body).status == 400

        assert measure_counts(causeway, redeem) == expected_counts(version, "authorization", calls=1, caller_failures=1)
    causeway.tpp.call("POST", "/tpp/token/revoke", {"token": tokens["access_token"]})

    def refresh() -> None:
        assert causeway.tpp.call("POST", "/tpp/token", {"refresh_token": tokens["refresh_token"]}).status == 400

    assert measure_counts(causeway, refresh) == expected_counts(2, "authorization", calls=1, caller_failures=1)
    assert measure_counts(causeway, lambda: causeway.tpp.call("POST", "/tpp/token/revoke", {"token": "unknown"})) == {}


def test_failures_that_the_oauth_authorize_endpoint_returns_as_redirects_are_counted(causeway: Causeway) -> None:
    query = {"response_type": "code", "client_id": causeway.tpp.client_id, "bic": "ALPHGB21", "state": "s"}

    def knock(scope: str) -> None:
        assert causeway.call("GET", f"/oauth/authorize?{urlencode(query | {'scope': scope})}").status == 303

    def knock_while_the_storage_fails() -> None:
        with causeway.storage_gone("put"):
            knock("account.details")

    assert measure_counts(causeway, lambda: knock("account.list")) == expected_counts(1, "authorization", calls=1)
    assert measure_counts(causeway, lambda: knock("no.such")) == expected_counts(
        1, "authorization", calls=1, caller_failures=1
    )
    assert measure_counts(causeway, knock_while_the_storage_fails) == expected_counts(
        1, "authorization", calls=1, hub_failures=1
    )


@VERSIONS
def test_calls_from_banks_are_not_counted(causeway: Causeway, version: int) -> None:
    pisp = Pisp(causeway, version)
    pisp.pay()
    consented, url = causeway.psu.approve(version), causeway.tpp.authorize(version)["redirect_url"]
    url_name, token_name = ("request_url", "access_token") if version == 1 else ("requestUrl", "accessToken")

    def call() -> None:
        assert causeway.banks[version].call("/init_authorization", {url_name: url}).status == 200
        assert causeway.banks[version].call("/consent", causeway.banks[version].consent_body(url)).status == 200
        assert causeway.banks[version].call("/consent", causeway.banks[version].consent_body(url)).status >= 400
        assert pisp.report(4 if version == 1 else "ACSC").status == 200
        assert causeway.banks[version].call("/token/revoke", {token_name: consented.bank_token}).status == 200

    assert measure_counts(causeway, call) == {}


@VERSIONS
def test_a_test_call_of_the_operator_to_a_bank_is_not_counted(causeway: Causeway, version: int) -> None:
    side = causeway.banks[version]
    for path in ("/accounts", "/v2_accounts"):
        side.answers[path] = lambda sent: error(version, 4200, 401)

    assert measure_counts(causeway, lambda: probe(causeway.hub, side.record)) == {}
    assert side.received
