"""The filter of the events page: its fields, and invalid times."""

import pytest

from chalicelib.delivery.client_events import CLIENT_STATES, LAST_SECOND, ClientSearch
from chalicelib.website.events.event_filter import STATES, TYPES, EventFilter

MARCH = 1_772_323_200
"""1 March 2026, 00:00 UTC."""


def search(**fields: str) -> ClientSearch:
    return chosen(**fields).search("a-client")


def chosen(**fields: str) -> EventFilter:
    return EventFilter.of(lambda name: fields.get(name.replace("from", "from_"), ""))


def test_an_empty_event_filter_matches_all_events() -> None:
    assert search() == ClientSearch("a-client")
    assert (chosen(client_id="x").is_set, chosen(client_id="x").is_first_page) == (False, True)


def test_unknown_types_states_and_positions_are_ignored() -> None:
    assert search(type="consent.revoked", state="failed", before="5-abc") == ClientSearch(
        "a-client", type="consent.revoked", state="failed", before=(5, "abc")
    )
    assert search(type="nothing", state="nothing", before="nothing") == ClientSearch("a-client")
    assert chosen(type="test").is_set
    assert not chosen(before="5-abc").is_first_page


@pytest.mark.parametrize(
    ("text", "since", "until"),
    [
        ("2026-03-01T10:30", MARCH + 37_800, MARCH + 37_859),
        ("2026-03-01T10:30:07", MARCH + 37_807, MARCH + 37_807),
        ("2026-03-01", MARCH, MARCH + 86_399),
        ("1969-12-31T23:00", 0, 59),
        ("9999-12-31T23:59", LAST_SECOND, LAST_SECOND),
    ],
)
def test_a_filter_time_is_in_utc_and_includes_the_whole_stated_unit_of_time(text: str, since: int, until: int) -> None:
    assert search(from_=text) == ClientSearch("a-client", since=since)
    assert search(until=text) == ClientSearch("a-client", until=until)


@pytest.mark.parametrize("text", ["tomorrow", "2026-02-30T10:00", "1772442000", "2026-03-01T10:30 or so"])
def test_an_invalid_filter_time_is_reported_and_ignored(text: str) -> None:
    assert chosen(from_=text).problems == {"from": "Enter a day and a time."}
    assert search(from_=text) == ClientSearch("a-client")


def test_a_filter_end_before_the_filter_start_is_reported() -> None:
    assert "before" in chosen(from_="2026-03-02", until="2026-03-01").problems["until"]
    assert chosen(from_="2026-03-01T10:00", until="2026-03-01T10:00").problems == {}


def test_every_state_and_event_type_has_a_label() -> None:
    assert list(STATES) == list(CLIENT_STATES)
    assert {"relay", "payment", "payment.status_changed", "test"} <= TYPES.keys()
