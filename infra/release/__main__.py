"""Makes a release: performs the mechanical steps, commits, and tags ``v1.2.3``. The command pushes nothing.

The section "Next version" of the two changelogs becomes the section of the release. The marks and removed lines of the
contract are deleted. The version number is written, and the initial data from which later versions are tested. The work
tree must be clean, the version must be greater than the current version, and the changelog must list changes. A failed
release is undone.
"""

from __future__ import annotations

import re
import subprocess
import sys
from datetime import UTC, date, datetime
from pathlib import Path

from chalicelib.foundation.version import VERSION
from infra import command
from infra.release import changelog
from infra.release.changelog import ChangelogInvalid
from infra.render.contract import marks
from infra.render.contract.__main__ import texts as contract_texts
from infra.repository import ROOT

VERSION_FILES = ("chalicelib/foundation/version.py", "sdk/src/causeway/__init__.py")
CHANGELOGS = {"CHANGELOG.md": "", "sdk/CHANGELOG.md": "The package has not changed."}
"""The changelogs, with the text for an empty section of a release. The section in the service's changelog must not be
empty.
"""
_VERSION = re.compile(r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)")
_LITERAL = re.compile(r'^((?:VERSION|__version__) = )"[^"]*"$', re.MULTILINE)


class ReleaseRefused(Exception):
    """A release cannot be made. The message is a sentence for the maintainer."""


def make_release(root: Path, version: str, day: date) -> None:
    """Release ``version`` of the repository at ``root``. If the release fails, no files are changed. Raises:
    ReleaseRefused.
    """
    if _numbers(version) <= _numbers(VERSION):
        raise ReleaseRefused(f"{version} is not greater than the present version, {VERSION}")
    if _git(root, "tag", "--list", f"v{version}"):
        raise ReleaseRefused(f"the tag v{version} exists already")
    if changed := _git(root, "status", "--porcelain", "--untracked-files=normal"):
        raise ReleaseRefused(f"the tree has changes that are not committed:\n{changed}")
    texts = {root / name: _date_changelog(root / name, version, day, without) for name, without in CHANGELOGS.items()}
    texts |= {root / name: _LITERAL.sub(rf'\1"{version}"', (root / name).read_text("utf-8")) for name in VERSION_FILES}
    contracts = contract_texts(root / "contract")
    texts |= {file: marks.join_lines(marks.present_lines(text)) for file, text in contracts.items()}
    head = _git(root, "rev-parse", "HEAD")
    try:
        _write(root, version, texts)
    except BaseException:
        _git(root, "reset", "--hard", head)
        _git(root, "clean", "-fd", "contract", "tests/upgrade")
        raise


def _write(root: Path, version: str, texts: dict[Path, str]) -> None:
    for file, text in texts.items():
        file.write_text(text, encoding="utf-8")
    try:
        # In a new process, which has the new version
        subprocess.run([sys.executable, "-m", "tests.upgrade"], cwd=root, check=True)
    except subprocess.CalledProcessError as failed:
        raise ReleaseRefused(f"{sys.executable} -m tests.upgrade ended with {failed.returncode}") from None
    _git(root, "add", "--all")
    _git(root, "commit", "--message", f"Release {version}")
    _git(root, "tag", "--annotate", f"v{version}", "--message", f"Version {version}")


def _numbers(version: str) -> tuple[int, ...]:
    found = _VERSION.fullmatch(version)
    if found is None:
        raise ReleaseRefused(f"{version!r} is not a version: pass three numbers, such as VERSION=1.2.0")
    return tuple(map(int, found.groups()))


def _date_changelog(file: Path, version: str, day: date, without: str) -> str:
    try:
        return changelog.release(file.read_text("utf-8"), version, day, without=without)
    except ChangelogInvalid as problem:
        raise ReleaseRefused(f"{file.name}: {problem}") from None


def _git(root: Path, *arguments: str) -> str:
    try:
        done = subprocess.run(["git", *arguments], cwd=root, check=True, capture_output=True, text=True)
    except subprocess.CalledProcessError as failed:
        raise ReleaseRefused(f"git {arguments[0]}: {failed.stderr.strip()}") from None
    return done.stdout.rstrip()


def main(arguments: list[str] | None = None) -> int:
    """Run the command. Returns the exit code."""
    parser = command.parser("infra.release", __doc__)
    parser.add_argument("release", metavar="VERSION", help=f"the new version, greater than {VERSION}")
    version = parser.parse_args(arguments).release
    try:
        make_release(ROOT, version, datetime.now(UTC).date())
    except ReleaseRefused as refused:
        print(f"infra.release: {refused}", file=sys.stderr)
        return 1
    print(f"Committed and tagged v{version}. Look at it, and push: git push --follow-tags")
    return 0


if __name__ == "__main__":
    command.run(main)
