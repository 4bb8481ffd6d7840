"""A set-up as data: what is kept of its entries is what comes back."""

from __future__ import annotations

import pytest

from chalicelib.cards.catalogue import KINDS, entry, members
from infra.programme import file

MANAGERS = file.read(file.DEMO.read_text(encoding="utf-8"), "local")


@pytest.mark.parametrize("kind", KINDS)
def test_an_entry_comes_back_as_it_was(kind: str) -> None:
    found = [each for one in MANAGERS for each in one.catalogue.of(kind).values()]

    assert found
    assert [entry(kind, {**members(each), "owner": "somebody", "used": True}) for each in found] == found


def test_what_an_entry_does_not_have_is_left_out() -> None:
    plain = members(MANAGERS[0].catalogue.account_programmes[502])

    assert "holder_limit_group_id" not in plain
    assert plain["limit_group_ids"] == []


def test_entries_come_before_those_that_name_them() -> None:
    kinds = list(dict.fromkeys(kind for kind, _ in MANAGERS[0].catalogue.entries()))

    assert kinds == list(KINDS)
    assert kinds[-2:] == ["account_programme", "card_programme"]
