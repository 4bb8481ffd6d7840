"""The counterparts of a demonstration bank: a hub with scripted responses, and the browser of a PSU."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from html.parser import HTMLParser
from http.cookies import SimpleCookie
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlencode, urljoin, urlsplit

import responses

from chalicelib.demo_bank.profiles import BY_NAME
from chalicelib.foundation import jsontext
from chalicelib.foundation.crypto import signatures
from chalicelib.foundation.settings import Settings
from tests.kit.time import ManualClock
from tests.openbanking.kit import camel_case

if TYPE_CHECKING:
    from tests.demo_bank.single_bank import SingleBank

START = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
CALLBACK = "https://tpp.example/callback"
HUB_KEY = signatures.load_private_key(signatures.generate_private_pem())
BANK_PEMS = {name: signatures.generate_private_pem() for name in BY_NAME}
OTHER_KEY = signatures.load_private_key(BANK_PEMS["one"])

SCOPES: Mapping[int, list[str]] = {1: ["account.list", "account.details"], 2: ["accounts"]}


@dataclass(frozen=True)
class Reply:
    status: int
    headers: Mapping[str, str]
    text: str
    url: str = ""

    @property
    def body(self) -> Any:
        return jsontext.loads(self.text)

    @property
    def location(self) -> str:
        return self.headers.get("location", "")


@dataclass
class ScriptedHub:
    """A hub with scripted responses for calls of the bank.

    The hub uses the format of the bank's version and records all calls. ``errors`` maps paths to (status, body) or an
    exception. ``during_consent`` runs while a consent is saved. Each response takes ``answer_seconds``. ``timeouts``
    contains the timeouts of the bank's calls.
    """

    settings: Settings
    scopes: list[str]
    calls: list[tuple[str, Any, Mapping[str, str]]] = field(default_factory=list)
    errors: dict[str, Any] = field(default_factory=dict)
    during_consent: Callable[[], object] = lambda: None
    keys_fetched: int = 0
    clock: ManualClock = field(default_factory=lambda: ManualClock(START))
    answer_seconds: float = 0
    timeouts: list[tuple[float, float]] = field(default_factory=list)
    consent_days: int = 180
    token: str = field(default_factory=lambda: f"consent.{uuid.uuid4().hex}")

    def received(self, path: str) -> list[tuple[str, Any, Mapping[str, str]]]:
        return [call for call in self.calls if call[0].endswith(path)]

    def install(self, mock: responses.RequestsMock) -> None:
        for base, camel in (("/bank", False), ("/bank/v2", True)):
            for path in ("/init_authorization", "/consent", "/token/revoke", "/payments/status", "/daily_performance"):
                url = self.settings.bank_api_url + base + path
                mock.add_callback(responses.POST, url, callback=self._answering(path, camel))
        mock.add_callback(responses.GET, f"{self.settings.bank_api_url}/bank/public_key", callback=self._keys)

    def _keys(self, request: Any) -> tuple[int, dict[str, str], str]:
        self.keys_fetched += 1
        self.timeouts.append(request.req_kwargs["timeout"])
        if "/public_key" in self.errors:
            raise self.errors["/public_key"]
        return 200, {}, signatures.public_pem(OTHER_KEY.public_key()) + signatures.public_pem(HUB_KEY.public_key())

    def _answering(self, path: str, camel: bool) -> Callable[[Any], tuple[int, dict[str, str], str]]:
        def answer(request: Any) -> tuple[int, dict[str, str], str]:
            self.calls.append((urlsplit(request.url).path, json.loads(request.body), dict(request.headers)))
            self.timeouts.append(request.req_kwargs["timeout"])
            self.clock.advance(self.answer_seconds)
            error = self.errors.get(path)
            if isinstance(error, Exception):
                raise error
            if error is not None:
                return error[0], {}, json.dumps(error[1])
            if path == "/consent":
                self.during_consent()
            members = self._members(path)
            return (
                200,
                {},
                json.dumps({camel_case(name): value for name, value in members.items()} if camel else members),
            )

        return answer

    def _members(self, path: str) -> dict[str, Any]:
        if path == "/init_authorization":
            return {
                "tpp_name": "Budget <Friend>",
                "tpp_registration_number": "SANDBOX-12345678",
                "scopes": self.scopes,
                "cancel_url": f"{self.settings.bank_api_url}/bank/cancel/cancel-secret",
            }
        if path == "/consent":
            valid_until = START + timedelta(days=self.consent_days)
            return {
                "callback_url": f"{CALLBACK}?code=the-code&state=xyz",
                "access_token": self.token,
                "valid_until": valid_until.isoformat(timespec="seconds"),
            }
        return {"status": "success"}


class Browser:
    """A browser that opens pages, follows redirects within the bank, stores cookies, and sends the forms of a page."""

    def __init__(self, bank: SingleBank) -> None:
        self.bank = bank
        self.cookies: dict[str, str] = {}
        self.page = Reply(0, {}, "")

    def open(self, url: str) -> Reply:
        return self._go("GET", urljoin(self.bank.domain, url), None)

    def submit(self, action: str, *, follow: bool = True, fields: list[tuple[str, str]] | None = None) -> Reply:
        """Send the first form on the page with the address ``action``, including its hidden fields and ``fields``."""
        form = next(form for form in _Page(self.page.text).forms if form[0].endswith(action))
        body = urlencode([*form[1], *(fields or [])]).encode()
        return self._go("POST", urljoin(self.page.url, form[0]), body, follow)

    def sign_in(self, username: str, password: str | None = None) -> Reply:
        return self.submit("/sign-in", fields=[("username", username), ("password", password or f"sandbox-{username}")])

    def choose(self, count: int) -> Reply:
        return self.submit("/choose", fields=[("account", account) for account in self.offered()[:count]])

    def offered(self) -> list[str]:
        return _Page(self.page.text).checkboxes

    def key_code(self) -> str:
        return self.page.text.partition('id="sent">')[2][:6]

    def confirm(self, key_code: str | None = None, *, follow: bool = False) -> Reply:
        return self.submit("/confirm", follow=follow, fields=[("key_code", key_code or self.key_code())])

    def arrive(self, **parameters: str) -> Browser:
        self.open(self.bank.request_url(**parameters))
        return self

    def at_confirmation(self, customer: str, accounts: int = 99) -> Browser:
        self.arrive().sign_in(customer)
        self.choose(accounts)
        return self

    # -- payments

    def pay_as(self, username: str) -> Reply:
        return self.submit("/payment/sign-in", fields=[("username", username), ("password", f"sandbox-{username}")])

    def pay_from(self, account_id: str) -> Reply:
        return self.submit("/payment/choose", fields=[("account", account_id)])

    def pay(self, key_code: str | None = None) -> Reply:
        return self.submit("/payment/confirm", follow=False, fields=[("key_code", key_code or self.key_code())])

    def refuse_to_pay(self) -> Reply:
        return self.submit("/payment/refuse", follow=False)

    def _go(self, method: str, url: str, body: bytes | None, follow: bool = True) -> Reply:
        headers = {"cookie": "; ".join(f"{name}={value}" for name, value in self.cookies.items())}
        if body is not None:
            headers["content-type"] = "application/x-www-form-urlencoded"
        reply = self.bank.call(method, url, body, headers)
        for name, morsel in SimpleCookie(reply.headers.get("set-cookie", "")).items():
            self.cookies[name] = morsel.value
        if reply.status != 303:
            self.page = reply
        elif follow and urljoin(url, reply.location).startswith(self.bank.domain):
            return self._go("GET", urljoin(url, reply.location), None)
        return reply


class _Page(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.forms: list[tuple[str, list[tuple[str, str]]]] = []
        self.checkboxes: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        if tag == "form":
            self.forms.append((values["action"], []))
        elif tag == "input" and values["type"] == "hidden":
            self.forms[-1][1].append((values["name"], values["value"]))
        elif tag == "input" and values["type"] == "checkbox":
            self.checkboxes.append(values["value"])


def query_of(url: str) -> dict[str, str]:
    return dict(parse_qsl(urlsplit(url).query))
