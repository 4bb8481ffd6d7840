"""The web interface as a TPP: authorization, tokens and revocation for its users' clients.

The web interface takes the same steps as any TPP. It sends exactly the request that the page displays, because
``state`` and the code verifier are derived from the draft in the page.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Mapping
from typing import Any, Literal, TypeVar

from chalicelib.foundation.clock import Clock
from chalicelib.foundation.crypto.keyring import Keyring
from chalicelib.foundation.fields.problems import InvalidMessage
from chalicelib.foundation.identifiers import base64url
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.foundation.wiring import Call
from chalicelib.openbanking.flows.consent.authorization import authorize
from chalicelib.openbanking.flows.consent.tokens import redeem, refresh, revoke_by_tpp
from chalicelib.openbanking.oauth.tpp_request import TppCredentials
from chalicelib.openbanking.protocol import refusals
from chalicelib.openbanking.protocol.errors import Refusal, refuse_fields
from chalicelib.openbanking.protocol.tpp_calls import FIELD_FAULTS, AuthorizeRequest
from chalicelib.openbanking.records.bank_record import Bank
from chalicelib.openbanking.records.client_record import Client
from chalicelib.openbanking.records.clients import Clients
from chalicelib.openbanking.records.consent_list import ConsentList
from chalicelib.statistics import current_call
from chalicelib.website.authorization.drafts import derive_text
from chalicelib.website.records.journeys import STATE_TIME, Journey, JourneyChanged, Journeys

Step = Literal["exchange", "refresh", "end"]
A = TypeVar("A")


@dataclass(frozen=True, slots=True)
class AuthorizationChoice:
    """A user's choices for an authorization request. ``draft`` is a secret of this request (see ``drafts``)."""

    owner: str
    client: Client
    bank: Bank
    scopes: tuple[str, ...]
    consent_type: str
    with_challenge: bool
    draft: str


def request_body(choice: AuthorizationChoice, *, keyring: Keyring, clients: Clients) -> dict[str, Any]:
    """Build the body of ``POST /tpp/authorize``."""
    body: dict[str, Any] = {
        "bic": choice.bank.bic,
        "scopes": list(choice.scopes),
        "consent_type": choice.consent_type,
        "redirect_uri": clients.web_callback(choice.client),
        "state": _state(keyring, choice),
    }
    if choice.with_challenge:
        hashed = hashlib.sha256(_derive(keyring, choice, "verifier").encode()).digest()
        body |= {"code_challenge": base64url(hashed), "code_challenge_method": "S256"}
    return body


def begin_authorization(
    choice: AuthorizationChoice, *, keyring: Keyring, clients: Clients, journeys: Journeys, call_hub: Call
) -> str:
    """Send the authorization request and return the bank's URL, also for a duplicate form. Raises: Refusal."""
    if not choice.client.active:
        raise refusals.CLIENT_INACTIVE()
    body = request_body(choice, keyring=keyring, clients=clients)
    try:
        request = AuthorizeRequest.read(body)
    except InvalidMessage as error:
        raise refuse_fields(error, FIELD_FAULTS) from None
    members = {
        "client_id": choice.client.client_id,
        "client_title": choice.client.title,
        "bic": choice.bank.bic,
        "bank_name": choice.bank.name,
        "api_version": choice.bank.api_version,
        "scopes": list(choice.scopes),
        "consent_type": choice.consent_type,
        "callback_url": clients.web_callback(choice.client),
    }
    verifier = _derive(keyring, choice, "verifier") if choice.with_challenge else None
    journey: Journey | None = None
    with contextlib.suppress(JourneyChanged):  # created by the first of two clicks
        journey = journeys.begin(choice.owner, body["state"], members, verifier)
    try:
        return call_hub(authorize, choice.client, request, channel="browser").request_url
    except Refusal:
        if journey is not None:
            journeys.delete(journey)
        raise


