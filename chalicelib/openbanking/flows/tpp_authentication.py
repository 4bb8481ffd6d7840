"""Authentication of TPPs: by Client ID and, for PSU data, by the access token of a consent.

A client authenticates with a secret, a signed assertion or a certificate. A token may be bound to a key, and the
request must then prove possession of the key (RFC 8705, RFC 9449).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING

from chalicelib.foundation import log, security_refusals
from chalicelib.foundation.call_limits import CallLimits, LimitReached
from chalicelib.foundation.clock import Clock
from chalicelib.foundation.dynamodb.store import Item, Store
from chalicelib.foundation.identifiers import OpaqueToken
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.foundation.metrics import Metrics
from chalicelib.foundation.requests.facts import Key
from chalicelib.openbanking.oauth.tpp_request import TppCredentials
from chalicelib.openbanking.protocol import refusals
from chalicelib.openbanking.protocol.errors import Refusal
from chalicelib.openbanking.protocol.oauth_security import Confirmation
from chalicelib.openbanking.protocol.scopes import Service
from chalicelib.openbanking.records.client_record import CLIENT_ID_LENGTH, Client, client_key
from chalicelib.openbanking.records.consents import Consent, consent_key, token_key
from chalicelib.statistics import current_call

if TYPE_CHECKING:
    from chalicelib.openbanking.oauth.credential_checks import CredentialChecks, PresentedCertificate
    from chalicelib.openbanking.records.single_use import SingleUse

    Use = tuple[SingleUse, refusals.RefusalRow]


@dataclass(frozen=True, slots=True)
class Caller:
    """An authenticated client, the consent and token item of its bearer token, and other items from the same read."""

    client: Client
    consent: Consent
    token: Item
    items: list[Item | None]


@dataclass(frozen=True, slots=True)
class AuthenticatedClient:
    """An authenticated client at an authorization or token endpoint.

    ``jkt`` is the thumbprint of the key that signed the client's DPoP proof. ``presented`` is the certificate of the
    connection.
    """

    client: Client
    items: list[Item | None]
    jkt: str | None
    presented: PresentedCertificate | None


@dataclass(frozen=True, slots=True)
class _Found:
    """The client of a request, the items read with it, and the connection's certificate, if it can be parsed."""

    client: Client
    items: list[Item | None]
    presented: PresentedCertificate | None


