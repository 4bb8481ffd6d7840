"""Implements ``ClientRequestToken``, with which DynamoDB makes transactions idempotent, because moto ignores this
token.

For ten minutes after a transaction has completed, the same request with the same token succeeds without effect.
Cancelled or invalid transactions are not stored, so a retry is executed again.
"""

from __future__ import annotations

import base64
import hashlib
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

VALID_SECONDS = 600.0
"""Number of seconds for which a token is valid after its transaction has completed."""


class TokenRefused(Exception):
    """The token belongs to a different request, or to a request in progress. ``code`` is DynamoDB's error code."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class Completed(NamedTuple):
    """A completed transaction: the SHA-256 of its members, and the completion time in Unix seconds."""

    digest: str
    at: float


class TransactionTokens:
    """The valid tokens of an account and region."""

    def __init__(self, now: Callable[[], float] = time.time) -> None:
        self._now = now
        self._lock = threading.Lock()
        self._in_progress: dict[str, str] = {}
        self._completed: dict[str, Completed] = {}

    @contextmanager
    def transaction(self, token: str | None, members: Any) -> Iterator[bool]:
        """Yield whether to execute the transaction. The transaction is complete when the block ends without an error.

        Args:
            token: ``None`` for a transaction that is always executed.
            members: the transaction's ``TransactItems``; binary values are bytes or base64.

        Raises: TokenRefused.
        """
        if token is None:
            yield True
            return
        digest = hashlib.sha256(json.dumps(members, sort_keys=True, default=_base64).encode()).hexdigest()
        if not self._begin(token, digest):
            yield False
            return
        try:
            yield True
            self._completed[token] = Completed(digest, self._now())
        finally:
            del self._in_progress[token]

    def completed(self, token: str) -> Completed | None:
        """Return the completed transaction with this token; ``None`` if there is none, or the token has expired."""
        self._forget_expired()
        return self._completed.get(token)

    def restore(self, token: str, completed: Completed) -> None:
        """Restore the transactions of an earlier process, oldest first."""
        self._completed[token] = completed

    def _begin(self, token: str, digest: str) -> bool:
        with self._lock:
            completed = self.completed(token)
            known = completed.digest if completed else self._in_progress.get(token)
            if known is None:
                self._in_progress[token] = digest
                return True
        if known != digest:
            raise TokenRefused(
                "IdempotentParameterMismatchException",
                "DynamoDB rejected the request because you retried a request with a different payload but with an "
                "idempotent token that was already used.",
            )
        if completed is None:
            raise TokenRefused(
                "TransactionInProgressException", "The transaction with the given request token is already in progress."
            )
        return False

    def _forget_expired(self) -> None:
        oldest = self._now() - VALID_SECONDS
        while self._completed and (token := next(iter(self._completed))) and self._completed[token].at <= oldest:
            del self._completed[token]


def tokens_of(backend: Any) -> TransactionTokens:
    """Return the tokens of one of moto's DynamoDB backends. The tokens exist as long as the backend."""
    tokens: TransactionTokens = vars(backend).setdefault("transaction_tokens", TransactionTokens())
    return tokens


def _base64(value: bytes) -> str:
    return base64.b64encode(value).decode()
