"""Authentication of TPPs: by Client ID and, for PSU data, by the bearer of a consent (decisions: TPP-facing API)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

from chalicelib.foundation import log
from chalicelib.foundation.clock import Clock
from chalicelib.foundation.dynamodb.store import Item, Store
from chalicelib.foundation.identifiers import OpaqueToken
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.openbanking.protocol import refusals
from chalicelib.openbanking.records.client_record import CLIENT_ID_LENGTH, Client, client_key
from chalicelib.openbanking.records.consents import Consent, consent_key, token_key

Key = tuple[str, Item]


@dataclass(frozen=True, slots=True)
class TppCredentials:
    """A TPP's credentials. ``good_request_id`` is false if the ``X-Request-Id`` is not a UUID."""

    client_id: str | None
    secret: str | None = field(default=None, repr=False)
    bearer: str | None = field(default=None, repr=False)
    good_request_id: bool = True

    @property
    def token(self) -> OpaqueToken | None:
        """The bearer's parts, unverified: consent id, token id and BIC."""
        return OpaqueToken.parse(self.bearer or "", parts=3)


@dataclass(frozen=True, slots=True)
class Caller:
    """An authenticated client, its bearer's consent and token item, and other items from the same read."""

    client: Client
    consent: Consent
    token: Item
    items: list[Item | None]


class TppAuthentication:
    """Authenticates clients and bearers with one strongly consistent read."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    def authenticate_client(self, credentials: TppCredentials) -> Client:
        """The calling client, which must be active and use its secret if it has one. Raises: Refusal."""
        return self.authenticate_client_and_read(credentials, [])[0]

    def authenticate_client_and_read(
        self, credentials: TppCredentials, keys: Sequence[Key]
    ) -> tuple[Client, list[Item | None]]:
        """Authenticate the client, and read the items under ``keys`` with it. Raises: Refusal."""
        client, found = self._read(credentials, keys)
        self._check_secret(client, credentials)
        _check_request_id(credentials)
        return client, found

    def identify_client(self, credentials: TppCredentials) -> Client:
        """The active client that sent the request, identified but not authenticated.

        The secret is optional, but must be correct if sent.

        Raises:
            Refusal.
        """
        client, _ = self._read(credentials, [])
        if credentials.secret is not None:
            self._check_secret(client, credentials)
        return client

    def authenticate_bearer(
        self, credentials: TppCredentials, keys: Sequence[Key] = (), *, or_spent: bool = False
    ) -> Caller:
        """The calling client, its bearer's valid consent, and the items under ``keys``.

        The bearer authenticates the caller, so no secret is required. ``or_spent`` also accepts the bearer of a spent
        one-time consent.

        Raises:
            Refusal: the client or the bearer is missing or invalid.
        """
        token = credentials.token
        own = [consent_key(token.ids[0]), token_key("access", token)] if token else []
        client, found = self._read(credentials, [*own, *keys])
        if credentials.secret is not None:
            self._check_secret(client, credentials)
        _check_request_id(credentials)
        if credentials.bearer is None:
            raise refusals.BEARER_MISSING()
        consent = self._consent(client, token, found[0], found[1]) if token else None
        if token is None or consent is None:
            raise refusals.BEARER_INVALID()
        if consent.status == "spent" and not or_spent:
            raise refusals.BEARER_SPENT()
        log.bind(consent_id=consent.consent_id)
        return Caller(client, consent, found[1] or {}, found[2:])

    def _read(self, credentials: TppCredentials, keys: Sequence[Key]) -> tuple[Client, list[Item | None]]:
        found = self._store.batch_get([client_key(require_client_id(credentials.client_id)), *keys])
        return require_active_client(found[0]), found[1:]

    def _check_secret(self, client: Client, credentials: TppCredentials) -> None:
        """Check the secret. Raises: Refusal, also if a secret is sent but the client has none."""
        if not client.accepts_secret(credentials.secret, self._clock.time()):
            raise refusals.SECRET_WRONG()

    def _consent(self, client: Client, token: OpaqueToken, item: Item | None, access: Item | None) -> Consent | None:
        """The consent of this client's bearer, if valid or spent."""
        now = self._clock.time()
        if item is None or access is None or not token.matches(access["digest"]) or access["expires_at"] <= now:
            return None
        consent = Consent.from_item(item)
        if (consent.client_id, consent.bic) != (client.client_id, token.ids[2]):
            return None
        return consent if consent.is_valid(now) or consent.is_spent(now) else None


def require_client_id(client_id: str | None) -> str:
    """Check that a request has a Client ID. Raises: Refusal."""
    if not client_id:
        raise refusals.CLIENT_MISSING()
    if len(client_id) > CLIENT_ID_LENGTH:
        raise refusals.CLIENT_UNKNOWN()
    return client_id


def require_active_client(item: Item | None) -> Client:
    """The client in ``item``, which must be active. Raises: Refusal."""
    client = Client.from_item(item) if item else None
    if client is None or not client.active:
        raise refusals.CLIENT_UNKNOWN()
    return client


def _check_request_id(credentials: TppCredentials) -> None:
    if not credentials.good_request_id:
        raise refusals.REQUEST_ID_NOT_UUID()
