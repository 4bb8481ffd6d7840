"""A small bank of version 2. API_KEY=… HUB=http://127.0.0.1:8000 .venv/bin/python docs/guides/bank.py PORT"""

import json
import os
import re
import sys
from base64 import b64decode
from contextlib import suppress
from hmac import compare_digest
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import requests
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import load_pem_public_key

ANSWERS = {
    "/v2_accounts": {"accounts": [{"resource_id": "1", "iban": "DE89370400440532013000", "currency": "EUR"}]},
    "/v2_payment_single": {"status": "RCVD", "payment_id": "P-1", "confirmation_url": "https://bank.example/confirm/1"},
    "/v2_payment_single_status": {"transaction_status": "ACSP"},
    "/revoke_token": {"status": "success"},
}
TOKENS = Path(".local/bank.tokens")  # of the consents that are in force, one a line


def is_the_hubs(body: bytes, signature: str) -> bool:
    """Whether a published key of the hub verifies; keys are fetched anew, and might be kept for 60 seconds."""
    published = requests.get(f"{os.environ['HUB']}/bank/public_key", timeout=5).content
    for pem in re.findall(rb"-----BEGIN.+?-----END PUBLIC KEY-----", published, re.DOTALL):
        with suppress(InvalidSignature):
            load_pem_public_key(pem).verify(b64decode(signature), body, PKCS1v15(), SHA256())
            return True
    return False


class Bank(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body, head = self.rfile.read(int(self.headers["Content-Length"])), self.headers
        Path(".local/webhook.json").write_bytes(body)
        status, answer = 200, ANSWERS.get(self.path)
        is_known = compare_digest(head.get("X-Api-Key", ""), os.environ["API_KEY"])
        if not is_known or not is_the_hubs(body, head.get("X-Signature", "")):
            status, answer = 401, {"code": "WRONG_CREDENTIALS", "title": "not the hub"}
        elif head.get("X-Auth-Token") not in TOKENS.read_text().split():
            status, answer = 401, {"code": "AUTHENTICATION_REQUIRED", "title": "the consent is not in force"}
        elif answer is None:
            status, answer = 404, {"code": "RESOURCE_UNKNOWN", "title": "this bank does not offer that"}
        print(self.path, status, flush=True)
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(json.dumps(answer).encode())

    def log_message(self, *_: object) -> None:
        """One line a webhook is enough."""


if len(sys.argv) != 2 or not sys.argv[1].isdecimal() or not (os.environ.get("API_KEY") and os.environ.get("HUB")):
    sys.exit("usage: API_KEY=… HUB=http://127.0.0.1:8000 .venv/bin/python docs/guides/bank.py PORT")
HTTPServer(("127.0.0.1", int(sys.argv[1])), Bank).serve_forever()
