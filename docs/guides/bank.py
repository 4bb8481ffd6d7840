"""A small bank of version 1 or 2: consent page, confirmation page, webhooks, status reports."""

import json
import os
import re
import secrets
import sys
import uuid
from base64 import b64decode, b64encode
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from decimal import Decimal
from functools import partial
from hmac import compare_digest
from html import escape
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import NamedTuple
from urllib.parse import parse_qs, urlencode, urlsplit

import requests
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import load_pem_private_key, load_pem_public_key

if len(sys.argv) != 2 or not sys.argv[1].isdecimal() or not all(map(os.environ.get, ("VERSION", "API_KEY", "HUB"))):
    sys.exit("usage: VERSION=2 API_KEY=… HUB=http://127.0.0.1:8000 .venv/bin/python docs/guides/bank.py PORT")
IS_V2, API_KEY, HUB = os.environ["VERSION"] == "2", os.environ["API_KEY"], os.environ["HUB"]
OWN = f"http://127.0.0.1:{sys.argv[1]}"
KEY = load_pem_private_key(Path(".local/bank.pem").read_bytes(), None)

# A real bank has a database; this data is lost on exit.
ACCOUNT = {"name": "Current account", "iban": "DE89370400440532013000", "currency": "EUR"}
ACCOUNT_ID, BALANCE = "1", Decimal(1000)
BOOKED = [
    {
        "id": f"B{day}",
        "reference": "Books",
        "description": "Books",
        "date_created": f"2026-11-0{day}",
        "amount": "-8.50",
    }
    for day in range(1, 6)
]
CONSENTS: dict[str, set[str]] = {}  # the scopes of consents in force, by access token
ONE_TIME: set[str] = set()  # access tokens that permit one payment
PAYMENTS: dict[str, dict] = {}  # orders and their statuses, by payment_id
TAKEN: dict[str, tuple[bytes, dict]] = {}  # orders and responses by X-Request-Id, because an order may be repeated
DECISIONS: dict[str, tuple[str, str, Callable[[bool], str]]] = {}
"""Pending decisions of PSUs by the secret in the page's URL: title, text, and callback."""

PAGE = """<!doctype html><title>Example Bank</title><h1>{}</h1><p>{}</p><form method="post" action="/decide/{}">
<button name="decision" value="yes">Yes</button> <button name="decision" value="no">No</button></form>"""


class Refused(Exception):
    """A refused webhook: HTTP status, version 1 code, version 2 code, and reason."""


NOT_THE_HUB = Refused(401, 4200, "WRONG_CREDENTIALS", "the API key or the signature is wrong")
NO_CONSENT = Refused(401, 4202, "AUTHENTICATION_REQUIRED", "the consent is not in force, or not for this")
NOT_A_UUID = Refused(401, 4204, "REQUEST_ID_NOT_UUID", "X-Request-Id is not a UUID")
NOT_THERE = Refused(404, 4001, "RESOURCE_UNKNOWN", "this bank does not offer that, or has no such account or payment")
BAD_CONTENT = Refused(400, 4001, "FORMAT_ERROR", "the body is not as in the reference")
OTHER_ORDER = Refused(400, 4001, "HEADERS_ERROR", "this X-Request-Id was used for another order")
NO_FUNDS = Refused(400, 5101, "INSUFFICIENT_FUNDS", "there is not enough money in the account")


# -- PSU decisions and calls to the hub


def call_hub(path: str, **members: object) -> dict:
    """Sign and send a call. A retry has the same id and body, so the hub processes it once."""
    body = json.dumps({(camel_case(name) if IS_V2 else name): value for name, value in members.items()}).encode()
    signature = b64encode(KEY.sign(body, PKCS1v15(), SHA256())).decode()
    headers = {"X-Api-Key": API_KEY, "X-Request-Id": str(uuid.uuid4()), "X-Signature": signature}
    for _ in range(3):
        with suppress(requests.ConnectionError, requests.Timeout):
            answer = requests.post(f"{HUB}/bank{'/v2' * IS_V2}/{path}", body, headers=headers, timeout=20)
            if answer.status_code < 500:
                answer.raise_for_status()
                return {snake_case(name): value for name, value in answer.json().items()}
    raise RuntimeError(f"the hub does not answer {path}")


def camel_case(name: str) -> str:
    return re.sub("_(.)", lambda found: found[1].upper(), name)


def snake_case(name: str) -> str:
    return re.sub("[A-Z]", lambda found: f"_{found[0].lower()}", name)


def ask_psu(title: str, text: str, decide: Callable[[bool], str]) -> str:
    """Store a question for a PSU. Returns the secret of its page."""
    secret = secrets.token_urlsafe()
    DECISIONS[secret] = (title, text, decide)
    return secret


