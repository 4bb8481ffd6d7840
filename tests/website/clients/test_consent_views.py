"""Consents of a user's own clients: lists, pages and revocation."""

import html
import re
from urllib.parse import urlencode

import pytest

from chalicelib.openbanking.flows.consent.tokens import end_consent
from chalicelib.openbanking.protocol.tpp_calls import ConsentsQuery
from chalicelib.openbanking.records.consents import Consent
from tests.causeway import Causeway
from tests.kit.storage import record_calls
from tests.openbanking.kit import IBAN
from tests.website.web_user import WebUser

DAY = 24 * 3600
SESSION = "BatchGetItem"


@pytest.fixture
def client_id(causeway: Causeway, user: WebUser) -> str:
    client_id = user.create_client("Budget Friend", events_url=causeway.receiver.url)
    causeway.tpp.client = causeway.hub.openbanking.clients.get(client_id)
    return client_id


def approved(causeway: Causeway, version: int = 1, **members: object) -> str:
    return causeway.psu.approve(version, **members).bank_token.partition(".")[0]


def approved_for(causeway: Causeway, **identifiers: list[str]) -> str:
    asked = causeway.tpp.authorize(1)
    answer = causeway.banks[1].call("/consent", causeway.banks[1].consent_body(asked["redirect_url"]) | identifiers)
    consent_id: str = answer.body["access_token"].partition(".")[0]
    return consent_id


def listed(user: WebUser, **query: object) -> list[str]:
    assert user.get(f"/consents?{urlencode(query)}").status == 200
    return re.findall(r'<a href="/consents/([0-9a-f]{22})">', user.last.text)


def link(user: WebUser, rel: str) -> str:
    found = re.search(rf'href="([^"]+)" rel="{rel}"', user.last.text)
    return html.unescape(found[1]) if found else ""


def stored(causeway: Causeway, consent_id: str) -> Consent:
    consent = causeway.hub.openbanking.consent_list.find(consent_id)
    assert consent is not None
    return consent


def state(causeway: Causeway, consent_id: str) -> str:
    return stored(causeway, consent_id).state(causeway.clock.time())


def test_the_consent_list_of_a_user_without_a_client_shows_a_message(user: WebUser) -> None:
    assert listed(user) == []
    assert "You have no clients yet" in user.text


def test_a_client_without_consents_gets_a_link_to_request_a_consent(user: WebUser, client_id: str) -> None:
    assert listed(user) == []
    assert "Budget Friend has no consents yet" in user.text
    assert f'href="/authorize?client_id={client_id}"' in user.last.text


def test_consents_are_listed_newest_first_with_expiry_and_last_use(
    causeway: Causeway, user: WebUser, client_id: str
) -> None:
    used = causeway.tpp.tokens(1)["consent_id"]
    causeway.clock.advance(60)
    unused = approved(causeway, 2)

    assert listed(user) == [unused, used]
    first, second = user.text.split(unused)[1].split(used)
    assert "authorised accounts 2 Mar 2026 29 Aug 2026 \u2013" in first
    assert "authorised account.list, account.details 2 Mar 2026" in second
    assert second.split("29 Aug 2026")[1].startswith(" 2 Mar 2026 ")


def test_consents_are_filtered_by_client_bank_and_status(causeway: Causeway, user: WebUser, client_id: str) -> None:
    first, second = approved(causeway, 1), approved(causeway, 2)
    causeway.hub.openbanking.call(end_consent, stored(causeway, second), by="bank")
    other = user.create_client("Another")

    assert set(listed(user, client_id=client_id)) == {first, second}
    assert listed(user, client_id=client_id, bic="ALPHGB21") == [first]
    assert listed(user, client_id=client_id, status="revoked") == [second]
    assert listed(user, client_id=client_id, bic="ALPHGB21", status="revoked") == []
    assert "No consents of Budget Friend match this filter" in user.text
    assert listed(user, client_id=other) == []


def test_21_consents_are_listed_on_two_pages(causeway: Causeway, user: WebUser, client_id: str) -> None:
    ids = [approved(causeway) for _ in range(21)]
    first = listed(user)
    older = link(user, "next")
    assert (len(first), link(user, "prev")) == (20, "")
    user.get(older)
    second = re.findall(r'<a href="/consents/([0-9a-f]{22})">', user.last.text)

    assert sorted(first + second) == sorted(ids)
    assert link(user, "next") == ""
    user.get(link(user, "prev"))
    assert link(user, "next") == older


@pytest.mark.parametrize("query", ["after=nothing", "status=unheard-of", "bic=NO", "client_id=nothing"])
def test_an_invalid_consent_filter_returns_404(user: WebUser, client_id: str, query: str) -> None:
    assert user.get(f"/consents?{query}").status == 404


def test_the_consent_page_shows_accounts_scopes_expiry_last_use_and_deliveries(
    causeway: Causeway, user: WebUser, client_id: str
) -> None:
    consent_id = causeway.tpp.tokens(1)["consent_id"]
    for delivery in causeway.recorded("event"):
        causeway.hub.delivery.worker.attempt(delivery.delivery_id)
    user.get(f"/consents/{consent_id}")

    assert "Consent at Bank of version 1 authorised" in user.text
    assert f"IBAN {IBAN}" in user.text
    assert "account.list" in user.text
    assert "account.details" in user.text
    assert "180 days left" in user.text
    assert "Last used 2 Mar 2026" in user.text
    assert re.search(r"consent\.authorised Event delivered", user.text)


