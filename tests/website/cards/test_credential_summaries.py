"""The client list displays names and call limits of card API credentials, but only to linked users."""

import re
from collections.abc import Mapping
from dataclasses import replace

import pytest

from chalicelib.cards.programs.credentials import Credentials
from chalicelib.cards.protocol import portal_messages
from chalicelib.foundation.dynamodb.store import StoreUnavailable
from tests.cards.issuer import MANAGER, OTHER_MANAGER, Issuer
from tests.causeway import Causeway
from tests.kit.storage import record_calls
from tests.website.conftest import link
from tests.website.web_user import PAGE_BYTES, WebUser

HEADING = "Credentials of the card API"


def limits(user: WebUser) -> Mapping[str, str]:
    rows = user.get("/clients").text.partition(HEADING)[2]
    found = re.findall(
        r'<td data-label="Credential"[^>]*>([^<]+)</td>\s*<td data-label="Limit of calls">(.+?)</td>', rows
    )
    return {name: re.sub("<[^>]+>", " ", limit).strip() for name, limit in found}


def test_a_linked_user_sees_the_call_limit_of_a_credential(issuer: Issuer, colleague: WebUser) -> None:
    issuer.with_credential("own-limit", calls_per_minute=1200)

    assert limits(colleague)["own-limit"] == "1,200 a minute Its own"


def test_a_credential_without_its_own_limit_shows_the_default_limit(shared_causeway: Causeway, email: str) -> None:
    causeway = shared_causeway.again(replace(shared_causeway.hub.settings, credential_calls=4321))
    with causeway.installed():
        colleague = WebUser.signed_in(causeway, email)
        link(causeway, email)

        assert limits(colleague)["full"] == "4,321 a minute The default"


def test_the_page_contains_no_keys_or_secrets_of_credentials(issuer: Issuer, colleague: WebUser) -> None:
    issuer.with_credential("key-holder")
    text = colleague.get("/clients").text

    assert "key-holder" in text
    stored = issuer.hub.cards.credentials.get(MANAGER, "key-holder").keys[0]
    digests = issuer.hub.cards.programmes.set_up(MANAGER).credentials.values()
    secrets = [part for parts in issuer.secrets.values() for part in parts.values()]
    assert not [part for part in (*secrets, *digests, stored.api_id, stored.api_key) if part in text]


def test_an_unlinked_user_sees_no_credentials(issuer: Issuer, user: WebUser) -> None:
    issuer.with_credential("own-limit", calls_per_minute=1200)

    assert HEADING not in user.get("/clients").text


def test_a_user_sees_only_the_credentials_of_their_programme_manager(
    causeway: Causeway, issuer: Issuer, email: str
) -> None:
    issuer.with_credential("not-theirs")
    other = WebUser.signed_in(causeway, email)
    link(causeway, email, OTHER_MANAGER)
    issuer.with_credential("theirs", manager=OTHER_MANAGER)

    assert "theirs" in limits(other)
    assert "not-theirs" not in limits(other)


def test_a_programme_manager_without_credentials_has_no_credentials_section(
    colleague: WebUser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Credentials, "current", lambda *_: [])

    assert HEADING not in colleague.get("/clients").text


def test_credentials_are_shown_on_the_first_unfiltered_page_of_clients(colleague: WebUser) -> None:
    colleague.create_client()

    assert "full" in limits(colleague)
    assert HEADING not in colleague.get("/clients?active=yes").text
    assert HEADING not in colleague.get("/clients?after=1-x").text


def test_reading_credentials_makes_two_storage_calls_and_credentials_are_cached_for_a_minute(
    causeway: Causeway, colleague: WebUser
) -> None:
    colleague.get("/")
    causeway.clock.advance(61)
    with record_calls(causeway) as first:
        colleague.get("/clients")
    causeway.clock.advance(59)
    with record_calls(causeway) as later:
        colleague.get("/clients")
    causeway.clock.advance(1)
    with record_calls(causeway) as after_a_minute:
        colleague.get("/clients")

    assert first == ["BatchGetItem", "Query", "Query", "BatchGetItem"]
    assert later == ["BatchGetItem", "Query"]
    assert after_a_minute == first


def test_clients_are_listed_if_credentials_cannot_be_read(colleague: WebUser, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise StoreUnavailable

    colleague.create_client("Budget Friend")
    monkeypatch.setattr(Credentials, "current", fail)

    assert colleague.get("/clients").status == 200
    assert "Budget Friend" in colleague.text
    assert "The credentials could not be read." in colleague.text


def test_a_long_credential_list_is_sorted_by_name_and_truncated(
    issuer: Issuer, colleague: WebUser, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = sorted(issuer.hub.cards.programmes.credentials(MANAGER))
    monkeypatch.setattr(portal_messages, "CREDENTIALS", 2)

    assert [*limits(colleague)] == names[:2]
    assert "Only the first 2 credentials by name are shown." in colleague.text


def test_the_page_with_the_maximum_number_of_credentials_is_within_its_size_budget(
    issuer: Issuer, colleague: WebUser, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = issuer.hub.cards.credentials.get(MANAGER, "full")
    many = [replace(one, name=f"{'partner-' * 8}{number}") for number in range(portal_messages.CREDENTIALS)]
    monkeypatch.setattr(Credentials, "current", lambda *_: many)

    assert len(limits(colleague)) == len(many)
    assert len(colleague.last.text.encode()) <= PAGE_BYTES
