"""The client that list pages select if their address contains no Client ID."""

import re

import pytest

from chalicelib.openbanking.records import client_list
from chalicelib.website import start_views
from chalicelib.website.pages import CLIENT_COOKIE
from tests.causeway import Causeway
from tests.kit.storage import record_calls
from tests.website.web_user import WebUser

LISTS = pytest.mark.parametrize("path", ["/consents", "/deliveries", "/authorize"])


def chosen(user: WebUser, path: str) -> str:
    user.get(path)
    _, _, options = user.last.text.partition('<select id="client_id"')
    found = re.search(r'<option value="([^"]+)" selected>', options.partition("</select>")[0])
    assert found is not None
    return found[1]


def make_client(causeway: Causeway, email: str, title: str, active: bool = True) -> str:
    causeway.clock.advance(1)
    made = causeway.hub.openbanking.clients.create(owner=email, title=title, active=active)
    return made.client.client_id


@LISTS
def test_a_list_defaults_to_the_newest_active_client(causeway: Causeway, user: WebUser, email: str, path: str) -> None:
    make_client(causeway, email, "Older")
    newest = make_client(causeway, email, "Newest")
    make_client(causeway, email, "Inactive", active=False)

    assert chosen(user, path) == newest


@LISTS
def test_a_list_defaults_to_the_last_selected_client(causeway: Causeway, user: WebUser, email: str, path: str) -> None:
    own = make_client(causeway, email, "Own")
    make_client(causeway, email, "Newer")
    user.get(f"{path}?client_id={own}")

    assert chosen(user, "/consents") == chosen(user, "/deliveries") == chosen(user, "/authorize") == own
    assert "HttpOnly" in user.set_cookie(CLIENT_COOKIE)


def test_opening_a_client_page_selects_the_client(causeway: Causeway, user: WebUser, email: str) -> None:
    own = make_client(causeway, email, "Own")
    make_client(causeway, email, "Newer")
    user.get(f"/clients/{own}/activity")

    assert chosen(user, "/consents") == own


def test_a_list_of_active_clients_does_not_change_the_selected_client_of_other_lists(
    causeway: Causeway, user: WebUser, email: str
) -> None:
    inactive = make_client(causeway, email, "Inactive", active=False)
    active = make_client(causeway, email, "Active")
    user.get(f"/clients/{inactive}")

    assert chosen(user, "/authorize") == active
    assert chosen(user, "/consents") == inactive


def test_an_archived_client_is_not_selected_when_viewed(causeway: Causeway, user: WebUser, email: str) -> None:
    own = make_client(causeway, email, "Own")
    newest = make_client(causeway, email, "Newest")
    archived = make_client(causeway, email, "Archived")
    causeway.hub.openbanking.clients.archive(archived)
    user.get(f"/consents?client_id={own}")
    for path in ("/consents", "/deliveries"):
        user.get(f"{path}?client_id={archived}")

    assert chosen(user, "/consents") == own != newest


def test_signing_out_deletes_the_cookie_with_the_selected_client(causeway: Causeway, user: WebUser, email: str) -> None:
    user.get(f"/clients/{make_client(causeway, email, 'Own')}")
    assert CLIENT_COOKIE in user.cookies
    user.post("/sign-out")

    assert CLIENT_COOKIE not in user.cookies
    assert "Max-Age=0;" in user.set_cookie(CLIENT_COOKIE)


@LISTS
def test_an_archived_client_or_client_of_another_user_in_the_cookie_is_ignored(
    causeway: Causeway, user: WebUser, email: str, path: str
) -> None:
    archived = make_client(causeway, email, "Archived")
    own = make_client(causeway, email, "Own")
    causeway.hub.openbanking.clients.archive(archived)
    foreign = WebUser.signed_in(causeway, "grace@example.com").create_client("Foreign")

    for last in (archived, foreign, "nothing"):
        user.cookies[CLIENT_COOKIE] = last
        assert chosen(user, path) == own


def test_displaying_the_selected_client_requires_no_additional_storage_read(
    causeway: Causeway, user: WebUser, email: str
) -> None:
    own = make_client(causeway, email, "Own")
    user.get("/consents")
    with record_calls(causeway) as with_cookie:
        user.get("/consents")
    user.cookies.pop(CLIENT_COOKIE)
    with record_calls(causeway) as without:
        user.get("/consents")

    assert with_cookie == without
    assert f"{CLIENT_COOKIE}={own};" in user.set_cookie(CLIENT_COOKIE)


@pytest.mark.parametrize("path", ["/consents", "/deliveries"])
def test_a_user_with_only_archived_clients_sees_a_message(
    causeway: Causeway, user: WebUser, email: str, path: str
) -> None:
    causeway.hub.openbanking.clients.archive(make_client(causeway, email, "Archived"))
    user.get(path)

    assert "All your clients are archived" in user.text
    assert "You have no clients yet" not in user.text


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("/consents", "Your newest 4 clients are archived"),
        ("/deliveries", "Your newest 4 clients are archived"),
        ("/authorize", "None of your newest 4 clients is active"),
        ("/authorize?client_id=unknown", "None of your newest 4 clients is active"),
        ("/", "Your newest 4 clients are archived"),
    ],
)
def test_a_page_that_reads_only_the_newest_clients_displays_a_message(
    causeway: Causeway, user: WebUser, email: str, monkeypatch: pytest.MonkeyPatch, path: str, text: str
) -> None:
    monkeypatch.setattr(start_views, "CLIENTS", 1)
    monkeypatch.setattr(client_list, "CHOICES", 1)
    monkeypatch.setattr(client_list, "EXAMINED", 4)
    older = make_client(causeway, email, "Older")
    for _ in range(4):
        causeway.hub.openbanking.clients.archive(make_client(causeway, email, "Archived"))
    user.get(path)

    assert text in user.text
    assert not re.search("All your clients|You have no|Create a client and authorize", user.text)
    assert chosen(user, f"/consents?client_id={older}") == older


@pytest.mark.parametrize(
    ("path", "queries"), [("/clients", 1), ("/consents", 1), ("/deliveries", 1), ("/authorize", 3)]
)
def test_a_list_without_a_client_makes_a_fixed_number_of_queries(
    causeway: Causeway, user: WebUser, path: str, queries: int
) -> None:
    """``/authorize`` also queries inactive clients and the latest journeys."""
    user.get(path)
    with record_calls(causeway) as calls:
        user.get(path)

    assert calls == ["BatchGetItem", *["Query"] * queries]
