"""Tests of the list of a user's clients: order, pages, filters and the number of rows read."""

from collections.abc import Sequence
from typing import Any

import pytest

from chalicelib.foundation.dynamodb.store import Page
from chalicelib.foundation.identifiers import new_id
from chalicelib.openbanking.records import client_list
from chalicelib.openbanking.records.client_list import ClientFilter, ClientList
from tests.causeway import Causeway
from tests.kit.storage import record_calls, record_rows_read

ALL = ClientFilter()


@pytest.fixture
def owner() -> str:
    return f"{new_id()}@example.com"


@pytest.fixture
def clients(causeway: Causeway) -> ClientList:
    return causeway.hub.openbanking.client_list


def create(causeway: Causeway, owner: str, count: int, *, archived: int = 0) -> list[str]:
    """Create ``count`` clients, and archive the ``archived`` newest clients. Return all client ids, newest first."""
    made = []
    for number in range(count):
        client = causeway.hub.openbanking.clients.create(owner=owner, title=f"Client {number}").client
        made.append(client.client_id)
        if number >= count - archived:
            causeway.hub.openbanking.clients.archive(client.client_id)
        causeway.clock.advance(number % 2)  # two in each second
    return made[::-1]


def all_pages(clients: ClientList, owner: str, wanted: ClientFilter = ALL, limit: int = 3) -> list[list[str]]:
    pages, after = [], ""
    while True:
        page = clients.page(owner, wanted, limit, after)
        pages.append([client.title for client in page.clients])
        if page.next is None:
            return pages
        after = page.next


