"""Deploys a CloudFormation template: creates or updates the stack, unless it is up to date."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError, WaiterError

from infra.deploy.template import to_json

STACK = "AWS::CloudFormation::Stack"
_MISSING = "does not exist"
_UNCHANGED = "No updates are to be performed"
_NEVER_MADE = ("ROLLBACK_COMPLETE", "ROLLBACK_FAILED")
_BEGUN = ("CREATE_IN_PROGRESS", "UPDATE_IN_PROGRESS")
_CANCELLED = "cancelled"
_ATTEMPTS = 360
_OUT_OF_ATTEMPTS = "Max attempts exceeded"

REPORT_SECONDS = 30.0
"""Number of seconds between progress reports while CloudFormation works."""


class StackFailed(Exception):
    """CloudFormation failed. The message contains the reason, if known."""


def deploy_stack(
    client: Any,
    name: str,
    template: Mapping[str, Any],
    parameters: Mapping[str, str],
    pause: int,
    tags: Sequence[Mapping[str, str]] = (),
) -> bool:
    """Create the stack ``name``, or update it to ``template``. Return whether anything changed.

    Every 30 seconds until CloudFormation has finished, the resources in progress are printed to standard error.

    Args:
        client: a boto3 CloudFormation client.
        pause: seconds between polls of the stack. The maximum is 360 polls.
        tags: tags of the stack and all its resources.

    Raises:
        StackFailed: the stack could not be created or updated.
    """
    with _report_progress(client, name):
        request = {
            "StackName": name,
            "TemplateBody": to_json(template),
            "Parameters": [{"ParameterKey": key, "ParameterValue": value} for key, value in parameters.items()],
            "Tags": list(tags),
            "Capabilities": ["CAPABILITY_IAM"],
        }
        if stack := _describe_stack(client, name):
            if stack["StackStatus"] in _NEVER_MADE:
                raise StackFailed(
                    f"the stack {name} could not be created last time ({stack['StackStatus']}): "
                    'delete it first, see "Rolling back" in docs/deployment.md'
                )
            operation, waiter = client.update_stack, "stack_update_complete"
        else:
            operation, waiter = client.create_stack, "stack_create_complete"
        try:
            operation(**request)
            client.get_waiter(waiter).wait(StackName=name, WaiterConfig={"Delay": pause, "MaxAttempts": _ATTEMPTS})
        except ClientError as error:
            if _UNCHANGED in str(error):
                return False
            raise StackFailed(f"the stack {name} was refused: {error.response['Error'].get('Message')}") from None
        except WaiterError as error:
            if _OUT_OF_ATTEMPTS in str(error):
                late = f"the stack {name} is not finished after {_ATTEMPTS * pause} seconds"
                raise StackFailed(f"{late}; in progress: {_describe_progress(client, name)}") from None
            raise StackFailed(f"the stack {name} failed: {_find_cause(client, name)}") from None
        return True


def outputs(client: Any, name: str) -> dict[str, str]:
    """Return the outputs of a stack. Return an empty mapping if the stack does not exist."""
    stack = _describe_stack(client, name) or {}
    return {output["OutputKey"]: output["OutputValue"] for output in stack.get("Outputs", [])}


def parameters(client: Any, name: str) -> dict[str, str]:
    """Return the parameters of a stack. Return an empty mapping if the stack does not exist."""
    stack = _describe_stack(client, name) or {}
    return {each["ParameterKey"]: each["ParameterValue"] for each in stack.get("Parameters", [])}


def _describe_stack(client: Any, name: str) -> dict[str, Any] | None:
    try:
        stack: dict[str, Any] = client.describe_stacks(StackName=name)["Stacks"][0]
    except ClientError as error:
        if _MISSING in str(error):
            return None
        raise
    return stack


@contextmanager
def _report_progress(client: Any, name: str) -> Iterator[None]:
    """Report progress on standard error from a separate thread, so that a hanging call does not stop the reports."""
    finished = threading.Event()

    def report() -> None:
        waited = REPORT_SECONDS
        while not finished.wait(REPORT_SECONDS):
            print_progress(f"causeway: CloudFormation has not finished the stack {name} after {waited:.0f} seconds")
            print_progress(f"  in progress: {_describe_progress(client, name)}")
            waited += REPORT_SECONDS

    threading.Thread(target=report, name="cloudformation-report", daemon=True).start()
    try:
        yield
    finally:
        finished.set()


def print_progress(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _describe_progress(client: Any, name: str) -> str:
    try:
        resources = client.describe_stack_resources(StackName=name)["StackResources"]
    except (BotoCoreError, ClientError) as error:
        return f"unknown, CloudFormation did not respond ({type(error).__name__})"
    busy = [each["LogicalResourceId"] for each in resources if each["ResourceStatus"].endswith("_IN_PROGRESS")]
    return ", ".join(busy) or "no resource"


def _find_cause(client: Any, name: str) -> str:
    events = list(_recent_events(client, name))
    failed = [event for event in events if event["ResourceStatus"].endswith("_FAILED")]
    causes = [event for event in failed if not event.get("ResourceStatusReason", "").endswith(_CANCELLED)]
    if not causes:
        return str(events[0]["ResourceStatus"]) if events else "no reason was given"
    first = causes[-1]
    return f"{first['LogicalResourceId']}: {first.get('ResourceStatusReason', first['ResourceStatus'])}"


def _recent_events(client: Any, name: str) -> Iterator[Mapping[str, Any]]:
    """Return the events since the latest creation or update of the stack began, newest first."""
    for page in client.get_paginator("describe_stack_events").paginate(StackName=name):
        for event in page["StackEvents"]:
            yield event
            if event["ResourceType"] == STACK and event["ResourceStatus"] in _BEGUN:
                return
