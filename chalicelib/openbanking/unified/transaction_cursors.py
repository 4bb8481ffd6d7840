"""Pages of an account's transactions: the cursor, and the entries that repeat the page before.

A cursor contains the position at the bank and the marks of the page before: of its last 200 entries, a digest, a
digest of the details, and the ordinal of the stable key. It is signed for one consent, account and query.
"""

from __future__ import annotations

import hashlib
import struct
from base64 import urlsafe_b64decode
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from chalicelib.foundation.crypto.keyring import Keyring
from chalicelib.foundation.crypto.signed_cursors import InvalidCursor, SignedCursors
from chalicelib.foundation.identifiers import base64url
from chalicelib.foundation.lazy_dataclasses import dataclass

MOST_MARKS = 200
"""The entries of a page that its cursor describes."""
LONGEST_CURSOR = 4096
LONGEST_PAGE_KEY = 1024
"""Bytes of UTF-8."""
MOST_EMPTY_PAGES = 20
MARK_BYTES = 4
"""The bytes of an entry's digest in a cursor, and those of its details."""
MOST_ORDINAL = 2**16 - 1
"""The largest ordinal in a cursor."""
NO_DETAIL = bytes(MARK_BYTES)
_HEAD = struct.Struct(">BBBH")
_MARK = struct.Struct(f">{MARK_BYTES}s{MARK_BYTES}sH")
_PAGE = 8
_PURPOSE = "transactions cursor"


class Mark(NamedTuple):
    """What a cursor remembers of an entry.

    Attributes:
        digest: the first bytes of the digest of its stable key.
        detail: a digest of status, direction and amount; zeros for an entry without an id, which never repeats another.
        ordinal: the ordinal of its stable key.
    """

    digest: bytes
    detail: bytes
    ordinal: int


@dataclass(frozen=True, slots=True)
class PageState:
    """The position of a page, and what is known of the page before.

    Attributes:
        position: the bank's ``page_key`` or, in version 1, the page number; empty for the first page.
        digest: a digest of all entries of the page before, empty if there is none.
        repeats: the number of equal pages in a row before this one.
        empty_pages: the number of empty pages in a row before this one.
        marks: those of the last entries of the page before.
    """

    position: str = ""
    digest: bytes = b""
    repeats: int = 0
    empty_pages: int = 0
    marks: Sequence[Mark] = ()


class TransactionCursors:
    """Signs and reads the cursors of transaction lists."""

    def __init__(self, keyring: Keyring) -> None:
        self._cursors = SignedCursors(keyring, _PURPOSE)

    def sign(self, reader: str, state: PageState) -> str:
        """Return the cursor of a page, at most 4,096 characters."""
        return self._cursors.sign(reader, base64url(_pack(state)))

    def read(self, reader: str, cursor: str) -> PageState:
        """Return the page of a cursor. Raises: InvalidCursor."""
        position = self._cursors.read(reader, cursor)
        try:
            return _unpack(urlsafe_b64decode(position + "=" * (-len(position) % 4)))
        except (ValueError, struct.error):
            raise InvalidCursor("the cursor has another format") from None


def cursor_reader(consent_id: str, account_id: str, query: Sequence[str]) -> str:
    """Return the only reader of a cursor: a consent, an account and a query."""
    parts = "".join(f"{len(part)}:{part}" for part in (account_id, *query))
    return f"{consent_id}/{hashlib.sha256(parts.encode()).hexdigest()}"


def mark_of(digest: bytes, transaction: Mapping[str, Any], ordinal: int) -> Mark:
    """Return the mark of a unified transaction with the digest of its stable key."""
    if transaction["transaction_id"] is None:
        return Mark(digest[:MARK_BYTES], NO_DETAIL, ordinal)
    amount = transaction["amount"]
    details = (transaction["status"], transaction["direction"], amount["value"], amount["currency"])
    text = "\0".join([each or "" for each in details])
    detail = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:MARK_BYTES]
    return Mark(digest[:MARK_BYTES], b"\1" * MARK_BYTES if detail == NO_DETAIL else detail, ordinal)


def page_digest(digests: Sequence[bytes]) -> bytes:
    """Return the digest of the entries of a page, in order; empty if a page with these entries is never a repeat.

    A page of a single entry or of equal entries can follow itself.
    """
    if len(set(digests)) < 2:
        return b""
    return hashlib.sha256(b"".join(digests)).digest()[:_PAGE]


def is_repeat(before: PageState, digest: bytes) -> bool:
    """Whether a page has the entries of the page before."""
    return bool(digest) and before.digest == digest


def _pack(state: PageState) -> bytes:
    position = state.position.encode()
    head = _HEAD.pack(len(state.digest), state.repeats, state.empty_pages, len(position))
    marks = (
        _MARK.pack(mark.digest, mark.detail, min(mark.ordinal, MOST_ORDINAL)) for mark in state.marks[-MOST_MARKS:]
    )
    return head + state.digest + position + b"".join(marks)


def _unpack(packed: bytes) -> PageState:
    page, repeats, empty_pages, length = _HEAD.unpack_from(packed)
    texts = packed[_HEAD.size :]
    position, marks = texts[page : page + length].decode(), _MARK.iter_unpack(texts[page + length :])
    return PageState(position, texts[:page], repeats, empty_pages, [Mark(*mark) for mark in marks])
