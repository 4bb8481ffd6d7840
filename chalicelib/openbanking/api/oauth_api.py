"""Endpoints for standard OAuth clients: RFC 6749 authorization, RFC 8414 metadata, RFC 7517 keys."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from chalice.app import Response
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey

from chalicelib.foundation.crypto.signatures import jwk
from chalicelib.foundation.fields.problems import InvalidMessage
from chalicelib.foundation.http.web import Incoming, Routes, UnreadableBody, head_of_redirect, json_answer, redirect
from chalicelib.foundation.settings import Settings
from chalicelib.openbanking.api import answers
from chalicelib.openbanking.container import OpenBankingContainer
from chalicelib.openbanking.oauth.tpp_credentials import TppCredentials
from chalicelib.openbanking.protocol import refusals
from chalicelib.openbanking.protocol.errors import Refusal, refuse_fields
from chalicelib.openbanking.protocol.own_answers import KeySet, ServerMetadata
from chalicelib.openbanking.protocol.tpp_calls import NOT_SUPPORTED, REPEATABLE, AuthorizeRequest
from chalicelib.openbanking.protocol.versions import TPP_ERRORS, VERSIONS
from chalicelib.statistics import current_call


def _answer_failure(openbanking: OpenBankingContainer, incoming: Incoming, error: Exception) -> Response:
    return answers.failure_answer(openbanking.shared.clock, incoming, error)


def _failure_page(openbanking: OpenBankingContainer, incoming: Incoming, error: Exception) -> Response:
    refusal = answers.as_refusal(error)
    status = TPP_ERRORS.status(refusal)
    return openbanking.error_page(
        "The authorization cannot start",
        refusal.message[:1].upper() + refusal.message[1:] + ".",
        "Go back to the application you came from, and report this message to its developers.",
        status=status if status >= 500 else 400,
    )


oauth_routes = Routes[OpenBankingContainer](__name__, _answer_failure)


@oauth_routes.get("/oauth/authorize", _failure_page)
def authorize(openbanking: OpenBankingContainer, incoming: Incoming) -> Response:
    """Redirect to the bank. Errors are redirected to the client, or shown on an error page if the client is unknown."""
    pairs = dict(incoming.query)
    if not pairs.get("client_id"):
        raise refusals.CLIENT_ID_MISSING()
    client = openbanking.tpp_authentication.identify_client(TppCredentials(pairs["client_id"]))
    callback_url = pairs.get("redirect_uri") or client.callback_url
    if callback_url not in client.callback_urls:
        return openbanking.error_page(
            "The authorization cannot start",
            "The redirect_uri is not one of this client's registered Callback URLs.",
            "You were not redirected, because the address could belong to someone else.",
            status=400,
        )
    try:
        request = _read_request(incoming)
        if incoming.is_head:
            return head_of_redirect()
        authorization = openbanking.authorization_flow.authorize(client, request, repeatable=True)
    except Exception as error:
        refusal = answers.as_refusal(error)
        is_ours = TPP_ERRORS.status(refusal) >= 500
        current_call.record_failure("hub" if is_ours else "caller")  # a redirect status does not show the failure
        return _redirect_with_error(openbanking, callback_url, pairs.get("state"), refusal)
    return redirect(authorization.request_url)


def _read_request(incoming: Incoming) -> AuthorizeRequest:
    """Parse the RFC 6749 §4.1.1 query into an ``AuthorizeRequest``; unknown parameters are ignored (§3.1)."""
    try:
        query = {name: value for name, value in incoming.parameters(repeatable=REPEATABLE).items() if value}
    except UnreadableBody as error:
        raise answers.as_refusal(error) from None
    for name, fault in NOT_SUPPORTED.items():
        if name in query:
            raise refusals.PARAMETER_NOT_SUPPORTED(parameter=name, oauth_error=fault)
    if query.get("response_type") != "code":
        is_there = "response_type" in query
        raise refusals.RESPONSE_TYPE_WRONG(oauth_error="unsupported_response_type" if is_there else None)
    members: dict[str, Any] = {name: query[name] for name in AuthorizeRequest.model_fields if name in query}
    members["scopes"] = query.get("scope", "").split()
    try:
        return AuthorizeRequest.read(members)
    except InvalidMessage as error:
        raise refuse_fields(error) from None


def _redirect_with_error(
    openbanking: OpenBankingContainer, callback_url: str, state: str | None, refusal: Refusal
) -> Response:
    parameters = {
        "error": answers.oauth_error(refusal),
        "error_description": refusal.message,
        "iss": openbanking.shared.settings.public_url,
    }
    from chalicelib.openbanking.records.authorization_requests import with_query

    return redirect(with_query(callback_url, parameters | ({"state": state} if state else {})))


@oauth_routes.get("/.well-known/oauth-authorization-server")
def metadata(openbanking: OpenBankingContainer, incoming: Incoming) -> Response:
    """The metadata endpoint (RFC 8414)."""
    return json_answer(describe_server(openbanking.shared.settings), headers={"Cache-Control": "public, max-age=300"})


def describe_server(settings: Settings) -> ServerMetadata:
    """The authorization server metadata."""
    base = settings.public_url
    methods = ["client_secret_basic", "client_secret_post"] + (["none"] if settings.is_sandbox else [])
    return {
        "issuer": base,
        "authorization_endpoint": f"{base}/oauth/authorize",
        "token_endpoint": f"{base}/tpp/token",
        "revocation_endpoint": f"{base}/tpp/token/revoke",
        "jwks_uri": f"{base}/.well-known/jwks.json",
        "scopes_supported": [name for version in VERSIONS.values() for name in version.scopes],
        "response_types_supported": ["code"],
        "response_modes_supported": ["query"],
        "grant_types_supported": ["authorization_code", "refresh_token"],
        "token_endpoint_auth_methods_supported": methods,
        "revocation_endpoint_auth_methods_supported": methods,
        "code_challenge_methods_supported": ["S256"],
        "authorization_response_iss_parameter_supported": True,
        "request_parameter_supported": False,
        "request_uri_parameter_supported": False,
    }


@oauth_routes.get("/.well-known/jwks.json")
def keys(openbanking: OpenBankingContainer, incoming: Incoming) -> Response:
    """The public keys for verifying webhook signatures (RFC 7517)."""
    return json_answer(
        key_set(openbanking.shared.keyring.public_keys()), headers={"Cache-Control": "public, max-age=60"}
    )


def key_set(keys: Iterable[RSAPublicKey]) -> KeySet:
    """Convert public keys to a JSON Web Key Set."""
    return {"keys": [jwk(key) for key in keys]}