def test_a_consent_has_a_row_per_account_if_the_account_ids_match(
    causeway: Causeway, user: WebUser, client_id: str
) -> None:
    second = "DE89370400440532013000"
    user.get(f"/consents/{approved_for(causeway, ibans=[IBAN, second], account_ids=['a-1', 'a-2'])}")
    assert f"IBAN Account id {IBAN} a-1 {second} a-2" in user.text

    user.get(f"/consents/{approved_for(causeway, ibans=[IBAN, second], account_ids=['a-1'])}")
    assert f"IBAN {IBAN} {second} Account id a-1" in user.text


def test_a_consent_page_lists_only_its_own_deliveries(causeway: Causeway, user: WebUser, client_id: str) -> None:
    first = approved(causeway)
    causeway.clock.advance(1)
    approved(causeway)
    user.get(f"/consents/{first}")

    assert user.text.count("consent.authorised Event") == 1


def test_ending_a_consent_requires_a_confirmation_and_notifies_bank_and_client(
    causeway: Causeway, user: WebUser, client_id: str
) -> None:
    tokens = causeway.tpp.tokens(1)
    path = f"/consents/{tokens['consent_id']}"
    user.get(path)
    assert "End this consent" in user.text
    user.get(f"{path}?ask=end")
    assert "End this consent?" in user.text
    assert state(causeway, tokens["consent_id"]) == "authorised"
    user.post(path)
    user.follow()

    assert "The consent has ended." in user.text
    assert "by the client, or here by its owner" in user.text
    assert "End this consent" not in user.text
    assert state(causeway, tokens["consent_id"]) == "revoked"
    assert [delivery.topic for delivery in causeway.recorded("event")].count("consent.revoked") == 1
    assert len(causeway.recorded("revoke_token")) == 1
    assert causeway.tpp.call("GET", "/tpp/consent", bearer=tokens["access_token"]).status == 401


def test_a_duplicate_form_submission_ends_a_consent_once(causeway: Causeway, user: WebUser, client_id: str) -> None:
    path = f"/consents/{approved(causeway)}"
    user.get(path)
    token = user.token
    answers = [user.post(path, token).status for _ in range(2)]

    assert answers == [303, 303]
    assert len(causeway.recorded("revoke_token")) == 1


def test_an_expired_consent_cannot_be_ended(causeway: Causeway, user: WebUser, email: str, client_id: str) -> None:
    consent_id = approved(causeway)
    causeway.clock.advance(181 * DAY)
    user = WebUser.signed_in(causeway, email)
    user.get(f"/consents/{consent_id}?ask=end")

    assert "Consent at Bank of version 1 expired" in user.text
    assert "End this consent" not in user.text
    assert user.post(f"/consents/{consent_id}").status == 303
    assert state(causeway, consent_id) == "expired"


def test_a_consent_of_another_users_client_returns_404(causeway: Causeway, user: WebUser, client_id: str) -> None:
    consent_id = approved(causeway)
    other = WebUser.signed_in(causeway, "other@example.com")
    other.create_client()

    assert other.get(f"/consents/{consent_id}").status == 404
    assert other.get(f"/consents?client_id={client_id}").status == 404
    assert other.post(f"/consents/{consent_id}").status == 404
    assert state(causeway, consent_id) == "authorised"


@pytest.mark.parametrize("consent_id", ["nothing", "x" * 3000])
def test_an_unknown_consent_returns_404(user: WebUser, consent_id: str) -> None:
    assert user.get(f"/consents/{consent_id}").status == 404


def test_a_consent_of_an_inactive_client_can_be_ended(causeway: Causeway, user: WebUser, client_id: str) -> None:
    consent_id = approved(causeway)
    causeway.hub.openbanking.clients.deactivate(client_id)
    user.get(f"/consents/{consent_id}")
    user.post(f"/consents/{consent_id}")

    assert state(causeway, consent_id) == "revoked"


def test_pages_of_an_archived_client_link_to_its_consents(causeway: Causeway, user: WebUser, client_id: str) -> None:
    consent_id = approved(causeway)
    causeway.hub.openbanking.clients.archive(client_id)
    link = f'href="/consents?client_id={client_id}"'
    for page in (f"/clients/{client_id}/activity", f"/consents/{consent_id}"):
        assert link in user.get(page).text
    user.get(f"/consents?client_id={client_id}")

    assert f'href="/consents/{consent_id}"' in user.last.text
    assert "Request a consent" not in user.text


def test_an_unknown_client_returns_404_for_a_user_without_clients(user: WebUser) -> None:
    assert [user.get(f"{place}?client_id=nothing").status for place in ("/consents", "/deliveries")] == [404, 404]
    assert [user.get(place).status for place in ("/consents", "/deliveries")] == [200, 200]


def test_the_consent_list_makes_a_constant_number_of_storage_calls(
    causeway: Causeway, user: WebUser, client_id: str
) -> None:
    user.get("/consents")
    for _ in range(45):
        approved(causeway)
    with record_calls(causeway) as calls:
        user.get(f"/consents?client_id={client_id}")

    assert calls == [SESSION, "Query", "Query", "BatchGetItem"]
    page = causeway.hub.openbanking.consent_list.page(client_id, ConsentsQuery())
    assert len(page.consents) == 20


def test_a_consent_page_makes_a_constant_number_of_storage_calls(
    causeway: Causeway, user: WebUser, client_id: str
) -> None:
    consent_id = approved(causeway)
    user.get("/consents")
    with record_calls(causeway) as calls:
        user.get(f"/consents/{consent_id}")

    assert calls == [SESSION, "BatchGetItem", "BatchGetItem", *["Query"] * 8, "BatchGetItem"]