@pytest.mark.parametrize("count", [0, 1, 3, 4, 7])
def test_every_client_is_listed_on_exactly_one_page(
    causeway: Causeway, clients: ClientList, owner: str, count: int
) -> None:
    create(causeway, owner, count)
    pages = all_pages(clients, owner)

    assert sorted(title for page in pages for title in page) == [f"Client {number}" for number in range(count)]
    assert [len(page) for page in pages] == [3] * (count // 3) + ([count % 3] if count % 3 or not count else [])


def test_the_newest_clients_are_listed_first(causeway: Causeway, clients: ClientList, owner: str) -> None:
    for title in "abc":
        causeway.hub.openbanking.clients.create(owner=owner, title=title)
        causeway.clock.advance(1)

    assert all_pages(clients, owner, limit=2) == [["c", "b"], ["a"]]


def test_a_client_stored_by_an_earlier_release_is_listed(causeway: Causeway, clients: ClientList, owner: str) -> None:
    item = {"client_id": new_id(), "owner": owner, "title": "Old", "callback_url": "https://tpp.example/back"}
    item |= {"registration_number": "x", "active": True, "secret_digest": "d", "created_at": 5}  # type: ignore[dict-item]
    causeway.hub.store.put("clients", item)

    assert all_pages(clients, owner) == [["Old"]]


def test_archived_clients_are_listed_separately(causeway: Causeway, clients: ClientList, owner: str) -> None:
    create(causeway, owner, 5, archived=2)

    assert sum(map(len, all_pages(clients, owner))) == 3
    assert sum(map(len, all_pages(clients, owner, ClientFilter(archived=True)))) == 2
    assert all_pages(clients, owner, ClientFilter(active=False)) == [[]]


def test_a_filtered_client_list_page_makes_a_second_query_if_it_has_too_few_rows(
    causeway: Causeway, clients: ClientList, owner: str
) -> None:
    create(causeway, owner, 12, archived=6)
    with record_calls(causeway) as calls:
        page = clients.page(owner, ALL, 3)

    assert [len(page.clients), page.next is None, page.is_cut] == [3, False, False]
    assert calls == ["Query", "Query"]


def test_a_page_ends_at_the_limit_of_examined_rows_and_the_next_page_continues_there(
    causeway: Causeway, clients: ClientList, owner: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client_list, "EXAMINED", 6)
    create(causeway, owner, 14, archived=7)
    with record_calls(causeway) as calls:
        first = clients.page(owner, ALL, 3)
    assert (first.clients, first.is_cut, first.examined) == ([], True, 6)
    assert calls == ["Query", "Query"]
    assert first.next is not None
    second = clients.page(owner, ALL, 3, first.next)

    assert (len(second.clients), second.is_cut) == (3, False)
    assert sum(map(len, all_pages(clients, owner))) == 7


def test_a_search_by_client_id_makes_one_read_and_returns_only_clients_of_the_owner(
    causeway: Causeway, clients: ClientList, owner: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client_list, "EXAMINED", 4)
    oldest = create(causeway, owner, 6)[-1]
    with record_calls(causeway) as calls:
        page = clients.page(owner, ClientFilter(client_id=oldest), 3)

    assert [client.client_id for client in page.clients] == [oldest]
    assert calls == ["BatchGetItem"]
    assert clients.page("other@example.com", ClientFilter(client_id=oldest), 3).clients == []
    assert clients.page(owner, ClientFilter(client_id=oldest, archived=True), 3).clients == []


def test_a_search_by_client_id_returns_every_state_without_a_state_filter(
    causeway: Causeway, clients: ClientList, owner: str
) -> None:
    (archived,) = create(causeway, owner, 1, archived=1)

    def is_found(**chosen: Any) -> bool:
        return bool(clients.page(owner, ClientFilter(client_id=archived, **chosen), 3).clients)

    assert is_found()
    assert is_found(archived=True)
    assert not is_found(active=True)
    assert not is_found(active=False)


def test_a_query_that_is_cut_off_at_its_size_limit_returns_the_number_of_examined_rows(
    causeway: Causeway, clients: ClientList, owner: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    create(causeway, owner, 12, archived=12)
    query = causeway.hub.store.query

    def small_query(*place: Any, limit: int, **which: Any) -> Page:
        return query(*place, limit=min(limit, 5), **which)

    monkeypatch.setattr(causeway.hub.store, "query", small_query)
    page = clients.page(owner, ALL, 3)

    assert (page.clients, page.is_cut, page.examined) == ([], True, 4 + 5)


@pytest.mark.parametrize("after", ["x", "1", "-", "1-", "1-\n", f"1-{'x' * 65}", "9" * 14 + "-x"])
def test_an_invalid_cursor_returns_the_first_page(
    causeway: Causeway, clients: ClientList, owner: str, after: str
) -> None:
    create(causeway, owner, 2)

    assert len(clients.page(owner, ALL, 3, after).clients) == 2


def test_a_forged_cursor_shows_no_clients_of_other_owners(causeway: Causeway, clients: ClientList, owner: str) -> None:
    (foreign,) = create(causeway, "another@example.com", 1)
    create(causeway, owner, 2)

    for cursor in (f"{causeway.clock.time() + 9}-{foreign}", f"9999999999999-{foreign}"):
        assert {client.owner for client in clients.page(owner, ALL, 3, cursor).clients} == {owner}


# -- clients offered in a form


@pytest.fixture
def own(causeway: Causeway, owner: str, monkeypatch: pytest.MonkeyPatch) -> Sequence[str]:
    """Create clients with the titles "1" (inactive) to "4", and limit the choices of a form to two clients.
    Return the client ids, newest first.
    """
    monkeypatch.setattr(client_list, "CHOICES", 2)
    made = []
    for number in range(1, 5):
        client = causeway.hub.openbanking.clients.create(owner=owner, title=str(number), active=number != 1).client
        made.append(client.client_id)
        causeway.clock.advance(1)
    return made[::-1]


def offered(causeway: Causeway, owner: str, chosen: str = "", *, active: bool = False) -> str:
    choices = causeway.hub.openbanking.client_list.choices(owner, chosen, active=active)
    return "".join(client.title for client in choices.clients)


@pytest.mark.parametrize(
    ("chosen", "active", "expected"),
    [
        ("", False, "43"),
        ("4", False, "43"),
        ("2", False, "432"),
        ("1", False, "431"),
        ("2", True, "432"),
        ("1", True, "43"),
    ],
)
def test_a_form_offers_the_newest_clients_and_the_selected_client(
    causeway: Causeway, owner: str, own: Sequence[str], chosen: str, active: bool, expected: str
) -> None:
    assert offered(causeway, owner, own[4 - int(chosen)] if chosen else "", active=active) == expected


def test_a_form_offers_an_archived_client_only_if_this_client_is_already_selected(
    causeway: Causeway, own: Sequence[str], owner: str
) -> None:
    causeway.hub.openbanking.clients.archive(own[1])

    assert offered(causeway, owner) == "42"
    assert offered(causeway, owner, own[1]) == "423"
    assert offered(causeway, owner, own[1], active=True) == "42"


def test_a_form_does_not_offer_clients_of_other_owners(causeway: Causeway, own: Sequence[str], owner: str) -> None:
    foreign = causeway.hub.openbanking.clients.create(owner="other@example.com", title="x").client

    assert offered(causeway, owner, foreign.client_id) == "43"
    assert offered(causeway, owner, "x" * 500) == "43"


@pytest.mark.parametrize(
    ("archived", "found", "rows"), [(0, 3, [3]), (1, 3, [3, 6]), (4, 3, [3, 17]), (21, 0, [3, 17])]
)
def test_a_form_reads_few_rows_in_addition_to_the_offered_clients(
    causeway: Causeway,
    clients: ClientList,
    owner: str,
    monkeypatch: pytest.MonkeyPatch,
    archived: int,
    found: int,
    rows: list[int],
) -> None:
    monkeypatch.setattr(client_list, "CHOICES", 3)
    monkeypatch.setattr(client_list, "EXAMINED", 20)
    create(causeway, owner, 25, archived=archived)
    with record_rows_read(causeway, "clients") as read:
        choices = clients.choices(owner)

    assert (len(choices.clients), choices.is_cut, read) == (found, not found, rows)


@pytest.mark.parametrize("wanted", ["zoe", "ZO\u00cb", "Zo\u00eb's"])
def test_a_title_search_ignores_case_and_accents(causeway: Causeway, owner: str, wanted: str) -> None:
    causeway.hub.openbanking.clients.create(owner=owner, title="Zo\u00eb's Budget")
    causeway.hub.openbanking.clients.create(owner=owner, title="Another")

    found = causeway.hub.openbanking.client_list.page(owner, ClientFilter(title=wanted), 10)

    assert [client.title for client in found.clients] == ["Zo\u00eb's Budget"]
