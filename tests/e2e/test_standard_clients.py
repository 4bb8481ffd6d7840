"""Unmodified OAuth libraries complete the flow from the metadata document."""

from __future__ import annotations

from typing import Any

import pytest
import requests

from infra.tour.browser import Browser, approve_consent

pytestmark = pytest.mark.e2e


@pytest.fixture
def metadata(stack: dict[str, Any]) -> Any:
    return requests.get(f"{stack['base_url']}/.well-known/oauth-authorization-server", timeout=10).json()


@pytest.fixture(autouse=True)
def plain_http(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both libraries insist on TLS unless they are told that this is a test."""
    monkeypatch.setenv("AUTHLIB_INSECURE_TRANSPORT", "1")
    monkeypatch.setenv("OAUTHLIB_INSECURE_TRANSPORT", "1")


def psu(stack: dict[str, Any], url: str) -> str:
    return approve_consent(Browser(stack["client"]["callback_url"], lambda *_: None), url)


def test_authlib_completes_the_flow(stack: dict[str, Any], metadata: Any) -> None:
    from authlib.common.security import generate_token
    from authlib.integrations.requests_client import OAuth2Session

    client_id, verifier = stack["client"]["client_id"], generate_token(64)
    with OAuth2Session(
        client_id,
        scope="accounts",
        redirect_uri=stack["client"]["callback_url"],
        code_challenge_method="S256",
        token_endpoint_auth_method="none",
        token_endpoint=metadata["token_endpoint"],
    ) as session:
        url, state = session.create_authorization_url(
            metadata["authorization_endpoint"], code_verifier=verifier, bic="DEMODEF1"
        )
        token = session.fetch_token(authorization_response=psu(stack, url), code_verifier=verifier, state=state)
        first = session.get(f"{stack['base_url']}/tpp/accounts", headers={"X-Api-Key": client_id})
        refreshed = session.refresh_token(metadata["token_endpoint"], token["refresh_token"])
        second = session.get(f"{stack['base_url']}/tpp/accounts", headers={"X-Api-Key": client_id})
        revoked = session.revoke_token(metadata["revocation_endpoint"], token=refreshed["access_token"])

    assert first.json()["accounts"] == second.json()["accounts"]
    assert revoked.status_code == 200


def test_requests_oauthlib_completes_the_flow(stack: dict[str, Any], metadata: Any) -> None:
    from requests_oauthlib import OAuth2Session

    client_id = stack["client"]["client_id"]
    session = OAuth2Session(
        client_id, redirect_uri=stack["client"]["callback_url"], scope=["account.list", "account.details"], pkce="S256"
    )
    with session:
        url, _ = session.authorization_url(metadata["authorization_endpoint"], bic="DEMOGB21")
        token = session.fetch_token(
            metadata["token_endpoint"], authorization_response=psu(stack, url), include_client_id=True
        )
        first = session.get(f"{stack['base_url']}/tpp/accounts", headers={"X-Api-Key": client_id})
        session.refresh_token(metadata["token_endpoint"], token["refresh_token"], client_id=client_id)
        second = session.get(f"{stack['base_url']}/tpp/accounts", headers={"X-Api-Key": client_id})

    assert first.status_code == second.status_code == 200
    assert first.json() == second.json()
