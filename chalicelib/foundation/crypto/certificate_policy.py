"""The certificate policy for clients: this service's choice of the X.509 path validation rules (RFC 5280, section 6).

The library's default rules are for web servers. A qualified certificate (QWAC, ETSI EN 319 412-4) may have no
``subjectAltName``, and has ``qcStatements``, which may be critical.
"""

from __future__ import annotations

from datetime import UTC, datetime

from cryptography import x509
from cryptography.x509.oid import ExtendedKeyUsageOID
from cryptography.x509.verification import Criticality, ExtensionPolicy, Policy, PolicyBuilder

_CLIENT_USAGES = {ExtendedKeyUsageOID.CLIENT_AUTH, ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE}


class QcStatements(x509.UnrecognizedExtension):
    """The extension ``qcStatements`` (RFC 3739, section 3.2.6), for which the library has no class."""

    oid = x509.ObjectIdentifier("1.3.6.1.5.5.7.1.3")


_UNDERSTOOD: tuple[type[x509.ExtensionType], ...] = (
    QcStatements,
    x509.AuthorityKeyIdentifier,
    x509.CertificatePolicies,
    x509.CRLDistributionPoints,
    x509.KeyUsage,
    x509.SubjectAlternativeName,
    x509.SubjectKeyIdentifier,
)
"""Extensions that may be critical in a client certificate. A certificate with any other critical extension is refused
(RFC 5280, section 4.2).
"""


def client_policy(now: int) -> PolicyBuilder:
    """Return the rules for a client certificate at ``now`` (Unix seconds) and for its issuing authority."""
    policies = {"ca_policy": _authority_extensions(), "ee_policy": _client_extensions()}
    return PolicyBuilder().time(datetime.fromtimestamp(now, UTC)).extension_policies(**policies)


def _authority_extensions() -> ExtensionPolicy:
    rules = ExtensionPolicy.webpki_defaults_ca()
    for extension in (x509.PolicyConstraints, x509.InhibitAnyPolicy):
        rules = rules.may_be_present(extension, Criticality.AGNOSTIC, None)
    return rules


def _client_extensions() -> ExtensionPolicy:
    rules = ExtensionPolicy.permit_all()
    for extension in _UNDERSTOOD:
        rules = rules.may_be_present(extension, Criticality.AGNOSTIC, None)
    rules = rules.may_be_present(x509.BasicConstraints, Criticality.AGNOSTIC, _check_no_authority)
    return rules.may_be_present(x509.ExtendedKeyUsage, Criticality.AGNOSTIC, _check_usage)


def _check_no_authority(_: Policy, __: x509.Certificate, constraints: x509.BasicConstraints | None) -> None:
    if constraints is not None and constraints.ca:
        raise ValueError("it is the certificate of an authority, not of a client")


def _check_usage(_: Policy, __: x509.Certificate, usage: x509.ExtendedKeyUsage | None) -> None:
    if usage is not None and not _CLIENT_USAGES.intersection(usage):
        raise ValueError("its extendedKeyUsage does not allow clientAuth")
