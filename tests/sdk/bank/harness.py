"""A complete bank in this process, and a scripted hub that signs and verifies like the real hub."""

import asyncio
import base64
import json
import re
import uuid
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import httpx
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.hashes import SHA256

from tests.sdk.bank.full_bank import API_KEY, CURRENCY, IBANS, KEY, FullBank, make_bank, make_key, public_pem
from tests.sdk.scripted_hub import Clock

HUB, BANK = "https://hub.example", "https://bank.example"
HUB_KEY, OTHER_KEY = make_key(), make_key()
NOVEMBER = 1_795_680_000.0
"""A time in November 2026, before the consents end."""
CALLBACK = "https://tpp.example/callback?order=7"
PATHS: Mapping[int, Mapping[str, str]] = {
    1: {
        "accounts": "/accounts",
        "account": "/account",
        "balances": "/account_balance",
        "single": "/payment_initiation",
        "bulk": "/bulk_payment_initiation",
        "direct": "/direct_payment_initiation",
        "funds": "/funds_confirmations",
        "revoke": "/revoke_token",
    },
    2: {
        "accounts": "/v2_accounts",
        "account": "/v2_account",
        "balances": "/v2_account_balances",
        "single": "/v2_payment_single",
        "bulk": "/v2_payment_bulk",
        "direct": "/v2_payment_direct_single",
        "funds": "/v2_funds_confirmations",
        "revoke": "/revoke_token",
    },
}
SCOPES: Mapping[int, tuple[str, ...]] = {
    1: ("account.list", "account.details", "account.balance", "account.payments", "payment.init"),
    2: ("accounts", "accounts.balances", "accounts.transactions", "payments.single", "payments.bulk"),
}
STATUSES: Mapping[int, Mapping[str, Any]] = {
    1: {"confirmed": 4, "cancelled": 3, "rejected": 2},
    2: {"confirmed": "ACSC", "cancelled": "CANC", "rejected": "RJCT"},
}
Result = TypeVar("Result")


def sign(body: bytes, key: RSAPrivateKey = HUB_KEY) -> str:
    return base64.b64encode(key.sign(body, PKCS1v15(), SHA256())).decode()


def order(version: int, amount: str = "12.50", **more: Any) -> dict[str, Any]:
    if version == 1:
        payee = {"receiver_name": "Oak Street Books", "receiver_iban": "FR1420041010050500013M02606"}
        scheme = {"payment_scheme": "FPS", "callback_url": CALLBACK}
        return {"amount": amount, "currency": CURRENCY, **payee, **scheme, **more}
    return {
        "creditor_account": {"iban": "FR1420041010050500013M02606"},
        "creditor_name": "Oak Street Books",
        "instructed_amount": {"amount": amount, "currency": CURRENCY},
        "payment_scheme": "FPS",
        "callback_url": CALLBACK,
        **more,
    }


@dataclass
class HubDouble:
    """A scripted hub that responds to the bank's calls. ``steps`` contains the first responses, and ``keys`` the
    published keys.
    """

    clock: Clock
    steps: list[httpx.Response | Exception] = field(default_factory=list)
    calls: list[httpx.Request] = field(default_factory=list)
    keys: list[RSAPrivateKey] = field(default_factory=lambda: [HUB_KEY])
    fetches: int = 0
    tokens: int = 0
    scopes: tuple[str, ...] = ()
    saved: dict[str, dict[str, Any]] = field(default_factory=dict)

    def __call__(self, request: httpx.Request) -> httpx.Response:
        if request.url.path == "/bank/public_key":
            self.fetches += 1
            return httpx.Response(200, text="".join(map(public_pem, self.keys)))
        self.calls.append(request)
        signature = base64.b64decode(request.headers["x-signature"])
        KEY.public_key().verify(signature, request.content, PKCS1v15(), SHA256())
        assert request.headers["x-api-key"] == API_KEY
        if self.steps:
            step = self.steps.pop(0)
            if isinstance(step, Exception):
                raise step
            return step
        return httpx.Response(200, json=self._answer(request))

    def _answer(self, request: httpx.Request) -> dict[str, Any]:
        path, is_v2 = request.url.path, "/v2/" in request.url.path
        if path.endswith("init_authorization"):
            named = {"tpp_name": "Books & Co <b>", "tpp_registration_number": "PSD-1", "scopes": list(self.scopes)}
            return spelled({**named, "cancel_url": f"{HUB}/bank/cancel/secret"}, is_v2)
        if path.endswith("/consent"):
            return spelled(self._save(request.headers["x-request-id"]), is_v2)
        return {"status": "success"}

    def _save(self, request_id: str) -> dict[str, Any]:
        """Save a consent, and return its token. A duplicate request gets the same token."""
        if request_id not in self.saved:
            self.tokens += 1
            self.saved[request_id] = {
                "callback_url": f"{HUB}/authorize/callback?code={self.tokens}",
                "access_token": f"consent{self.tokens}.secret{self.tokens}",
                "valid_until": "2027-05-20T09:30:00+00:00",
            }
        return self.saved[request_id]

    def bodies(self, path: str) -> list[dict[str, Any]]:
        found = [json.loads(each.content) for each in self.calls if each.url.path.endswith(path)]
        return [{snake_case(name): value for name, value in each.items()} for each in found]


