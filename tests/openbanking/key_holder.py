"""A TPP with a key and its signed calls, and the PSD2 certificates of a TPP."""

import base64
import hashlib
import hmac
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from joserfc import jwk
from joserfc.jws import JWSRegistry, serialize_compact

from chalicelib.foundation import jsontext
from chalicelib.foundation.settings import Settings
from chalicelib.openbanking.protocol.oauth_security import ASSERTION_TYPE
from chalicelib.openbanking.protocol.psd2_statement import encode_statement
from chalicelib.openbanking.protocol.scopes import Role
from tests.causeway import Answer, Causeway
from tests.kit import certificates
from tests.kit.certificates import Authority

VERIFIER = "a-code-verifier-that-is-long-enough-for-rfc-7636"
CHALLENGE = base64.urlsafe_b64encode(hashlib.sha256(VERIFIER.encode()).digest()).rstrip(b"=").decode()
BASE = "http://127.0.0.1:8000"
SIZES: Mapping[str, tuple[Any, Any]] = {
    "PS256": ("RSA", 2048),
    "RS256": ("RSA", 2048),
    "ES256": ("EC", "P-256"),
    "EdDSA": ("OKP", "Ed25519"),
    "Ed25519": ("OKP", "Ed25519"),
}


class Rules(JWSRegistry):
    """A joserfc registry that allows any algorithm and does not limit the size of headers."""

    max_header_length = 10_000

    def get_alg(self, name: str) -> Any:
        return self.algorithms[name]


class KeyHolder:
    """A private key. Client assertions contain its ``kid``, and DPoP proofs contain its public key."""

    def __init__(self, algorithm: str = "ES256", kid: str | None = "key-1") -> None:
        self.algorithm, self.kid = algorithm, kid
        self.key: Any = jwk.generate_key(*SIZES[algorithm])

    @property
    def public(self) -> dict[str, Any]:
        members: dict[str, Any] = self.key.as_dict(private=False)
        return {name: value for name, value in members.items() if name != "kid"}

    @property
    def jwks(self) -> dict[str, Any]:
        return {"keys": [self.public | ({"kid": self.kid} if self.kid else {}) | {"use": "sig"}]}

    @property
    def thumbprint(self) -> str:
        return str(self.key.thumbprint())

    def sign(self, claims: Mapping[str, Any], header: Mapping[str, Any] | None = None) -> str:
        rules = Rules(strict_check_header=False)
        head = {"typ": "JWT", "alg": self.algorithm, **(header or {})}
        return serialize_compact(head, jsontext.dumps(claims), self.key, registry=rules)

    def assertion(self, causeway: Causeway, header: Mapping[str, Any] | None = None, **claims: Any) -> str:
        """Return a client assertion. ``None`` removes a claim."""
        client_id, now = causeway.tpp.client_id, causeway.clock.time()
        made = {"iss": client_id, "sub": client_id, "aud": BASE, "jti": uuid.uuid4().hex, "exp": now + 60, "iat": now}
        made |= claims
        named = {"kid": self.kid} if self.kid else {}
        return self.sign(_present(made), named | dict(header or {}))

    def proof(
        self,
        causeway: Causeway,
        method: str = "POST",
        path: str = "/tpp/token",
        token: str | None = None,
        header: Mapping[str, Any] | None = None,
        **claims: Any,
    ) -> str:
        """Return a DPoP proof for one request. ``None`` removes a claim."""
        made = {"jti": uuid.uuid4().hex, "htm": method, "htu": BASE + path, "iat": causeway.clock.time()}
        made |= {"ath": hashed(token)} if token else {}
        return self.sign(_present(made | claims), {"typ": "dpop+jwt", "jwk": self.public, **(header or {})})

    # -- calls

    def form(self, causeway: Causeway, form: Mapping[str, Any], **claims: Any) -> dict[str, str]:
        return {
            "client_assertion_type": ASSERTION_TYPE,
            "client_assertion": self.assertion(causeway, **claims),
            **{name: value for name, value in form.items() if value is not None},
        }

    def push(self, causeway: Causeway, version: int = 2, *, proof: str | None = None, **members: Any) -> Answer:
        """Push an authorization request. ``None`` removes a member."""
        form = {
            "response_type": "code",
            "client_id": causeway.tpp.client_id,
            "bic": causeway.banks[version].bic,
            "scope": " ".join(causeway.banks[version].scopes),
            "redirect_uri": causeway.tpp.client.callback_url,
            "state": uuid.uuid4().hex,
            "code_challenge": CHALLENGE,
            "code_challenge_method": "S256",
            **members,
        }
        headers = {"dpop": proof} if proof else {}
        return causeway.tpp.call("POST", "/oauth/par", form=self.form(causeway, form), client_id="", headers=headers)

    def code(self, causeway: Causeway, version: int = 2, **members: Any) -> str:
        pushed = self.push(causeway, version, **members)
        assert pushed.status == 201, pushed
        return approve_pushed(causeway, pushed.body["request_uri"], version)

    def redeem(self, causeway: Causeway, code: str, *, proof: str | None = "made", **members: Any) -> Answer:
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": causeway.tpp.client.callback_url,
            "code_verifier": VERIFIER,
            **members,
        }
        return self.token_call(causeway, form, proof=proof)

    def refresh(self, causeway: Causeway, token: str, *, proof: str | None = "made") -> Answer:
        return self.token_call(causeway, {"grant_type": "refresh_token", "refresh_token": token}, proof=proof)

    def token_call(self, causeway: Causeway, form: Mapping[str, Any], *, proof: str | None = "made") -> Answer:
        made = self.proof(causeway) if proof == "made" else proof
        headers = {"dpop": made} if made else {}
        sent = self.form(causeway, form)
        return causeway.tpp.call("POST", "/tpp/token", form=sent, client_id="", headers=headers)

    def tokens(self, causeway: Causeway, version: int = 2) -> Any:
        answer = self.redeem(causeway, self.code(causeway, version))
        assert answer.status == 200, answer
        return answer.body

    def read(self, causeway: Causeway, token: str, path: str = "/tpp/consent", *, proof: str | None = "made") -> Answer:
        made = self.proof(causeway, "GET", path, token) if proof == "made" else proof
        headers = {"authorization": f"DPoP {token}"} | ({"dpop": made} if made else {})
        return causeway.tpp.call("GET", path, headers=headers)


