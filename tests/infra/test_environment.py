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


def test_changed_requirements_make_it_anew(
    tmp_path: Path, commands: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    environment.make(tmp_path / "venv")
    other = tmp_path / "requirements.txt"
    other.write_text("chalice==9\n")
    monkeypatch.setattr(environment, "REQUIREMENTS", (other, other))

    assert environment.make(tmp_path / "venv") is True


def test_an_installation_that_fails_leaves_no_stamp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(command: list[str], complaint: str) -> None:
        if "install" in command:
            raise EnvironmentFailed(complaint)
        Path(command[-1]).mkdir()

    monkeypatch.setattr(environment, "_run", run)
    with pytest.raises(EnvironmentFailed, match="packages could not be installed"):
        environment.make(tmp_path / "venv")
    assert not (tmp_path / "venv" / "requirements.sha256").exists()
