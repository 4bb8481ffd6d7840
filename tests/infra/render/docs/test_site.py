"""The website contains a page for each document."""

import json
from typing import Any

import pytest

from infra.render.docs.reference import PAGES
from infra.render.docs.site import markdown_copy, texts
from infra.render.docs.site_pages import GENERATED, MENU, PACKAGE_PAGES, SOURCE, page_names
from infra.repository import ROOT


@pytest.fixture(scope="module")
def written() -> dict[str, str]:
    """Render the site and return its files. Rendering takes seconds, so all tests share the files."""
    return texts()


@pytest.fixture
def index(written: dict[str, str]) -> Any:
    return json.loads(written["index.json"])


def test_every_document_is_in_the_menu_once() -> None:
    found = [file.relative_to(SOURCE).as_posix().removesuffix(".md") for file in SOURCE.rglob("*.md")]
    generated = [f"{GENERATED}{name}" for name in PAGES]

    assert sorted(page_names()) == sorted([*found, *generated, *PACKAGE_PAGES])


def test_every_document_of_the_python_package_is_a_page() -> None:
    assert sorted(PACKAGE_PAGES.values()) == sorted(file.relative_to(ROOT).as_posix() for file in ROOT.glob("sdk/*.md"))


@pytest.mark.parametrize(
    ("page", "target", "copied"),
    [
        ("README", "../sdk/README.md", "sdk.md"),
        ("guides/tpp", "../../sdk/README.md#errors", "../sdk.md#errors"),
        ("sdk", "CHANGELOG.md", "sdk-changelog.md"),
        ("sdk", "/docs/reference/sdk-tpp#tpp", "reference/sdk-tpp.md#tpp"),
        ("guides/tpp", "/docs/reference/settings", "../reference/settings.md"),
        ("reference/settings", "commands.md#bank", "commands.md#bank"),
        ("sdk", "#errors", "#errors"),
        ("guides/tpp", "bank.md#payments", "bank.md#payments"),
        ("guides/tpp", "https://example.com/README.md", "https://example.com/README.md"),
    ],
)
def test_links_in_the_markdown_copy_of_a_document_point_to_markdown_copies(page: str, target: str, copied: str) -> None:
    assert markdown_copy(page, f"[here]({target})") == f"[here]({copied})"


def test_the_index_has_titles_and_summaries_without_markup(index: Any) -> None:
    entry = next(each for each in index["menu"]["Reference"] if each["page"] == "reference/settings")

    assert list(index["menu"]) == list(MENU)
    assert entry["title"] == "Settings"
    assert entry["summary"] == "Each process reads its environment once."
    assert index["home"]["page"] == "README"


def test_the_index_lists_the_parts_of_a_long_page_with_anchors(index: Any) -> None:
    parts = {each["page"]: each.get("parts") for each in index["menu"]["Reference"]}
    events = next(each for each in parts["reference/tpp-api"] if each["page"] == "reference/tpp-api/events")

    assert parts["reference/settings"] is None
    assert events["title"] == "Events"
    assert {"consentauthorised", "paymentstatus_changed"} <= set(events["anchors"])


def test_every_html_file_is_a_page_or_a_part_of_the_index(written: dict[str, str], index: Any) -> None:
    entries = [index["home"], *(each for entries in index["menu"].values() for each in entries)]
    named = [each["page"] for entry in entries for each in (entry, *entry.get("parts", ()))]

    files = [file for file in written if file.endswith(".html")]
    assert sorted(files) == sorted(f"{name}.html" for name in named)
