"""The selection of the dynoxide program, and messages about untested versions."""

from collections.abc import Callable
from pathlib import Path

import pytest

from infra.local import dynoxide
from infra.local.dynamodb_engine import EngineFailed
from tests.conftest import DYNAMODB_ENGINE

Install = Callable[[str, str], Path]


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Return a function that adds a program to a PATH that otherwise contains only system programs."""
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")

    def put(name: str, script: str) -> Path:
        file = tmp_path / name
        file.write_text(f"#!/bin/sh\n{script}\n")
        file.chmod(0o755)
        return file

    return put


def test_find_program_returns_the_tested_dynoxide(program: Install) -> None:
    file = program("dynoxide", f"echo dynoxide {dynoxide.VERSION}")

    assert dynoxide.installed_version() == dynoxide.VERSION
    assert dynoxide.find_program() == str(file)
    assert dynoxide.Dynoxide.program()[:2] == [str(file), "serve"]


@pytest.mark.parametrize(
    ("script", "named"),
    [("echo dynoxide 9.9.9", "9.9.9"), ("exit 1", "unknown"), ("echo", "unknown")],
    ids=["another version", "fails", "says nothing"],
)
def test_an_untested_dynoxide_version_is_refused_and_named_in_the_error(
    program: Install, script: str, named: str
) -> None:
    program("dynoxide", script)

    assert dynoxide.installed_version() == named
    with pytest.raises(EngineFailed) as refused:
        dynoxide.find_program()
    assert str(refused.value) == (
        f"the dynoxide on the PATH is version {named}, not {dynoxide.VERSION}: `make install-dynoxide` installs it"
    )


@pytest.mark.usefixtures("program")
def test_a_missing_dynoxide_is_reported_with_the_install_command() -> None:
    assert dynoxide.installed_version() is None
    with pytest.raises(EngineFailed, match="no dynoxide on the PATH: `make install-dynoxide` installs it, with cargo"):
        dynoxide.find_program()


def test_the_install_function_builds_the_tested_dynoxide_version_only_once(
    program: Install, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = f"printf '#!/bin/sh\\necho dynoxide {dynoxide.VERSION}' >{tmp_path}/dynoxide; chmod +x {tmp_path}/dynoxide"
    program("cargo", f'echo "$@" >>{tmp_path}/asked; {made}')

    assert [dynoxide.main([]), dynoxide.main([])] == [0, 0]
    (asked,) = (tmp_path / "asked").read_text().splitlines()
    assert asked.startswith(f"install dynoxide-rs --version {dynoxide.CRATE_VERSION} --locked --force ")
    assert f"dynoxide {dynoxide.VERSION} is installed: {tmp_path}/dynoxide" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("cargo", "said"),
    [
        (None, "there is no cargo on this machine"),
        ("exit 101", "cargo could not build dynoxide: it ended with exit code 101"),
        ("exit 0", "there is no dynoxide on the PATH"),
    ],
    ids=["no cargo", "a build that fails", "installed where the PATH does not lead"],
)
def test_a_failed_dynoxide_installation_is_reported_with_the_reason(
    program: Install, capsys: pytest.CaptureFixture[str], cargo: str | None, said: str
) -> None:
    if cargo:
        program("cargo", cargo)

    assert dynoxide.main([]) == 1
    assert said in capsys.readouterr().err


@pytest.mark.dynamodb
@pytest.mark.skipif(DYNAMODB_ENGINE != "dynoxide", reason="`make test-dynoxide` has it")
def test_a_damaged_dynoxide_file_is_rejected_and_not_deleted(tmp_path: Path) -> None:
    file = tmp_path / "data" / "dynoxide.sqlite3"
    file.parent.mkdir()
    file.write_text("this is not a database")
    with dynoxide.Dynoxide(file.parent) as engine, pytest.raises(EngineFailed, match="not a valid SQLite database"):
        engine.wait()

    assert file.read_text() == "this is not a database"
    assert [each.name for each in file.parent.iterdir()] == [file.name]