def receive_callback(
    owner: str,
    query: Mapping[str, str],
    *,
    public_url: str,
    clock: Clock,
    clients: Clients,
    journeys: Journeys,
    call_hub: Call,
) -> Journey | None:
    """Handle the return from the bank. Returns ``None`` if ``state`` does not belong to a journey of this user.

    A code is exchanged immediately, unless the client has a secret or a key, which only the user has. Reloading the
    page does not exchange the code again.

    Raises: Refusal (the code was not exchanged).
    """
    journey = journeys.find(owner, query.get("state", ""))
    if journey is None or query.get("iss", public_url) != public_url:
        return None
    code = query.get("authorization_code") or query.get("code")
    try:
        if code and journey.exchanging_since is None:
            journey = journeys.record_code(journey, code)
            client = clients.get(journey.client_id)
            if not client.has_secret and not client.security.needs_key:
                return exchange_code(journey, None, clock=clock, journeys=journeys, call_hub=call_hub)
        elif query.get("error") and journey.exchanging_since is None:
            description = query.get("error_description", "")
            return journeys.record_refusal(journey, query["error"][:64], description[:256])
    except JourneyChanged:
        return journeys.find(owner, journey.state)
    return journey


def exchange_code(journey: Journey, secret: str | None, *, clock: Clock, journeys: Journeys, call_hub: Call) -> Journey:
    """Exchange the journey's code for tokens.

    An interrupted exchange can be retried. If the code is unused, the retry returns the tokens. If the code was used,
    the tokens are lost, and the second use ends the consent.

    Raises: Refusal, JourneyChanged (another request is exchanging the code or has exchanged it).
    """
    again = journey.is_interrupted(clock.time())
    if journey.stage != "code" or (journey.exchanging_since is not None and not again):
        raise JourneyChanged
    marked = journeys.begin_exchange(journey)
    secrets = journeys.unseal_secrets(marked)
    try:
        answer = call_hub(
            redeem,
            TppCredentials(marked.client_id, secret),
            secrets["code"],
            redirect_uri=marked.callback_url,
            code_verifier=secrets.get("code_verifier"),
        )
    except Refusal as refusal:
        current_call.record_failure("caller")  # the page that reports it may still be a success response
        if again and refusal.oauth_error == "invalid_grant":
            journeys.record_end(marked, None)
        else:
            journeys.release_exchange(marked, journey)
        raise
    return journeys.record_exchange(marked, answer)


def refresh_tokens(journey: Journey, secret: str | None, *, journeys: Journeys, call_hub: Call) -> Journey:
    """Exchange the journey's refresh token for new tokens. An invalid refresh token means that the consent has ended.

    Raises: Refusal, JourneyChanged (another request is exchanging the token).
    """
    token = _refresh_token(journeys, journey)
    marked = journeys.begin_refresh(journey)
    try:
        answer = call_hub(refresh, TppCredentials(journey.client_id, secret), token)
    except Refusal as refusal:
        if refusal.oauth_error == "invalid_grant":
            journeys.record_end(marked, None)
        else:
            journeys.release_refresh(marked)
        raise
    return journeys.record_refresh(marked, answer)


def end_consent(journey: Journey, secret: str | None, *, journeys: Journeys, call_hub: Call) -> Journey:
    """End the journey's consent and notify the bank. Raises: Refusal, JourneyChanged."""
    call_hub(revoke_by_tpp, TppCredentials(journey.client_id, secret), _refresh_token(journeys, journey))
    return journeys.record_end(journey, "user")


def check_consent(journey: Journey, *, clock: Clock, journeys: Journeys, consent_list: ConsentList) -> Journey:
    """Look up the consent of a journey with tokens. If it was ended elsewhere, for example at the bank, record its
    end.
    """
    if journey.stage != "tokens" or journey.consent_id is None:
        return journey
    consent, now = consent_list.find(journey.consent_id), clock.time()
    if consent is not None and consent.can_be_queried(now):
        return journey
    is_revoked = consent is not None and consent.state(now) == "revoked"
    by = consent.ended_by if consent is not None and is_revoked else "expired"
    try:
        return journeys.record_end(journey, by)
    except JourneyChanged:
        return journeys.find(journey.owner, journey.state) or journey


def _refresh_token(journeys: Journeys, journey: Journey) -> str:
    """Return the refresh token of a journey. Raises: JourneyChanged, if the journey has no refresh token."""
    if journey.stage != "tokens":
        raise JourneyChanged
    return journeys.unseal_secrets(journey)["refresh_token"]


def _state(keyring: Keyring, choice: AuthorizationChoice) -> str:
    """Return the draft's timestamp, by which journeys are sorted, and 256 derived bits."""
    return choice.draft[:STATE_TIME] + _derive(keyring, choice, "state")


def _derive(keyring: Keyring, choice: AuthorizationChoice, purpose: str) -> str:
    return derive_text(keyring, choice.draft, choice.owner, f"{purpose} of {choice.client.client_id}")
