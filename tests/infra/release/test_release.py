"""``make release`` creates a release in a clone of this repository. After an error, the clone is unchanged."""

import contextlib
import io
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

from chalicelib.foundation.version import VERSION
from infra.release import __main__ as release_command
from infra.release import changelog
from infra.release.__main__ import CHANGELOGS, VERSION_FILES
from infra.release.changelog import EMPTY, NEXT
from infra.render.contract import marks
from tests.kit.documents import ROOT, releases

MAJOR, MINOR, _ = map(int, VERSION.split("."))
NEW = f"{MAJOR}.{MINOR + 1}.0"
NOTE = "- Payments have a colour."
CONTRACT, DATA, DATA_COMMAND = "contract/tpp.txt", "tests/upgrade/released.jsonl", "tests/upgrade/__main__.py"
WRITE_DATA = f"""
from pathlib import Path
Path({DATA!r}).write_text("new")
"""


class Clone:
    def __init__(self, folder: Path, files: Iterable[str]) -> None:
        self.folder = folder
        self.git("init", "--quiet", "--initial-branch", "main")
        for name in ("user.name", "user.email"):
            self.git("config", name, "releases@example.com")
        for name in files:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
        self.write_next_version(NOTE)
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", "Files")

    def git(self, *arguments: str) -> str:
        done = subprocess.run(["git", *arguments], cwd=self.folder, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    def read(self, name: str) -> str:
        return (self.folder / name).read_text("utf-8")

    def write_next_version(self, note: str) -> None:
        before, _, after = self.read("CHANGELOG.md").partition(f"{NEXT}\n")
        earlier = after[after.index("\n## ") :]
        (self.folder / "CHANGELOG.md").write_text(f"{before}{NEXT}\n\n{note}\n{earlier}", "utf-8")

    def replace(self, name: str, old: str, new: str) -> None:
        (self.folder / name).write_text(self.read(name).replace(old, new, 1), "utf-8")


def all_files() -> list[str]:
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listed, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\0")
    return [name for name in names if (ROOT / name).is_file() and not (ROOT / name).is_symlink()]


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Clone:
    """Create a repository with the files that a release changes. A short script replaces the data command."""
    packages = ("tests/__init__.py", "tests/upgrade/__init__.py")
    files = (".gitignore", *CHANGELOGS, *VERSION_FILES, CONTRACT, DATA, DATA_COMMAND, *packages)
    made = Clone(tmp_path_factory.mktemp("clone"), files)
    (made.folder / DATA_COMMAND).write_text(WRITE_DATA, "utf-8")
    made.git("commit", "--quiet", "--all", "--message", "Write data at once")
    return made


@pytest.fixture(autouse=True)
def repository(clone: Clone, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the release command in the clone, without building the documents."""
    monkeypatch.setattr(release_command, "ROOT", clone.folder)
    monkeypatch.setattr(release_command, "contract_texts", lambda folder: {folder / "tpp.txt": "+ GET /new\n"})


def test_a_release_updates_changelog_version_contract_and_data_and_creates_a_git_tag(tmp_path: Path) -> None:
    clone = Clone(tmp_path, all_files())
    contract = clone.read(CONTRACT)
    clone.replace(CONTRACT, contract[: contract.index("\n")], "+ GET /new\n- GET /gone")
    clone.git("commit", "--quiet", "--all", "--message", "Marks")
    note = clone.read("CHANGELOG.md")
    data = clone.read(DATA)

    environ = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(tmp_path / "sdk/src")])}
    command = [sys.executable, "-m", "infra.release", NEW]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, env=environ)

    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    assert (clone.git("tag"), clone.git("status", "--porcelain")) == (f"v{NEW}", "")
    assert clone.git("log", "-1", "--format=%s") == f"Release {NEW}"
    assert all(f'"{NEW}"' in clone.read(name) for name in VERSION_FILES)
    released = clone.read("CHANGELOG.md")
    assert releases(released)[0][0] == NEW
    assert changelog.next_version(released) == ""
    assert releases(clone.read("sdk/CHANGELOG.md"))[0][0] == NEW
    assert changelog.next_version(note) in released
    assert clone.read(DATA) != data
    assert clone.read(CONTRACT) == marks.join_lines(marks.present_lines(contract))


@pytest.mark.parametrize(
    ("version", "reason"),
    [
        (VERSION, "is not greater than the present version"),
        ("0.99.9", "is not greater than the present version"),
        ("2.0", "is not a version"),
        ("v2.0.0", "is not a version"),
        ("2.0.0rc1", "is not a version"),
    ],
)
def test_an_invalid_or_lower_version_is_refused(clone: Clone, version: str, reason: str) -> None:
    refused(clone, version, reason)


def test_a_dirty_working_tree_is_refused(clone: Clone) -> None:
    file = clone.folder / "new.txt"
    file.write_text("new")
    try:
        refused(clone, NEW, "?? new.txt")
    finally:
        file.unlink()


def test_a_changelog_without_changes_is_refused(clone: Clone) -> None:
    clone.write_next_version(EMPTY)
    clone.git("commit", "--quiet", "--all", "--message", "Nothing")
    try:
        refused(clone, NEW, "CHANGELOG.md: the section '## Next version' is empty")
    finally:
        clone.git("reset", "--quiet", "--hard", "HEAD~1")


def test_an_existing_tag_is_refused_before_any_write(clone: Clone) -> None:
    clone.git("tag", f"v{NEW}")
    try:
        refused(clone, NEW, f"the tag v{NEW} exists", tags=f"v{NEW}")
    finally:
        clone.git("tag", "--delete", f"v{NEW}")


@pytest.mark.parametrize(
    ("hook", "script", "reason"),
    [
        ("pre-commit", "touch contract/new.txt; echo no commits >&2; exit 1", "git commit: no commits"),
        ("reference-transaction", "! grep -q refs/tags || { echo no tags >&2; exit 1; }", "git tag: no tags"),
    ],
)
def test_a_release_is_undone_if_git_refuses_the_commit_or_the_tag(
    clone: Clone, hook: str, script: str, reason: str
) -> None:
    file = clone.folder / ".git" / "hooks" / hook
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(0o755)
    try:
        refused(clone, NEW, reason)
    finally:
        file.unlink()


def test_a_release_is_undone_if_the_data_file_cannot_be_written(clone: Clone) -> None:
    (clone.folder / DATA_COMMAND).write_text(f"{WRITE_DATA}raise SystemExit(3)", "utf-8")
    clone.git("commit", "--quiet", "--all", "--message", "Broken")
    try:
        refused(clone, NEW, "tests.upgrade")
    finally:
        clone.git("reset", "--quiet", "--hard", "HEAD~1")


def refused(clone: Clone, version: str, reason: str, tags: str = "") -> None:
    before = (clone.git("rev-parse", "HEAD"), clone.git("status", "--porcelain"))

    with contextlib.redirect_stderr(io.StringIO()) as said:
        code = release_command.main([version])

    assert code == 1
    assert reason in said.getvalue()
    assert (clone.git("rev-parse", "HEAD"), clone.git("status", "--porcelain")) == before
    assert clone.git("tag") == tags
