"""A separate stack for tests that advance the clock, because the shared stack cannot reset its clock."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import requests

from infra.local.background import run_stack
from infra.repository import ROOT
from tests.conftest import ENDPOINT
from tests.e2e.parties import send
from tests.kit.endpoint import credentials, of_a_stack
from tests.kit.stack import wait_for_card_month

CLEAN = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "STAGE"))}
PLACE = "/sandbox/clock"


def _run_command(python: Path, folder: Path, *arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    environ = CLEAN | credentials(ENDPOINT) | {"CAUSEWAY_STACK_FILE": str(folder / "stack.json")} | environ
    words = [str(python), "-m", "infra.admin", *arguments]
    return subprocess.run(words, cwd=ROOT, env=environ, capture_output=True, text=True, check=False)


def run_admin(python: Path, folder: Path, *arguments: str) -> Any:
    result = _run_command(python, folder, *arguments, "--json")
    assert result.returncode == 0, result.stdout + result.stderr
    return json.loads(result.stdout)


@dataclass(frozen=True)
class SeparateStack:
    """A running stack, with the content of its JSON file, the folder of its files and data, and a Python for its
    commands.
    """

    content: dict[str, Any]
    folder: Path
    python: Path

    def admin(self, *arguments: str) -> Any:
        return run_admin(self.python, self.folder, *arguments)

    def command(self, *arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
        return _run_command(self.python, self.folder, *arguments, **environ)

    def time(self) -> Any:
        return self._send("GET").json()

    def post(self, content: bytes, headers: Mapping[str, str] | None = None) -> requests.Response:
        given = {"Authorization": f"Bearer {self.content['operator_key']}", "Content-Type": "application/json"}
        sent = {name: value for name, value in (given | dict(headers or {})).items() if value}
        return self._send("POST", data=content, headers=sent)

    def move(self, duration: str) -> requests.Response:
        return self.post(json.dumps({"advance": duration}).encode())

    def advance(self, duration: str) -> Any:
        answer = self.move(duration)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def log_lines(self, message: str) -> list[Any]:
        lines = Path(self.content["log"]).read_text("utf-8").splitlines()
        return [line for line in map(json.loads, lines) if line["message"] == message]

    def _send(self, method: str, **options: Any) -> requests.Response:
        return send(method, self.content["base_url"] + PLACE, **options)


@contextmanager
def separate_stack(
    folder: Path, output: Path | None = None, python: Path = Path(sys.executable), port: int = 0
) -> Iterator[SeparateStack]:
    """Run a stack until the end of the block. The stack logs to ``output``, and ``python`` runs its commands."""
    with (
        (output or Path(os.devnull)).open("wb") as printed,
        run_stack(CLEAN, printed, folder=folder, elsewhere=_elsewhere(folder), port=port) as content,
    ):
        wait_for_card_month(content)
        yield SeparateStack(content, folder, python)


@cache
def _elsewhere(folder: Path) -> Mapping[str, str]:
    """Return unique resource names for a stack at the test endpoint. A restarted stack uses the same names again."""
    return of_a_stack(ENDPOINT)
