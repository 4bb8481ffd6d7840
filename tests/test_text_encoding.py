"""Headers, queries, paths and forms that are no UTF-8, at every route: refused, and nothing changes."""

from __future__ import annotations

from urllib.parse import quote

import pytest

from app import app
from chalicelib.foundation.http.web import OTHERS
from tests.half_characters import HALF
from tests.untouched import address, nothing_changes, person_cookie
from tests.world import Answer, World

CALLS = sorted((path, method) for path, methods in app.routes.items() for method in methods if method != OTHERS)
PARAMETRISED = [(path, method) for path, method in CALLS if "{" in path]
FORMS = [(path, method) for path, method in CALLS if method == "POST" and not path.startswith("/demo-bank/")]
"""The demonstration banks' are tested beside their pages and webhooks."""
OCTETS = quote(HALF, errors="surrogatepass")
"""Half a character in percent-encoding, as no UTF-8 encoder writes it."""
FORM = "application/x-www-form-urlencoded"


def headers(world: World) -> dict[str, str]:
    """Headers with which a request gets furthest."""
    return {"cookie": person_cookie(world), "x-api-key": world.client.client_id, "content-type": FORM}


def is_refused(path: str, answer: Answer) -> bool:
    """Whether a request is refused: cards answer everything with 200."""
    if path in ("/api", "/simulator"):
        return answer.status == 200 and answer.body["status"] == "error" and answer.body["status_code"] < 9000
    return 400 <= answer.status < 500


@pytest.mark.parametrize(("path", "method"), CALLS)
def test_a_header_that_is_not_utf_8_is_refused_at_every_route(
    world: World, monkeypatch: pytest.MonkeyPatch, path: str, method: str
) -> None:
    known = headers(world)
    with nothing_changes(world, monkeypatch):
        for name in ("x-anything", "authorization", "dpop", "x-client-assertion", "x-request-id", *known):
            answer = world.call(method, address(path), headers=known | {name: f"a{HALF}"})
            assert is_refused(path, answer), name
            assert len(answer.headers["x-request-id"]) == 36


@pytest.mark.parametrize(("path", "method"), CALLS)
def test_a_query_that_is_not_utf_8_is_refused_at_every_route(
    world: World, monkeypatch: pytest.MonkeyPatch, path: str, method: str
) -> None:
    known = headers(world)
    with nothing_changes(world, monkeypatch):
        for query in (f"{HALF}=1", f"state={HALF}", f"client_id={world.client.client_id}&code={HALF}"):
            assert is_refused(path, world.call(method, f"{address(path)}?{query}", headers=known)), query


@pytest.mark.parametrize(("path", "method"), PARAMETRISED)
def test_a_path_that_is_not_utf_8_is_refused_at_every_route(
    world: World, monkeypatch: pytest.MonkeyPatch, path: str, method: str
) -> None:
    known = headers(world)
    with nothing_changes(world, monkeypatch):
        assert is_refused(path, world.call(method, address(path, HALF), headers=known))


@pytest.mark.parametrize(("path", "method"), FORMS)
def test_a_form_that_is_not_utf_8_is_refused_at_every_route(
    world: World, monkeypatch: pytest.MonkeyPatch, path: str, method: str
) -> None:
    known = headers(world)
    with nothing_changes(world, monkeypatch):
        for body in (b"email=\xed\xa0\x80", f"email={OCTETS}".encode(), f"{OCTETS}=1".encode()):
            assert is_refused(path, world.call(method, address(path), body, known)), body
