"""Deploys the resources of a stage: ``python -m infra.deploy dev``. The application follows with ``chalice deploy``."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from urllib.parse import urlsplit

import boto3
from botocore.exceptions import BotoCoreError, ClientError

from infra import stacks, template

STAGES = ("dev", "prod")
CONFIG = Path(__file__).resolve().parents[1] / ".chalice" / "config.json"
_PLACEHOLDER = "causeway.example"


def unfinished(stage: str) -> str | None:
    """What is wrong with the stage's address in ``.chalice/config.json``, as a sentence without its end."""
    stages = json.loads(CONFIG.read_text(encoding="utf-8"))["stages"]
    address = stages[stage]["environment_variables"]["PUBLIC_URL"]
    if not f".{urlsplit(address).hostname}".endswith(f".{_PLACEHOLDER}"):
        return None
    return f"PUBLIC_URL of the stage {stage} in .chalice/config.json is still the placeholder {address}"


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
    if problem := unfinished(options.stage):
        print(f"causeway: {problem}: put the stage's address there first.", file=sys.stderr)
        return 1
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
