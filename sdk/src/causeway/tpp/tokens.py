"""The tokens of a consent."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Literal

from causeway._records import Record
from causeway._retries import utc

if TYPE_CHECKING:
    from causeway.tpp._generated.models import TokenAnswer

MARGIN = timedelta(seconds=60)
"""The time before the expiry of an access token at which the token is refreshed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tokens(Record):
    """The tokens of a consent, which can be stored with ``to_json()`` and read with ``Tokens.from_json``. Encrypt
    stored tokens.
    """

    access_token: str = field(repr=False)
    """The token that authorizes calls until ``expires_at``."""
    refresh_token: str = field(repr=False)
    """The token that can be exchanged once for the next pair of tokens."""
    token_type: Literal["Bearer", "DPoP"] = "Bearer"  # noqa: S105 - the name of a scheme
    """The type of the access token, which is ``DPoP`` if the tokens are bound to a key."""
    expires_at: datetime
    """The time at which the access token expires."""
    scope: str
    """The scopes of the consent, separated by spaces."""
    consent_id: str
    """The consent's id at the hub."""
    valid_until: datetime
    """The end of the consent."""

    @classmethod
    def of(cls, answer: TokenAnswer, asked_at: float) -> Tokens:
        """Return the tokens in the response to a request that was sent at ``asked_at`` (Unix seconds)."""
        return cls(
            access_token=answer.access_token,
            refresh_token=answer.refresh_token,
            token_type=answer.token_type,
            expires_at=utc(asked_at + answer.expires_in),
            scope=answer.scope,
            consent_id=answer.consent_id,
            valid_until=answer.valid_until,
        )

    def is_due(self, now: float) -> bool:
        """Return whether the access token should be refreshed before its next use. Return false if the token expires at
        the end of the consent.
        """
        return utc(now) >= self.expires_at - MARGIN and self.expires_at < self.valid_until

    def has_expired(self, now: float) -> bool:
        """Return whether the access token has expired."""
        return utc(now) >= self.expires_at


OnRefresh = Callable[[Tokens], object]
"""A callback that stores each new pair of tokens before the tokens are used. The asynchronous client also accepts a
coroutine function. If the callback fails, the call that needed the tokens raises the callback's error. The callback
must not use the consent.
"""
Reload = Callable[[], Tokens | Awaitable[Tokens]]
"""A callback that returns the stored ``Tokens``. The asynchronous client also accepts a coroutine function."""
