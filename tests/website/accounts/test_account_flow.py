"""Accounts: who is given something by a code, an address or a link, how often, and for how long."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest

from chalicelib.foundation.dynamodb.store import Operation
from chalicelib.website.accounts import account_flow
from chalicelib.website.accounts.account_flow import OPERATOR_LINK_SECONDS, SecretNotValid
from chalicelib.website.records.one_time_secrets import LIFETIMES, is_code, issue_secret
from chalicelib.website.records.users import InvalidUser, NotIdentified, User
from tests.website.person import PASSWORD, known
from tests.world import World

pytestmark = pytest.mark.usefixtures("quick_hashes")
NEW = "rain on a tin roof"


@pytest.fixture
def user(world: World, email: str) -> User:
    return known(world.hub, email)


@pytest.fixture
def stranger(world: World, email: str) -> User:
    """Who has registered alone."""
    return world.hub.website.users.register(f"stranger-{email}", PASSWORD, terms_accepted=True)


def secret_of(link: str) -> str:
    return link.rpartition("/")[2]


# -- codes


def test_a_one_time_code_identifies_its_user_once_in_any_spelling(world: World, stranger: User) -> None:
    code = world.hub.website.call(account_flow.issue_code, stranger)

    assert is_code(code)
    written = f" {code.lower().replace('-', '')}\n"
    assert world.hub.website.call(account_flow.find_owner, written).email == stranger.email
    with pytest.raises(SecretNotValid):
        world.hub.website.call(account_flow.find_owner, code)


def test_a_one_time_code_expires_after_15_minutes(world: World, stranger: User) -> None:
    first, second = (world.hub.website.call(account_flow.issue_code, stranger) for _ in range(2))
    world.clock.advance(15 * 60 - 1)
    assert world.hub.website.call(account_flow.link_manager, first, 1).manager_id == 1
    world.clock.advance(1)

    assert LIFETIMES["code"] == 15 * 60
    with pytest.raises(SecretNotValid, match="more than 15 minutes old"):
        world.hub.website.call(account_flow.link_manager, second, 2)
    assert world.hub.website.users.get(stranger.email).manager_id == 1


def test_two_simultaneous_uses_of_a_one_time_code_link_one_manager(world: World, stranger: User) -> None:
    code = world.hub.website.call(account_flow.issue_code, stranger)

    with (
        world.meanwhile("transact", lambda: world.hub.website.call(account_flow.link_manager, code, 1)),
        pytest.raises(SecretNotValid),
    ):
        world.hub.website.call(account_flow.link_manager, code, 2)
    assert world.hub.website.users.get(stranger.email).manager_id == 1


@pytest.mark.parametrize(
    "text", ["", "nobody@example.com", "7KQM-2ZTD", "7KQM-2ZTD-X9R!", "7KQM-2ZTD-X9RW-A", "é" * 12]
)
def test_text_that_is_not_a_code_is_looked_up_as_an_address(world: World, text: str) -> None:
    assert not is_code(text)
    with pytest.raises((InvalidUser, LookupError)):
        world.hub.website.call(account_flow.find_owner, text)


def test_an_unknown_one_time_code_is_rejected(world: World) -> None:
    with pytest.raises(SecretNotValid, match="this code is not valid"):
        world.hub.website.call(account_flow.link_manager, "7KQM-2ZTD-X9RW", 1)


def test_the_address_of_an_unidentified_user_cannot_be_linked(world: World, user: User, stranger: User) -> None:
    assert world.hub.website.call(account_flow.link_manager, user.email.upper(), 1).manager_id == 1
    with pytest.raises(NotIdentified):
        world.hub.website.call(account_flow.find_owner, stranger.email)
    with pytest.raises(NotIdentified):
        world.hub.website.call(account_flow.link_manager, stranger.email, 1)


def test_the_database_stores_no_one_time_code_or_link_in_clear(world: World, user: User) -> None:
    code, link = (
        world.hub.website.call(account_flow.issue_code, user),
        world.hub.website.call(account_flow.issue_operator_link, user),
    )
    stored = json.dumps([*world.hub.store.scan("website")], default=str)

    assert stored.count(user.email) == 2
    for secret in (code, code.replace("-", ""), secret_of(link)):
        assert secret not in stored


def test_one_time_secrets_have_a_ttl_of_their_lifetime(world: World, user: User) -> None:
    for purpose in LIFETIMES:
        _, put = issue_secret(purpose, user.email, world.clock)
        assert put.item["expires_at"] == world.clock.time() + LIFETIMES[purpose]


# -- links


def test_a_password_link_sets_one_password(world: World, user: User) -> None:
    secret = secret_of(world.hub.website.call(account_flow.issue_operator_link, user))
    assert world.hub.website.call(account_flow.find_reset_user, secret) == user
    assert world.hub.website.call(account_flow.find_reset_user, secret) == user, "to look at it does not use it up"
    changed = world.hub.website.call(account_flow.reset_password, secret, NEW, terms_accepted=False)

    assert (changed.has_password, changed.generation) == (True, user.generation + 1)
    assert world.hub.website.users.authenticate(user.email, NEW) == changed
    with pytest.raises(SecretNotValid):
        world.hub.website.call(account_flow.find_reset_user, secret)
    with pytest.raises(SecretNotValid):
        world.hub.website.call(account_flow.reset_password, secret, NEW, terms_accepted=True)


def test_two_simultaneous_uses_of_a_password_link_set_one_password(world: World, user: User) -> None:
    secret = secret_of(world.hub.website.call(account_flow.issue_operator_link, user))

    def first() -> User:
        return world.hub.website.call(account_flow.reset_password, secret, NEW, terms_accepted=False)

    with world.meanwhile("transact", first), pytest.raises(SecretNotValid):
        world.hub.website.call(account_flow.reset_password, secret, PASSWORD, terms_accepted=False)
    assert world.hub.website.users.authenticate(user.email, NEW) is not None
    assert world.hub.website.users.authenticate(user.email, PASSWORD) is None


def test_a_deactivation_right_after_a_new_password_ends_the_new_session(
    world: World, user: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A session from before the deactivation stays ended after the account is activated again."""
    secret = secret_of(world.hub.website.call(account_flow.issue_operator_link, user))
    real = world.hub.store.transact

    def transact(operations: Sequence[Operation]) -> None:
        real(operations)
        world.hub.website.users.deactivate(user.email)

    monkeypatch.setattr(world.hub.store, "transact", transact)
    changed = world.hub.website.call(account_flow.reset_password, secret, NEW, terms_accepted=False)
    session = world.hub.website.sessions.begin(changed)
    world.hub.website.users.activate(user.email)

    assert world.hub.website.sessions.find(session.cookie) is None


