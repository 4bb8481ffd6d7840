"""Signed JWTs: the header of a token does not determine which keys and algorithms are accepted."""

import base64
from decimal import Decimal
from typing import Any

import pytest
from joserfc import jwk
from joserfc.jws import serialize_compact

from chalicelib.foundation import jsontext
from chalicelib.foundation.crypto import signed_jwts
from chalicelib.foundation.crypto.signed_jwts import InvalidJwt, InvalidKeySet
from chalicelib.openbanking.protocol.oauth_security import SIGNING_ALGORITHMS
from tests.openbanking.key_holder import KeyHolder, forged


def public(kind: Any, size: Any, **members: Any) -> dict[str, Any]:
    return {**jwk.generate_key(kind, size).as_dict(private=False), **members}


@pytest.mark.parametrize("algorithm", SIGNING_ALGORITHMS)
def test_a_jwt_signature_by_an_allowed_algorithm_is_verified(algorithm: str) -> None:
    holder = KeyHolder(algorithm)
    token = signed_jwts.parse(holder.sign({"sub": "tpp"}, {"kid": "key-1"}))

    signed_jwts.verify(token, signed_jwts.import_key_set(holder.jwks), SIGNING_ALGORITHMS)

    assert token.claims == {"sub": "tpp"}


@pytest.mark.parametrize("algorithm", SIGNING_ALGORITHMS)
def test_a_jwt_with_changed_claims_is_rejected(algorithm: str) -> None:
    holder = KeyHolder(algorithm)
    head, _, signature = holder.sign({"sub": "tpp"}).split(".")
    other = holder.sign({"sub": "other"}).split(".")[1]

    with pytest.raises(InvalidJwt, match="signature is wrong"):
        signed_jwts.verify(
            signed_jwts.parse(f"{head}.{other}.{signature}"),
            signed_jwts.import_key_set(holder.jwks),
            SIGNING_ALGORITHMS,
        )


def test_a_jwt_without_a_signature_is_rejected() -> None:
    head, claims, _ = KeyHolder().sign({"sub": "tpp"}).split(".")

    for text, reason in ((forged({"sub": "tpp"}, "none"), "algorithm"), (f"{head}.{claims}.", "signature")):
        with pytest.raises(InvalidJwt, match=reason):
            signed_jwts.verify(
                signed_jwts.parse(text), signed_jwts.import_key_set(KeyHolder().jwks), SIGNING_ALGORITHMS
            )


def test_a_jwt_signed_with_hs256_and_the_public_key_is_rejected() -> None:
    """With HS256, anyone with the public key could create a valid signature."""
    holder = KeyHolder("PS256")
    token = signed_jwts.parse(forged({"sub": "tpp"}, "HS256", holder.key.as_pem(private=False)))

    with pytest.raises(InvalidJwt, match="algorithm is not allowed"):
        signed_jwts.verify(token, signed_jwts.import_key_set(holder.jwks), SIGNING_ALGORITHMS)


def test_a_jwt_signed_with_rs256_is_rejected_even_with_a_matching_key() -> None:
    holder = KeyHolder("RS256")

    with pytest.raises(InvalidJwt, match="algorithm is not allowed"):
        signed_jwts.verify(
            signed_jwts.parse(holder.sign({})), signed_jwts.import_key_set(holder.jwks), SIGNING_ALGORITHMS
        )


def test_the_kid_header_of_a_jwt_selects_the_key() -> None:
    one, other = KeyHolder(kid="one"), KeyHolder(kid="other")
    keys = signed_jwts.import_key_set({"keys": [*one.jwks["keys"], *other.jwks["keys"]]})

    signed_jwts.verify(signed_jwts.parse(other.sign({}, {"kid": "other"})), keys, SIGNING_ALGORITHMS)
    signed_jwts.verify(signed_jwts.parse(other.sign({})), keys, SIGNING_ALGORITHMS)
    for kid, reason in (("one", "signature"), ("third", "kid")):
        with pytest.raises(InvalidJwt, match=reason):
            signed_jwts.verify(signed_jwts.parse(other.sign({}, {"kid": kid})), keys, SIGNING_ALGORITHMS)


@pytest.mark.parametrize("depth", [100, 6000])
def test_a_deeply_nested_jwt_header_is_rejected(depth: int) -> None:
    header = base64.urlsafe_b64encode(b'{"alg":"ES256","jwk":' + b"[" * depth + b"]" * depth + b"}").decode()

    with pytest.raises(InvalidJwt):
        signed_jwts.parse(f"{header.rstrip('=')}.e30.e30")


@pytest.mark.parametrize("text", ["", "a", "a.b", "a.b.c", "....", "é.é.é", "e30.e30.e30", "x" * 20_000])
def test_text_that_is_not_a_jwt_is_rejected(text: str) -> None:
    with pytest.raises(InvalidJwt):
        signed_jwts.verify(signed_jwts.parse(text), signed_jwts.import_key_set(KeyHolder().jwks), SIGNING_ALGORITHMS)


@pytest.mark.parametrize(
    "header",
    [r'{"alg":"ES256","kid":"\ud800"}', r'{"alg":"ES256","\ud800":1}', '{"alg":"a","alg":"b"}', '"alg"', '["alg"]'],
)
def test_an_ambiguous_or_malformed_jwt_header_is_rejected(header: str) -> None:
    encoded = base64.urlsafe_b64encode(header.encode()).decode().rstrip("=")

    with pytest.raises(InvalidJwt):
        signed_jwts.parse(f"{encoded}.e30.e30")


