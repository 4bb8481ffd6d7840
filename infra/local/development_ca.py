"""The development CA, which issues certificates for the local stack, and for TPPs and banks that test mutual TLS.

The CA is created on first use in the folder of the stack's file: ``.local/tls/ca.pem`` and ``ca-key.pem``. Only the
owner can read the files. Do not trust the CA outside this machine.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from chalicelib.openbanking.protocol.psd2_statement import encode_statement
from chalicelib.openbanking.protocol.scopes import Role
from infra.local import stackfile

CA, CA_KEY = "ca.pem", "ca-key.pem"
SERVER, SERVER_KEY = "server.pem", "server-key.pem"
HOSTS = ("127.0.0.1", "localhost")
_CA_DAYS, _SERVER_DAYS = 3650, 365
_LEEWAY = timedelta(minutes=5)
"""Number of seconds by which a certificate's validity starts before its creation, so that slow clocks accept it."""
_QC_STATEMENTS = x509.ObjectIdentifier("1.3.6.1.5.5.7.1.3")

Extensions = Iterable[tuple[x509.ExtensionType, bool]]
"""A list of certificate extensions, each with a flag for whether it is critical."""


def folder(stack_file: Path) -> Path:
    """Return the folder of the development CA of the stack with this file."""
    return stack_file.parent / "tls"


@dataclass(frozen=True, slots=True)
class ClientSubject:
    """The subject of a client certificate.

    ``organization_identifier`` follows ETSI TS 119 495, section 5.2.1, such as ``PSDGB-FCA-123456``. ``roles`` require
    it.
    """

    common_name: str
    organization_identifier: str | None = None
    roles: tuple[Role, ...] = ()

    def name(self) -> x509.Name:
        """Return the subject's name, from the country to the common name."""
        identifier = self.organization_identifier
        attributes = [(NameOID.ORGANIZATION_NAME, self.common_name), (NameOID.COMMON_NAME, self.common_name)]
        if identifier:
            attributes[:0] = [(NameOID.COUNTRY_NAME, identifier[3:5])]
            attributes[2:2] = [(NameOID.ORGANIZATION_IDENTIFIER, identifier)]
        return x509.Name([x509.NameAttribute(oid, value) for oid, value in attributes])

    def extensions(self) -> Extensions:
        """Return the extension ``qcStatements`` with the roles, if any."""
        if self.organization_identifier and self.roles:
            country, authority = self.organization_identifier[3:].split("-")[:2]
            statement = encode_statement(self.roles, authority, f"{country}-{authority}")
            yield x509.UnrecognizedExtension(_QC_STATEMENTS, statement), False


class DevelopmentCa:
    """The development CA in the folder ``place``, created if missing. ``now`` is the issue time of certificates."""

    def __init__(self, place: Path, now: datetime | None = None) -> None:
        self.folder = place
        self._now = now or datetime.now(UTC)
        if not ((place / CA).exists() and (place / CA_KEY).exists()):
            self._create()
        self._key = _read_key(place / CA_KEY)
        self._certificate = x509.load_pem_x509_certificate((place / CA).read_bytes())

    @property
    def file(self) -> Path:
        """Return the path of the CA's certificate."""
        return self.folder / CA

    def issue_client(self, subject: ClientSubject, days: int) -> tuple[str, str]:
        """Issue a client certificate. Return the certificate and its private key in PEM."""
        key = ec.generate_private_key(ec.SECP256R1())
        extensions = (*_leaf(ExtendedKeyUsageOID.CLIENT_AUTH), *subject.extensions())
        return _pem(self._sign(subject.name(), key, days, extensions)), _key_pem(key)

    def server_files(self) -> tuple[Path, Path]:
        """Return the files with a certificate for ``HOSTS`` and with its private key. A certificate in its last month
        is renewed.
        """
        certificate, key = self.folder / SERVER, self.folder / SERVER_KEY
        if not (certificate.exists() and key.exists() and self._is_current(certificate)):
            self._create_server(certificate, key)
        return certificate, key

    def _is_current(self, file: Path) -> bool:
        found = x509.load_pem_x509_certificate(file.read_bytes())
        return found.issuer == self._certificate.subject and found.not_valid_after_utc > self._now + timedelta(days=30)

    def _create_server(self, file: Path, key_file: Path) -> None:
        key = ec.generate_private_key(ec.SECP256R1())
        names = x509.SubjectAlternativeName(
            [x509.IPAddress(ip_address(host)) if host[0].isdigit() else x509.DNSName(host) for host in HOSTS]
        )
        extensions = (*_leaf(ExtendedKeyUsageOID.SERVER_AUTH), (names, False))
        stackfile.write_private(key_file, _key_pem(key))
        stackfile.write_private(file, _pem(self._sign(_common_name(HOSTS[0]), key, _SERVER_DAYS, extensions)))

    def _create(self) -> None:
        """Create the CA. Its name has a random part, so that it differs from earlier CAs."""
        key = ec.generate_private_key(ec.SECP256R1())
        name = _common_name(f"Causeway development CA {x509.random_serial_number():x}"[:40])
        usage = _key_usage(key_cert_sign=True, crl_sign=True)
        extensions = ((x509.BasicConstraints(ca=True, path_length=0), True), (usage, True))
        certificate = _build(name, name, key, key, self._now, _CA_DAYS, extensions)
        stackfile.write_private(self.folder / CA_KEY, _key_pem(key))
        stackfile.write_private(self.folder / CA, _pem(certificate))

    def _sign(
        self, subject: x509.Name, key: ec.EllipticCurvePrivateKey, days: int, extensions: Extensions
    ) -> x509.Certificate:
        return _build(subject, self._certificate.subject, key, self._key, self._now, days, extensions)


def _build(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePrivateKey,
    issuer_key: ec.EllipticCurvePrivateKey,
    now: datetime,
    days: int,
    extensions: Extensions,
) -> x509.Certificate:
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _LEEWAY)
        .not_valid_after(now + timedelta(days=days))
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key.public_key()), critical=False)
    )
    for extension, critical in extensions:
        builder = builder.add_extension(extension, critical)
    return builder.sign(issuer_key, hashes.SHA256())


def _leaf(usage: x509.ObjectIdentifier) -> Extensions:
    yield x509.BasicConstraints(ca=False, path_length=None), True
    yield _key_usage(digital_signature=True), True
    yield x509.ExtendedKeyUsage([usage]), False


def _key_usage(
    *, digital_signature: bool = False, key_cert_sign: bool = False, crl_sign: bool = False
) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=digital_signature,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=key_cert_sign,
        crl_sign=crl_sign,
        encipher_only=False,
        decipher_only=False,
    )


def _common_name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _read_key(file: Path) -> ec.EllipticCurvePrivateKey:
    key = serialization.load_pem_private_key(file.read_bytes(), password=None)
    assert isinstance(key, ec.EllipticCurvePrivateKey), "the development CA created it"
    return key


def _key_pem(key: ec.EllipticCurvePrivateKey) -> str:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    ).decode("ascii")


def _pem(certificate: x509.Certificate) -> str:
    return certificate.public_bytes(serialization.Encoding.PEM).decode("ascii")
