"""Account flows: one-time codes, address confirmation and password links, with their limits and lifetimes."""

import json
from collections.abc import Sequence

import pytest

from chalicelib.foundation.dynamodb.store import Operation
from chalicelib.website.accounts import account_flow
from chalicelib.website.accounts.account_flow import OPERATOR_LINK_SECONDS, SecretNotValid
from chalicelib.website.records.one_time_secrets import LIFETIMES, is_code, issue_secret
from chalicelib.website.records.users import InvalidUser, NotIdentified, User
from tests.causeway import Causeway
from tests.website.web_user import PASSWORD, ensure_user

pytestmark = pytest.mark.usefixtures("quick_hashes")
NEW = "rain on a tin roof"


@pytest.fixture
def user(causeway: Causeway, email: str) -> User:
    return ensure_user(causeway.hub, email)


@pytest.fixture
def stranger(causeway: Causeway, email: str) -> User:
    return causeway.hub.website.users.register(f"stranger-{email}", PASSWORD, terms_accepted=True)


def secret_of(link: str) -> str:
    return link.rpartition("/")[2]


# -- codes


def test_a_one_time_code_identifies_its_user_once_without_hyphens(causeway: Causeway, stranger: User) -> None:
    code = causeway.hub.website.call(account_flow.issue_code, stranger)

    assert is_code(code)
    written = f" {code.lower().replace('-', '')}\n"
    assert causeway.hub.website.call(account_flow.find_owner, written).email == stranger.email
    with pytest.raises(SecretNotValid):
        causeway.hub.website.call(account_flow.find_owner, code)


def test_a_one_time_code_expires_after_15_minutes(causeway: Causeway, stranger: User) -> None:
    first, second = (causeway.hub.website.call(account_flow.issue_code, stranger) for _ in range(2))
    causeway.clock.advance(15 * 60 - 1)
    assert causeway.hub.website.call(account_flow.link_manager, first, 1).manager_id == 1
    causeway.clock.advance(1)

    assert LIFETIMES["code"] == 15 * 60
    with pytest.raises(SecretNotValid, match="more than 15 minutes old"):
        causeway.hub.website.call(account_flow.link_manager, second, 2)
    assert causeway.hub.website.users.get(stranger.email).manager_id == 1


def test_two_simultaneous_uses_of_a_one_time_code_link_one_manager(causeway: Causeway, stranger: User) -> None:
    code = causeway.hub.website.call(account_flow.issue_code, stranger)

    with (
        causeway.meanwhile("transact", lambda: causeway.hub.website.call(account_flow.link_manager, code, 1)),
        pytest.raises(SecretNotValid),
    ):
        causeway.hub.website.call(account_flow.link_manager, code, 2)
    assert causeway.hub.website.users.get(stranger.email).manager_id == 1


@pytest.mark.parametrize(
    "text", ["", "nobody@example.com", "7KQM-2ZTD", "7KQM-2ZTD-X9R!", "7KQM-2ZTD-X9RW-A", "é" * 12]
)
def test_operator_input_other_than_a_code_is_looked_up_as_an_email_address(causeway: Causeway, text: str) -> None:
    assert not is_code(text)
    with pytest.raises((InvalidUser, LookupError)):
        causeway.hub.website.call(account_flow.find_owner, text)


def test_an_unknown_one_time_code_is_rejected(causeway: Causeway) -> None:
    with pytest.raises(SecretNotValid, match="this code is not valid"):
        causeway.hub.website.call(account_flow.link_manager, "7KQM-2ZTD-X9RW", 1)


def test_the_address_of_an_unidentified_user_cannot_be_linked(causeway: Causeway, user: User, stranger: User) -> None:
    assert causeway.hub.website.call(account_flow.link_manager, user.email.upper(), 1).manager_id == 1
    with pytest.raises(NotIdentified):
        causeway.hub.website.call(account_flow.find_owner, stranger.email)
    with pytest.raises(NotIdentified):
        causeway.hub.website.call(account_flow.link_manager, stranger.email, 1)


def test_the_database_stores_no_one_time_code_or_link_in_plain_text(causeway: Causeway, user: User) -> None:
    code, link = (
        causeway.hub.website.call(account_flow.issue_code, user),
        causeway.hub.website.call(account_flow.issue_operator_link, user),
    )
    stored = json.dumps([*causeway.hub.store.scan("website")], default=str)

    assert stored.count(user.email) == 2
    for secret in (code, code.replace("-", ""), secret_of(link)):
        assert secret not in stored


def test_records_of_one_time_secrets_have_a_ttl(causeway: Causeway, user: User) -> None:
    for purpose in LIFETIMES:
        _, put = issue_secret(purpose, user.email, causeway.clock)
        assert put.item["expires_at"] == causeway.clock.time() + LIFETIMES[purpose]


