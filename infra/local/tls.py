"""TLS for the local stack (``make run TLS=1``): the stack's address, its certificate, and the trusted authorities."""

from __future__ import annotations

import ssl
from collections.abc import MutableMapping
from dataclasses import dataclass
from pathlib import Path

import certifi

from chalicelib.foundation.ca_bundle import read_text
from chalicelib.foundation.crypto.certificates import TrustedAuthorities
from infra.local import stackfile
from infra.local.development_ca import HOSTS, DevelopmentCa

CLIENT_AUTHORITIES, BANK_AUTHORITIES = "client-authorities.pem", "bank-authorities.pem"
OUTBOUND_AUTHORITIES = "outbound-authorities.pem"


class TlsFailed(Exception):
    """TLS cannot be set up. The message is one sentence for the user."""


@dataclass(frozen=True, slots=True)
class LocalTls:
    """The server's TLS context, and the certificate of the development CA, which clients must trust."""

    context: ssl.SSLContext
    ca_file: Path


def set_up(environ: MutableMapping[str, str], folder: Path, port: int) -> LocalTls:
    """Create missing files in ``folder``, and add the service's TLS settings to ``environ``.

    Client certificates are optional, and verified against the development CA and the authorities of ``TPP_CA_BUNDLE``
    and ``BANK_CA_BUNDLE``. In its own calls, the service trusts the development CA and the public authorities.

    Raises:
        TlsFailed: if a file cannot be read or used.
    """
    ca = DevelopmentCa(folder)
    tpps, banks, outbound = folder / CLIENT_AUTHORITIES, folder / BANK_AUTHORITIES, folder / OUTBOUND_AUTHORITIES
    own = ca.file.read_text("ascii")
    stackfile.write_private(tpps, own + _bundle_of(environ, "TPP_CA_BUNDLE"))
    stackfile.write_private(banks, own + _bundle_of(environ, "BANK_CA_BUNDLE"))
    stackfile.write_private(outbound, own + Path(certifi.where()).read_text("utf-8"))
    url = f"https://{HOSTS[0]}:{port}"
    environ.update(PUBLIC_URL=url, MTLS_URL=url, TPP_CA_BUNDLE=str(tpps), BANK_CA_BUNDLE=str(banks))
    environ["OUTBOUND_CA_FILE"] = str(outbound)
    return LocalTls(_context(ca, tpps, banks), ca.file)


def _bundle_of(environ: MutableMapping[str, str], variable: str) -> str:
    location = environ.get(variable)
    if not location:
        return ""
    try:
        text = read_text(location)
        TrustedAuthorities(text)
    except (OSError, ValueError) as error:
        raise TlsFailed(f"{variable}: {location} cannot be used: {error}") from None
    return text


def _context(ca: DevelopmentCa, *bundles: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.load_cert_chain(*ca.server_files())
    context.verify_mode = ssl.CERT_OPTIONAL
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN  # intermediate authorities are trust anchors, too
    for bundle in bundles:
        context.load_verify_locations(bundle)
    context.set_alpn_protocols(["http/1.1"])
    return context
