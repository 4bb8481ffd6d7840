"""The commands in the README run without changes."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from infra.local import stackfile
from tests.e2e.parties import Journey, Tpp
from tests.kit import processes
from tests.kit.documents import README, blocks, section

pytestmark = [pytest.mark.e2e, pytest.mark.needs("curl")]

READ, CARD = blocks(section(README, "## Five minutes with curl"), "sh")


def play(stack: dict[str, Any], folder: Path, commands: str, **environ: str) -> list[dict[str, Any]]:
    """Run the commands in a folder with the files that `make run` creates. Return the output lines."""
    stackfile.write(folder / ".local" / "stack.json", stack)
    text = commands.replace("http://127.0.0.1:8000", stack["base_url"])
    done = processes.run(["bash", "-euc", text], folder, {**os.environ, **environ})
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_the_documented_commands_read_accounts_with_a_token_issued_in_the_browser(
    stack: dict[str, Any], tpp: Tpp, journey: Journey, tmp_path: Path
) -> None:
    access_token = tpp.redeem(journey.code).json()["access_token"]

    banks, accounts = play(stack, tmp_path, READ, ACCESS_TOKEN=access_token)

    assert {bank["bic"] for bank in banks["banks"]} >= {"DEMOGB21", "DEMODEF1"}
    assert accounts["accounts"]


def test_the_documented_card_request_and_its_retry_create_only_one_card(stack: dict[str, Any], tmp_path: Path) -> None:
    (first,), (second,) = (play(stack, tmp_path, CARD) for _ in range(2))

    assert first["data"]["card_id"] == second["data"]["card_id"]
    assert second["duplicated"] == 1
