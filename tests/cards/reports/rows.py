"""Stored report rows of network messages, with all members and with the required members only."""

import itertools
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

from chalicelib.cards.authorization import activity_record
from chalicelib.cards.authorization.authorization_record import Authorization
from chalicelib.cards.ledger import transaction_record
from chalicelib.cards.protocol.values import RISK_ACTIONS, SECURITY_CHECKS
from chalicelib.cards.storage.time_ordered import Timeline
from chalicelib.foundation.dynamodb.store import Put
from tests.cards.issuer import BRITAIN, EUR, GERMANY, MANAGER, USD, Envelope, Issuer

_numbers = itertools.count(1_000_001)
Row = dict[str, Any]
AT = 1_772_442_000_123
"""The time 2026-03-02T09:00:00 UTC in Unix milliseconds."""

LEAST_MESSAGE: Row = {
    "proc_code": 0,
    "authorize_type": 1,
    "card_present": 1,
    "trans_link": "000001000001",
    "transmission_date": "2026-03-02",
    "transmission_time": 1_772_442_000,
    "billing_amount": 920,
    "billing_currency_ison": EUR,
    "billing_conversion_rate": "0.92",
    "holder_amount": 948,
    "holder_currency_ison": EUR,
    "stan": 1,
    "transaction_amount": 1000,
    "transaction_currency_ison": USD,
    "transaction_fee_amount": 0,
    "response_code": "00",
    "acquirer_id": "00000100001",
    "reversal": 0,
    "actual": 1,
    "suspicious": 0,
    "transaction_fee": 0,
    "currency_conversion_fee": 28,
    "risk_actions": dict.fromkeys(RISK_ACTIONS, 0),
    "security_checks": dict.fromkeys(SECURITY_CHECKS, 0) | {"chip_data": 1},
    "base_conversion_rate": "0.92",
    "holder_conversion_rate": "0.9476",
    "is_conversion_fee_blended": 1,
    "blended_fee": 0,
}
"""The members of every message row, as written by version 1.0.0."""
WHOLE_MESSAGE: Row = LEAST_MESSAGE | {
    "auth_code": "012345",
    "transaction_local_time": "260302110000",
    "retrieval_reference_number": "606109000001",
    "country_ison": GERMANY,
    "mcc": 742,
    "merchant_name": "Corner Shop",
    "merchant_id": "SHOP0001",
    "terminal_id": "TERM0001",
    "forwarder_id": "00000200001",
    "pos_data": "1000040000100276",
    "pos_entry_mode": "051",
    "pos_condition_code": "00",
    "note": "fired: 7",
    "trace_id": "000001000001",
    "trace_number": "000001",
    "advice_reason_code": 1,
    "advice_detail_code": 2,
    "cashback_amount": 200,
    "transaction_type": 0,
    "entry_mode_type": 5,
    "pad_cumulative_amount": 150,
    "eci_indicator": 2,
    "settlement_amount": 900,
    "settlement_currency_ison": EUR,
    "settlement_conversion_rate": "0.9",
    "risk_rule_ids": "7,9",
    "date_valid": "2026-03-09",
}
"""A message row with all members. The conversion fee is blended, and there are no other fees."""
FEES_APART: Row = {"is_conversion_fee_blended": 0, "transaction_fee": 60, "blended_fee": 60}
"""Unblended fees that the financial authorizes report shows."""

