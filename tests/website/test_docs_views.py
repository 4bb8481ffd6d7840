"""The documentation on the website: pages, Markdown versions, the search, and the list for language models."""

import html
import posixpath
import re
from collections.abc import Sequence

import pytest

from chalicelib.website.docs_index import Document, Part, documents, place_of
from infra.render.docs.site import markdown_copy
from infra.render.docs.site_pages import DIVIDED, page_names
from infra.render.docs.site_parts import plain, sections
from infra.render.docs.sources import source_of
from tests.causeway import Answer, Causeway
from tests.kit.documents import ROOT
from tests.website.web_user import PAGE_BYTES, WebUser

PAGES = [*page_names()]
PAGE_PLACES = [place_of(page) for page in PAGES]
DIVIDED_PAGES = sorted(DIVIDED)


def document_of(page: str) -> Document:
    return next(each for each in documents() if each.page == page)


def places_of(page: str) -> Sequence[str]:
    document = document_of(page)
    return [document.place, *(part.place for part in document.parts)]


@pytest.mark.parametrize("page", PAGES)
def test_every_page_has_its_title_a_current_menu_entry_and_unique_ids(causeway: Causeway, page: str) -> None:
    person = WebUser(causeway)
    for place in places_of(page):
        answer = person.get(place)

        assert answer.status == 200
        (title,) = re.findall("<h1>(.+)</h1>", answer.text)
        assert re.search(f"<title>{re.escape(title)} · (.+ · )?Causeway</title>", answer.text)
        assert f'href="{place}" aria-current="page"' in answer.text
        ids = re.findall(r'\sid="([^"]+)"', answer.text)
        assert len(ids) == len(set(ids)), "a link would lead to the first of two places"


@pytest.fixture(scope="module")
def shown() -> dict[str, Answer]:
    return {}


@pytest.mark.parametrize("page", PAGES)
def test_links_of_a_page_resolve_to_existing_pages_and_headings(
    causeway: Causeway, shown: dict[str, Answer], page: str
) -> None:
    def get(address: str) -> Answer:
        if address not in shown:
            shown[address] = WebUser(causeway).get(address)
        return shown[address]

    for place in places_of(page):
        for target in set(re.findall('<a href="((?:/docs|#)[^"]*)"', get(place).text)):
            address, _, anchor = target.partition("#")
            answer = get(address or place)
            assert answer.status == 200, target
            assert not anchor or f'id="{anchor}"' in answer.text, target


def test_a_page_is_available_as_markdown_with_the_suffix_md(causeway: Causeway) -> None:
    answer = WebUser(causeway).get("/docs/guides/tpp.md")

    assert answer.headers["content-type"] == "text/markdown; charset=utf-8"
    assert answer.text == markdown_copy("guides/tpp", (ROOT / "docs/guides/tpp.md").read_text("utf-8"))


def test_the_start_page_is_available_as_markdown(causeway: Causeway) -> None:
    expected = markdown_copy("README", (ROOT / "docs/README.md").read_text("utf-8"))

    assert WebUser(causeway).get("/docs.md").text == expected


@pytest.mark.parametrize("place", PAGE_PLACES)
def test_links_in_the_markdown_of_a_page_resolve_to_existing_markdown(causeway: Causeway, place: str) -> None:
    person = WebUser(causeway)
    folder = "/docs/" if place == "/docs" else f"{place.rpartition('/')[0]}/"
    for target in set(re.findall(r"\]\(([^)#:\s]+\.md)[)#]", person.get(f"{place}.md").text)):
        assert person.get(posixpath.normpath(folder + target)).status == 200, target


@pytest.mark.parametrize(
    ("place", "file"), [("/docs/sdk", "sdk/README.md"), ("/docs/sdk-changelog", "sdk/CHANGELOG.md")]
)
def test_the_documents_of_the_python_package_are_available_as_pages(causeway: Causeway, place: str, file: str) -> None:
    (title,) = re.findall("^# (.+)$", (ROOT / file).read_text("utf-8").partition("\n\n")[0])

    assert f"<h1>{title}</h1>" in WebUser(causeway).get(place).text


def test_scripts_of_a_guide_can_be_downloaded(causeway: Causeway) -> None:
    answer = WebUser(causeway).get("/docs/guides/bank.py")

    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    assert answer.text == (ROOT / "docs/guides/bank.py").read_text("utf-8")


@pytest.mark.parametrize(
    "name",
    [
        "nope",
        "nope.md",
        "index.json",
        "guides/nope",
        "..%2Fpages.py",
        "tpp-api.html",
        "reference/tpp-api/nope",
        "reference/tpp-api/scopes",
        "reference/tpp-api/events.html",
        "reference/tpp-api/events.md",
        "reference/settings/events",
    ],
)
def test_an_unknown_documentation_page_returns_404(causeway: Causeway, name: str) -> None:
    assert WebUser(causeway).get(f"/docs/{name}").status == 404


@pytest.mark.parametrize("folder", ["guides", "concepts", "reference"])
def test_the_folder_of_a_page_redirects_to_the_start_page(causeway: Causeway, folder: str) -> None:
    answer = causeway.call("GET", f"/docs/{folder}")

    assert (answer.status, answer.headers["location"]) == (303, "/docs")


def test_a_search_shows_sections_that_contain_every_word(causeway: Causeway) -> None:
    person = WebUser(causeway)

    person.get("/docs?q=Payment+initiation")

    assert 'href="/docs/reference/tpp-api/payments#post-tpppayment_initiation"' in person.last.text


