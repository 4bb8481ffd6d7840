"""A TPP's request before verification: its credentials, and the data that flows use."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import field
from functools import cached_property
from typing import Any, Protocol, TypeVar

from chalicelib.foundation.fields.field_types import Message
from chalicelib.foundation.fields.problems import InvalidMessage
from chalicelib.foundation.identifiers import OpaqueToken
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.openbanking.protocol import refusals
from chalicelib.openbanking.protocol.errors import Fault, refuse_fields, refuse_parameters
from chalicelib.openbanking.protocol.oauth_security import AuthMethod, TokenType

M = TypeVar("M", bound=Message)


@dataclass(frozen=True)
class TppCredentials:
    """A TPP's credentials.

    Attributes:
        client_id: the Client ID.
        secret, secret_method: the client secret, and how it was sent, ``None`` if it was not part of a request.
        assertion: a client assertion (RFC 7523).
        bearer, scheme: an access token, and the scheme of its header.
        proof: the header ``DPoP`` (RFC 9449).
        certificate: the client certificate of the connection, in PEM.
        address: the IP address of the caller, empty if unknown.
        method, endpoints: the request's method, and the addresses of its endpoint, to which proofs are bound.
        good_request_id: whether the request id is usable. It is false if the ``X-Request-Id`` is not a UUID.
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

    @cached_property
    def token(self) -> OpaqueToken | None:
        """The unverified parts of the bearer token: consent id, token id and BIC."""
        return OpaqueToken.parse(self.bearer or "", parts=3)


class TppRequest(Protocol):
    """A received request. Header names are in lower case."""

    @property
    def request_id(self) -> str:
        """The X-Request-Id of the request, or a generated one."""

    @property
    def query(self) -> Sequence[tuple[str, str]]:
        """The query parameters, which may be repeated."""

    @property
    def headers(self) -> Mapping[str, str]: ...

    @property
    def repeated_headers(self) -> Collection[str]: ...

    @property
    def body(self) -> bytes: ...

    def parameters(self) -> Mapping[str, str]:
        """Return the query parameters. Raises: UnreadableBody, if a parameter is repeated."""

    def json(self, limit: int = ..., /) -> Any:
        """Return the body of at most ``limit`` bytes. Raises: UnreadableBody."""


def refuse_any_parameters(request: TppRequest) -> None:
    """Refuse a request that has query parameters. Raises: Refusal."""
    if request.query:
        raise refusals.PARAMETERS_NOT_ALLOWED()


def read_parameters(model: type[M], parameters: Mapping[str, Any]) -> M:
    """Return the parameters of a path or query. Raises: Refusal."""
    try:
        return model.read(parameters)
    except InvalidMessage as error:
        raise refuse_parameters(error) from None


def read_fields(model: type[M], body: object, special: Mapping[str, tuple[Fault, Fault]] | None = None) -> M:
    """Return the members of a body. ``special`` has the same meaning as in ``refuse_fields``. Raises: Refusal."""
    try:
        return model.read(body)
    except InvalidMessage as error:
        raise refuse_fields(error, special) from None


def prefers_deferral(request: TppRequest) -> bool:
    """Whether the caller prefers a deferred response (RFC 7240). Other preferences are ignored."""
    given = request.headers.get("prefer", "").split(",")
    return any(preference.partition(";")[0].strip().lower() == "respond-async" for preference in given)
