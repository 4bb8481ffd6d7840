"""The documentation search ranks titles first, then headings, then text."""

import re

from chalicelib.website import docs_search
from tests.causeway import Causeway
from tests.website.web_user import WebUser


def test_matches_in_titles_rank_before_matches_in_headings_and_those_before_matches_in_text() -> None:
    found = docs_search.search("conformance")

    has_word = ["conformance" in each.title.casefold() for each in found]
    assert has_word == sorted(has_word, reverse=True)
    titles = [bool(each.document) for each, named in zip(found, has_word, strict=True) if named]
    assert titles == sorted(titles)
    assert not all(has_word)


def test_matches_at_the_start_of_a_word_exclude_matches_inside_words() -> None:
    found = docs_search.search("port")

    def has_word(text: str) -> bool:
        return re.search(r"(?<![a-z0-9])port", text.lower()) is not None

    assert [each.title for each in found if "report" in each.title.lower()] == []
    assert all(has_word(f"{each.title} {each.excerpt}") for each in found)


def test_whole_word_matches_rank_before_prefix_matches() -> None:
    found = docs_search.search("signatures")
    singular = docs_search.search("signatur")

    assert [each.place for each in singular[:2]] == [each.place for each in found[:2]]
    headings = [each.title.lower() for each in docs_search.search("balance") if each.document and not each.excerpt]
    is_whole = [re.search(r"(?<![a-z0-9])balance(?![a-z0-9])", title) is not None for title in headings]
    assert is_whole == sorted(is_whole, reverse=True)
    assert {True, False} == set(is_whole)


def test_a_match_inside_a_word_is_found_if_no_word_starts_with_the_term() -> None:
    titles = [each.title for each in docs_search.search("directory") if not each.excerpt]

    assert "tpp.pay_direct" in [each.title for each in docs_search.search("ay_direct")]
    assert titles == [title for title in titles if "directory" in title.lower()]


def test_a_search_result_in_the_text_has_an_excerpt() -> None:
    found = docs_search.search("argon2id hash")

    (place, excerpt) = next((each.place, each.excerpt) for each in found if each.document == "Web interface")
    assert place == "/docs/web-interface#accounts"
    assert "Argon2id hash" in excerpt
    assert (excerpt[0], excerpt[-1]) == ("…", "…")
    assert "<" not in excerpt


def test_a_search_requires_every_word_and_an_empty_search_returns_nothing() -> None:
    assert docs_search.search("argon2id zebra") == []
    assert docs_search.search("  ") == ()


def test_a_search_with_more_than_twelve_different_words_returns_nothing(causeway: Causeway) -> None:
    twelve = "the of and a in to is for that with by it"
    person = WebUser(causeway)

    assert docs_search.search(f"{twelve} {twelve} The")
    assert docs_search.search(f"{twelve} on") == ()
    page = person.get(f"/docs?q={f'{twelve} on'.replace(' ', '+')}")
    assert (page.status, "A search takes at most 12 different words" in page.text) == (200, True)


def test_every_search_result_links_to_an_existing_heading(causeway: Causeway) -> None:
    person = WebUser(causeway)
    for word in ("payment", "card", "webhook", "make"):
        places = docs_search.search(word)
        assert places
        for found in places:
            page, _, anchor = found.place.partition("#")
            answer = person.get(page)
            assert answer.status == 200
            assert not anchor or f' id="{anchor}"' in answer.text, found.place


def test_a_section_of_a_subpage_is_found_once_at_the_subpage() -> None:
    found = [each for each in docs_search.search("createCard") if each.title == "createCard"]

    assert [(each.place, each.document) for each in found] == [
        ("/docs/reference/card-actions/cards#createcard", "Card actions: Cards")
    ]


def test_a_subpage_is_found_by_its_title_with_its_parent_page() -> None:
    found = {each.place: (each.title, each.document) for each in docs_search.search("external payments")}

    assert found["/docs/reference/card-actions/external-payments"] == ("External payments", "Card actions")
    assert "/docs/reference/card-actions#external-payments" not in found


def test_names_of_the_python_package_are_found_in_its_reference_page() -> None:
    first, *_ = docs_search.search("pay_direct")

    assert (first.title, first.place) == ("tpp.pay_direct", "/docs/reference/sdk-tpp#tpppay_direct")
