"""The cancel URL, by which a bank sends the PSU back to the TPP without a consent."""

from __future__ import annotations

import string

from chalicelib.delivery.outbox import Outbox
from chalicelib.foundation import log
from chalicelib.foundation.dynamodb.store import ConditionFailed, Store
from chalicelib.foundation.identifiers import OpaqueToken
from chalicelib.foundation.lazy_dataclasses import dataclass
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
    """Ends authorization requests without a consent; ``issuer`` is the service's address."""

    issuer: str
    store: Store
    authorization_requests: AuthorizationRequests
    tpp_events: TppEvents
    outbox: Outbox

    def cancel(self, version: Version, secret: str, error: str | None, description: str | None) -> str:
        """Cancel a request when the PSU returns without a consent. Returns the redirect URL.

        Calling it again returns the same URL; an approved request keeps its consent. The cancel URL of a bank instead
        of which the PSU has chosen another ends nothing.

        Raises:
            UnknownCancelUrl: the URL is unknown, or no active client has the request's Callback URL.
        """
        credential, authorization = self._find(version, secret)
        client = self._require_client(authorization)
        if authorization.status == "open" and credential.matches(authorization.cancel_digest):
            chosen = _error_text(error, 64) or "access_denied"
            text = _error_text(description, 256) or "The authorization was cancelled at the bank"
            authorization = self._cancel_request(authorization, client, chosen, text)
        if not credential.matches(authorization.cancel_digest):
            return self._redirect(authorization, "access_denied", "The user has chosen another bank")
        if authorization.status == "approved":
            return self._redirect(authorization, "access_denied", "The authorization had already been approved")
        return self._redirect(authorization, authorization.error or "", authorization.error_description or "")

    def _find(self, version: Version, secret: str) -> tuple[OpaqueToken, AuthorizationRequest]:
        credential = OpaqueToken.parse(secret, parts=1)
        item = self.store.get(*authorization_key(credential.ids[0])) if credential else None
        authorization = AuthorizationRequest.from_item(item) if item else None
        if credential is None or authorization is None or not authorization.has_cancel_url(version, credential):
            raise UnknownCancelUrl
        log.bind(authorization_id=authorization.authorization_id)
        return credential, authorization

    def _require_client(self, authorization: AuthorizationRequest) -> Client:
        item = self.store.get(*client_key(authorization.client_id))
        client = Client.from_item(item) if item else None
        if client is None or not client.active or authorization.redirect_uri not in client.callback_urls:
            raise UnknownCancelUrl
        return client

    def _cancel_request(
        self, authorization: AuthorizationRequest, client: Client, error: str, description: str
    ) -> AuthorizationRequest:
        """Cancel an open request and notify the TPP; one that was ended or replaced is returned as it is stored now."""
        ended, cancellation = self.authorization_requests.update_to_cancel(authorization, error, description)
        data: ConsentCancelled = {
            "bic": ended.bic,
            "state": ended.returned_state.get("state", ""),
            "error": error,
            "error_description": description,
        }
        event = self.tpp_events.record(client, "consent.cancelled", data)
        try:
            self.store.transact([cancellation, *event.operations])
        except ConditionFailed as failure:
            assert failure.item is not None, "the request was read a moment ago"
            return AuthorizationRequest.from_item(failure.item)
        self.outbox.dispatch(event)
        return ended

    def _redirect(self, authorization: AuthorizationRequest, error: str, description: str) -> str:
        return authorization.return_url({"error": error, "error_description": description}, self.issuer)


def _error_text(text: str | None, length: int) -> str:
    """Drop the characters that RFC 6749 §4.1.2.1 forbids in errors, and truncate to ``length``."""
    return "".join(character for character in text or "" if character in _ERROR_CHARACTERS)[:length].strip()
