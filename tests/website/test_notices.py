"""Notices are displayed once after an action. A query parameter cannot display a notice."""

from dataclasses import replace

import pytest

from chalicelib.foundation.identifiers import new_id
from chalicelib.website.notices import COOKIE, LIFETIME, TEXTS, Notice
from tests.causeway import Causeway
from tests.website.web_user import PASSWORD, WebUser


def test_every_notice_has_a_text() -> None:
    assert TEXTS.keys() == set(Notice)
    assert all(text.endswith(".") for text in TEXTS.values())


def test_a_page_shows_a_notice_only_once(user: WebUser) -> None:
    client_id = user.create_client()
    user.get(f"/clients/{client_id}")
    user.post(f"/clients/{client_id}", action="deactivate")

    assert 'role="status"' in user.follow().text
    assert TEXTS[Notice.CLIENT_DEACTIVATED] in user.text
    user.get(f"/clients/{client_id}")
    assert TEXTS[Notice.CLIENT_DEACTIVATED] not in user.text
    assert COOKIE not in user.cookies


@pytest.mark.parametrize("query", ["done=client-deactivated", "moved=1", "changed=password", "notice=signed-in"])
def test_a_query_parameter_cannot_cause_a_notice(user: WebUser, query: str) -> None:
    client_id = user.create_client()
    user.get(f"/clients/{client_id}")
    before = user.text
    user.get(f"/clients/{client_id}?{query}")

    assert user.text == before


@pytest.mark.parametrize("value", ["", "nothing", "<b>paid</b>"])
def test_an_unknown_notice_cookie_shows_no_notice(user: WebUser, value: str) -> None:
    user.get("/terms")
    before = user.text
    user.cookies[COOKIE] = value
    user.get("/terms")

    assert user.text == before


def test_registration_sign_in_and_sign_out_show_a_notice(visitor: WebUser) -> None:
    email = f"{new_id()}@example.com"
    visitor.register(email)
    visitor.follow()
    assert TEXTS[Notice.REGISTERED] in visitor.text
    visitor.post("/sign-out")
    visitor.follow()
    assert TEXTS[Notice.SIGNED_OUT] in visitor.text
    visitor.sign_in(email, PASSWORD)
    visitor.follow()
    assert TEXTS[Notice.SIGNED_IN] in visitor.text


def test_the_notice_cookie_is_short_lived_httponly_samesite_and_secure(causeway: Causeway, user: WebUser) -> None:
    client_id = user.create_client()
    causeway.hub.settings = replace(causeway.hub.settings, stage="dev", public_url="https://api.example.com/stage")
    user.post(f"/clients/{client_id}", action="deactivate")

    (cookie,) = [each for each in user.set_cookies if each.startswith(f"__Host-{COOKIE}=client-deactivated")]
    assert cookie.endswith(f"; Path=/; Max-Age={LIFETIME}; HttpOnly; SameSite=Lax; Secure")
