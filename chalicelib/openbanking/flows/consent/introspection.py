"""Token introspection (RFC 7662): a client asks about its own tokens."""

from __future__ import annotations

from chalicelib.foundation.clock import Clock
from chalicelib.foundation.dynamodb.store import Item
from chalicelib.foundation.identifiers import OpaqueToken
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.openbanking.flows.tpp_authentication import TppAuthentication
from chalicelib.openbanking.oauth.tpp_credentials import TppCredentials
from chalicelib.openbanking.protocol.oauth_security import token_type
from chalicelib.openbanking.protocol.own_answers import IntrospectionAnswer
from chalicelib.openbanking.records.consents import Consent, Grant, consent_key, grant_key, token_key


@dataclass(frozen=True, slots=True)
class Introspection:
    """Describes tokens to the clients that have them. ``public_url`` is this service's public URL."""

    clock: Clock
    public_url: str
    tpp_authentication: TppAuthentication

    def describe(self, credentials: TppCredentials, token: str) -> IntrospectionAnswer:
        """A token's state; a token of another client is as unknown as any other. Raises: Refusal."""
        access, refresh = OpaqueToken.parse(token, parts=3), OpaqueToken.parse(token, parts=2)
        credential = access or refresh
        keys = []
        if credential is not None:
            consent_id = credential.ids[0]
            kind = token_key("access" if access else "refresh", credential)
            keys = [consent_key(consent_id), grant_key(consent_id), kind]
        client, found = self.tpp_authentication.authenticate_client_and_read(credentials, keys)
        consent = Consent.from_item(found[0]) if found and found[0] else None
        if credential is None or consent is None or consent.client_id != client.client_id:
            return {"active": False}
        if not consent.is_valid(self.clock.time()) or not self._is_current(credential, found[2]):
            return {"active": False}
        if access is not None:
            return self._describe_access(consent, found[2] or {})
        return self._describe_refresh(consent, Grant.from_item(found[1] or {}), credential.ids[1])

    def _is_current(self, credential: OpaqueToken, item: Item | None) -> bool:
        return item is not None and credential.matches(item["digest"]) and self.clock.time() < item["expires_at"]

    def _describe_access(self, consent: Consent, item: Item) -> IntrospectionAnswer:
        confirmation = item.get("cnf")
        answer = self._describe(consent, item["lasts_until"])
        answer["token_type"] = token_type(confirmation)
        return {**answer, "cnf": confirmation} if confirmation else answer

    def _describe_refresh(self, consent: Consent, grant: Grant, refresh_id: str) -> IntrospectionAnswer:
        """A refresh token is valid while no successor has been issued."""
        return self._describe(consent, consent.valid_until) if grant.refresh_id == refresh_id else {"active": False}

    def _describe(self, consent: Consent, expires_at: int) -> IntrospectionAnswer:
        return {
            "active": True,
            "scope": " ".join(consent.scopes),
            "client_id": consent.client_id,
            "exp": expires_at,
            "iss": self.public_url,
            "consent_id": consent.consent_id,
        }
