"""Draft ids are reproducible for their owner and differ between owners. A caller cannot choose a draft id."""

import re

import pytest

from chalicelib.website.authorization.drafts import create_draft, derive_text, read_draft
from tests.causeway import Causeway


def test_a_draft_id_begins_with_its_creation_time(causeway: Causeway) -> None:
    before = create_draft(causeway.clock)
    causeway.clock.advance(1)
    after = create_draft(causeway.clock)

    assert int(before[:8], 16) == causeway.clock.time() - 1
    assert before < after
    assert read_draft(causeway.clock, after) == after


@pytest.mark.parametrize("given", ["", "x" * 30, "0" * 29, "0" * 31, "A" * 30, "0" * 30 + "\n"])
def test_an_invalid_draft_id_is_replaced(causeway: Causeway, given: str) -> None:
    assert re.fullmatch("[0-9a-f]{30}", read_draft(causeway.clock, given))
    assert read_draft(causeway.clock, given) != given


def test_derived_values_are_equal_in_all_processes(causeway: Causeway) -> None:
    draft = create_draft(causeway.clock)
    keyrings = causeway.hub.keyring, causeway.another_process().keyring

    assert len({derive_text(keyring, draft, "ada", "state") for keyring in keyrings}) == 1


def test_derived_values_differ_by_draft_id_owner_and_purpose(causeway: Causeway) -> None:
    keyring, draft = causeway.hub.keyring, create_draft(causeway.clock)
    given = [
        (draft, "ada", "state"),
        (create_draft(causeway.clock), "ada", "state"),
        (draft, "bob", "state"),
        (draft, "ada", "secret"),
    ]

    assert len({derive_text(keyring, *each) for each in given}) == len(given)
    assert all(re.fullmatch("[A-Za-z0-9_-]{43}", derive_text(keyring, *each)) for each in given)
