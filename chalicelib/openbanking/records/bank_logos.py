"""Banks' logos, stored next to the banks. Each logo is a separate item."""

from __future__ import annotations

import re
from typing import Literal

from chalicelib.foundation.dynamodb.store import Item
from chalicelib.foundation.identifiers import digest
from chalicelib.foundation.lazy_dataclasses import dataclass

TABLE = "banks"
LOGO_BYTES = 100 * 1024
LogoType = Literal["image/png", "image/jpeg", "image/svg+xml"]
_PREFIX = "logo/"
_DIGEST_LENGTH = 32
_DIGEST = re.compile(r"[0-9a-f]{32}")


@dataclass(frozen=True, slots=True)
class Logo:
    """A logo that was checked when it was stored."""

    content: bytes
    media_type: LogoType

    @property
    def digest(self) -> str:
        """The digest that the logo's URL contains."""
        return digest(self.content)[:_DIGEST_LENGTH]

    def to_item(self, bic: str) -> Item:
        _, key = logo_key(bic)
        return {**key, "content": self.content, "media_type": self.media_type, "digest": self.digest}

    @classmethod
    def from_item(cls, item: Item) -> Logo:
        return cls(item["content"], item["media_type"])


def logo_key(bic: str) -> tuple[str, Item]:
    """Return the table and key of a bank's logo. The key's prefix distinguishes logos from banks."""
    return TABLE, {"bic": f"{_PREFIX}{bic}"}


def is_logo_digest(text: str) -> bool:
    """Whether a text could be the digest of a present or past logo."""
    return _DIGEST.fullmatch(text) is not None


def logo_path(bic: str, logo_digest: str | None) -> str | None:
    """Return the path of a bank's logo, relative to the service's address, or ``None`` without a logo."""
    return f"/banks/{bic}/logo/{logo_digest}" if logo_digest else None
