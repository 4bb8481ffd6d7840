"""Client authentication: a secret, a signed assertion, a DPoP key, or a TLS client certificate."""

from __future__ import annotations

import base64
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol
from urllib.parse import quote_plus

if TYPE_CHECKING:
    from causeway.tpp._call import Call
    from causeway.tpp.tokens import Tokens

ASSERTION_TYPE = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"


class ClientAssertion(Protocol):
    """The interface of objects that sign assertions (``private_key_jwt``, RFC 7523), such as ``PrivateKeyJwt``."""

    def sign(self, client_id: str, audience: str, now: float) -> str:
        """Create an assertion for one request. ``now`` is in Unix seconds."""


class ProofKey(Protocol):
    """The interface of objects that sign DPoP proofs (RFC 9449), such as ``DpopKey``."""

    @property
    def thumbprint(self) -> str:
        """The thumbprint of the key (RFC 7638) in base64url."""

    def prove(self, method: str, url: str, now: float, *, access_token: str | None, nonce: str | None) -> str:
        """Create a proof for one request. ``url`` has no query, and ``now`` is in Unix seconds."""


@dataclass(frozen=True, slots=True)
class Credentials:
    """The credentials of one client."""

    client_id: str
    client_secret: str | None = field(default=None, repr=False)
    assertion: ClientAssertion | None = field(default=None, repr=False)
    proof_key: ProofKey | None = field(default=None, repr=False)

    def headers(
        self, call: Call, url: str, bearer: Tokens | None, now: float, *, issuer: str, nonce: str | None
    ) -> dict[str, str]:
        """Return the headers that authorize one attempt at a call."""
        if not (call.client or call.bearer):
            return {}
        headers = {"X-Api-Key": self.client_id}
        if bearer is not None:
            headers["Authorization"] = f"{bearer.token_type} {bearer.access_token}"
        elif self.client_secret is not None:
            headers["Authorization"] = self._basic()
        elif self.assertion is not None and not call.form:
            headers["X-Client-Assertion"] = self.assertion.sign(self.client_id, issuer, now)
        if self.proof_key is not None and call.dpop and (bearer is None or bearer.token_type == "DPoP"):  # noqa: S105
            token = bearer.access_token if bearer else None
            headers["DPoP"] = self.proof_key.prove(call.method, url, now, access_token=token, nonce=nonce)
        return headers

    def form(self, call: Call, now: float, *, issuer: str) -> dict[str, str]:
        """Return the members of the request body that authorize one attempt at a call to an OAuth endpoint."""
        if not call.form:
            return {}
        if self.assertion is None or self.client_secret is not None:
            return {"client_id": self.client_id}
        return {
            "client_id": self.client_id,
            "client_assertion_type": ASSERTION_TYPE,
            "client_assertion": self.assertion.sign(self.client_id, issuer, now),
        }

    def _basic(self) -> str:
        """Return the credentials of HTTP Basic (RFC 6749 section 2.3.1)."""
        pair = f"{quote_plus(self.client_id)}:{quote_plus(self.client_secret or '')}"
        return "Basic " + base64.b64encode(pair.encode()).decode()
