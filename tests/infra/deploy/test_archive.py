"""Zip files contain compiled modules and are reproducible byte for byte."""

import importlib.util
import marshal
import zipfile
from pathlib import Path

import pytest

from infra.deploy import archive
from infra.deploy.archive import CompileFailed

UNCHECKED_HASH = 1
"""The flags of a compiled module for which Python does not check the source (PEP 552)."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "application"
    (place / "package").mkdir(parents=True)
    (place / "b.py").write_text("def b():\n    return {'name': 'b', 'other': frozenset('abc')}\n", "utf-8")
    (place / "package" / "__init__.py").write_text("NAME = 'name'\n", "utf-8")
    (place / "package" / "data.json").write_text("{}", "utf-8")
    return place


def compiled(folder: Path, module: str) -> bytes:
    return Path(importlib.util.cache_from_source(str(folder / module))).read_bytes()


def test_modules_are_compiled_with_an_unchecked_hash(folder: Path) -> None:
    archive.compile_modules(folder, "/var/task")

    for module in ("b.py", "package/__init__.py"):
        content = compiled(folder, module)
        assert content[:4] == importlib.util.MAGIC_NUMBER
        assert int.from_bytes(content[4:8], "little") == UNCHECKED_HASH


def test_tracebacks_of_compiled_modules_contain_the_path_in_lambda(folder: Path) -> None:
    archive.compile_modules(folder, "/var/task")

    code = marshal.loads(compiled(folder, "b.py")[16:])  # noqa: S302 - this test compiled it
    assert code.co_filename == "/var/task/b.py"


def test_a_module_that_cannot_be_compiled_raises_compile_failed(folder: Path) -> None:
    (folder / "b.py").write_text("def b(:\n", "utf-8")

    with pytest.raises(CompileFailed, match="SyntaxError"):
        archive.compile_modules(folder, "/var/task")


def test_two_builds_of_the_same_files_are_identical(folder: Path, tmp_path: Path) -> None:
    builds = []
    for name in ("first", "second"):
        other = tmp_path / name / "application"
        other.parent.mkdir()
        folder.rename(other)
        archive.compile_modules(other, "/var/task")
        archive.write_zip(other, tmp_path / f"{name}.zip")
        builds.append((tmp_path / f"{name}.zip").read_bytes())
        folder = other
        for file in folder.rglob("*.py"):
            file.touch()

    assert builds[0] == builds[1]


def test_zip_entries_are_sorted_by_name_below_the_prefix(folder: Path, tmp_path: Path) -> None:
    archive.write_zip(folder, tmp_path / "out" / "layer.zip", "python/", comment="rules")

    with zipfile.ZipFile(tmp_path / "out" / "layer.zip") as file:
        assert file.namelist() == ["python/b.py", "python/package/__init__.py", "python/package/data.json"]
    assert archive.comment_of(tmp_path / "out" / "layer.zip") == "rules"


def test_reading_the_comment_of_a_missing_archive_returns_none(tmp_path: Path) -> None:
    assert archive.comment_of(tmp_path / "layer.zip") is None
