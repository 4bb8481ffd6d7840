"""Tests of load reports, which list changed entries of groups and rates. Unchanged entries have the same modification
time as before.
"""

import pytest

from tests.cards.programmes import Content, fee, limit, loaded, manager
from tests.causeway import Causeway
from tests.infra.operator_files import changes, mark_used, rule, stored_rows, with_entries


@pytest.fixture
def small(causeway: Causeway) -> Content:
    made = manager()
    loaded(causeway.hub, made)
    return made


def times(causeway: Causeway, content: Content) -> tuple[dict[str, int], dict[int, int]]:
    """Return the modification times of fees and limits, in seconds relative to the current time."""
    found, now = causeway.hub.cards.programmes.set_up(content["id"]).catalogue, causeway.clock.time()
    fees = {entry.title: entry.updated_at - now for entry in found.fee_groups[1].entries}
    return fees, {entry.id: entry.updated_at - now for entry in found.limit_groups[1].entries}


def test_the_modification_time_of_an_unchanged_group_entry_is_not_updated(causeway: Causeway, small: Content) -> None:
    first, second = fee("ATM", title="First"), fee("ATM", title="Second", percent="0.5")
    loaded(causeway.hub, with_entries(small, [first, second, fee("CARD", title="Card")], [limit(1), limit(2)]))
    causeway.clock.advance(50)
    changed = with_entries(
        small | {"name": "Renamed"},
        [fee("CARD", title="Card"), first, second | {"percent": "0.50"}, fee("NEW", title="New")],
        [limit(2), limit(3), limit(1, amount=1001)],
    )
    loaded(causeway.hub, changed)

    assert times(causeway, small) == ({"Card": -50, "First": -50, "Second": 0, "New": 0}, {2: -50, 3: 0, 1: 0})
    before = stored_rows(causeway, small)
    causeway.clock.advance(50)
    assert loaded(causeway.hub, changed)[0].changes == []
    assert stored_rows(causeway, small) == before


def test_the_difference_of_a_group_lists_the_changed_entries(causeway: Causeway, small: Content) -> None:
    used = with_entries(small, [fee("ATM"), fee("ATM", title="Else"), fee("CARD")], [limit(1), limit(2, name="Two")])
    loaded(causeway.hub, used)
    mark_used(causeway, small, ("fee_group", 1), ("limit_group", 1))
    wanted = with_entries(small, [fee("ATM"), fee("ATM", title="Else", fixed=250), fee("NEW")], [limit(1, count=3)])

    fees, limits = loaded(causeway.hub, wanted)[0].changes

    shown = {"code": "ATM", "title": "Else", "fixed": 100, "currency": 978}
    assert fees.differences == {
        "entries.ATM#2": (shown, shown | {"fixed": 250}),
        "entries.CARD": ({"code": "CARD", "title": "Cash", "fixed": 100, "currency": 978}, None),
        "entries.NEW": (None, {"code": "NEW", "title": "Cash", "fixed": 100, "currency": 978}),
    }
    day = {"amount": 1000, "amount_currency": 978, "duration": 1}
    assert limits.differences == {
        "entries.1": ({"id": 1, **day}, {"id": 1, "count": 3, **day}),
        "entries.2": ({"id": 2, "name": "Two", **day}, None),
    }
    assert changes(causeway, wanted) == []
    assert causeway.hub.cards.programmes.set_up(small["id"]).used == {("fee_group", 1), ("limit_group", 1)}


def test_a_load_lists_changed_rules_and_updates_no_time_of_unchanged_rules(causeway: Causeway, small: Content) -> None:
    def with_rules(*rules: Content) -> Content:
        return small | {"risk_groups": [{"id": 1, "name": "Risk", "rules": [*rules]}]}

    loaded(causeway.hub, with_rules(rule(1), rule(2), rule(3)))
    mark_used(causeway, small, ("risk_group", 1))
    causeway.clock.advance(50)
    wanted = with_rules(rule(2), rule(1, count=5, duration=7), rule(4))

    (change,) = loaded(causeway.hub, wanted)[0].changes

    assert change.differences == {
        "rules.1": (rule(1), rule(1) | {"count": 5, "duration": 7}),
        "rules.3": (rule(3), None),
        "rules.4": (None, rule(4)),
        "rules": (["1", "2"], ["2", "1"]),
    }
    found, now = causeway.hub.cards.programmes.set_up(small["id"]).catalogue, causeway.clock.time()
    assert [(each.id, each.updated_at - now) for each in found.risk_groups[1].rules] == [(2, -50), (1, 0), (4, 0)]
    assert changes(causeway, wanted) == []


def test_the_difference_of_a_usage_group_lists_the_changed_members(causeway: Causeway, small: Content) -> None:
    blocked = {"blocked_channels": ["cash"], "blocked_mccs": [{"mcc_low": 7995, "mcc_high": 7995}]}
    wanted = small | {"usage_groups": [{"id": 1, "name": "Usage", **blocked}]}

    (change,) = loaded(causeway.hub, wanted)[0].changes

    assert change.differences == {name: ([], said) for name, said in blocked.items()}
    assert changes(causeway, wanted) == []


def test_a_different_order_of_entries_is_reported_as_a_difference(causeway: Causeway, small: Content) -> None:
    loaded(causeway.hub, with_entries(small, [fee("A"), fee("B"), fee("C")], []))
    wanted = with_entries(small, [fee("D"), fee("C"), fee("A")], [])

    (change,) = loaded(causeway.hub, wanted)[0].changes

    assert change.differences["entries"] == (["A", "C"], ["C", "A"])
    assert [name for name in change.differences if name != "entries"] == ["entries.B", "entries.D"]
    assert changes(causeway, wanted) == []


def test_a_changed_exchange_rate_is_reported_as_a_separate_difference(causeway: Causeway, small: Content) -> None:
    pairs = [{"of": 978, "to": 826, "rate": "0.86", "markup_percent": "1"}, {"of": 826, "to": 978, "rate": "1.16"}]

    (change,) = loaded(causeway.hub, small | {"exchange_rates": pairs})[0].changes

    assert change.differences == {
        "rates.978/826": ({"base": "0.86", "markup_percent": "0"}, {"base": "0.86", "markup_percent": "1"}),
        "rates.826/978": (None, {"base": "1.16", "markup_percent": "0"}),
    }
