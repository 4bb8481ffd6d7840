"""The file that a stack leaves for the tools beside it."""

from __future__ import annotations

import os
from pathlib import Path

from infra.local import stackfile


def test_only_the_owner_can_read_it(tmp_path: Path) -> None:
    file = tmp_path / "local" / "stack.json"
    stackfile.write(file, {"pid": os.getpid()})

    assert file.stat().st_mode & 0o777 == 0o600
    assert file.parent.stat().st_mode & 0o777 == 0o700
    assert [entry.name for entry in file.parent.iterdir()] == ["stack.json"]


def test_a_stack_that_has_ended_is_not_running(tmp_path: Path) -> None:
    file = tmp_path / "stack.json"
    assert stackfile.running(file) is None
    stackfile.write(file, {"pid": os.getpid()})
    assert stackfile.running(file) == {"pid": os.getpid()}
    stackfile.write(file, {"pid": 2**22 + 1})
    assert stackfile.running(file) is None


def test_a_stack_takes_its_own_file_along(tmp_path: Path) -> None:
    file = tmp_path / "stack.json"
    stackfile.write(file, {"pid": os.getppid()})
    stackfile.leave(file)
    assert file.exists(), "a file of another stack is not touched"
    stackfile.write(file, {"pid": os.getpid()})
    stackfile.leave(file)
    assert not file.exists()


def test_a_damaged_file_is_no_file(tmp_path: Path) -> None:
    file = tmp_path / "stack.json"
    file.write_text("{")
    assert stackfile.read(file) is None


def test_the_environment_may_name_another_place() -> None:
    assert stackfile.location({}) == stackfile.ROOT / ".local" / "stack.json"
    assert stackfile.location({"CAUSEWAY_STACK_FILE": "/elsewhere.json"}) == Path("/elsewhere.json")
