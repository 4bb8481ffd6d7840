"""The account page: the user's code for the operator, and links that set a password."""

import re

import pytest

from chalicelib.website.accounts import account_flow
from chalicelib.website.accounts.account_flow import WrongPassword
from chalicelib.website.records.attempts import LIMITS
from chalicelib.website.records.sessions import LIFETIME, cookie_signer
from chalicelib.website.records.users import User
from tests.causeway import Causeway
from tests.website.web_user import PASSWORD, WebUser, ensure_user

pytestmark = pytest.mark.usefixtures("quick_hashes")
NEW = "rain on a tin roof"


def code_on(person: WebUser) -> str:
    found = re.search(r'<code id="operator-code">([^<]+)</code>', person.last.text)
    assert found is not None, person.text
    return found[1]


def reset_link(causeway: Causeway, email: str) -> str:
    link = causeway.hub.website.call(account_flow.issue_operator_link, ensure_user(causeway.hub, email))
    return link.removeprefix(causeway.hub.settings.public_url)


# -- the account


def test_the_account_page_shows_each_operator_code_once(causeway: Causeway, user: WebUser, email: str) -> None:
    user.get("/account")
    assert (email in user.text, "operator-code" in user.last.text) == (True, False)
    answer = user.post("/account", action="code")

    assert answer.status == 200
    assert re.fullmatch(r"[0-9A-Z]{4}-[0-9A-Z]{4}-[0-9A-Z]{4}", code_on(user))
    assert causeway.hub.website.call(account_flow.find_owner, code_on(user)).email == email
    assert "operator-code" not in user.get("/account").text


def test_the_account_page_requires_a_sign_in(visitor: WebUser) -> None:
    assert visitor.get("/account").headers["location"] == "/sign-in?next=%2Faccount"


def test_every_page_links_to_the_account_page(user: WebUser) -> None:
    assert 'href="/account"' in user.get("/").text
    assert 'aria-current="page"' in user.get("/account").text


def test_operator_codes_are_limited_per_hour(user: WebUser) -> None:
    user.get("/account")
    answers = [user.post("/account", action="code").status for _ in range(LIMITS["codes"].attempts + 1)]

    assert answers[-2:] == [200, 429]
    assert int(user.last.headers["retry-after"]) > 0
    assert "operator-code" not in user.last.text


# -- links


def test_a_password_link_shows_a_form_and_is_invalid_after_the_form_is_submitted(
    causeway: Causeway, visitor: WebUser, email: str
) -> None:
    place = reset_link(causeway, email)
    for _ in range(2):
        assert visitor.get(place).status == 200
        assert email in visitor.text
    answer = visitor.post(place, password=NEW)

    assert (answer.status, answer.headers["location"]) == (303, "/")
    assert visitor.get("/clients").status == 200, "the user is signed in"
    assert WebUser(causeway).sign_in(email, NEW).status == 303
    again = WebUser(causeway)
    assert (again.get(place).status, again.post(place, password=NEW).status) == (404, 404)
    assert "has been used" in again.text
    assert '<a class="button" href="/forgotten">Request a new password</a>' in again.last.text


def test_a_user_created_by_the_operator_accepts_the_terms_when_setting_the_password(
    causeway: Causeway, visitor: WebUser, email: str
) -> None:
    causeway.hub.website.users.add(email)
    place = reset_link(causeway, email)
    visitor.get(place)
    refused = visitor.post(place, password="short")

    assert refused.status == 400
    assert "Password must have 10 to 256 characters" in visitor.text
    assert "The terms must be accepted" in visitor.text
    assert visitor.post(place, password=NEW, terms="yes").status == 303
    assert causeway.hub.website.users.get(email).terms_accepted_at == causeway.clock.time()


def test_a_page_with_a_secret_in_its_url_sends_no_referrer_and_is_not_cached(
    causeway: Causeway, visitor: WebUser, email: str
) -> None:
    answer = visitor.get(reset_link(causeway, email))

    assert answer.headers["referrer-policy"] == "no-referrer"
    assert answer.headers["cache-control"] == "no-store"


def test_a_password_set_by_link_ends_every_other_session(causeway: Causeway, user: WebUser, email: str) -> None:
    assert user.get("/clients").status == 200
    elsewhere, place = WebUser(causeway), reset_link(causeway, email)
    elsewhere.get(place)
    elsewhere.post(place, password=NEW)

    assert user.get("/clients").status == 303
    assert elsewhere.get("/clients").status == 200


