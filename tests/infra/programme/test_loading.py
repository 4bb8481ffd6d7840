"""Loading a programme file applies only the differences, is atomic, and never removes entries in use."""

from collections.abc import Sequence
from typing import Any

import pytest

from chalicelib.foundation.dynamodb.store import Operation, StoreUnavailable
from infra.programme import loading
from infra.programme.loading import EntryInUse, LoadConflict, LoadTooLarge
from tests.cards.programmes import (
    Content,
    card_programme,
    credential,
    fee,
    loaded,
    manager,
    planned,
    region,
    secret_parts,
    special_account,
)
from tests.causeway import Causeway
from tests.infra.operator_files import changes, mark_used, stored_rows, with_entries


@pytest.fixture
def small(causeway: Causeway) -> Content:
    made = manager()
    loaded(causeway.hub, made)
    return made


def without(content: Content, kind: str, number: int) -> Content:
    return content | {kind: [each for each in content[kind] if each["id"] != number]}


# -- the difference


def test_a_repeated_programme_load_changes_nothing(causeway: Causeway, small: Content) -> None:
    before = stored_rows(causeway, small)

    (plan,) = loaded(causeway.hub, small)

    assert (plan.changes, plan.secrets) == ([], {})
    assert stored_rows(causeway, small) == before


def test_marking_an_entry_as_in_use_is_not_reported_as_a_difference(causeway: Causeway, small: Content) -> None:
    mark_used(causeway, small, ("design", 1))

    assert changes(causeway, small) == []


def test_a_first_programme_load_adds_all_entries_and_creates_the_credentials(causeway: Causeway) -> None:
    made = manager()
    (plan,) = loaded(causeway.hub, made)

    assert {change.what for change in plan.changes} == {"add"}
    assert plan.changes[0].title == f"programme manager {made['id']} (Small Programme)"
    assert plan.changes[-1].title == "credential app"
    assert causeway.hub.cards.credentials.check(*secret_parts(plan.secrets["app"])) is not None


def test_a_programme_load_changes_only_differing_entries(causeway: Causeway, small: Content) -> None:
    other = small | {
        "name": "Renamed",
        "designs": [{"id": 1, "name": "Deep Blue"}, {"id": 3, "name": "Red"}],
        "card_programmes": [card_programme(design_ids=[3, 1], holder_limit_group_id=None)],
        "credentials": [credential("app", access_level=7), credential("new")],
    }
    (plan,) = planned(causeway.hub, other)

    assert [(change.what, change.title) for change in plan.changes] == [
        ("change", f"programme manager {small['id']} (Renamed)"),
        ("change", "design 1 (Deep Blue)"),
        ("add", "design 3 (Red)"),
        ("change", "card programme 1 (Card)"),
        ("remove", "design 2 (Green)"),
        ("change", "credential app"),
        ("add", "credential new"),
    ]
    assert [change.differences for change in plan.changes if change.what == "change"] == [
        {"name": ("Small Programme", "Renamed")},
        {"name": ("Blue", "Deep Blue")},
        {"design_ids": ([1], [3, 1]), "holder_limit_group_id": (3, None)},
        {"access_level": (1000, 7)},
    ]
    loading.carry_out(causeway.hub, plan)
    assert changes(causeway, other) == []
    found = causeway.hub.cards.programmes.set_up(small["id"])
    assert found.revision == 2
    assert found.catalogue.name == "Renamed"
    assert list(found.catalogue.designs) == [1, 3]
    assert found.catalogue.card_programmes[1].holder_limit_group_id is None


def test_planning_a_programme_load_changes_nothing(causeway: Causeway, small: Content) -> None:
    before = stored_rows(causeway, small)
    planned(causeway.hub, small | {"name": "Renamed", "credentials": []})
    planned(causeway.hub, manager())

    assert stored_rows(causeway, small) == before


def test_a_programme_load_does_not_change_programme_managers_that_are_not_in_the_file(
    causeway: Causeway, small: Content
) -> None:
    before = stored_rows(causeway, small)
    loaded(causeway.hub, manager())

    assert stored_rows(causeway, small) == before


def test_loading_a_programme_manager_without_entries_removes_all_its_entries(
    causeway: Causeway, small: Content
) -> None:
    loaded(causeway.hub, {name: small[name] for name in ("id", "name", "currencies")})

    assert list(stored_rows(causeway, small)) == [f"manager#{small['id']} manager"]


# -- what is in use


