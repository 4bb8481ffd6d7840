"""The commands in the guides print the documented output."""

import os
import re
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from infra.local import stackfile
from tests.kit import processes
from tests.kit.documents import ROOT, PythonSession, Reading, Shell, ports_of, steps, with_addresses
from tests.kit.http import free_port

pytestmark = pytest.mark.e2e

FOLDER = ROOT / "docs" / "guides"
_BANK_THAT_STOPS_LATE = """
import os, signal, sys, threading
from http.server import BaseHTTPRequestHandler, HTTPServer

class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"version " + os.environ["VERSION"].encode())

server = HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler)
signal.signal(signal.SIGTERM, lambda *_: threading.Timer(0.5, os._exit, [0]).start())
server.serve_forever()
"""
SECRETS = ("*client.json", "*-key.json", "tokens.json", "loaded.json", "card.json", "bank.pem")
"""The files used by guides that contain credentials, keys or card data."""
GUIDES = {file.stem: file.read_text("utf-8") for file in sorted(FOLDER.glob("*.md"))}


@pytest.fixture
def sessions(stack: dict[str, Any], python: Path, tmp_path: Path) -> Iterator[Mapping[str, Shell]]:
    stackfile.write(tmp_path / ".local" / "stack.json", stack)
    (tmp_path / ".venv").symlink_to(python.parents[1])
    (tmp_path / "sdk").symlink_to(ROOT / "sdk")
    stack_file = {stackfile.VARIABLE: str(tmp_path / ".local" / "stack.json")}
    path = os.pathsep.join([str(ROOT), str(ROOT / "sdk" / "src")])
    environ = {**os.environ, **stack_file, "PYTHONPATH": path, "NO_PROXY": "127.0.0.1"}
    with ExitStack() as ending:
        made = {"sh": Shell(tmp_path, environ), "python": PythonSession(tmp_path, environ)}
        for each in made.values():
            ending.callback(each.end)
        yield made


def _marks(text: str) -> list[pytest.MarkDecorator]:
    """Return the programs that a guide needs. A guide that downloads packages runs with the generators."""
    commands = "".join(step.commands for step in steps(text))
    found = [name for name in ("curl", "npm", "openssl") if re.search(rf"\b{name}\b", commands)]
    return [pytest.mark.needs(*found), *([pytest.mark.generators] if "npm" in found else [])]


@pytest.mark.parametrize("name", [pytest.param(name, marks=_marks(text)) for name, text in GUIDES.items()])
def test_every_command_of_a_guide_prints_the_documented_output(
    stack: dict[str, Any], sessions: Mapping[str, Shell], tmp_path: Path, name: str
) -> None:
    played, ports = steps(GUIDES[name]), _prepare(stack, tmp_path, name)
    back = {now: shown for shown, now in ports.items()}
    reading = Reading()
    for step in played:
        printed, code = sessions[step.language].run(with_addresses(step.commands, ports))
        difference = reading.difference(step.printed.rstrip("\n"), with_addresses(printed, back))
        if difference or code:
            place = f"docs/guides/{name}.md: exit code {code} after"
            pytest.fail(f"{place}\n\n{step.commands}\n{difference}", pytrace=False)
    modes = {file.name: file.stat().st_mode & 0o077 for each in SECRETS for file in tmp_path.glob(f".local/{each}")}
    assert modes == dict.fromkeys(modes, 0), "a file with secrets can be read by others"


def _prepare(stack: dict[str, Any], folder: Path, name: str) -> dict[str, str]:
    """Copy the programs of the guides to the folder. Return the port that replaces each port of a guide."""
    ports = {"8000": stack["base_url"].rpartition(":")[2]} | {port: str(free_port()) for port in ports_of(GUIDES[name])}
    (folder / "docs" / "guides").mkdir(parents=True)
    for file in FOLDER.glob("*.[py]*"):
        (folder / "docs" / "guides" / file.name).write_text(with_addresses(file.read_text("utf-8"), ports), "utf-8")
    return ports


@pytest.mark.needs("curl")
def test_the_programs_of_the_guide_for_tpps_run_at_a_bank_of_the_other_version(
    stack: dict[str, Any], sessions: Mapping[str, Shell], tmp_path: Path
) -> None:
    played, ports = steps(GUIDES["tpp"].replace("DEMODEF1", "DEMOGB21")), _prepare(stack, tmp_path, "tpp")
    last = max(place for place, step in enumerate(played) if step.language == "python")

    printed = [sessions[step.language].run(with_addresses(step.commands, ports)) for step in played[: last + 1]]

    assert {code for _, code in printed} == {0}
    assert "executed True" in printed[last - 1][0]
    assert printed[last][0].startswith("401 AUTHENTICATION_REQUIRED")


@pytest.mark.needs("curl")
def test_a_guide_bank_that_fails_to_start_prints_the_error_immediately(tmp_path: Path) -> None:
    ended = _run_bank(
        tmp_path, "raise SystemExit('there is no key')", f"HUB=http://127.0.0.1:1 bank 2 key {free_port()}"
    )

    assert (ended.stdout, ended.stderr, ended.returncode) == ("there is no key\n", "", 1)


@pytest.mark.needs("curl")
def test_the_guide_bank_waits_until_the_previous_bank_releases_the_port(tmp_path: Path) -> None:
    """A stopped bank process still responds for a moment."""
    port = free_port()
    commands = f"bank 2 key {port}; stop 2 {port}; bank 1 key {port}; curl -s http://127.0.0.1:{port}; stop 1 {port}"
    ended = _run_bank(tmp_path, _BANK_THAT_STOPS_LATE, f"HUB=http://127.0.0.1:1; {commands}")

    assert (ended.stdout, ended.stderr, ended.returncode) == ("version 1", "", 0)


def _run_bank(folder: Path, program: str, commands: str) -> subprocess.CompletedProcess[str]:
    """Run commands with the guide's functions that start and stop a bank, but with a different bank program."""
    start = re.search(r"^bank\(\) \{.*?^\}$", GUIDES["bank"], re.DOTALL | re.MULTILINE)
    stop = re.search(r"^stop\(\) .*$", GUIDES["bank"], re.MULTILINE)
    assert start is not None
    assert stop is not None
    (folder / ".venv").symlink_to(ROOT / ".venv")
    (folder / ".local").mkdir()
    (folder / "docs" / "guides").mkdir(parents=True)
    (folder / "docs" / "guides" / "bank.py").write_text(program, "utf-8")
    typed = f"{start[0]}\n{stop[0]}\n{commands}"
    return processes.run(["bash", "-c", typed], folder)
