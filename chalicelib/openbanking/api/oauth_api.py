"""Endpoints for standard OAuth clients: authorization (RFC 6749, 9126), introspection (RFC 7662), metadata, and keys.

The metadata of RFC 8414 and RFC 9728 lets a client configure itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from chalice.app import Response
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey

from chalicelib.foundation.crypto.signatures import jwk
from chalicelib.foundation.http.web import Incoming, Routes, UnreadableBody, head_of_redirect, json_answer, redirect
from chalicelib.foundation.settings import Settings
from chalicelib.openbanking.api import answers
from chalicelib.openbanking.api.credentials import add_nonce, bind_code, read_pushed_request, read_token_request
from chalicelib.openbanking.container import OpenBankingContainer
from chalicelib.openbanking.oauth.tpp_request import TppCredentials, read_fields
from chalicelib.openbanking.protocol import refusals
from chalicelib.openbanking.protocol.errors import Refusal
from chalicelib.openbanking.protocol.oauth_metadata import KeySet, ResourceMetadata, ServerMetadata
from chalicelib.openbanking.protocol.oauth_security import ENDPOINTS, REQUEST_URI, SIGNING_ALGORITHMS, AuthMethod
from chalicelib.openbanking.protocol.tpp_calls import (
    NOT_SUPPORTED,
    REPEATABLE,
    AuthorizationParameters,
    ChosenBank,
    IntrospectionRequest,
)
from chalicelib.openbanking.protocol.versions import scope_names, services_of
from chalicelib.openbanking.records.client_record import Client
from chalicelib.statistics import current_call


def _answer_failure(openbanking: OpenBankingContainer, incoming: Incoming, error: Exception) -> Response:
    return answers.failure_answer(openbanking.shared.clock, incoming, error)


def _failure_page(openbanking: OpenBankingContainer, incoming: Incoming, error: Exception) -> Response:
    refusal = answers.as_refusal(error)
    answers.log_refusal(refusal)
    status = refusal.fault.status
    return openbanking.error_page(
        "The authorization cannot start",
        refusal.message[:1].upper() + refusal.message[1:] + ".",
        "Go back to the application you came from, and report this message to its developers.",
        status=status if status >= 500 else 400,
    )


_PARAMETERS = (
    *("client_id", "response_type", "response_mode", "redirect_uri", "scope", "state"),
    *("code_challenge", "code_challenge_method", "consent_type", "dpop_jkt"),
)
"""The parameters of an authorization request, which the page for choosing a bank sends again."""

oauth_routes = Routes[OpenBankingContainer](__name__, _answer_failure, completed=add_nonce)


@oauth_routes.get("/oauth/authorize", _failure_page)
def begin_authorization(openbanking: OpenBankingContainer, incoming: Incoming) -> Response:
    """Redirect to the bank. Without ``bic``, display a page where the user chooses the bank, which is sent as
    ``chosen_bic``.

    Errors are redirected to the client, or displayed on an error page if the client is unknown.
    """
    from chalicelib.openbanking.flows.consent.authorization import authorize

    pairs = dict(incoming.query)
    if not pairs.get("client_id"):
        raise refusals.CLIENT_ID_MISSING()
    if pairs.get("request_uri", "").startswith(REQUEST_URI):
        return _open_pushed(openbanking, incoming)
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
        query = _query_parameters(incoming)
        request = _read_request(query)
        chosen = _chosen_bic(query) if request.bic is None else None
        if request.bic is None and chosen is None:
            return _offer_banks(openbanking, query, client, request)
        if incoming.is_head:
            return head_of_redirect()
        authorization = openbanking.call(authorize, client, request, channel="browser", chosen_bic=chosen)
    except Exception as error:
        refusal = answers.as_refusal(error)
        answers.log_refusal(refusal)
        is_ours = refusal.fault.status >= 500
        current_call.record_failure("hub" if is_ours else "caller")  # a redirect status does not show the failure
        return _redirect_with_error(openbanking, callback_url, pairs.get("state"), refusal)
    return redirect(authorization.request_url)


def _open_pushed(openbanking: OpenBankingContainer, incoming: Incoming) -> Response:
    """Redirect to the bank for a pushed request. Other parameters are ignored (RFC 9126 §4). Raises: Refusal.

    If the client has named no bank, the user chooses a bank on a page, which sends the bank as ``chosen_bic``.
    """
    from chalicelib.openbanking.flows.bank.choice import offer_banks
    from chalicelib.openbanking.flows.consent.pushed_authorization import (
        check_choice,
        find_pushed,
        keep_open,
        open_pushed,
    )

    query = _query_parameters(incoming)
    found = openbanking.call(find_pushed, query["client_id"], query["request_uri"])
    bic = _chosen_bic(query) if found.needs_bank else None
    if found.needs_bank and bic is None:
        openbanking.call(check_choice, found)
        parameters = {name: query[name] for name in ("client_id", "request_uri")}
        choice = openbanking.call(offer_banks, found.client, found.pushed.request, query, parameters=parameters)
        if not (incoming.is_head or choice.search.errors):
            openbanking.call(keep_open, found)
        return openbanking.bank_choice_page(choice)
    if incoming.is_head:
        return head_of_redirect()
    return redirect(openbanking.call(open_pushed, found, bic).request_url)


def _offer_banks(
    openbanking: OpenBankingContainer, query: Mapping[str, str], client: Client, request: AuthorizationParameters
) -> Response:
    """Display the banks that the user can choose for a request without a bank, unless all banks would refuse the
    request. Raises: Refusal.
    """
    from chalicelib.openbanking.flows.bank.choice import offer_banks
    from chalicelib.openbanking.flows.consent.authorization import check_state, validate_request

    new = openbanking.call(validate_request, client, request, channel="browser")
    if new.returns_state:
        openbanking.call(check_state, new)
    parameters = {name: query[name] for name in _PARAMETERS if name in query}
    return openbanking.bank_choice_page(openbanking.call(offer_banks, client, new, query, parameters=parameters))


def _chosen_bic(query: Mapping[str, str]) -> str | None:
    """Return the bank that the user has chosen on the page, or ``None`` before the choice. Raises: Refusal."""
    return read_fields(ChosenBank, {name: query[name] for name in ChosenBank.model_fields if name in query}).chosen_bic


@oauth_routes.post("/oauth/par")
def push_request(openbanking: OpenBankingContainer, incoming: Incoming) -> Response:
    """Store an authorization request that the client's user will open (RFC 9126)."""
    from chalicelib.openbanking.flows.consent.pushed_authorization import push

    members, credentials = read_pushed_request(openbanking, incoming)
    caller = openbanking.tpp_authentication.authenticate_client_and_proof(credentials, [])
    request = bind_code(_read_request(members), caller.jkt)
    openbanking.tpp_authentication.check_roles(caller.client, caller.presented, services_of(request.scopes))
    return json_answer(openbanking.call(push, caller.client, request), 201)