@pytest.mark.parametrize("claims", ["[]", "1", '"text"', '{"exp": 1, "exp": 2}', '{"exp": NaN}', r'{"jti":"\ud800"}'])
def test_ambiguous_or_malformed_jwt_claims_are_rejected(claims: str) -> None:
    holder = KeyHolder()
    text = serialize_compact({"alg": "ES256"}, claims, holder.key)

    with pytest.raises(InvalidJwt):
        signed_jwts.parse(text)


@pytest.mark.parametrize(
    ("members", "reason"),
    [
        (public("RSA", 2048) | {"d": "AQAB"}, "private"),
        (public("EC", "P-384"), "P-256"),
        (public("EC", "secp256k1"), "P-256"),
        (public("OKP", "X25519"), "Ed25519"),
        ({"kty": "oct", "k": "c2VjcmV0"}, "private"),
        ({"kty": "AKP", "alg": "ML-DSA-65"}, "type RSA, EC or OKP"),
        ({"kty": "RSA", "n": "!", "e": "AQAB"}, "2048 bits"),
        ({"kty": "RSA", "n": "_" * 350, "e": 5}, "not a JSON Web Key"),
        ({"kty": "EC", "crv": "P-256", "x": "AA", "y": "AA"}, "not a JSON Web Key"),
        ({}, "type RSA, EC or OKP"),
    ],
)
def test_unsuitable_json_web_keys_are_rejected_with_the_reason(members: dict[str, Any], reason: str) -> None:
    with pytest.raises(InvalidKeySet, match=reason):
        signed_jwts.import_key_set({"keys": [members]})


def test_a_short_rsa_json_web_key_is_rejected() -> None:
    short = {"kty": "RSA", "e": "AQAB", "n": "_" * 170}

    with pytest.raises(InvalidKeySet, match="2048 bits"):
        signed_jwts.import_key_set({"keys": [short]})


@pytest.mark.parametrize("members", [None, [], {}, {"keys": {}}, {"keys": []}, {"keys": ["key"]}, {"keys": [None]}])
def test_a_malformed_json_web_key_set_is_rejected(members: object) -> None:
    with pytest.raises(InvalidKeySet):
        signed_jwts.import_key_set(members)


def test_a_json_web_key_set_of_more_than_20_keys_is_rejected() -> None:
    key = KeyHolder().jwks["keys"][0]

    with pytest.raises(InvalidKeySet, match="more than 20"):
        signed_jwts.import_key_set({"keys": [key] * 21})


@pytest.mark.parametrize("named", ["EdDSA", "Ed25519", None])
@pytest.mark.parametrize("algorithm", ["EdDSA", "Ed25519"])
def test_an_ed25519_key_verifies_tokens_with_either_algorithm_name(algorithm: str, named: str | None) -> None:
    holder = KeyHolder(algorithm)
    keys = signed_jwts.import_key_set({"keys": [holder.public | ({"alg": named} if named else {})]})

    signed_jwts.verify(signed_jwts.parse(holder.sign({})), keys, SIGNING_ALGORITHMS)


def test_unsuitable_keys_in_a_json_web_key_set_are_ignored() -> None:
    holder = KeyHolder()
    others = [public("EC", "P-384"), {"kty": "AKP", "alg": "ML-DSA-65"}, {}]

    keys = signed_jwts.import_key_set({"keys": [*others, *holder.jwks["keys"]]})

    assert [key.kid for key in keys] == ["key-1"]


@pytest.mark.parametrize("use", ["sig", "enc"])
@pytest.mark.parametrize(
    "secret", [KeyHolder().key.as_dict(private=True), {"kty": "oct", "k": "c2VjcmV0"}], ids=["private", "symmetric"]
)
def test_a_key_set_with_a_private_or_symmetric_key_is_rejected(secret: dict[str, Any], use: str) -> None:
    with pytest.raises(InvalidKeySet, match="private"):
        signed_jwts.import_key_set({"keys": [*KeyHolder().jwks["keys"], {**secret, "use": use}]})


def test_json_web_keys_for_encryption_are_ignored() -> None:
    holder = KeyHolder()
    encrypting = public("RSA", 2048, use="enc", kid="for-encryption")

    keys = signed_jwts.import_key_set({"keys": [encrypting, *holder.jwks["keys"]]})

    assert [key.kid for key in keys] == ["key-1"]
    with pytest.raises(InvalidKeySet, match="verifies signatures"):
        signed_jwts.import_key_set({"keys": [encrypting]})


@pytest.mark.parametrize("critical", [[], ["kid"], ["b64"], ["exp"], None, "kid"], ids=repr)
def test_a_jwt_with_a_crit_member_in_its_header_is_rejected(critical: object) -> None:
    token = KeyHolder().sign({"sub": "tpp"}, {"kid": "key-1"}).split(".")[1:]
    header = jsontext.dumps({"alg": "PS256", "kid": "key-1", "b64": True, "exp": 1, "crit": critical})
    head = base64.urlsafe_b64encode(header.encode()).decode().rstrip("=")

    with pytest.raises(InvalidJwt, match="crit"):
        signed_jwts.parse(".".join([head, *token]))


def test_a_jwt_time_claim_must_be_a_number() -> None:
    claims = {"int": 5, "decimal": Decimal("5.5"), "text": "5", "true": True}

    assert [signed_jwts.read_time(claims, name) for name in ("int", "decimal", "none")] == [5, Decimal("5.5"), None]
    for name in ("text", "true"):
        with pytest.raises(InvalidJwt, match="must be a number"):
            signed_jwts.read_time(claims, name)
