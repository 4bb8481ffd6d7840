"""The bare script that refreshes are measured against: their reads and writes by boto3, and nothing else.

One BatchGetItem of the client, the consent, its grant and the refresh token; one TransactWriteItems with the condition
on the consent, the grant and two new tokens of the same size.
"""

from __future__ import annotations

import os
import secrets
import time

import boto3

_LONGER = 180 * 24 * 3600


class BareRefresh:
    """Replaces the refresh token of a consent whenever it is called."""

    def __init__(self) -> None:
        self._dynamodb = boto3.client("dynamodb")
        self._consent_id, self._token_id = os.environ["BENCH_BARE_REFRESH"].partition(".")[0].split("~")
        self._clients, self._consents = os.environ["BENCH_TABLE"], os.environ["BENCH_CONSENTS"]
        self._client = {"client_id": {"S": os.environ["BENCH_CLIENT"]}}

    def __call__(self) -> None:
        keys = [self._key(part) for part in ("consent", "grant", f"refresh#{self._token_id}")]
        wanted = {self._clients: [self._client], self._consents: keys}
        found = self._dynamodb.batch_get_item(
            RequestItems={table: {"Keys": keys, "ConsistentRead": True} for table, keys in wanted.items()}
        )["Responses"]
        if len(found[self._consents]) != len(keys):
            raise AssertionError(found)
        before, self._token_id = self._token_id, secrets.token_hex(11)
        self._dynamodb.transact_write_items(
            TransactItems=[
                self._used(),
                self._rotated(before),
                self._token("access", secrets.token_hex(11), 3600),
                self._token("refresh", self._token_id, _LONGER),
            ]
        )

    def _key(self, part: str) -> dict[str, dict[str, str]]:
        return {"consent_id": {"S": self._consent_id}, "part": {"S": part}}

    def _used(self) -> dict[str, object]:
        return {
            "Update": {
                "TableName": self._consents,
                "Key": self._key("consent"),
                "UpdateExpression": "SET last_used_on = :today",
                "ConditionExpression": "#status = :status",
                "ExpressionAttributeNames": {"#status": "status"},
                "ExpressionAttributeValues": {
                    ":today": {"S": time.strftime("%Y-%m-%d", time.gmtime())},
                    ":status": {"S": "authorised"},
                },
            }
        }

    def _rotated(self, before: str) -> dict[str, object]:
        return {
            "Update": {
                "TableName": self._consents,
                "Key": self._key("grant"),
                "UpdateExpression": "SET previous_refresh_id = :before, rotated_at = :now, refresh_id = :after, "
                "pair_sealed = :pair",
                "ConditionExpression": "refresh_id = :before",
                "ExpressionAttributeValues": {
                    ":before": {"S": before},
                    ":now": {"N": str(int(time.time()))},
                    ":after": {"S": self._token_id},
                    ":pair": {"B": secrets.token_bytes(360)},
                },
            }
        }

    def _token(self, kind: str, token_id: str, seconds: int) -> dict[str, object]:
        until = {"N": str(int(time.time()) + seconds)}
        item = {"digest": {"S": secrets.token_hex(32)}, "lasts_until": until, "expires_at": until}
        return {
            "Put": {
                "TableName": self._consents,
                "Item": {**self._key(f"{kind}#{token_id}"), **item},
                "ConditionExpression": "attribute_not_exists(consent_id)",
            }
        }
