"""Attempts are counted by their origin and stored without addresses in plain text."""

import json

import pytest

from chalicelib.website.records.attempts import LIMITS, TooManyAttempts, client_network, count_attempt
from tests.causeway import Causeway


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
def test_ipv6_addresses_of_one_64_network_are_counted_together(address: str, counted_for: str) -> None:
    assert client_network(address) == counted_for


def test_an_attempt_counter_contains_no_address_or_account(causeway: Causeway) -> None:
    causeway.hub.website.call(count_attempt, [("account", "zoe@example.com"), ("address", "203.0.113.7")])
    stored = json.dumps([*causeway.hub.store.scan("website")], default=str)

    assert "attempts" in stored
    assert "zoe" not in stored
    assert "203.0.113.7" not in stored


@pytest.mark.parametrize("name", LIMITS)
def test_attempts_above_the_limit_are_rejected_until_the_window_ends(causeway: Causeway, name: str) -> None:
    limit = LIMITS[name]
    for _ in range(limit.attempts):
        causeway.hub.website.call(count_attempt, [(name, "whom")])
    with pytest.raises(TooManyAttempts) as stopped:
        causeway.hub.website.call(count_attempt, [(name, "whom")])
    causeway.hub.website.call(count_attempt, [(name, "somebody else")])
    causeway.clock.advance(stopped.value.retry_after)
    causeway.hub.website.call(count_attempt, [(name, "whom")])


@pytest.mark.parametrize("name", LIMITS)
def test_an_attempt_counter_expires_after_its_window(causeway: Causeway, name: str) -> None:
    causeway.hub.website.call(count_attempt, [(name, "whom")])
    (counter,) = causeway.hub.store.scan("website")

    window = LIMITS[name].seconds
    assert causeway.clock.time() + window <= counter["expires_at"] <= causeway.clock.time() + 2 * window


def test_a_rejected_attempt_does_not_count_against_other_limits(causeway: Causeway) -> None:
    for _ in range(LIMITS["account"].attempts):
        causeway.hub.website.call(count_attempt, [("account", "whom")])
    for _ in range(LIMITS["address"].attempts):
        with pytest.raises(TooManyAttempts):
            causeway.hub.website.call(count_attempt, [("address", "where"), ("account", "whom")])

    causeway.hub.website.call(count_attempt, [("address", "where")])
