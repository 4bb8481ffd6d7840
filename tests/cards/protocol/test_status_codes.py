"""Tests of every ``status_code`` of the API: each cause returns its code and message."""

from collections.abc import Callable
from unittest.mock import patch

import pytest

from chalicelib.cards.protocol.status_codes import Status
from chalicelib.foundation.dynamodb.store import Conflict, StoreUnavailable
from tests.cards.issuer import EUR, HOLDER_BLOCK, PIN, Envelope, Issuer
from tests.cards.whole_requests import Members

TABLE = {
    **dict.fromkeys(range(1001, 1006), False),
    **dict.fromkeys(range(1101, 1104), False),
    **dict.fromkeys(range(2001, 2009), False),
    **dict.fromkeys(range(3001, 3016), True),
    **dict.fromkeys(range(4001, 4009), True),
    **dict.fromkeys(range(5001, 5005), True),
    **dict.fromkeys(range(6001, 6005), True),
    7001: True,
    **dict.fromkeys(range(8001, 8005), False),
    9001: False,
}
"""The status codes, each with a flag that shows whether a retry gets the same error."""

CARD = {"card_program_id": 101, "card_country_ison": 276, "card_virtual": 1, "card_name_line_3": "ZOE", **HOLDER_BLOCK}


def of_card(action: str, state: str, **members: object) -> Callable[[Issuer], Envelope]:
    return lambda issuer: issuer.do(action, card_id=issuer.card_in(state).card_id, **members)


def created(**members: object) -> Callable[[Issuer], Envelope]:
    return lambda issuer: issuer.do("createCard", **CARD | members)


def designs(**members: object) -> Callable[[Issuer], Envelope]:
    return lambda issuer: issuer.do("getDesign", **{"program_id": 101} | members)


def reused(issuer: Issuer) -> Envelope:
    reference = {"request_reference_id": issuer.reference()}
    issuer.data("getDesign", program_id=101, **reference)
    return issuer.do("getDesign", program_id=102, **reference)


def suspended(issuer: Issuer) -> Envelope:
    account = issuer.account_in("S")
    [row] = issuer.data("getAccounts", account_id=account)
    return issuer.do("createCard", **CARD, account_id=account, account_owner_id=row["holder_id"])


def blocked(issuer: Issuer) -> Envelope:
    card = issuer.card_in("A", card_virtual=0, card_pin=PIN)
    issuer.block_pin(card.card_id)
    return issuer.do("setPin", card_id=card.card_id, pin="4826")


def mismatched(times: int) -> Callable[[Issuer], Envelope]:
    def provoke(issuer: Issuer) -> Envelope:
        members: Members = {"card_id": issuer.card().card_id, "card_request_id": 987654321}
        return [issuer.do("activateCard", **members) for _ in range(times)][-1]

    return provoke


def unproven(issuer: Issuer) -> Envelope:
    asked = issuer.authentication(issuer.card_in("A").card_id)["auth_request_id"]
    answer = {"confirmation_status": "Y", "oob_auth_method": 1, "validation_value": "x"}
    return issuer.do("authenticationConfirm", auth_request_id=asked, **answer)


def with_storage(error: Exception) -> Callable[[Issuer], Envelope]:
    def provoke(issuer: Issuer) -> Envelope:
        card = issuer.card().card_id
        with patch.object(issuer.hub.store, "transact", side_effect=error):
            return issuer.do("setPin", card_id=card, pin=PIN)

    return provoke


def paid(amount: int, **members: object) -> Callable[[Issuer], Envelope]:
    """Return a payment from an account with 20,000.00 EUR and a limit of 15,000.00 EUR."""
    return lambda issuer: issuer.transfer(issuer.funded_address(2_000_000, EUR, limit_group_id=211), amount, **members)


def fee(**members: object) -> Callable[[Issuer], Envelope]:
    entry = {"fee_group_id": 301, "fee_code": "CARDREPL", "description": "New card"}
    return lambda issuer: issuer.do("createCustomFee", account_id=issuer.account(), **entry, **members)


def returned_twice(issuer: Issuer) -> Envelope:
    came = issuer.inbound(issuer.address(), 5000)["epm_transaction_id"]
    return [issuer.do("inboundReturn", epm_transaction_id=came) for _ in range(2)][-1]