def test_removing_an_entry_in_use_is_refused_and_changes_nothing(causeway: Causeway, small: Content) -> None:
    mark_used(causeway, small, ("design", 2))
    before = stored_rows(causeway, small)
    wanted = without(small, "designs", 2) | {"name": "Renamed", "credentials": []}

    with pytest.raises(
        EntryInUse, match=rf"{small['id']} was not changed, because these entries are in use: design 2 \(Green\)$"
    ):
        loaded(causeway.hub, wanted)

    assert stored_rows(causeway, small) == before
    assert [change.title for change in planned(causeway.hub, wanted)[0].refused_changes] == ["design 2 (Green)"]


def test_a_refusal_leaves_every_programme_manager_of_the_file_unchanged(causeway: Causeway, small: Content) -> None:
    mark_used(causeway, small, ("design", 2))
    new = manager()

    with pytest.raises(EntryInUse):
        loaded(causeway.hub, new, without(small, "designs", 2))

    assert stored_rows(causeway, new) == {}


def test_an_entry_in_use_can_be_changed_and_remains_in_use(causeway: Causeway, small: Content) -> None:
    mark_used(causeway, small, ("design", 1))
    loaded(causeway.hub, small | {"designs": [{"id": 1, "name": "Deep Blue"}]})
    found = causeway.hub.cards.programmes.set_up(small["id"])

    assert found.catalogue.designs[1].name == "Deep Blue"
    assert ("design", 1) in found.used


