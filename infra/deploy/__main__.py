"""Deploys a stage: creates its resources, then runs Chalice's deploy."""

from __future__ import annotations

import sys
from typing import Any

import boto3
from botocore.exceptions import BotoCoreError, ClientError

from infra import command
from infra.deploy import chalice_command, stacks, template

_BOTH = ("resources", "application")
_EXISTS = "ResourceAlreadyExistsException"
_OF_ONE_STACK = "EndpointURL"
"""An output of whole-stage templates only."""


def deploy_resources(stage: str, alarm_topic: str | None, take_over: bool) -> dict[str, str]:
    """Create or update the stack ``causeway-<stage>``; answers its outputs.

    Args:
        alarm_topic: where alarms go, nowhere when empty; ``None`` leaves that as it is.
        take_over: whether a stage that is one stack may lose its application, for Chalice to make it.

    Raises:
        StackFailed: the stage is one stack, the template is too large to be sent, or CloudFormation failed.
    """
    client = boto3.client("cloudformation")
    name = f"causeway-{stage}"
    if not take_over and _OF_ONE_STACK in stacks.outputs(client, name):
        raise stacks.StackFailed(
            f"{name} is one stack, with functions, API and logs: this deployment would delete them. "
            'See "Changing over" in docs/deployment.md'
        )
    if alarm_topic is None:
        alarm_topic = stacks.parameters(client, name).get("AlarmTopicArn", "")
    source, tags = template.compact(template.load(), stage, alarm_topic)
    if (size := len(template.to_json(source))) > template.LARGEST:
        raise stacks.StackFailed(f"infra/resources.yaml is too large: {size} bytes of {template.LARGEST}")
    stacks.deploy_stack(client, name, source, {"Stage": stage, "AlarmTopicArn": alarm_topic}, pause=5, tags=tags)
    return stacks.outputs(client, name)


def deploy_functions(stage: str) -> None:
    """Let Chalice create or update the functions, the API and the schedules.

    Raises:
        ChaliceFailed: it failed, or would make existing resources a second time.
    """
    if not chalice_command.is_recorded(stage) and _has_consumer(boto3.client("lambda"), stage):
        raise chalice_command.ChaliceFailed(
            f"there is an application of the stage {stage} that .chalice/deployed/{stage}.json does not know of: "
            'bring that file here, or see "A deployment that broke off" in docs/deployment.md'
        )
    keep_log(boto3.client("logs"), stage)
    closed = chalice_command.keep_endpoint_closed(boto3.client("apigateway"), chalice_command.api_id(stage), stage)
    with closed, chalice_command.project_copy() as project:
        chalice_command.deploy(project, stage)


def _has_consumer(client: Any, stage: str) -> bool:
    """Whether the queue has a consumer: Chalice makes it among the first, and could not make it again."""
    pages = client.get_paginator("list_event_source_mappings").paginate()
    called = pages.search("EventSourceMappings[].FunctionArn")
    return f"causeway-{stage}-deliver" in (arn.rpartition(":")[2] for arn in called)


def keep_log(client: Any, stage: str) -> None:
    """Set the retention of the API's log: Chalice sets it for another log, which nothing uses."""
    group, days = f"/aws/lambda/causeway-{stage}", chalice_command.stage_settings(stage)["log_retention_in_days"]
    try:
        client.create_log_group(logGroupName=group)
    except ClientError as error:
        if error.response["Error"]["Code"] != _EXISTS:
            raise
    client.put_retention_policy(logGroupName=group, retentionInDays=days)


def main(arguments: list[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    parser = command.parser("infra.deploy", __doc__)
    parser.add_argument("stage", choices=chalice_command.STAGES)
    parser.add_argument("--alarm-topic", metavar="ARN", help="the SNS topic that alarms go to; as before if left out")
    parser.add_argument("--only", choices=_BOTH, help="one of the two steps")
    parser.add_argument(
        "--take-over", action="store_true", help="have Chalice make the application of a stage that is one stack"
    )
    options = parser.parse_args(arguments)
    if problem := chalice_command.find_placeholder(options.stage):
        print(f"causeway: {problem}: put the stage's address there first.", file=sys.stderr)
        return 1
    try:
        if options.only != "application":
            outputs = deploy_resources(options.stage, options.alarm_topic, options.take_over)
            width = max(map(len, outputs), default=0)
            for name, value in sorted(outputs.items()):
                print(f"{name:<{width}}  {value}", flush=True)
        if options.only != "resources":
            deploy_functions(options.stage)
    except (stacks.StackFailed, chalice_command.ChaliceFailed, ClientError, BotoCoreError) as error:
        print(f"causeway: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    command.run(main)
