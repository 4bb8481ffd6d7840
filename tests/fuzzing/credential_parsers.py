"""Parsers of credentials, and the fixed keys that sign the tokens of the fuzzing corpus."""

import base64
from contextlib import suppress
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, utils

from chalicelib.delivery import client_events
from chalicelib.foundation import jsontext
from chalicelib.foundation.crypto import event_signing, public_keys, signature_hints, signatures
from chalicelib.foundation.crypto.certificates import InvalidCertificate, TrustedAuthorities, read_certificate
from chalicelib.foundation.crypto.distinguished_names import InvalidName, normalize_name
from chalicelib.foundation.crypto.keyring import Keyring
from chalicelib.foundation.crypto.signatures import InvalidKey, load_private_key, load_public_key
from chalicelib.foundation.crypto.signed_cursors import SignedCursors
from chalicelib.foundation.crypto.signed_jwts import (
    InvalidJwt,
    import_key,
    import_key_set,
    parse,
    read_identifier,
    read_time,
    thumbprint,
    verify,
)
from chalicelib.foundation.dynamodb.store import Page, Store
from chalicelib.foundation.http.outbound import Outbound
from chalicelib.foundation.identifiers import OpaqueToken, base64url, read_uuid
from chalicelib.openbanking.oauth.dpop import DpopNonces, DpopProofs
from chalicelib.openbanking.oauth.key_sets import KeySets
from chalicelib.openbanking.oauth.private_key_jwt import ClientAssertions, read_subject
from chalicelib.openbanking.protocol.oauth_security import SIGNING_ALGORITHMS
from chalicelib.openbanking.protocol.psd2_statement import read_roles
from chalicelib.openbanking.records.client_list import ClientFilter, ClientList
from chalicelib.openbanking.records.client_record import Client
from chalicelib.openbanking.records.client_security import ClientSecurity
from tests.kit.time import ManualClock

CORPUS = Path(__file__).parent / "corpus"
CLOCK = ManualClock(datetime(2026, 3, 1, tzinfo=UTC))
_BASE = "https://causeway.example"
_ENDPOINT = f"{_BASE}/tpp/token"
_EVENTS_SECRETS = [f"whsec_{base64.b64encode(bytes([number]) * 32).decode()}" for number in (1, 2)]
_KEYRING = cast(Keyring, SimpleNamespace(derived_keys=lambda purpose: [purpose.encode()]))
_PRIVATE_KEY = ec.derive_private_key(2026, ec.SECP256R1())
_EMPTY_STORE = cast(Store, SimpleNamespace(query=lambda *_, **__: Page([], None)))


def text(content: bytes) -> str:
    """Decode bytes in the same way as API Gateway. Bytes that are not valid UTF-8 are replaced."""
    return content.decode(errors="replace")


def sign_jwt(content: bytes) -> str:
    """Sign a token with ES256. The first line of ``content`` is the header, and the remaining lines are the claims."""
    header, _, claims = content.partition(b"\n")
    signed = f"{base64url(header)}.{base64url(claims)}"
    der = _PRIVATE_KEY.sign(signed.encode(), ec.ECDSA(hashes.SHA256()))
    signature = b"".join(each.to_bytes(32, "big") for each in utils.decode_dss_signature(der))
    return f"{signed}.{base64url(signature)}"


@cache
def public_jwk() -> dict[str, Any]:
    numbers = _PRIVATE_KEY.public_key().public_numbers()
    x, y = (base64url(each.to_bytes(32, "big")) for each in (numbers.x, numbers.y))
    return {"kty": "EC", "crv": "P-256", "x": x, "y": y}


@cache
def _proofs() -> DpopProofs:
    return DpopProofs(DpopNonces(_KEYRING, CLOCK), CLOCK)


@cache
def _assertions() -> ClientAssertions:
    return ClientAssertions(KeySets(Outbound(public_only=True), CLOCK), CLOCK, _BASE, [_ENDPOINT])


@cache
def _client() -> Client:
    security = ClientSecurity(auth_method="private_key_jwt", jwks={"keys": [public_jwk()]})
    return Client("client-1", "owner", "TPP", (f"{_BASE}/done",), "R-1", True, None, (), 0, security=security)


def read_jwt(content: bytes) -> None:
    token = parse(text(content))
    verify(token, [import_key(public_jwk())], SIGNING_ALGORITHMS)


def read_assertion(content: bytes) -> None:
    """Verify a client assertion. This function signs the content, so that fuzzing can reach every check."""
    assertion = sign_jwt(content)
    read_subject(assertion)
    _assertions().verify(_client(), assertion, [_ENDPOINT])


def read_proof(content: bytes) -> None:
    _proofs().verify(sign_jwt(content), "POST", [_ENDPOINT], token="access", needs_nonce=False)


def read_proof_address(address: str) -> None:
    header = jsontext.dumps({"typ": "dpop+jwt", "alg": "ES256", "jwk": public_jwk()})
    claims = jsontext.dumps({"htm": "POST", "htu": address})
    with suppress(InvalidJwt):
        _proofs().verify(sign_jwt(f"{header}\n{claims}".encode()), "POST", [_ENDPOINT], needs_nonce=False)


def read_claims(content: bytes) -> None:
    token = parse(sign_jwt(content))
    for name in ("exp", "iat", "nbf"):
        read_time(token.claims, name)
    read_identifier(token.claims)


def read_key_set(content: bytes) -> None:
    token = parse(sign_jwt(b'{"alg":"PS256"}\n{}'))
    keys = import_key_set(jsontext.loads(content))
    for key in keys:
        thumbprint(key)
    for algorithm in SIGNING_ALGORITHMS:
        with suppress(InvalidJwt):
            verify(token, keys, [algorithm])


def read_key(content: bytes) -> None:
    with suppress(InvalidKey):
        load_private_key(text(content))
    key = load_public_key(text(content))
    signatures.verify([key], b"{}", "AAAA")
    signatures.jwk(key)


@cache
def _authorities() -> TrustedAuthorities:
    return TrustedAuthorities((CORPUS / "certificate" / "authority.pem").read_text())


def read_client_certificate(content: bytes) -> None:
    certificate = read_certificate(text(content))
    with suppress(InvalidCertificate):
        _authorities().check(certificate, CLOCK.time())
    with suppress(InvalidName):
        normalize_name(certificate.subject)
    read_roles(certificate.pem)


def read_bank_signature(content: bytes) -> None:
    key = load_public_key((CORPUS / "key" / "public.pem").read_text())
    signatures.verify([key], b"{}", text(content))
    signature_hints.explain([key], b"{}", text(content))


def read_pasted_keys(content: bytes) -> None:
    public_keys.read_public_keys(text(content))


def read_event(content: bytes) -> None:
    """Verify an event at the built-in receiver. The first three lines are id, time and signature. The other lines are
    the body.
    """
    names = ("webhook-id", "webhook-timestamp", "webhook-signature")
    *values, body = (content + b"\n\n\n").split(b"\n", 3)
    headers = dict(zip(names, map(text, values), strict=True))
    event_signing.is_signed(_EVENTS_SECRETS, headers, body, CLOCK.time())


def read_cursor(content: bytes) -> None:
    cursor = text(content)
    ClientList(_EMPTY_STORE).page("owner", ClientFilter(), 10, after=cursor)
    client_events.decode_position(cursor)
    SignedCursors(_KEYRING, "purpose").read("reader", cursor)


def read_opaque(content: bytes) -> None:
    OpaqueToken.parse(text(content), parts=3)
    read_uuid(text(content))
