"""The PSD2 statement of a certificate in ASN.1 (ETSI TS 119 495, annex A; RFC 3739, section 3.2.6).

``cryptography`` decodes the structures that these classes declare, so no other ASN.1 library is needed. Its classes can
declare only sequences with named members. The extension is a sequence of any length, so it is decoded as the only
member of another sequence.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import get_args

from cryptography import x509
from cryptography.hazmat import asn1
from cryptography.x509 import ObjectIdentifier

from chalicelib.foundation.crypto.certificates import InvalidCertificate, load_certificate
from chalicelib.openbanking.protocol.scopes import Role

QC_STATEMENTS = ObjectIdentifier("1.3.6.1.5.5.7.1.3")
_PSD2 = ObjectIdentifier("0.4.0.19495.2")
_OIDS: dict[Role, ObjectIdentifier] = {
    role: ObjectIdentifier(f"0.4.0.19495.1.{number}") for number, role in enumerate(get_args(Role), start=1)
}
_ROLES = {oid: role for role, oid in _OIDS.items()}
_SEQUENCE = 0x30


@asn1.sequence
class _RoleOfPsp:
    oid: ObjectIdentifier
    name: str


@asn1.sequence
class _Psd2QcType:
    roles: list[_RoleOfPsp]
    authority_name: str
    authority_id: str


@asn1.sequence
class _QcStatement:
    statement_id: ObjectIdentifier
    info: _Psd2QcType


@asn1.sequence
class _OneStatement:
    statement: _QcStatement


@asn1.sequence
class _Wrapped:
    """``qcStatements`` inside another sequence. Each statement is an object identifier and an optional value of any
    type.
    """

    statements: list[list[asn1.TLV]]


def read_roles(pem: str) -> frozenset[Role]:
    """Return the roles in all PSD2 statements of a certificate, without unknown roles. Raises: InvalidCertificate."""
    certificate = load_certificate(pem)
    try:
        statements = _psd2_statements(certificate)
    except (ValueError, x509.DuplicateExtension, x509.UnsupportedGeneralNameType) as error:
        raise InvalidCertificate(f"the certificate's qcStatements cannot be read: {error}") from None
    return frozenset(_ROLES[each.oid] for found in statements for each in found.roles if each.oid in _ROLES)


def encode_statement(roles: Iterable[Role], authority_name: str, authority_id: str) -> bytes:
    """Return the DER encoding of the extension ``qcStatements`` with a PSD2 statement, for certificates of a test CA.

    ``authority_name`` and ``authority_id`` identify the competent authority, for example ``Financial Conduct
    Authority`` and ``GB-FCA``.
    """
    stated = [_RoleOfPsp(oid=_OIDS[role], name=role) for role in roles]
    info = _Psd2QcType(roles=stated, authority_name=authority_name, authority_id=authority_id)
    return asn1.encode_der(_OneStatement(statement=_QcStatement(statement_id=_PSD2, info=info)))


def _psd2_statements(certificate: x509.Certificate) -> list[_Psd2QcType]:
    """The PSD2 statements of a certificate. Raises: ValueError."""
    try:
        extension = certificate.extensions.get_extension_for_oid(QC_STATEMENTS).value
    except x509.ExtensionNotFound:
        return []
    statements = asn1.decode_der(_Wrapped, _wrap(extension.public_bytes())).statements
    return [_parse_info(each) for each in statements if each and each[0].parse(ObjectIdentifier) == _PSD2]


def _parse_info(statement: list[asn1.TLV]) -> _Psd2QcType:
    if len(statement) != 2:
        raise ValueError("a PSD2 statement has no content")
    info: _Psd2QcType = statement[1].parse(_Psd2QcType)
    return info


def _wrap(der: bytes) -> bytes:
    """A sequence with ``der`` as its only member."""
    length = len(der)
    if length < 128:
        return bytes([_SEQUENCE, length]) + der
    digits = length.to_bytes((length.bit_length() + 7) // 8, "big")
    return bytes([_SEQUENCE, 0x80 | len(digits)]) + digits + der
