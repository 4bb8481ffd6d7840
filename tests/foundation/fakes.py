"""Stand-ins for the AWS services behind the keyring; they count what is asked of them."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable
from typing import Any

from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from chalicelib.foundation.aws.errors import SecretChanged


class FakeKms:
    """Wraps keys by reversing them."""

    def __init__(self) -> None:
        self.unwrapped: list[bytes] = []

    def generate_data_key(self) -> tuple[bytes, bytes]:
        plain = secrets.token_bytes(32)
        return plain, plain[::-1]

    def unwrap(self, wrapped: bytes) -> bytes:
        self.unwrapped.append(wrapped)
        return wrapped[::-1]


class NoDataKeys:
    """The keys of a vault that seals and opens nothing."""

    def current_data_key(self) -> tuple[int, AESGCM]:
        raise NotImplementedError

    def data_key(self, number: int) -> AESGCM:
        raise NotImplementedError


class FakeSecrets:
    """Secrets in memory; ``before_put`` runs once, between a writer's read and its write."""

    def __init__(self) -> None:
        self.values: dict[str, str] = {}
        self.reads = 0
        self.before_put: Callable[[], Any] | None = None

    def get(self, name: str) -> dict[str, Any]:
        self.reads += 1
        value: dict[str, Any] = json.loads(self.values.get(name, "{}"))
        return value

    def put(self, name: str, value: dict[str, Any], replacing: dict[str, Any] | None = None) -> None:
        intruder, self.before_put = self.before_put, None
        if intruder:
            intruder()
        if replacing is not None and self.get(name) != replacing:
            raise SecretChanged(name)
        self.values[name] = json.dumps(value)
