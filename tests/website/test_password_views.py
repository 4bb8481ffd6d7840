"""A user's own account: the code for the operator, and links that set a password."""

from __future__ import annotations

import re

import pytest

from chalicelib.website.attempts import LIMITS
from chalicelib.website.sessions import LIFETIME
from tests.website.person import PASSWORD, Person, known
from tests.world import World

NEW = "rain on a tin roof"


def code_on(person: Person) -> str:
    found = re.search(r'<code id="operator-code">([^<]+)</code>', person.last.text)
    assert found is not None, person.text
    return found[1]


def reset_link(world: World, email: str) -> str:
    """The path of a link that sets a user's password."""
    link = world.hub.accounts.operators_link(known(world.hub, email))
    return link.removeprefix(world.hub.settings.public_url)


# -- the account


def test_a_user_reads_a_code_for_the_operator_on_the_account_page(world: World, user: Person, email: str) -> None:
    user.get("/account")
    assert (email in user.text, "operator-code" in user.last.text) == (True, False)
    answer = user.post("/account", action="code")

    assert answer.status == 200
    assert re.fullmatch(r"[0-9A-Z]{4}-[0-9A-Z]{4}-[0-9A-Z]{4}", code_on(user))
    assert world.hub.accounts.owner(code_on(user)).email == email
    assert "operator-code" not in user.get("/account").text


def test_the_account_page_is_for_who_is_signed_in(visitor: Person) -> None:
    assert visitor.get("/account").headers["location"] == "/sign-in?next=%2Faccount"


def test_every_page_of_a_user_leads_to_the_account(user: Person) -> None:
    assert 'href="/account"' in user.get("/").text
    assert 'aria-current="page"' in user.get("/account").text


def test_so_many_codes_are_made_in_an_hour(user: Person) -> None:
    user.get("/account")
    answers = [user.post("/account", action="code").status for _ in range(LIMITS["codes"].attempts + 1)]

    assert answers[-2:] == [200, 429]
    assert int(user.last.headers["retry-after"]) > 0
    assert "operator-code" not in user.last.text


# -- links


def test_a_link_shows_a_form_and_is_used_up_by_sending_it(world: World, visitor: Person, email: str) -> None:
    place = reset_link(world, email)
    for _ in range(2):
        assert visitor.get(place).status == 200
        assert email in visitor.text
    answer = visitor.post(place, password=NEW)

    assert (answer.status, answer.headers["location"]) == (303, "/")
    assert visitor.get("/clients").status == 200, "the user is signed in"
    assert Person(world).sign_in(email, NEW).status == 303
    again = Person(world)
    assert (again.get(place).status, again.post(place, password=NEW).status) == (404, 404)
    assert "was used already" in again.text


def test_a_user_of_the_operators_agrees_to_the_terms_with_the_first_password(
    world: World, visitor: Person, email: str
) -> None:
    world.hub.users.add(email)
    place = reset_link(world, email)
    visitor.get(place)
    refused = visitor.post(place, password="short")

    assert refused.status == 400
    assert "Password must have 10 to 256 characters" in visitor.text
    assert "The terms must be accepted" in visitor.text
    assert visitor.post(place, password=NEW, terms="yes").status == 303
    assert world.hub.users.known(email).terms_accepted_at == world.clock.time()


def test_a_page_with_a_secret_in_its_address_tells_it_to_nobody(world: World, visitor: Person, email: str) -> None:
    answer = visitor.get(reset_link(world, email))

    assert answer.headers["referrer-policy"] == "no-referrer"
    assert answer.headers["cache-control"] == "no-store"


def test_a_new_password_ends_every_session_of_the_user(world: World, user: Person, email: str) -> None:
    assert user.get("/clients").status == 200
    elsewhere, place = Person(world), reset_link(world, email)
    elsewhere.get(place)
    elsewhere.post(place, password=NEW)

    assert user.get("/clients").status == 303
    assert elsewhere.get("/clients").status == 200


def test_a_session_of_an_earlier_version_goes_on_and_ends_with_a_new_password(
    world: World, visitor: Person, email: str
) -> None:
    """Its cookie does not name the user, and its record has no generation."""
    from chalicelib.foundation.identifiers import digest, new_secret

    known(world.hub, email)
    secret = f"u{new_secret()}"
    now = world.clock.time()
    record = {"email": email, "created_at": now, "expires_at": now + LIFETIME}
    world.hub.store.put("website", {"owner": f"session#{digest(secret)}", "part": "session", **record})
    visitor.cookies = {"causeway_session": world.hub.sessions._signer("session").sign(secret).decode()}
    assert visitor.get("/clients").status == 200
    secret_of_link = reset_link(world, email).rpartition("/")[2]
    world.hub.accounts.reset_password(secret_of_link, PASSWORD, terms_accepted=True)

    assert visitor.get("/clients").status == 303


@pytest.mark.parametrize("secret", ["x", "a" * 43, "..", "a" * 5000])
def test_a_link_that_was_never_given_out_is_not_found(visitor: Person, secret: str) -> None:
    assert visitor.get(f"/reset/{secret}").status == 404
