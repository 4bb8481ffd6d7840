"""The list of a user's clients has filters and pages. Its cost does not depend on the number of clients."""

import re

import pytest

from chalicelib.foundation.dynamodb.store import Put
from chalicelib.foundation.identifiers import new_id
from chalicelib.foundation.parallel import pieces
from chalicelib.openbanking.records import client_list
from chalicelib.openbanking.records.client_record import client_key
from chalicelib.website.pagination import PAGE
from tests.causeway import Causeway
from tests.kit.storage import record_calls, record_rows_read
from tests.website.web_user import WebUser


def test_a_user_with_only_archived_clients_gets_a_link_to_the_archived_clients(
    causeway: Causeway, user: WebUser
) -> None:
    causeway.hub.openbanking.clients.archive(user.create_client())
    user.get("/clients")

    assert "All your clients are archived." in user.text
    assert 'href="/clients?active=archived"' in user.last.text


@pytest.fixture
def many(causeway: Causeway, user: WebUser, email: str) -> list[str]:
    """Create 45 clients of the user. Every third client is inactive."""
    made = []
    for number in range(45):
        client = causeway.hub.openbanking.clients.create(
            owner=email, title=f"Client {number:02}", active=number % 3 != 0
        ).client
        made.append(client.client_id)
        causeway.clock.advance(1)
    return made


def titles(user: WebUser) -> list[str]:
    return re.findall(r">(Client \d\d)</a>", user.last.text)


def links(user: WebUser) -> dict[str, str]:
    nav = user.last.text.partition('aria-label="Pages">')[2].partition("</nav>")[0]
    found = re.findall(r'<a href="([^"]+)" rel="\w+">(?:<svg.*?</svg>)?([^<]+)', nav, re.DOTALL)
    return {words: address.replace("&amp;", "&") for address, words in found}


def test_45_clients_are_listed_on_three_pages_newest_first(user: WebUser, many: list[str]) -> None:
    pages = []
    user.get("/clients")
    assert "Newest" not in links(user)
    while True:
        pages.append(titles(user))
        if "Older" not in links(user):
            break
        user.get(links(user)["Older"])

    assert [len(page) for page in pages] == [PAGE, PAGE, 5]
    assert [title for page in pages for title in page] == [f"Client {number:02}" for number in reversed(range(45))]
    assert links(user) == {"Newest": "/clients"}


@pytest.mark.parametrize("after", ["0", "x", "-1", "9" * 400, "²", "1-", f"1-{'x' * 65}", "1-%00"])
def test_an_invalid_page_position_shows_the_first_page(user: WebUser, many: list[str], after: str) -> None:
    user.get(f"/clients?after={after}")

    assert titles(user)[0] == "Client 44"


def test_the_page_after_the_oldest_client_links_to_the_newest_clients(user: WebUser, many: list[str]) -> None:
    user.get("/clients?after=1-x")
    assert "There are no older clients." in user.text
    user.get("/clients?after=1-x&active=yes")
    assert "No older clients match this filter." in user.text
    assert links(user) == {"Newest": "/clients?active=yes"}


@pytest.mark.parametrize(
    ("query", "count", "has_more"),
    [
        ("title=client%204", 5, False),
        ("title=CLIENT", 20, True),
        ("active=yes", 20, True),
        ("active=no", 15, False),
        ("title=zzz", 0, False),
        (f"title={'z' * 5000}", 0, False),
    ],
)
def test_clients_are_filtered_by_title_and_state(
    user: WebUser, many: list[str], query: str, count: int, has_more: bool
) -> None:
    user.get(f"/clients?{query}")

    assert len(titles(user)) == count
    assert ("Older" in links(user)) == has_more
    assert ("None of your clients match this filter." in user.text) == (not count)


def test_the_link_to_the_next_page_contains_the_filter(user: WebUser, many: list[str]) -> None:
    user.get("/clients?active=yes&title=client")
    user.get(links(user)["Older"])

    assert len(titles(user)) == 10
    assert links(user) == {"Newest": "/clients?title=client&active=yes"}


