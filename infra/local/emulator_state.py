"""What the emulator keeps across restarts when the tables' engine does: key material and secrets.

moto forgets everything when it ends. Records that outlive it were sealed with a data key that is wrapped by its KMS
key and stored in one of its secrets, so these two have to come back exactly as they were. One file holds them: the seed
that key material and key ids are derived from, and the value of every secret.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import json
import os
import secrets
import uuid
from pathlib import Path
from typing import Any

from infra.local.stackfile import write_private

ACCOUNT = "123456789012"
_READING = ("secretsmanager.Get", "secretsmanager.List", "secretsmanager.Describe")


class EmulatorState:
    """Restores the state before the first request, and saves it after each one that changes a secret."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._state: dict[str, Any] = {"seed": secrets.token_hex(32), "secrets": {}}
        with contextlib.suppress(FileNotFoundError):
            self._state = json.loads(path.read_text(encoding="utf-8"))

    def restore(self) -> None:
        """Make moto's next KMS keys the ones they were before, and put the secrets back."""
        self._derive_keys()
        for region, kept in self._state["secrets"].items():
            for name, value in kept.items():
                _secrets_backend(region).create_secret(
                    name=name,
                    secret_string=value,
                    secret_binary=None,
                    description=None,
                    tags=None,
                    kms_key_id=None,
                    client_request_token=None,
                    replica_regions=[],
                    force_overwrite=False,
                )
        self._save()

    def record_call(self, target: str) -> None:
        """Note that the call ``target`` was carried out."""
        if not target.startswith("secretsmanager.") or target.startswith(_READING):
            return
        region = os.environ.get("AWS_DEFAULT_REGION", "eu-west-1")
        stored = _secrets_backend(region).secrets
        values = {secret.name: _value(secret) for secret in stored.values()}
        self._state["secrets"][region] = {name: value for name, value in values.items() if value is not None}
        self._save()

    def _derive_keys(self) -> None:
        """A key made for the same purpose, which its description names, is always the same key."""
        from moto.kms import models

        seed = bytes.fromhex(self._state["seed"])

        class Key(models.Key):
            def __init__(self, *args: Any, **kwargs: Any) -> None:
                super().__init__(*args, **kwargs)
                self.key_material = hmac.digest(seed, self.description.encode(), hashlib.sha256)
                self.id = str(uuid.UUID(bytes=hashlib.sha256(self.key_material).digest()[:16], version=4))
                self.arn = f"{self.arn.rpartition('/')[0]}/{self.id}"

        models.Key = Key  # type: ignore[misc]

    def _save(self) -> None:
        write_private(self._path, json.dumps(self._state))


def _secrets_backend(region: str) -> Any:
    from moto.secretsmanager.models import secretsmanager_backends

    return secretsmanager_backends[ACCOUNT][region]


def _value(secret: Any) -> str | None:
    """The text that a secret holds now; ``None`` when it is empty."""
    version = secret.versions.get(secret.default_version_id) or {}
    value: str | None = version.get("secret_string")
    return value
