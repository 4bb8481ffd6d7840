"""Claims: a name is free, taken or answered, and belongs to one request until it expires."""

from __future__ import annotations

import pytest

from chalicelib.foundation.dynamodb.store import ConditionFailed, Put
from chalicelib.foundation.identifiers import new_id
from chalicelib.foundation.requests.claims import AnotherRequest, Claim, ClaimKind, Claims
from tests.world import World

KIND = ClaimKind(lifetime=60, digest="fingerprint", answer="outcome")


@pytest.fixture
def claims(world: World) -> Claims:
    return Claims(world.hub.vault, world.clock)


@pytest.fixture
def claim() -> Claim:
    return Claim(KIND, f"test#{new_id()}", "digest", attempt="first")


def store(world: World, put: Put) -> None:
    world.hub.store.put(put.table, put.item, put.condition)


def test_a_name_can_be_claimed_once_until_the_claim_expires(world: World, claims: Claims, claim: Claim) -> None:
    assert claims.find(claim, world.hub.store.get(*claim.key)) is None

    store(world, claims.put(claim))
    with pytest.raises(ConditionFailed):
        store(world, claims.put(claim, "an answer"))

    world.clock.advance(KIND.lifetime)
    assert claims.find(claim, world.hub.store.get(*claim.key)) is None
    store(world, claims.put(claim, "an answer"))


def test_the_answer_is_sealed_and_opened_for_the_same_request_only(world: World, claims: Claims, claim: Claim) -> None:
    store(world, claims.put(claim))
    taken = claims.find(claim, world.hub.store.get(*claim.key))
    assert taken is not None
    assert claims.open_answer(claim, taken) is None

    store(world, claims.put(claim, "an answer", claim.is_own, {"consent_id": "c-1"}))
    item = world.hub.store.get(*claim.key) or {}

    assert b"an answer" not in item["outcome"]
    assert (item["fingerprint"], item["consent_id"]) == ("digest", "c-1")
    assert claims.open_answer(claim, claims.find(claim, item) or {}) == "an answer"
    with pytest.raises(AnotherRequest):
        claims.find(Claim(KIND, claim.name, "another digest"), item)


def test_only_the_attempt_that_holds_a_claim_answers_it(world: World, claims: Claims, claim: Claim) -> None:
    store(world, claims.put(claim))
    other = Claim(KIND, claim.name, claim.digest, attempt="second")

    with pytest.raises(ConditionFailed):
        store(world, claims.put(other, "an answer", other.is_own))