def reversed_too_much(issuer: Issuer) -> Envelope:
    asked = issuer.purchase(issuer.spendable(500).card_id, 500)
    return issuer.sim("simulateReversal", trans_link=asked["trans_link"], amount=501)


def cancelled_twice(issuer: Issuer) -> Envelope:
    mandate = issuer.mandate(issuer.address())
    return [issuer.do("cancelExternalPaymentMandate", epm_mandate_id=mandate, reason=2) for _ in range(2)][-1]


PROVOKED: dict[int, Callable[[Issuer], Envelope]] = {
    1001: lambda issuer: issuer.send(b"[]"),
    1002: lambda issuer: issuer.do("getNothing"),
    1003: designs(api_version="1.1"),
    1004: designs(request_reference_id="short"),
    1005: lambda issuer: issuer.send(b" " * 1_000_001),
    1101: designs(access_key="x" * 20),
    1102: designs(access_level=1001),
    1103: lambda issuer: issuer.as_caller("support").do("createHolder"),
    2001: designs(program_id=None),
    2002: designs(program_id=True),
    2003: designs(program_id="1" * 21),
    2004: created(card_name_line_3="\x00" * 3),
    2005: created(card_design_id=24),
    2006: created(holder_first_name=None),
    2007: created(card_currency_ison=978, account_id=1, account_owner_id=1),
    2008: designs(colour_of_hair="crimson"),
    3001: lambda issuer: issuer.do("getAccounts", account_id=987654321),
    3002: lambda issuer: issuer.do("getPin", card_id=987654321),
    3003: lambda issuer: issuer.do("getHolder", holder_id=987654321),
    3004: designs(program_id=999),
    3005: created(card_limit_group_id=999),
    3006: created(card_fee_group_id=999),
    3007: created(card_usage_group_id=999),
    3008: created(risk_rules_group_id=999),
    3009: created(card_design_id=999),
    3010: lambda issuer: issuer.do("getExternalPaymentAddress", epm_address_id=987654321),
    3011: lambda issuer: issuer.do("cancelExternalPaymentMandate", epm_mandate_id=987654321, reason=2),
    3012: fee(transaction_id=987654321),
    3013: lambda issuer: issuer.do(
        "assignExternalPaymentAddressForSpecialAccount", special_account_id=999, epm_method_id=1, currency_ison=826
    ),
    3014: lambda issuer: issuer.do(
        "authenticationConfirm", auth_request_id=987654321, confirmation_status="Y", oob_auth_method=1
    ),
    3015: created(card_product_id=999),
    4001: of_card("changeCardStatus", "N", status="T"),
    4002: of_card("unblockPin", "B"),
    4003: suspended,
    4004: returned_twice,
    4005: cancelled_twice,
    4006: of_card("activateCard", "A"),
    4007: of_card("unblockPin", "A"),
    4008: of_card("activateCard", "T"),
    5001: fee(),
    5002: paid(1_500_001),
    5003: created(card_currency_ison=36),
    5004: reversed_too_much,
    6001: mismatched(1),
    6002: of_card("setPin", "A", pin="1234"),
    6003: blocked,
    6004: unproven,
    7001: paid(5000, destination_account_name="Refuse Crimson"),
    8001: paid(5000, destination_account_name="Silent Crimson"),
    8002: reused,
    8003: with_storage(Conflict("busy")),
    8004: mismatched(6),
    9001: with_storage(StoreUnavailable("gone")),
}


def test_the_status_codes_match_the_specified_table() -> None:
    assert {int(status): status.is_stored for status in Status} == TABLE


def test_every_status_code_has_a_test_case() -> None:
    assert set(PROVOKED) == set(TABLE)


@pytest.mark.parametrize("code", PROVOKED)
def test_each_cause_of_an_error_returns_the_documented_code_and_a_message(issuer: Issuer, code: int) -> None:
    answer = PROVOKED[code](issuer)

    assert answer.status == "error"
    assert answer.duplicated == 0
    assert answer.status_code == code
    assert list(answer.members) == ["status", "duplicated", "status_code", "message"]
    assert answer.message.isprintable()
    assert len(answer.message) > 10
    assert not any(value in answer.message for value in ("987654321", "crimson", "Crimson", "999"))
