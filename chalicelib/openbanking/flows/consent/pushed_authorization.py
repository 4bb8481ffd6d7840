"""Pushed authorization requests (RFC 9126): a client pushes its request, and the user's browser sends a reference."""

from __future__ import annotations

from chalicelib.foundation import log
from chalicelib.foundation.clock import Clock
from chalicelib.foundation.dynamodb.store import Store
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.foundation.requests.engine import Engine
from chalicelib.foundation.requests.facts import Facts
from chalicelib.foundation.requests.outcome import Outcome
from chalicelib.openbanking.flows.consent.authorization import check_state, choose_bank, open_request, validate_request
from chalicelib.openbanking.flows.tpp_authentication import require_active_client, require_client_id
from chalicelib.openbanking.protocol import refusals
from chalicelib.openbanking.protocol.errors import Refusal
from chalicelib.openbanking.protocol.oauth_security import REQUEST_URI_SECONDS
from chalicelib.openbanking.protocol.own_answers import PushedAnswer
from chalicelib.openbanking.protocol.tpp_calls import AuthorizationParameters
from chalicelib.openbanking.records.authorization_requests import (
    AuthorizationRequest,
    AuthorizationRequests,
    NewAuthorizationRequest,
)
from chalicelib.openbanking.records.banks import Banks
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


def push(
    client: Client,
    request: AuthorizationParameters,
    *,
    is_sandbox: bool,
    banks: Banks,
    pushed_requests: PushedRequests,
    engine: Engine,
) -> PushedAnswer:
    """Check and store a client's request. Raises: Refusal."""
    new = validate_request(client, request, channel="pushed", is_sandbox=is_sandbox, banks=banks)
    request_uri, put = pushed_requests.put_pushed(new)
    answer: PushedAnswer = {"request_uri": request_uri, "expires_in": REQUEST_URI_SECONDS}
    return engine.carry_out(lambda _: Outcome(answer, [put]), Facts())


def find_pushed(client_id: str, request_uri: str, *, store: Store) -> FoundRequest:
    """Return the request that a ``request_uri`` refers to.

    Raises:
        Refusal: the reference is unknown, or belongs to another client.
    """
    credential = parse_request_uri(request_uri)
    keys = [pushed_key(credential.ids[0])] if credential else []
    found = store.batch_get([client_key(require_client_id(client_id)), *keys])
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


def open_pushed(
    found: FoundRequest,
    bic: str | None,
    *,
    store: Store,
    clock: Clock,
    banks: Banks,
    authorization_requests: AuthorizationRequests,
    pushed_requests: PushedRequests,
    engine: Engine,
) -> AuthorizationRequest:
    """Open the authorization request of a pushed request that has not expired. If it is already open, return the open
    request.

    Args:
        bic: the bank that the user has chosen, ignored if the client has named one.

    Raises:
        Refusal: the reference has expired, its request has ended, or the chosen bank cannot be used for it.
    """
    pushed, request = found.pushed, found.pushed.request
    if found.needs_bank:
        request = choose_bank(banks, request, bic or "")
        if pushed.can_be_opened(clock.time()):
            pushed = _keep(pushed, clock, pushed_requests, engine)
    if not pushed.can_be_opened(clock.time()):
        return _find_open(store, request, clock.time())
    return open_request(
        request, repeatable=True, clock=clock, banks=banks, authorization_requests=authorization_requests, engine=engine
    )


def check_choice(found: FoundRequest, *, store: Store, clock: Clock) -> None:
    """Check that the user can choose a bank now. Raises: Refusal."""
    if not found.pushed.can_be_opened(clock.time()):
        raise _refuse(found.client.client_id, "it has expired")
    check_state(found.pushed.request, store=store, clock=clock)


def keep_open(found: FoundRequest, *, clock: Clock, pushed_requests: PushedRequests, engine: Engine) -> None:
    """Extend a request while its user chooses a bank. Raises: Refusal, if the request has expired."""
    if not _keep(found.pushed, clock, pushed_requests, engine).can_be_opened(clock.time()):
        raise _refuse(found.client.client_id, "it has expired")


def _keep(pushed: PushedRequest, clock: Clock, pushed_requests: PushedRequests, engine: Engine) -> PushedRequest:
    """Extend the storage of a pushed request when it is first opened. Raises: Refusal."""
    key = pushed_key(pushed.pushed_id)

    def decide(facts: Facts) -> Outcome[PushedRequest]:
        current = facts.latest(PushedRequest, pushed, key)
        if current is None:
            raise _refuse(pushed.request.client_id, "it is unknown")
        if current.kept_until is not None or not current.can_be_opened(clock.time()):
            return Outcome(current)
        request, update = pushed_requests.update_to_keep(current)
        return Outcome(request, [update], is_repeatable=True)

    return engine.carry_out(decide, Facts())


def _find_open(store: Store, request: NewAuthorizationRequest, now: int) -> AuthorizationRequest:
    """Return the open authorization request to which an expired reference has led. Raises: Refusal."""
    item = store.get(*request.key)
    opened = AuthorizationRequest.from_item(item) if item else None
    if opened is None or not opened.is_of(request) or not opened.is_open(now):
        raise _refuse(request.client_id, "it has expired")
    return opened


def _refuse(client_id: str, reason: str) -> Refusal:
    log.warning("request_uri refused", client_id=client_id, reason=reason)
    return refusals.REQUEST_URI_INVALID()
