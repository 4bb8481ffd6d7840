"""Claims of names: a name is unclaimed, is claimed, or has a response. A claim belongs to one request until the claim
expires.
"""

import pytest

from chalicelib.foundation.dynamodb.store import ConditionFailed, Put
from chalicelib.foundation.identifiers import new_id
from chalicelib.foundation.requests.claims import AnotherRequest, Claim, ClaimKind, Claims
from tests.causeway import Causeway

KIND = ClaimKind(lifetime=60, digest="fingerprint", answer="outcome")


@pytest.fixture
def claims(causeway: Causeway) -> Claims:
    return Claims(causeway.hub.vault, causeway.clock)


@pytest.fixture
def claim() -> Claim:
    return Claim(KIND, f"test#{new_id()}", "digest", attempt="first")


def store(causeway: Causeway, put: Put) -> None:
    causeway.hub.store.put(put.table, put.item, put.condition)


def test_a_name_can_be_claimed_only_once_until_the_claim_expires(
    causeway: Causeway, claims: Claims, claim: Claim
) -> None:
    assert claims.find(claim, causeway.hub.store.get(*claim.key)) is None

    store(causeway, claims.put(claim))
    with pytest.raises(ConditionFailed):
        store(causeway, claims.put(claim, "an answer"))

    causeway.clock.advance(KIND.lifetime)
    assert claims.find(claim, causeway.hub.store.get(*claim.key)) is None
    store(causeway, claims.put(claim, "an answer"))


def test_a_stored_response_is_encrypted_and_can_be_decrypted_only_for_its_request(
    causeway: Causeway, claims: Claims, claim: Claim
) -> None:
    store(causeway, claims.put(claim))
    taken = claims.find(claim, causeway.hub.store.get(*claim.key))
    assert taken is not None
    assert claims.open_answer(claim, taken) is None

    store(causeway, claims.put(claim, "an answer", claim.is_own, {"consent_id": "c-1"}))
    item = causeway.hub.store.get(*claim.key) or {}

    assert b"an answer" not in item["outcome"]
    assert (item["fingerprint"], item["consent_id"]) == ("digest", "c-1")
    assert claims.open_answer(claim, claims.find(claim, item) or {}) == "an answer"
    with pytest.raises(AnotherRequest):
        claims.find(Claim(KIND, claim.name, "another digest"), item)


def test_only_the_attempt_with_the_current_claim_can_store_a_response(
    causeway: Causeway, claims: Claims, claim: Claim
) -> None:
    store(causeway, claims.put(claim))
    other = Claim(KIND, claim.name, claim.digest, attempt="second")

    with pytest.raises(ConditionFailed):
        store(causeway, claims.put(other, "an answer", other.is_own))
