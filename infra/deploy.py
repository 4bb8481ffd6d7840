"""Deploys the resources of a stage: ``python -m infra.deploy dev``. The application follows with ``chalice deploy``."""

from __future__ import annotations

import argparse
import sys

import boto3
from botocore.exceptions import BotoCoreError, ClientError

from infra import stacks, template

STAGES = ("dev", "prod")


def deploy(stage: str, alarm_topic: str = "") -> dict[str, str]:
    """Make or change the stack ``causeway-<stage>``; answers its outputs. Raises: StackFailed."""
    client = boto3.client("cloudformation")
    name = f"causeway-{stage}"
    stacks.lay(client, name, template.load(), {"Stage": stage, "AlarmTopicArn": alarm_topic}, pause=5)
    return stacks.outputs(client, name)


def main(arguments: list[str] | None = None) -> int:
    """The command; answers its exit code."""
    parser = argparse.ArgumentParser(prog="python -m infra.deploy", description=__doc__)
    parser.add_argument("stage", choices=STAGES)
    parser.add_argument("--alarm-topic", default="", metavar="ARN", help="the SNS topic that alarms are sent to")
    options = parser.parse_args(arguments)
    try:
        found = deploy(options.stage, options.alarm_topic)
    except (stacks.StackFailed, ClientError, BotoCoreError) as error:
        print(f"causeway: {error}", file=sys.stderr)
        return 1
    width = max(map(len, found), default=0)
    for name, value in sorted(found.items()):
        print(f"{name:<{width}}  {value}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
