"""The boto3 script: makes the recorded calls of the service with boto3 clients and urllib3.

boto3 is configured for speed: it does not validate parameters, and each client resolves its endpoint once.
"""

import base64
import json
import os
from typing import Any

import boto3
from botocore import xform_name
from botocore.config import Config
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding
from urllib3 import PoolManager

_CONFIG = Config(
    connect_timeout=2,
    read_timeout=6,
    max_pool_connections=64,
    retries={"mode": "standard", "total_max_attempts": 1},
    tcp_keepalive=True,
    parameter_validation=False,
    user_agent="causeway",
    account_id_endpoint_mode="disabled",
)


class Boto3Script:
    """A client that makes recorded AWS and bank calls sequentially."""

    def __init__(self, calls: list[dict[str, Any]]) -> None:
        self._calls = [call | {"members": _parameters(call.get("members"))} for call in calls]
        self._clients: dict[str, Any] = {}
        self._pool = PoolManager()
        self._key: Any = None

    def __call__(self) -> None:
        answer: Any = None
        for call in self._calls:
            if "service" in call:
                operation = xform_name(call["headers"]["X-Amz-Target"].partition(".")[2])
                answer = getattr(self._client(call["service"]), operation)(**call["members"])
            else:
                answer = self._post(call["url"], call["text"].encode(), call["headers"])
        json.dumps(answer, default=repr)

    def close(self) -> None:
        self._pool.clear()
        for client in self._clients.values():
            client.close()

    def _client(self, service: str) -> Any:
        if service not in self._clients:
            self._clients[service] = boto3.client(service, config=_CONFIG)
            _keep_endpoint(self._clients[service])
        return self._clients[service]

    def _post(self, url: str, body: bytes, headers: dict[str, str]) -> Any:
        if "X-Signature" in headers:
            if self._key is None:
                pem = os.environ["BENCH_KEY"].encode()
                self._key = serialization.load_pem_private_key(pem, None, unsafe_skip_rsa_key_validation=True)
            signature = base64.b64encode(self._key.sign(body, padding.PKCS1v15(), hashes.SHA256())).decode()
            headers = headers | {"X-Signature": signature}
        return json.loads(self._pool.request("POST", url, body=body, headers=headers).data)


def _keep_endpoint(client: Any) -> None:
    """Make a client resolve its endpoint only once; botocore evaluates its endpoint rules for every call."""
    resolver = client._ruleset_resolver
    compute = resolver.construct_endpoint

    def compute_once(**call: Any) -> Any:
        endpoint = compute(**call)
        resolver.construct_endpoint = lambda **_: endpoint
        return endpoint

    resolver.construct_endpoint = compute_once


def _parameters(value: Any) -> Any:
    """Convert request members from the wire format to boto3's format. DynamoDB's binary values become bytes."""
    match value:
        case {"B": str(text), **others} if not others:
            return {"B": base64.b64decode(text)}
        case dict():
            return {name: _parameters(each) for name, each in value.items()}
        case list():
            return [_parameters(each) for each in value]
    return value


def handler(event: dict[str, Any], context: object) -> dict[str, object]:
    Boto3Script(event["calls"])()
    return {"statusCode": 200}
