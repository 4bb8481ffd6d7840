"""The AWS services that are called with JSON protocols."""

from __future__ import annotations

from collections.abc import Mapping

from chalicelib.foundation.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Service:
    """The properties in which AWS services differ.

    Attributes:
        endpoint_variable: the environment variable of the service's endpoint.
        target: the prefix of operations in ``X-Amz-Target``.
        json_version: the version of the JSON protocol.
        connect_seconds: the default connect timeout.
        read_seconds: the default time from sending to the response.
        list_method: a boto3 client method without arguments, used to find botocore's endpoint.
    """

    endpoint_variable: str
    target: str
    json_version: str
    connect_seconds: float
    read_seconds: float
    list_method: str


SERVICES: Mapping[str, Service] = {
    "dynamodb": Service("AWS_ENDPOINT_URL_DYNAMODB", "DynamoDB_20120810", "1.0", 2, 6, "list_tables"),
    "kms": Service("AWS_ENDPOINT_URL_KMS", "TrentService", "1.1", 2, 6, "list_keys"),
    "secretsmanager": Service("AWS_ENDPOINT_URL_SECRETS_MANAGER", "secretsmanager", "1.1", 2, 6, "list_secrets"),
    "sqs": Service("AWS_ENDPOINT_URL_SQS", "AmazonSQS", "1.0", 1, 2, "list_queues"),
}
"""The AWS services by the name that hosts and signatures contain. The time limits of SQS are short, because callers
wait while a message is sent, and the sweeper sends a failed message later.
"""
