"""A server in a separate process that simulates AWS and a bank for measured requests.

The server forwards AWS calls to the emulator. ``POST /-/record`` starts recording. After ``POST /-/replay``, each
recorded call gets its recorded response, independent of the emulator's tables. A read is matched by its body, and a
write is matched by its tables. ``GET /-/exchanges`` returns the exchanges since its last call. The process prints its
two ports.
"""

import http.client
import json
import re
import sys
import threading
from collections import deque
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

from infra.local.process import exit_with_parent
from tests.openbanking.examples import ANSWERS

Answer = tuple[int, Mapping[str, str], bytes]

_ACCOUNT = {"name": "Everyday Account", "iban": "GB33BUKB20201555555555", "currency": "GBP"}
_PAYMENT = {**ANSWERS[1]["/account_payments"]["payments"][0], "amount": 12.5}
_PAYMENTS = [{**_PAYMENT, "id": f"P-{number}"} for number in range(50)]
BANK: Mapping[str, Any] = {
    "/accounts": {"accounts": [{"id": number, **_ACCOUNT} for number in (1, 2, 3)]},
    "/account_payments": {"payments": _PAYMENTS, "paginator": {"limit": 50, "current_page": 1}},
    "/v2_payment_single_status": {"transaction_status": "ACSP"},
}
_READ = re.compile(r".*\.(BatchGet|Get|Query|Decrypt)")
_TABLES = re.compile(r'"TableName": "([^"]*)"')


class Parties:
    """A server that returns simulated AWS and bank responses and records the exchanges."""

    def __init__(self, emulator: str) -> None:
        self._emulator = emulator
        self._local = threading.local()
        self._is_replayed = False
        self._answers: dict[Any, Answer] = {}
        self._exchanges: deque[Any] = deque(maxlen=100)

    def answer(self, path: str, headers: Mapping[str, str], body: bytes) -> Answer:
        if path in ("/-/record", "/-/replay"):
            self._is_replayed = path == "/-/replay"
            self._answers = self._answers if self._is_replayed else {}
            self._exchanges.clear()
            return 204, {}, b""
        if path == "/-/exchanges":
            taken = [self._exchanges.popleft() for _ in range(len(self._exchanges))]
            return 200, {}, json.dumps(taken).encode()
        self._exchanges.append({"path": path, "headers": dict(headers), "body": body.decode()})
        return self._aws(headers, body) if "X-Amz-Target" in headers else _bank(path, headers)

    def _aws(self, headers: Mapping[str, str], body: bytes) -> Answer:
        target = headers["X-Amz-Target"]
        text = json.dumps(json.loads(body), sort_keys=True)
        keys: list[Any] = [(target, text)]
        if not _READ.match(target):
            keys.append((target, frozenset(_TABLES.findall(text))))
        if self._is_replayed:
            for key in keys:
                if key in self._answers:
                    return self._answers[key]
        answer = self._emulated(headers, body)
        if not self._is_replayed:
            self._answers |= dict.fromkeys(keys, answer)
        return answer

    def _emulated(self, headers: Mapping[str, str], body: bytes) -> Answer:
        if not hasattr(self._local, "connection"):
            self._local.connection = http.client.HTTPConnection(urlsplit(self._emulator).netloc)
        self._local.connection.request("POST", "/", body, dict(headers))
        with self._local.connection.getresponse() as response:
            copied = ("content-type", "x-amz-crc32")
            given = {name: value for name, value in response.headers.items() if name.lower() in copied}
            return response.status, given, response.read()


def _bank(path: str, headers: Mapping[str, str]) -> Answer:
    members = BANK.get(path, {})
    if path.endswith("payment_initiation") or path == "/v2_payment_single":
        members = {"confirmation_url": "https://bank.example/confirm", "payment_id": f"P-{headers['X-Request-Id']}"}
    status = "RCVD" if path == "/v2_payment_single" else "success"
    return 200, {"Content-Type": "application/json"}, json.dumps({"status": status, **members}).encode()


def _server(parties: Parties) -> ThreadingHTTPServer:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True
        wbufsize = -1

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            status, headers, answer = parties.answer(self.path, dict(self.headers.items()), body)
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        do_GET = do_POST  # noqa: N815

        def log_message(self, format: str, *args: object) -> None:
            """Log nothing."""

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, request: object, client_address: object) -> None:
            """Ignore connection errors of a killed process."""

    return Server(("127.0.0.1", 0), Handler)


if __name__ == "__main__":
    exit_with_parent()
    parties = Parties(sys.argv[1])
    aws, bank = _server(parties), _server(parties)
    threading.Thread(target=aws.serve_forever, daemon=True).start()
    print(aws.server_port, bank.server_port, flush=True)
    bank.serve_forever()
