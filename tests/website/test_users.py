"""Users: registered once per email, by rules that they are told, and with a password that nobody can read."""

from __future__ import annotations

import argon2
import pytest

from chalicelib.foundation.identifiers import new_id
from chalicelib.website.users import InvalidUser, UnknownUser, UserExists, normalise
from tests.world import World

PASSWORD = "correct horse battery"


@pytest.fixture
def email() -> str:
    return f"{new_id()}@example.com"


def register(world: World, email: str, password: str = PASSWORD, terms: bool = True) -> None:
    world.hub.users.register(email, password, terms_accepted=terms)


def test_a_registered_user_is_found(world: World, email: str) -> None:
    made = world.hub.users.register(email, PASSWORD, terms_accepted=True)

    assert world.hub.users.find(email) == made
    assert (made.email, made.created_at) == (email, world.clock.time())
    assert world.hub.users.find(f"other-{email}") is None


def test_the_password_is_kept_as_an_argon2id_hash(world: World, email: str) -> None:
    register(world, email)
    item = world.hub.store.get("users", {"email": email})

    assert item is not None
    assert item["password_hash"].startswith("$argon2id$v=19$m=65536,t=3,p=4$")  # RFC 9106, section 4
    assert argon2.PasswordHasher().verify(item["password_hash"], PASSWORD)
    assert PASSWORD not in repr(item)
    assert item["terms_accepted_at"] == world.clock.time()


def test_the_same_password_has_another_hash(world: World, email: str) -> None:
    hashes = set()
    for name in (email, f"other-{email}"):
        register(world, name)
        hashes.add((world.hub.store.get("users", {"email": name}) or {})["password_hash"])

    assert len(hashes) == 2


def test_an_email_is_one_user_however_it_is_written(world: World, email: str) -> None:
    register(world, f"  {email.upper()} ")

    assert world.hub.users.find(email.title()) is not None
    with pytest.raises(UserExists, match=f"{email} is registered already"):
        register(world, email)


def test_a_second_registration_does_not_change_the_password(world: World, email: str) -> None:
    register(world, email)
    before = world.hub.store.get("users", {"email": email})

    with pytest.raises(UserExists):
        register(world, email, "another long password")
    assert world.hub.store.get("users", {"email": email}) == before


@pytest.mark.parametrize(
    "email",
    [
        "",
        "ada",
        "ada@",
        "@example.com",
        "ada@example",
        "ada@@example.com",
        "ada@example..com",
        "ada@.example.com",
        "ada lovelace@example.com",
        "ada@exam ple.com",
        "ada\n@example.com",
        "ada\x00@example.com",
        f"{'a' * 65}@example.com",
        f"ada@{'a' * 250}.com",
    ],
)
def test_what_is_no_email_address_is_refused(world: World, email: str) -> None:
    with pytest.raises(InvalidUser, match="email must be an email address"):
        register(world, email)
    with pytest.raises(InvalidUser):
        world.hub.users.find(email)


@pytest.mark.parametrize("password", ["", "short", "a" * 9, "a" * 257])
def test_a_password_has_10_to_256_characters(world: World, email: str, password: str) -> None:
    with pytest.raises(InvalidUser, match="password must have 10 to 256 characters"):
        register(world, email, password)
    assert world.hub.users.find(email) is None


def test_the_email_is_no_password(world: World, email: str) -> None:
    with pytest.raises(InvalidUser, match="password must not be the email"):
        register(world, email, email.upper())


def test_the_terms_must_be_accepted(world: World, email: str) -> None:
    with pytest.raises(InvalidUser, match="the terms must be accepted"):
        register(world, email, terms=False)


@pytest.mark.parametrize("name", ["ada@example.com", "ada.l+hub@mail.example.co.uk", "ädä@exämple.com"])
def test_addresses_are_normalised(name: str) -> None:
    assert normalise(f" {name.upper()}\t") == name


def test_a_user_is_linked_to_one_programme_manager_until_that_ends(world: World, email: str) -> None:
    users = world.hub.users
    made = users.register(email, PASSWORD, terms_accepted=True)
    linked = [users.link(email.upper(), manager).manager_id for manager in (1, 2)]

    assert (made.manager_id, linked) == (None, [1, 2])
    assert users.authenticate(email, PASSWORD) == users.find(email)
    assert users.find(email) == users.link(email, 2)
    assert users.unlink(email) == users.unlink(email) == made
    assert users.find(email) == made


def test_nobody_is_linked_who_is_not_registered(world: World, email: str) -> None:
    for change in (lambda: world.hub.users.link(email, 1), lambda: world.hub.users.unlink(email)):
        with pytest.raises(UnknownUser, match=f"no user has the email {email}"):
            change()
    assert world.hub.users.find(email) is None
