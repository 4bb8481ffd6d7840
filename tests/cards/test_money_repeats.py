"""Tests of retried money movements: a retry returns the stored response, even if later changes would cause an error.

The programme manager or the request itself may have changed the records since the first call.
"""

from collections.abc import Callable, Mapping

import pytest

from tests.cards import request_records, whole_requests
from tests.cards.action_checks import call, is_repeat
from tests.cards.cases import MONEY_CASES
from tests.cards.issuer import Issuer
from tests.cards.whole_requests import Records

pytestmark = pytest.mark.faults

Spoil = Callable[[Issuer, Records], object]


def blocked_address(issuer: Issuer, records: Records) -> object:
    return issuer.data("changeExternalPaymentAddressStatus", epm_address_id=records.address_id, status="B")


def suspended_account(issuer: Issuer, records: Records) -> object:
    return issuer.data("changeAccountStatus", account_id=records.account_id, account_status="S")


def nothing(issuer: Issuer, records: Records) -> object:
    return None


def passed(issuer: Issuer, records: Records) -> object:
    return issuer.data("simulateDirectDebit", epm_transaction_id=records.epm_transaction_id)


def returned(issuer: Issuer, records: Records) -> object:
    return issuer.result(records.epm_transaction_id, "returned")


SPOILT: Mapping[str, tuple[Spoil, int]] = {
    "assignExternalPaymentAddress": (suspended_account, 4003),
    "cancelExternalPaymentMandate": (nothing, 4005),
    "changeDDExternalPaymentStatus": (passed, 4008),
    "changeExternalPaymentAddressStatus": (blocked_address, 4002),
    "transferToExternalPayment": (blocked_address, 4008),
    "inboundReturn": (nothing, 4004),
    "directDebitReturn": (nothing, 4004),
    "directCreditReturn": (nothing, 4004),
    "createCustomFee": (suspended_account, 4003),
    "simulateMandate": (blocked_address, 4008),
    "simulateDirectDebit": (blocked_address, 0),
    "simulateInboundPayment": (blocked_address, 0),
    "simulateOutboundResult": (returned, 4004),
}
"""The change after each action, and the status code of an equal new request after the change (0 for a success)."""
NEVER_SPOILT = {"assignExternalPaymentAddressForSpecialAccount"}
"""Actions on special accounts, which have no states and cannot be removed during use."""


def test_the_test_cases_cover_every_write_that_moves_money() -> None:
    writes = {case.action.name for case in MONEY_CASES if case.action.effect == "write"}

    assert writes == SPOILT.keys() | NEVER_SPOILT


@pytest.mark.parametrize("action", SPOILT)
def test_a_retry_returns_the_stored_response_after_the_action_became_impossible(issuer: Issuer, action: str) -> None:
    records = request_records.create_records(issuer, action)
    members = whole_requests.whole(action, records)[0]
    spoil, code = SPOILT[action]
    first = call(issuer, action, members | {"request_reference_id": (reference := issuer.reference())})

    spoil(issuer, records)
    before = issuer.balances(records.account_id)
    repeat = call(issuer.with_own_clock(), action, members | {"request_reference_id": reference})
    after = issuer.balances(records.account_id)
    another = call(issuer, action, members | {"request_reference_id": issuer.reference()})

    assert is_repeat(first, repeat)
    assert after == before
    assert (another.status_code or 0, another.duplicated) == (code, 0)


def test_a_retry_of_a_transfer_returns_the_stored_response_after_the_balance_is_used_up(issuer: Issuer) -> None:
    address = issuer.funded_address(500)
    reference = {"request_reference_id": issuer.reference()}

    answers = [issuer.transfer(address, 500, **reference) for _ in range(3)]

    assert all(is_repeat(answers[0], answer) for answer in answers[1:])
    assert issuer.transfer(address, 1).status_code == 5001
    assert issuer.balances(address["account_id"]) == (0, 500, 0)
