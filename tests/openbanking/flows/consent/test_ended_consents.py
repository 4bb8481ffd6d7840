"""Tests of expired consents: a revocation succeeds without a change or a notification."""

from collections.abc import Callable

import pytest

from chalicelib.foundation.dynamodb.store import Item
from chalicelib.openbanking.flows.consent.expiry import record_due_events
from chalicelib.openbanking.flows.consent.tokens import end_consent
from chalicelib.openbanking.records.consents import Consent, consent_key
from tests.causeway import Causeway
from tests.openbanking.kit import TOKEN, VERSIONS, Consented
from tests.openbanking.payments import Pisp

LIFETIME = 180 * 24 * 3600
Tokens = dict[str, str]


def by_tpp(causeway: Causeway, version: int, consented: Consented, tokens: Tokens) -> None:
    for token in (tokens["access_token"], tokens["refresh_token"]):
        answer = causeway.tpp.call("POST", "/tpp/token/revoke", {"token": token})
        assert (answer.status, answer.body) == (200, {})


def by_bank(causeway: Causeway, version: int, consented: Consented, tokens: Tokens) -> None:
    for _ in range(2):
        answer = causeway.banks[version].call("/token/revoke", {TOKEN[version]: consented.bank_token})
        assert (answer.status, answer.body) == (200, {"status": "success"})


def by_operator(causeway: Causeway, version: int, consented: Consented, tokens: Tokens) -> None:
    consent = Consent.from_item(stored_consent(causeway, tokens["consent_id"]))
    causeway.hub.openbanking.call(end_consent, consent, by="operator")


def by_second_use_of_the_code(causeway: Causeway, version: int, consented: Consented, tokens: Tokens) -> None:
    answer = causeway.tpp.call("POST", "/tpp/token", {"code": consented.query["code"]})
    assert (answer.status, answer.body["error"]) == (400, "invalid_grant")


Revocation = Callable[[Causeway, int, Consented, Tokens], None]
REVOCATIONS = pytest.mark.parametrize("revoke", [by_tpp, by_bank, by_operator, by_second_use_of_the_code])


def stored_consent(causeway: Causeway, consent_id: str) -> Item:
    item = causeway.hub.store.get(*consent_key(consent_id))
    assert item is not None
    return item


def consent_with_tokens(causeway: Causeway, version: int) -> tuple[Consented, Tokens]:
    causeway.tpp.set_events_url()
    consented = causeway.psu.approve(version)
    return consented, causeway.tpp.call("POST", "/tpp/token", {"code": consented.query["code"]}).body


def topics(causeway: Causeway) -> list[str]:
    return sorted(each.topic for each in causeway.recorded())


@VERSIONS
@REVOCATIONS
def test_revoking_an_expired_consent_succeeds_and_changes_nothing(
    causeway: Causeway, revoke: Revocation, version: int
) -> None:
    consented, tokens = consent_with_tokens(causeway, version)
    causeway.clock.advance(LIFETIME)
    causeway.hub.openbanking.call(record_due_events)
    before, recorded = stored_consent(causeway, tokens["consent_id"]), topics(causeway)

    revoke(causeway, version, consented, tokens)

    assert stored_consent(causeway, tokens["consent_id"]) == before
    assert Consent.from_item(before).state(causeway.clock.time()) == "expired"
    assert topics(causeway) == recorded == ["consent.authorised", "consent.expired", "consent.expiring"]


@REVOCATIONS
def test_revoking_a_consent_after_its_expiry_does_not_prevent_the_expiry_event(
    causeway: Causeway, revoke: Revocation
) -> None:
    consented, tokens = consent_with_tokens(causeway, 1)
    causeway.clock.advance(LIFETIME)

    revoke(causeway, 1, consented, tokens)
    causeway.hub.openbanking.call(record_due_events)

    assert topics(causeway) == ["consent.authorised", "consent.expired", "consent.expiring"]


@VERSIONS
@REVOCATIONS
def test_a_consent_can_be_revoked_until_the_last_second_of_its_validity(
    causeway: Causeway, revoke: Revocation, version: int
) -> None:
    consented, tokens = consent_with_tokens(causeway, version)
    causeway.clock.advance(LIFETIME - 1)

    revoke(causeway, version, consented, tokens)

    assert stored_consent(causeway, tokens["consent_id"])["status"] == "revoked"
    assert topics(causeway).count("consent.revoked") == 1


@VERSIONS
def test_revoking_a_used_one_time_consent_after_its_expiry_changes_nothing(causeway: Causeway, version: int) -> None:
    pisp = Pisp(causeway, version, consent_type="one_time")
    assert pisp.pay().status == 200
    (item,) = (each for each in causeway.hub.store.scan("consents") if each["part"] == "consent")
    causeway.clock.advance(LIFETIME)

    causeway.hub.openbanking.call(end_consent, Consent.from_item(item), by="operator")

    assert stored_consent(causeway, item["consent_id"]) == item
    assert [each.topic for each in causeway.recorded("revoke_token")] == []


def test_a_revocation_retried_after_the_expiry_of_the_consent_returns_the_first_response(causeway: Causeway) -> None:
    consented, tokens = consent_with_tokens(causeway, 1)
    headers = {"x-request-id": "b0c2a4de-9f6c-4a38-8f6a-0d2c6c9d5d10"}
    body = {TOKEN[1]: consented.bank_token}
    first = causeway.banks[1].call("/token/revoke", body, headers=headers)
    causeway.clock.advance(LIFETIME)

    assert causeway.banks[1].call("/token/revoke", body, headers=headers).body == first.body == {"status": "success"}
    assert stored_consent(causeway, tokens["consent_id"])["status"] == "revoked"
