"""Client keys: the hub and the library cryptography accept their signatures, and unsuitable keys are rejected."""

import base64
import hashlib
import json
import stat
import subprocess
import sys
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed448, ed25519, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from joserfc import jwk

from causeway.errors import ConfigurationError
from causeway.tpp import DpopKey, PrivateKeyJwt
from causeway.tpp._keys import Algorithm, SigningKey
from tests.causeway import Causeway
from tests.kit.processes import SDK_SOURCE
from tests.openbanking.key_holder import BASE

ALGORITHMS: tuple[Algorithm, ...] = ("ES256", "PS256", "EdDSA")
PLACE = f"{BASE}/tpp/accounts"
NOW = 1_800_000_000.0


@cache
def native_rsa(bits: int) -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(65537, bits)


def native(algorithm: str, bits: int = 2048) -> Any:
    """Return a key of the library cryptography. For RSA, return the same key for each key length."""
    if algorithm == "PS256":
        return native_rsa(bits)
    return ec.generate_private_key(ec.SECP256R1()) if algorithm == "ES256" else ed25519.Ed25519PrivateKey.generate()


def pem(key: Any, password: bytes | None = None, form: str = "PKCS8") -> bytes:
    encryption = serialization.BestAvailableEncryption(password) if password else serialization.NoEncryption()
    content: bytes = key.private_bytes(
        serialization.Encoding.PEM, getattr(serialization.PrivateFormat, form), encryption
    )
    return content


def private_jwk(algorithm: Algorithm = "ES256", **members: Any) -> dict[str, Any]:
    """Return a private key as a JSON Web Key. Omit members whose value is ``None``."""
    found = {**SigningKey(pem(native(algorithm))).private, **members}
    return {name: value for name, value in found.items() if value is not None}


