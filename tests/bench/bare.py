"""The bare script that everything is measured against: what a relayed read cannot do without, and nothing else.

One boto3 GetItem, one RSA-2048 signature, one ``requests`` POST on a kept-alive session. As a Lambda handler it is the
bare cold start.
"""

from __future__ import annotations

import base64
import json
import os
from typing import Any

import boto3
import requests
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding

BODY = b"{}"


class Bare:
    """The script's state: a client, a session and a key."""

    def __init__(self) -> None:
        self._dynamodb = boto3.client("dynamodb")
        self._session = requests.Session()
        self._key: Any = serialization.load_pem_private_key(os.environ["BENCH_KEY"].encode(), password=None)
        self._table = os.environ["BENCH_TABLE"]
        self._item = {"client_id": {"S": os.environ["BENCH_CLIENT"]}}
        self._url = os.environ["BENCH_BANK"] + "/accounts"

    def __call__(self) -> None:
        item = self._dynamodb.get_item(TableName=self._table, Key=self._item, ConsistentRead=True)["Item"]
        signature = base64.b64encode(self._key.sign(BODY, padding.PKCS1v15(), hashes.SHA256())).decode()
        headers = {"Content-Type": "application/json", "X-Signature": signature, "X-Api-Key": item["title"]["S"]}
        answer = self._session.post(self._url, data=BODY, headers=headers)
        json.dumps(answer.json())


def handler(event: object, context: object) -> dict[str, object]:
    """Lambda's entry point."""
    Bare()()
    return {"statusCode": 200}