def receive_psu(request_url: str) -> str:
    """Receive a PSU at the Authorization URL. A real bank first signs the PSU in, with strong authentication."""
    asked = call_hub("init_authorization", request_url=request_url)
    accounts = {"ibans": [ACCOUNT["iban"]], "account_ids": [ACCOUNT_ID]}
    consent = {"request_url": request_url, "scopes": asked["scopes"], **accounts}
    decide = partial(decide_consent, consent, asked["cancel_url"])
    return ask_psu(f"{asked['tpp_name']} asks for access", f"It may: {', '.join(asked['scopes'])}", decide)


def decide_consent(consent: dict, cancel_url: str, approved: bool) -> str:
    """Save the consent if the PSU approved it. Returns the URL to redirect the browser to."""
    if not approved:
        return cancel_url
    saved = call_hub("consent", **consent)
    token = saved["access_token"]
    CONSENTS[token] = set(consent["scopes"])
    if parse_qs(urlsplit(consent["request_url"]).query).get("consent_type") == ["one_time"]:
        ONE_TIME.add(token)
    return saved["callback_url"]


def end_consents(agreed: bool) -> str:
    """End all consents at the PSU's request, and tell the hub."""
    while agreed and CONSENTS:
        call_hub("token/revoke", access_token=CONSENTS.popitem()[0])
    return f"{OWN}/consents"


def decide_payment(payment_id: str, confirmed: bool) -> str:
    """Book or cancel a payment and report its status. Returns the URL to redirect the browser to."""
    payment = PAYMENTS[payment_id]
    version_2, version_1 = ("ACSC", 4) if confirmed else ("CANC", 3)
    payment["status"] = version_2 if IS_V2 else version_1
    call_hub("payments/status", payment_id=payment_id, payment_status=payment["status"])
    query = {"status": payment["status"], "payment_id": payment_id}
    query |= {} if confirmed else {"message": "The customer refused."}
    back = payment["order"]["callback_url"]
    return f"{back}{'&' if '?' in back else '?'}{urlencode(query)}"


# -- Webhooks


def is_the_hubs(body: bytes, signature: str) -> bool:
    """Whether a signature is valid under one of the hub's published keys, which a bank may cache for 60 seconds."""
    published = requests.get(f"{HUB}/bank/public_key", timeout=5).content
    for pem in re.findall(rb"-----BEGIN.+?-----END PUBLIC KEY-----", published, re.DOTALL):
        with suppress(InvalidSignature, ValueError):
            load_pem_public_key(pem).verify(b64decode(signature), body, PKCS1v15(), SHA256())
            return True
    return False


def parse(body: bytes) -> object:
    try:
        return json.loads(body)
    except ValueError:
        raise BAD_CONTENT from None


def fits(value: object, form: object) -> bool:
    """Whether a request has at least the members of ``form``, with texts or numbers where it has texts."""
    if isinstance(form, dict):
        return isinstance(value, dict) and all(name in value and fits(value[name], form[name]) for name in form)
    if isinstance(form, list):
        return isinstance(value, list) and bool(value) and all(fits(each, form[0]) for each in value)
    return isinstance(value, str | int | float)


def find_account(asked: dict) -> dict:
    """The account that is asked for. Raises: Refused."""
    if not {"account_id", "iban"} & asked.keys():
        raise BAD_CONTENT
    if asked.get("account_id", ACCOUNT_ID) != ACCOUNT_ID or asked.get("iban", ACCOUNT["iban"]) != ACCOUNT["iban"]:
        raise NOT_THERE
    return ACCOUNT


def list_booked(asked: dict) -> dict:
    """A page of payments in version 1. The last page has fewer payments than the limit; pages after it are empty."""
    find_account(asked)
    limit, page = asked["record_count"], asked["current_page"]
    return {"payments": BOOKED[(page - 1) * limit : page * limit], "paginator": {"limit": limit, "current_page": page}}


def take_payment(order: dict) -> dict:
    """Accept an order for the PSU to confirm. A direct payment has no consent, but is processed in the same way."""
    payment_id = secrets.token_hex(8)
    money = order.get("instructed_amount") or (order["totals"][0] if "totals" in order else order)
    if Decimal(str(money["amount"])) > BALANCE:
        raise NO_FUNDS
    PAYMENTS[payment_id] = {"order": order, "status": "RCVD" if IS_V2 else 1}
    payee = order.get("creditor_name") or order.get("receiver_name") or "the payee"
    title = f"Pay {money['amount']} {money['currency']} to {payee}?"
    page = ask_psu(title, f"From {ACCOUNT['iban']}", partial(decide_payment, payment_id))
    answer = {"payment_id": payment_id, "confirmation_url": f"{OWN}/decide/{page}"}
    return {**answer, "status": "RCVD"} if IS_V2 else answer


def find_status(asked: dict) -> dict:
    if asked["payment_id"] not in PAYMENTS:
        raise NOT_THERE
    return {"transaction_status": PAYMENTS[asked["payment_id"]]["status"]}