def test_the_type_of_a_limit_group_in_use_cannot_change(causeway: Causeway, small: Content) -> None:
    groups = [{"id": 1, "name": "Cards", "limit_type": 1}, {"id": 2, "name": "Accounts", "limit_type": 2}]
    small["limit_groups"] = [*groups, *({"id": n, "name": "Holders", "limit_type": 3} for n in (3, 4, 5))]
    loaded(causeway.hub, small)
    mark_used(causeway, small, ("limit_group", 4))

    small["limit_groups"] = [*groups, *({"id": n, "name": "Other", "limit_type": 3 - n // 5} for n in (3, 4, 5))]
    loaded(causeway.hub, small)
    small["limit_groups"][3]["limit_type"] = 1

    with pytest.raises(EntryInUse, match=r"limit group 4 \(Other\)"):
        loaded(causeway.hub, small)


def test_a_special_account_in_use_cannot_be_removed_or_get_a_different_currency(
    causeway: Causeway, small: Content
) -> None:
    small["special_accounts"] = [special_account(1), special_account(2)]
    loaded(causeway.hub, small)
    mark_used(causeway, small, ("special_account", 1))

    for wrong in ([special_account(1, currency=826), special_account(2)], [special_account(2)]):
        with pytest.raises(EntryInUse, match=r"are in use: special account 1 \(Settlement\)$"):
            loaded(causeway.hub, small | {"special_accounts": wrong})
    loaded(causeway.hub, small | {"special_accounts": [special_account(1, name="Renamed", country=826)]})
    found = causeway.hub.cards.programmes.set_up(small["id"]).catalogue.special_accounts
    assert {number: (each.name, each.currency, each.country) for number, each in found.items()} == {
        1: ("Renamed", 978, 826)
    }


def test_a_region_is_removed_together_with_the_entries_that_refer_to_it(causeway: Causeway, small: Content) -> None:
    loaded(causeway.hub, with_entries(small | {"regions": [region(4)]}, [fee(region=4)], []))
    mark_used(causeway, small, ("fee_group", 1))
    loaded(causeway.hub, small)

    found = causeway.hub.cards.programmes.set_up(small["id"]).catalogue
    assert (found.regions, found.fee_groups[1].entries) == ({}, ())


def test_an_entry_that_is_first_used_just_before_its_removal_is_not_removed(causeway: Causeway, small: Content) -> None:
    """The tests of the package ``programmes`` cover a first use immediately after the removal."""
    before = stored_rows(causeway, small)
    with (
        causeway.meanwhile("transact", lambda: mark_used(causeway, small, ("design", 2))),
        pytest.raises(EntryInUse, match="are in use: design 2"),
    ):
        loaded(causeway.hub, without(small, "designs", 2) | {"name": "Renamed"})

    after = stored_rows(causeway, small)
    assert [name for name, row in after.items() if row != before[name]] == [f"manager#{small['id']} design#2"]


def test_a_limit_group_that_is_first_used_just_before_a_type_change_is_not_changed(
    causeway: Causeway, small: Content
) -> None:
    small["limit_groups"].append({"id": 9, "name": "Spare", "limit_type": 3})
    loaded(causeway.hub, small)
    wanted = small | {"limit_groups": [*small["limit_groups"][:-1], {"id": 9, "name": "Spare", "limit_type": 1}]}
    with (
        causeway.meanwhile("transact", lambda: mark_used(causeway, small, ("limit_group", 9))),
        pytest.raises(EntryInUse, match="are in use: limit group 9"),
    ):
        loaded(causeway.hub, wanted)


# -- two at a time, and faults


def test_a_concurrent_load_of_a_programme_is_rejected(causeway: Causeway, small: Content) -> None:
    with (
        causeway.meanwhile("transact", lambda: loaded(causeway.hub, small | {"name": "Theirs"})),
        pytest.raises(LoadConflict, match="this programme manager was loaded concurrently"),
    ):
        loaded(causeway.hub, small | {"name": "Ours", "credentials": [credential("app"), credential("ours")]})

    found = causeway.hub.cards.programmes.set_up(small["id"])
    assert (found.catalogue.name, list(found.credentials)) == ("Theirs", ["app"])


def test_a_concurrent_first_load_is_refused(causeway: Causeway) -> None:
    new = manager()
    with causeway.meanwhile("transact", lambda: loaded(causeway.hub, new)), pytest.raises(LoadConflict):
        loaded(causeway.hub, new)
    assert changes(causeway, new) == []


def test_a_failed_programme_load_changes_nothing_and_can_be_retried(causeway: Causeway, small: Content) -> None:
    before = stored_rows(causeway, small)
    wanted = small | {"name": "Renamed"}
    with causeway.answer_lost("transact", applied=False), pytest.raises(StoreUnavailable):
        loaded(causeway.hub, wanted)
    assert stored_rows(causeway, small) == before

    assert [change.what for change in loaded(causeway.hub, wanted)[0].changes] == ["change"]


# -- more than a transaction holds


def many(count: int) -> list[Content]:
    return [{"id": number, "name": f"Group {number}"} for number in range(1, count + 1)]


def test_a_large_load_writes_new_entries_first_in_several_transactions(
    causeway: Causeway, small: Content, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes: list[int] = []
    real = causeway.hub.store.transact

    def transact(operations: Sequence[Operation]) -> None:
        sizes.append(len(operations))
        real(operations)

    monkeypatch.setattr(causeway.hub.store, "transact", transact)
    wanted = without(small, "designs", 2) | {"risk_groups": many(150), "name": "Large"}
    loaded(causeway.hub, wanted)

    assert sizes == [100, 51, 3]
    assert changes(causeway, wanted) == []
    assert causeway.hub.cards.programmes.set_up(small["id"]).revision == 4


def test_an_interrupted_large_load_resumes_at_the_next_load(
    causeway: Causeway, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = manager(risk_groups=many(150))
    real, calls = causeway.hub.store.transact, iter((1, 2))

    def breaks(operations: Any) -> None:
        if next(calls, None) is None:
            raise StoreUnavailable("the connection broke")
        real(operations)

    with monkeypatch.context() as patch:
        patch.setattr(causeway.hub.store, "transact", breaks)
        with pytest.raises(StoreUnavailable):
            loaded(causeway.hub, wanted)
    assert causeway.hub.cards.programmes.set_up(wanted["id"]).credentials == {}, (
        "they come last, so their parts are not lost"
    )

    (plan,) = loaded(causeway.hub, wanted)

    assert list(plan.secrets) == ["app"]
    assert changes(causeway, wanted) == []


def test_too_many_changes_and_removals_are_refused_before_any_write(causeway: Causeway, small: Content) -> None:
    loaded(causeway.hub, small | {"risk_groups": many(101)})
    before = stored_rows(causeway, small)

    with pytest.raises(LoadTooLarge, match="more than 99 records"):
        loaded(causeway.hub, small)
    assert stored_rows(causeway, small) == before


def test_an_incomplete_credential_record_is_created_again(causeway: Causeway) -> None:
    new = manager()
    causeway.hub.store.put("programmes", {"owner": f"manager#{new['id']}", "part": "credential#app", "access_key": "x"})

    (plan,) = loaded(causeway.hub, new)

    assert causeway.hub.cards.credentials.check(*secret_parts(plan.secrets["app"])) is not None
