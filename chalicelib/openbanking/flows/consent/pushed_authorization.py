"""Pushed authorization requests (RFC 9126): a client pushes its request, and the user's browser brings a reference."""

from __future__ import annotations

from chalicelib.foundation import log
from chalicelib.foundation.clock import Clock
from chalicelib.foundation.dynamodb.store import Store
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.foundation.requests.engine import Engine
from chalicelib.foundation.requests.facts import Facts
from chalicelib.foundation.requests.outcome import Outcome
from chalicelib.openbanking.flows.consent.authorization import AuthorizationCodeFlow
from chalicelib.openbanking.flows.tpp_authentication import require_active_client, require_client_id
from chalicelib.openbanking.protocol import refusals
from chalicelib.openbanking.protocol.errors import Refusal
from chalicelib.openbanking.protocol.oauth_security import REQUEST_URI_SECONDS
from chalicelib.openbanking.protocol.own_answers import PushedAnswer
from chalicelib.openbanking.protocol.tpp_calls import AuthorizationParameters
from chalicelib.openbanking.records.authorization_requests import (
    AuthorizationRequest,
    NewAuthorizationRequest,
    authorization_key,
    compute_authorization_id,
)
from chalicelib.openbanking.records.client_record import Client, client_key
from chalicelib.openbanking.records.pushed_requests import PushedRequest, PushedRequests, parse_request_uri, pushed_key


@dataclass(frozen=True, slots=True)
class FoundRequest:
    """A pushed request and its client."""

    client: Client
    pushed: PushedRequest

    @property
    def needs_bank(self) -> bool:
        """Whether the user chooses the bank."""
        return self.pushed.request.bic is None


@dataclass(frozen=True, slots=True)
class PushedAuthorization:
    """Stores pushed requests, and opens one authorization request for each."""

    store: Store
    clock: Clock
    authorization_flow: AuthorizationCodeFlow
    pushed_requests: PushedRequests
    engine: Engine

    def push(self, client: Client, request: AuthorizationParameters) -> PushedAnswer:
        """Check and store a client's request. Raises: Refusal."""
        new = self.authorization_flow.validate(client, request, "pushed")
        request_uri, put = self.pushed_requests.put_pushed(new)
        answer: PushedAnswer = {"request_uri": request_uri, "expires_in": REQUEST_URI_SECONDS}
        return self.engine.carry_out(lambda _: Outcome(answer, [put]), Facts())

    def find(self, client_id: str, request_uri: str) -> FoundRequest:
        """The request of a ``request_uri``. Raises: Refusal: the reference is unknown, or another client's."""
        credential = parse_request_uri(request_uri)
        keys = [pushed_key(credential.ids[0])] if credential else []
        found = self.store.batch_get([client_key(require_client_id(client_id)), *keys])
        client = require_active_client(found[0])
        pushed = PushedRequest.from_item(found[1]) if len(found) > 1 and found[1] else None
        if credential is None or pushed is None or not credential.matches(pushed.digest):
            raise _refuse(client.client_id, "it is unknown")
        request = pushed.request
        if request.client_id != client.client_id:
            raise _refuse(client.client_id, "it is another client's")
        if request.redirect_uri not in client.callback_urls:
            raise _refuse(client.client_id, "its redirect_uri is no longer registered")
        return FoundRequest(client, pushed)

    def open(self, found: FoundRequest, bic: str | None) -> AuthorizationRequest:
        """The authorization request of a pushed one, opened in time, or the one that is open already.

        Args:
            bic: the bank that the user has chosen; ignored if the client has named one.

        Raises:
            Refusal: the reference has expired, or its request has ended; the chosen bank cannot be used for it.
        """
        pushed = found.pushed
        if found.needs_bank:
            request = self.authorization_flow.choose_bank(pushed.request, bic or "")
            if pushed.can_be_opened(self.clock.time()):
                pushed = self._keep(pushed)
        else:
            request = pushed.request
        if not pushed.can_be_opened(self.clock.time()):
            return self._find_open(request)
        return self.authorization_flow.open(request, repeatable=True)

    def check_choice(self, found: FoundRequest) -> None:
        """Check that the user can choose a bank now. Raises: Refusal."""
        if not found.pushed.can_be_opened(self.clock.time()):
            raise _refuse(found.client.client_id, "it has expired")
        self.authorization_flow.check_state(found.pushed.request)

    def keep_open(self, found: FoundRequest) -> None:
        """Keep a request open while its user chooses a bank. Raises: Refusal: it has expired."""
        if not self._keep(found.pushed).can_be_opened(self.clock.time()):
            raise _refuse(found.client.client_id, "it has expired")

    def _keep(self, pushed: PushedRequest) -> PushedRequest:
        """The request as it is stored after its first opening. Raises: Refusal."""
        key = pushed_key(pushed.pushed_id)

        def decide(facts: Facts) -> Outcome[PushedRequest]:
            stored = facts.known(PushedRequest, pushed, key)
            if stored is None:
                raise _refuse(pushed.request.client_id, "it is unknown")
            if stored.kept_until is not None or not stored.can_be_opened(self.clock.time()):
                return Outcome(stored)
            kept, update = self.pushed_requests.update_to_keep(stored)
            return Outcome(kept, [update], is_repeatable=True)

        return self.engine.carry_out(decide, Facts())

    def _find_open(self, request: NewAuthorizationRequest) -> AuthorizationRequest:
        """The open authorization request that an expired reference has led to. Raises: Refusal."""
        item = self.store.get(*authorization_key(compute_authorization_id(request.client_id, request.state)))
        opened = AuthorizationRequest.from_item(item) if item else None
        if opened is None or not opened.is_of(request) or not opened.is_open(self.clock.time()):
            raise _refuse(request.client_id, "it has expired")
        return opened


def _refuse(client_id: str, reason: str) -> Refusal:
    log.warning("request_uri refused", client_id=client_id, reason=reason)
    return refusals.REQUEST_URI_INVALID()
