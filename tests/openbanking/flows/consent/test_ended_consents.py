"""An expired consent has ended: whoever revokes it gets success, and nothing is changed or sent."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from chalicelib.foundation.dynamodb.store import Item
from chalicelib.openbanking.flows.consent.expiry import record_due_events
from chalicelib.openbanking.flows.consent.tokens import end_consent
from chalicelib.openbanking.records.consents import Consent, consent_key
from tests.openbanking.payer import Payer
from tests.openbanking.spelling import TOKEN
from tests.world import Consented, World

VERSIONS = pytest.mark.parametrize("version", [1, 2])
LIFETIME = 180 * 24 * 3600
Tokens = dict[str, str]


def by_tpp(world: World, version: int, consented: Consented, tokens: Tokens) -> None:
    for token in (tokens["access_token"], tokens["refresh_token"]):
        answer = world.tpp("POST", "/tpp/token/revoke", {"token": token})
        assert (answer.status, answer.body) == (200, {})


def by_bank(world: World, version: int, consented: Consented, tokens: Tokens) -> None:
    for _ in range(2):
        answer = world.bank(version, "/token/revoke", {TOKEN[version]: consented.bank_token})
        assert (answer.status, answer.body) == (200, {"status": "success"})


def by_operator(world: World, version: int, consented: Consented, tokens: Tokens) -> None:
    consent = Consent.from_item(stored_consent(world, tokens["consent_id"]))
    world.hub.openbanking.call(end_consent, consent, by="operator")


def by_second_use_of_the_code(world: World, version: int, consented: Consented, tokens: Tokens) -> None:
    answer = world.tpp("POST", "/tpp/token", {"code": consented.query["code"]})
    assert (answer.status, answer.body["error"]) == (400, "invalid_grant")


Revocation = Callable[[World, int, Consented, Tokens], None]
REVOCATIONS = pytest.mark.parametrize("revoke", [by_tpp, by_bank, by_operator, by_second_use_of_the_code])


def stored_consent(world: World, consent_id: str) -> Item:
    item = world.hub.store.get(*consent_key(consent_id))
    assert item is not None
    return item


def consent_with_tokens(world: World, version: int) -> tuple[Consented, Tokens]:
    world.wants_events()
    consented = world.approve(version)
    return consented, world.tpp("POST", "/tpp/token", {"code": consented.query["code"]}).body


def topics(world: World) -> list[str]:
    return sorted(each.topic for each in world.recorded())


@VERSIONS
@REVOCATIONS
def test_revoking_an_expired_consent_succeeds_and_changes_nothing(
    world: World, revoke: Revocation, version: int
) -> None:
    consented, tokens = consent_with_tokens(world, version)
    world.clock.advance(LIFETIME)
    world.hub.openbanking.call(record_due_events)
    before, recorded = stored_consent(world, tokens["consent_id"]), topics(world)

    revoke(world, version, consented, tokens)

    assert stored_consent(world, tokens["consent_id"]) == before
    assert Consent.from_item(before).state(world.clock.time()) == "expired"
    assert topics(world) == recorded == ["consent.authorised", "consent.expired", "consent.expiring"]


@REVOCATIONS
def test_a_consent_revoked_after_its_end_still_gets_its_expiry_event(world: World, revoke: Revocation) -> None:
    consented, tokens = consent_with_tokens(world, 1)
    world.clock.advance(LIFETIME)

    revoke(world, 1, consented, tokens)
    world.hub.openbanking.call(record_due_events)

    assert topics(world) == ["consent.authorised", "consent.expired", "consent.expiring"]


@VERSIONS
@REVOCATIONS
def test_a_consent_can_be_revoked_until_its_last_second(world: World, revoke: Revocation, version: int) -> None:
    consented, tokens = consent_with_tokens(world, version)
    world.clock.advance(LIFETIME - 1)

    revoke(world, version, consented, tokens)

    assert stored_consent(world, tokens["consent_id"])["status"] == "revoked"
    assert topics(world).count("consent.revoked") == 1


@VERSIONS
def test_revoking_a_spent_consent_after_its_end_changes_nothing(world: World, version: int) -> None:
    payer = Payer(world, version, consent_type="one_time")
    assert payer.pay().status == 200
    (item,) = (each for each in world.hub.store.scan("consents") if each["part"] == "consent")
    world.clock.advance(LIFETIME)

    world.hub.openbanking.call(end_consent, Consent.from_item(item), by="operator")

    assert stored_consent(world, item["consent_id"]) == item
    assert [each.topic for each in world.recorded("revoke_token")] == []


def test_repeated_revocation_after_the_end_returns_the_first_response(world: World) -> None:
    consented, tokens = consent_with_tokens(world, 1)
    headers = {"x-request-id": "b0c2a4de-9f6c-4a38-8f6a-0d2c6c9d5d10"}
    body = {TOKEN[1]: consented.bank_token}
    first = world.bank(1, "/token/revoke", body, headers=headers)
    world.clock.advance(LIFETIME)

    assert world.bank(1, "/token/revoke", body, headers=headers).body == first.body == {"status": "success"}
    assert stored_consent(world, tokens["consent_id"])["status"] == "revoked"
