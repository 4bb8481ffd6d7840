"""The cancel URL, with which a bank redirects the PSU to the TPP without a consent."""

from __future__ import annotations

import string

from chalicelib.foundation import log
from chalicelib.foundation.identifiers import OpaqueToken
from chalicelib.foundation.requests.engine import Engine
from chalicelib.foundation.requests.facts import Facts
from chalicelib.foundation.requests.outcome import Outcome
from chalicelib.openbanking.flows.tpp_events import TppEvents
from chalicelib.openbanking.protocol.tpp_events import ConsentCancelled
from chalicelib.openbanking.protocol.version import Version
from chalicelib.openbanking.records.authorization_requests import (
    AuthorizationRequest,
    AuthorizationRequests,
    authorization_key,
)
from chalicelib.openbanking.records.client_record import Client, client_key

_ERROR_CHARACTERS = frozenset(string.ascii_letters + string.digits + string.punctuation + " ") - {'"', "\\"}


class UnknownCancelUrl(LookupError):
    """The cancel URL is invalid: this service did not issue it, or its client is inactive or has removed the Callback
    URL.
    """


def cancel(
    version: Version,
    secret: str,
    *,
    error: str | None,
    description: str | None,
    public_url: str,
    authorization_requests: AuthorizationRequests,
    tpp_events: TppEvents,
    engine: Engine,
) -> str:
    """Cancel a request when the PSU returns without a consent. Returns the redirect URL.

    A second call returns the same URL. An approved request retains its consent. If the PSU has chosen another bank, the
    cancel URL of the first bank does not end the request.

    Args:
        public_url: the service's address.

    Raises:
        UnknownCancelUrl: the URL is unknown, or no active client has the request's Callback URL.
    """
    credential = OpaqueToken.parse(secret, parts=1)
    if credential is None:
        raise UnknownCancelUrl
    key = authorization_key(credential.ids[0])

    def decide(facts: Facts) -> Outcome[str]:
        authorization = facts.find(AuthorizationRequest, key)
        if authorization is None or not authorization.has_cancel_url(version, credential):
            raise UnknownCancelUrl
        log.bind(authorization_id=authorization.authorization_id)
        client = _require_client(facts, authorization)
        if not credential.matches(authorization.cancel_digest):
            return Outcome(_redirect_url(authorization, public_url, "The user has chosen another bank"))
        if authorization.status == "approved":
            return Outcome(_redirect_url(authorization, public_url, "The authorization had already been approved"))
        if authorization.status == "cancelled":
            return Outcome(_redirect_url(authorization, public_url))
        code = _error_text(error, 64) or "access_denied"
        text = _error_text(description, 256) or "The authorization was cancelled at the bank"
        cancelled, cancellation = authorization_requests.update_to_cancel(authorization, code, text)
        event = tpp_events.record(client, "consent.cancelled", _describe_cancelled(cancelled, code, text))
        return Outcome(_redirect_url(cancelled, public_url), [cancellation], event)

    return engine.carry_out(decide, engine.read([key]))


def _describe_cancelled(authorization: AuthorizationRequest, error: str, description: str) -> ConsentCancelled:
    state = authorization.returned_state.get("state", "")
    return {"bic": authorization.bic, "state": state, "error": error, "error_description": description}


def _redirect_url(authorization: AuthorizationRequest, public_url: str, denial: str | None = None) -> str:
    """Return the Callback URL with the error of a cancelled request or of a ``denial``."""
    error, description = authorization.error or "", authorization.error_description or ""
    if denial is not None:
        error, description = "access_denied", denial
    return authorization.return_url({"error": error, "error_description": description}, public_url)


def _require_client(facts: Facts, authorization: AuthorizationRequest) -> Client:
    client = facts.find(Client, client_key(authorization.client_id))
    if client is None or not client.active or authorization.redirect_uri not in client.callback_urls:
        raise UnknownCancelUrl
    return client


def _error_text(text: str | None, length: int) -> str:
    """Drop the characters that RFC 6749 §4.1.2.1 forbids in errors, and truncate to ``length``."""
    return "".join(character for character in text or "" if character in _ERROR_CHARACTERS)[:length].strip()
