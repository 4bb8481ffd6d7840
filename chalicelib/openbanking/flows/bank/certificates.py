"""Which client certificates banks may present (``docs/concepts/bank-integration.md``)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from chalicelib.foundation.ca_bundle import CaBundle
from chalicelib.foundation.crypto.certificates import InvalidCertificate, read_certificate, same_subject
from chalicelib.openbanking.records.bank_record import Bank
from chalicelib.openbanking.records.certificate_blocklist import CertificateBlocklist


def check_certificate(
    bank: Bank, presented: Mapping[str, Any], *, bank_ca_bundle: CaBundle, certificate_blocklist: CertificateBlocklist
) -> None:
    """Check the certificate of a bank's connection: subject, authority, dates and blocklist.

    Args:
        bank: a bank whose record names a subject; its certificates may be renewed, and several may be in use.
        presented: ``clientCert`` of API Gateway; empty if there is no certificate.

    Raises:
        InvalidCertificate: with the reason, for the log.
    """
    pem = presented.get("clientCertPem")
    if not pem:
        raise InvalidCertificate("there is none")
    certificate, subject = read_certificate(pem), bank.certificate_subject or ""
    if presented.get("subjectDN") != subject and not same_subject(subject, certificate.subject):
        raise InvalidCertificate(f"its subject, {certificate.subject}, is not that of the bank's record, {subject}")
    bank_ca_bundle.check(certificate)
    if certificate_blocklist.is_blocked(certificate.issuer, certificate.serial_number):
        raise InvalidCertificate("it is on the blocklist")
