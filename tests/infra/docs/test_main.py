"""What ``make docs`` writes is up to date, and what is not is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from infra.docs.__main__ import main, update


def test_the_committed_pages_are_up_to_date() -> None:
    assert main(["--check"]) == 0


def test_a_check_names_what_differs_and_what_is_strange_and_changes_nothing(tmp_path: Path) -> None:
    old, strange, new = (tmp_path / name for name in ("old.md", "strange.md", "new.md"))
    old.write_text("before", "utf-8")
    strange.write_text("x", "utf-8")

    assert update(tmp_path, {old: "after", new: "n"}, check=True) == [old, new, strange]
    assert old.read_text("utf-8") == "before"
    assert strange.exists()
    assert not new.exists()


def test_an_update_makes_a_folder_hold_these_files_and_no_others(tmp_path: Path) -> None:
    (tmp_path / "strange.md").write_text("x", "utf-8")
    text = {tmp_path / "sub" / "page.md": "p"}

    update(tmp_path, text, check=False)

    assert [file for file in tmp_path.rglob("*") if file.is_file()] == list(text)
    assert update(tmp_path, text, check=False) == []


def test_a_wrong_option_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--chek"])
    assert "--chek" in capsys.readouterr().err
