"""Static files: one name per content, kept for good, and nothing else of the folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from chalicelib.foundation.http.pages import StaticFiles


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "site.css").write_text("a {}", encoding="utf-8")
    (tmp_path / "notes.txt").write_text("secret", encoding="utf-8")
    return tmp_path


def test_a_file_is_served_under_the_name_of_its_content(folder: Path) -> None:
    statics = StaticFiles([folder])
    name = statics.name("site.css")
    answer = statics.answer(name)

    assert answer is not None
    assert answer.body == "a {}"
    assert answer.headers["Content-Type"] == "text/css; charset=utf-8"
    assert answer.headers["Cache-Control"] == "public, max-age=31536000, immutable"


def test_the_name_changes_with_the_content(folder: Path) -> None:
    before = StaticFiles([folder]).name("site.css")
    (folder / "site.css").write_text("b {}", encoding="utf-8")

    assert StaticFiles([folder]).name("site.css") != before
    assert StaticFiles([folder]).answer(before) is None


def test_the_first_folder_wins(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    other = tmp_path_factory.mktemp("other")
    (other / "site.css").write_text("own {}", encoding="utf-8")
    statics = StaticFiles([other, folder])
    answer = statics.answer(statics.name("site.css"))

    assert answer is not None
    assert answer.body == "own {}"


@pytest.mark.parametrize("name", ["site.css", "notes.txt", "../test_statics.py", ""])
def test_nothing_else_is_served(folder: Path, name: str) -> None:
    assert StaticFiles([folder]).answer(name) is None


def test_a_file_that_does_not_exist_has_no_name(folder: Path) -> None:
    with pytest.raises(KeyError):
        StaticFiles([folder]).name("nothing.css")


def test_a_script_imports_another_by_its_public_name(tmp_path: Path) -> None:
    (tmp_path / "main.js").write_text('import { twice } from "./part.js";\ntwice(1);\n', encoding="utf-8")
    (tmp_path / "part.js").write_text("export const twice = (x) => 2 * x;\n", encoding="utf-8")
    statics = StaticFiles([tmp_path])
    name = statics.name("main.js")
    answer = statics.answer(name)

    assert answer is not None
    assert answer.body == f'import {{ twice }} from "./{statics.name("part.js")}";\ntwice(1);\n'
    (tmp_path / "part.js").write_text("export const twice = (x) => x + x;\n", encoding="utf-8")
    assert StaticFiles([tmp_path]).name("main.js") != name
