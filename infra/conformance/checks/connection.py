"""Checks of the bank's addresses: https, certificates, TLS versions."""

from __future__ import annotations

import socket
import ssl
import warnings
from collections.abc import Callable
from urllib.parse import urlsplit

import certifi

from chalicelib.foundation.http.addresses import InvalidAddress, check_address
from chalicelib.foundation.http.deadline_connections import tls_context
from chalicelib.openbanking.protocol.version import Version
from infra.conformance.check import Check
from infra.conformance.evidence import CheckFailed, CheckSkipped, Evidence
from infra.conformance.session import Session

_SECONDS = 5.0
_RULE = "Bank integration: Answers, Address"
_LOCAL = ("127.0.0.1", "localhost", "::1")


def checks(version: Version) -> list[Check]:
    """Return the checks of the two addresses in the bank's file."""
    return [
        *_checks_of("webhooks", "base_url", lambda session: session.bank.base_url),
        *_checks_of("pages", "authorization_url", lambda session: session.bank.authorization_url),
    ]


def _checks_of(name: str, member: str, address: Callable[[Session], str]) -> list[Check]:
    return [
        Check(
            f"address.{name}",
            f"{member} is https and public",
            _RULE,
            "advice",
            "Outside the local stage the hub calls only https addresses that are public",
            lambda session: _is_public(address(session)),
        ),
        Check(
            f"tls.{name}-certificate",
            f"The certificate of {member} is trusted",
            _RULE,
            "mandatory",
            "The certificate is of this host, valid, and issued by a trusted authority",
            lambda session: _handshake(session, address(session)),
        ),
        Check(
            f"tls.{name}-old-versions",
            f"{member} refuses TLS 1.1 and older",
            _RULE,
            "advice",
            "A handshake with TLS 1.1 fails",
            lambda session: _old_handshake(address(session)),
        ),
    ]


def _is_public(url: str) -> Evidence:
    if urlsplit(url).hostname in _LOCAL:
        raise CheckSkipped("the address is one of this machine")
    try:
        check_address(url, local=False)
    except InvalidAddress as error:
        raise CheckFailed(Evidence(url), f"the address {error}") from None
    return Evidence(url)


def _endpoint(url: str) -> tuple[str, int]:
    parts = urlsplit(url)
    if parts.scheme != "https" or parts.hostname is None:
        raise CheckSkipped("the address is not https, which only the local stage allows")
    return parts.hostname, parts.port or 443


def _handshake(session: Session, url: str) -> Evidence:
    host, port = _endpoint(url)
    try:
        reached = _connect(host, port, tls_context(session.bank.ca_file or certifi.where()))
    except OSError as error:
        reason = getattr(error, "verify_message", "") or getattr(error, "reason", "") or type(error).__name__
        raise CheckFailed(Evidence(f"a TLS handshake with {host}:{port}"), f"the handshake failed: {reason}") from None
    return Evidence(f"a TLS handshake with {host}:{port}", reached)


def _old_handshake(url: str) -> Evidence:
    host, port = _endpoint(url)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.set_ciphers("DEFAULT:@SECLEVEL=0")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # the point is to try what is deprecated
        context.minimum_version, context.maximum_version = ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1
    evidence = Evidence(f"a TLS 1.1 handshake with {host}:{port}")
    try:
        reached = _connect(host, port, context)
    except OSError:
        return evidence
    raise CheckFailed(Evidence(evidence.sent, reached), "the handshake succeeded")


def _connect(host: str, port: int, context: ssl.SSLContext) -> str:
    with (
        socket.create_connection((host, port), _SECONDS) as plain,
        context.wrap_socket(plain, server_hostname=host) as wrapped,
    ):
        return wrapped.version() or ""
