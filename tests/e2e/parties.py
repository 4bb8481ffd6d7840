"""The parties of an end-to-end test: a TPP, a programme manager, a web browser, PSUs, and banks with a server."""

import re
import socket
import threading
import uuid
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeVar
from urllib.parse import parse_qs, urlsplit

import requests

from chalicelib import bootstrap
from chalicelib.foundation import jsontext
from chalicelib.foundation.crypto import signatures
from chalicelib.openbanking.protocol.versions import VERSIONS
from chalicelib.openbanking.records.bank_record import NewBank
from infra.psu_browser import Browser, approve_consent, confirm_payment
from tests.kit.time import PATIENCE_SECONDS, wait_for
from tests.openbanking.kit import basic
from tests.payment_orders import payment_orders

T = TypeVar("T")
SCOPES = {1: ["account.list", "account.details"], 2: ["accounts"]}


def send(method: str, url: str, **options: Any) -> requests.Response:
    """Send an HTTP request on a separate connection, without the proxies configured on the machine."""
    with requests.Session() as session:
        session.trust_env = False
        return session.request(method, url, timeout=PATIENCE_SECONDS, **options)


@dataclass(frozen=True)
class Journey:
    bank: Mapping[str, Any]
    code: str
    callback: str


class Tpp:
    """A client of the running stack."""

    def __init__(self, base: str, client_id: str, callback: str) -> None:
        self.base = base
        self.client_id = client_id
        self.callback = callback

    def call(
        self, method: str, path: str, body: Any = None, bearer: str = "", headers: Mapping[str, str] | None = None
    ) -> requests.Response:
        headers = {"X-Api-Key": self.client_id, **(headers or {})}
        headers |= {"Authorization": f"Bearer {bearer}"} if bearer else {}
        return send(method, self.base + path, json=body, headers=headers)

    def send_form(self, path: str, form: Mapping[str, str]) -> requests.Response:
        return send("POST", self.base + path, data=form, headers={"X-Api-Key": self.client_id})

    def later(
        self, method: str, path: str, body: Any = None, bearer: str = "", headers: Mapping[str, str] | None = None
    ) -> Any:
        """Make an asynchronous call, and wait for the outcome. Return the response of the URL in the ``Location``
        header.
        """
        accepted = self.call(method, path, body, bearer, {"Prefer": "respond-async", **(headers or {})})
        assert accepted.status_code == 202, accepted.text

        def look() -> Any:
            found = self.call("GET", accepted.headers["Location"], bearer=bearer).json()
            return found if found["state"] in ("done", "failed") else None

        return wait_for(look, f"nothing came of {method} {path}")

    def direct_payment(self, bank: Mapping[str, Any]) -> dict[str, Any]:
        currency, back = "GBP" if bank["api_version"] == 1 else "EUR", f"{self.base}/payments/callback"
        return payment_orders(bank["api_version"], bank["bic"], "unused", currency, back).direct.to_json()

    def journey(self, bank: Mapping[str, Any], scopes: Sequence[str] = ()) -> Journey:
        scopes = list(scopes or SCOPES[bank["api_version"]])
        asked = self.call("POST", "/tpp/authorize", {"bic": bank["bic"], "scopes": scopes}).json()
        callback = approve_consent(Browser(self.callback, lambda *_: None), asked["redirect_url"])
        return Journey(bank, parse_qs(urlsplit(callback).query)["code"][0], callback)

    def redeem(self, code: str) -> requests.Response:
        return self.call("POST", "/tpp/token", {"authorization_code": code})

    def refresh(self, token: str) -> requests.Response:
        return self.call("POST", "/tpp/token", {"refresh_token": token})


class TppWithSecret(Tpp):
    def __init__(self, base: str, client_id: str, secret: str, callback: str) -> None:
        super().__init__(base, client_id, callback)
        self._basic = basic(client_id, secret)

    def call(
        self, method: str, path: str, body: Any = None, bearer: str = "", headers: Mapping[str, str] | None = None
    ) -> requests.Response:
        shown = {} if bearer else {"Authorization": self._basic}
        return super().call(method, path, body, bearer, {**shown, **(headers or {})})


