"""Every response to browsers and programs has security headers."""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from app import app
from chalicelib.foundation.http.web import OTHERS, Incoming
from chalicelib.foundation.settings import Settings
from tests.causeway import Answer, Causeway

HSTS = "strict-transport-security"
CALLS = [
    (method, re.sub(r"\{\w+\}", "nothing", path))
    for path, methods in app.routes.items()
    for method in ("OPTIONS", "HEAD", "DELETE", *methods)
    if method != OTHERS
]


@pytest.fixture
def https(shared_causeway: Causeway) -> Iterator[Causeway]:
    of = shared_causeway.hub.settings
    settings = {"STAGE": "dev", "PUBLIC_URL": "https://dev.example.com", "RESOURCE_PREFIX": of.prefix}
    keys = {"KEYS_SECRET": of.keys_secret, "KMS_KEY_ID": of.kms_key_id}
    causeway = shared_causeway.again(Settings.from_environment(settings | keys))
    with causeway.installed():
        yield causeway


def check(answer: Answer) -> None:
    assert answer.headers["x-content-type-options"] == "nosniff"
    if answer.headers.get("content-type", "").startswith("text/html"):
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        assert answer.headers["permissions-policy"].startswith("camera=(), ")
        assert answer.headers["cross-origin-opener-policy"] in ("same-origin", "unsafe-none")
        assert answer.headers["x-frame-options"] == "DENY"
        assert answer.headers["cache-control"] == "no-store"


def test_every_response_of_an_https_stage_has_strict_transport_security(https: Causeway) -> None:
    for method, path in CALLS:
        answer = https.call(method, path, b"{}" if method == "POST" else None)
        check(answer)
        assert answer.headers[HSTS] == "max-age=31536000", (method, path)


def test_the_local_stage_sends_no_strict_transport_security_over_https(shared_causeway: Causeway) -> None:
    of = shared_causeway.hub.settings
    local = shared_causeway.again(replace(of, public_url="https://127.0.0.1:8000"))
    with local.installed():
        assert HSTS not in local.call("GET", "/health").headers


def test_a_stage_without_https_sends_no_strict_transport_security(causeway: Causeway) -> None:
    for method, path in CALLS:
        answer = causeway.call(method, path, b"{}" if method == "POST" else None)
        check(answer)
        assert HSTS not in answer.headers, (method, path)


@pytest.mark.parametrize("path", ["/", "/tpp/banks", "/bank/public_key", "/health", "/demo-bank/one"])
def test_an_error_response_outside_the_views_has_the_security_headers(
    https: Causeway, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any) -> Any:
        raise LookupError

    monkeypatch.setattr(Incoming, "of", broken)
    answer = https.call("GET", path)

    assert answer.status == 500
    assert (answer.headers[HSTS], answer.headers["x-content-type-options"]) == ("max-age=31536000", "nosniff")


@pytest.mark.parametrize("path", ["/tpp/token", "/tpp/token/revoke", "/tpp/authorize", "/bank/consent", "/api"])
def test_responses_with_tokens_or_card_data_have_cache_control_no_store(causeway: Causeway, path: str) -> None:
    answer = causeway.call("POST", path, b"{}", {"content-type": "application/json"})

    assert answer.headers["cache-control"] == "no-store"


@pytest.mark.parametrize(
    ("path", "policy"),
    [
        ("/", "same-origin"),
        ("/sign-in", "same-origin"),
        ("/authorize/callback", "same-origin"),
        ("/nothing", "same-origin"),
        ("/demo-bank/one/consents", "same-origin"),
        ("/demo-bank/one/my-accounts", "same-origin"),
        ("/demo-bank/one/authorize", "unsafe-none"),
        ("/demo-bank/one/sign-in", "unsafe-none"),
        ("/demo-bank/one/confirm", "unsafe-none"),
        ("/demo-bank/one/payment/nothing", "unsafe-none"),
    ],
)
def test_pages_set_a_cross_origin_opener_policy_except_during_a_bank_authorization(
    causeway: Causeway, path: str, policy: str
) -> None:
    assert causeway.call("GET", path).headers["cross-origin-opener-policy"] == policy


def test_an_authorization_redirect_has_no_cross_origin_opener_policy(causeway: Causeway) -> None:
    url = causeway.tpp.authorize(1)["redirect_url"]
    cancel = causeway.banks[1].call("/init_authorization", {"request_url": url}).body["cancel_url"]
    answer = causeway.call("GET", cancel.removeprefix(causeway.hub.settings.public_url))

    assert answer.status == 303
    assert "cross-origin-opener-policy" not in answer.headers
