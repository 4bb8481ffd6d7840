"""``make postman`` without what it needs; the collection itself runs in the end-to-end tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from infra.local import stackfile
from infra.postman.write import main


def test_without_a_running_stack_it_says_how_to_start_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(stackfile.VARIABLE, str(tmp_path / "stack.json"))

    assert main([]) == 1
    assert "make run" in capsys.readouterr().err
