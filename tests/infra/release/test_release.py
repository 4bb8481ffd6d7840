"""``make release`` does what is mechanical, in a clone of this repository, or says why not and changes nothing."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from chalicelib.foundation.version import VERSION
from infra.release import changelog
from infra.release.__main__ import VERSION_FILES
from infra.release.changelog import EMPTY, NEXT
from tests.changelog_headings import releases
from tests.documents import ROOT

MAJOR, MINOR, _ = map(int, VERSION.split("."))
NEW = f"{MAJOR}.{MINOR + 1}.0"
NOTE = "- Payments have a colour."


class Clone:
    """A repository with this one's files as they are, and one commit."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.git("init", "--quiet", "--initial-branch", "main")
        for name in ("user.name", "user.email"):
            self.git("config", name, "releases@example.com")
        listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        for name in subprocess.run(listed, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\0"):
            source, target = ROOT / name, folder / name
            if name and source.is_file() and not source.is_symlink():
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(source, target)
        self.replace("CHANGELOG.md", f"{NEXT}\n\n{EMPTY}\n", f"{NEXT}\n\n{NOTE}\n")
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", "Files")

    def git(self, *arguments: str) -> str:
        done = subprocess.run(["git", *arguments], cwd=self.folder, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    def read(self, name: str) -> str:
        return (self.folder / name).read_text("utf-8")

    def replace(self, name: str, old: str, new: str) -> None:
        """Replace a text that a file has, if it has it."""
        (self.folder / name).write_text(self.read(name).replace(old, new, 1), "utf-8")

    def release(self, version: str = NEW) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "infra.release", version]
        environ = {**os.environ, "PYTHONPATH": os.pathsep.join([str(self.folder), str(self.folder / "sdk/src")])}
        return subprocess.run(command, cwd=self.folder, capture_output=True, text=True, check=False, env=environ)


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Clone:
    """A repository in which no release is made."""
    return Clone(tmp_path_factory.mktemp("clone"))


def test_a_release_renames_the_section_writes_version_contract_and_data_and_is_tagged(tmp_path: Path) -> None:
    clone = Clone(tmp_path)
    contract = clone.read("contract/tpp.txt")
    clone.replace("contract/tpp.txt", contract[: contract.index("\n")], "+ GET /new\n- GET /gone")
    clone.git("commit", "--quiet", "--all", "--message", "Marks")
    note = clone.read("CHANGELOG.md")
    data = clone.read("tests/upgrade/released.jsonl")

    done = clone.release()

    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    assert (clone.git("tag"), clone.git("status", "--porcelain")) == (f"v{NEW}", "")
    assert clone.git("log", "-1", "--format=%s") == f"Release {NEW}"
    assert all(f'"{NEW}"' in clone.read(name) for name in VERSION_FILES)
    released = clone.read("CHANGELOG.md")
    assert releases(released)[0][0] == NEW
    assert changelog.next_version(released) == ""
    assert releases(clone.read("sdk/CHANGELOG.md"))[0][0] == NEW
    assert changelog.next_version(note) in released
    assert clone.read("tests/upgrade/released.jsonl") != data
    assert clone.read("contract/tpp.txt") == contract


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
def test_a_version_that_is_none_or_not_greater_is_refused(clone: Clone, version: str, reason: str) -> None:
    refused(clone, version, reason)


def test_a_tree_with_changes_is_refused(clone: Clone) -> None:
    file = clone.folder / "new.txt"
    file.write_text("new")
    try:
        refused(clone, NEW, "?? new.txt")
    finally:
        file.unlink()


def test_a_changelog_without_changes_is_refused(clone: Clone) -> None:
    clone.replace("CHANGELOG.md", NOTE, EMPTY)
    clone.git("commit", "--quiet", "--all", "--message", "Nothing")
    try:
        refused(clone, NEW, "CHANGELOG.md: the section '## Next version' is empty")
    finally:
        clone.git("reset", "--quiet", "--hard", "HEAD~1")


def refused(clone: Clone, version: str, reason: str) -> None:
    """A release is refused for a reason, and leaves everything as it was."""
    before = (clone.git("rev-parse", "HEAD"), clone.git("status", "--porcelain"))

    done = clone.release(version)

    assert done.returncode == 1
    assert reason in done.stderr
    assert (clone.git("rev-parse", "HEAD"), clone.git("status", "--porcelain")) == before
    assert clone.git("tag") == ""
