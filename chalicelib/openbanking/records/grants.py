"""The grant of a consent: the state of its authorization code and of its tokens."""

from __future__ import annotations

from typing import Any

from chalicelib.foundation.dynamodb.store import Item
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.openbanking.protocol.oauth_security import Confirmation


@dataclass(frozen=True, slots=True)
class Grant:
    """The state of a consent's credentials: the code, the refresh tokens and the latest token pair.

    ``dpop_jkt`` is the key to which the code is bound (RFC 9449 §10). ``cnf`` is the key of the latest pair.
    ``names_redirect_uri`` is set if the code must be redeemed with ``redirect_uri`` (RFC 6749 §4.1.3).
    """

    consent_id: str
    redirect_uri: str
    names_redirect_uri: bool | None
    code_challenge: str | None
    dpop_jkt: str | None
    cnf: Confirmation | None
    code_digest: str
    code_valid_until: int
    code_redeemed_at: int | None
    refresh_id: str | None
    previous_refresh_id: str | None
    rotated_at: int | None
    pair_sealed: bytes | None

    @classmethod
    def from_item(cls, item: Item) -> Grant:
        members: dict[str, Any] = {name: item.get(name) for name in cls.__dataclass_fields__}
        return cls(**members)


@dataclass(frozen=True, slots=True)
class TokenPair:
    """An access token, its expiry (Unix seconds), and its refresh token."""

    access_token: str
    access_valid_until: int
    refresh_token: str
