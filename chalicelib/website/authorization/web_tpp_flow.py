"""The web interface as a TPP: authorization, tokens and revocation for its users' clients.

It takes the same steps as any TPP. The request that a page displays is the one that is sent, because ``state`` and the
code verifier are derived from the draft in the page.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Mapping
from typing import Any, Literal

from chalicelib.foundation.clock import Clock
from chalicelib.foundation.fields.problems import InvalidMessage
from chalicelib.foundation.identifiers import base64url
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.foundation.settings import Settings
from chalicelib.openbanking.flows.consent.authorization import AuthorizationCodeFlow
from chalicelib.openbanking.flows.consent.tokens import TokenFlow
from chalicelib.openbanking.oauth.tpp_credentials import TppCredentials
from chalicelib.openbanking.protocol import refusals
from chalicelib.openbanking.protocol.errors import Refusal, refuse_fields
from chalicelib.openbanking.protocol.tpp_calls import FIELD_FAULTS, AuthorizeRequest
from chalicelib.openbanking.records.bank_record import Bank
from chalicelib.openbanking.records.client_record import Client
from chalicelib.openbanking.records.clients import Clients
from chalicelib.openbanking.records.consent_list import ConsentList
from chalicelib.statistics import current_call
from chalicelib.website.authorization.drafts import Drafts
from chalicelib.website.records.journeys import STATE_TIME, Journey, JourneyChanged, Journeys

Step = Literal["exchange", "refresh", "end"]


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


@dataclass(frozen=True, slots=True)
class WebTppFlow:
    """The steps of a user's journey, in order."""

    settings: Settings
    clock: Clock
    drafts: Drafts
    clients: Clients
    journeys: Journeys
    authorization_flow: AuthorizationCodeFlow
    token_flow: TokenFlow
    consents: ConsentList

    def request_body(self, choice: AuthorizationChoice) -> dict[str, Any]:
        """The body of ``POST /tpp/authorize``."""
        body: dict[str, Any] = {
            "bic": choice.bank.bic,
            "scopes": list(choice.scopes),
            "consent_type": choice.consent_type,
            "redirect_uri": self.clients.web_callback(choice.client),
            "state": self._state(choice),
        }
        if choice.with_challenge:
            hashed = hashlib.sha256(self._derive(choice, "verifier").encode()).digest()
            body |= {"code_challenge": base64url(hashed), "code_challenge_method": "S256"}
        return body

    def begin_authorization(self, choice: AuthorizationChoice) -> str:
        """Send the request. Returns the bank's URL, the same one after a double click. Raises: Refusal."""
        if not choice.client.active:
            raise refusals.CLIENT_INACTIVE()
        body = self.request_body(choice)
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
            "callback_url": self.clients.web_callback(choice.client),
        }
        verifier = self._derive(choice, "verifier") if choice.with_challenge else None
        journey: Journey | None = None
        with contextlib.suppress(JourneyChanged):  # created by the first of two clicks
            journey = self.journeys.begin(choice.owner, body["state"], members, verifier)
        try:
            return self.authorization_flow.authorize(choice.client, request, "browser").request_url
        except Refusal:
            if journey is not None:
                self.journeys.delete(journey)
            raise

    def receive_callback(self, owner: str, query: Mapping[str, str]) -> Journey | None:
        """Handle the return from the bank. Returns ``None`` if ``state`` does not belong to a journey of this user.

        A code is exchanged immediately, unless the client has a secret or a key, which only the user has. Reloading the
        page does not exchange it again.

        Raises: Refusal (the code was not exchanged).
        """
        journey = self.journeys.find(owner, query.get("state", ""))
        if journey is None or query.get("iss", self.settings.public_url) != self.settings.public_url:
            return None
        code = query.get("authorization_code") or query.get("code")
        try:
            if code and journey.exchanging_since is None:
                journey = self.journeys.record_code(journey, code)
                client = self.clients.get(journey.client_id)
                if not client.has_secret and not client.security.needs_key:
                    return self.exchange_code(journey, None)
            elif query.get("error") and journey.exchanging_since is None:
                description = query.get("error_description", "")
                return self.journeys.record_refusal(journey, query["error"][:64], description[:256])
        except JourneyChanged:
            return self.journeys.find(owner, journey.state)
        return journey

    def exchange_code(self, journey: Journey, secret: str | None) -> Journey:
        """Exchange the journey's code for tokens.

        An interrupted exchange can be repeated. If the code was not used, the repetition gets the tokens. If it was,
        the tokens are lost, and the second use ends the consent.

        Raises: Refusal, JourneyChanged (another request is exchanging the code or has exchanged it).
        """
        again = journey.is_interrupted(self.clock.time())
        if journey.stage != "code" or (journey.exchanging_since is not None and not again):
            raise JourneyChanged
        marked = self.journeys.begin_exchange(journey)
        known = self.journeys.unseal_secrets(marked)
        try:
            answer = self.token_flow.redeem(
                TppCredentials(marked.client_id, secret), known["code"], marked.callback_url, known.get("code_verifier")
            )
        except Refusal as refusal:
            current_call.record_failure("caller")  # the page that reports it may still be a success response
            if again and refusal.oauth_error == "invalid_grant":
                self.journeys.record_end(marked, None)
            else:
                self.journeys.release_exchange(marked, journey)
            raise
        return self.journeys.record_exchange(marked, answer)

    def refresh_tokens(self, journey: Journey, secret: str | None) -> Journey:
        """Exchange the journey's refresh token for new tokens; if it is invalid, the consent has ended.

        Raises: Refusal, JourneyChanged (another request is exchanging it).
        """
        token = self._refresh_token(journey)
        marked = self.journeys.begin_refresh(journey)
        try:
            answer = self.token_flow.refresh(TppCredentials(journey.client_id, secret), token)
        except Refusal as refusal:
            if refusal.oauth_error == "invalid_grant":
                self.journeys.record_end(marked, None)
            else:
                self.journeys.release_refresh(marked)
            raise
        return self.journeys.record_refresh(marked, answer)

    def end_consent(self, journey: Journey, secret: str | None) -> Journey:
        """End the journey's consent and notify the bank. Raises: Refusal, JourneyChanged."""
        self.token_flow.revoke_by_tpp(TppCredentials(journey.client_id, secret), self._refresh_token(journey))
        return self.journeys.record_end(journey, "user")

    def check_consent(self, journey: Journey) -> Journey:
        """Look up the consent of a journey with tokens; if it has ended elsewhere, as at the bank, record that."""
        if journey.stage != "tokens" or journey.consent_id is None:
            return journey
        consent, now = self.consents.find(journey.consent_id), self.clock.time()
        if consent is not None and consent.can_be_queried(now):
            return journey
        is_revoked = consent is not None and consent.state(now) == "revoked"
        by = consent.ended_by if consent is not None and is_revoked else "expired"
        try:
            return self.journeys.record_end(journey, by)
        except JourneyChanged:
            return self.journeys.find(journey.owner, journey.state) or journey

    def _refresh_token(self, journey: Journey) -> str:
        """The refresh token of a journey. Raises: JourneyChanged, if it has none."""
        if journey.stage != "tokens":
            raise JourneyChanged
        return self.journeys.unseal_secrets(journey)["refresh_token"]

    def _state(self, choice: AuthorizationChoice) -> str:
        """The timestamp of the draft, by which journeys are sorted, and 256 derived bits."""
        return choice.draft[:STATE_TIME] + self._derive(choice, "state")

    def _derive(self, choice: AuthorizationChoice, purpose: str) -> str:
        return self.drafts.derive_text(choice.draft, choice.owner, f"{purpose} of {choice.client.client_id}")
