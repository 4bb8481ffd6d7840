"""JSON secrets in Secrets Manager."""

from __future__ import annotations

import json
from secrets import token_hex
from typing import Any

from chalicelib.foundation.aws.calls import send_twice
from chalicelib.foundation.aws.errors import ErrorResponse, SecretChanged
from chalicelib.foundation.identifiers import digest


class Secrets:
    """Secrets in AWS Secrets Manager, without a cache. Components that read secrets often have a cache (see
    ``keyring``).
    """

    def get(self, name: str) -> dict[str, Any]:
        """Return the members of a secret, or no members for a new secret. Raises: AwsError."""
        try:
            answer = send_twice("secretsmanager", "GetSecretValue", {"SecretId": name})
        except ErrorResponse as refusal:
            if refusal.code == "ResourceNotFoundException":
                return {}
            raise
        value = json.loads(answer["SecretString"] or "{}")
        return value if isinstance(value, dict) else {}

    def put(self, name: str, value: dict[str, Any], replacing: dict[str, Any] | None = None) -> None:
        """Replace a secret.

        Only one of two writers replacing the same value succeeds: both request the same version id, and Secrets Manager
        never changes an existing version.

        Raises:
            SecretChanged: the current value is no longer ``replacing``.
            AwsError: the secret may have been replaced.
        """
        token = token_hex(16) if replacing is None else digest(json.dumps([name, replacing], sort_keys=True))
        request = {"SecretId": name, "SecretString": json.dumps(value), "ClientRequestToken": token}
        try:
            send_twice("secretsmanager", "PutSecretValue", request)
        except ErrorResponse as refusal:
            if refusal.code == "ResourceExistsException":
                raise SecretChanged(f"the secret {name} was changed concurrently") from None
            raise
