"""A test with a missing program is skipped and counted. If programs are required, the test fails."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.kit import processes
from tests.kit.documents import ROOT

TESTS = """
import pytest

@pytest.mark.needs("sh")
def test_there():
    pass

@pytest.mark.needs("sh", "no-such-program")
def test_one_missing():
    pass

@pytest.mark.needs("no-such-program", "nor-this")
@pytest.mark.parametrize("number", [1, 2])
def test_two_missing(number):
    pass

def test_skipped_for_another_reason():
    pytest.skip("not today")
"""


def play(folder: Path, *options: str, **environ: str) -> tuple[int, list[str]]:
    """Run pytest with the plugin that skips tests with missing programs. Return the exit code and the last output
    lines.
    """
    (folder / "test_programs.py").write_text(TESTS, "utf-8")
    plugins = ("-p", "xdist.plugin", "-p", processes.__name__)
    command = [sys.executable, "-m", "pytest", "-c", os.devnull, *plugins, *options, str(folder)]
    variables = {
        name: value for name, value in os.environ.items() if name not in (processes.REQUIRED, "PYTEST_ADDOPTS")
    }
    variables |= {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", **environ}  # importing the other plugins takes longer
    done = subprocess.run(command, cwd=ROOT, env=variables, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout.splitlines()


@pytest.mark.parametrize("options", [(), ("-n", "1")])
def test_a_test_with_a_missing_program_is_skipped_and_counted(tmp_path: Path, options: tuple[str, ...]) -> None:
    code, (*_, said, result) = play(tmp_path, *options)

    assert code == 0
    assert said == "3 tests skipped, because programs are not installed: no-such-program (3), nor-this (2)"
    assert re.search("1 passed, 4 skipped", result)


def test_a_test_with_a_missing_program_fails_when_programs_are_required(tmp_path: Path) -> None:
    code, lines = play(tmp_path, **{processes.REQUIRED: "1"})

    assert code == 1
    assert re.search("1 passed, 1 skipped.* 3 errors", lines[-1])
    assert "not installed: no-such-program, nor-this" in lines
    assert not any("because programs" in line for line in lines)


def test_the_merge_gate_requires_all_programs_and_installs_them() -> None:
    gate = (ROOT / ".ci" / "run").read_text("utf-8")
    needed = {
        name
        for file in (ROOT / "tests").rglob("*.py")
        if file != Path(__file__) and file.parent.name != "generators"  # the gate runs the one that needs no program
        for names in re.findall(r'\b(?:needs|require)\(("[a-z", ]+")\)', file.read_text("utf-8"))
        for name in re.findall("[a-z]+", names)
    }

    assert needed == {"chromium", "curl", "openssl"}
    assert f"export {processes.REQUIRED}=1" in gate
    assert needed <= set(re.findall(r"[a-z]+", str(re.search(r"^for program in (.*); do$", gate, re.MULTILINE))))
