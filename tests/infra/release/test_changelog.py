"""The changelog has a short section for the next version and for each release, newest first."""

import re
from datetime import date

import pytest

from chalicelib.foundation.version import VERSION
from infra.release import changelog
from infra.release.changelog import EMPTY, NEXT, ChangelogInvalid
from tests.kit.documents import ROOT, releases

MOST_LINES = 10
"""The maximum number of lines of a release in the changelog. The documents contain the details."""
TEXT = f"# Changelog\n\n{NEXT}\n\n- One\n  thing\n- Another\n\n## 1.0.0 (2026-11-29)\n\n- The first\n"
DAY = date(2026, 12, 24)


def own(name: str) -> str:
    return (ROOT / name).read_text("utf-8")


def test_the_notes_function_returns_each_item_of_a_section_in_one_line() -> None:
    assert changelog.notes(changelog.next_version(TEXT)) == ["One thing", "Another"]


def test_a_release_renames_the_next_version_section_and_adds_an_empty_section() -> None:
    assert changelog.release(TEXT, "1.1.0", DAY) == (
        f"# Changelog\n\n{NEXT}\n\n{EMPTY}\n\n## 1.1.0 (2026-12-24)\n\n- One\n  thing\n- Another\n\n"
        "## 1.0.0 (2026-11-29)\n\n- The first\n"
    )


def test_a_release_without_changes_requires_a_changelog_text() -> None:
    released = changelog.release(TEXT, "1.1.0", DAY)

    assert changelog.next_version(released) == ""
    with pytest.raises(ChangelogInvalid, match="is empty"):
        changelog.release(released, "1.2.0", DAY)
    assert "\n## 1.2.0 (2026-12-24)\n\nNothing.\n" in changelog.release(released, "1.2.0", DAY, without="Nothing.")


def test_a_changelog_without_the_next_version_section_is_refused() -> None:
    with pytest.raises(ChangelogInvalid, match="there is no section"):
        changelog.next_version("# Changelog\n\n## 1.0.0 (2026-11-29)\n")


# -- this repository's


@pytest.mark.parametrize("name", ["CHANGELOG.md", "sdk/CHANGELOG.md"])
def test_releases_in_the_changelog_have_dates_and_are_listed_from_the_newest_to_the_oldest(name: str) -> None:
    found = releases(own(name))

    versions = [tuple(map(int, version.split("."))) for version, _ in found]
    days = [day for _, day in found]
    assert found[0][0] == VERSION
    assert versions == sorted(set(versions), reverse=True)
    assert days == sorted(days, reverse=True)
    assert re.findall(r"^## (.+)$", own(name), re.MULTILINE) == [
        NEXT.removeprefix("## "),
        *(f"{version} ({day})" for version, day in found),
    ]


def test_each_release_has_at_most_ten_lines_in_the_changelog() -> None:
    sections = re.split(r"^## ", own("CHANGELOG.md"), flags=re.MULTILINE)[1:]
    lengths = {lines[0]: sum(bool(line) for line in lines[1:]) for lines in map(str.splitlines, sections)}

    assert {heading: length for heading, length in lengths.items() if length > MOST_LINES} == {}