def test_a_client_search_beyond_the_row_limit_of_a_page_can_be_continued(
    user: WebUser, many: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client_list, "EXAMINED", 30)
    user.get("/clients?title=client%2001")
    assert "looked through: none of them matches. Older clients may match, too." in user.text
    user.get(links(user)["Search further back"])

    assert titles(user) == ["Client 01"]
    assert "looked through" not in user.text


@pytest.mark.parametrize(
    ("path", "calls"),
    [
        ("/", [*["Query"] * 11, "Query"]),
        ("/clients", ["Query"]),
        ("/clients?active=archived", ["Query", "Query"]),
        ("/clients?title=zzz", ["Query", "Query"]),
        ("/authorize", ["Query", "Query"]),
        ("/specifications/account", ["Query"]),
        ("/consents", ["Query", "Query"]),
        ("/consents?client_id={oldest}", ["Query", "BatchGetItem", "Query"]),
        ("/deliveries/latest?client_id={oldest}", ["BatchGetItem", *["Query"] * 12]),
        ("/deliveries?client_id={oldest}", ["Query", "BatchGetItem", *["Query"] * 12]),
    ],
)
def test_pages_with_client_lists_read_a_limited_number_of_rows(
    causeway: Causeway, user: WebUser, email: str, monkeypatch: pytest.MonkeyPatch, path: str, calls: list[str]
) -> None:
    """The user has four times as many clients as a page reads."""
    monkeypatch.setattr(client_list, "EXAMINED", 60)
    monkeypatch.setattr(client_list, "CHOICES", 30)
    some = copies(causeway, email, 240)
    for few in pieces(some, 100):
        causeway.hub.store.transact(few)
    causeway.clock.advance(240)
    causeway.hub.openbanking.banks.directory()
    user.get("/")
    with record_calls(causeway) as found, record_rows_read(causeway, "clients") as rows:
        assert user.get(path.format(oldest=some[0].item["client_id"])).status == 200

    assert found == ["BatchGetItem", *calls]
    assert sum(rows) <= 60


def copies(causeway: Causeway, email: str, count: int) -> list[Put]:
    made = causeway.hub.openbanking.clients.create(owner=email, title="Client").client
    item = causeway.hub.store.get(*client_key(made.client_id)) or {}
    return [Put("clients", {**item, "client_id": new_id(), "created_at": made.created_at + n}) for n in range(count)]


def test_list_pages_make_the_same_storage_calls_and_reads_for_100_and_10_000_clients(
    causeway: Causeway, user: WebUser, email: str
) -> None:
    def costs() -> list[tuple[int, int]]:
        found = []
        for path in ("/", "/clients", "/authorize", "/specifications/account", "/consents", "/deliveries"):
            with record_calls(causeway) as calls, record_rows_read(causeway, "clients") as rows:
                assert user.get(path).status == 200
            found.append((len(calls), sum(rows)))
        return found

    made = copies(causeway, email, 10_000)
    causeway.hub.store.transact(made[:100])
    user.get("/authorize")
    few = costs()
    for some in pieces(made[100:], 100):
        causeway.hub.store.transact(some)

    assert costs() == few
    assert max(read for _, read in few) <= 101


def test_a_client_is_found_by_its_full_id_beyond_the_row_limit_of_a_page(
    user: WebUser, many: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client_list, "EXAMINED", 21)
    user.get(f"/clients?client_id=%20{many[1].upper()}%20")
    assert titles(user) == ["Client 01"]
    user.get(f"/clients?client_id={many[1]}&active=archived")
    assert titles(user) == []


def test_a_client_is_found_by_a_part_of_its_id(user: WebUser, many: list[str]) -> None:
    user.get(f"/clients?client_id={many[7][:13].upper()}")

    assert titles(user) == ["Client 07"]


def test_a_user_without_a_client_sees_a_link_to_create_a_client(user: WebUser) -> None:
    user.get("/clients")

    assert "You have no clients yet" in user.text
    assert 'href="/clients/new"' in user.last.text
