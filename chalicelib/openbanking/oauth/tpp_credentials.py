"""What a TPP's request presents to prove who sent it, not verified yet."""

from __future__ import annotations

from dataclasses import field

from chalicelib.foundation.identifiers import OpaqueToken
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.openbanking.protocol.oauth_security import AuthMethod, TokenType


@dataclass(frozen=True, slots=True)
class TppCredentials:
    """A TPP's credentials.

    Attributes:
        client_id: the Client ID.
        secret, secret_method: the client secret, and how it was sent; ``None`` if it was not part of a request.
        assertion: a client assertion (RFC 7523).
        bearer, scheme: an access token, and the scheme of its header.
        proof: the header ``DPoP`` (RFC 9449).
        certificate: the client certificate of the connection, in PEM.
        address: the IP address of the caller; empty if unknown.
        method, endpoints: the request's method, and the addresses of its endpoint, to which proofs are bound.
        good_request_id: false if the ``X-Request-Id`` is not a UUID.
    """

    client_id: str | None
    secret: str | None = field(default=None, repr=False)
    bearer: str | None = field(default=None, repr=False)
    good_request_id: bool = True
    secret_method: AuthMethod | None = None
    assertion: str | None = field(default=None, repr=False)
    scheme: TokenType = "Bearer"
    proof: str | None = field(default=None, repr=False)
    certificate: str | None = None
    address: str = ""
    method: str = "POST"
    endpoints: tuple[str, ...] = ()

    @property
    def token(self) -> OpaqueToken | None:
        """The bearer's parts, unverified: consent id, token id and BIC."""
        return OpaqueToken.parse(self.bearer or "", parts=3)

    @property
    def authenticates_client(self) -> bool:
        """Whether the request has a client secret or a client assertion."""
        return self.secret is not None or self.assertion is not None
