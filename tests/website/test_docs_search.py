"""The search of the documentation: titles first, then headings, then the text under them."""

from __future__ import annotations

from chalicelib.website import docs_search
from tests.website.person import Person
from tests.world import World


def test_titles_come_before_headings_and_headings_before_text() -> None:
    found = docs_search.search("conformance")

    has_word = ["conformance" in each.title.casefold() for each in found]
    assert has_word == sorted(has_word, reverse=True)
    titles = [bool(each.document) for each, named in zip(found, has_word, strict=True) if named]
    assert titles == sorted(titles)
    assert not all(has_word)


def test_text_is_found_with_the_words_around_it() -> None:
    found = docs_search.search("argon2id hash")

    (place, excerpt) = next((each.place, each.excerpt) for each in found if each.document == "Web interface")
    assert place == "/docs/web-interface#accounts"
    assert "Argon2id hash" in excerpt
    assert (excerpt[0], excerpt[-1]) == ("…", "…")
    assert "<" not in excerpt


def test_every_word_must_be_there_and_no_words_find_nothing() -> None:
    assert docs_search.search("argon2id zebra") == []
    assert docs_search.search("  ") == ()


def test_every_place_is_a_heading_of_a_page(world: World) -> None:
    person = Person(world)
    for word in ("payment", "card", "webhook", "make"):
        for found in docs_search.search(word):
            page, _, anchor = found.place.partition("#")
            answer = person.get(page)
            assert answer.status == 200
            assert not anchor or f' id="{anchor}"' in answer.text, found.place


def test_names_of_the_python_package_are_found_where_they_are_described() -> None:
    first, *_ = docs_search.search("pay_direct")

    assert (first.title, first.place) == ("tpp.pay_direct", "/docs/reference/sdk-tpp#tpppay_direct")