# -- links


def test_a_password_link_can_set_a_password_only_once(causeway: Causeway, user: User) -> None:
    secret = secret_of(causeway.hub.website.call(account_flow.issue_operator_link, user))
    assert causeway.hub.website.call(account_flow.find_reset_user, secret) == user
    assert causeway.hub.website.call(account_flow.find_reset_user, secret) == user, "to look at it does not use it up"
    changed = causeway.hub.website.call(account_flow.reset_password, secret, NEW, terms_accepted=False)

    assert (changed.has_password, changed.generation) == (True, user.generation + 1)
    assert causeway.hub.website.users.authenticate(user.email, NEW) == changed
    with pytest.raises(SecretNotValid):
        causeway.hub.website.call(account_flow.find_reset_user, secret)
    with pytest.raises(SecretNotValid):
        causeway.hub.website.call(account_flow.reset_password, secret, NEW, terms_accepted=True)


def test_two_simultaneous_uses_of_a_password_link_set_one_password(causeway: Causeway, user: User) -> None:
    secret = secret_of(causeway.hub.website.call(account_flow.issue_operator_link, user))

    def first() -> User:
        return causeway.hub.website.call(account_flow.reset_password, secret, NEW, terms_accepted=False)

    with causeway.meanwhile("transact", first), pytest.raises(SecretNotValid):
        causeway.hub.website.call(account_flow.reset_password, secret, PASSWORD, terms_accepted=False)
    assert causeway.hub.website.users.authenticate(user.email, NEW) is not None
    assert causeway.hub.website.users.authenticate(user.email, PASSWORD) is None


def test_a_deactivation_after_a_password_change_ends_the_new_session(
    causeway: Causeway, user: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A session that the deactivation ended remains invalid after the account is reactivated."""
    secret = secret_of(causeway.hub.website.call(account_flow.issue_operator_link, user))
    real = causeway.hub.store.transact

    def transact(operations: Sequence[Operation]) -> None:
        real(operations)
        causeway.hub.website.users.deactivate(user.email)

    monkeypatch.setattr(causeway.hub.store, "transact", transact)
    changed = causeway.hub.website.call(account_flow.reset_password, secret, NEW, terms_accepted=False)
    session = causeway.hub.website.sessions.begin(changed)
    causeway.hub.website.users.activate(user.email)

    assert causeway.hub.website.sessions.find(session.cookie) is None


def test_an_operator_link_expires_after_24_hours(causeway: Causeway, user: User) -> None:
    secret = secret_of(causeway.hub.website.call(account_flow.issue_operator_link, user))
    causeway.clock.advance(OPERATOR_LINK_SECONDS - 1)
    assert causeway.hub.website.call(account_flow.find_reset_user, secret) == user
    causeway.clock.advance(1)

    assert OPERATOR_LINK_SECONDS == 24 * 3600
    with pytest.raises(SecretNotValid):
        causeway.hub.website.call(account_flow.find_reset_user, secret)


def test_a_one_time_code_or_a_malformed_text_is_rejected_as_a_password_link(causeway: Causeway, user: User) -> None:
    for text in (causeway.hub.website.call(account_flow.issue_code, user), "a" * 43, "x", ""):
        with pytest.raises(SecretNotValid):
            causeway.hub.website.call(account_flow.find_reset_user, text)


def test_a_password_change_revokes_earlier_password_links_and_codes(causeway: Causeway, user: User) -> None:
    code = causeway.hub.website.call(account_flow.issue_code, user)
    used, other = (secret_of(causeway.hub.website.call(account_flow.issue_operator_link, user)) for _ in range(2))
    causeway.hub.website.call(account_flow.reset_password, used, NEW, terms_accepted=False)

    with pytest.raises(SecretNotValid):
        causeway.hub.website.call(account_flow.reset_password, other, PASSWORD, terms_accepted=False)
    with pytest.raises(SecretNotValid):
        causeway.hub.website.call(account_flow.find_owner, code)


def test_a_rejected_password_does_not_invalidate_the_password_link(causeway: Causeway, email: str) -> None:
    user = causeway.hub.website.users.add(email)
    secret = secret_of(causeway.hub.website.call(account_flow.issue_operator_link, user))

    with pytest.raises(InvalidUser) as refused:
        causeway.hub.website.call(account_flow.reset_password, secret, "short", terms_accepted=False)
    assert list(refused.value.problems) == ["password", "terms"]
    changed = causeway.hub.website.call(account_flow.reset_password, secret, NEW, terms_accepted=True)
    assert changed.terms_accepted_at == causeway.clock.time()
