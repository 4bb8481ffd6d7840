"""Parallel requests to the card API of the running stack execute each reference once."""

import uuid
from collections import Counter
from typing import Any

import pytest

from tests.cards.cases import of_new_card
from tests.cards.issuer import DELIVERY, EUR, HOLDER_BLOCK, PIN
from tests.e2e.parties import ProgrammeManager, at_once

pytestmark = [pytest.mark.e2e, pytest.mark.faults]

MANY = 50
NOT_DECIDED_IN_TIME = "91"
"""The response code of a request that a slow machine does not decide in time. The card network repeats this request."""


@pytest.fixture
def manager(stack: dict[str, Any]) -> ProgrammeManager:
    return ProgrammeManager(stack)


def test_50_identical_card_orders_create_one_card_and_have_the_same_response(manager: ProgrammeManager) -> None:
    members = of_new_card(request_reference_id=str(uuid.uuid4()), **HOLDER_BLOCK)

    answers = [answer.json() for answer in at_once(MANY, lambda: manager.post("/api", "createCard", **members))]

    assert Counter(answer["status"] for answer in answers) == {"success": MANY}
    assert Counter(answer["duplicated"] for answer in answers) == {0: 1, 1: MANY - 1}
    ((card, holder),) = {(answer["data"]["card_id"], answer["data"]["holder_id"]) for answer in answers}
    assert [each["holder_id"] for each in manager.data("getHolderAccounts", holder_id=holder)] == [holder]
    assert manager.data("getCardNumber", card_id=card) == {"pan": answers[0]["data"]["pan"]}


def test_50_parallel_wrong_pins_are_all_counted(manager: ProgrammeManager) -> None:
    made = of_new_card(card_virtual=0, card_pin=PIN, **DELIVERY, **HOLDER_BLOCK)
    card = manager.data("createCard", **made)["card_id"]
    manager.data("activateCard", card_id=card)
    guess = {"card_id": card, "transaction_type": 39, "amount": 0, "currency_ison": EUR, "pin": "0000"}

    def asked_until_decided() -> str:
        while (code := manager.simulated("simulateAuthorization", **guess)["response_code"]) == NOT_DECIDED_IN_TIME:
            pass
        return str(code)

    assert Counter(at_once(MANY, asked_until_decided)) == {"55": 2, "75": MANY - 2}
    shown = manager.data("getCardDetails", card_id=card)
    assert (shown["invalid_pin_tries"], shown["pin_status"]) == (3, 1)
