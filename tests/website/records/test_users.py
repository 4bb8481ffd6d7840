"""Users: one account per email, email rules, and a hashed password."""

import argon2
import pytest

from chalicelib.foundation.crypto import passwords
from chalicelib.foundation.identifiers import new_id
from chalicelib.website.accounts import account_flow
from chalicelib.website.records.users import InvalidUser, NotIdentified, UnknownUser, UserExists, normalise_email
from tests.causeway import Causeway

PASSWORD = "correct horse battery"


@pytest.fixture
def email() -> str:
    return f"{new_id()}@example.com"


def register(causeway: Causeway, email: str, password: str = PASSWORD, terms: bool = True) -> None:
    causeway.hub.website.users.register(email, password, terms_accepted=terms)


def test_a_registered_user_is_found_by_email(causeway: Causeway, email: str) -> None:
    made = causeway.hub.website.users.register(email, PASSWORD, terms_accepted=True)

    assert causeway.hub.website.users.find(email) == made
    assert (made.email, made.created_at) == (email, causeway.clock.time())
    assert causeway.hub.website.users.find(f"other-{email}") is None


def test_a_password_is_stored_as_an_argon2id_hash(causeway: Causeway, email: str) -> None:
    register(causeway, email)
    item = causeway.hub.store.get("users", {"email": email})

    assert item is not None
    assert item["password_hash"].startswith("$argon2id$v=19$m=65536,t=3,p=4$")  # RFC 9106, section 4
    assert argon2.PasswordHasher().verify(item["password_hash"], PASSWORD)
    assert PASSWORD not in repr(item)
    assert item["terms_accepted_at"] == causeway.clock.time()


def test_equal_passwords_of_two_users_have_different_hashes(causeway: Causeway, email: str) -> None:
    hashes = set()
    for name in (email, f"other-{email}"):
        register(causeway, name)
        hashes.add((causeway.hub.store.get("users", {"email": name}) or {})["password_hash"])

    assert len(hashes) == 2


@pytest.mark.usefixtures("quick_hashes")
def test_an_email_address_identifies_one_user_regardless_of_letter_case_and_spaces(
    causeway: Causeway, email: str
) -> None:
    register(causeway, f"  {email.upper()} ")

    assert causeway.hub.website.users.find(email.title()) is not None
    with pytest.raises(UserExists, match=f"{email} is already registered"):
        register(causeway, email)


@pytest.mark.usefixtures("quick_hashes")
def test_a_second_registration_does_not_change_the_password(causeway: Causeway, email: str) -> None:
    register(causeway, email)
    before = causeway.hub.store.get("users", {"email": email})

    with pytest.raises(UserExists):
        register(causeway, email, "another long password")
    assert causeway.hub.store.get("users", {"email": email}) == before


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
def test_a_malformed_email_address_is_rejected(causeway: Causeway, email: str) -> None:
    with pytest.raises(InvalidUser, match="email must be an email address"):
        register(causeway, email)
    with pytest.raises(InvalidUser):
        causeway.hub.website.users.find(email)


@pytest.mark.parametrize(
    "email",
    [
        "x<ada@example.com>",
        "ada,bob@example.com",
        "ada(x)@example.com",
        "group:ada@example.com;",
        'ada"x@example.com',
        "ada\\@example.com",
        "ada@[192.0.2.1]",
        "ada\u3164@example.com",
        "ada\ufe0f@example.com",
    ],
)
def test_an_address_that_mail_clients_interpret_as_another_mailbox_is_rejected(causeway: Causeway, email: str) -> None:
    with pytest.raises(InvalidUser, match="email must be an email address"):
        register(causeway, email)
    with pytest.raises(InvalidUser, match="email must be an email address"):
        causeway.hub.website.users.add(email)
    with pytest.raises(InvalidUser, match="email must be an email address"):
        causeway.hub.website.call(account_flow.request_reset, email)


@pytest.mark.usefixtures("quick_hashes")
def test_a_user_of_an_earlier_version_with_an_ambiguous_address_can_sign_in(causeway: Causeway) -> None:
    name = "ada,bob@example.com"
    causeway.hub.store.put(
        "users", {"email": name, "password_hash": passwords.hash_password(PASSWORD), "created_at": 1}
    )

    found = causeway.hub.website.users.authenticate(name, PASSWORD)
    assert found is not None
    assert found.email == name


@pytest.mark.parametrize("password", ["", "short", "a" * 9, "a" * 257])
def test_a_password_has_10_to_256_characters(causeway: Causeway, email: str, password: str) -> None:
    with pytest.raises(InvalidUser, match="password must have 10 to 256 characters"):
        register(causeway, email, password)
    assert causeway.hub.website.users.find(email) is None


def test_a_password_that_equals_the_email_address_is_rejected(causeway: Causeway, email: str) -> None:
    with pytest.raises(InvalidUser, match="password must not be the email address"):
        register(causeway, email, email.upper())


def test_a_registration_without_acceptance_of_the_terms_is_rejected(causeway: Causeway, email: str) -> None:
    with pytest.raises(InvalidUser, match="the terms must be accepted"):
        register(causeway, email, terms=False)


@pytest.mark.parametrize("name", ["ada@example.com", "ada.l+hub@mail.example.co.uk", "ädä@exämple.com"])
def test_email_addresses_are_normalised(name: str) -> None:
    assert normalise_email(f" {name.upper()}\t") == name


def test_registration_reports_all_errors_together(causeway: Causeway, email: str) -> None:
    with pytest.raises(InvalidUser) as refused:
        causeway.hub.website.users.register("ada", "short", terms_accepted=False)

    assert list(refused.value.problems) == ["email", "password", "terms"]
    assert str(refused.value) == "; ".join(refused.value.problems.values())


def test_a_user_of_an_earlier_version_signs_in_and_is_not_identified(causeway: Causeway, email: str) -> None:
    """The stored record has neither a session generation nor an address confirmation."""
    old = {
        "email": email,
        "password_hash": argon2.PasswordHasher(time_cost=1, memory_cost=8, parallelism=1).hash(PASSWORD),
        "terms_accepted_at": 1_700_000_000,
        "created_at": 1_700_000_000,
        "manager_id": 2,
    }
    causeway.hub.store.put("users", old)
    found = causeway.hub.website.users.authenticate(email, PASSWORD)

    assert found == causeway.hub.website.users.find(email)
    assert found is not None
    assert found.active is True
    assert found.generation == 0
    assert found.manager_id == 2
    assert found.has_password is True
    with pytest.raises(NotIdentified, match=f"{email} does not identify the user"):
        causeway.hub.website.users.get_identified(email)


@pytest.mark.usefixtures("quick_hashes")
def test_a_user_created_by_the_operator_cannot_sign_in_with_a_password(causeway: Causeway, email: str) -> None:
    made = causeway.hub.website.users.add(email.upper())

    assert causeway.hub.website.users.get_identified(email) == made
    assert made.made_by_operator is True
    assert made.has_password is False
    assert made.terms_accepted_at is None
    for guessed in ("", "nobody has this password", PASSWORD):
        assert causeway.hub.website.users.authenticate(email, guessed) is None
    with pytest.raises(UserExists):
        causeway.hub.website.users.add(email)


def test_unlinking_a_user_can_be_repeated_but_requires_a_known_user(causeway: Causeway, email: str) -> None:
    made = causeway.hub.website.users.add(email)

    assert causeway.hub.website.users.unlink_manager(email) == causeway.hub.website.users.unlink_manager(email) == made
    with pytest.raises(UnknownUser, match=f"no user has the email x{email}"):
        causeway.hub.website.users.unlink_manager(f"x{email}")