def end_consent(notice: dict) -> dict:
    CONSENTS.pop(notice["access_token"], None)
    return {"status": "success"}


class Webhook(NamedTuple):
    """A webhook: its answer, its scope, and the members that a request must have."""

    answer: Callable[[dict], dict]
    scope: str | None
    form: dict


RECEIVER = {"amount": "", "currency": "", "receiver_name": "", "payment_scheme": ""}
ORDER_1 = {**RECEIVER, "callback_url": ""}
BULK_1 = {"sender_iban": "", "callback_url": "", "totals": [{"currency": "", "amount": ""}], "payments": [RECEIVER]}
ORDER_2 = {"creditor_account": {}, "instructed_amount": {"amount": "", "currency": ""}, "callback_url": ""}
WEBHOOKS = {
    "/accounts": Webhook(lambda _: {"accounts": [{**ACCOUNT, "id": int(ACCOUNT_ID)}]}, "account.list", {}),
    "/account_payments": Webhook(list_booked, "account.payments", {}),
    "/payment_initiation": Webhook(take_payment, "payment.init", ORDER_1),
    "/bulk_payment_initiation": Webhook(take_payment, "payment.init", BULK_1),
    "/direct_payment_initiation": Webhook(take_payment, None, ORDER_1),
    "/v2_accounts": Webhook(lambda _: {"accounts": [{**ACCOUNT, "resource_id": ACCOUNT_ID}]}, "accounts", {}),
    "/v2_account": Webhook(
        lambda asked: {"account": {**find_account(asked), "resource_id": ACCOUNT_ID}}, "accounts", {"account_id": ""}
    ),
    "/v2_payment_single": Webhook(take_payment, "payments.single", ORDER_2),
    "/v2_payment_direct_single": Webhook(take_payment, None, ORDER_2),
    "/v2_payment_single_status": Webhook(find_status, None, {"payment_id": ""}),
    "/revoke_token": Webhook(end_consent, None, {"access_token": ""}),
}


class Bank(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        secret = self.path.removeprefix("/decide/")
        if self.path.startswith("/consent?"):
            secret = receive_psu(OWN + self.path)
        if self.path == "/consents":
            secret = ask_psu("Your consents", f"{len(CONSENTS)} in force. End them?", end_consents)
        if secret not in DECISIONS:
            return self.send(404, "There is nothing to decide.")
        title, text, _ = DECISIONS[secret]
        return self.send(
            200, PAGE.format(escape(title), escape(text), secret), "Content-Type: text/html; charset=utf-8"
        )

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        decision = DECISIONS.pop(self.path.removeprefix("/decide/"), None)
        if decision:
            return self.send(303, "", f"Location: {decision[2](body == b'decision=yes')}")
        try:
            status, answer = 200, self.answer(body) | ({} if IS_V2 else {"status": "success"})
        except Refused as refused:
            status, v1, v2, why = refused.args
            now = datetime.now(UTC).isoformat(timespec="seconds")
            answer = {"code": v2, "title": why, "timestamp": now} if IS_V2 else {}
            answer |= {} if IS_V2 else {"status": "error", "error_code": v1, "message": why}
        print(self.path, status, flush=True)
        return self.send(status, json.dumps(answer), "Content-Type: application/json")

    def answer(self, body: bytes) -> dict:
        """Respond to a webhook. Raises: Refused."""
        head = self.headers
        if not compare_digest(head.get("X-Api-Key", "").encode(), API_KEY.encode()) or not is_the_hubs(
            body, head.get("X-Signature", "")
        ):
            raise NOT_THE_HUB
        if self.path not in WEBHOOKS:
            raise NOT_THERE
        webhook, token, request_id = WEBHOOKS[self.path], head.get("X-Auth-Token", ""), head.get("X-Request-Id", "")
        if not re.fullmatch("[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}", request_id):
            raise NOT_A_UUID
        if webhook.scope and webhook.scope not in CONSENTS.get(token, ()):
            raise NO_CONSENT
        asked = parse(body)
        if not fits(asked, webhook.form):
            raise BAD_CONTENT
        before, answer = TAKEN.get(f"{request_id} {self.path}", (body, {}))
        if before != body:
            raise OTHER_ORDER
        answer = answer or webhook.answer(asked)
        if "confirmation_url" in answer:
            TAKEN[f"{request_id} {self.path}"] = (body, answer)
            if token in ONE_TIME:
                end_consent({"access_token": token})
        return answer

    def send(self, status: int, body: str, header: str = "Content-Type: text/plain") -> None:
        self.send_response(status)
        self.send_header(*header.split(": ", 1))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *_: object) -> None:
        """Disable request logging: ``do_POST`` prints one line per webhook."""


HTTPServer(("127.0.0.1", int(sys.argv[1])), Bank).serve_forever()
