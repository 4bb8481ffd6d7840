"""Stable keys: the same transaction has the same key in every list that contains it.

A key is a digest of the transaction and, after a dot, an ordinal that tells equal transactions apart.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from json.encoder import encode_basestring
from typing import Any

from chalicelib.openbanking.unified.values import shortest

DIGEST_BYTES = 16


def transaction_digest(account_id: str, transaction: Mapping[str, Any]) -> bytes:
    """Return the digest of a unified transaction: of its id or, without an id, of its content."""
    transaction_id = transaction["transaction_id"]
    return _digest([account_id, transaction_id] if transaction_id else _content(account_id, transaction))


def _content(account_id: str, transaction: Mapping[str, Any]) -> list[str | None]:
    amount, counterparty, remittance = (transaction[name] for name in ("amount", "counterparty", "remittance"))
    return [
        account_id,
        transaction["status"],
        transaction["date"],
        transaction["direction"],
        shortest(amount["value"]),
        amount["currency"],
        counterparty["name"],
        counterparty["iban"] or counterparty["account_number"],
        remittance["unstructured"],
        remittance["reference"],
    ]


def _digest(content: Iterable[str | None]) -> bytes:
    """Return the digest of a compact JSON array, with non-ASCII characters unescaped."""
    array = ",".join(["null" if each is None else encode_basestring(each) for each in content])
    return hashlib.sha256(f"[{array}]".encode("utf-8", "surrogatepass")).digest()[:DIGEST_BYTES]


def stable_key(digest: bytes, ordinal: int) -> str:
    """Format a stable key: 32 hexadecimal digits, a dot, and the ordinal."""
    return f"{digest.hex()}.{ordinal}"
