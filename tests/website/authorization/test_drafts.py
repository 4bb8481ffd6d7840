"""Drafts: what comes of one is the same for its owner, different for everybody else, and nobody's to choose."""

from __future__ import annotations

import re

import pytest

from tests.world import World


def test_a_draft_begins_with_its_time(world: World) -> None:
    before = world.hub.website.drafts.create()
    world.clock.advance(1)
    after = world.hub.website.drafts.create()

    assert int(before[:8], 16) == world.clock.time() - 1
    assert before < after
    assert world.hub.website.drafts.read_or_create(after) == after


@pytest.mark.parametrize("given", ["", "x" * 30, "0" * 29, "0" * 31, "A" * 30, "0" * 30 + "\n"])
def test_what_is_no_draft_is_replaced(world: World, given: str) -> None:
    assert re.fullmatch("[0-9a-f]{30}", world.hub.website.drafts.read_or_create(given))
    assert world.hub.website.drafts.read_or_create(given) != given


def test_what_is_worked_out_is_the_same_in_every_process(world: World) -> None:
    draft = world.hub.website.drafts.create()

    assert world.hub.website.drafts.derive_text(
        draft, "ada", "state"
    ) == world.another_process().website.drafts.derive_text(draft, "ada", "state")


def test_another_draft_owner_or_purpose_gives_something_else(world: World) -> None:
    drafts, draft = world.hub.website.drafts, world.hub.website.drafts.create()
    given = [
        (draft, "ada", "state"),
        (drafts.create(), "ada", "state"),
        (draft, "bob", "state"),
        (draft, "ada", "secret"),
    ]

    assert len({drafts.derive_text(*each) for each in given}) == len(given)
    assert all(re.fullmatch("[A-Za-z0-9_-]{43}", drafts.derive_text(*each)) for each in given)
