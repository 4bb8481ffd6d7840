"""Lays a CloudFormation template: makes the stack, changes it, or finds that nothing is to be done."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from botocore.exceptions import ClientError, WaiterError

_MISSING = "does not exist"
_UNCHANGED = "No updates are to be performed"


class StackFailed(Exception):
    """CloudFormation did not get the stack into a usable state; the message says why, as far as it tells."""


def lay(client: Any, name: str, template: Mapping[str, Any], parameters: Mapping[str, str], pause: int) -> bool:
    """Bring the stack ``name`` to the state that ``template`` describes; answers whether anything changed.

    Args:
        client: a boto3 CloudFormation client.
        pause: how long to wait between looks at the stack, in seconds.

    Raises:
        StackFailed: the stack could not be made or changed.
    """
    request = {
        "StackName": name,
        "TemplateBody": json.dumps(template),
        "Parameters": [{"ParameterKey": key, "ParameterValue": value} for key, value in parameters.items()],
    }
    if _exists(client, name):
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


def _exists(client: Any, name: str) -> bool:
    try:
        client.describe_stacks(StackName=name)
    except ClientError as error:
        if _MISSING in str(error):
            return False
        raise
    return True


def _reason(client: Any, name: str) -> str:
    """What the first resource that failed said."""
    events = client.describe_stack_events(StackName=name)["StackEvents"]
    failed = [event for event in events if event["ResourceStatus"].endswith("_FAILED")]
    if not failed:
        return str(events[0]["ResourceStatus"]) if events else "no reason was given"
    first = failed[-1]
    return f"{first['LogicalResourceId']}: {first.get('ResourceStatusReason', first['ResourceStatus'])}"
