"""What flows read of a TPP's call to a bank, in the order of its refusals."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Protocol

from chalicelib.openbanking.protocol import refusals
from chalicelib.openbanking.protocol.psu_context import InvalidPsuHeaders, PsuContext, read_psu_headers


class TppRequest(Protocol):
    """A request as it came in; headers have lower-case names."""

    @property
    def request_id(self) -> str:
        """The X-Request-Id, received or generated."""

    @property
    def query(self) -> Sequence[tuple[str, str]]:
        """The parameters, which may be repeated."""

    @property
    def headers(self) -> Mapping[str, str]: ...

    @property
    def repeated_headers(self) -> Collection[str]: ...

    @property
    def body(self) -> bytes: ...

    def parameters(self) -> Mapping[str, str]:
        """Raises: UnreadableBody."""

    def json(self, limit: int = ..., /) -> Any:
        """The body of at most ``limit`` bytes. Raises: UnreadableBody."""


def refuse_any_parameters(request: TppRequest) -> None:
    """Raises: Refusal, if there are any."""
    if request.query:
        raise refusals.PARAMETERS_NOT_ALLOWED()


def read_psu(request: TppRequest) -> PsuContext:
    """The PSU's headers. Raises: Refusal."""
    try:
        return read_psu_headers(request.headers, request.repeated_headers)
    except InvalidPsuHeaders as error:
        raise refusals.PSU_HEADERS_WRONG(problems=str(error)) from None


def prefers_deferral(request: TppRequest) -> bool:
    """Whether the caller prefers a deferred response (RFC 7240); other preferences are ignored."""
    given = request.headers.get("prefer", "").split(",")
    return any(preference.partition(";")[0].strip().lower() == "respond-async" for preference in given)
