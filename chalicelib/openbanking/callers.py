"""Who calls: a TPP by its Client ID and, for a PSU's data, by the bearer of a consent (decisions: TPP-facing API)."""

from __future__ import annotations

from dataclasses import dataclass

from chalicelib.foundation.clock import Clock
from chalicelib.foundation.identifiers import Credential
from chalicelib.foundation.store import Item, Store
from chalicelib.openbanking.clients import Client, client_key
from chalicelib.openbanking.consents import Consent, consent_key, token_key
from chalicelib.openbanking.protocol.errors import Fault, Refusal

_CLIENT_ID = 64


@dataclass(frozen=True, slots=True)
class Credentials:
    """What a TPP shows. ``good_request_id`` is false when it sent an ``X-Request-Id`` that is not a UUID."""

    client_id: str | None
    bearer: str | None = None
    good_request_id: bool = True


class Callers:
    """Finds the client, and the consent behind a bearer, in one strongly consistent read."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    def client(self, credentials: Credentials) -> Client:
        """The active client that calls. Raises: Refusal."""
        client_id = named_client(credentials.client_id)
        return _check(credentials, self._store.get(*client_key(client_id)))

    def bearer(self, credentials: Credentials) -> tuple[Client, Consent]:
        """The active client that calls and the valid consent of its bearer. Raises: Refusal."""
        keys = [client_key(named_client(credentials.client_id))]
        token = Credential.parse(credentials.bearer or "", parts=2)
        if token is not None:
            keys += [consent_key(token.ids[0]), token_key("access", token)]
        found = self._store.batch_get(keys)
        client = _check(credentials, found[0])
        if credentials.bearer is None:
            raise _no_bearer("a bearer token is required")
        consent = self._consent(client, token, *found[1:]) if token is not None else None
        if consent is None:
            raise _no_bearer("the bearer token is not valid: refresh it, or ask the PSU to authorize again")
        return client, consent

    def _consent(self, client: Client, token: Credential, item: Item | None, access: Item | None) -> Consent | None:
        now = self._clock.time()
        if item is None or access is None or not token.matches(access["digest"]) or access["expires_at"] <= now:
            return None
        consent = Consent.from_item(item)
        return consent if consent.client_id == client.client_id and consent.is_valid(now) else None


def named_client(client_id: str | None) -> str:
    """The Client ID of a request that has to name one. Raises: Refusal."""
    if not client_id:
        raise Refusal(Fault.NOT_AUTHENTICATED, "header X-Api-Key with the Client ID is required")
    if len(client_id) > _CLIENT_ID:
        raise unknown_client()
    return client_id


def active_client(item: Item | None) -> Client:
    """Raises: Refusal."""
    client = Client.from_item(item) if item else None
    if client is None or not client.active:
        raise unknown_client()
    return client


def unknown_client() -> Refusal:
    return Refusal(Fault.WRONG_CREDENTIALS, "no active client has this Client ID", oauth_error="invalid_client")


def _check(credentials: Credentials, item: Item | None) -> Client:
    client = active_client(item)
    if not credentials.good_request_id:
        raise Refusal(Fault.REQUEST_ID, "header X-Request-Id must be a UUID")
    return client


def _no_bearer(message: str) -> Refusal:
    return Refusal(Fault.NOT_AUTHENTICATED, message, challenge=True)
