"""Tests of single use: only one of several requests with the same identifier succeeds, even if a response is lost."""

from functools import partial
from typing import Any

import pytest

from chalicelib.foundation.dynamodb.store import StoreError, StoreUnavailable
from chalicelib.openbanking.oauth.tpp_request import TppCredentials
from chalicelib.openbanking.protocol import refusals
from chalicelib.openbanking.protocol.errors import Refusal
from chalicelib.openbanking.records.single_use import SingleUse, SingleUses, UsedBefore
from tests.cards.contest import MANY, PROCESSES, at_once
from tests.causeway import Causeway
from tests.openbanking.key_holder import BASE, KeyHolder, secure

ONE, OTHER = SingleUse("client", "one", 2_000_000_000), SingleUse("client", "other", 2_000_000_000)


@pytest.fixture
def uses(causeway: Causeway) -> SingleUses:
    return SingleUses(causeway.hub.delivery.engine)


def test_a_second_use_of_an_identifier_is_refused(uses: SingleUses) -> None:
    uses.claim([ONE])

    with pytest.raises(UsedBefore):
        uses.claim([ONE])


def test_several_identifiers_are_claimed_together_or_not_at_all(uses: SingleUses) -> None:
    uses.claim([ONE])

    with pytest.raises(UsedBefore) as caught:
        uses.claim([OTHER, ONE])
    assert caught.value.position == 1
    uses.claim([OTHER])


def test_two_issuers_may_use_the_same_identifier(uses: SingleUses) -> None:
    uses.claim([ONE])

    uses.claim([SingleUse("other client", ONE.identifier, ONE.expires_at)])


@pytest.mark.parametrize("claimed", [[ONE], [ONE, OTHER]])
@pytest.mark.parametrize("applied", [True, False])
def test_a_claim_with_a_lost_storage_response_is_detected(
    causeway: Causeway, uses: SingleUses, claimed: list[SingleUse], applied: bool
) -> None:
    method = "put" if len(claimed) == 1 else "transact"

    with causeway.answer_lost(method, applied=applied):
        if applied:
            uses.claim(claimed)
        else:
            with pytest.raises(StoreUnavailable):
                uses.claim(claimed)
    if applied:
        with pytest.raises(UsedBefore):
            uses.claim(claimed)
    else:
        uses.claim(claimed)


def test_a_used_identifier_expires_with_its_token(causeway: Causeway, uses: SingleUses) -> None:
    uses.claim([ONE])

    item = causeway.hub.store.get(*ONE.key)
    assert item is not None
    assert item["expires_at"] == ONE.expires_at
    assert "one" not in item["claim"]


# -- many at once


def attempt(causeway: Causeway, hubs: list[Any], credentials: TppCredentials, number: int) -> Any:
    try:
        return hubs[number % PROCESSES].openbanking.tpp_authentication.authenticate_bearer(credentials)
    except Refusal as refusal:
        return refusal.message
    except StoreError as error:
        return error


@pytest.mark.dynamodb
@pytest.mark.faults
def test_only_one_of_50_requests_with_the_same_proof_is_accepted(causeway: Causeway) -> None:
    holder = KeyHolder()
    secure(causeway, holder)
    token = holder.tokens(causeway)["access_token"]
    hubs = [causeway.another_process() for _ in range(PROCESSES)]
    credentials = TppCredentials(
        causeway.tpp.client_id,
        bearer=token,
        scheme="DPoP",
        proof=holder.proof(causeway, "GET", "/tpp/consent", token),
        method="GET",
        endpoints=(f"{BASE}/tpp/consent",),
    )

    got = at_once([partial(attempt, causeway, hubs, credentials, number) for number in range(MANY)])

    refused = [each for each in got if each == refusals.PROOF_WRONG().message]
    lost = [each for each in got if isinstance(each, StoreError)]
    assert len(got) - len(refused) - len(lost) == 1


@pytest.mark.dynamodb
@pytest.mark.faults
def test_only_one_of_50_requests_with_the_same_assertion_is_accepted(causeway: Causeway) -> None:
    holder = KeyHolder()
    secure(causeway, holder)
    hubs = [causeway.another_process() for _ in range(PROCESSES)]
    credentials = TppCredentials(causeway.tpp.client_id, assertion=holder.assertion(causeway), endpoints=(BASE,))

    def ask(number: int) -> Any:
        try:
            return hubs[number % PROCESSES].openbanking.tpp_authentication.authenticate_client(credentials)
        except Refusal as refusal:
            return refusal.message
        except StoreError as error:
            return error

    got = at_once([partial(ask, number) for number in range(MANY)])

    refused = [each for each in got if each == refusals.ASSERTION_WRONG().message]
    lost = [each for each in got if isinstance(each, StoreError)]
    assert len(got) - len(refused) - len(lost) == 1
