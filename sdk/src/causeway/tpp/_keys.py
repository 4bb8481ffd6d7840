"""Private keys that the hub accepts, with checks and file access. Needs the extra ``crypto``."""

from __future__ import annotations

import base64
import os
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal

from causeway import _json
from causeway.errors import ConfigurationError

if TYPE_CHECKING:
    from joserfc.jwk import Key
    from joserfc.jws import JWSRegistry

Algorithm = Literal["ES256", "PS256", "EdDSA"]
KeyMaterial = str | bytes | Mapping[str, Any]
"""A private key in PEM format, or a JSON Web Key as JSON text or as a mapping."""
RSA_BITS = 2048
KINDS: Mapping[str, tuple[Algorithm, str, frozenset[str]]] = {
    "EC": ("ES256", "P-256", frozenset({"ES256"})),
    "RSA": ("PS256", "", frozenset({"PS256"})),
    "OKP": ("EdDSA", "Ed25519", frozenset({"EdDSA", "Ed25519"})),
}
"""The algorithm, the curve, and the permitted values of the member ``alg``, by type of key."""
MEMBERS = ("kty", "crv", "x", "y", "d", "n", "e", "p", "q", "dp", "dq", "qi")
UNFIT = "the hub accepts RSA keys of 2048 bits or more, P-256 and Ed25519"


class SigningKey:
    """A private key for signatures that the hub accepts. The key is never part of an error message or a ``repr``."""

    def __init__(self, key: KeyMaterial, password: str | bytes | None = None) -> None:
        _joserfc()
        members = dict(key) if isinstance(key, Mapping) else _members_of_text(key, password)
        self.algorithm = _check(members)
        self.kid = _kid(members)
        self.private = {name: value for name, value in members.items() if name in MEMBERS}
        self._key, self._rules = _import(self.private), _rules()
        self.public = {name: value for name, value in self._key.as_dict(private=False).items() if name in MEMBERS}
        self.thumbprint = self._key.thumbprint()
        self._prove()

    def sign(self, header: Mapping[str, Any], claims: Mapping[str, Any]) -> str:
        """Create a signed compact JWT."""
        from joserfc import jws

        protected: Any = {"alg": self.algorithm, **header}
        return jws.serialize_compact(protected, _json.dumps(claims), self._key, registry=self._rules)

    def _prove(self) -> None:
        """Check that the public members match the private members."""
        from joserfc import jws
        from joserfc.errors import JoseError

        try:
            jws.deserialize_compact(self.sign({}, {}), _import(self.public), registry=self._rules)
        except (JoseError, ValueError):
            raise ConfigurationError("the key is damaged: its public part is that of another key") from None


def generate_members(algorithm: Algorithm) -> dict[str, Any]:
    """Generate a private key as a JSON Web Key."""
    for kind, (name, curve, _) in KINDS.items():
        if name == algorithm:
            members: dict[str, Any] = _joserfc().jwk.generate_key(kind, curve or RSA_BITS).as_dict(private=True)
            return {member: value for member, value in members.items() if member in MEMBERS}
    raise ConfigurationError("algorithm must be ES256, PS256 or EdDSA")


def read_key(path: str | os.PathLike[str]) -> bytes:
    """Read the content of a key file."""
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise ConfigurationError(f"the key's file {os.fspath(path)!r} cannot be read: {error.strerror}") from None


def write_key(path: str | os.PathLike[str], members: Mapping[str, Any]) -> None:
    """Write a key to a new file that only its owner can read. An existing file is not replaced, because it may contain
    the only copy of a key.
    """
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise ConfigurationError(f"the key's file {os.fspath(path)!r} cannot be made: {error.strerror}") from None
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(_json.dumps(members))
            file.flush()
            os.fsync(file.fileno())
    except OSError:
        Path(path).unlink(missing_ok=True)
        raise


def _members_of_text(key: str | bytes, password: str | bytes | None) -> dict[str, Any]:
    """Parse the members of a JSON Web Key."""
    content = key.encode() if isinstance(key, str) else bytes(key)
    if not content.lstrip().startswith(b"{"):
        return _members_of_pem(content, password)
    try:
        members = _json.loads(content)
    except ValueError:
        members = None
    if not isinstance(members, dict):
        raise ConfigurationError("the key is no JSON Web Key: it is not JSON")
    return members