def test_a_documentation_search_without_results_reports_0_sections(causeway: Causeway) -> None:
    person = WebUser(causeway)

    person.get("/docs?q=<zebra>")

    assert "0 places have <zebra>" in person.text


@pytest.mark.parametrize(
    ("place", "screen"),
    [
        ("reference/tpp-api", "unified"),
        ("reference/tpp-api/unified-api", "unified"),
        ("reference/tpp-api/unified-payments", "unified"),
        ("reference/tpp-api/authorization", "authorization"),
        ("reference/tpp-api/account", "account"),
        ("reference/tpp-api/payments", "payments"),
        ("reference/card-actions", "cards"),
        ("reference/card-actions/simulator", "cards"),
    ],
)
def test_a_reference_page_of_calls_links_to_its_api_screen(causeway: Causeway, place: str, screen: str) -> None:
    assert f'href="/specifications/{screen}">Try it out' in WebUser(causeway).get(f"/docs/{place}").text


@pytest.mark.parametrize("place", ["reference/tpp-api/events", "reference/settings"])
def test_a_reference_page_without_an_api_screen_links_to_no_screen(causeway: Causeway, place: str) -> None:
    assert "Try it out" not in WebUser(causeway).get(f"/docs/{place}").text


# -- parts of long pages


@pytest.mark.parametrize("page", DIVIDED_PAGES)
def test_every_old_address_of_a_section_links_to_its_new_address(causeway: Causeway, page: str) -> None:
    person, document = WebUser(causeway), document_of(page)
    shown = {each.place: person.get(each.place).text for each in pages(document)}
    headings = [each for found in sections(source_of(page)) for each in found.headings]

    for heading in headings:
        title = html.escape(plain(heading.title))
        (begin,) = re.findall(f'<(?:h2|li) id="{heading.anchor}">(.*?)</(?:h2|a)>', shown[document.place])
        target = re.match('<a href="([^"#]+)(?:#(.+))?">', begin)
        if target is None:
            assert (heading.level, title) == (2, re.sub("<.+?>", "", begin))
        elif target[2]:
            assert target[2] == heading.anchor
            assert f'<h{heading.level - 1} id="{heading.anchor}">' in shown[target[1]]
        else:
            assert f"<h1>{title}</h1>" in shown[target[1]]


@pytest.mark.parametrize("page", DIVIDED_PAGES)
def test_a_page_and_its_subpages_contain_every_code_block_and_table_of_the_markdown(
    causeway: Causeway, page: str
) -> None:
    person, document = WebUser(causeway), document_of(page)
    texts = [person.get(each.place).text for each in pages(document)]
    written = source_of(page)

    assert sum(text.count("<pre ") for text in texts) == len(re.findall(r"^```\w", written, re.MULTILINE))
    assert sum(text.count("<table>") for text in texts) == len(re.findall(r"^\| ?-", written, re.MULTILINE))


def test_a_subpage_links_to_its_parent_and_to_adjacent_subpages(causeway: Causeway) -> None:
    text = WebUser(causeway).get("/docs/reference/tpp-api/account").text

    assert '<p class="crumbs"><a href="/docs/reference/tpp-api">TPP calls and events</a></p>' in text
    assert 'href="/docs/reference/tpp-api/unified-payments" rel="prev"' in text
    assert 'href="/docs/reference/tpp-api/payments" rel="next"' in text
    assert "<title>Account · TPP calls and events · Causeway</title>" in text
    assert '<link rel="alternate" type="text/markdown" href="/docs/reference/tpp-api.md">' in text


@pytest.mark.parametrize("page", DIVIDED_PAGES)
def test_the_menu_lists_only_the_subpages_of_the_current_page(causeway: Causeway, page: str) -> None:
    person, document = WebUser(causeway), document_of(page)
    for each in pages(document):
        (menu,) = re.findall('<nav aria-label="Documentation">.*?</nav>', person.get(each.place).text, re.DOTALL)
        listed = re.findall(r'href="(/docs/\w[^"/]*/[^"/]*/[^"]*)"', menu)
        assert listed == [part.place for part in document.parts]


def test_a_subpage_allows_the_methods_of_its_parent_page(causeway: Causeway) -> None:
    for method in ("GET", "HEAD", "OPTIONS", "POST", "DELETE"):
        page, part = (causeway.call(method, f"/docs/reference/tpp-api{part}") for part in ("", "/account"))
        assert (method, part.status, part.headers.get("allow")) == (method, page.status, page.headers.get("allow"))


def test_llms_txt_lists_the_markdown_of_every_page(causeway: Causeway) -> None:
    answer = WebUser(causeway).get("/llms.txt")

    base = causeway.hub.settings.public_url
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    assert re.findall(r"\]\((.+?)\): ", answer.text) == [f"{base}{place}.md" for place in PAGE_PLACES[1:]]


def test_summaries_in_llms_txt_are_complete_sentences(causeway: Causeway) -> None:
    summaries = re.findall(r"^> (.+)$|\]\(.+?\): (.+)$", WebUser(causeway).get("/llms.txt").text, re.MULTILINE)

    assert len(summaries) == len(PAGE_PLACES)
    assert [each for found in summaries for each in found if each and not each.endswith(".")] == []


def pages(document: Document) -> Sequence[Document | Part]:
    return [document, *document.parts]


@pytest.mark.parametrize("page", PAGES)
def test_a_page_of_the_documentation_has_at_most_100_kb(user: WebUser, page: str) -> None:
    """To divide a longer page, add its name to ``DIVIDED`` in ``infra/render/docs/site_pages.py``."""
    for place in places_of(page):
        assert len(user.get(place).text.encode()) <= PAGE_BYTES
