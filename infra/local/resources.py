"""Creates the resources of ``resources.yaml`` on the one-machine stack.

On an endpoint such as LocalStack, the resources are created with CloudFormation. Resources that LocalStack's
CloudFormation does not support (secrets, item expiry) are added through the services' own APIs. On the bundled
emulator, all resources are created through these APIs, because moto's CloudFormation imports most of moto. If only
DynamoDB has a separate endpoint, its tables are created at this endpoint from the same template. Several stacks can
share an endpoint if each has its own name prefix (``RESOURCE_PREFIX``).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError

from infra.deploy import stacks, template

STAGE = "local"
STACK = f"causeway-{STAGE}"

_KEY, _ALIAS = "AWS::KMS::Key", "AWS::KMS::Alias"
_CONFIG = Config(connect_timeout=2, read_timeout=60, retries={"mode": "standard", "total_max_attempts": 3})


def create_resources(*, emulated: bool, dynamodb_apart: bool, prefix: str = STACK) -> None:
    """Create missing resources. The function is idempotent on engines with persistent data.

    Args:
        emulated: whether the endpoint is the bundled emulator.
        dynamodb_apart: whether DynamoDB has a separate endpoint (``AWS_ENDPOINT_URL_DYNAMODB``).
        prefix: the prefix of all names, including the name of the CloudFormation stack.

    Raises:
        StackFailed: CloudFormation refused the template, or an existing table does not match the template.
    """
    source, tags = compact_template(prefix)
    local = template.Template(source, Stage=STAGE)
    if emulated:
        _make_keys(_client("kms"), local)
        _make_queues(_client("sqs"), local)
    else:
        laid = template.without_type(source, template.TABLE) if dynamodb_apart else source
        stacks.deploy_stack(_client("cloudformation"), prefix, laid, {"Stage": STAGE}, pause=1, tags=tags)
    dynamodb = _client("dynamodb")
    if emulated or dynamodb_apart:
        make_tables(dynamodb, local)
    expire_items(dynamodb, local)
    _make_secrets(_client("secretsmanager"), local)


def compact_template(prefix: str) -> tuple[dict[str, Any], list[dict[str, str]]]:
    """Return the template without resources of other stages, compact enough for one call, and the tags of the stack."""
    return template.compact(rename_resources(template.load(), prefix), STAGE, AlarmTopicArn="", OwnStorageKey="false")


def rename_resources(source: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    """Return the template with ``prefix`` in resource names instead of ``causeway-<stage>``."""
    text = json.dumps(source).replace("causeway-${Stage}", prefix)
    renamed: dict[str, Any] = json.loads(text)
    return renamed


def make_tables(dynamodb: Any, source: template.Template) -> None:
    """Create missing tables with their indexes. Raises: StackFailed, if an existing table does not match."""
    pages = dynamodb.get_paginator("list_tables").paginate()
    present = {name for page in pages for name in page["TableNames"]}
    for table in source.tables():
        name = table["TableName"]
        if name in present:
            if _key_schemas(dynamodb.describe_table(TableName=name)["Table"]) != _key_schemas(table):
                raise stacks.StackFailed(
                    f"the table {name} was created by another version: "
                    "start anew with `make run FRESH=1`, which removes it"
                )
            continue
        if dynamodb.create_table(**table)["TableDescription"]["TableStatus"] != "ACTIVE":
            waiter = dynamodb.get_waiter("table_exists")
            waiter.wait(TableName=name, WaiterConfig={"Delay": 1, "MaxAttempts": 60})


def expire_items(dynamodb: Any, source: template.Template) -> None:
    """Enable item expiry for all tables of the template for which it is not yet enabled."""
    for table, attribute in source.expiry_attributes().items():
        state = dynamodb.describe_time_to_live(TableName=table)["TimeToLiveDescription"]
        if state.get("TimeToLiveStatus") not in ("ENABLED", "ENABLING"):
            dynamodb.update_time_to_live(
                TableName=table, TimeToLiveSpecification={"Enabled": True, "AttributeName": attribute}
            )


def _make_keys(kms: Any, source: template.Template) -> None:
    keys = source.resources(_KEY)
    for alias in source.resources(_ALIAS).values():
        try:
            kms.describe_key(KeyId=alias["AliasName"])
        except kms.exceptions.NotFoundException:
            key = kms.create_key(Description=keys[alias["TargetKeyId"]["Ref"]]["Description"])
            kms.create_alias(AliasName=alias["AliasName"], TargetKeyId=key["KeyMetadata"]["KeyId"])


def _make_queues(sqs: Any, source: template.Template) -> None:
    """Create missing queues, dead-letter queues first."""
    arns: dict[str, str] = {}
    for name, queue in sorted(source.resources(template.QUEUE).items(), key=lambda entry: "RedrivePolicy" in entry[1]):
        attributes = {each: value for each, value in queue.items() if each not in ("QueueName", "Tags")}
        if redrive := attributes.get("RedrivePolicy"):
            target, _ = redrive["deadLetterTargetArn"]["Fn::GetAtt"]
            attributes["RedrivePolicy"] = {**redrive, "deadLetterTargetArn": arns[target]}
        texts = {each: value if isinstance(value, str) else json.dumps(value) for each, value in attributes.items()}
        url = sqs.create_queue(QueueName=queue["QueueName"], Attributes=texts)["QueueUrl"]
        arns[name] = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]


def _make_secrets(manager: Any, source: template.Template) -> None:
    for secret in source.resources(template.SECRET).values():
        try:
            manager.create_secret(Name=secret["Name"], Description=secret["Description"])
        except ClientError as error:
            if error.response["Error"]["Code"] != "ResourceExistsException":
                raise


def _key_schemas(table: Mapping[str, Any]) -> dict[str, Any]:
    """Return the key schemas of a table and its indexes. Key schemas of an existing table cannot simply be changed."""
    indexes = {index["IndexName"]: index["KeySchema"] for index in table.get("GlobalSecondaryIndexes", ())}
    return {"": table["KeySchema"], **indexes}


def _client(service: str) -> Any:
    return boto3.client(service, config=_CONFIG)
