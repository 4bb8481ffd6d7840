"""Documents as the site serves them."""

from __future__ import annotations

import json
import re

import pytest

from infra.docs.site import MENU, PACKAGE_PAGES, SOURCE, TARGET, LinkError, Renderer, markdown_copy, page_names, texts
from infra.openapi.document import ROOT


def test_every_document_stands_in_the_menu_once() -> None:
    found = [file.relative_to(SOURCE).as_posix().removesuffix(".md") for file in SOURCE.rglob("*.md")]

    assert sorted(page_names()) == sorted([*found, *PACKAGE_PAGES])


def test_every_document_of_the_python_package_is_a_page() -> None:
    assert sorted(PACKAGE_PAGES.values()) == sorted(file.relative_to(ROOT).as_posix() for file in ROOT.glob("sdk/*.md"))


def test_headings_get_the_anchors_that_links_in_the_documents_use() -> None:
    text = Renderer("tour").render("# Title\n\n## `GET /tpp/accounts` twice\n")

    assert text == '<h2 id="get-tppaccounts-twice"><code>GET /tpp/accounts</code> twice</h2>\n'


def test_headings_of_the_same_words_get_anchors_of_their_own() -> None:
    text = Renderer("tour").render("# Title\n\n## Refusals\n\n## Refusals\n\n## Refusals\n")

    assert re.findall('id="(.+?)"', text) == ["refusals", "refusals-1", "refusals-2"]


@pytest.mark.parametrize(
    ("page", "target", "address"),
    [
        ("guides/tpp", "../tour.md", "{{docs}}/tour"),
        ("guides/tpp", "bank.md#payments", "{{docs}}/guides/bank#payments"),
        ("guides/tpp", "bank.py", "{{docs}}/guides/bank.py"),
        ("tour", "README.md", "{{docs}}"),
        ("tour", "#end", "#end"),
        ("guides/tpp", "../../sdk/README.md#errors", "{{docs}}/sdk#errors"),
        ("sdk", "CHANGELOG.md", "{{docs}}/sdk-changelog"),
        ("sdk", "../docs/reference/sdk-tpp.md", "{{docs}}/reference/sdk-tpp"),
        ("sdk-changelog", "README.md", "{{docs}}/sdk"),
        ("tour", "https://example.com/a.md", "https://example.com/a.md"),
    ],
)
def test_links_lead_to_pages_of_the_site(page: str, target: str, address: str) -> None:
    assert f'<a href="{address}">here</a>' in Renderer(page).render(f"[here]({target})")


@pytest.mark.parametrize("target", ["nowhere.md", "../README.md", "../../app.py", "guides"])
def test_a_link_that_leads_to_no_page_is_refused(target: str) -> None:
    with pytest.raises(LinkError, match=r"docs/tour.md: .+ is no page of the documents"):
        Renderer("tour").render(f"[here]({target})")


@pytest.mark.parametrize("target", ["LICENSE", "../README.md", "docs/tour.md"])
def test_a_link_of_the_package_that_leads_to_no_page_is_refused(target: str) -> None:
    with pytest.raises(LinkError, match=r"sdk/README.md: .+ is no page of the documents"):
        Renderer("sdk").render(f"[here]({target})")


@pytest.mark.parametrize(
    ("page", "target", "copied"),
    [
        ("README", "../sdk/README.md", "sdk.md"),
        ("guides/tpp", "../../sdk/README.md#errors", "../sdk.md#errors"),
        ("sdk", "CHANGELOG.md", "sdk-changelog.md"),
        ("sdk", "../docs/reference/sdk-tpp.md#tpp", "reference/sdk-tpp.md#tpp"),
        ("sdk", "#errors", "#errors"),
        ("guides/tpp", "bank.md#payments", "bank.md#payments"),
        ("guides/tpp", "https://example.com/README.md", "https://example.com/README.md"),
    ],
)
def test_links_in_the_copy_of_a_documents_markdown_lead_to_copies(page: str, target: str, copied: str) -> None:
    assert markdown_copy(page, f"[here]({target})") == f"[here]({copied})"


def test_what_a_document_says_stays_text() -> None:
    assert "<b>" not in Renderer("tour").render("# Title\n\n<b>x</b> `<i>`\n")


def test_tables_scroll_by_themselves_and_can_be_reached_by_key() -> None:
    text = Renderer("tour").render("| a |\n|---|\n| 1 |\n")

    assert text.startswith('<div class="scroll" tabindex="0" role="group" aria-label="Table"><table>')


def test_a_table_has_no_empty_header_and_no_styles() -> None:
    text = Renderer("tour").render("| | n |\n|---|--:|\n| a | 1 |\n")

    assert '<td></td>\n<th class="number">n</th>' in text
    assert '<td class="number">1</td>' in text


def test_blocks_of_code_can_be_reached_by_key_and_stay_text() -> None:
    text = Renderer("tour").render("```sh\necho '<b>' && true\n```\n")

    assert text.startswith('<pre tabindex="0"><code class="language-sh">')
    assert "&lt;b&gt;' &amp;&amp; true\n</code></pre>" in text


def test_the_index_has_titles_and_summaries_without_markup() -> None:
    index = json.loads(texts()[TARGET / "index.json"])
    entry = next(each for each in index["menu"]["Reference"] if each["page"] == "reference/settings")

    assert list(index["menu"]) == list(MENU)
    assert entry["title"] == "Settings"
    assert entry["summary"] == "Each process reads its environment once."
    assert index["home"]["page"] == "README"
