"""The policies and Chalice's configuration."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[2] / ".chalice"

CONFIG: dict[str, Any] = json.loads((FOLDER / "config.json").read_text())

STAGES = ("dev", "prod")

TAKING = {"DeleteMessage", "GetQueueAttributes", "ReceiveMessage"}
"""What Lambda itself does with the consumer's rights, as AWS's own AWSLambdaSQSQueueExecutionRole has it."""


def statements(file: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(file.read_text())["Statement"]
    return found


def resources(statement: dict[str, Any]) -> list[str]:
    found = statement["Resource"]
    return [found] if isinstance(found, str) else list(found)


def stage_of(file: Path) -> str:
    return file.stem.split("-")[1]


def granted(file: Path, prefix: str) -> set[tuple[str, str]]:
    return {
        (action, resource)
        for statement in statements(file)
        for action in statement["Action"]
        for resource in resources(statement)
        if action.startswith(prefix)
    }
