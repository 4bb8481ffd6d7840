"""The floor: a minimal program that makes the AWS and bank calls of a request and does no other work.

The calls have the same bytes as the service's calls and use one persistent connection per host. The program uses only
the standard library and cryptography for JSON and for the signatures. The floor is also a Lambda handler.
"""

import base64
import hashlib
import hmac
import http.client
import json
import os
import time
from typing import Any
from urllib.parse import urlsplit

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding


class Floor:
    """A client that makes recorded AWS and bank calls sequentially."""

    def __init__(self, calls: list[dict[str, Any]]) -> None:
        self._calls = calls
        self._connections: dict[str, http.client.HTTPConnection] = {}
        self._key: Any = None

    def __call__(self) -> None:
        answer = None
        for call in self._calls:
            url, headers = urlsplit(call["url"]), call["headers"]
            if "service" in call:
                body = json.dumps(call["members"], separators=(",", ":")).encode()
                headers = headers | aws_signature(call["service"], url.netloc, headers, body)
            else:
                body = call["text"].encode()
                if "X-Signature" in headers:
                    headers = headers | {"X-Signature": self._signature(body)}
            answer = self._post(url.netloc, url.path, body, headers)
        json.dumps(answer)

    def _post(self, host: str, path: str, body: bytes, headers: dict[str, str]) -> Any:
        if host not in self._connections:
            self._connections[host] = http.client.HTTPConnection(host)
        connection = self._connections[host]
        connection.request("POST", path, body, headers)
        return json.loads(connection.getresponse().read())

    def close(self) -> None:
        for connection in self._connections.values():
            connection.close()

    def _signature(self, body: bytes) -> str:
        if self._key is None:
            pem = os.environ["BENCH_KEY"].encode()
            self._key = serialization.load_pem_private_key(pem, None, unsafe_skip_rsa_key_validation=True)
        return base64.b64encode(self._key.sign(body, padding.PKCS1v15(), hashes.SHA256())).decode()


def aws_signature(service: str, host: str, headers: dict[str, str], body: bytes) -> dict[str, str]:
    now = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    scope = [now[:8], os.environ["AWS_DEFAULT_REGION"], service, "aws4_request"]
    target = headers["X-Amz-Target"]
    signed = {"content-type": headers["Content-Type"], "host": host, "x-amz-date": now, "x-amz-target": target}
    lines = ["POST", "/", "", *(f"{name}:{value}" for name, value in signed.items()), "", ";".join(signed)]
    request = "\n".join([*lines, hashlib.sha256(body).hexdigest()])
    digest = hashlib.sha256(request.encode()).hexdigest()
    key = f"AWS4{os.environ['AWS_SECRET_ACCESS_KEY']}".encode()
    for part in (*scope, "\n".join(["AWS4-HMAC-SHA256", now, "/".join(scope), digest])):
        key = hmac.digest(key, part.encode(), "sha256")
    shown = f"Credential={os.environ['AWS_ACCESS_KEY_ID']}/{'/'.join(scope)}, SignedHeaders={';'.join(signed)}"
    return {"X-Amz-Date": now, "Authorization": f"AWS4-HMAC-SHA256 {shown}, Signature={key.hex()}"}


def handler(event: dict[str, Any], context: object) -> dict[str, object]:
    Floor(event["calls"])()
    return {"statusCode": 200}
