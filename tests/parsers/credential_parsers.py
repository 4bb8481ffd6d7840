"""Parsers of credentials: tokens, proofs, keys, certificates, signatures and cursors."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from functools import cache

from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey

from chalicelib.delivery import client_events
from chalicelib.foundation import jsontext
from chalicelib.foundation.crypto import event_signing, signatures
from chalicelib.foundation.crypto.certificates import InvalidCertificate, TrustedAuthorities, read_certificate
from chalicelib.foundation.crypto.distinguished_names import InvalidName, normalize_name
from chalicelib.foundation.crypto.signatures import InvalidKey, load_private_key, load_public_key
from chalicelib.foundation.crypto.signed_cursors import InvalidCursor, SignedCursors
from chalicelib.foundation.crypto.signed_jwts import (
    InvalidJwt,
    InvalidKeySet,
    import_key_set,
    parse,
    read_identifier,
    read_time,
    thumbprint,
    verify,
)
from chalicelib.foundation.identifiers import OpaqueToken, read_uuid
from chalicelib.openbanking.oauth.dpop import NonceNeeded
from chalicelib.openbanking.oauth.private_key_jwt import read_subject
from chalicelib.openbanking.protocol.oauth_security import SIGNING_ALGORITHMS
from chalicelib.openbanking.protocol.psd2_statement import read_roles
from chalicelib.openbanking.records import client_list
from tests.parsers import parties
from tests.parsers.target import CORPUS, Target, pem, text

ENDPOINT = f"{parties.BASE}/tpp/token"


def read_jwt(content: bytes) -> None:
    """A compact token, as it came."""
    token = parse(text(content))
    verify(token, [parties.public_key()], SIGNING_ALGORITHMS)


def read_assertion(content: bytes) -> None:
    """A client assertion: header and claims are signed here, so that every check is reached."""
    assertion = parties.sign_jwt(content)
    read_subject(assertion)
    parties.assertions().verify(parties.client(), assertion, [ENDPOINT])


def read_proof(content: bytes) -> None:
    """A DPoP proof, signed as an assertion is."""
    proof = parties.sign_jwt(content)
    parties.proofs().verify(proof, "POST", [ENDPOINT], token="access", needs_nonce=False)


def read_claims(content: bytes) -> None:
    """The claims of a token whose signature is not verified yet."""
    token = parse(parties.sign_jwt(content))
    for name in ("exp", "iat", "nbf"):
        read_time(token.claims, name)
    read_identifier(token.claims)


def read_key_set(content: bytes) -> None:
    """A client's key set; each of its keys must be usable for a verification."""
    token = parse(parties.sign_jwt(b'{"alg":"PS256"}\n{}'))
    keys = import_key_set(jsontext.loads(content))
    for key in keys:
        thumbprint(key)
    for algorithm in SIGNING_ALGORITHMS:
        with suppress(InvalidJwt):
            verify(token, keys, [algorithm])


def read_key(content: bytes) -> None:
    """A public key that a bank or a programme manager registers, or a private key in a bank's conformance file."""
    with suppress(InvalidKey):
        load_private_key(text(content))
    key = load_public_key(text(content))
    signatures.verify([key], b"{}", "AAAA")
    signatures.jwk(key)


@cache
def _authorities() -> TrustedAuthorities:
    return TrustedAuthorities((CORPUS / "certificate" / "authority.pem").read_text())


def read_client_certificate(content: bytes) -> None:
    """The certificate of a connection (mutual TLS)."""
    certificate = read_certificate(text(content))
    with suppress(InvalidCertificate):
        _authorities().check(certificate, parties.CLOCK.time())
    with suppress(InvalidName):
        normalize_name(certificate.subject)
    read_roles(certificate.pem)


@cache
def _bank_key() -> RSAPublicKey:
    return load_public_key((CORPUS / "key" / "public.pem").read_text())


def read_bank_signature(content: bytes) -> None:
    """The header ``X-Signature``."""
    signatures.verify([_bank_key()], b"{}", text(content))


def read_event(content: bytes) -> None:
    """An event at the built-in receiver: id, time and signature, each on a line, and the body."""
    names = ("webhook-id", "webhook-timestamp", "webhook-signature")
    *values, body = (content + b"\n\n\n").split(b"\n", 3)
    headers = dict(zip(names, map(text, values), strict=True))
    event_signing.is_signed([parties.secret(1), parties.secret(2)], headers, body, parties.CLOCK.time())


def read_cursor(content: bytes) -> None:
    """A cursor of any list: signed ones, and those of pages."""
    cursor = text(content)
    client_list._read_cursor("owner", cursor)
    client_events.decode_position(cursor)
    SignedCursors(parties.KEYRING, "purpose").read("reader", cursor)


def read_opaque(content: bytes) -> None:
    """A bearer token, an authorization code or a request's id."""
    OpaqueToken.parse(text(content), parts=3)
    read_uuid(text(content))


TARGETS: Mapping[str, Target] = {
    "jwt": Target(read_jwt, (InvalidJwt,)),
    "assertion": Target(read_assertion, (InvalidJwt,)),
    "proof": Target(read_proof, (InvalidJwt, NonceNeeded)),
    "claims": Target(read_claims, (InvalidJwt,)),
    "key-set": Target(read_key_set, (InvalidKeySet, jsontext.InvalidJson), most=8192),
    "key": Target(read_key, (InvalidKey,), most=4096, armour=pem("PUBLIC KEY")),
    "certificate": Target(read_client_certificate, (InvalidCertificate,), most=4096, armour=pem("CERTIFICATE")),
    "name": Target(lambda content: normalize_name(text(content)), (InvalidName,)),
    "signature": Target(read_bank_signature),
    "event": Target(read_event),
    "cursor": Target(read_cursor, (InvalidCursor,)),
    "opaque-token": Target(read_opaque),
}
