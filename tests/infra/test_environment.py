"""The virtual environment is made once, and again when what it depends on has changed."""

from __future__ import annotations

from pathlib import Path

import pytest

from infra import environment
from infra.environment import EnvironmentFailed


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
    assert capsys.readouterr().out.endswith(" and installing the packages: about a minute, this once\n")
    assert environment.make(tmp_path / "venv") is False
    assert len(commands) == 2
    assert "--use-pep517" in commands[1]  # or pip warns of packages that it has to build


def test_changed_requirements_are_installed_into_it_while_others_may_be_using_it(
    tmp_path: Path, commands: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    environment.make(tmp_path / "venv")
    used = tmp_path / "venv" / "used"
    used.touch()
    change_requirements(tmp_path, monkeypatch)

    assert environment.make(tmp_path / "venv") is True
    assert used.exists()
    assert ["install" in command for command in commands] == [False, True, True]
    assert environment.make(tmp_path / "venv") is False


def test_another_python_makes_it_anew(
    tmp_path: Path, commands: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    environment.make(tmp_path / "venv")
    used = tmp_path / "venv" / "used"
    used.touch()
    monkeypatch.setattr(environment.sys, "version", "3.99.0 (main)")

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
