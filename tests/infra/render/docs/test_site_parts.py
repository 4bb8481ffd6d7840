"""The parts of long pages, and the search for the part that contains an anchor."""

import pytest

from infra.render.docs.site_pages import DIVIDED, page_names
from infra.render.docs.site_parts import parts, plain, resolve, sections

TEXT = """# Title

First.

## One

### Deep

## Two

### Deep

#### Deeper

## Three

Last.
"""


def test_a_document_is_divided_at_second_level_headings() -> None:
    found = sections(TEXT)

    assert [[each.anchor for each in section.headings] for section in found] == [
        [],
        ["one", "deep"],
        ["two", "deep-1", "deeper"],
        ["three"],
    ]
    assert [section.is_group for section in found] == [False, True, True, False]


def test_the_paragraph_of_a_heading_is_the_paragraph_directly_below() -> None:
    *_, three = sections(TEXT)
    one = sections(TEXT)[1]

    assert three.headings[0].paragraph is not None
    assert plain(three.headings[0].paragraph) == "Last."
    assert one.headings[0].paragraph is None


def test_only_long_pages_have_parts() -> None:
    assert parts("tour", sections(TEXT)) == []
    assert [each.headings[0].anchor for each in parts("reference/tpp-api", sections(TEXT))] == ["one", "two"]


def test_every_divided_page_is_in_the_menu() -> None:
    assert set(page_names()) >= DIVIDED


@pytest.mark.parametrize(
    ("page", "anchor", "place"),
    [
        ("reference/tpp-api", "get-tppaccounts", ("reference/tpp-api/account", "get-tppaccounts")),
        ("reference/tpp-api", "account", ("reference/tpp-api/account", "")),
        ("reference/tpp-api", "common-refusals-3", ("reference/tpp-api/account", "common-refusals-3")),
        ("reference/tpp-api", "scopes", ("reference/tpp-api", "scopes")),
        ("reference/tpp-api", "", ("reference/tpp-api", "")),
        ("operations", "alarms-and-dashboard", ("operations", "alarms-and-dashboard")),
    ],
)
def test_an_anchor_resolves_to_the_part_that_contains_the_anchor(
    page: str, anchor: str, place: tuple[str, str]
) -> None:
    assert resolve(page, anchor) == place