class TppAuthentication:
    """Authenticates clients and bearer tokens with one strongly consistent read. A single-use credential also requires
    one write.

    Each request is counted once against a call limit of this process. Only requests of an authenticated client are
    counted against the client's limit. A request with only a Client ID, which is visible in every PSU's browser, is
    counted by client and IP address. So strangers cannot use up a client's limit.

    Args:
        client_calls: the default limit of clients, in calls per minute.
        checks: creates the verifier of assertions, proofs and certificates when a request first needs it.
    """

    def __init__(
        self, store: Store, clock: Clock, metrics: Metrics, client_calls: int, checks: Callable[[], CredentialChecks]
    ) -> None:
        self._store = store
        self._clock = clock
        self._metrics = metrics
        self._client_calls = client_calls
        self._proved, self._named = CallLimits(clock), CallLimits(clock)
        self._make_checks = checks

    def authenticate_client(self, credentials: TppCredentials) -> Client:
        """Return the calling client. The client must be active, and use the authentication method of its record.
        Raises: Refusal.
        """
        return self.authenticate_client_and_read(credentials, [])[0]

    def authenticate_confidential_client(self, credentials: TppCredentials) -> Client:
        """Return the calling client, which must have a credential for authentication. Raises: Refusal."""
        client = self.authenticate_client(credentials)
        if not client.is_confidential and not client.security.needs_certificate:
            raise refusals.CLIENT_PROVES_NOTHING()
        return client

    def authenticate_client_and_read(
        self, credentials: TppCredentials, keys: Sequence[Key], services: Sequence[Service] = ()
    ) -> tuple[Client, list[Item | None]]:
        """Authenticate the client, and read the items under ``keys`` in the same read.

        ``services`` are the services of the call. A PSD2 certificate must cover them.

        Raises:
            Refusal.
        """
        found = self._read(credentials, keys)
        if uses := self._check_client(found, credentials):
            self.credential_checks.use_up(found.client, uses)
        if services:
            self.check_roles(found.client, found.presented, services)
        _check_request_id(credentials)
        self._admit(found.client, credentials)
        return found.client, found.items

    def authenticate_client_and_proof(self, credentials: TppCredentials, keys: Sequence[Key]) -> AuthenticatedClient:
        """Authenticate the client, verify the request's DPoP proof if there is one, and read the items under ``keys``.

        Raises:
            Refusal: no credential is used up if the proof needs a nonce.
        """
        found = self._read(credentials, keys)
        uses, jkt = self._check_client(found, credentials), None
        if credentials.proof is not None:
            proof = self.credential_checks.check_proof(found.client, credentials)
            uses, jkt = [*uses, (proof.use, refusals.PROOF_WRONG_FOR_TOKEN)], proof.jkt
        if uses:
            self.credential_checks.use_up(found.client, uses)
        _check_request_id(credentials)
        self._admit(found.client, credentials)
        return AuthenticatedClient(found.client, found.items, jkt, found.presented)

    def require_confirmation(self, caller: AuthenticatedClient) -> Confirmation | None:
        """Return the key to which the caller's new tokens are bound, or ``None`` if they are not bound.

        Raises:
            Refusal: the client's tokens must be bound, and it did not prove possession of a key.
        """
        security = caller.client.security
        if security.tls_client_certificate_bound_access_tokens:
            return {"x5t#S256": self.credential_checks.check_certificate(caller.client, caller.presented).thumbprint}
        if caller.jkt is None and security.requires_proof:
            security_refusals.record(
                "wrong_key", "proof refused", client_id=caller.client.client_id, reason="there is none"
            )
            raise refusals.PROOF_WRONG_FOR_TOKEN()
        return {"jkt": caller.jkt} if caller.jkt is not None else None

    def identify_client(self, credentials: TppCredentials) -> Client:
        """Return the active client that sent the request, identified but not authenticated.

        The secret is optional, but must be correct if sent.

        Raises:
            Refusal.
        """
        found = self._read(credentials, [])
        if credentials.secret is not None:
            self._check_secret(found.client, credentials)
        return found.client

    def authenticate_bearer(
        self, credentials: TppCredentials, keys: Sequence[Key] = (), *, or_spent: bool = False
    ) -> Caller:
        """Return the calling client, the valid consent of its bearer token, and the items under ``keys``.

        The bearer token authenticates the caller, so neither secret nor assertion is required. If ``or_spent`` is true,
        the bearer token of a spent one-time consent is accepted.

        Raises:
            Refusal: the client or the bearer token is missing or invalid.
        """
        token = credentials.token
        own = [consent_key(token.ids[0]), token_key("access", token)] if token else []
        found = self._read(credentials, [*own, *keys])
        client = found.client
        proves_client = credentials.secret is not None or credentials.assertion is not None
        uses = self._check_client(found, credentials) if proves_client else []
        _check_request_id(credentials)
        if credentials.bearer is None:
            raise refusals.BEARER_MISSING()
        consent = self._consent(client, token, found.items[0], found.items[1]) if token else None
        if token is None or consent is None:
            raise refusals.BEARER_INVALID()
        access = found.items[1] or {}
        if found.presented is not None and found.presented.is_blocked:
            raise _refuse_token(client, "the certificate of the connection is on the blocklist")
        uses = [*uses, *self._check_confirmation(found, credentials, access)]
        if uses:
            self.credential_checks.use_up(client, uses)
        if client.security.organization_identifier is not None:
            self._check_token_roles(client, found.presented, consent)
        self._admit(client, credentials, has_bearer=True)
        if consent.status == "spent" and not or_spent:
            raise refusals.BEARER_SPENT()
        log.bind(consent_id=consent.consent_id)
        return Caller(client, consent, access, found.items[2:])

    def check_roles(
        self, client: Client, presented: PresentedCertificate | None, services: Collection[Service]
    ) -> None:
        """Check that the PSD2 certificate required by the client's record covers ``services``. Raises: Refusal."""
        if client.security.organization_identifier is not None:
            self.credential_checks.check_roles(
                client, self.credential_checks.check_certificate(client, presented), services
            )

    # -- internals

    @property
    def credential_checks(self) -> CredentialChecks:
        return self._make_checks()

    def _admit(self, client: Client, credentials: TppCredentials, *, has_bearer: bool = False) -> None:
        """Count a call against its rate limit. Raises: Refusal."""
        limit = client.calls_per_minute or self._client_calls
        try:
            if has_bearer or client.is_confidential or client.security.needs_certificate:
                self._proved.admit(client.client_id, limit)
            else:
                self._named.admit(f"{client.client_id} {credentials.address}", limit)
        except LimitReached as reached:
            log.warning("call limit reached", client_id=client.client_id, limit=limit)
            self._metrics.write({"CallsOverLimit": 1}, Limit="client")
            raise refuse_call(reached) from None

    def _check_token_roles(self, client: Client, presented: PresentedCertificate | None, consent: Consent) -> None:
        """Check the PSD2 certificate that accompanies a token. Without the certificate, the token is invalid (RFC 8705
        §3).

        Raises: Refusal.
        """
        try:
            self.check_roles(client, presented, consent.services)
        except Refusal as refusal:
            refusal.challenge = "invalid_token"
            raise

    def _read(self, credentials: TppCredentials, keys: Sequence[Key]) -> _Found:
        client_id = require_client_id(credentials.client_id)
        if credentials.certificate is None:
            items = self._store.batch_get([client_key(client_id), *keys])
            return _Found(_find_caller(items[0]), items[1:], None)
        return self._read_with_certificate(client_id, credentials.certificate, keys)

    def _read_with_certificate(self, client_id: str, pem: str, keys: Sequence[Key]) -> _Found:
        """Read items, and the certificate's entry in the operator's blocklist."""
        from chalicelib.openbanking.oauth.credential_checks import PresentedCertificate, parse_certificate
        from chalicelib.openbanking.records.certificate_blocklist import blocklist_key

        certificate = parse_certificate(pem)
        blocked = [blocklist_key(certificate.issuer, certificate.serial_number)] if certificate else []
        items = self._store.batch_get([client_key(client_id), *keys, *blocked])
        presented = PresentedCertificate(certificate, items[-1] is not None) if certificate else None
        return _Found(_find_caller(items[0]), items[1 : len(keys) + 1], presented)

    def _check_client(self, found: _Found, credentials: TppCredentials) -> list[Use]:
        """Check the client's credential by the client's method. Return the identifiers that are used up. Raises:
        Refusal.
        """
        security = found.client.security
        self._check_secret(found.client, credentials)
        if security.needs_certificate:
            self.credential_checks.check_certificate(found.client, found.presented)
        if security.auth_method == "private_key_jwt":
            use = self.credential_checks.check_assertion(found.client, credentials)
            return [(use, refusals.ASSERTION_WRONG)]
        if credentials.assertion is not None:
            reason = "the client does not use private_key_jwt"
            security_refusals.record(
                "wrong_key", "client assertion refused", client_id=found.client.client_id, reason=reason
            )
            raise refusals.ASSERTION_WRONG()
        return []

    def _check_secret(self, client: Client, credentials: TppCredentials) -> None:
        """Check the client secret. Raises: Refusal, also if a client without a secret sends one."""
        sent_by, wanted = credentials.secret_method, client.security.auth_method
        other_method = sent_by is not None and client.has_secret and wanted not in (None, sent_by)
        if other_method or not client.accepts_secret(credentials.secret, self._clock.time()):
            reason = "the secret is missing, wrong, or sent by another method"
            security_refusals.record(
                "wrong_client_credentials", "credentials refused", client_id=client.client_id, reason=reason
            )
            raise refusals.SECRET_WRONG()

    def _check_confirmation(self, found: _Found, credentials: TppCredentials, access: Item) -> list[Use]:
        """Check that the caller has the key to which its token is bound. Return the identifiers that are used up.

        Raises:
            Refusal.
        """
        confirmation: Confirmation = access.get("cnf") or {}
        if credentials.scheme == "DPoP" or "jkt" in confirmation:
            return [self._check_token_proof(found.client, credentials, confirmation.get("jkt"))]
        if "x5t#S256" in confirmation:
            self.credential_checks.check_bound_certificate(found.client, found.presented, confirmation["x5t#S256"])
        elif found.client.security.requires_bound_tokens:
            raise _refuse_token(found.client, "it is not bound to a key")
        return []

    def _check_token_proof(self, client: Client, credentials: TppCredentials, jkt: str | None) -> Use:
        if jkt is None or credentials.scheme != "DPoP":
            reason = "it is not bound to a DPoP key" if jkt is None else "it is bound to a key, and sent as a bearer"
            raise _refuse_token(client, reason)
        proof = self.credential_checks.check_proof(client, credentials)
        if proof.jkt != jkt:
            raise _refuse_token(client, "the proof is that of another key")
        return proof.use, refusals.PROOF_WRONG

    def _consent(self, client: Client, token: OpaqueToken, item: Item | None, access: Item | None) -> Consent | None:
        """Return the consent of this client's bearer token, if the consent is valid or spent."""
        now = self._clock.time()
        if item is None or access is None or not token.matches(access["digest"]) or access["expires_at"] <= now:
            return None
        consent = Consent.from_item(item)
        if (consent.client_id, consent.bic) != (client.client_id, token.ids[2]):
            return None
        return consent if consent.is_valid(now) or consent.is_spent(now) else None