def forged(claims: Mapping[str, Any], algorithm: str, secret: bytes = b"", **header: Any) -> str:
    """Return a forged JWT: unsigned (``none``), or with HS256 and a public value as the secret."""
    parts = [{"alg": algorithm, **header}, dict(claims)]
    signed = b".".join(_encoded(jsontext.dumps(part).encode()) for part in parts)
    signature = hmac.digest(secret, signed, "sha256") if secret else b""
    return (signed + b"." + _encoded(signature)).decode()


def _encoded(content: bytes) -> bytes:
    return base64.urlsafe_b64encode(content).rstrip(b"=")


def hashed(token: str) -> str:
    """Return the base64url-encoded SHA-256 hash of a token, which is the claim ``ath`` of a DPoP proof."""
    return base64.urlsafe_b64encode(hashlib.sha256(token.encode()).digest()).rstrip(b"=").decode()


def secure(causeway: Causeway, holder: KeyHolder, **security: Any) -> None:
    members = {"auth_method": "private_key_jwt", "jwks": holder.jwks, **security}
    made = causeway.hub.openbanking.clients.update(causeway.tpp.client_id, security=members)
    causeway.tpp.client, causeway.tpp.client_secret = made.client, None


def open_pushed(causeway: Causeway, request_uri: str, client_id: str = "") -> Answer:
    query = urlencode({"client_id": client_id or causeway.tpp.client_id, "request_uri": request_uri})
    return causeway.call("GET", f"/oauth/authorize?{query}")


def approve_pushed(causeway: Causeway, request_uri: str, version: int = 2) -> str:
    opened = open_pushed(causeway, request_uri)
    assert opened.status == 303, opened
    saved = causeway.banks[version].call("/consent", causeway.banks[version].consent_body(opened.headers["location"]))
    assert saved.status == 200, saved
    callback = saved.body["callback_url" if version == 1 else "callbackUrl"]
    return str(parse_qs(urlsplit(callback).query)["code"][0])


def _present(claims: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in claims.items() if value is not None}


ORGANIZATION = "PSDGB-FCA-123456"
SUBJECT = f"CN=tpp.example.com,2.5.4.97={ORGANIZATION},O=TPP,C=GB"
ROLES: Sequence[Role] = ("PSP_AI", "PSP_PI", "PSP_IC")


def issue(authority: Authority, roles: Sequence[Role] = ROLES, subject: str = SUBJECT, **options: Any) -> str:
    statement = certificates.qc_statements(encode_statement(roles, "Financial Conduct Authority", "GB-FCA"))
    return authority.issue(subject, extensions=[statement], **options)


def stage_with(authority: Authority, folder: Path) -> Settings:
    bundle = folder / "authorities.pem"
    bundle.write_text(authority.pem)
    environment = {"STAGE": "local", "MTLS_URL": "https://127.0.0.1:8443", "TPP_CA_BUNDLE": str(bundle)}
    return Settings.from_environment(environment)