def at_once(count: int, call: Callable[[], T]) -> list[T]:
    with ThreadPoolExecutor(count) as pool:
        return [future.result() for future in [pool.submit(call) for _ in range(count)]]


class ProgrammeManager:
    def __init__(self, stack: Mapping[str, Any]) -> None:
        self._base = stack["base_url"]
        self._credentials = stack["programme"]["credentials"]["full"]

    def post(self, path: str, action: str, **members: Any) -> requests.Response:
        body = {**self._credentials, "action": action, "api_version": "1.2", **members}
        return send("POST", self._base + path, json=body)

    def data(self, action: str, **members: Any) -> Any:
        return self._data("/api", action, members)

    def simulated(self, action: str, **members: Any) -> Any:
        return self._data("/simulator", action, members)

    def _data(self, path: str, action: str, members: dict[str, Any]) -> Any:
        answer = self.post(path, action, **members).json()
        assert answer["status"] == "success", answer
        return answer.get("data")


_TOKEN = re.compile(r'name="form_token" value="([^"]+)"')


class WebBrowser:
    """A browser that stores cookies and sends forms of the web interface, but runs no scripts."""

    def __init__(self, base: str) -> None:
        self.base = base
        self.session = requests.Session()
        self.session.trust_env = False

    def get(self, path: str) -> requests.Response:
        return self.session.get(self.base + path, timeout=PATIENCE_SECONDS)

    def post(self, path: str, shown: requests.Response, **fields: Any) -> requests.Response:
        found = _TOKEN.search(shown.text)
        assert found is not None
        data = {"form_token": found[1], **fields}
        return self.session.post(self.base + path, data=data, timeout=PATIENCE_SECONDS, allow_redirects=False)


# -- PSUs


def bearer(tpp: Tpp, bank: Mapping[str, Any], customer: str) -> str:
    asked = tpp.call(
        "POST", "/tpp/authorize", {"bic": bank["bic"], "scopes": list(VERSIONS[bank["api_version"]].scopes)}
    )
    callback = approve_consent(Browser(tpp.callback, lambda *_: None), asked.json()["redirect_url"], customer)
    answer = tpp.redeem(parse_qs(urlsplit(callback).query)["authorization_code"][0])
    assert answer.status_code == 200, answer.text
    return str(answer.json()["access_token"])


def initiate(tpp: Tpp, bank: Mapping[str, Any], access_token: str) -> Any:
    order = tpp.direct_payment(bank)
    del order["bic"]
    order["payment_scheme"] = "BACS" if bank["api_version"] == 1 else "SCT"
    return tpp.call("POST", "/tpp/payment_initiation", order, access_token)


def pay(tpp: Tpp, confirmation_url: str, customer: str) -> dict[str, str]:
    back = confirm_payment(Browser(f"{tpp.base}/payments/callback", lambda *_: None), confirmation_url, customer)
    return {name: values[0] for name, values in parse_qs(urlsplit(back).query).items()}


# -- banks


Scopes = Sequence[str]
BASES = {1: "/bank", 2: "/bank/v2"}
INITIATIONS = (
    *("/payment_initiation", "/bulk_payment_initiation", "/direct_payment_initiation"),
    *("/v2_payment_single", "/v2_payment_bulk", "/v2_payment_direct_single"),
)


class OwnBank:
    """A bank that calls the hub. The bank receives webhooks only if ``domain`` is given."""

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
        return send("POST", f"{self._base}{BASES[self.version]}{path}", data=body, headers=headers)


@dataclass(frozen=True)
class Initiated:
    """A payment webhook that the bank received. ``number`` counts from 1."""

    number: int
    body: Any


class PayingBank(OwnBank):
    """A bank with a server on this machine. The server refuses connections until the bank is opened.

    ``answer`` creates the response to a payment webhook. If ``answer`` returns ``None``, the bank closes the
    connection.
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
        """Return the response of a bank that accepts a payment. The ``payment_id`` of the n-th payment is ``P-n``."""
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
        """Suppress the request log."""
