"""Verification of client assertions, proofs of possession and certificates.

A refusal does not give the caller the reason why a credential is invalid. The reason is logged.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from chalicelib.foundation import log, security_refusals
from chalicelib.foundation.ca_bundle import CaBundle
from chalicelib.foundation.clock import Clock
from chalicelib.foundation.crypto.certificates import Certificate, InvalidCertificate, read_certificate, same_subject
from chalicelib.foundation.crypto.signed_jwts import InvalidJwt
from chalicelib.foundation.http.outbound import Outbound
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.foundation.settings import Settings
from chalicelib.openbanking.oauth.dpop import DpopNonces, DpopProofs, NonceNeeded, Proof
from chalicelib.openbanking.oauth.key_sets import KeySets
from chalicelib.openbanking.oauth.private_key_jwt import ClientAssertions
from chalicelib.openbanking.oauth.tpp_request import TppCredentials
from chalicelib.openbanking.protocol import refusals
from chalicelib.openbanking.protocol.scopes import Service, missing_roles
from chalicelib.openbanking.records.client_record import Client
from chalicelib.openbanking.records.single_use import SingleUse, SingleUses, UsedBefore


@dataclass(slots=True)
class PresentedCertificate:
    """The certificate of a connection, and whether the operator has blocked the certificate.

    ``is_trusted`` caches whether the certificate's authority was checked in this request.
    """

    certificate: Certificate
    is_blocked: bool
    is_trusted: bool = False


class CredentialChecks:
    """Verifies all credentials of a request except a client secret."""

    def __init__(
        self,
        settings: Settings,
        clock: Clock,
        outbound: Outbound,
        dpop_nonces: DpopNonces,
        single_uses: SingleUses,
        tpp_ca_bundle: CaBundle,
    ) -> None:
        endpoints = [f"{base}/tpp/token" for base in (settings.public_url, settings.mtls_url) if base]
        key_sets = KeySets(outbound, clock.real)
        self.assertions = ClientAssertions(key_sets, clock.real, settings.public_url, endpoints)
        self.proofs = DpopProofs(dpop_nonces, clock.real)
        self._single_uses = single_uses
        self._authorities = tpp_ca_bundle

    def check_assertion(self, client: Client, credentials: TppCredentials) -> SingleUse:
        """Verify the client's assertion. Raises: Refusal."""
        try:
            return self.assertions.verify(client, credentials.assertion or "", credentials.endpoints)
        except InvalidJwt as error:
            security_refusals.record(
                "wrong_key", "client assertion refused", client_id=client.client_id, reason=str(error)
            )
            raise refusals.ASSERTION_WRONG() from None

    def check_proof(self, client: Client, credentials: TppCredentials) -> Proof:
        """Verify the DPoP proof of a request and its binding to the access token, if any. Raises: Refusal."""
        at_token_endpoint = credentials.bearer is None
        try:
            return self.proofs.verify(
                credentials.proof or "",
                credentials.method,
                credentials.endpoints,
                token=credentials.bearer,
                needs_nonce=client.security.dpop_nonce_required,
            )
        except NonceNeeded:
            raise (refusals.NONCE_NEEDED_FOR_TOKEN if at_token_endpoint else refusals.NONCE_NEEDED)() from None
        except InvalidJwt as error:
            security_refusals.record("wrong_key", "proof refused", client_id=client.client_id, reason=str(error))
            raise (refusals.PROOF_WRONG_FOR_TOKEN if at_token_endpoint else refusals.PROOF_WRONG)() from None

    def check_certificate(self, client: Client, presented: PresentedCertificate | None) -> Certificate:
        """Check the certificate that the client's record requires. Raises: Refusal."""
        try:
            certificate = self.require_trusted(presented)
            _check_owner(client, certificate)
        except InvalidCertificate as error:
            raise _refuse_certificate(client, str(error)) from None
        return certificate

    def check_roles(self, client: Client, certificate: Certificate, services: Collection[Service]) -> None:
        """Check that the certificate's PSD2 roles cover ``services`` (ETSI TS 119 495). Raises: Refusal."""
        from chalicelib.openbanking.protocol.psd2_statement import read_roles

        try:
            missing = missing_roles(read_roles(certificate.pem), services)
        except InvalidCertificate as error:
            raise _refuse_certificate(client, str(error)) from None
        if missing:
            raise _refuse_certificate(client, f"it lacks the role {', '.join(sorted(missing))}")

    def require_trusted(self, presented: PresentedCertificate | None) -> Certificate:
        """Return the certificate of the connection, if it is trusted now. Raises: InvalidCertificate."""
        if presented is None:
            raise InvalidCertificate("there is none")
        if presented.is_blocked:
            raise InvalidCertificate("it is on the blocklist")
        if not presented.is_trusted:
            self._authorities.check(presented.certificate)
            presented.is_trusted = True
        return presented.certificate

    def check_bound_certificate(self, client: Client, presented: PresentedCertificate | None, thumbprint: str) -> None:
        """Check that the connection has the trusted certificate to which a token is bound (RFC 8705 §3).

        Raises:
            Refusal.
        """
        try:
            if self.require_trusted(presented).thumbprint == thumbprint:
                return
            reason = "it is not the certificate to which the token is bound"
        except InvalidCertificate as error:
            reason = str(error)
        security_refusals.record(
            "refused_certificate", "certificate refused", client_id=client.client_id, reason=reason
        )
        raise refusals.BEARER_INVALID()

    def use_up(self, client: Client, uses: Sequence[tuple[SingleUse, refusals.RefusalRow]]) -> None:
        """Mark the identifiers of assertions and proofs as used, either all or none. Raises: the refusal of an
        identifier that was used before.
        """
        try:
            self._single_uses.claim([use for use, _ in uses])
        except UsedBefore as error:
            row = uses[error.position][1]
            kind = "client assertion" if row is refusals.ASSERTION_WRONG else "proof"
            security_refusals.record(
                "replayed_proof", f"{kind} refused", client_id=client.client_id, reason="its jti was used before"
            )
            raise row() from None


def parse_certificate(pem: str) -> Certificate | None:
    """Return the certificate of a connection, or ``None`` if it is missing or cannot be parsed."""
    try:
        return read_certificate(pem)
    except InvalidCertificate as error:
        log.warning("certificate not read", reason=str(error))
        return None


def _check_owner(client: Client, certificate: Certificate) -> None:
    """Check that a certificate is the client's own. Raises: InvalidCertificate."""
    subject = client.security.tls_client_auth_subject_dn
    if subject is not None and not same_subject(subject, certificate.subject):
        raise InvalidCertificate(f"its subject, {certificate.subject}, is not that of the client's record")
    organization = client.security.organization_identifier
    if organization is not None and certificate.organization_identifier != organization:
        raise InvalidCertificate("its organization identifier is not that of the client's record")


def _refuse_certificate(client: Client, reason: str) -> Exception:
    security_refusals.record("refused_certificate", "certificate refused", client_id=client.client_id, reason=reason)
    return refusals.TPP_CERTIFICATE_WRONG()
