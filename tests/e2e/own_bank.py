"""A bank of the test's own: it calls the running stack and, when it is open, answers payment webhooks over HTTP."""

from __future__ import annotations

import socket
import threading
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import requests

from chalicelib import bootstrap
from chalicelib.foundation import jsontext
from chalicelib.foundation.crypto import signatures
from chalicelib.openbanking.records.bank_record import NewBank
from tests.kit.time import PATIENCE_SECONDS

Scopes = Sequence[str]
BASES = {1: "/bank", 2: "/bank/v2"}
INITIATIONS = (
    *("/payment_initiation", "/bulk_payment_initiation", "/direct_payment_initiation"),
    *("/v2_payment_single", "/v2_payment_bulk", "/v2_payment_direct_single"),
)


class OwnBank:
    """A bank that calls; what is sent to it ends nowhere unless ``domain`` is given."""

    def __init__(self, operator: bootstrap.Hub, base: str, version: int = 1, domain: str | None = None) -> None:
        self._base = base
        self._key = signatures.load_private_key(signatures.generate_private_pem())
        self.version = version
        self.bic = f"TESTGB{uuid.uuid4().hex[:5].upper()}"
        _, self._api_key = operator.openbanking.banks.add(
            NewBank(
                bic=self.bic,
                name="Test Bank",
                country="GB",
                api_version=version,
                domain=domain or f"{base}/nowhere",
                authorization_url=f"{base}/nowhere",
                public_keys=[signatures.public_pem(self._key.public_key())],
            )
        )

    def consent(self, url: str, request_id: str | None = None, scopes: Scopes = ("account.list",)) -> requests.Response:
        names = ("request_url", "account_ids") if self.version == 1 else ("requestUrl", "accountIds")
        members = dict(zip(names, (url, ["1"]), strict=True)) | {"scopes": list(scopes)}
        return self._call("/consent", members, request_id)

    def revoke(self, token: str, request_id: str | None = None) -> requests.Response:
        name = "access_token" if self.version == 1 else "accessToken"
        return self._call("/token/revoke", {name: token}, request_id)

    def report(self, payment_id: str, status: Any, request_id: str | None = None) -> requests.Response:
        names = ("payment_id", "payment_status") if self.version == 1 else ("paymentId", "paymentStatus")
        return self._call("/payments/status", dict(zip(names, (payment_id, status), strict=True)), request_id)

    def _call(self, path: str, members: dict[str, Any], request_id: str | None) -> requests.Response:
        body = jsontext.dumps(members).encode()
        headers = {
            "Content-Type": "application/json",
            "X-Api-Key": self._api_key,
            "X-Request-Id": request_id or str(uuid.uuid4()),
            "X-Signature": signatures.sign(self._key, body),
        }
        with requests.Session() as session:
            session.trust_env = False
            return session.post(
                f"{self._base}{BASES[self.version]}{path}", data=body, headers=headers, timeout=PATIENCE_SECONDS
            )


@dataclass(frozen=True)
class Initiated:
    """A payment webhook that the bank received; ``number`` counts from 1."""

    number: int
    body: Any


class PayingBank(OwnBank):
    """A bank with a server of its own on this machine, which refuses connections until it is opened.

    ``answer`` makes the answer to a payment webhook; ``None`` hangs up instead.
    """

    def __init__(self, operator: bootstrap.Hub, base: str, version: int) -> None:
        self.received: list[Initiated] = []
        self.ended: list[str] = []
        self.answer: Callable[[Initiated], Any] = self.taken
        self._lock = threading.Lock()
        self._server = _Server(("127.0.0.1", 0), _Handler, bind_and_activate=False)
        self._server.bank = self
        self._server.server_bind()  # taken, but nobody listens: connections are refused
        super().__init__(operator, base, version, f"http://127.0.0.1:{self._server.server_port}")
        self._thread: threading.Thread | None = None

    def open(self) -> None:
        self._server.server_activate()
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    def close(self) -> None:
        if self._thread is not None:
            self._server.shutdown()
            self._thread.join()
        self._server.server_close()

    def taken(self, payment: Initiated) -> Any:
        """The answer of a bank that takes a payment: the n-th has the payment_id ``P-n``."""
        members = {"confirmation_url": "https://bank.example/confirm", "payment_id": f"P-{payment.number}"}
        return {"status": "success" if self.version == 1 else "RCVD", **members}

    def receive(self, path: str, body: Any) -> Any:
        if path == "/revoke_token":
            self.ended.append(body["access_token"])
        if path not in INITIATIONS:
            return {"status": "success"}
        with self._lock:
            payment = Initiated(len(self.received) + 1, body)
            self.received.append(payment)
        return self.answer(payment)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128
    bank: PayingBank


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def do_POST(self) -> None:
        body = jsontext.loads(self.rfile.read(int(self.headers["Content-Length"])))
        answer = self.server.bank.receive(self.path, body)
        if answer is None:
            self.connection.shutdown(socket.SHUT_RDWR)
            return
        content = jsontext.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing."""
