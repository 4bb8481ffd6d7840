"""All pages: their content and their security headers."""

import re
from dataclasses import replace
from urllib.parse import quote

import pytest

from chalicelib.foundation.dynamodb.store import StoreUnavailable
from chalicelib.foundation.version import VERSION
from chalicelib.website import site
from chalicelib.website.page_links import LATEST_EVENTS, PAGES, RECEIVER, SIMULATOR
from tests.causeway import Causeway
from tests.website.web_user import WebUser

CODE = f"{'0' * 22}.{'A' * 43}"
FORMS = ["/register", "/sign-in", "/clients/new"]
PASSING = [
    "/authorize/callback",
    f"/authorize/callback?code={CODE}&state=s",
    "/payments/callback",
    "/payments/callback?payment_id=P-1&status=4",
]
"""Pages that receive codes or payment data in the query."""
MESSAGES = ["/clients/nobody", "/deliveries/nothing", "/authorize/callback?state=mine", "/nothing", "/bank/cancel/x"]
OTHERS = ["/", "/terms", "/clients", "/authorize", "/deliveries", "/sign-out"]


def test_every_page_has_a_view_and_every_view_has_a_page() -> None:
    views = site.FOR_EVERYBODY.keys() | site.FOR_USERS.keys()

    pages = {(method, place) for place, methods in PAGES.items() for method in methods}
    assert views == pages | {("GET", SIMULATOR), ("POST", SIMULATOR), ("GET", LATEST_EVENTS), ("POST", RECEIVER)}
    assert not site.FOR_EVERYBODY.keys() & site.FOR_USERS.keys()


@pytest.mark.parametrize("path", [*FORMS, *PASSING, *OTHERS, *MESSAGES, "/static/nothing"])
def test_a_page_allows_no_inline_script_or_style(user: WebUser, path: str) -> None:
    if path in ("/register", "/sign-in"):
        user.cookies = {}
    answer = user.get(path)

    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "base-uri 'none'" in policy
    assert "form-action 'self'" in policy
    assert "unsafe" not in policy
    assert not re.search(r"<script(?! src=)|<style|\sstyle=|\son\w+=", answer.text)
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["referrer-policy"] == ("same-origin" if path in (*FORMS, *OTHERS) else "no-referrer")


@pytest.mark.parametrize("path", [*FORMS, *PASSING, *OTHERS, *MESSAGES, "/specifications/account"])
def test_a_page_is_within_its_size_budget_and_references_no_other_site(user: WebUser, path: str) -> None:
    text = user.get(path).text

    assert len(text.encode()) < 50_000
    assert not re.search(r'(?:src|href|action)="(?:https?:)?//(?!127\.0\.0\.1)', text)


@pytest.mark.parametrize("screen", ["authorization", "account", "payments", "cards"])
def test_the_api_screens_have_the_content_security_policy_of_other_pages(user: WebUser, screen: str) -> None:
    policy = user.get(f"/specifications/{screen}").headers["content-security-policy"]

    assert policy == user.get("/clients").headers["content-security-policy"]
    assert "img-src 'self';" in policy
    assert "script-src 'self';" in policy
    assert not re.search("unsafe|data:|blob:", policy)


def test_static_files_have_fingerprinted_names_and_immutable_caching(visitor: WebUser) -> None:
    text = visitor.get("/").text
    addresses = re.findall(r'(?:src|href)="(/static/[^"]+)"', text)

    assert len(addresses) >= 4
    for address in addresses:
        assert re.fullmatch(r"/static/[a-z.-]+\.[0-9a-f]{12}\.(css|js|svg)", address)
        answer = visitor.get(address)
        assert answer.status == 200
        assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
        assert answer.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("name", ["site.css", "site.000000000000.css", "..%2fpages.py", "base.html"])
def test_a_static_file_is_served_under_its_fingerprinted_name_only(visitor: WebUser, name: str) -> None:
    assert visitor.get(f"/static/{name}").status == 404


@pytest.mark.parametrize("place", [place for method, place in site.FOR_USERS if method == "GET"])
def test_a_user_page_redirects_a_visitor_to_sign_in(visitor: WebUser, place: str) -> None:
    path = re.sub(r"{\w+}", "some-id", place)
    answer = visitor.get(f"{path}?page=2")

    assert answer.status == 303
    assert answer.headers["location"] == f"/sign-in?next={quote(path, safe='')}%3Fpage%3D2"


def test_the_start_page_offers_visitors_a_sign_in_and_users_their_clients(visitor: WebUser, user: WebUser) -> None:
    visitor.get("/")
    assert "Bank of version 2" in visitor.text
    for place in ("/register", "/sign-in"):
        assert f'href="{place}"' in visitor.last.text
    user.get("/")
    assert "Create a client" in user.text
    user.create_client()
    user.get("/")
    assert "Your clients Title State" in user.text


def test_the_health_page_returns_status_stage_and_version(causeway: Causeway) -> None:
    assert causeway.call("GET", "/health").body == {"status": "ok", "stage": "local", "version": VERSION}


def test_the_footer_of_each_page_shows_the_version(visitor: WebUser, user: WebUser) -> None:
    for person, place in ((visitor, "/"), (visitor, "/docs"), (user, "/clients"), (user, "/nowhere")):
        foot = person.get(place).text.rpartition("Causeway ")[2]
        assert foot.startswith(f"{VERSION}, the open banking hub."), place


def test_links_contain_the_path_prefix_of_the_service(causeway: Causeway, visitor: WebUser) -> None:
    causeway.hub.settings = replace(causeway.hub.settings, public_url="https://api.example.com/stage")
    text = visitor.get("/").text

    assert not re.findall(r'(?:src|href|action)="/(?!stage)[^"]*"', text)
    assert visitor.get("/clients").headers["location"] == "/stage/sign-in?next=%2Fclients"


def test_a_storage_failure_returns_503_with_advice_and_request_id(causeway: Causeway, user: WebUser) -> None:
    with causeway.storage_gone("query"):
        answer = user.get("/clients", headers={"x-request-id": "00000000-0000-4000-8000-000000000001"})
    assert answer.status == 503
    assert "storage did not respond" in user.text
    assert "00000000-0000-4000-8000-000000000001" in user.text
    assert StoreUnavailable.__name__ not in answer.text


@pytest.mark.parametrize("path", ["/nothing", "/nothing/here", "/favicon.ico"])
def test_an_unknown_address_returns_a_404_page(visitor: WebUser, path: str) -> None:
    answer = visitor.get(path)

    assert (answer.status, answer.headers["content-type"]) == (404, "text/html; charset=utf-8")
    assert "There is nothing at this address." in visitor.text
