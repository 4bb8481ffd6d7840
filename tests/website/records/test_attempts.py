"""Attempts: counted for whom they come from, and kept so that nobody can tell whom."""

from __future__ import annotations

import json

import pytest

from chalicelib.website.records.attempts import LIMITS, TooManyAttempts, client_network, count_attempt
from tests.world import World


@pytest.mark.parametrize(
    ("address", "counted_for"),
    [
        ("203.0.113.7", "203.0.113.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2::1", "2001:db8:1:2::/64"),
        ("", ""),
        ("unknown", "unknown"),
    ],
)
def test_the_addresses_of_one_home_count_together(address: str, counted_for: str) -> None:
    assert client_network(address) == counted_for


def test_neither_an_address_nor_an_account_can_be_told_from_a_counter(world: World) -> None:
    world.hub.website.call(count_attempt, [("account", "zoe@example.com"), ("address", "203.0.113.7")])
    stored = json.dumps([*world.hub.store.scan("website")], default=str)

    assert "attempts" in stored
    assert "zoe" not in stored
    assert "203.0.113.7" not in stored


@pytest.mark.parametrize("name", LIMITS)
def test_so_many_attempts_are_allowed_in_a_window_and_no_more(world: World, name: str) -> None:
    limit = LIMITS[name]
    for _ in range(limit.attempts):
        world.hub.website.call(count_attempt, [(name, "whom")])
    with pytest.raises(TooManyAttempts) as stopped:
        world.hub.website.call(count_attempt, [(name, "whom")])
    world.hub.website.call(count_attempt, [(name, "somebody else")])
    world.clock.advance(stopped.value.retry_after)
    world.hub.website.call(count_attempt, [(name, "whom")])


@pytest.mark.parametrize("name", LIMITS)
def test_a_counter_is_kept_until_its_window_is_over_and_not_for_good(world: World, name: str) -> None:
    world.hub.website.call(count_attempt, [(name, "whom")])
    (counter,) = world.hub.store.scan("website")

    window = LIMITS[name].seconds
    assert world.clock.time() + window <= counter["expires_at"] <= world.clock.time() + 2 * window


def test_one_that_is_stopped_counts_for_nobody(world: World) -> None:
    for _ in range(LIMITS["account"].attempts):
        world.hub.website.call(count_attempt, [("account", "whom")])
    for _ in range(LIMITS["address"].attempts):
        with pytest.raises(TooManyAttempts):
            world.hub.website.call(count_attempt, [("address", "where"), ("account", "whom")])

    world.hub.website.call(count_attempt, [("address", "where")])
