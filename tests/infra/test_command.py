"""Every command parses its arguments, prints its command line in the help, and handles an interrupt with one line."""

import importlib
import logging
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from chalicelib.foundation.version import VERSION
from infra import command
from infra.deploy import runtime
from infra.local import stackfile
from tests.kit.time import PATIENCE_SECONDS

ROOT = Path(__file__).parents[2]
OF_A_STAGE = ("infra.deploy", "infra.deploy.package", "tests.bench")
"""Commands that package for Lambda and therefore run with Lambda's Python version."""
OF_THE_MAKEFILE = sorted(
    set(re.findall(r"\$\((?:STAGE_)?PYTHON\) -m ((?:infra|tests)[\w.]*)", (ROOT / "Makefile").read_text()))
)
COMMANDS = [*OF_THE_MAKEFILE, "infra.admin", "infra.local.emulator"]
SHOWN = (".py", ".md", ".yaml", ".json", ".html", ".txt", ".toml", "Makefile")


def main(module: str, *arguments: str) -> None:
    try:
        found = importlib.import_module(f"{module}.__main__")
    except ModuleNotFoundError:
        found = importlib.import_module(module)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", [module, *arguments])
        try:
            sys.exit(found.main())
        finally:
            logging.disable(logging.NOTSET)  # commands switch logs off, for their whole process


def test_searching_the_makefile_finds_the_known_commands() -> None:
    assert {"infra.local", "infra.tour", "infra.deploy", "tests.browser"} <= set(OF_THE_MAKEFILE)


@pytest.mark.parametrize("module", COMMANDS)
def test_the_help_option_shows_the_command_line_and_writes_no_files(
    module: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as end:
        main(module, "--help")

    said = capsys.readouterr().out
    assert end.value.code in (0, None)
    python = runtime.INTERPRETER if module in OF_A_STAGE else command.PYTHON
    assert re.match(rf"(?i)usage: {re.escape(python)} -m {re.escape(module)} \[", said.lstrip()), said
    assert "``" not in said
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("module", [each for each in COMMANDS if each != "tests.kit.endpoint"])
def test_an_unknown_argument_exits_with_code_2(module: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(module, "--unknown")

    assert end.value.code == 2
    assert f"/bin/python -m {module} [" in capsys.readouterr().err.lower()


@pytest.mark.parametrize("module", COMMANDS)
def test_the_version_option_prints_the_version_and_writes_no_files(
    module: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as end:
        main(module, "--version")

    assert end.value.code in (0, None)
    assert capsys.readouterr().out == f"{VERSION}\n"
    assert list(tmp_path.iterdir()) == []


def test_every_mention_of_a_command_includes_the_path_of_a_python_interpreter() -> None:
    folders = [file for name in ("chalicelib", "docs", "infra", "tests") for file in (ROOT / name).rglob("*")]
    files = [file for file in (ROOT / "README.md", ROOT / "Makefile", *folders) if file.name.endswith(SHOWN)]
    bare = [
        f"{file.relative_to(ROOT)}: {line.strip()}"
        for file in files
        if file.is_file()
        for line in file.read_text(encoding="utf-8", errors="replace").splitlines()
        if re.search(r"(?<![/\w])python3? -m (infra|tests)\b", line)
    ]

    assert bare == []


def test_keyboard_interrupt_prints_one_line_and_exits_with_130(capsys: pytest.CaptureFixture[str]) -> None:
    def interrupted() -> int:
        raise KeyboardInterrupt

    with pytest.raises(SystemExit) as end:
        command.run(interrupted)

    assert end.value.code == 130
    assert capsys.readouterr().err == "causeway: interrupted.\n"


def test_the_exit_code_of_a_command_is_the_return_value_of_main() -> None:
    with pytest.raises(SystemExit) as end:
        command.run(lambda: 3)

    assert end.value.code == 3


def test_ctrl_c_ends_the_tour_with_one_line(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "infra.tour"],
        cwd=ROOT,
        env={**os.environ, stackfile.VARIABLE: str(tmp_path / "stack.json")},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("The tour plays")
        assert process.stdout.readline().startswith("No stack of yours is used: there is no ")
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=PATIENCE_SECONDS)

    assert (process.returncode, said) == (130, "causeway: interrupted.\n")
