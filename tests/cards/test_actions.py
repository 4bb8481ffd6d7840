"""Tests that compare every action with the specification's tables, with all members and with required members."""

from typing import Any

import pytest

from tests.cards import request_records, whole_requests
from tests.cards.action_checks import call, check, rows
from tests.cards.issuer import Issuer
from tests.cards.specification import TABLES, Member
from tests.cards.whole_requests import BY_ACTION, Records

EVERY = pytest.mark.parametrize("action", BY_ACTION)
OF_NOBODY = {
    "assignExternalPaymentAddressForSpecialAccount": {"holder_id"},
    "simulateInboundPayment": {"reason"},
    "simulateDirectDebit": {"reason"},
}
"""Members that no response in these tests has. For example, a special account has no holder."""


@EVERY
def test_an_action_accepts_every_request_member_and_returns_every_response_member(issuer: Issuer, action: str) -> None:
    answered: set[str] = set()

    for n in range(len(whole_requests.whole(action))):
        members = whole_requests.whole(action, request_records.create_records(issuer, action))[n]
        for row in rows(action, call(issuer, action, members)):
            check(action, row)
            answered |= set(row)

    assert answered == set(TABLES[action].answer) - OF_NOBODY.get(action, set())


@EVERY
def test_an_action_accepts_a_request_without_optional_members(issuer: Issuer, action: str) -> None:
    records: Records = request_records.create_records(issuer, action)

    for row in rows(action, call(issuer, action, whole_requests.least(action, records))):
        check(action, row)


@EVERY
def test_an_action_accepts_numbers_as_digit_strings(issuer: Issuer, action: str) -> None:
    """The test sends a digit string for every number and an ISO code with leading zeros."""
    records = request_records.create_records(issuer, action)
    members = whole_requests.whole(action, records)[0]
    in_words = {name: _in_words(TABLES[action].request[name], value) for name, value in members.items()}

    for row in rows(action, call(issuer, action, in_words)):
        check(action, row)


def _in_words(member: Member, value: Any) -> Any:
    if isinstance(value, list):
        return ",".join(map(str, value)) if member.type.startswith("EXT-LIST") else value
    if isinstance(value, dict):
        return {name: str(inner) for name, inner in value.items()}
    return f"{value:03}" if member.type in ("CURRENCY", "COUNTRY") else str(value)


@EVERY
def test_a_repeated_request_without_a_reference_is_executed_again(issuer: Issuer, action: str) -> None:
    """The service does not deduplicate requests without a reference.

    The second request fails only if the first request changed the state.
    """
    members = whole_requests.whole(action, request_records.create_records(issuer, action))[0]
    expected = {
        "activateCard": 4006,
        "unblockPin": 4007,
        "authenticationConfirm": 4008,
        "createCardAcsMerchantWhitelistRule": 2005,
        "cancelExternalPaymentMandate": 4005,
        "inboundReturn": 4004,
        "directDebitReturn": 4004,
        "directCreditReturn": 4004,
        "simulateExpiry": 4008,
        "simulateDispute": 4008,
    }

    first, second = (call(issuer, action, members) for _ in range(2))

    assert (first.status_code, second.status_code) == (None, expected.get(action))
    assert second.duplicated == 0
    if action.startswith("create") and second.status_code is None:
        assert (first.id, first.data) != (second.id, second.data)
