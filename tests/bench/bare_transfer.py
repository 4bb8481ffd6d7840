"""The bare script that transfers are measured against: their reads and writes by boto3, and nothing else.

The same number of calls: two reads, the transaction that holds the money, the order at the provider, and the
transaction that writes its answer down.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping
from typing import Any

from tests.bench.bare_calls import (
    KEPT_SECONDS,
    NEW,
    OLD,
    BareScript,
    counters,
    held,
    members,
    more,
    unchanged,
    unclaimed,
    update,
)

POUND, BRITAIN, UK_METHOD = 826, 826, 1
DESTINATION = {"account_name": "Ada Lovelace", "account_number": "12345678", "sort_code": "040004"}
WINDOWS = {"account": "211.2", "holder": "221.2"}
"""The limits of the demonstration programme that count payments out."""
_SEALED = secrets.token_bytes(640)
"""As long as an answer that is kept."""


class BareTransfer(BareScript):
    """Pays a penny from an address in the UK whenever it is called."""

    # -- inside

    def _attempt(self, place: int, number: int, claim: Mapping[str, str]) -> None:
        of_address = {"owner": f"external_address#{place}", "part": "external_address"}
        of_number = {"owner": "address#UK:040004:12345678", "part": "number"}
        first = self._read({self._claims: [{"claim": claim["claim"]}], self._payments: [of_address, of_number]})
        address = first["external_address"]
        account, holder = f"account#{address['account_id']['N']}", f"holder#{address['holder_id']['N']}"
        records = [{"owner": account, "part": "account"}, {"owner": holder, "part": "holder"}]
        limits = [{"owner": owner, "part": "limits"} for owner in (account, holder)]
        second = self._read({self._cards: records, self._ledger: limits})
        now = int(time.time() * 1000)
        self._hold(number, claim, address, second["account"], [second[account], second[holder]], now)
        self._order(number)
        self._answer(number, claim, now)

    def _hold(
        self, number: int, claim: Mapping[str, str], address: Any, account: Any, limits: list[Any], now: int
    ) -> None:
        written_by = secrets.token_hex(11)
        changed, row = held(account, now, written_by, cause="payment out held", epm_transaction_id=number)
        payment = _payment(number, claim, address, now // 1000) | {"written_by": written_by}
        waiting = {**claim, "expires_at": now // 1000 + KEPT_SECONDS, "unanswered": True}
        self._transact(
            [
                {"Put": {"TableName": self._claims, "Item": members(waiting), **unclaimed(now // 1000)}},
                {"Put": {"TableName": self._payments, "Item": members(payment), **NEW}},
                {"ConditionCheck": {"TableName": self._payments, **unchanged(address)}},
                {"Update": {"TableName": self._cards, **update(account, changed)}},
                {"Put": {"TableName": self._ledger, "Item": members(row), **NEW}},
                *({"Put": {"TableName": self._ledger, **_counted(each, written_by)}} for each in limits),
            ]
        )

    def _order(self, number: int) -> None:
        order = {"owner": f"provider#{number}", "part": "order", "kind": "payment", "method": UK_METHOD}
        order |= {"currency": POUND, "amount": 1, "accepted": True, "reference": 9 * 10**9 + number, "scheme": "FPS"}
        order |= {"written_by": secrets.token_hex(11)}
        self._dynamodb.put_item(TableName=self._payments, Item=members(order), **NEW)

    def _answer(self, number: int, claim: Mapping[str, str], now: int) -> None:
        payment = {"owner": f"external_payment#{number}", "part": "external_payment", "version": 1}
        changed = {"provider_reference": 9 * 10**9 + number, "scheme": "FPS", "written_by": secrets.token_hex(11)}
        gone = ["due_at", "due_shard", "asks"]
        answered = {**claim, "expires_at": now // 1000 + KEPT_SECONDS, "answer": _SEALED}
        condition = {
            "ConditionExpression": "(#attempt = :attempt AND attribute_exists(#unanswered))",
            "ExpressionAttributeNames": {"#attempt": "attempt", "#unanswered": "unanswered"},
            "ExpressionAttributeValues": {":attempt": {"S": claim["attempt"]}},
            **OLD,
        }
        operations = [
            {"Put": {"TableName": self._claims, "Item": members(answered), **condition}},
            {"Update": {"TableName": self._payments, **update(members(payment), changed, gone)}},
        ]
        self._transact(operations)


def _payment(number: int, claim: Mapping[str, str], address: Any, now: int) -> dict[str, Any]:
    """A payment of a penny that is held until the provider has answered."""
    converted = {"amount": 1, "currency": POUND, "base_amount": 1, "holder_amount": 1, "holder_currency": POUND}
    converted |= {"base_rate": 1, "holder_rate": 1, "fee": 0}
    charge = {"conversion": converted, "blends_conversion": True, "fees": [], "debit": True, "reverses": False}
    counted = {
        f"{owner}#{address[f'{owner}_id']['N']}": [{"key": window, "start": now, "amount": 1, "count": 1}]
        for owner, window in WINDOWS.items()
    }
    source = {name: address[name]["S"] for name in ("account_name", "account_number", "iban", "sort_code")}
    return {
        "owner": f"external_payment#{number}",
        "part": "external_payment",
        "id": number,
        "manager_id": 1,
        "access_level": 0,
        "version": 1,
        "payment": "out",
        "state": "P",
        "method": UK_METHOD,
        "transaction_type": 61,
        "address_id": int(address["id"]["N"]),
        "account_id": int(address["account_id"]["N"]),
        "account_type": 1,
        "instructed_amount": 1,
        "instructed_currency": POUND,
        "settlement_amount": 1,
        "settlement_currency": POUND,
        "created_at": now,
        "holder_id": int(address["holder_id"]["N"]),
        "charge": charge,
        "held": 1,
        "counted": counted,
        "source": source | {"id": int(address["id"]["N"])},
        "destination": DESTINATION,
        "country": BRITAIN,
        "scheme": "FPS",
        "should_pay": 1,
        "asks": "transferToExternalPayment",
        "asked": "transferToExternalPayment",
        "claim": {"name": claim["claim"], "fingerprint": claim["fingerprint"], "attempt": claim["attempt"]},
        "due_at": now + 60,
        "due_shard": str(number % 8),
    }


def _counted(item: Any, written_by: str) -> dict[str, Any]:
    """The counters with one payment more."""
    windows, key = item["windows"]["M"], WINDOWS[item["owner"]["S"].partition("#")[0]]
    return counters(item, windows | {key: more(windows[key])}, written_by)
