"""Unmodified OAuth libraries complete the authorization flow from the metadata document."""

import time
from typing import Any

import pytest
import requests

from chalicelib import bootstrap
from infra.psu_browser import Browser, approve_consent
from tests.kit.time import PATIENCE_SECONDS

pytestmark = pytest.mark.e2e


@pytest.fixture
def metadata(stack: dict[str, Any]) -> Any:
    return requests.get(f"{stack['base_url']}/.well-known/oauth-authorization-server", timeout=PATIENCE_SECONDS).json()


@pytest.fixture(autouse=True)
def plain_http(monkeypatch: pytest.MonkeyPatch) -> None:
    """Allow plain HTTP in both OAuth libraries, which require TLS by default."""
    monkeypatch.setenv("AUTHLIB_INSECURE_TRANSPORT", "1")
    monkeypatch.setenv("OAUTHLIB_INSECURE_TRANSPORT", "1")


def psu(stack: dict[str, Any], url: str) -> str:
    return approve_consent(Browser(stack["client"]["callback_url"], lambda *_: None), url)


def test_authlib_completes_the_authorization_flow(stack: dict[str, Any], metadata: Any) -> None:
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


def test_requests_oauthlib_completes_the_authorization_flow(stack: dict[str, Any], metadata: Any) -> None:
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


def test_authlib_completes_the_flow_with_a_private_key_and_a_pushed_request(
    stack: dict[str, Any], operator: bootstrap.Hub, metadata: Any
) -> None:
    from authlib.common.security import generate_token
    from authlib.integrations.requests_client import OAuth2Session
    from authlib.oauth2.rfc7523 import PrivateKeyJWT
    from authlib.oauth2.rfc7636 import create_s256_code_challenge
    from joserfc.jwk import ECKey

    key = ECKey.generate_key("P-256")
    callback, client_id = stack["client"]["callback_url"], register(operator, stack, key.as_dict(private=False))
    verifier, accounts = generate_token(64), f"{stack['base_url']}/tpp/accounts"

    def sign_assertion(*request: Any) -> Any:
        """Sign an assertion with a new jti. The built-in method of Authlib would reuse the jti of its fixed claims."""
        method = PrivateKeyJWT(metadata["issuer"], claims={"exp": int(time.time()) + 60}, alg="ES256")
        return method(*request)

    with OAuth2Session(
        client_id,
        key,
        redirect_uri=callback,
        scope="accounts",
        token_endpoint_auth_method=sign_assertion,
        revocation_endpoint_auth_method=sign_assertion,
    ) as session:
        asked = {
            "response_type": "code",
            "bic": "DEMODEF1",
            "scope": "accounts",
            "redirect_uri": callback,
            "code_challenge": create_s256_code_challenge(verifier),
            "code_challenge_method": "S256",
        }
        pushed = requests.post(
            metadata["pushed_authorization_request_endpoint"],
            data=asked,
            auth=session.client_auth(sign_assertion),
            timeout=PATIENCE_SECONDS,
        )
        url, _ = session.create_authorization_url(
            metadata["authorization_endpoint"], request_uri=pushed.json()["request_uri"]
        )
        token = session.fetch_token(
            metadata["token_endpoint"], authorization_response=psu(stack, url), code_verifier=verifier
        )
        first = session.get(accounts, headers={"X-Api-Key": client_id})
        refreshed = session.refresh_token(metadata["token_endpoint"], token["refresh_token"])
        second = session.get(accounts, headers={"X-Api-Key": client_id})
        revoked = session.revoke_token(metadata["revocation_endpoint"], token=refreshed["access_token"])
        third = session.get(accounts, headers={"X-Api-Key": client_id})

    assert pushed.status_code == 201
    assert first.json()["accounts"] == second.json()["accounts"]
    assert (revoked.status_code, third.status_code) == (200, 401)


def register(operator: bootstrap.Hub, stack: dict[str, Any], public_key: Any) -> str:
    security = {
        "auth_method": "private_key_jwt",
        "jwks": {"keys": [public_key]},
        "require_pushed_authorization_requests": True,
    }
    made = operator.openbanking.clients.create(
        owner=stack["user"]["email"],
        title="Budget Friend",
        callback_urls=[stack["client"]["callback_url"]],
        security=security,
    )
    return made.client.client_id
