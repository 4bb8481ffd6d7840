"""Cursors of paged lists. Each cursor is a position signed for one reader, so that clients cannot create or alter
cursors.
"""

from __future__ import annotations

import hmac

from chalicelib.foundation.crypto.keyring import Keyring
from chalicelib.foundation.identifiers import base64url
from chalicelib.foundation.lazy_dataclasses import dataclass


class InvalidCursor(ValueError):
    """A cursor was altered, belongs to a different reader, or is too old."""


@dataclass(frozen=True, slots=True)
class SignedCursors:
    """Cursors of the form ``<position>.<signature>``, for one ``purpose`` (see ``Keyring.derived_keys``)."""

    keyring: Keyring
    purpose: str

    def sign(self, reader: str, position: str) -> str:
        """Return the cursor of a position, which only ``reader`` can use."""
        return f"{position}.{_sign(self.keyring.derived_signing_key(self.purpose), reader, position)}"

    def read(self, reader: str, cursor: str) -> str:
        """Return the position of a cursor. Raises: InvalidCursor."""
        position = cursor.rpartition(".")[0]
        if not position or not cursor.isascii() or not self._is_signed(reader, position, cursor):
            raise InvalidCursor("the cursor is not the next of an earlier page")
        return position

    def _is_signed(self, reader: str, position: str, cursor: str) -> bool:
        keys = self.keyring.derived_keys(self.purpose)
        return any(hmac.compare_digest(f"{position}.{_sign(key, reader, position)}", cursor) for key in keys)


def _sign(key: bytes, reader: str, position: str) -> str:
    return base64url(hmac.digest(key, f"{reader}/{position}".encode(), "sha256"))
