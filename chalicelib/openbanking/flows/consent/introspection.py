"""Token introspection (RFC 7662): a client queries the state of its own tokens."""

from __future__ import annotations

from chalicelib.foundation.clock import Clock
from chalicelib.foundation.dynamodb.store import Item
from chalicelib.foundation.identifiers import OpaqueToken
from chalicelib.openbanking.flows.tpp_authentication import TppAuthentication
from chalicelib.openbanking.oauth.tpp_request import TppCredentials
from chalicelib.openbanking.protocol.oauth_security import token_type
from chalicelib.openbanking.protocol.own_answers import IntrospectionAnswer
from chalicelib.openbanking.records.consents import Consent, consent_key, grant_key, token_key
from chalicelib.openbanking.records.grants import Grant


def introspect(
    credentials: TppCredentials, token: str, *, clock: Clock, public_url: str, tpp_authentication: TppAuthentication
) -> IntrospectionAnswer:
    """Return a token's state. A token that belongs to another client is reported as unknown. Raises: Refusal.

    Args:
        public_url: this service's address.
    """
    access, refresh = OpaqueToken.parse(token, parts=3), OpaqueToken.parse(token, parts=2)
    credential = access or refresh
    keys = []
    if credential is not None:
        consent_id = credential.ids[0]
        kind = token_key("access" if access else "refresh", credential)
        keys = [consent_key(consent_id), grant_key(consent_id), kind]
    client, found = tpp_authentication.authenticate_client_and_read(credentials, keys)
    consent = Consent.from_item(found[0]) if found and found[0] else None
    if credential is None or consent is None or consent.client_id != client.client_id:
        return {"active": False}
    if not consent.is_valid(clock.time()) or not _is_current(credential, found[2], clock.time()):
        return {"active": False}
    if access is not None:
        return _describe_access(consent, found[2] or {}, public_url)
    if Grant.from_item(found[1] or {}).refresh_id != credential.ids[1]:  # a successor has been issued
        return {"active": False}
    return _describe(consent, consent.valid_until, public_url)


def _is_current(credential: OpaqueToken, item: Item | None, now: int) -> bool:
    return item is not None and credential.matches(item["digest"]) and now < item["expires_at"]


def _describe_access(consent: Consent, item: Item, public_url: str) -> IntrospectionAnswer:
    confirmation = item.get("cnf")
    answer = _describe(consent, item["lasts_until"], public_url)
    answer["token_type"] = token_type(confirmation)
    return {**answer, "cnf": confirmation} if confirmation else answer


def _describe(consent: Consent, expires_at: int, public_url: str) -> IntrospectionAnswer:
    return {
        "active": True,
        "scope": " ".join(consent.named_scopes),
        "client_id": consent.client_id,
        "exp": expires_at,
        "iss": public_url,
        "consent_id": consent.consent_id,
    }
