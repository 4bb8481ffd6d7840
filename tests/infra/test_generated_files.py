"""Generated files are compared and written, and what is outdated is named."""

from __future__ import annotations

from pathlib import Path

from infra.generated_files import update_folder


def test_a_check_names_what_differs_and_what_is_obsolete_and_changes_nothing(tmp_path: Path) -> None:
    old, obsolete, new = (tmp_path / name for name in ("old.md", "obsolete.md", "new.md"))
    old.write_text("before", "utf-8")
    obsolete.write_text("x", "utf-8")

    assert update_folder(tmp_path, {old: "after", new: "n"}, check=True) == [old, new, obsolete]
    assert old.read_text("utf-8") == "before"
    assert obsolete.exists()
    assert not new.exists()


def test_an_update_makes_a_folder_hold_these_files_and_no_others(tmp_path: Path) -> None:
    (tmp_path / "obsolete.md").write_text("x", "utf-8")
    text = {tmp_path / "sub" / "page.md": "p"}

    update_folder(tmp_path, text, check=False)

    assert [file for file in tmp_path.rglob("*") if file.is_file()] == list(text)
    assert update_folder(tmp_path, text, check=False) == []
