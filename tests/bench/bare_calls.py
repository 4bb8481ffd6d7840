"""What the bare scripts have in common that the service is measured against: how they write, wait and try again.

They make the same calls of DynamoDB by boto3, with the same items under the same conditions, and nothing else. Whoever
was not first waits as the service does, and reads anew.
"""

from __future__ import annotations

import itertools
import random
import secrets
import time
from collections.abc import Mapping, Sequence
from typing import Any

from botocore.exceptions import ClientError

WAIT_SECONDS, LONGEST_WAIT, PATIENCE_SECONDS = 0.1, 4, 10
"""A wait is drawn from twice the last one's range, up to the fourth time."""
KEPT_SECONDS = 30 * 24 * 3600
"""How long a claim is kept."""
OLD = {"ReturnValuesOnConditionCheckFailure": "ALL_OLD"}
NEW = {"ConditionExpression": "attribute_not_exists(#owner)", "ExpressionAttributeNames": {"#owner": "owner"}, **OLD}
_VERSION = {"ConditionExpression": "#version = :read", "ExpressionAttributeNames": {"#version": "version"}, **OLD}
_CONFLICT = "TransactionCanceledException"


class BareScript:
    """Does one thing whenever it is called; ``prefix`` is that of the tables' names."""

    def __init__(self, dynamodb: Any, prefix: str) -> None:
        self._dynamodb = dynamodb
        self._cards, self._ledger = f"{prefix}-cards", f"{prefix}-ledger"
        self._payments, self._activity = f"{prefix}-external-payments", f"{prefix}-card-activity"
        self._claims = f"{prefix}-idempotency"
        self._numbers = itertools.count(10**9)

    def __call__(self, place: int) -> bool:
        """Do it with the record of this id; whether there was a chance to within ten seconds."""
        number = next(self._numbers)
        claim = {"claim": f"card-api#1.full#{secrets.token_hex(32)}", "fingerprint": secrets.token_hex(32)}
        deadline = time.monotonic() + PATIENCE_SECONDS
        for attempt in itertools.count():
            try:
                self._attempt(place, number, claim | {"attempt": secrets.token_hex(11)})
                return True
            except ClientError as error:
                if error.response["Error"]["Code"] != _CONFLICT:
                    raise
            if time.monotonic() > deadline:
                return False
            time.sleep(random.uniform(0, WAIT_SECONDS * 2 ** min(attempt, LONGEST_WAIT)))
        raise AssertionError("unreachable")

    def _attempt(self, place: int, number: int, claim: Mapping[str, str]) -> None:
        """Once; ``number`` is the new record's."""
        raise NotImplementedError

    def _read(self, keys: Mapping[str, list[dict[str, str]]]) -> dict[str, Any]:
        """The items that there are, by their parts; limits by whose they are."""
        request = {
            table: {"Keys": [members(key) for key in wanted], "ConsistentRead": True} for table, wanted in keys.items()
        }
        answer = self._dynamodb.batch_get_item(RequestItems=request)
        items = [item for found in answer["Responses"].values() for item in found]
        return {item["owner" if item["part"]["S"] == "limits" else "part"]["S"]: item for item in items}

    def _transact(self, operations: Sequence[Mapping[str, Any]]) -> None:
        self._dynamodb.transact_write_items(TransactItems=operations, ClientRequestToken=secrets.token_hex(16))


def unclaimed(now: int) -> dict[str, Any]:
    """The condition of a claim."""
    return {
        "ConditionExpression": "(attribute_not_exists(#claim) OR #expires <= :now)",
        "ExpressionAttributeNames": {"#claim": "claim", "#expires": "expires_at"},
        "ExpressionAttributeValues": {":now": typed(now)},
        **OLD,
    }


def unchanged(item: Any) -> dict[str, Any]:
    """The condition that an item which has a version is as it was read."""
    key = {"owner": item["owner"], "part": item["part"]}
    return {"Key": key, **_VERSION, "ExpressionAttributeValues": {":read": item["version"]}}


def update(item: Any, changed: Mapping[str, Any], gone: Sequence[str] = ()) -> dict[str, Any]:
    """The change of an item that has a version, if it is as it was read."""
    names = {"#version": "version"} | {f"#{name}": name for name in (*changed, *gone)}
    sets = ", ".join(f"#{name} = :{name}" for name in changed)
    removed = f" REMOVE {', '.join(f'#{name}' for name in gone)}" if gone else ""
    values = {f":{name}": typed(value) for name, value in changed.items()}
    return {
        "Key": {"owner": item["owner"], "part": item["part"]},
        "UpdateExpression": f"SET {sets} ADD #version :one{removed}",
        "ConditionExpression": "#version = :read",
        "ExpressionAttributeNames": names,
        "ExpressionAttributeValues": values | {":one": {"N": "1"}, ":read": item["version"]},
        **OLD,
    }


def held(account: Any, now: int, written_by: str, **about: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """What of an account changes when a penny more is held (at Unix milliseconds), and the ledger's row of that."""
    at, movements = max(now, int(account["last_at"]["N"]) + 1), int(account["movements"]["N"]) + 1
    currency, owner = int(account["currency"]["N"]), account["owner"]["S"]
    changed: dict[str, Any] = {"settled": int(account["settled"]["N"]), "held": int(account["held"]["N"]) + 1}
    changed |= {"reserved": 0, "movements": movements}
    changed |= {"last_at": at, "updated_at": at // 1000, "written_by": written_by}
    row = {
        "owner": owner,
        "part": f"movement#{movements:012}",
        "movement": written_by,
        "at": at,
        "entries": [[f"{owner}:held", currency, 1], ["pending", currency, -1]],
        **{name: changed[name] for name in ("settled", "held", "reserved", "written_by")},
        **about,
    }
    return changed, row


def counters(item: Any, windows: Mapping[str, Any], written_by: str, **changed: Any) -> dict[str, Any]:
    """The write of counters with other windows, if they are as they were read."""
    version = str(int(item["version"]["N"]) + 1)
    after = item | {"version": {"N": version}, "windows": {"M": windows}} | members(changed)
    after |= {"written_by": {"S": written_by}}
    return {"Item": after, **_VERSION, "ExpressionAttributeValues": {":read": item["version"]}}


def more(window: Any, amount: int = 1) -> Any:
    """A window with one movement more."""
    added = {"count": 1, "amount": amount}
    return {"M": window["M"] | {name: {"N": str(int(window["M"][name]["N"]) + by)} for name, by in added.items()}}


def members(value: Mapping[str, Any]) -> dict[str, Any]:
    """An item as DynamoDB takes it."""
    return {name: typed(each) for name, each in value.items()}


def typed(value: Any) -> dict[str, Any]:
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
            return {"L": [typed(each) for each in value]}
        case _:
            return {"M": members(value)}
