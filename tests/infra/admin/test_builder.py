"""A process that runs one command imports only the modules of its command group."""

import subprocess
import sys

import pytest

from infra.admin.builder import COMMANDS
from infra.repository import ROOT

_PROGRAM = """
import atexit, runpy, sys
atexit.register(lambda: print(*sys.modules, sep="\\n"))
runpy.run_module("infra.admin", run_name="__main__")
"""


def run(*arguments: str) -> tuple[int, set[str]]:
    command = [sys.executable, "-c", _PROGRAM, *arguments]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    modules = result.stdout.splitlines()
    return result.returncode, {name for name in COMMANDS if f"infra.admin.{name}" in modules}


def test_a_command_imports_only_the_modules_of_its_group() -> None:
    assert run("clients", "list", "--help") == (0, {"clients"})


@pytest.mark.parametrize(("first", "code"), [("--help", 0), ("client", 2)])
def test_help_and_unknown_commands_import_the_modules_of_all_command_groups(first: str, code: int) -> None:
    assert run(first) == (code, {*COMMANDS})
