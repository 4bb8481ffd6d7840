"""Static files are served by names with a content hash. Other files of the folder are not served."""

from pathlib import Path

import pytest

from chalicelib.foundation.http.pages import StaticFiles


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "site.css").write_text("a {}", encoding="utf-8")
    (tmp_path / "notes.txt").write_text("secret", encoding="utf-8")
    return tmp_path


def test_a_file_with_a_content_hash_in_the_name_is_served_as_immutable(folder: Path) -> None:
    statics = StaticFiles([folder])
    name = statics.name("site.css")
    answer = statics.answer(name)

    assert answer is not None
    assert answer.body == "a {}"
    assert answer.headers["Content-Type"] == "text/css; charset=utf-8"
    assert answer.headers["Cache-Control"] == "public, max-age=31536000, immutable"


def test_the_name_of_a_static_file_changes_with_the_content(folder: Path) -> None:
    before = StaticFiles([folder]).name("site.css")
    (folder / "site.css").write_text("b {}", encoding="utf-8")

    assert StaticFiles([folder]).name("site.css") != before
    assert StaticFiles([folder]).answer(before) is None


def test_the_first_folder_with_a_static_file_takes_precedence(
    folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    other = tmp_path_factory.mktemp("other")
    (other / "site.css").write_text("own {}", encoding="utf-8")
    statics = StaticFiles([other, folder])
    answer = statics.answer(statics.name("site.css"))

    assert answer is not None
    assert answer.body == "own {}"


@pytest.mark.parametrize("name", ["site.css", "notes.txt", "../test_statics.py", ""])
def test_static_files_without_a_hash_in_the_name_and_unknown_files_are_not_served(folder: Path, name: str) -> None:
    assert StaticFiles([folder]).answer(name) is None


def test_the_name_of_a_missing_static_file_raises_key_error(folder: Path) -> None:
    with pytest.raises(KeyError):
        StaticFiles([folder]).name("nothing.css")


@pytest.fixture
def modules(folder: Path) -> Path:
    (folder / "entry.js").write_text(
        'import { a } from "./middle.js";\nimport { b } from "./leaf.js";\na(b);\n', "utf-8"
    )
    (folder / "middle.js").write_text('import {\n  b,\n} from "./leaf.js";\nexport const a = b;\n', "utf-8")
    (folder / "leaf.js").write_text('export const b = "from other.js";\n', "utf-8")
    return folder


def test_javascript_modules_import_each_other_by_hashed_names(modules: Path) -> None:
    statics = StaticFiles([modules])
    answer = statics.answer(statics.name("entry.js"))

    assert answer is not None
    assert f'from "./{statics.name("middle.js")}";' in answer.body
    assert f'from "./{statics.name("leaf.js")}";' in answer.body
    assert statics.modules("entry.js") == [statics.name("middle.js"), statics.name("leaf.js")]


def test_the_name_of_a_javascript_module_changes_with_an_imported_module(modules: Path) -> None:
    before = StaticFiles([modules])
    names = {file: before.name(file) for file in ("entry.js", "middle.js", "leaf.js", "site.css")}
    (modules / "leaf.js").write_text("export const b = 2;\n", "utf-8")
    after = StaticFiles([modules])

    assert {file for file, name in names.items() if after.name(file) != name} == {"entry.js", "middle.js", "leaf.js"}


def test_static_files_vary_by_accept_encoding(folder: Path) -> None:
    statics = StaticFiles([folder])
    answer = statics.answer(statics.name("site.css"))

    assert answer is not None
    assert answer.headers["Vary"] == "Accept-Encoding"
