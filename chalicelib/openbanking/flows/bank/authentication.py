"""Authentication of banks at the bank-facing API.

The checks are, in order: API key, protocol version, certificate, request id, signature.
``docs/concepts/bank-integration.md`` describes the permitted certificates.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from chalicelib.foundation import log, security_refusals
from chalicelib.foundation.ca_bundle import CaBundle
from chalicelib.foundation.crypto.certificates import InvalidCertificate, read_certificate, same_subject
from chalicelib.foundation.crypto.signatures import describe_attempt, verify
from chalicelib.foundation.identifiers import OpaqueToken, is_uuid
from chalicelib.openbanking.protocol import refusals
from chalicelib.openbanking.protocol.version import Version
from chalicelib.openbanking.records.bank_record import Bank
from chalicelib.openbanking.records.banks import Banks
from chalicelib.openbanking.records.certificate_blocklist import CertificateBlocklist

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey


def authenticate_bank(
    version: Version,
    headers: Mapping[str, str],
    body: bytes,
    *,
    identity: Mapping[str, Any],
    is_sandbox: bool,
    banks: Banks,
    bank_ca_bundle: CaBundle,
    certificate_blocklist: CertificateBlocklist,
) -> Bank:
    """Authenticate and return the calling bank. Raises: Refusal.

    ``headers`` have lower-case names. ``identity`` comes from API Gateway. In sandboxes, a refusal of a signature
    describes the verified bytes and keys.
    """
    bank = _find_by_key(banks, headers.get("x-api-key", ""))
    if bank.version is not version:
        raise refusals.OTHER_VERSION(version=f"version {bank.version}")
    if bank.certificate_subject is not None:
        _check_certificate(bank, identity.get("clientCert") or {}, bank_ca_bundle, certificate_blocklist)
    if not is_uuid(headers.get("x-request-id", "")):
        raise refusals.REQUEST_ID_NOT_UUID()
    signature = headers.get("x-signature")
    if signature is not None:
        _check_signature(bank, banks.verification_keys(bank), signature, body, explains=is_sandbox)
    elif bank.signature_required:
        raise refusals.SIGNATURE_MISSING()
    return bank


def _find_by_key(banks: Banks, key: str) -> Bank:
    if not key:
        raise refusals.BANK_KEY_MISSING()
    credential = OpaqueToken.parse(key, parts=1)
    bank = banks.find(credential.ids[0]) if credential else None
    if credential is None or bank is None or not bank.accepts_key(credential):
        bic, reason = bank and bank.bic, "the API key is wrong"
        security_refusals.record("wrong_bank_credentials", "credentials refused", bic=bic, reason=reason)
        raise refusals.BANK_KEY_WRONG()
    log.bind(bic=bank.bic)
    return bank


def _check_certificate(
    bank: Bank, presented: Mapping[str, Any], bank_ca_bundle: CaBundle, certificate_blocklist: CertificateBlocklist
) -> None:
    """Check the certificate of the bank's connection. Raises: Refusal, without the reason, which is only logged."""
    try:
        check_certificate(bank, presented, bank_ca_bundle=bank_ca_bundle, certificate_blocklist=certificate_blocklist)
    except InvalidCertificate as error:
        security_refusals.record("refused_certificate", "certificate refused", bic=bank.bic, reason=str(error))
        raise refusals.CERTIFICATE_WRONG() from None


def check_certificate(
    bank: Bank, presented: Mapping[str, Any], *, bank_ca_bundle: CaBundle, certificate_blocklist: CertificateBlocklist
) -> None:
    """Check the certificate of a bank's connection: subject, authority, dates and blocklist.

    Args:
        bank: a bank whose record names a subject. Its certificates may be renewed, and several may be in use.
        presented: ``clientCert`` of API Gateway, empty if there is no certificate.

    Raises:
        InvalidCertificate: the check failed. The message contains the reason, for the log.
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


def _check_signature(bank: Bank, keys: Sequence[RSAPublicKey], signature: str, body: bytes, *, explains: bool) -> None:
    if not verify(keys, body, signature):
        reason = "the signature is wrong"
        security_refusals.record("wrong_bank_credentials", "credentials refused", bic=bank.bic, reason=reason)
        raise refusals.SIGNATURE_WRONG(hint=describe_attempt(keys, body) if explains else None)