def test_a_session_of_an_earlier_version_is_valid_until_a_password_change(
    causeway: Causeway, visitor: WebUser, email: str
) -> None:
    """The old cookie does not contain the user, and the old record has no generation."""
    from chalicelib.foundation.identifiers import digest, new_secret

    ensure_user(causeway.hub, email)
    secret = f"u{new_secret()}"
    now = causeway.clock.time()
    record = {"email": email, "created_at": now, "expires_at": now + LIFETIME}
    causeway.hub.store.put("website", {"owner": f"session#{digest(secret)}", "part": "session", **record})
    visitor.cookies = {
        "causeway_session": cookie_signer(causeway.hub.website.shared.keyring, "session").sign(secret).decode()
    }
    assert visitor.get("/clients").status == 200
    secret_of_link = reset_link(causeway, email).rpartition("/")[2]
    causeway.hub.website.call(account_flow.reset_password, secret_of_link, PASSWORD, terms_accepted=True)

    assert visitor.get("/clients").status == 303


@pytest.mark.parametrize("secret", ["x", "a" * 43, "..", "a" * 5000])
def test_an_unknown_password_link_returns_404(visitor: WebUser, secret: str) -> None:
    assert visitor.get(f"/reset/{secret}").status == 404


# -- passwords


@pytest.fixture
def owner(causeway: Causeway, email: str) -> WebUser:
    person = WebUser(causeway)
    assert person.register(email).status == 303
    return person


def change(person: WebUser, current: str = PASSWORD, new: str = NEW) -> int:
    person.get("/account")
    return person.post("/account", action="password", current_password=current, password=new).status


def test_a_password_change_ends_every_other_session(causeway: Causeway, owner: WebUser, email: str) -> None:
    elsewhere = WebUser(causeway)
    elsewhere.sign_in(email)

    assert change(owner) == 303
    owner.follow()
    assert "Your password has been changed" in owner.text
    assert elsewhere.get("/clients").status == 303
    assert WebUser(causeway).sign_in(email).status == 401
    assert WebUser(causeway).sign_in(email, NEW).status == 303


def test_a_password_change_invalidates_copies_of_the_old_cookie(causeway: Causeway, owner: WebUser) -> None:
    copied = WebUser(causeway, dict(owner.cookies))
    change(owner)

    assert copied.get("/clients").status == 303
    assert owner.get("/clients").status == 200


@pytest.mark.parametrize(
    ("current", "new", "field", "said"),
    [
        ("wrong", NEW, "current_password", "This is not your current password."),
        (PASSWORD, "short", "password", "Password must have 10 to 256 characters."),
        (PASSWORD, PASSWORD, "password", "The new password is the same as the current one."),
    ],
)
def test_a_rejected_password_change_shows_the_error_at_its_field(
    causeway: Causeway, owner: WebUser, email: str, current: str, new: str, field: str, said: str
) -> None:
    assert change(owner, current, new) == 400
    assert said in owner.text
    (wrong,) = re.findall(r"<input [^>]*aria-invalid[^>]*>", owner.last.text)
    assert f'id="{field}"' in wrong
    assert f'aria-describedby="{field}-error' in wrong
    assert " autofocus" in wrong
    assert WebUser(causeway).sign_in(email).status == 303


def test_current_password_attempts_in_a_session_are_limited(owner: WebUser) -> None:
    answers = [change(owner, "wrong") for _ in range(LIMITS["password"].attempts + 1)]

    assert answers == [400] * LIMITS["password"].attempts + [429]


def test_one_of_two_simultaneous_password_changes_is_applied(causeway: Causeway, owner: WebUser, email: str) -> None:
    user = causeway.hub.website.users.get(email)

    def first() -> User:
        return causeway.hub.website.call(account_flow.change_password, user, PASSWORD, NEW)

    with causeway.meanwhile("transact", first), pytest.raises(WrongPassword):
        causeway.hub.website.call(account_flow.change_password, user, PASSWORD, "snow on a tin roof")
    assert causeway.hub.website.users.authenticate(email, NEW) is not None


def test_a_deactivated_user_is_signed_out_and_cannot_sign_in(causeway: Causeway, owner: WebUser, email: str) -> None:
    link = reset_link(causeway, email)
    causeway.hub.website.users.deactivate(email)

    assert owner.get("/clients").status == 303
    assert owner.sign_in(email).status == 403
    assert "The operator has deactivated this account" in owner.text
    assert owner.sign_in(email, "wrong").status == 401
    assert "deactivated" not in owner.text
    assert owner.get(link).status == 404
    causeway.hub.website.users.activate(email)
    assert owner.get("/clients").status == 303, "a session of before stays ended"
    assert owner.sign_in(email).status == 303
