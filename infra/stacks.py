"""Lays a CloudFormation template: makes the stack, changes it, or finds that nothing is to be done."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from botocore.exceptions import ClientError, WaiterError

from infra import compact

_MISSING = "does not exist"
_UNCHANGED = "No updates are to be performed"


class StackFailed(Exception):
    """CloudFormation did not get the stack into a usable state; the message says why, as far as it tells."""


def lay(
    client: Any,
    name: str,
    template: Mapping[str, Any],
    parameters: Mapping[str, str],
    pause: int,
    tags: Sequence[Mapping[str, str]] = (),
) -> bool:
    """Bring the stack ``name`` to the state that ``template`` describes; answers whether anything changed.

    Args:
        client: a boto3 CloudFormation client.
        pause: how long to wait between looks at the stack, in seconds.
        tags: what everything is to be tagged with that the stack makes.

    Raises:
        StackFailed: the stack could not be made or changed.
    """
    request = {
        "StackName": name,
        "TemplateBody": compact.written(template),
        "Parameters": [{"ParameterKey": key, "ParameterValue": value} for key, value in parameters.items()],
        "Tags": list(tags),
    }
    if _found(client, name):
        operation, waiter = client.update_stack, "stack_update_complete"
    else:
        operation, waiter = client.create_stack, "stack_create_complete"
    try:
        operation(**request)
        client.get_waiter(waiter).wait(StackName=name, WaiterConfig={"Delay": pause, "MaxAttempts": 360})
    except ClientError as error:
        if _UNCHANGED in str(error):
            return False
        raise StackFailed(f"the stack {name} was refused: {error.response['Error'].get('Message')}") from None
    except WaiterError:
        raise StackFailed(f"the stack {name} failed: {_reason(client, name)}") from None
    return True


def outputs(client: Any, name: str) -> dict[str, str]:
    """The outputs of a stack."""
    stack = client.describe_stacks(StackName=name)["Stacks"][0]
    return {output["OutputKey"]: output["OutputValue"] for output in stack.get("Outputs", [])}


def parameters(client: Any, name: str) -> dict[str, str]:
    """What a stack was laid with; empty when there is none."""
    stack = _found(client, name) or {}
    return {each["ParameterKey"]: each["ParameterValue"] for each in stack.get("Parameters", [])}


def _found(client: Any, name: str) -> dict[str, Any] | None:
    try:
        stack: dict[str, Any] = client.describe_stacks(StackName=name)["Stacks"][0]
    except ClientError as error:
        if _MISSING in str(error):
            return None
        raise
    return stack


def _reason(client: Any, name: str) -> str:
    """What the first resource that failed said."""
    events = client.describe_stack_events(StackName=name)["StackEvents"]
    failed = [event for event in events if event["ResourceStatus"].endswith("_FAILED")]
    if not failed:
        return str(events[0]["ResourceStatus"]) if events else "no reason was given"
    first = failed[-1]
    return f"{first['LogicalResourceId']}: {first.get('ResourceStatusReason', first['ResourceStatus'])}"