def decoded(token: str, key: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Verify a JWT without joserfc (RFC 7515, 7518, 8037). Return its header and its claims."""
    signed, _, end = token.rpartition(".")
    content, signature = signed.encode(), octets(end)
    header, claims = (json.loads(octets(part)) for part in signed.split("."))
    if key["kty"] == "EC":
        public = ec.EllipticCurvePublicNumbers(number(key["x"]), number(key["y"]), ec.SECP256R1()).public_key()
        halves = (int.from_bytes(half) for half in (signature[:32], signature[32:]))
        public.verify(encode_dss_signature(*halves), content, ec.ECDSA(hashes.SHA256()))
    elif key["kty"] == "RSA":
        numbers = rsa.RSAPublicNumbers(number(key["e"]), number(key["n"]))
        scheme = padding.PSS(padding.MGF1(hashes.SHA256()), 32)
        numbers.public_key().verify(signature, content, scheme, hashes.SHA256())
    else:
        ed25519.Ed25519PublicKey.from_public_bytes(octets(key["x"])).verify(signature, content)
    return header, claims


def octets(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "==")


def number(text: str) -> int:
    return int.from_bytes(octets(text))


def thumbprint(key: dict[str, Any]) -> str:
    text = json.dumps(key, sort_keys=True, separators=(",", ":"))
    return base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()


@pytest.fixture(params=ALGORITHMS)
def algorithm(request: pytest.FixtureRequest) -> Algorithm:
    found: Algorithm = request.param
    return found


def test_the_hub_accepts_each_client_assertion_only_once(causeway: Causeway, algorithm: Algorithm) -> None:
    key = PrivateKeyJwt.generate(algorithm)
    members = {"auth_method": "private_key_jwt", "jwks": key.jwks, "security_profile": "fapi2"}
    client = causeway.hub.openbanking.clients.update(causeway.tpp.client_id, security=members).client

    def ask(assertion: str) -> int:
        return causeway.tpp.call("GET", "/tpp/banks", client_id="", headers={"x-client-assertion": assertion}).status

    first, second = (key.sign(client.client_id, BASE, causeway.clock.time() + 0.7) for _ in range(2))
    assert [ask(first), ask(second), ask(first)] == [200, 200, 401]
    assert ask(PrivateKeyJwt.generate(algorithm).sign(client.client_id, BASE, causeway.clock.time())) == 401


def test_the_hub_accepts_a_dpop_proof_for_its_url_and_token(causeway: Causeway, algorithm: Algorithm) -> None:
    key, hub = DpopKey.generate(algorithm), causeway.hub.openbanking
    nonce, now = hub.dpop_nonces.make(), causeway.clock.time() + 0.7

    text = key.prove("GET", PLACE, now, access_token="token", nonce=nonce)
    proof = hub.credential_checks.proofs.verify(text, "GET", [PLACE], token="token", needs_nonce=True)

    assert proof.jkt == key.thumbprint
    assert proof.use.identifier != DpopKey.generate(algorithm).thumbprint


def test_an_assertion_is_verifiable_with_the_public_key(algorithm: Algorithm) -> None:
    key = PrivateKeyJwt(pem(native(algorithm)), kid="key-1", lifetime=120)

    header, claims = decoded(key.sign("client-1", BASE, NOW + 0.9), key.jwks["keys"][0])

    assert header == {"alg": algorithm, "typ": "JWT", "kid": "key-1"}
    assert claims.pop("jti")
    expected = {"iss": "client-1", "sub": "client-1", "aud": BASE, "iat": int(NOW), "exp": int(NOW) + 120}
    assert claims == expected


def test_a_dpop_proof_is_verifiable_with_its_public_key(algorithm: Algorithm) -> None:
    key = DpopKey(pem(native(algorithm)))

    text = key.prove("POST", PLACE, NOW, access_token="token", nonce="n1")
    carried = json.loads(octets(text.partition(".")[0]))["jwk"]
    header, claims = decoded(text, carried)

    assert (header["typ"], header["alg"]) == ("dpop+jwt", algorithm)
    assert (
        set(carried)
        == {"EC": {"kty", "crv", "x", "y"}, "RSA": {"kty", "n", "e"}, "OKP": {"kty", "crv", "x"}}[carried["kty"]]
    )
    assert claims.pop("jti")
    ath = base64.urlsafe_b64encode(hashlib.sha256(b"token").digest()).rstrip(b"=").decode()
    assert claims == {"htm": "POST", "htu": PLACE, "iat": int(NOW), "ath": ath, "nonce": "n1"}
    assert thumbprint(carried) == key.thumbprint


def test_a_dpop_proof_without_token_and_nonce_has_no_ath_and_no_nonce_claim() -> None:
    key = DpopKey.generate()

    _, claims = decoded(key.prove("POST", PLACE, NOW, access_token=None, nonce=None), key._key.public)

    assert set(claims) == {"jti", "htm", "htu", "iat"}


@pytest.mark.parametrize("form", ["PKCS8", "TraditionalOpenSSL"])
@pytest.mark.parametrize("password", [None, b"a password"])
def test_a_private_key_in_pem_format_is_loaded(algorithm: Algorithm, form: str, password: bytes | None) -> None:
    key = native(algorithm)
    if algorithm == "EdDSA":
        form = "PKCS8"
    content = pem(key, password, form)

    as_bytes = PrivateKeyJwt(content, password=password)
    as_text = PrivateKeyJwt(content.decode(), password=password.decode() if password else None)

    assert as_bytes.jwks == as_text.jwks
    assert (as_bytes.algorithm, as_bytes.kid) == (algorithm, None)


def test_a_json_web_key_is_loaded_with_its_kid(algorithm: Algorithm) -> None:
    members = private_jwk(algorithm, kid="key-7", alg=algorithm, use="sig", key_ops=["sign"])

    keys = [PrivateKeyJwt(members), PrivateKeyJwt(json.dumps(members)), PrivateKeyJwt(f" {json.dumps(members)}")]

    assert [key.kid for key in keys] == ["key-7"] * 3
    assert keys[0].jwks == keys[1].jwks == keys[2].jwks
    assert PrivateKeyJwt(members, kid="key-8").jwks["keys"][0]["kid"] == "key-8"


def test_an_ed25519_key_can_be_used_with_each_name_of_its_algorithm() -> None:
    assert PrivateKeyJwt(private_jwk("EdDSA", alg="Ed25519")).algorithm == "EdDSA"


def test_keys_are_saved_with_owner_only_permissions_and_loaded(tmp_path: Path, algorithm: Algorithm) -> None:
    assertion, proof = PrivateKeyJwt.generate(algorithm), DpopKey.generate(algorithm)
    assertion.save(tmp_path / "client.json")
    proof.save(tmp_path / "dpop.json")

    loaded = PrivateKeyJwt.load(tmp_path / "client.json", lifetime=30)

    assert (loaded.jwks, loaded.kid) == (assertion.jwks, assertion.kid)
    assert loaded.kid == jwk.import_key(loaded.jwks["keys"][0]).thumbprint()
    assert DpopKey.load(str(tmp_path / "dpop.json")).thumbprint == proof.thumbprint
    assert {stat.S_IMODE(file.stat().st_mode) for file in tmp_path.iterdir()} == {0o600}


def test_saving_a_key_does_not_overwrite_a_file(tmp_path: Path) -> None:
    file = tmp_path / "dpop.json"
    DpopKey.generate().save(file)
    before = file.read_bytes()

    with pytest.raises(ConfigurationError, match=r"dpop\.json' cannot be made: File exists"):
        DpopKey.generate().save(file)

    assert file.read_bytes() == before


def test_a_missing_key_file_is_reported_by_name(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"missing\.pem' cannot be read: No such file"):
        PrivateKeyJwt.load(tmp_path / "missing.pem")


UNFIT: dict[str, tuple[Any, str]] = {
    "an RSA key of 1024 bits": (lambda: pem(native("PS256", 1024)), "an RSA key of 1024 bits: the hub accepts"),
    "an RSA JSON Web Key of 1024 bits": (lambda: {**private_jwk("PS256"), "n": "-" * 171}, "an RSA key of 1024 bits"),
    "an RSA JSON Web Key without a number": (lambda: private_jwk("PS256", n="{}"), "an RSA key of 0 bits"),
    "P-384 in PEM": (lambda: pem(ec.generate_private_key(ec.SECP384R1())), "the hub accepts .*P-256"),
    "P-384": (lambda: dict(jwk.generate_key("EC", "P-384").as_dict(private=True)), "on another curve"),
    "Ed448": (lambda: pem(ed448.Ed448PrivateKey.generate()), "the hub accepts .*Ed25519"),
    "a symmetric key": (lambda: {"kty": "oct", "k": "c2VjcmV0"}, "a key of another type"),
    "a public key": (lambda: private_jwk(d=None), "the key is public"),
    "a public key in PEM": (
        lambda: (
            native("ES256")
            .public_key()
            .public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
        ),
        "neither a private key in PEM nor a JSON Web Key",
    ),
    "a set": (lambda: {"keys": [private_jwk()]}, "not a set of keys"),
    "another algorithm": (lambda: private_jwk("PS256", alg="RS256"), "alg must be PS256"),
    "for encryption": (lambda: private_jwk(use="enc"), "not for signatures"),
    "for verifying": (lambda: private_jwk(key_ops=["verify"]), "not for signatures"),
    "a missing member": (lambda: private_jwk(y=None), "the key is damaged"),
    "a wrong member": (lambda: private_jwk(y=5), "the key is damaged"),
    "another public key": (lambda: private_jwk("EdDSA", x=private_jwk("EdDSA")["x"]), "the key is damaged"),
    "half a JSON": (lambda: json.dumps(private_jwk())[:-9], "it is not JSON"),
    "nothing": (lambda: "", "neither a private key in PEM nor a JSON Web Key"),
    "noise": (lambda: b"\xff\x00", "neither a private key in PEM nor a JSON Web Key"),
}


@pytest.mark.parametrize("case", UNFIT)
@pytest.mark.parametrize("kind", [PrivateKeyJwt, DpopKey])
def test_an_unsuitable_key_is_rejected_with_the_reason_and_without_the_key(
    case: str, kind: type[PrivateKeyJwt | DpopKey]
) -> None:
    make, reason = UNFIT[case]
    key = make()

    with pytest.raises(ConfigurationError, match=reason) as caught:
        kind(key)

    shown = f"{caught.value!r} {caught.value.__cause__!r}"
    assert not any(secret in shown for secret in secrets_of(key))
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


def secrets_of(key: Any) -> list[str]:
    if isinstance(key, dict):
        return [str(key[name]) for name in ("d", "p", "q", "k") if name in key]
    text = key.decode("latin-1") if isinstance(key, bytes) else key
    return [line for line in text.splitlines() if len(line) > 30 and not line.startswith("-")]


@pytest.mark.parametrize(
    ("encrypted", "password", "reason"),
    [
        (b"right", None, "it is encrypted: pass its password"),
        (b"right", "wrong", "wrong password"),
        (None, "needless", "it is not encrypted"),
    ],
)
def test_a_wrong_or_missing_key_password_is_rejected(
    encrypted: bytes | None, password: str | None, reason: str
) -> None:
    with pytest.raises(ConfigurationError, match=reason):
        DpopKey(pem(native("ES256"), encrypted), password=password)


@pytest.mark.parametrize("lifetime", [0, 301, float("nan")])
def test_an_assertion_lifetime_outside_1_to_300_seconds_is_rejected(lifetime: float) -> None:
    with pytest.raises(ConfigurationError, match="1 to 300 seconds"):
        PrivateKeyJwt.generate(lifetime=lifetime)


def test_an_unknown_key_algorithm_is_rejected() -> None:
    wrong: Any = "RS256"
    with pytest.raises(ConfigurationError, match="ES256, PS256 or EdDSA"):
        DpopKey.generate(wrong)


def test_no_repr_contains_a_secret() -> None:
    members = private_jwk(kid="key-1")
    assertion, proof = PrivateKeyJwt(members), DpopKey(members)

    shown = f"{assertion!r} {assertion!s} {proof!r} {proof!s} {assertion.jwks} {assertion._key!r}"

    assert members["d"] not in shown
    assert f"PrivateKeyJwt(algorithm='ES256', kid='key-1') {assertion!s} DpopKey(algorithm='ES256'" in shown


@pytest.mark.parametrize("missing", ["joserfc", "cryptography"])
def test_a_missing_crypto_dependency_raises_an_error_with_the_pip_command(missing: str) -> None:
    program = f"""
import sys
sys.modules[{missing!r}] = None
from causeway.errors import ConfigurationError
from causeway.tpp import DpopKey, PrivateKeyJwt
for use in (DpopKey.generate, PrivateKeyJwt.generate, lambda: DpopKey("-----"), lambda: DpopKey({{"kty": "EC"}})):
    try:
        use()
    except ConfigurationError as error:
        print(error)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], env={"PYTHONPATH": str(SDK_SOURCE)}, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines() == ["keys need joserfc and cryptography: pip install 'causeway[crypto]'"] * 4


def test_loading_keys_causes_no_warnings(algorithm: Algorithm) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        DpopKey.generate(algorithm).prove("GET", PLACE, NOW, access_token="token", nonce=None)
