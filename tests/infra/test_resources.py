"""The template on an endpoint: laid twice, by the services' own calls where CloudFormation leaves something out."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from typing import Any

import boto3
import pytest

from infra.local import resources
from infra.local.process import Child, python


@pytest.fixture(params=["the own emulator", "another endpoint"])
def laid(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Resources that were laid, and laid again as a restart does."""
    child = Child(python("infra.local.emulator"), output=subprocess.PIPE)
    monkeypatch.setenv("AWS_ENDPOINT_URL", child.first_line())
    for _ in range(2):
        resources.lay(emulated=request.param == "the own emulator", dynamodb_apart=False)
    yield
    child.stop()


def client(service: str) -> Any:
    return boto3.client(service)


def test_everything_that_the_service_needs_is_there(laid: None) -> None:
    tables = client("dynamodb").list_tables()["TableNames"]
    assert len(tables) == 8
    expiry = client("dynamodb").describe_time_to_live(TableName="causeway-local-consents")["TimeToLiveDescription"]
    assert expiry == {"TimeToLiveStatus": "ENABLED", "AttributeName": "expires_at"}

    secrets = [secret["Name"] for secret in client("secretsmanager").list_secrets()["SecretList"]]
    assert sorted(secrets) == ["causeway-local-demo-banks", "causeway-local-keys"]
    assert client("kms").encrypt(KeyId="alias/causeway-local", Plaintext=b"x")["CiphertextBlob"]

    queue = client("sqs").get_queue_url(QueueName="causeway-local-deliveries")["QueueUrl"]
    attributes = client("sqs").get_queue_attributes(QueueUrl=queue, AttributeNames=["All"])["Attributes"]
    assert attributes["VisibilityTimeout"] == "180"
    assert "causeway-local-deliveries-dead" in attributes["RedrivePolicy"]


def test_tables_are_left_out_where_dynamodb_is_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    emulator, engine = (Child(python("infra.local.emulator"), output=subprocess.PIPE) for _ in range(2))
    monkeypatch.setenv("AWS_ENDPOINT_URL", emulator.first_line())
    monkeypatch.setenv("AWS_ENDPOINT_URL_DYNAMODB", engine.first_line())
    for _ in range(2):
        resources.lay(emulated=True, dynamodb_apart=True)

    assert len(client("dynamodb").list_tables()["TableNames"]) == 8
    monkeypatch.delenv("AWS_ENDPOINT_URL_DYNAMODB")
    assert client("dynamodb").list_tables()["TableNames"] == []
    emulator.stop()
    engine.stop()
