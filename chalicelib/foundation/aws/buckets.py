"""Objects in S3."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from chalicelib.foundation.aws import boto3_clients


class Bucket:
    """Reads objects from an S3 bucket."""

    def __init__(self, name: str) -> None:
        self.name = name

    @cached_property
    def _client(self) -> Any:
        return boto3_clients.client("s3")

    def read(self, key: str) -> bytes:
        """The content of an object."""
        content: bytes = self._client.get_object(Bucket=self.name, Key=key)["Body"].read()
        return content
