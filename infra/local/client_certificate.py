"""The certificate of a caller in API Gateway's format, ``requestContext.identity.clientCert``."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding


def describe_certificate(certificate: x509.Certificate) -> dict[str, Any]:
    """Describe the certificate in API Gateway's format.

    ``serialNumber`` is hexadecimal, with colons between the bytes. The times of ``validity`` are formatted like
    ``Aug  5 00:28:21 2120 GMT``.
    """
    digits = f"{certificate.serial_number:x}"
    return {
        "clientCertPem": certificate.public_bytes(Encoding.PEM).decode("ascii"),
        "subjectDN": format_name(certificate.subject),
        "issuerDN": format_name(certificate.issuer),
        "serialNumber": bytes.fromhex(digits.zfill(len(digits) + len(digits) % 2)).hex(":"),
        "validity": {
            "notBefore": _format_time(certificate.not_valid_before_utc),
            "notAfter": _format_time(certificate.not_valid_after_utc),
        },
    }


def format_name(name: x509.Name) -> str:
    """Format a name in API Gateway's notation. The attributes have the same order as in the certificate, which is the
    reverse of the order in RFC 4514.
    """
    return ",".join(part.rfc4514_string() for part in name.rdns)


def _format_time(moment: datetime) -> str:
    return f"{moment:%b} {moment.day:2d} {moment:%H:%M:%S %Y} GMT"
