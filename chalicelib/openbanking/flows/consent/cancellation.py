"""The cancel URL, by which a bank sends the PSU back to the TPP without a consent."""

from __future__ import annotations

import string

from chalicelib.foundation import log
from chalicelib.foundation.identifiers import OpaqueToken
from chalicelib.foundation.lazy_dataclasses import dataclass
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
    """An invalid cancel URL: not issued by this service, or its client is inactive or has dropped the Callback URL."""


@dataclass(frozen=True, slots=True)
class AuthorizationCancellation:
    """Ends authorization requests without a consent; ``public_url`` is the service's address."""

    public_url: str
    authorization_requests: AuthorizationRequests
    tpp_events: TppEvents
    engine: Engine

    def cancel(self, version: Version, secret: str, error: str | None, description: str | None) -> str:
        """Cancel a request when the PSU returns without a consent. Returns the redirect URL.

        Calling it again returns the same URL; an approved request keeps its consent. The cancel URL of a bank instead
        of which the PSU has chosen another ends nothing.

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
                return Outcome(self._redirect(authorization, "access_denied", "The user has chosen another bank"))
            if authorization.status == "approved":
                text = "The authorization had already been approved"
                return Outcome(self._redirect(authorization, "access_denied", text))
            if authorization.status == "cancelled":
                return Outcome(self._redirect_ended(authorization))
            return self._end(authorization, client, error, description)

        return self.engine.carry_out(decide, self.engine.read([key]))

    def _end(
        self, authorization: AuthorizationRequest, client: Client, error: str | None, description: str | None
    ) -> Outcome[str]:
        """The end of an open request, of which the TPP is notified."""
        chosen = _error_text(error, 64) or "access_denied"
        text = _error_text(description, 256) or "The authorization was cancelled at the bank"
        ended, cancellation = self.authorization_requests.update_to_cancel(authorization, chosen, text)
        data: ConsentCancelled = {
            "bic": ended.bic,
            "state": ended.returned_state.get("state", ""),
            "error": chosen,
            "error_description": text,
        }
        event = self.tpp_events.record(client, "consent.cancelled", data)
        return Outcome(self._redirect_ended(ended), [cancellation], event)

    def _redirect_ended(self, ended: AuthorizationRequest) -> str:
        return self._redirect(ended, ended.error or "", ended.error_description or "")

    def _redirect(self, authorization: AuthorizationRequest, error: str, description: str) -> str:
        return authorization.return_url({"error": error, "error_description": description}, self.public_url)


def _require_client(facts: Facts, authorization: AuthorizationRequest) -> Client:
    client = facts.find(Client, client_key(authorization.client_id))
    if client is None or not client.active or authorization.redirect_uri not in client.callback_urls:
        raise UnknownCancelUrl
    return client


def _error_text(text: str | None, length: int) -> str:
    """Drop the characters that RFC 6749 §4.1.2.1 forbids in errors, and truncate to ``length``."""
    return "".join(character for character in text or "" if character in _ERROR_CHARACTERS)[:length].strip()
