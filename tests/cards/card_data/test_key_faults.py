"""Tests of unavailable keys: requests that need keys fail with a retryable error, change nothing, and succeed later.

The keys are stored in two secrets: card keys and data keys. The KMS unwraps each key.
"""

from typing import Any

import pytest

from chalicelib.cards.protocol.status_codes import Status
from tests.cards.cases import of_new_card
from tests.cards.issuer import HOLDER_BLOCK, PIN, Issuer
from tests.cards.stored_cards import StoredCards

PLACES = [(ring, service) for ring in ("card_keys", "keyring") for service in ("_secrets", "_kms")]


class Unreliable:
    def __init__(self, service: Any) -> None:
        self._service = service
        self.broken = True

    def __getattr__(self, name: str) -> Any:
        if self.broken:
            raise ConnectionError("the service cannot be reached")
        return getattr(self._service, name)


def breaking(issuer: Issuer, ring: str, service: str) -> Unreliable:
    keys = issuer.hub.cards.keys if ring == "card_keys" else issuer.hub.keyring
    unreliable = Unreliable(getattr(keys, service))
    setattr(keys, service, unreliable)
    return unreliable


@pytest.mark.parametrize(("ring", "service"), PLACES)
def test_card_creation_fails_without_keys_and_succeeds_when_keys_are_available_again(
    new_issuer: Issuer, ring: str, service: str
) -> None:
    fresh = new_issuer.with_own_clock()
    unreliable = breaking(fresh, ring, service)
    members = of_new_card(request_reference_id=new_issuer.reference(), **HOLDER_BLOCK)
    before = StoredCards(new_issuer.causeway).shape()

    refused = fresh.do("createCard", **members)
    left = StoredCards(new_issuer.causeway).shape()
    unreliable.broken = False
    made, again = fresh.do("createCard", **members), fresh.do("createCard", **members)

    assert (refused.status_code, left) == (Status.INTERNAL, before)
    assert made.status == "success"
    assert made.duplicated == 0
    assert again.duplicated == 1
    assert again.data == made.data
    StoredCards(new_issuer.causeway).check()


@pytest.mark.parametrize("action", ["getCardNumber", "getPin", "getCvc2", "getCardAcsPassword", "setPin"])
@pytest.mark.parametrize(("ring", "service"), PLACES)
def test_card_data_actions_fail_without_keys_and_succeed_when_keys_are_available_again(
    new_issuer: Issuer, action: str, ring: str, service: str
) -> None:
    card = new_issuer.card(card_virtual=0, card_pin=PIN)
    members = {"card_id": card.card_id} | ({"pin": PIN} if action == "setPin" else {})
    needed = ring == "keyring" or action in ("getCvc2", "setPin")
    fresh = new_issuer.with_own_clock()
    unreliable = breaking(fresh, ring, service)

    first = fresh.do(action, **members)
    unreliable.broken = False

    assert first.status_code == (Status.INTERNAL if needed else None)
    assert fresh.data(action, **members) == new_issuer.data(action, **members)


@pytest.mark.parametrize(("ring", "service"), PLACES)
def test_a_process_with_cached_keys_works_while_keys_are_unavailable(
    new_issuer: Issuer, ring: str, service: str
) -> None:
    new_issuer.card(card_virtual=0)
    breaking(new_issuer, ring, service)
    new_issuer.clock.advance(61)

    card = new_issuer.card(card_virtual=0)
    assert new_issuer.data("getPin", card_id=card.card_id) == {"pin": card.pin}


@pytest.mark.parametrize(("ring", "service"), PLACES)
def test_actions_that_need_no_key_work_without_keys(new_issuer: Issuer, ring: str, service: str) -> None:
    account, fresh = new_issuer.account(), new_issuer.with_own_clock()
    breaking(fresh, ring, service)

    assert fresh.data("getAccounts", account_id=account)[0]["id"] == account
