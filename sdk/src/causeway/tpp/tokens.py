"""The tokens of a consent."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Literal

from causeway._records import Record
from causeway._retries import utc
from causeway.tpp._generated import calls

if TYPE_CHECKING:
    from causeway.tpp._generated.models import TokenAnswer

MARGIN = timedelta(seconds=60)
"""An access token is refreshed this long before it expires."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tokens(Record):
    """A consent's tokens for storage. ``Tokens.from_json`` reads the result of ``to_json()``. Encrypt them."""

    access_token: str = field(repr=False)
    """Authorizes calls until ``expires_at``."""
    refresh_token: str = field(repr=False)
    """Exchanged for the next pair of tokens, once."""
    token_type: Literal["Bearer", "DPoP"] = "Bearer"  # noqa: S105 - the name of a scheme
    """``DPoP`` if the tokens are bound to a key."""
    expires_at: datetime
    """When the access token expires."""
    scope: str
    """The scopes of the consent, separated by spaces."""
    consent_id: str
    """The hub's id of the consent."""
    valid_until: datetime
    """The end of the consent."""

    @classmethod
    def of(cls, answer: TokenAnswer, asked_at: float) -> Tokens:
        """Return the tokens of an answer to a request sent at ``asked_at`` (Unix seconds)."""
        return cls(
            access_token=answer.access_token,
            refresh_token=answer.refresh_token,
            token_type=answer.token_type,
            expires_at=utc(asked_at + answer.expires_in),
            scope=answer.scope,
            consent_id=answer.consent_id,
            valid_until=answer.valid_until,
        )

    @property
    def version(self) -> int:
        """The version of the bank's protocol, 1 or 2. A consent has the scopes of one version."""
        return 1 if calls.SCOPES_V1.intersection(self.scope.split()) else 2

    def is_due(self, now: float) -> bool:
        """Return whether the access token should be refreshed before its next use. False at the consent's end."""
        return utc(now) >= self.expires_at - MARGIN and self.expires_at < self.valid_until

    def has_expired(self, now: float) -> bool:
        """Return whether the access token has expired."""
        return utc(now) >= self.expires_at


OnRefresh = Callable[[Tokens], object]
"""Gets each new pair of tokens before it is used, and stores it. For the asynchronous client it may be a coroutine
function. If it fails, its error is raised by the call that needed the tokens. It must not use the consent itself."""
Reload = Callable[[], Tokens | Awaitable[Tokens]]
"""Returns the stored ``Tokens``. For the asynchronous client it may be a coroutine function."""
