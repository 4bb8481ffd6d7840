"""The contract command writes outdated files, or lists them with ``--check``."""

from pathlib import Path

import pytest

from infra.render.contract import __main__ as command
from infra.render.contract.__main__ import main


def test_the_contract_is_up_to_date() -> None:
    assert main(["--check"]) == 0, "make contract"


def test_the_check_option_lists_outdated_files_and_writes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "tpp.txt"
    monkeypatch.setattr(command, "texts", lambda _: {file: "GET /list\n"})

    assert main(["--check"]) == 1
    assert "tpp.txt is out of date: make contract" in capsys.readouterr().err
    assert not file.exists()
    assert main([]) == 0
    assert file.read_text("utf-8") == "GET /list\n"
