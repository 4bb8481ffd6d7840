"""The parties behind what is parsed: fixed keys, so that the corpus can have tokens and signatures of them."""

from __future__ import annotations

import base64
from datetime import UTC, datetime
from functools import cache
from typing import Any, cast

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, utils
from joserfc.jwk import Key

from chalicelib.foundation.crypto.keyring import Keyring
from chalicelib.foundation.crypto.signed_jwts import import_key
from chalicelib.foundation.http.outbound import Outbound
from chalicelib.foundation.identifiers import base64url
from chalicelib.openbanking.oauth.dpop import DpopNonces, DpopProofs
from chalicelib.openbanking.oauth.key_sets import KeySets
from chalicelib.openbanking.oauth.private_key_jwt import ClientAssertions
from chalicelib.openbanking.records.client_record import Client
from chalicelib.openbanking.records.client_security import ClientSecurity
from tests.manual_clock import ManualClock

BASE = "https://causeway.example"
CLIENT_ID = "client-1"
CLOCK = ManualClock(datetime(2026, 3, 1, tzinfo=UTC))


@cache
def private_key() -> ec.EllipticCurvePrivateKey:
    return ec.derive_private_key(2026, ec.SECP256R1())


@cache
def public_members() -> dict[str, Any]:
    """The public key as a JSON Web Key."""
    numbers = private_key().public_key().public_numbers()
    x, y = (base64url(each.to_bytes(32, "big")) for each in (numbers.x, numbers.y))
    return {"kty": "EC", "crv": "P-256", "x": x, "y": y}


@cache
def public_key() -> Key:
    return import_key(public_members())


def sign_jwt(content: bytes) -> str:
    """A token signed with ES256; its header is the first line of ``content``, its claims are the rest."""
    header, _, claims = content.partition(b"\n")
    signed = f"{base64url(header)}.{base64url(claims)}"
    der = private_key().sign(signed.encode(), ec.ECDSA(hashes.SHA256()))
    signature = b"".join(each.to_bytes(32, "big") for each in utils.decode_dss_signature(der))
    return f"{signed}.{base64url(signature)}"


class FixedKeys:
    """The part of a keyring that signs nonces and cursors."""

    def derived_keys(self, purpose: str) -> list[bytes]:
        return [purpose.encode()]

    def derived_signing_key(self, purpose: str) -> bytes:
        return purpose.encode()


KEYRING = cast(Keyring, FixedKeys())


@cache
def proofs() -> DpopProofs:
    return DpopProofs(DpopNonces(KEYRING, CLOCK), CLOCK)


@cache
def assertions() -> ClientAssertions:
    key_sets = KeySets(Outbound(public_only=True), CLOCK)
    return ClientAssertions(key_sets, CLOCK, BASE, [f"{BASE}/tpp/token"])


@cache
def client() -> Client:
    """A client that authenticates with a key."""
    security = ClientSecurity(auth_method="private_key_jwt", jwks={"keys": [public_members()]})
    return Client(CLIENT_ID, "owner", "TPP", (f"{BASE}/done",), "R-1", True, None, (), 0, security=security)


def secret(number: int = 1) -> str:
    """A signing secret of events."""
    return f"whsec_{base64.b64encode(bytes([number]) * 32).decode()}"