def spelled(members: dict[str, Any], is_v2: bool) -> dict[str, Any]:
    """Return the members with the names of the bank's API version: camel case in version 2, snake case in version 1."""
    if not is_v2:
        return members
    return {re.sub("_(.)", lambda found: found[1].upper(), name): value for name, value in members.items()}


def snake_case(name: str) -> str:
    return re.sub("[A-Z]", lambda found: f"_{found[0].lower()}", name)


class BankHarness:
    def __init__(self, version: int, clock: Clock, **options: Any) -> None:
        self.version, self.clock = version, clock
        self.hub = HubDouble(clock, scopes=SCOPES[version])
        client = httpx.AsyncClient(transport=httpx.MockTransport(self.hub))
        self.full: FullBank = make_bank(version, HUB, BANK, http_client=client, **options)
        self.bank = self.full.bank
        self._runner = asyncio.Runner()

    def close(self) -> None:
        self._runner.close()

    def run(self, work: Awaitable[Result]) -> Result:
        async def awaited() -> Result:
            return await work

        return self._runner.run(awaited())

    async def request(self, method: str, path: str, **options: Any) -> httpx.Response:
        transport = httpx.ASGITransport(self.bank, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url=BANK) as browser:
            return await browser.request(method, path, **options)

    # -- the hub

    def webhook(self, name: str, body: Any = None, **options: Any) -> httpx.Response:
        return self.run(self.sending(name, body, **options))

    async def sending(
        self,
        name: str,
        body: Any = None,
        *,
        token: str = "",
        request_id: str | None = None,
        key: RSAPrivateKey = HUB_KEY,
        change: Callable[[dict[str, str]], object] = lambda headers: None,
    ) -> httpx.Response:
        content = body if isinstance(body, bytes) else json.dumps(body or {}).encode()
        headers = {
            "X-Api-Key": API_KEY,
            "X-Request-Id": request_id or str(uuid.uuid4()),
            "X-Signature": sign(content, key),
            "Content-Type": "application/json",
        }
        headers |= {"X-Auth-Token": token} if token else {}
        change(headers)
        return await self.request("POST", PATHS[self.version].get(name, name), content=content, headers=headers)

    # -- the PSU

    def open(self, path: str) -> httpx.Response:
        return self.run(self.request("GET", path.removeprefix(BANK)))

    def decide(self, page: httpx.Response | str, decision: str, **form: Any) -> httpx.Response:
        """Submit the decision form of a page. If ``page`` is an address, open the page first.

        Return the response, or the opened page if the page has no form.
        """
        shown = self.open(page) if isinstance(page, str) else page
        return self.send(action_of(shown), decision, **form) if "<form" in shown.text else shown

    def send(self, action: str, decision: str, **form: Any) -> httpx.Response:
        return self.run(self.request("POST", action.removeprefix(BANK), data={"decision": decision, **form}))

    def consent(self, query: str = "request=1", accounts: tuple[str, ...] = ("1001", "1002")) -> str:
        ended = self.decide(self.open(f"/consent?{query}"), "yes", account=list(accounts))
        assert ended.status_code == 303, ended.text
        return f"consent{self.hub.tokens}.secret{self.hub.tokens}"

    def pay(self, kind: str = "single", token: str = "", **more: Any) -> dict[str, Any]:
        answer = self.webhook(kind, order(self.version, **more), token=token)
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found


def action_of(page: httpx.Response) -> str:
    found = re.search('action="([^"]+)"', page.text)
    assert found is not None, page.text
    return found[1]


def code_of(answer: httpx.Response) -> Any:
    body = answer.json()
    return body.get("code") or body.get("error_code")


def debtor(version: int, iban: str = IBANS[0]) -> dict[str, Any]:
    return {"sender_iban": iban} if version == 1 else {"debtor_account": {"iban": iban}}
