"""Tests of the OAuth metadata and of the endpoints that the metadata lists."""

from pathlib import Path
from typing import Any

import pytest

from tests.causeway import Causeway
from tests.kit.certificates import Authority
from tests.openbanking.key_holder import BASE, stage_with

ALGORITHMS = ["PS256", "ES256", "EdDSA", "Ed25519"]
METHODS = ["private_key_jwt", "client_secret_basic", "client_secret_post", "none"]
ENDPOINTS = ("token", "revocation", "introspection")


def metadata(causeway: Causeway, name: str = "oauth-authorization-server") -> Any:
    answer = causeway.call("GET", f"/.well-known/{name}")
    assert answer.status == 200
    return answer.body


def test_the_metadata_document_lists_every_endpoint_method_and_algorithm(causeway: Causeway) -> None:
    found = metadata(causeway)

    assert found["issuer"] == BASE
    assert found["authorization_endpoint"] == f"{BASE}/oauth/authorize"
    assert found["pushed_authorization_request_endpoint"] == f"{BASE}/oauth/par"
    assert found["token_endpoint"] == f"{BASE}/tpp/token"
    assert found["revocation_endpoint"] == f"{BASE}/tpp/token/revoke"
    assert found["introspection_endpoint"] == f"{BASE}/oauth/introspect"
    for endpoint in ENDPOINTS:
        assert found[f"{endpoint}_endpoint_auth_methods_supported"] == METHODS
        assert found[f"{endpoint}_endpoint_auth_signing_alg_values_supported"] == ALGORITHMS
    assert found["dpop_signing_alg_values_supported"] == ALGORITHMS
    assert found["code_challenge_methods_supported"] == ["S256"]
    assert found["require_pushed_authorization_requests"] is False
    assert found["tls_client_certificate_bound_access_tokens"] is False
    assert found["authorization_response_iss_parameter_supported"] is True
    assert found["protected_resources"] == [BASE]
    assert "mtls_endpoint_aliases" not in found


def test_the_metadata_of_a_stage_with_mutual_tls_lists_the_mutual_tls_endpoint_aliases(
    shared_causeway: Causeway, tmp_path: Path
) -> None:
    causeway = shared_causeway.again(stage_with(Authority(), tmp_path))
    with causeway.installed():
        found = metadata(causeway)
        resource = metadata(causeway, "oauth-protected-resource")

    assert found["issuer"] == BASE
    assert found["mtls_endpoint_aliases"] == {
        "token_endpoint": "https://127.0.0.1:8443/tpp/token",
        "revocation_endpoint": "https://127.0.0.1:8443/tpp/token/revoke",
        "introspection_endpoint": "https://127.0.0.1:8443/oauth/introspect",
        "pushed_authorization_request_endpoint": "https://127.0.0.1:8443/oauth/par",
    }
    assert "tls_client_auth" in found["token_endpoint_auth_methods_supported"]
    assert found["tls_client_certificate_bound_access_tokens"] is True
    assert resource["tls_client_certificate_bound_access_tokens"] is True


def test_the_protected_resource_metadata_lists_servers_methods_and_scopes(causeway: Causeway) -> None:
    found = metadata(causeway, "oauth-protected-resource")

    assert found["resource"] == BASE
    assert found["authorization_servers"] == [BASE]
    assert found["bearer_methods_supported"] == ["header"]
    assert found["dpop_signing_alg_values_supported"] == ALGORITHMS
    assert found["scopes_supported"] == metadata(causeway)["scopes_supported"]


@pytest.mark.parametrize("path", ["/oauth/par", "/oauth/introspect"])
def test_the_par_and_introspection_endpoints_return_errors_in_the_oauth_format(causeway: Causeway, path: str) -> None:
    for form, client_id, error, status in (
        ({"x": "y"}, "unknown", "invalid_client", 401),
        ({"x": "y"}, None, "invalid_request", 400),
    ):
        answer = causeway.tpp.call("POST", path, form=form, client_id=client_id)
        assert (answer.status, answer.body["error"]) == (status, error)
        assert answer.body["error_description"] == answer.body["title"]
    assert causeway.tpp.call("GET", path).status == 405


def test_a_pushed_request_with_an_unknown_bank_returns_400(causeway: Causeway) -> None:
    """The endpoint returns 400, although other calls return 404 for an unknown bank."""
    form = {"response_type": "code", "bic": "OTHERXX1", "scope": "accounts"}

    answer = causeway.tpp.call("POST", "/oauth/par", form=form)

    assert (answer.status, answer.body["error"]) == (400, "invalid_request")