@oauth_routes.post("/oauth/introspect")
def introspect_token(openbanking: OpenBankingContainer, incoming: Incoming) -> Response:
    """Describe a token of the calling client (RFC 7662)."""
    from chalicelib.openbanking.flows.consent.introspection import introspect

    request, credentials = read_token_request(openbanking, incoming, IntrospectionRequest)
    return json_answer(openbanking.call(introspect, credentials, request.token))


def _query_parameters(incoming: Incoming) -> dict[str, str]:
    """Return the query parameters. Parameters without a value count as absent (RFC 6749 §3.1). Raises: Refusal."""
    try:
        return {name: value for name, value in incoming.parameters(repeatable=REPEATABLE).items() if value}
    except UnreadableBody as error:
        raise answers.as_refusal(error) from None


def _read_request(query: Mapping[str, Any]) -> AuthorizationParameters:
    """Parse the parameters of RFC 6749 §4.1.1. Unknown parameters are ignored (§3.1). Raises: Refusal."""
    for name, fault in NOT_SUPPORTED.items():
        if name in query:
            raise refusals.PARAMETER_NOT_SUPPORTED(parameter=name, oauth_error=fault)
    if query.get("response_mode", "query") != "query":
        raise refusals.PARAMETER_NOT_SUPPORTED(parameter="this response_mode")
    if query.get("response_type") != "code":
        is_there = "response_type" in query
        raise refusals.RESPONSE_TYPE_WRONG(oauth_error="unsupported_response_type" if is_there else None)
    members: dict[str, Any] = {name: query[name] for name in AuthorizationParameters.model_fields if name in query}
    members["scopes"] = str(query.get("scope", "")).split()
    return read_fields(AuthorizationParameters, members)


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
    """Return the authorization server metadata (RFC 8414)."""
    return json_answer(describe_server(openbanking.shared.settings), headers={"Cache-Control": "public, max-age=300"})


