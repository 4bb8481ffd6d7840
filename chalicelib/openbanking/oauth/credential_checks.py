"""Verification of assertions, proofs and certificates, and the refusals that follow.

A caller learns that a credential was refused, but not why: the reason is in the log.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from chalicelib.foundation import log
from chalicelib.foundation.clock import Clock
from chalicelib.foundation.crypto.certificates import (
    Certificate,
    InvalidCertificate,
    TrustedAuthorities,
    read_certificate,
    same_subject,
)
from chalicelib.foundation.crypto.signed_jwts import InvalidJwt
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.openbanking.oauth.dpop import DpopProofs, NonceNeeded, Proof
from chalicelib.openbanking.oauth.private_key_jwt import ClientAssertions
from chalicelib.openbanking.oauth.tpp_credentials import TppCredentials
from chalicelib.openbanking.protocol import refusals
from chalicelib.openbanking.protocol.psd2_certificates import missing_roles, read_roles
from chalicelib.openbanking.protocol.scopes import Service
from chalicelib.openbanking.records.client_record import Client
from chalicelib.openbanking.records.single_use import SingleUse, SingleUses, UsedBefore


@dataclass(frozen=True, slots=True)
class PresentedCertificate:
    """The certificate of a connection, and whether the operator has blocked it."""

    certificate: Certificate
    is_blocked: bool


@dataclass(frozen=True, slots=True)
class CredentialChecks:
    """Verifies what a request presents besides a client secret.

    ``authorities`` returns those that issue the certificates of TPPs, or ``None`` if the stage trusts none.
    """

    assertions: ClientAssertions
    proofs: DpopProofs
    single_uses: SingleUses
    authorities: Callable[[], TrustedAuthorities | None]
    clock: Clock

    def check_assertion(self, client: Client, credentials: TppCredentials) -> SingleUse:
        """Verify the client's assertion. Raises: Refusal."""
        try:
            return self.assertions.verify(client, credentials.assertion or "", credentials.endpoints)
        except InvalidJwt as error:
            log.warning("client assertion refused", client_id=client.client_id, reason=str(error))
            raise refusals.ASSERTION_WRONG() from None

    def check_proof(self, client: Client, credentials: TppCredentials) -> Proof:
        """Verify the DPoP proof of a request, which is bound to its access token, if it has one. Raises: Refusal."""
        for_token = credentials.bearer is None
        try:
            return self.proofs.verify(
                credentials.proof or "",
                credentials.method,
                credentials.endpoints,
                token=credentials.bearer,
                needs_nonce=client.security.dpop_nonce_required,
            )
        except NonceNeeded:
            raise (refusals.NONCE_NEEDED_FOR_TOKEN if for_token else refusals.NONCE_NEEDED)() from None
        except InvalidJwt as error:
            log.warning("proof refused", client_id=client.client_id, reason=str(error))
            raise (refusals.PROOF_WRONG_FOR_TOKEN if for_token else refusals.PROOF_WRONG)() from None

    def check_certificate(self, client: Client, presented: PresentedCertificate | None) -> Certificate:
        """Check the certificate that the client's record demands. Raises: Refusal."""
        try:
            certificate = self.require_trusted(presented)
            _check_owner(client, certificate)
        except InvalidCertificate as error:
            raise _refuse_certificate(client, str(error)) from None
        return certificate

    def check_roles(self, client: Client, certificate: Certificate, services: Collection[Service]) -> None:
        """Check that the certificate's PSD2 roles cover ``services`` (ETSI TS 119 495). Raises: Refusal."""
        try:
            missing = missing_roles(read_roles(certificate.pem), services)
        except InvalidCertificate as error:
            raise _refuse_certificate(client, str(error)) from None
        if missing:
            raise _refuse_certificate(client, f"it lacks the role {', '.join(sorted(missing))}")

    def require_trusted(self, presented: PresentedCertificate | None) -> Certificate:
        """The certificate of the connection, if it is trusted now. Raises: InvalidCertificate."""
        if presented is None:
            raise InvalidCertificate("there is none")
        if presented.is_blocked:
            raise InvalidCertificate("it is on the blocklist")
        authorities = self.authorities()
        if authorities is None:
            raise InvalidCertificate("this stage trusts no authority: TPP_CA_BUNDLE is not set")
        authorities.check(presented.certificate, self.clock.time())
        return presented.certificate

    def is_trusted(self, presented: PresentedCertificate | None, thumbprint: str) -> bool:
        """Whether the connection's certificate is trusted now and has this thumbprint (RFC 8705 §3)."""
        try:
            return self.require_trusted(presented).thumbprint == thumbprint
        except InvalidCertificate as error:
            log.warning("certificate refused", reason=str(error))
            return False

    def use_up(self, client: Client, uses: Sequence[tuple[SingleUse, refusals.RefusalRow]]) -> None:
        """Use up the identifiers of assertions and proofs, all or none. Raises: the refusal of one used before."""
        try:
            self.single_uses.claim([use for use, _ in uses])
        except UsedBefore as error:
            log.warning("jti used before", client_id=client.client_id)
            raise uses[error.position][1]() from None


def parse_certificate(pem: str) -> Certificate | None:
    """The certificate of a connection; ``None`` if it cannot be parsed, as if there were none."""
    try:
        return read_certificate(pem)
    except InvalidCertificate as error:
        log.warning("certificate not read", reason=str(error))
        return None


def _check_owner(client: Client, certificate: Certificate) -> None:
    """Check that a certificate is the client's own. Raises: InvalidCertificate."""
    subject = client.security.tls_client_auth_subject_dn
    if subject is not None and not same_subject(subject, certificate.subject):
        raise InvalidCertificate("its subject is not that of the client's record")
    organization = client.security.organization_identifier
    if organization is not None and certificate.organization_identifier != organization:
        raise InvalidCertificate("its organization identifier is not that of the client's record")


def _refuse_certificate(client: Client, reason: str) -> Exception:
    log.warning("certificate refused", client_id=client.client_id, reason=reason)
    return refusals.TPP_CERTIFICATE_WRONG()
