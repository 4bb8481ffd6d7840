"""The resources of the template can be created twice without errors, at an emulator or at another endpoint."""

import contextlib
import subprocess
from collections.abc import Iterator, Mapping
from typing import Any

import boto3
import pytest
import requests
from botocore.exceptions import ClientError

from infra.deploy import stacks, template
from infra.deploy.stacks import StackFailed
from infra.local import resources
from infra.local.process import ChildProcess, python_command
from tests.infra.deployment import for_stage
from tests.kit import endpoint
from tests.kit.time import PATIENCE_SECONDS


@pytest.fixture(scope="module")
def addresses() -> Iterator[list[str]]:
    children = [ChildProcess(python_command("infra.local.emulator"), output=subprocess.PIPE) for _ in range(2)]
    yield [child.first_line() for child in children]
    for child in children:
        child.stop()


@pytest.fixture
def emulators(addresses: list[str]) -> list[str]:
    for address in addresses:
        requests.post(f"{address}/moto-api/reset", timeout=PATIENCE_SECONDS).raise_for_status()
    return addresses


@pytest.fixture(params=["the own emulator", "another endpoint"])
def laid(request: pytest.FixtureRequest, emulators: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", emulators[0])
    for _ in range(2):
        resources.create_resources(emulated=request.param == "the own emulator", dynamodb_apart=False)


def client(service: str) -> Any:
    return boto3.client(service)


def test_create_resources_makes_tables_secrets_keys_and_queues(laid: None) -> None:
    tables = client("dynamodb").list_tables()["TableNames"]
    assert len(tables) == 16
    expiry = client("dynamodb").describe_time_to_live(TableName="causeway-local-consents")["TimeToLiveDescription"]
    assert expiry == {"TimeToLiveStatus": "ENABLED", "AttributeName": "expires_at"}

    secrets = [secret["Name"] for secret in client("secretsmanager").list_secrets()["SecretList"]]
    assert sorted(secrets) == ["causeway-local-card-keys", "causeway-local-demo-banks", "causeway-local-keys"]
    assert client("kms").encrypt(KeyId="alias/causeway-local", Plaintext=b"x")["CiphertextBlob"]

    queue = client("sqs").get_queue_url(QueueName="causeway-local-deliveries")["QueueUrl"]
    attributes = client("sqs").get_queue_attributes(QueueUrl=queue, AttributeNames=["All"])["Attributes"]
    assert attributes["VisibilityTimeout"] == "180"
    assert "causeway-local-deliveries-dead" in attributes["RedrivePolicy"]


@pytest.mark.parametrize("prefix", [resources.STACK, "causeway-local-12345678-1234", "a" * 61])
def test_the_local_template_fits_into_one_call_with_any_prefix(
    prefix: str, emulators: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[Mapping[str, Any]] = []
    monkeypatch.setattr(stacks, "deploy_stack", lambda client, name, source, parameters, **_: sent.append(source))
    monkeypatch.setenv("AWS_ENDPOINT_URL", emulators[0])
    with contextlib.suppress(ClientError):  # nothing was laid, so there is no table whose items could expire
        resources.create_resources(emulated=False, dynamodb_apart=False, prefix=prefix)

    assert len(template.to_json(sent[0])) <= template.LARGEST * 2 // 3
    assert {entry["Type"] for entry in sent[0]["Resources"].values()} == {
        "AWS::DynamoDB::Table",
        "AWS::KMS::Alias",
        "AWS::KMS::Key",
        "AWS::SQS::Queue",
        "AWS::SecretsManager::Secret",
    }, "alarms are of deployed stages; another type needs a call for the emulator in infra/local/resources.py, too"


def test_removing_a_stack_does_not_remove_resources_of_a_second_stack_at_the_endpoint(
    emulators: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", emulators[0])
    for prefix in ("causeway-local", "causeway-local-4711"):
        resources.create_resources(emulated=False, dynamodb_apart=False, prefix=prefix)
    both = everything()

    endpoint.remove("causeway-local-4711")

    assert everything() == [name for name in both if "4711" not in name]
    assert len(both) == 2 * len(everything())


def everything() -> list[str]:
    tables = client("dynamodb").list_tables()["TableNames"]
    secrets = [secret["Name"] for secret in client("secretsmanager").list_secrets()["SecretList"]]
    queues = [url.rpartition("/")[2] for url in client("sqs").list_queues().get("QueueUrls", [])]
    aliases = [
        alias["AliasName"] for alias in client("kms").list_aliases()["Aliases"] if "causeway" in alias["AliasName"]
    ]
    laid = [stack["StackName"] for stack in client("cloudformation").describe_stacks()["Stacks"]]
    return sorted([*tables, *secrets, *queues, *aliases, *laid])


def test_tables_are_created_only_at_a_separate_dynamodb_endpoint(
    emulators: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", emulators[0])
    monkeypatch.setenv("AWS_ENDPOINT_URL_DYNAMODB", emulators[1])
    for _ in range(2):
        resources.create_resources(emulated=True, dynamodb_apart=True)

    assert len(client("dynamodb").list_tables()["TableNames"]) == 16
    monkeypatch.delenv("AWS_ENDPOINT_URL_DYNAMODB")
    assert client("dynamodb").list_tables()["TableNames"] == []


def test_a_table_of_another_version_is_refused_with_a_remedy(
    emulators: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", emulators[0])
    client("dynamodb").create_table(
        TableName="causeway-local-deliveries",
        KeySchema=[{"AttributeName": "delivery_id", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "delivery_id", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
    )

    with pytest.raises(StackFailed, match="causeway-local-deliveries was created by another version: start anew with"):
        resources.make_tables(client("dynamodb"), for_stage("local"))
