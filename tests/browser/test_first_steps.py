"""A TPP developer who opens the web interface, reads nothing first, and gets as far as tokens.

One such way is played whenever tests run: nothing works in a browser where it does not.
"""

from __future__ import annotations

import pytest

from tests.browser import user
from tests.browser.visitor import Visitors
from tests.e2e.parties import Tpp


@pytest.mark.parametrize(
    ("version", "javascript"),
    [
        pytest.param(1, True, id="1-with JavaScript"),
        pytest.param(1, False, id="1-without JavaScript", marks=pytest.mark.pages),
        pytest.param(2, True, id="2-with JavaScript", marks=pytest.mark.pages),
        pytest.param(2, False, id="2-without JavaScript", marks=pytest.mark.pages),
    ],
)
def test_from_registering_to_tokens_that_work(visitors: Visitors, version: int, javascript: bool) -> None:
    visitor = visitors(javascript=javascript, width=390 if version == 2 else 1280)
    user.register(visitor)
    visitor.follow("Create a client")
    visitor.fill("Title", "First try")
    visitor.press("Create")
    client_id = visitor.page.locator("#client-id").inner_text()
    user.authorize(visitor, version)

    heading = visitor.page.get_by_role("heading", level=1)
    assert heading.inner_text() == "You have tokens"
    assert "authorization_code" not in visitor.page.url
    bearer = visitor.page.locator("#access-token").inner_text()
    asker = Tpp(visitor.stack["base_url"], client_id, visitor.tpp.callback)
    assert asker.call("GET", "/tpp/accounts", bearer=bearer).status_code == 200
    visitor.page.reload()
    assert heading.inner_text() == "You have tokens"
    visitor.press("Refresh the tokens")
    refreshed = visitor.page.locator("#access-token").inner_text()
    assert refreshed != bearer
    assert asker.call("GET", "/tpp/accounts", bearer=refreshed).status_code == 200
    visitor.follow("End the consent")
    visitor.press("End the consent")
    assert asker.call("GET", "/tpp/accounts", bearer=refreshed).status_code == 401
