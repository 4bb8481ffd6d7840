"""Clients for DynamoDB, KMS, S3, Secrets Manager and SQS, created on first use.

boto3 takes endpoints, regions and credentials from its own settings (``AWS_ENDPOINT_URL``, ``AWS_DEFAULT_REGION``, …).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError
from urllib3 import Timeout
from urllib3.exceptions import ConnectTimeoutError

from chalicelib.foundation import time_limit
from chalicelib.foundation.crypto.secret_keys import SecretChanged
from chalicelib.foundation.identifiers import digest
from chalicelib.foundation.version import USER_AGENT

_CONFIG = Config(
    connect_timeout=2,
    read_timeout=6,
    max_pool_connections=64,
    retries={"mode": "standard", "total_max_attempts": 2},
    tcp_keepalive=True,
    parameter_validation=False,  # the store's own types are stricter, and DynamoDB validates requests anyway
    user_agent=USER_AGENT,  # botocore would assemble and clean a long one for every call
    account_id_endpoint_mode="disabled",  # all calls of a client have one endpoint, see ``_keep_endpoint``
)
_HURRIED = _CONFIG.merge(Config(connect_timeout=1, read_timeout=2))
"""Short timeouts for queues, because a caller is waiting; the sweeper sends messages that were not accepted."""
_ONE_ATTEMPT = _CONFIG.merge(Config(retries={"mode": "standard", "total_max_attempts": 1}))
"""Only the store repeats a call of DynamoDB: it knows what a lost response means."""
_OF_SERVICE = {"dynamodb": _ONE_ATTEMPT, "sqs": _HURRIED}
CONNECT_SECONDS, READ_SECONDS = 0.5, 0.9
"""The timeouts of a call under a time limit that leaves more; a repeat may then still be in time."""


def client(service: str) -> Any:
    """A boto3 client with timeouts suited to a request."""
    made = boto3.client(service, config=_OF_SERVICE.get(service, _CONFIG))
    _keep_endpoint(made)
    _keep_time_limit(made)
    return made


class _Timeout(Timeout):
    """A client's timeouts, shortened by the time limit of the request that makes a call."""

    def clone(self) -> Timeout:
        if not time_limit.is_limited():
            return super().clone()
        left = time_limit.seconds_left()
        if left <= 0:
            raise ConnectTimeoutError("not sent, because the time limit of the request is over")
        return Timeout(left, min(CONNECT_SECONDS, left), min(READ_SECONDS, left))


def _keep_time_limit(made: Any) -> None:
    """Have a client keep the time limits of requests; botocore has no timeouts that differ between calls."""
    session = made._endpoint.http_session  # noqa: SLF001
    config = made.meta.config
    timeout = _Timeout(connect=config.connect_timeout, read=config.read_timeout)
    session._timeout = session._manager.connection_pool_kw["timeout"] = timeout  # noqa: SLF001
    if config.retries["total_max_attempts"] > 1:
        made.meta.events.register_first("needs-retry", _refuse_repeat)


def _refuse_repeat(response: Any, operation: Any, caught_exception: Exception | None, **_: Any) -> None:
    """Report a failure under a time limit at once: botocore would wait and repeat the call."""
    if not time_limit.is_limited():
        return
    if caught_exception is not None:
        raise caught_exception
    if "Error" in response[1]:
        raise ClientError(response[1], operation.name)


def _keep_endpoint(made: Any) -> None:
    """Have a client compute its endpoint once; botocore evaluates its rules for every call."""
    resolver = made._ruleset_resolver  # noqa: SLF001 - botocore has no setting for it
    compute = resolver.construct_endpoint

    def compute_once(**call: Any) -> Any:
        endpoint = compute(**call)
        resolver.construct_endpoint = lambda **_: endpoint
        return endpoint

    resolver.construct_endpoint = compute_once


_PURPOSE = {"purpose": "causeway-data-key"}


class Kms:
    """Data keys wrapped by one KMS key."""

    def __init__(self, key_id: str) -> None:
        self._key_id = key_id

    @cached_property
    def _client(self) -> Any:
        return client("kms")

    def generate_data_key(self) -> tuple[bytes, bytes]:
        answer = self._client.generate_data_key(KeyId=self._key_id, KeySpec="AES_256", EncryptionContext=_PURPOSE)
        return answer["Plaintext"], answer["CiphertextBlob"]

    def unwrap(self, wrapped: bytes) -> bytes:
        answer = self._client.decrypt(CiphertextBlob=wrapped, EncryptionContext=_PURPOSE)
        plain: bytes = answer["Plaintext"]
        return plain


class Secrets:
    """JSON secrets in Secrets Manager, uncached; frequent readers cache them (see ``keyring``)."""

    @cached_property
    def _client(self) -> Any:
        return client("secretsmanager")

    def get(self, name: str) -> dict[str, Any]:
        """The members of a secret; empty for a new one."""
        try:
            answer = self._client.get_secret_value(SecretId=name)
        except ClientError as error:
            if error.response["Error"]["Code"] == "ResourceNotFoundException":
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
        """
        request = {"SecretId": name, "SecretString": json.dumps(value)}
        if replacing is not None:
            request["ClientRequestToken"] = digest(json.dumps([name, replacing], sort_keys=True))
        try:
            self._client.put_secret_value(**request)
        except ClientError as error:
            if error.response["Error"]["Code"] == "ResourceExistsException":
                raise SecretChanged(f"the secret {name} was changed concurrently") from None
            raise


class Bucket:
    """Reads objects from an S3 bucket."""

    def __init__(self, name: str) -> None:
        self.name = name

    @cached_property
    def _client(self) -> Any:
        return client("s3")

    def read(self, key: str) -> bytes:
        """The content of an object."""
        content: bytes = self._client.get_object(Bucket=self.name, Key=key)["Body"].read()
        return content


class Queue:
    """An SQS queue, looked up by name."""

    BATCH = 10
    LONGEST_DELAY = 900

    def __init__(self, name: str) -> None:
        self.name = name

    @cached_property
    def _client(self) -> Any:
        return client("sqs")

    @cached_property
    def _url(self) -> str:
        url: str = self._client.get_queue_url(QueueName=self.name)["QueueUrl"]
        return url

    def send(self, body: str, delay: int = 0) -> None:
        """Queue a message, visible after ``delay`` seconds (at most 900)."""
        self._client.send_message(QueueUrl=self._url, MessageBody=body, DelaySeconds=delay)

    def send_all(self, bodies: Sequence[str]) -> list[str]:
        """Queue up to ``BATCH`` messages in one call; returns the messages that were not accepted."""
        entries = [{"Id": str(number), "MessageBody": body} for number, body in enumerate(bodies)]
        answer = self._client.send_message_batch(QueueUrl=self._url, Entries=entries)
        return [bodies[int(failed["Id"])] for failed in answer.get("Failed", ())]

    def count_messages(self) -> int:
        """The approximate number of visible messages."""
        name = "ApproximateNumberOfMessages"
        answer = self._client.get_queue_attributes(QueueUrl=self._url, AttributeNames=[name])
        return int(answer["Attributes"][name])
