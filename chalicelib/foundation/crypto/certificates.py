"""X.509 certificates of callers: their identity, and whether a trusted authority issued them (RFC 5280).

The parser is imported on first use, because most requests have no certificate.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from chalicelib.foundation.identifiers import base64url
from chalicelib.foundation.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    from cryptography import x509

_ORGANIZATION_IDENTIFIER = "2.5.4.97"


class InvalidCertificate(ValueError):
    """The text is not a certificate, or the certificate is not trusted. The message is the reason, for the log."""


@dataclass(frozen=True, slots=True)
class Certificate:
    """The certificate of a caller, parsed from PEM but not verified.

    Attributes:
        pem: the certificate in PEM.
        thumbprint: ``x5t#S256`` of RFC 8705, section 3.1: base64url of the SHA-256 of the DER, without padding.
        subject: an RFC 4514 string.
        issuer: an RFC 4514 string.
        serial_number: hexadecimal, in lower case, without leading zeros or separators.
        organization_identifier: the subject's attribute 2.5.4.97, such as ``PSDGB-FCA-123456`` (ETSI TS 119 495,
            section 5.2.1), or ``None``.
    """

    pem: str
    thumbprint: str
    subject: str
    issuer: str
    serial_number: str
    organization_identifier: str | None


def read_certificate(pem: str) -> Certificate:
    """Parse the first certificate of ``pem``. The final newline may be missing. Raises: InvalidCertificate."""
    parsed = load_certificate(pem)
    try:
        return _describe(parsed)
    except (ValueError, TypeError) as error:
        raise InvalidCertificate(f"the certificate's names cannot be read: {error}") from None


def load_certificate(pem: str) -> x509.Certificate:
    """Parse the first certificate of ``pem`` as an object that provides its extensions. Raises: InvalidCertificate."""
    from cryptography import x509

    try:
        return x509.load_pem_x509_certificate(pem.encode())
    except (ValueError, x509.InvalidVersion) as error:
        raise InvalidCertificate(f"this is not a PEM certificate: {error}") from None


def same_subject(first: str, second: str) -> bool:
    """Whether two RFC 4514 strings denote the same name.

    The attributes are compared in the order of RFC 4514 or in the reverse order of certificates, because programs write
    both. Attribute types are case-insensitive, values are case-sensitive. An empty or unparsable name equals no name.
    """
    from chalicelib.foundation.crypto.distinguished_names import InvalidName, split_name

    try:
        one, other = split_name(first), split_name(second)
    except InvalidName:
        return False
    return one in (other, other[::-1])


class TrustedAuthorities:
    """The certification authorities trusted to identify callers."""

    def __init__(self, pem: str) -> None:
        """Trust the authorities of a PEM bundle, including intermediate authorities. Raises: InvalidCertificate."""
        from cryptography import x509
        from cryptography.x509.verification import Store

        try:
            self._store = Store(x509.load_pem_x509_certificates(pem.encode()))
        except ValueError as error:
            raise InvalidCertificate(f"this is not a bundle of PEM certificates: {error}") from None

    def check(self, certificate: Certificate, now: int) -> None:
        """Check that a certificate is valid at ``now`` (Unix seconds) and issued by an authority of the bundle.

        Every certificate of the bundle is a trust anchor. The certificate must not belong to a CA, and an
        ``extendedKeyUsage`` must allow ``clientAuth`` (RFC 5280, section 4.2.1.12). Revocation is not checked here.

        Raises:
            InvalidCertificate: the check failed. The message contains the reason.
        """
        from cryptography.x509.verification import VerificationError

        from chalicelib.foundation.crypto.certificate_policy import client_policy

        verifier = client_policy(now).store(self._store).build_client_verifier()
        try:
            verifier.verify(load_certificate(certificate.pem), [])
        except VerificationError as error:
            raise InvalidCertificate(_reason(error)) from None


def _describe(parsed: x509.Certificate) -> Certificate:
    from cryptography.hazmat.primitives.serialization import Encoding

    return Certificate(
        pem=parsed.public_bytes(Encoding.PEM).decode("ascii"),
        thumbprint=base64url(hashlib.sha256(parsed.public_bytes(Encoding.DER)).digest()),
        subject=parsed.subject.rfc4514_string(),
        issuer=parsed.issuer.rfc4514_string(),
        serial_number=format(parsed.serial_number, "x"),
        organization_identifier=_organization_identifier(parsed),
    )


def _organization_identifier(parsed: x509.Certificate) -> str | None:
    found: list[Any] = [each.value for each in parsed.subject if each.oid.dotted_string == _ORGANIZATION_IDENTIFIER]
    return found[0] if len(found) == 1 and isinstance(found[0], str) else None


def _reason(error: Exception) -> str:
    """Return the library's reason for a refusal, without the text representation of the certificate."""
    text = str(error).removeprefix("validation failed: ").partition(" (encountered processing")[0]
    if text == "candidates exhausted: all candidates exhausted with no interior errors":
        text = "no authority of the bundle has the name of its issuer"
    return f"the certificate is not trusted: {text}"
