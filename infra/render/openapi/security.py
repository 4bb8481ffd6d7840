"""The security schemes of the TPP-facing API: the methods of client authentication by type of call."""

from __future__ import annotations

from collections.abc import Mapping

from infra.render.openapi.own_calls import Caller
from infra.render.openapi.schemas import Json

_CLIENT_ID: Json = {"clientId": []}
_OF_CLIENTS: list[Json] = [_CLIENT_ID, {"clientSecret": []}, {"clientAssertion": []}, {"clientId": [], "mutualTLS": []}]
_OF_CONSENTS: list[Json] = [
    {"clientId": [], "bearer": []},
    {"clientId": [], "dpop": []},
    {"clientId": [], "bearer": [], "mutualTLS": []},
]
REQUIREMENTS: Mapping[Caller, list[Json]] = {
    "client": _OF_CLIENTS,
    "confidential client": [each for each in _OF_CLIENTS if each != _CLIENT_ID],
    "consent": _OF_CONSENTS,
    "consent or client": [*_OF_CONSENTS, *_OF_CLIENTS],
    "token client": [*_OF_CLIENTS, {"mutualTLS": []}, {}],
    "anybody": [],
}
SCHEMES: Mapping[str, Json] = {
    "clientId": {"type": "apiKey", "in": "header", "name": "X-Api-Key", "description": "The Client ID"},
    "bearer": {"type": "http", "scheme": "bearer", "description": "The access token of a consent"},
    "dpop": {
        "type": "http",
        "scheme": "DPoP",
        "description": "The access token of a consent that is bound to a DPoP key, with a proof in `DPoP` (RFC 9449)",
    },
    "mutualTLS": {
        "type": "mutualTLS",
        "description": "The client's certificate, at the base URL for mutual TLS: for clients with the method "
        "`tls_client_auth`, an organization identifier, or certificate-bound tokens (RFC 8705)",
    },
    "clientAssertion": {
        "type": "apiKey",
        "in": "header",
        "name": "X-Client-Assertion",
        "description": "A signed assertion (`private_key_jwt`, RFC 7523), for calls without a bearer token; it names "
        "the client",
    },
    "clientSecret": {
        "type": "http",
        "scheme": "basic",
        "description": "Client ID and client secret, for calls without a bearer token by clients that have a secret",
    },
}
