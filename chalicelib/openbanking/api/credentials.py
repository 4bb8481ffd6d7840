"""Reads the credentials of TPPs from headers, bodies and the connection, and returns nonces for DPoP proofs."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import Any, TypeVar
from urllib.parse import unquote_plus

from chalice.app import Response

from chalicelib.foundation import log, security_refusals
from chalicelib.foundation.fields.problems import InvalidMessage
from chalicelib.foundation.http.web import FORM, Incoming, UnreadableBody
from chalicelib.openbanking.container import OpenBankingContainer
from chalicelib.openbanking.oauth.tpp_request import TppCredentials
from chalicelib.openbanking.protocol import refusals
from chalicelib.openbanking.protocol.errors import refuse_fields
from chalicelib.openbanking.protocol.oauth_security import ASSERTION_TYPE, PROOF_ROUTES, AuthMethod, TokenType
from chalicelib.openbanking.protocol.tpp_calls import REPEATABLE, AuthorizationParameters

_TOKEN_TYPES: Mapping[str, TokenType] = {"bearer": "Bearer", "dpop": "DPoP"}


def read_credentials(
    openbanking: OpenBankingContainer, incoming: Incoming, members: Mapping[str, Any] | None = None
) -> TppCredentials:
    """Read the caller's credentials from headers, the connection, HTTP Basic and, in OAuth calls, ``members``.

    If the request has no form, a client assertion is sent in ``X-Client-Assertion``, and also names the client.

    Raises:
        Refusal: two values differ, or HTTP Basic is malformed.
    """
    members, settings = members or {}, openbanking.shared.settings
    scheme, _, value = incoming.headers.get("authorization", "").partition(" ")
    basic_id, basic_secret = _read_basic(value.strip()) if scheme.lower() == "basic" else (None, None)
    token_type = _TOKEN_TYPES.get(scheme.lower())
    assertion = _read_assertion(incoming, members)
    client_id = _single_value("Client ID", incoming.headers.get("x-api-key"), basic_id, members.get("client_id"))
    return TppCredentials(
        client_id=_read_subject(assertion) if client_id is None and assertion is not None else client_id,
        secret=_single_value("client secret", basic_secret, members.get("client_secret")),
        secret_method=_secret_method(basic_secret) if members else None,
        assertion=assertion,
        bearer=value.strip() if token_type else None,
        scheme=token_type or "Bearer",
        proof="" if "dpop" in incoming.repeated_headers else incoming.headers.get("dpop"),  # RFC 9449 §4.3
        certificate=(incoming.identity.get("clientCert") or {}).get("clientCertPem"),
        address=incoming.visitor_address(settings.cloudfront_secrets),
        method=incoming.method,
        endpoints=tuple(f"{base}{incoming.path}" for base in (settings.public_url, settings.mtls_url) if base),
        good_request_id=incoming.has_good_request_id or "x-request-id" not in incoming.headers,
    )


def read_token_request(openbanking: OpenBankingContainer, incoming: Incoming, model: Any) -> tuple[Any, TppCredentials]:
    """Parse the body and the credentials of a request about tokens.

    Client errors take precedence over errors in the body's members, which may include the credentials. If the body is
    unreadable, only the credentials in the headers are checked before the request is refused.

    Raises:
        Refusal, UnreadableBody.
    """
    as_form = incoming.content_type == FORM
    members = _read_members(openbanking, incoming, as_form)
    if isinstance(members, dict) and as_form:  # unknown form fields are dropped (RFC 6749 §3.2)
        members = {name: value for name, value in members.items() if name in model.model_fields}
    credentials = read_credentials(openbanking, incoming, members if isinstance(members, dict) else None)
    try:
        return model.read(members), credentials
    except InvalidMessage as error:
        openbanking.tpp_authentication.authenticate_client(credentials)
        refusal = refuse_fields(error)
        if any(problem.field == "grant_type" for problem in error.problems):
            refusal.oauth_error = "unsupported_grant_type"
        raise refusal from None


def read_pushed_request(
    openbanking: OpenBankingContainer, incoming: Incoming
) -> tuple[Mapping[str, str], TppCredentials]:
    """Read the members and credentials of a pushed authorization request, which is a form (RFC 9126 §2.1).

    Raises:
        Refusal, UnreadableBody.
    """
    members = _read_members(openbanking, incoming, as_form=True)
    return members, read_credentials(openbanking, incoming, members)


def _read_members(openbanking: OpenBankingContainer, incoming: Incoming, as_form: bool) -> Any:
    """Return the members of a form or JSON body. Raises: UnreadableBody, or Refusal if the client is unknown."""
    try:
        return incoming.form(repeatable=REPEATABLE) if as_form else incoming.json()
    except UnreadableBody:
        if (by_headers := read_credentials(openbanking, incoming)).client_id is not None:
            openbanking.tpp_authentication.identify_client(by_headers)
        raise


def add_nonce(openbanking: OpenBankingContainer, incoming: Incoming, response: Response) -> None:
    """Add a nonce for the next DPoP proof, if the caller uses DPoP or a token was refused (RFC 9449 §8).

    The response is sent even if no nonce can be created.
    """
    refused = incoming.route in PROOF_ROUTES and response.status_code >= 400
    if refused or "dpop" in incoming.headers or scheme_of(incoming) == "dpop":
        try:
            response.headers["DPoP-Nonce"] = openbanking.dpop_nonces.make()
        except Exception:
            log.exception("nonce not made")


def scheme_of(incoming: Incoming) -> str:
    """Return the scheme of the header ``Authorization`` in lower case, or an empty text without the header."""
    return incoming.headers.get("authorization", "").partition(" ")[0].lower()


R = TypeVar("R", bound=AuthorizationParameters)


def bind_code(request: R, jkt: str | None) -> R:
    """Return the request after binding its code to the key of the DPoP proof (RFC 9449 §10.1). Raises: Refusal."""
    if jkt is None or request.dpop_jkt == jkt:
        return request
    if request.dpop_jkt is not None:
        raise refusals.DPOP_JKT_OTHER()
    return request.model_copy(update={"dpop_jkt": jkt})


def _secret_method(basic_secret: str | None) -> AuthMethod:
    """Return how an OAuth request sends the client secret. Calls other than OAuth requests can use HTTP Basic only."""
    return "client_secret_basic" if basic_secret else "client_secret_post"


def _read_assertion(incoming: Incoming, members: Mapping[str, Any]) -> str | None:
    """Return the client assertion.

    If the assertion is not of the type of RFC 7523, return an empty text, which matches no client. Raises: Refusal.
    """
    sent, kind = members.get("client_assertion"), members.get("client_assertion_type")
    if (sent or kind) and kind != ASSERTION_TYPE:
        return ""
    return _single_value("client assertion", incoming.headers.get("x-client-assertion"), sent)


def _read_subject(assertion: str) -> str:
    """Return the client that an unverified assertion names. Raises: Refusal, if the assertion names no client."""
    from chalicelib.openbanking.oauth.private_key_jwt import read_subject

    subject = read_subject(assertion)
    if subject is None:
        security_refusals.record(
            "wrong_key", "client assertion refused", reason="it names no client, or its type is wrong"
        )
        raise refusals.ASSERTION_WRONG()
    return subject


def _single_value(what: str, *given: object) -> str | None:
    """Return the value of a credential that can be sent in several ways. Raises: Refusal, if the values differ."""
    values = {value for value in given if isinstance(value, str) and value}
    if len(values) > 1:
        raise refusals.CLIENT_CONTRADICTORY(part=what)
    return values.pop() if values else None


def _read_basic(value: str) -> tuple[str, str]:
    """Parse Client ID and secret from HTTP Basic (RFC 6749 §2.3.1). Raises: Refusal."""
    try:
        user, _, password = base64.b64decode(value, validate=True).decode("utf-8").partition(":")
        return unquote_plus(user, errors="strict"), unquote_plus(password, errors="strict")
    except (binascii.Error, ValueError):
        raise refusals.BASIC_MALFORMED() from None
