"""The bare script that transfers are measured against: their reads and writes by boto3, and nothing else.

The same items under the same conditions in the same number of calls: two reads, the transaction that holds the money,
the order at the provider, and the transaction that writes its answer down. Whoever was not first waits as the service
does, and reads anew.
"""

from __future__ import annotations

import itertools
import random
import secrets
import time
from collections.abc import Mapping
from typing import Any

from botocore.exceptions import ClientError

POUND, BRITAIN, UK_METHOD = 826, 826, 1
DESTINATION = {"account_name": "Ada Lovelace", "account_number": "12345678", "sort_code": "040004"}
WINDOWS = {"account": "211.2", "holder": "221.2"}
"""The limits of the demonstration programme that count payments out."""
WAIT_SECONDS, LONGEST_WAIT, PATIENCE_SECONDS = 0.1, 4, 10
"""A wait is drawn from twice the last one's range, up to the fourth time."""
_OLD = {"ReturnValuesOnConditionCheckFailure": "ALL_OLD"}
_VERSION = {"ConditionExpression": "#version = :read", "ExpressionAttributeNames": {"#version": "version"}, **_OLD}
_CONFLICT = "TransactionCanceledException"
_SEALED = secrets.token_bytes(640)
"""As long as an answer that is kept."""


class BareTransfer:
    """Pays a penny from an address in the UK whenever it is called; ``prefix`` is that of the tables' names."""

    def __init__(self, dynamodb: Any, prefix: str) -> None:
        self._dynamodb = dynamodb
        self._cards, self._ledger = f"{prefix}-cards", f"{prefix}-ledger"
        self._payments, self._claims = f"{prefix}-external-payments", f"{prefix}-idempotency"
        self._numbers = itertools.count(10**9)

    def __call__(self, address_id: int) -> bool:
        """Make a transfer; whether there was a chance to within ten seconds."""
        number = next(self._numbers)
        claim = {"claim": f"card-api#1.full#{secrets.token_hex(32)}", "fingerprint": secrets.token_hex(32)}
        deadline = time.monotonic() + PATIENCE_SECONDS
        for attempt in itertools.count():
            try:
                self._pay(address_id, number, claim | {"attempt": secrets.token_hex(11)})
                return True
            except ClientError as error:
                if error.response["Error"]["Code"] != _CONFLICT:
                    raise
            if time.monotonic() > deadline:
                return False
            time.sleep(random.uniform(0, WAIT_SECONDS * 2 ** min(attempt, LONGEST_WAIT)))
        raise AssertionError("unreachable")

    # -- inside

    def _pay(self, address_id: int, number: int, claim: Mapping[str, str]) -> None:
        of_address = {"owner": f"external_address#{address_id}", "part": "external_address"}
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

    def _read(self, keys: Mapping[str, list[dict[str, str]]]) -> dict[str, Any]:
        """The items that there are, by their parts; limits by whose they are."""
        request = {
            table: {"Keys": [_typed(key)["M"] for key in wanted], "ConsistentRead": True}
            for table, wanted in keys.items()
        }
        answer = self._dynamodb.batch_get_item(RequestItems=request)
        items = [item for found in answer["Responses"].values() for item in found]
        return {item["owner" if item["part"]["S"] == "limits" else "part"]["S"]: item for item in items}

    def _hold(
        self, number: int, claim: Mapping[str, str], address: Any, account: Any, limits: list[Any], now: int
    ) -> None:
        written_by, last_at = secrets.token_hex(11), int(account["last_at"]["N"]) + 1
        at, held, movements = max(now, last_at), int(account["held"]["N"]) + 1, int(account["movements"]["N"]) + 1
        settled, owner = int(account["settled"]["N"]), account["owner"]["S"]
        changed: dict[str, Any] = {"settled": settled, "held": held, "reserved": 0, "movements": movements}
        changed |= {"last_at": at, "updated_at": at // 1000, "written_by": written_by}
        payment = _payment(number, claim, address, now // 1000) | {"written_by": written_by}
        row = {
            "owner": owner,
            "part": f"movement#{movements:012}",
            "movement": written_by,
            "cause": "payment out held",
            "epm_transaction_id": number,
            "at": at,
            "entries": [[f"{owner}:held", POUND, 1], ["pending", POUND, -1]],
            **{name: changed[name] for name in ("settled", "held", "reserved", "written_by")},
        }
        waiting = {**claim, "expires_at": now // 1000 + 30 * 24 * 3600, "unanswered": True}
        operations = [
            {"Put": {"TableName": self._claims, "Item": _typed(waiting)["M"], **_unclaimed(now // 1000)}},
            {"Put": {"TableName": self._payments, "Item": _typed(payment)["M"], **_NEW}},
            {"ConditionCheck": {"TableName": self._payments, **_unchanged(address)}},
            {"Update": {"TableName": self._cards, **_update(account, changed)}},
            {"Put": {"TableName": self._ledger, "Item": _typed(row)["M"], **_NEW}},
            *({"Put": {"TableName": self._ledger, **_counted(counters, written_by)}} for counters in limits),
        ]
        self._dynamodb.transact_write_items(TransactItems=operations, ClientRequestToken=secrets.token_hex(16))

    def _order(self, number: int) -> None:
        order = {"owner": f"provider#{number}", "part": "order", "kind": "payment", "method": UK_METHOD}
        order |= {"currency": POUND, "amount": 1, "accepted": True, "reference": 9 * 10**9 + number, "scheme": "FPS"}
        order |= {"written_by": secrets.token_hex(11)}
        self._dynamodb.put_item(TableName=self._payments, Item=_typed(order)["M"], **_NEW)

    def _answer(self, number: int, claim: Mapping[str, str], now: int) -> None:
        payment = {"owner": f"external_payment#{number}", "part": "external_payment", "version": 1}
        changed = {"provider_reference": 9 * 10**9 + number, "scheme": "FPS", "written_by": secrets.token_hex(11)}
        gone = ["due_at", "due_shard", "asks", "claim"]
        answered = {**claim, "expires_at": now // 1000 + 30 * 24 * 3600, "answer": _SEALED}
        condition = {
            "ConditionExpression": "(#attempt = :attempt AND attribute_exists(#unanswered))",
            "ExpressionAttributeNames": {"#attempt": "attempt", "#unanswered": "unanswered"},
            "ExpressionAttributeValues": {":attempt": {"S": claim["attempt"]}},
            **_OLD,
        }
        operations = [
            {"Put": {"TableName": self._claims, "Item": _typed(answered)["M"], **condition}},
            {"Update": {"TableName": self._payments, **_update(_typed(payment)["M"], changed, gone)}},
        ]
        self._dynamodb.transact_write_items(TransactItems=operations, ClientRequestToken=secrets.token_hex(16))


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
        "claim": {"name": claim["claim"], "fingerprint": claim["fingerprint"], "attempt": claim["attempt"]},
        "due_at": now + 60,
        "due_shard": str(number % 8),
    }


_NEW = {
    "ConditionExpression": "attribute_not_exists(#owner)",
    "ExpressionAttributeNames": {"#owner": "owner"},
    **_OLD,
}


def _unclaimed(now: int) -> dict[str, Any]:
    return {
        "ConditionExpression": "(attribute_not_exists(#claim) OR #expires <= :now)",
        "ExpressionAttributeNames": {"#claim": "claim", "#expires": "expires_at"},
        "ExpressionAttributeValues": {":now": _typed(now)},
        **_OLD,
    }


def _unchanged(item: Any) -> dict[str, Any]:
    key = {"owner": item["owner"], "part": item["part"]}
    return {"Key": key, **_VERSION, "ExpressionAttributeValues": {":read": item["version"]}}


def _update(item: Any, changed: Mapping[str, Any], gone: list[str] | None = None) -> dict[str, Any]:
    """The change of an item that has a version, if it is as it was read."""
    names = {"#version": "version"} | {f"#{name}": name for name in (*changed, *(gone or ()))}
    sets = ", ".join(f"#{name} = :{name}" for name in changed)
    removed = f" REMOVE {', '.join(f'#{name}' for name in gone)}" if gone else ""
    values = {f":{name}": _typed(value) for name, value in changed.items()}
    return {
        "Key": {"owner": item["owner"], "part": item["part"]},
        "UpdateExpression": f"SET {sets} ADD #version :one{removed}",
        "ConditionExpression": "#version = :read",
        "ExpressionAttributeNames": names,
        "ExpressionAttributeValues": values | {":one": {"N": "1"}, ":read": item["version"]},
        **_OLD,
    }


def _counted(counters: Any, written_by: str) -> dict[str, Any]:
    """The counters with one payment more, if they are as they were read."""
    windows, key = counters["windows"]["M"], WINDOWS[counters["owner"]["S"].partition("#")[0]]
    window = windows[key]["M"]
    more = {name: {"N": str(int(window[name]["N"]) + 1)} for name in ("count", "amount")}
    windows |= {key: {"M": window | more}}
    version = str(int(counters["version"]["N"]) + 1)
    item = counters | {"version": {"N": version}, "windows": {"M": windows}, "written_by": {"S": written_by}}
    return {"Item": item, **_VERSION, "ExpressionAttributeValues": {":read": counters["version"]}}


def _typed(value: Any) -> dict[str, Any]:
    """A value as DynamoDB takes it."""
    match value:
        case bool():
            return {"BOOL": value}
        case int():
            return {"N": str(value)}
        case str():
            return {"S": value}
        case bytes():
            return {"B": value}
        case list():
            return {"L": [_typed(each) for each in value]}
        case _:
            return {"M": {name: _typed(each) for name, each in value.items()}}
