"""Authentication of banks at the bank-facing API.

Checks, in order: API key, protocol version, certificate, request id, signature.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from chalicelib.foundation import log, security_refusals
from chalicelib.foundation.crypto.certificates import InvalidCertificate
from chalicelib.foundation.crypto.signatures import describe_attempt, verify
from chalicelib.foundation.identifiers import OpaqueToken, is_uuid
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.openbanking.flows.bank.certificates import BankCertificates
from chalicelib.openbanking.protocol import refusals
from chalicelib.openbanking.protocol.version import Version
from chalicelib.openbanking.records.bank_record import Bank
from chalicelib.openbanking.records.banks import Banks


@dataclass(frozen=True, slots=True)
class BankAuthentication:
    """Authenticates banks; with ``explains``, signature refusals describe the verified bytes and keys (sandboxes)."""

    banks: Banks
    certificates: BankCertificates
    explains: bool

    def authenticate(
        self, version: Version, headers: Mapping[str, str], identity: Mapping[str, Any], body: bytes
    ) -> Bank:
        """The calling bank. ``headers`` have lower-case names; ``identity`` comes from API Gateway. Raises: Refusal."""
        bank = self._by_key(headers.get("x-api-key", ""))
        if bank.version is not version:
            raise refusals.OTHER_VERSION(version=f"version {bank.version}")
        if bank.certificate_subject is not None:
            self._check_certificate(bank, identity.get("clientCert") or {})
        if not is_uuid(headers.get("x-request-id", "")):
            raise refusals.REQUEST_ID_NOT_UUID()
        self._check_signature(bank, headers.get("x-signature"), body)
        return bank

    def _by_key(self, key: str) -> Bank:
        if not key:
            raise refusals.BANK_KEY_MISSING()
        credential = OpaqueToken.parse(key, parts=1)
        bank = self.banks.find(credential.ids[0]) if credential else None
        if credential is None or bank is None or not bank.accepts_key(credential):
            bic, reason = bank and bank.bic, "the API key is wrong"
            security_refusals.record("wrong_bank_credentials", "credentials refused", bic=bic, reason=reason)
            raise refusals.BANK_KEY_WRONG()
        log.bind(bic=bank.bic)
        return bank

    def _check_certificate(self, bank: Bank, presented: Mapping[str, Any]) -> None:
        """A caller learns that its certificate was refused, but not why: the reason is in the log. Raises: Refusal."""
        try:
            self.certificates.check(bank, presented)
        except InvalidCertificate as error:
            security_refusals.record("refused_certificate", "certificate refused", bic=bank.bic, reason=str(error))
            raise refusals.CERTIFICATE_WRONG() from None

    def _check_signature(self, bank: Bank, signature: str | None, body: bytes) -> None:
        if signature is None:
            if bank.signature_required:
                raise refusals.SIGNATURE_MISSING()
            return
        keys = self.banks.verification_keys(bank)
        if not verify(keys, body, signature):
            reason = "the signature is wrong"
            security_refusals.record("wrong_bank_credentials", "credentials refused", bic=bank.bic, reason=reason)
            raise refusals.SIGNATURE_WRONG(hint=describe_attempt(keys, body) if self.explains else None)
