"""The documentation on the site: pages, their Markdown, the search, and the list for language models."""

from __future__ import annotations

import posixpath
import re

import pytest

from chalicelib.website import docs_views
from infra.docs.site import markdown_copy
from tests.documents import ROOT
from tests.website.person import Person
from tests.world import World

PAGES = [each.place for each in docs_views.documents()]


@pytest.mark.parametrize("place", PAGES)
def test_every_page_is_shown_with_its_title_and_marked_in_the_menu(world: World, place: str) -> None:
    person = Person(world)

    answer = person.get(place)

    assert answer.status == 200
    (title,) = re.findall("<h1>(.+)</h1>", answer.text)
    assert f"<title>{title} · Causeway</title>" in answer.text
    assert f'href="{place}" aria-current="page"' in answer.text
    ids = re.findall(r'\sid="([^"]+)"', answer.text)
    assert len(ids) == len(set(ids)), "a link would lead to the first of two places"


@pytest.mark.parametrize("place", PAGES)
def test_links_of_a_page_lead_to_pages_and_headings_that_are_there(world: World, place: str) -> None:
    person = Person(world)
    for target in set(re.findall('href="(/docs[^"]*)"', person.get(place).text)):
        address, _, anchor = target.partition("#")
        answer = person.get(address)
        assert answer.status == 200, target
        assert not anchor or f'id="{anchor}"' in answer.text, target


def test_a_page_is_markdown_at_the_same_address_with_md(world: World) -> None:
    answer = Person(world).get("/docs/guides/tpp.md")

    assert answer.headers["content-type"] == "text/markdown; charset=utf-8"
    assert answer.text == markdown_copy("guides/tpp", (ROOT / "docs/guides/tpp.md").read_text("utf-8"))


def test_the_start_page_is_markdown_too(world: World) -> None:
    expected = markdown_copy("README", (ROOT / "docs/README.md").read_text("utf-8"))

    assert Person(world).get("/docs.md").text == expected


@pytest.mark.parametrize("place", PAGES)
def test_links_in_a_pages_markdown_lead_to_markdown_that_is_there(world: World, place: str) -> None:
    person = Person(world)
    folder = "/docs/" if place == "/docs" else f"{place.rpartition('/')[0]}/"
    for target in set(re.findall(r"\]\(([^)#:\s]+\.md)[)#]", person.get(f"{place}.md").text)):
        assert person.get(posixpath.normpath(folder + target)).status == 200, target


@pytest.mark.parametrize(
    ("place", "file"), [("/docs/sdk", "sdk/README.md"), ("/docs/sdk-changelog", "sdk/CHANGELOG.md")]
)
def test_the_documents_of_the_python_package_are_pages(world: World, place: str, file: str) -> None:
    (title,) = re.findall("^# (.+)$", (ROOT / file).read_text("utf-8").partition("\n\n")[0])

    assert f"<h1>{title}</h1>" in Person(world).get(place).text


def test_scripts_of_a_guide_can_be_fetched(world: World) -> None:
    answer = Person(world).get("/docs/guides/bank.py")

    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    assert answer.text == (ROOT / "docs/guides/bank.py").read_text("utf-8")


@pytest.mark.parametrize("name", ["nope", "nope.md", "index.json", "guides/nope", "..%2Fpages.py", "tpp-api.html"])
def test_what_is_no_page_is_not_found(world: World, name: str) -> None:
    assert Person(world).get(f"/docs/{name}").status == 404


def test_a_search_shows_the_places_that_have_every_word(world: World) -> None:
    person = Person(world)

    person.get("/docs?q=Payment+initiation")

    assert 'href="/docs/reference/tpp-api#post-tpppayment_initiation"' in person.last.text


def test_a_search_that_finds_nothing_says_so(world: World) -> None:
    person = Person(world)

    person.get("/docs?q=<zebra>")

    assert "0 places have <zebra>" in person.text


def test_calls_of_a_reference_can_be_tried_out(world: World) -> None:
    assert 'href="/specifications/authorization"' in Person(world).get("/docs/reference/tpp-api").text


def test_llms_txt_lists_the_markdown_of_every_page(world: World) -> None:
    answer = Person(world).get("/llms.txt")

    base = world.hub.settings.public_url
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    assert re.findall(r"\]\((.+?)\): ", answer.text) == [f"{base}{place}.md" for place in PAGES[1:]]
