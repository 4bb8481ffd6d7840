"""Each documented ``make run`` command starts a stack with only the documented options."""

import os
import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from infra.local import stackfile
from infra.local.process import ChildProcess, python_command
from infra.repository import ROOT
from tests.conftest import DYNAMODB_ENGINE
from tests.kit.documents import EVERYTHING
from tests.kit.http import free_port
from tests.kit.time import PATIENCE_SECONDS, wait_for

pytestmark = pytest.mark.faults

CLEAN = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "STAGE", "CAUSEWAY_"))}
_COMMAND = re.compile(r"(?:[A-Z_]+=[^ `]+ )*make run(?: [A-Z]+=[\w-]+)*")
DOCUMENTED = sorted(set(_COMMAND.findall(EVERYTHING)))


@dataclass(frozen=True)
class Started:
    """The output and the stack file of a stack that has ended. ``tour`` is the output of ``make tour``."""

    output: str
    content: dict[str, Any]
    exit_code: int
    tour: str


@contextmanager
def endpoint() -> Iterator[str]:
    child = ChildProcess(python_command("tests.kit.stack"), output=subprocess.PIPE, folder=ROOT)
    try:
        yield child.first_line()
    finally:
        child.stop()


def start(command: str, folder: Path, *, toured: bool) -> Started:
    """Run a documented command in a shell with a real endpoint address and a free port."""
    file = folder / "stack.json"
    second = CLEAN | {"CAUSEWAY_STACK_FILE": str(file)}
    environ = second | {"PORT": "0"}
    with ExitStack() as ending, (folder / "output").open("wb") as output:
        if "http://…" in command or "LOCALSTACK" in command:
            address = ending.enter_context(endpoint())
            command = command.replace("http://…", address)
            environ["LOCALSTACK_HOST"] = address.removeprefix("http://")
        command = re.sub(r"PORT=\d+", lambda _: f"PORT={free_port()}", command)
        process = subprocess.Popen(
            ["bash", "-c", f"exec env {command}"],
            cwd=ROOT,
            env=environ,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:

            def is_ready() -> bool:
                said = (folder / "output").read_text("utf-8")
                assert process.poll() is None, said
                return "\nready at " in said

            wait_for(is_ready, f"{command} is not ready")
            content = stackfile.find_running(file) or {}
            tour = tour_in_second_terminal(second) if toured else ""
            os.kill(content["pid"], signal.SIGTERM)
            code = process.wait(PATIENCE_SECONDS)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    return Started((folder / "output").read_text("utf-8"), content, code, tour)


def tour_in_second_terminal(environ: dict[str, str]) -> str:
    done = subprocess.run(
        ["make", "tour"], cwd=ROOT, env=environ, capture_output=True, text=True, check=False, timeout=PATIENCE_SECONDS
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_documentation_shows_a_start_command_for_each_engine() -> None:
    assert {
        "make run",
        "make run ENGINE=dynamodb-local",
        "make run LOCALSTACK=1",
        "AWS_ENDPOINT_URL=http://… make run",
        "AWS_ENDPOINT_URL_DYNAMODB=http://… make run",
    } <= set(DOCUMENTED)


@pytest.mark.parametrize("command", DOCUMENTED)
def test_a_documented_command_starts_a_stack_and_prints_its_summary(command: str, tmp_path: Path) -> None:
    if "dynamodb-local" in command and DYNAMODB_ENGINE != "dynamodb-local":
        pytest.skip("DynamoDB Local takes part in `make test-dynamodb`")
    toured = command.startswith("AWS_ENDPOINT_URL=")
    started = start(command, tmp_path, toured=toured)
    data = started.content.get("data")
    place = f"{stackfile.display_path(Path(data))}/  kept; FRESH=1 starts anew" if data else "kept at the endpoint"

    assert started.exit_code == 0
    assert started.content["user"]["password"] in started.output
    assert re.search(rf"^  Data +{re.escape(place)}$", started.output, re.MULTILINE)
    assert "Traceback" not in started.output
    assert ("The card API is done." in started.tour) is toured
    assert "No stack of yours is used" not in started.tour
