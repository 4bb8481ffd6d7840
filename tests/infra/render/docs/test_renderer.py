"""The rendering of documents as HTML: headings, tables, code blocks, links, and the parts of long pages."""

import re

import pytest

from infra.render.docs.renderer import LinkError, Renderer

LONG = """# TPP calls and events

First.

## Headers

None; see [a webhook](bank-api-v1.md#account) and [accounts](#get-tppaccounts).

## Account

Reads *accounts*. Not more.

### `GET /tpp/accounts`

List `all` accounts. Then more.

#### Details

See [types](#types), [the next](#get-tppaccount), [events](#events) and [one](tpp-api.md#consentrevoked).

### `GET /tpp/account`

These:

| a |
| --- |
| 1 |
"""
PART = "{{docs}}/reference/tpp-api/account"


def test_headings_get_the_anchors_of_markdown_links() -> None:
    text = Renderer("tour").render("# Title\n\n## `GET /tpp/accounts` twice\n")

    assert text == '<h2 id="get-tppaccounts-twice"><code>GET /tpp/accounts</code> twice</h2>\n'


def test_only_a_long_path_has_line_break_opportunities() -> None:
    text = Renderer("tour").render("`cards/api/test_holders.py::test_a_name_is_kept` <`expires_at`, `a_<b`\n")

    path = "cards/<wbr>api/<wbr>test_<wbr>holders.py::<wbr>test_<wbr>a_<wbr>name_<wbr>is_<wbr>kept"
    assert text == f"<p><code>{path}</code> &lt;<code>expires_at</code>, <code>a_&lt;b</code></p>\n"


def test_headings_with_equal_text_get_distinct_anchors() -> None:
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
        ("sdk", "/docs/reference/sdk-tpp", "{{docs}}/reference/sdk-tpp"),
        ("reference/settings", "commands.md", "{{docs}}/reference/commands"),
        ("sdk-changelog", "README.md", "{{docs}}/sdk"),
        ("tour", "https://example.com/a.md", "https://example.com/a.md"),
    ],
)
def test_links_are_rewritten_to_pages_of_the_site(page: str, target: str, address: str) -> None:
    assert f'<a href="{address}">here</a>' in Renderer(page).render(f"[here]({target})")


@pytest.mark.parametrize(
    "target",
    [
        "nowhere.md",
        "../README.md",
        "../../app.py",
        "guides",
        "reference/settings.md",
        "/docs/reference/no",
        "/docs/tour",
    ],
)
def test_a_link_to_a_missing_page_is_refused(target: str) -> None:
    with pytest.raises(LinkError, match=r"docs/tour.md: .+ is no page of the documents"):
        Renderer("tour").render(f"[here]({target})")


@pytest.mark.parametrize("target", ["LICENSE", "../README.md", "docs/tour.md"])
def test_a_package_link_to_a_missing_page_is_refused(target: str) -> None:
    with pytest.raises(LinkError, match=r"sdk/README.md: .+ is no page of the documents"):
        Renderer("sdk").render(f"[here]({target})")


def test_html_in_a_document_is_escaped() -> None:
    assert "<b>" not in Renderer("tour").render("# Title\n\n<b>x</b> `<i>`\n")


def test_tables_are_scrollable_and_focusable() -> None:
    text = Renderer("tour").render("| a |\n|---|\n| 1 |\n")

    assert text.startswith('<div class="scroll" tabindex="0" role="group" aria-label="Table"><table>')


def test_a_table_has_no_empty_header_cell_and_no_inline_styles() -> None:
    text = Renderer("tour").render("| | n |\n|---|--:|\n| a | 1 |\n")

    assert '<td></td>\n<th class="number">n</th>' in text
    assert '<td class="number">1</td>' in text


def test_code_blocks_are_focusable_and_escaped() -> None:
    text = Renderer("tour").render("```sh\necho '<b>' && true\n```\n")

    assert text.startswith('<pre tabindex="0"><code class="language-sh">')
    assert "&lt;b&gt;' &amp;&amp; true\n</code></pre>" in text


def test_a_section_group_of_a_long_page_becomes_a_separate_part_with_higher_heading_levels() -> None:
    found = Renderer("reference/tpp-api").render_all(LONG)

    assert list(found) == ["reference/tpp-api", "reference/tpp-api/account"]
    assert re.findall("<(h. id=.+?)>", found["reference/tpp-api/account"]) == [
        'h2 id="get-tppaccounts"',
        'h3 id="details"',
        'h2 id="get-tppaccount"',
    ]
    assert found["reference/tpp-api/account"].startswith("<p>Reads <em>accounts</em>. Not more.</p>")


def test_a_long_page_lists_the_sections_of_all_parts_with_anchors() -> None:
    text = Renderer("reference/tpp-api").render(LONG)

    assert f'<h2 id="account"><a href="{PART}">Account</a></h2>\n<p>Reads <em>accounts</em>. Not more.</p>' in text
    assert (
        f'<li id="get-tppaccounts"><a href="{PART}#get-tppaccounts"><code>GET /tpp/accounts</code></a>'
        "<p>List <code>all</code> accounts.</p></li>"
    ) in text
    assert f'<li id="get-tppaccount"><a href="{PART}#get-tppaccount"><code>GET /tpp/account</code></a></li>' in text
    assert '<h2 id="headers">Headers</h2>' in text
    assert "<table>" not in text


def test_links_point_to_the_parts_of_long_pages() -> None:
    whole, part = Renderer("reference/tpp-api").render_all(LONG).values()

    assert '<a href="{{docs}}/reference/bank-api-v1/webhooks-to-the-bank#account">a webhook</a>' in whole
    assert f'<a href="{PART}#get-tppaccounts">accounts</a>' in whole
    assert re.findall('<a href="(.+?)"', part) == [
        "{{docs}}/reference/tpp-api#types",
        "#get-tppaccount",
        "{{docs}}/reference/tpp-api/events",
        "{{docs}}/reference/tpp-api/events#consentrevoked",
    ]


def test_a_short_page_is_not_divided() -> None:
    found = Renderer("reference/settings").render_all(LONG)

    assert list(found) == ["reference/settings"]
    assert '<h3 id="get-tppaccounts">' in found["reference/settings"]
