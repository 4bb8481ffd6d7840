"""Deploys a stage: creates or updates its resources, then deploys the application with Chalice."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import boto3
from botocore.exceptions import ClientError

from infra import aws_errors, command
from infra.deploy import api_stage, chalice_command, limits, runtime, stacks, template
from infra.deploy.functions import FUNCTIONS

_BOTH = ("resources", "application")
_EXISTS = "ResourceAlreadyExistsException"
_STORAGE_KEY = "StorageKeyArn"
"""The stack output with the ARN of the key that encrypts tables and logs, if the stage has a separate key."""
_OF_ONE_STACK = "EndpointURL"
"""A stack output that exists only if the whole stage was deployed as one stack."""


def deploy_resources(stage: str, chosen: Mapping[str, str | None], take_over: bool) -> dict[str, str]:
    """Create or update the stack ``causeway-<stage>``. Returns its outputs.

    Args:
        chosen: the parameters of the template by name (``template.OPTIONAL``). ``None`` leaves a parameter unchanged.
        take_over: whether to remove the application from a stage that was deployed as one stack, so that Chalice can
        deploy it.

    Raises:
        StackFailed: the stage was deployed as one stack, the template is too large, or CloudFormation failed.
    """
    client = boto3.client("cloudformation")
    name = f"causeway-{stage}"
    if not take_over and _OF_ONE_STACK in stacks.outputs(client, name):
        raise stacks.StackFailed(
            f"{name} is deployed as one stack, with functions, API and logs: this deployment would delete them. "
            'See "Changing over" in docs/deployment.md'
        )
    before = stacks.parameters(client, name)
    parameters = {
        each: before.get(each, default) if (wanted := chosen.get(each)) is None else wanted
        for each, (default, _) in template.OPTIONAL.items()
    }
    source, tags = template.compact(template.load(), stage, **parameters)
    if (size := len(template.to_json(source))) > template.LARGEST:
        raise stacks.StackFailed(f"infra/resources.yaml is too large: {size} bytes of {template.LARGEST}")
    stacks.deploy_stack(client, name, source, {"Stage": stage, **parameters}, pause=5, tags=tags)
    return stacks.outputs(client, name)


def deploy_functions(stage: str) -> None:
    """Create or update functions, API and schedules with Chalice, then set the limits and the log of the API's stage.

    Raises:
        ChaliceFailed: Chalice failed, or would create existing resources again.
        StackFailed: the stage's resources are missing or older than this version.
    """
    if not chalice_command.is_recorded(stage) and _has_consumer(boto3.client("lambda"), stage):
        raise chalice_command.ChaliceFailed(
            f"the stage {stage} already has an application, but .chalice/deployed/{stage}.json does not exist here: "
            'copy that file here, or see "A deployment that broke off" in docs/deployment.md'
        )
    outputs = stacks.outputs(boto3.client("cloudformation"), f"causeway-{stage}")
    log = outputs.get(api_stage.LOG_OUTPUT)
    if log is None:
        raise stacks.StackFailed(f"the stack causeway-{stage} lacks resources: deploy them first, without --only")
    keep_log(boto3.client("logs"), stage)
    closed = chalice_command.keep_endpoint_closed(boto3.client("apigateway"), chalice_command.api_id(stage), stage)
    with closed, chalice_command.project_copy() as project:
        chalice_command.deploy(project, stage)
    interface = chalice_command.api_id(stage)
    assert interface is not None, "Chalice records what it deployed"
    if key := outputs.get(_STORAGE_KEY):
        encrypt_logs(boto3.client("logs"), stage, key)
    api_stage.update(boto3.client("apigateway"), interface, stage, log)


def _has_consumer(client: Any, stage: str) -> bool:
    """Return whether the queue has a consumer. Chalice creates the consumer early, and cannot create it twice."""
    pages = client.get_paginator("list_event_source_mappings").paginate()
    called = pages.search("EventSourceMappings[].FunctionArn")
    return f"causeway-{stage}-deliver" in (arn.rpartition(":")[2] for arn in called)


def keep_log(client: Any, stage: str) -> None:
    """Create the log group of the API function if it is missing, and set its retention period."""
    group, days = f"/aws/lambda/causeway-{stage}", chalice_command.stage_settings(stage)["log_retention_in_days"]
    _create_log(client, group)
    client.put_retention_policy(logGroupName=group, retentionInDays=days)


def _create_log(client: Any, group: str) -> None:
    try:
        client.create_log_group(logGroupName=group)
    except ClientError as error:
        if error.response["Error"]["Code"] != _EXISTS:
            raise


def encrypt_logs(client: Any, stage: str, key: str) -> None:
    """Encrypt the logs of all functions with a KMS key. Existing lines remain unchanged."""
    for function in (each for each in FUNCTIONS if stage in each.stages):
        group = f"/aws/lambda/causeway-{stage}{function.name and f'-{function.name}'}"
        _create_log(client, group)
        client.associate_kms_key(logGroupName=group, kmsKeyId=key)


def main(arguments: list[str] | None = None) -> int:
    """Run the command. Returns its exit code."""
    parser = command.parser("infra.deploy", __doc__, runtime.INTERPRETER)
    parser.add_argument("stage", choices=runtime.STAGES)
    parser.add_argument("--alarm-topic", metavar="ARN", help="the SNS topic for alarms (default: unchanged)")
    parser.add_argument(
        "--own-storage-key",
        choices=("true", "false"),
        help="whether a KMS key of the stage encrypts its tables and logs (default: unchanged; at first false)",
    )
    parser.add_argument("--only", choices=_BOTH, help="run only one of the two steps")
    parser.add_argument(
        "--take-over", action="store_true", help="have Chalice deploy the application of a stage deployed as one stack"
    )
    options = parser.parse_args(arguments)
    if problem := chalice_command.find_placeholder(options.stage):
        print(f"causeway: {problem}: set the stage's address first.", file=sys.stderr)
        return 1
    try:
        if options.only != "resources":
            runtime.check_python()
            limits.preflight(boto3.client("lambda"), options.stage)
        if options.only != "application":
            chosen = {"AlarmTopicArn": options.alarm_topic, "OwnStorageKey": options.own_storage_key}
            outputs = deploy_resources(options.stage, chosen, options.take_over)
            width = max(map(len, outputs), default=0)
            for name, value in sorted(outputs.items()):
                print(f"{name:<{width}}  {value}", flush=True)
        if options.only != "resources":
            deploy_functions(options.stage)
    except (
        stacks.StackFailed,
        chalice_command.ChaliceFailed,
        runtime.WrongPython,
        limits.LimitsNotPossible,
        *aws_errors.AWS_ERRORS,
    ) as error:
        print(f"causeway: {aws_errors.explain(error)}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    command.run(main)
