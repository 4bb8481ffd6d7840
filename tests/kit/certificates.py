"""Test certificates of authorities, TPPs, banks and servers."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from functools import cached_property
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509 import Name

NOW = datetime(2026, 3, 1, tzinfo=UTC)
QC_STATEMENTS = x509.ObjectIdentifier("1.3.6.1.5.5.7.1.3")
Extensions = Iterable[tuple[x509.ExtensionType, bool]]


def seconds(time: datetime) -> int:
    return int(time.timestamp())


def name(text: str) -> Name:
    return Name.from_rfc4514_string(text)


def qc_statements(der: bytes, critical: bool = False) -> tuple[x509.ExtensionType, bool]:
    return x509.UnrecognizedExtension(QC_STATEMENTS, der), critical


def pem(certificate: x509.Certificate) -> str:
    return certificate.public_bytes(Encoding.PEM).decode()


def sign(
    subject: str, issuer: str, key: ec.EllipticCurvePrivateKey, by: ec.EllipticCurvePrivateKey, **options: Any
) -> x509.Certificate:
    """Return a certificate of ``subject``. The keyword arguments are ``extensions``, ``serial``, ``starts`` and
    ``days``.
    """
    starts: datetime = options.get("starts", NOW)
    builder = (
        x509.CertificateBuilder()
        .subject_name(name(subject))
        .issuer_name(name(issuer))
        .public_key(key.public_key())
        .serial_number(options.get("serial") or x509.random_serial_number())
        .not_valid_before(starts)
        .not_valid_after(starts + timedelta(days=options.get("days", 90)))
    )
    extensions: Extensions = options.get("extensions", ())
    for extension, critical in extensions:
        builder = builder.add_extension(extension, critical)
    return builder.sign(by, hashes.SHA256())


class Authority:
    def __init__(self, subject: str = "CN=Test CA,O=Example,C=GB", above: Authority | None = None) -> None:
        self.subject = subject
        self.above = above
        self.key = ec.generate_private_key(ec.SECP256R1())

    @cached_property
    def certificate(self) -> x509.Certificate:
        above = self.above or self
        usage = dict.fromkeys(
            ("content_commitment", "key_encipherment", "data_encipherment", "key_agreement", "encipher_only"), False
        )
        signs = x509.KeyUsage(digital_signature=False, key_cert_sign=True, crl_sign=True, decipher_only=False, **usage)
        extensions = (
            (x509.BasicConstraints(ca=True, path_length=None), True),
            (signs, True),
            (x509.SubjectKeyIdentifier.from_public_key(self.key.public_key()), False),
            (x509.AuthorityKeyIdentifier.from_issuer_public_key(above.key.public_key()), False),
        )
        return sign(self.subject, above.subject, self.key, above.key, extensions=extensions, days=3650)

    @property
    def pem(self) -> str:
        return pem(self.certificate)

    def issue(self, subject: str = "CN=TPP,O=Example,C=GB", **options: Any) -> str:
        return pem(sign(subject, self.subject, ec.generate_private_key(ec.SECP256R1()), self.key, **options))


# -- certificates of servers on this machine, valid now

_THIS_MACHINE = (x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), False)
_CA = (x509.BasicConstraints(ca=True, path_length=None), True)


def self_signed(folder: Path) -> Path:
    """Write a PEM file with a key and a self-signed certificate for bank.example.com at 127.0.0.1."""
    key, subject = ec.generate_private_key(ec.SECP256R1()), "CN=bank.example.com"
    return _write(folder / "certificate.pem", _sign_now(subject, subject, key, key, _THIS_MACHINE), key)


def bare_chain(folder: Path) -> tuple[Path, Path]:
    """Write PEM files of an authority and of a server, without key identifier extensions."""
    above, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    authority = _write(folder / "authority.pem", _sign_now("CN=Bank CA", "CN=Bank CA", above, above, _CA), above)
    certificate = _sign_now("CN=bank.example.com", "CN=Bank CA", key, above, _THIS_MACHINE)
    return authority, _write(folder / "certificate.pem", certificate, key)


def _sign_now(
    subject: str,
    issuer: str,
    key: ec.EllipticCurvePrivateKey,
    by: ec.EllipticCurvePrivateKey,
    extension: tuple[x509.ExtensionType, bool],
) -> x509.Certificate:
    return sign(subject, issuer, key, by, extensions=[extension], starts=datetime.now(UTC) - timedelta(hours=1), days=1)


def _write(path: Path, certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> Path:
    path.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()) + pem(certificate).encode())
    return path