def _refuse_token(client: Client, reason: str) -> Refusal:
    """Return the refusal of a token that may be stolen. Only the log contains the reason."""
    security_refusals.record("wrong_key", "token refused", client_id=client.client_id, reason=reason)
    return refusals.BEARER_INVALID()


def require_client_id(client_id: str | None) -> str:
    """Check that a request has a Client ID. Raises: Refusal."""
    if not client_id:
        raise refusals.CLIENT_MISSING()
    if len(client_id) > CLIENT_ID_LENGTH:
        raise refusals.CLIENT_UNKNOWN()
    return client_id


def _find_caller(item: Item | None) -> Client:
    """Return the active client in ``item``. The request is counted for this client even if it is refused. Raises:
    Refusal.
    """
    if item is not None:
        current_call.record_client(item["client_id"])
        log.bind(client_id=item["client_id"])
    return require_active_client(item)


def require_active_client(item: Item | None) -> Client:
    """Return the client in ``item``, which must be active. Raises: Refusal."""
    client = Client.from_item(item) if item else None
    if client is None or not client.active:
        raise refusals.CLIENT_UNKNOWN()
    return client


def refuse_call(reached: LimitReached) -> Refusal:
    """Return the refusal of a call above its client's limit."""
    return refusals.CALL_LIMIT_REACHED(limit=reached.limit, retry_after=reached.retry_after)


def _check_request_id(credentials: TppCredentials) -> None:
    if not credentials.good_request_id:
        raise refusals.REQUEST_ID_NOT_UUID()
