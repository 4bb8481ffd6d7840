"""Hashes of passwords as cheap as can be, for tests that are about something else."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

import argon2

from chalicelib.foundation.crypto import passwords

_HASHER = argon2.PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
_NOBODYS = _HASHER.hash("nobody has this password")


@contextmanager
def cheap_hashes() -> Iterator[None]:
    with (
        patch.object(passwords, "_hasher", lambda: _HASHER),
        patch.object(passwords, "_nobodys_hash", lambda: _NOBODYS),
    ):
        yield
