"""Session cookies: their attributes, their lifetime, and their deletion."""

import json
from dataclasses import replace

import pytest

from chalicelib.website.pages import COOKIE
from chalicelib.website.records.sessions import LIFETIME
from tests.causeway import Causeway
from tests.website.web_user import PASSWORD, WebUser

pytestmark = pytest.mark.usefixtures("quick_hashes")


def test_the_session_cookie_is_httponly_samesite_lax_and_secure_on_https(
    causeway: Causeway, visitor: WebUser, registered: str
) -> None:
    visitor.sign_in(registered)
    assert visitor.set_cookie(COOKIE).endswith(f"; Path=/; Max-Age={LIFETIME}; HttpOnly; SameSite=Lax")

    causeway.hub.settings = replace(causeway.hub.settings, stage="dev", public_url="https://api.example.com/stage")
    visitor.cookies = {}
    visitor.sign_in(registered)
    set_cookie = visitor.set_cookie(f"__Host-{COOKIE}")
    assert set_cookie.endswith(f"; Path=/; Max-Age={LIFETIME}; HttpOnly; SameSite=Lax; Secure")
    assert all(name.startswith(("__Host-", "__Secure-")) for name in visitor.cookies)


def test_signing_out_deletes_a_session_cookie_of_the_previous_release(causeway: Causeway, user: WebUser) -> None:
    causeway.hub.settings = replace(causeway.hub.settings, stage="dev", public_url="https://api.example.com/stage")
    assert user.get("/clients").status == 200
    copied = WebUser(causeway, dict(user.cookies))

    user.post("/sign-out")

    assert [COOKIE in name for name in user.cookies] == [False] * len(user.cookies)
    assert user.set_cookie(COOKIE) == f"{COOKIE}=; Path=/stage; Max-Age=0; HttpOnly; SameSite=Lax; Secure"
    assert "Max-Age=0" in user.set_cookie(f"__Host-{COOKIE}")
    assert copied.get("/clients").status == 303


def test_signing_in_replaces_a_session_cookie_set_by_an_attacker(visitor: WebUser, registered: str) -> None:
    visitor.get("/sign-in")
    planted = dict(visitor.cookies)
    visitor.sign_in(registered)
    thief = WebUser(visitor.causeway, planted)

    assert visitor.cookies[COOKIE] != planted[COOKIE]
    assert thief.get("/clients").status == 303


def test_signing_in_again_ends_the_previous_session(user: WebUser, registered: str) -> None:
    before = WebUser(user.causeway, dict(user.cookies))
    user.post("/sign-in", email=registered, password=PASSWORD)

    assert user.get("/clients").status == 200
    assert before.get("/clients").status == 303


def test_a_session_expires_on_the_server(causeway: Causeway, user: WebUser) -> None:
    causeway.clock.advance(LIFETIME - 1)
    assert user.get("/clients").status == 200
    causeway.clock.advance(1)
    assert user.get("/clients").status == 303


def test_signing_out_invalidates_copies_of_the_cookie(user: WebUser) -> None:
    copied = WebUser(user.causeway, dict(user.cookies))
    menu = user.get("/clients").text.partition('<form method="post" action="/sign-out" data-forget>')[2]
    assert 'name="form_token"' in menu.partition("</form>")[0]
    answer = user.post("/sign-out")

    assert (answer.status, COOKIE in user.cookies) == (303, False)
    assert "Max-Age=0" in user.set_cookie(COOKIE)
    assert copied.get("/clients").status == 303


def test_a_get_request_to_sign_out_does_not_end_the_session(user: WebUser) -> None:
    user.get("/sign-out")

    assert user.get("/clients").status == 200


@pytest.mark.parametrize("cookie", ["", "x", "x.y", "uAAAA.AAAA", "a=b", "\u00ff", '"', "u" * 5000])
def test_a_malformed_session_cookie_is_rejected(visitor: WebUser, cookie: str) -> None:
    visitor.cookies = {COOKIE: cookie}

    assert visitor.get("/clients").status == 303


def test_a_session_cookie_with_an_altered_signature_is_rejected(user: WebUser) -> None:
    secret, _, signature = user.cookies[COOKIE].partition(".")
    user.cookies = {COOKIE: f"{secret}.{'B' if signature[0] == 'A' else 'A'}{signature[1:]}"}

    assert user.get("/clients").status == 303


def test_a_session_remains_valid_after_one_key_rotation(causeway: Causeway, user: WebUser) -> None:
    causeway.hub.keyring.rotate_data_key()
    assert user.get("/clients").status == 200


def test_a_process_without_the_rotated_key_accepts_cookies_and_forms_signed_with_that_key(
    causeway: Causeway, user: WebUser
) -> None:
    """A process rotates the key. A second process has not loaded the new key, but accepts the cookies and form tokens
    of the first process.
    """
    fresh, stale = causeway.another_process(), causeway.another_process()
    cookie = user.cookies[COOKIE]
    for hub in (fresh, stale):
        assert hub.website.sessions.find(cookie) is not None
    fresh.keyring.rotate_data_key()
    found = fresh.website.sessions.find(cookie)

    assert found is not None
    there = stale.website.sessions.find(found.cookie)
    assert there is not None
    assert stale.website.sessions.accepts(there, found.form_token)


def test_stored_records_contain_no_session_secret_form_token_or_password(
    causeway: Causeway, user: WebUser, registered: str, email: str
) -> None:
    user.get("/clients/new")
    stored = json.dumps([*causeway.hub.store.scan("website"), *causeway.hub.store.scan("users")], default=str)

    secret = user.cookies[COOKIE].partition(".")[0]
    assert email in stored
    for credential in (secret, secret[1:], user.token, PASSWORD):
        assert credential not in stored