LEAST_TRANSACTION: Row = {
    "id": 11,
    "account_id": 22,
    "transaction_type": 0,
    "direction": "debit",
    "trans_link": "000000000033",
    "amount": 1000,
    "currency": EUR,
    "holder_amount": 1000,
    "holder_currency": EUR,
    "base_rate": 1,
    "holder_rate": 1,
    "conversion_fee": 0,
    "conversion_fee_blended": False,
    "fee": 0,
    "entry_mode": 0,
    "mti": 1240,
    "at": AT,
}
NETWORK: Row = {
    "risk_rule_ids": "7",
    "interchange_rate_designator": "75",
    "transaction_original_amount": 1200,
    "reconciliation_original_amount": 1100,
    "transaction_fee_amount": 50,
    "mcc": 742,
    "acquirer_bin": 400001,
    "load_type": 1,
    "load_source": 2,
    "eci_indicator": 2,
    "transaction_local_time": "260302110000",
    "acquirer_processing_date": "260302",
    "auth_code": "012345",
    "retrieval_reference_number": "606109000001",
    "pos_entry_mode": "051",
    "acquirer_id": "00000100001",
    "forwarder_id": "00000200001",
    "merchant_terminal_id": "TERM0001",
    "merchant_name": "Corner Shop",
    "merchant_address": "1 Riverside",
    "merchant_city": "London",
    "merchant_postcode": "E1 6AN",
    "merchant_id": "SHOP0001",
    "merchant_state": "Kent",
    "merchant_country": BRITAIN,
    "additional_data": "ticket 7",
    "suspicious": 1,
    "risk_actions": {"mark_transaction_as_suspicious": 1},
    "security_checks": {"chip_data": 1},
}
COUNTERPARTY: Row = {
    "counterparty_name": "Meadow Ltd",
    "counterparty_iban": "GB33BUKB20201555555555",
    "counterparty_sort_code": "202015",
    "counterparty_account_number": "55555555",
    "scheme": "FPS",
}
WHOLE_TRANSACTION: Row = LEAST_TRANSACTION | {
    "currency": USD,
    "base_rate": Decimal("0.92"),
    "holder_rate": Decimal("0.9476"),
    "holder_amount": 1008,
    "conversion_fee": 28,
    "conversion_fee_blended": True,
    "fee": 60,
    "entry_mode": 5,
    "function_code": 200,
    "reason_code": 12,
    "parent_id": 10,
    "card_id": 44,
    "description": "Groceries",
    "reference": "INVOICE 7",
    "epm_transaction_id": 66,
    "epm_mandate_id": 77,
    "authorization_id": 33,
    "network": NETWORK,
    "counterparty": COUNTERPARTY,
}


def message(issuer: Issuer, card_id: int, at: int, *, level: int = 0, financial: bool = True, **members: Any) -> int:
    """Write a message about a card with the recording time ``at`` (Unix milliseconds), and return its number."""
    number = next(_numbers)
    lists = [activity_record.of_card(card_id), activity_record.shard_with(MANAGER, number)]
    lists += [activity_record.of_card(card_id, activity_record.AUTHORIZES)] if financial else []
    common = {"manager_id": MANAGER, "access_level": level, "card_id": card_id, "at": at}
    row = {**LEAST_MESSAGE, **common, "authorize_id": number, **members}
    table, leads = Authorization.key(number)
    leads |= common | {"lists": [each.name for each in lists]}
    issuer.hub.store.transact([*_rows(lists, at, number, row), Put(table, leads)])
    return number


def transaction(issuer: Issuer, card_id: int, account_id: int, at: int, like: Row) -> int:
    """Write a transaction with the recording time ``at`` (Unix milliseconds), and return the transaction number."""
    number, account = next(_numbers), f"account#{account_id}"
    lists = [transaction_record.timeline(*of) for of in ((account, None), (None, card_id), (account, card_id))]
    row = {**like, "id": number, "card_id": card_id, "account_id": account_id, "at": at}
    _, first = lists[0].key(at, number)
    found: dict[str, Any] = {
        "manager_id": MANAGER,
        "access_level": 0,
        "card_id": card_id,
        "at": at,
        "transaction_type": 0,
    }
    found |= {"account": account, "account_id": account_id, "part_of_account": first["part"]}
    table, leads = transaction_record.transaction_key(number)
    issuer.hub.store.transact([*_rows(lists, at, number, row), Put(table, leads | found)])
    return number


def _rows(lists: Sequence[Timeline], at: int, number: int, row: Row) -> list[Put]:
    return [Put(each.table, each.key(at, number)[1] | row) for each in lists]


def paged(report: Callable[..., Envelope], name: str, item_count: int, **members: Any) -> list[list[int]]:
    pages: list[list[int]] = []
    last: dict[str, int] = {}
    while True:
        answer = report(item_count=item_count, **members, **last)
        assert answer.status == "success", answer.raw
        pages.append([row[name] for row in answer.data])
        if answer.members["has_more_records"] == "N":
            return pages
        last = {"last_id": pages[-1][-1]}