def describe_server(settings: Settings) -> ServerMetadata:
    """Build the authorization server metadata."""
    base, methods, algorithms = settings.public_url, _auth_methods(settings), [*SIGNING_ALGORITHMS]
    aliases = {name: f"{settings.mtls_url}{path}" for name, path in ENDPOINTS.items()}
    metadata: ServerMetadata = {
        "issuer": base,
        "authorization_endpoint": f"{base}/oauth/authorize",
        "token_endpoint": f"{base}{ENDPOINTS['token_endpoint']}",
        "revocation_endpoint": f"{base}{ENDPOINTS['revocation_endpoint']}",
        "introspection_endpoint": f"{base}{ENDPOINTS['introspection_endpoint']}",
        "pushed_authorization_request_endpoint": f"{base}{ENDPOINTS['pushed_authorization_request_endpoint']}",
        "jwks_uri": f"{base}/.well-known/jwks.json",
        "scopes_supported": scope_names(),
        "response_types_supported": ["code"],
        "response_modes_supported": ["query"],
        "grant_types_supported": ["authorization_code", "refresh_token"],
        "token_endpoint_auth_methods_supported": methods,
        "token_endpoint_auth_signing_alg_values_supported": algorithms,
        "revocation_endpoint_auth_methods_supported": methods,
        "revocation_endpoint_auth_signing_alg_values_supported": algorithms,
        "introspection_endpoint_auth_methods_supported": methods,
        "introspection_endpoint_auth_signing_alg_values_supported": algorithms,
        "dpop_signing_alg_values_supported": algorithms,
        "tls_client_certificate_bound_access_tokens": settings.mtls_url is not None,
        "require_pushed_authorization_requests": False,
        "code_challenge_methods_supported": ["S256"],
        "authorization_response_iss_parameter_supported": True,
        "request_parameter_supported": False,
        "request_uri_parameter_supported": False,
        "protected_resources": [base],
    }
    return {**metadata, "mtls_endpoint_aliases": aliases} if settings.mtls_url else metadata


def _auth_methods(settings: Settings) -> list[str]:
    """Return the client authentication methods that the stage accepts."""
    methods: list[AuthMethod] = ["private_key_jwt", "client_secret_basic", "client_secret_post"]
    methods += ["tls_client_auth"] if settings.mtls_url else []
    methods += ["none"] if settings.is_sandbox else []
    return [*methods]


@oauth_routes.get("/.well-known/oauth-protected-resource")
def resource_metadata(openbanking: OpenBankingContainer, incoming: Incoming) -> Response:
    """Return the metadata of the TPP-facing API as a protected resource (RFC 9728)."""
    return json_answer(describe_resource(openbanking.shared.settings), headers={"Cache-Control": "public, max-age=300"})


def describe_resource(settings: Settings) -> ResourceMetadata:
    """Describe the TPP-facing API as a protected resource."""
    base = settings.public_url
    return {
        "resource": base,
        "resource_name": "Causeway",
        "resource_documentation": f"{base}/docs",
        "authorization_servers": [base],
        "jwks_uri": f"{base}/.well-known/jwks.json",
        "scopes_supported": scope_names(),
        "bearer_methods_supported": ["header"],
        "dpop_signing_alg_values_supported": [*SIGNING_ALGORITHMS],
        "dpop_bound_access_tokens_required": False,
        "tls_client_certificate_bound_access_tokens": settings.mtls_url is not None,
    }


@oauth_routes.get("/.well-known/jwks.json")
def keys(openbanking: OpenBankingContainer, incoming: Incoming) -> Response:
    """Return the public keys for verifying webhook signatures (RFC 7517)."""
    return json_answer(
        key_set(openbanking.shared.keyring.public_keys()), headers={"Cache-Control": "public, max-age=60"}
    )


def key_set(keys: Iterable[RSAPublicKey]) -> KeySet:
    """Convert public keys to a JSON Web Key Set."""
    return {"keys": [jwk(key) for key in keys]}
