"""A stack on a full disk ends with a one-sentence message. After a restart, the stack's ledger is consistent."""

import subprocess
from contextlib import suppress
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import HTTPClientError

from infra.local import stackfile
from infra.local.process import python_command
from infra.repository import ROOT
from tests.conftest import ENDPOINT
from tests.e2e.separate_stack import CLEAN, separate_stack
from tests.kit.time import PATIENCE_SECONDS, wait_for

pytestmark = [
    pytest.mark.faults,
    pytest.mark.skipif(bool(ENDPOINT), reason="another emulator's disk is not this stack's"),
]

LARGEST_FILE = 8 * 1024
"""The maximum file size in KiB with which the test simulates a full disk. A new stack needs about half of this size."""


def start(folder: Path) -> tuple[subprocess.Popen[bytes], dict[str, Any]]:
    file = folder / "stack.json"
    command = python_command("infra.local", "--port", "0", "--engine", "emulator", "--stack-file", str(file))
    limited = ["bash", "-c", 'ulimit -f "$0" && exec "$@"', str(LARGEST_FILE), *command]
    with (folder / "out").open("wb") as output, (folder / "err").open("wb") as errors:
        process = subprocess.Popen(limited, cwd=ROOT, env=CLEAN, stdout=output, stderr=errors)
    return process, wait_for(lambda: stackfile.find_running(file), "the stack does not start")


def fill_the_disk(content: dict[str, Any]) -> None:
    """Write items until a write is not confirmed. The stack creates card use at the same time."""
    environment = content["environment"]
    dynamodb = boto3.client(
        "dynamodb", endpoint_url=environment["AWS_ENDPOINT_URL"], config=Config(retries={"total_max_attempts": 1})
    )
    with suppress(HTTPClientError):
        for number in range(1000):
            item = {"claim": {"S": f"filler {number}"}, "text": {"S": "x" * 50_000}}
            dynamodb.put_item(TableName="causeway-local-idempotency", Item=item)


def test_a_stack_on_a_full_disk_stops_with_an_error_message_and_a_consistent_ledger(tmp_path: Path) -> None:
    process, content = start(tmp_path)
    try:
        fill_the_disk(content)
        code = process.wait(PATIENCE_SECONDS)
    finally:
        process.kill()
        process.wait()
    said = (tmp_path / "err").read_text("utf-8")
    with separate_stack(tmp_path) as again:
        verified = again.admin("ledger", "verify")

    assert code == 1
    assert said.startswith(f"causeway: {tmp_path}/emulator/emulator.sqlite3 cannot be written (")
    assert said.endswith("and keeps what was confirmed until now: make room on the disk, and start again.\n")
    assert said.count("\n") == 1
    assert verified["good"]
    assert verified["rows"] > 0