def _members_of_pem(content: bytes, password: str | bytes | None) -> dict[str, Any]:
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    secret = password.encode() if isinstance(password, str) else password
    try:
        return _members_of_key(load_pem_private_key(content, secret))
    except TypeError:
        reason = "it is encrypted: pass its password" if secret is None else "it is not encrypted: pass no password"
    except (ValueError, UnsupportedAlgorithm):
        reason = "neither a private key in PEM nor a JSON Web Key" if secret is None else "wrong password, or no PEM"
    raise ConfigurationError(f"the key cannot be read: {reason}")


def _members_of_key(found: Any) -> dict[str, Any]:
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
    from joserfc.jwk import ECKey, OKPKey, RSAKey

    kinds: tuple[tuple[type, Any], ...] = (
        (rsa.RSAPrivateKey, RSAKey),
        (ec.EllipticCurvePrivateKey, ECKey),
        (ed25519.Ed25519PrivateKey, OKPKey),
    )
    kind = next((kind for of, kind in kinds if isinstance(found, of)), None)
    if kind is None or (kind is ECKey and found.curve.name != "secp256r1"):
        raise ConfigurationError(f"a key of another type: {UNFIT}")
    if kind is RSAKey:
        _check_bits(found.key_size)
    plain = found.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return dict(kind.import_key(plain).as_dict(private=True))


def _check_bits(bits: int) -> None:
    if bits < RSA_BITS:
        raise ConfigurationError(f"an RSA key of {bits} bits: {UNFIT}")


def _modulus_bits(modulus: object) -> int:
    """Return the bit length of a number in base64url. Return 0 if the text is not a number."""
    try:
        return int.from_bytes(base64.urlsafe_b64decode(f"{modulus}===")).bit_length()
    except ValueError:
        return 0


def _kid(members: Mapping[str, Any]) -> str | None:
    kid = members.get("kid")
    return kid if isinstance(kid, str) and kid else None


def _check(members: Mapping[str, Any]) -> Algorithm:
    """Return the algorithm of a key. Raises ``ConfigurationError`` if the hub does not accept the key."""
    if "keys" in members:
        raise ConfigurationError("pass one private key, not a set of keys")
    kind = str(members.get("kty"))
    if kind not in KINDS:
        raise ConfigurationError(f"a key of another type: {UNFIT}")
    algorithm, curve, names = KINDS[kind]
    if curve and members.get("crv") != curve:
        raise ConfigurationError(f"a key on another curve: {UNFIT}")
    if kind == "RSA":
        _check_bits(_modulus_bits(members.get("n")))
    if "d" not in members:
        raise ConfigurationError("the key is public: pass the private one")
    if members.get("alg", algorithm) not in names:
        raise ConfigurationError(f"the key's member alg must be {algorithm}, with which the hub verifies it")
    if members.get("use", "sig") != "sig" or "sign" not in members.get("key_ops", ["sign"]):
        raise ConfigurationError("the key is not for signatures: its member use or key_ops says so")
    return algorithm


def _import(members: Mapping[str, Any]) -> Key:
    """Import the key of a JSON Web Key. Raises ``ConfigurationError``."""
    from joserfc import jwk
    from joserfc.errors import JoseError

    try:
        key = jwk.import_key(dict(members))
        key.thumbprint()  # parses it
        return key
    except (JoseError, ValueError, TypeError, KeyError, AttributeError):
        raise ConfigurationError("the key is damaged: a member is missing or wrong") from None


def _rules() -> JWSRegistry:
    """Return joserfc's rules without the size limit of headers, because headers contain a key, and without the warning
    about EdDSA.
    """
    from joserfc.jws import JWSRegistry

    class _Rules(JWSRegistry):
        max_header_length = 16_384

        def get_alg(self, name: str) -> Any:
            """Return the algorithm of any name."""
            return self.algorithms[name]

    return _Rules(strict_check_header=False)


def _joserfc() -> ModuleType:
    """Import joserfc. Raises ``ConfigurationError`` if the extra ``crypto`` is not installed."""
    try:
        import cryptography  # noqa: F401
        import joserfc
        import joserfc.jwk
    except ImportError:
        raise ConfigurationError("keys need joserfc and cryptography: pip install 'causeway[crypto]'") from None
    return joserfc
