"""The virtual environment is made once, and again when what it depends on has changed."""

from __future__ import annotations

import re
import sys
from itertools import groupby
from pathlib import Path
from threading import Thread

import pytest

from infra import environment
from infra.environment import EnvironmentFailed
from tests.patience import PATIENCE_SECONDS, wait_for


@pytest.fixture
def commands(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    ran: list[list[str]] = []

    def run(command: list[str], complaint: str) -> None:
        ran.append(command)
        if "venv" in command:
            Path(command[-1]).mkdir()

    monkeypatch.setattr(environment, "_run", run)
    return ran


def test_a_second_time_there_is_nothing_to_do(
    tmp_path: Path, commands: list[list[str]], capsys: pytest.CaptureFixture[str]
) -> None:
    assert environment.make(tmp_path / "venv") is True
    said = capsys.readouterr()
    assert said.err.endswith(" and installing the packages: takes about a minute, only once\n")
    assert said.out == "", "a target's output may be read by a program"
    assert environment.make(tmp_path / "venv") is False
    assert len(commands) == 3
    assert "--use-pep517" in commands[1]  # or pip warns of packages that it has to build
    assert commands[2][-2:] == ["--editable", str(environment.ROOT / "sdk")]


def test_a_python_without_venv_is_told_which_package_has_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    package = f"python{sys.version_info[0]}.{sys.version_info[1]}-venv"

    with pytest.raises(EnvironmentFailed, match=f"^this Python lacks venv: install {package}$"):
        environment.make(tmp_path / "venv")


def test_changed_requirements_are_installed_into_it_while_others_may_be_using_it(
    tmp_path: Path, commands: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    environment.make(tmp_path / "venv")
    used = tmp_path / "venv" / "used"
    used.touch()
    change_requirements(tmp_path, monkeypatch)

    assert environment.make(tmp_path / "venv") is True
    assert used.exists()
    assert ["install" in command for command in commands] == [False, True, True, True, True]
    assert environment.make(tmp_path / "venv") is False


def test_another_python_makes_it_anew(
    tmp_path: Path, commands: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    environment.make(tmp_path / "venv")
    used = tmp_path / "venv" / "used"
    used.touch()
    monkeypatch.setattr(sys, "version", "3.99.0 (main)")

    assert environment.make(tmp_path / "venv") is True
    assert not used.exists()


def test_an_installation_that_failed_is_made_up_for(
    tmp_path: Path, commands: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    environment.make(tmp_path / "venv")
    change_requirements(tmp_path, monkeypatch)
    with monkeypatch.context() as patch:
        patch.setattr(environment, "_run", fail)
        with pytest.raises(EnvironmentFailed):
            environment.make(tmp_path / "venv")

    assert environment.make(tmp_path / "venv") is True
    assert environment.make(tmp_path / "venv") is False


PIP = """
import sys, time
for name in ("chalice==1", "boto3>=1", "boto3<2"):
    print("Collecting", name, "(from -r requirements.txt)", flush=True)
    time.sleep(0.02)
print("Installing collected packages: boto3, chalice", flush=True)
time.sleep(0.02)
sys.exit(int(sys.argv[1]))
"""


def install(code: int) -> None:
    environment._run([sys.executable, "-c", PIP, str(code)], "the packages could not be installed")


def test_an_installation_tells_what_it_is_at_in_plain_lines(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert environment.REPORT_SECONDS == 10
    monkeypatch.setattr(environment, "REPORT_SECONDS", 0)
    install(0)

    said = [line.partition(" s  ")[2] for line in capsys.readouterr().err.splitlines()]
    assert [line for line, _ in groupby(said)] == [
        "collecting packages: 1, chalice",
        "collecting packages: 2, boto3",
        "installing 2 packages",
    ]


def test_an_installation_that_is_over_before_a_report_is_due_says_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(environment, "REPORT_SECONDS", PATIENCE_SECONDS)
    install(0)

    assert capsys.readouterr().err == ""


def test_on_a_terminal_there_is_one_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    install(0)
    said = capsys.readouterr().err

    assert said.count("\n") == 1
    assert re.search(r"  \d+ s  installing 2 packages\n$", said)
    assert said.startswith("\r\033[K  ")


def test_a_command_that_fails_is_a_failure() -> None:
    with pytest.raises(EnvironmentFailed, match="the packages could not be installed"):
        install(1)


def test_help_makes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as end:
        environment.main(["--help"])

    assert end.value.code == 0
    assert capsys.readouterr().out.startswith("usage: python3 infra/environment.py [-h] [folder]\n")
    assert list(tmp_path.iterdir()) == []


def test_an_interruption_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupt(folder: Path) -> bool:
        raise KeyboardInterrupt

    monkeypatch.setattr(environment, "make", interrupt)

    assert environment.main([str(tmp_path)]) == 130
    assert capsys.readouterr().err == "causeway: interrupted.\n"


def test_a_second_making_says_that_it_waits_for_the_first(
    tmp_path: Path, commands: list[list[str]], capsys: pytest.CaptureFixture[str]
) -> None:
    with environment._lock(tmp_path / "venv"):
        second = Thread(target=environment.make, args=(tmp_path / "venv",))
        second.start()
        said = wait_for(lambda: capsys.readouterr().err)
        assert commands == []
    second.join(PATIENCE_SECONDS)

    assert said == "Waiting for another process that is creating venv\n"
    assert len(commands) == 3


def change_requirements(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = folder / "requirements.txt"
    other.write_text("chalice==9\n")
    monkeypatch.setattr(environment, "REQUIREMENTS", (other, other))


def fail(command: list[str], complaint: str) -> None:
    raise EnvironmentFailed(complaint)


def test_an_installation_that_fails_is_not_taken_for_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(command: list[str], complaint: str) -> None:
        if "install" in command:
            raise EnvironmentFailed(complaint)
        Path(command[-1]).mkdir()

    monkeypatch.setattr(environment, "_run", run)
    for _ in range(2):
        with pytest.raises(EnvironmentFailed, match="packages could not be installed"):
            environment.make(tmp_path / "venv")