def test_an_operator_link_expires_after_24_hours(world: World, user: User) -> None:
    secret = secret_of(world.hub.website.call(account_flow.issue_operator_link, user))
    world.clock.advance(OPERATOR_LINK_SECONDS - 1)
    assert world.hub.website.call(account_flow.find_reset_user, secret) == user
    world.clock.advance(1)

    assert OPERATOR_LINK_SECONDS == 24 * 3600
    with pytest.raises(SecretNotValid):
        world.hub.website.call(account_flow.find_reset_user, secret)


def test_a_code_or_malformed_text_is_rejected_as_a_password_link(world: World, user: User) -> None:
    for text in (world.hub.website.call(account_flow.issue_code, user), "a" * 43, "x", ""):
        with pytest.raises(SecretNotValid):
            world.hub.website.call(account_flow.find_reset_user, text)


def test_a_new_password_revokes_earlier_links_and_codes(world: World, user: User) -> None:
    code = world.hub.website.call(account_flow.issue_code, user)
    used, other = (secret_of(world.hub.website.call(account_flow.issue_operator_link, user)) for _ in range(2))
    world.hub.website.call(account_flow.reset_password, used, NEW, terms_accepted=False)

    with pytest.raises(SecretNotValid):
        world.hub.website.call(account_flow.reset_password, other, PASSWORD, terms_accepted=False)
    with pytest.raises(SecretNotValid):
        world.hub.website.call(account_flow.find_owner, code)


def test_a_rejected_password_does_not_use_up_the_link(world: World, email: str) -> None:
    user = world.hub.website.users.add(email)
    secret = secret_of(world.hub.website.call(account_flow.issue_operator_link, user))

    with pytest.raises(InvalidUser) as refused:
        world.hub.website.call(account_flow.reset_password, secret, "short", terms_accepted=False)
    assert list(refused.value.problems) == ["password", "terms"]
    changed = world.hub.website.call(account_flow.reset_password, secret, NEW, terms_accepted=True)
    assert changed.terms_accepted_at == world.clock.time()
