"""A stage for a demonstration bank alone: its routes, its table, a service that does as it is told, and a browser."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache, partial
from html.parser import HTMLParser
from http.cookies import SimpleCookie
from types import SimpleNamespace
from typing import Any
from urllib.parse import parse_qsl, urlencode, urljoin, urlsplit

import boto3
import responses
from chalice.config import Config
from chalice.local import LocalGateway

from chalicelib import bootstrap
from chalicelib.application import Application
from chalicelib.demo_bank import consents, runtime
from chalicelib.demo_bank.banks import FORMATS
from chalicelib.demo_bank.directory import find_customer
from chalicelib.demo_bank.profiles import BY_NAME, BankName, Profile
from chalicelib.demo_bank.routes import build
from chalicelib.foundation import jsontext
from chalicelib.foundation.aws.calls import send
from chalicelib.foundation.crypto import signatures
from chalicelib.foundation.dynamodb.store import Store
from chalicelib.foundation.settings import Settings
from tests.kit.time import ManualClock

START = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
CALLBACK = "https://tpp.example/callback"
HUB_KEY = signatures.load_private_key(signatures.generate_private_pem())
BANK_PEMS = {name: signatures.generate_private_pem() for name in BY_NAME}
OTHER_KEY = signatures.load_private_key(BANK_PEMS["one"])

SCOPES: Mapping[int, list[str]] = {1: ["account.list", "account.details"], 2: ["accounts"]}
"""By protocol version."""


@dataclass(frozen=True)
class Reply:
    """What came back."""

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
    """The service as the bank sees it: answers in the version's spelling, and a record of what was asked.

    ``errors`` has (status, body) or an exception by path; ``during_consent`` runs while a consent is being saved.
    ``answer_seconds`` is how long it takes for every answer, ``timeouts`` what the bank would have waited.
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

    def named(self, path: str) -> list[tuple[str, Any, Mapping[str, str]]]:
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
            return 200, {}, json.dumps({_camel(name): value for name, value in members.items()} if camel else members)

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


class Stage:
    """One bank on the stage."""

    def __init__(self, name: BankName, mock: responses.RequestsMock, **environment: str) -> None:
        self.profile: Profile = BY_NAME[name]
        prefix = f"stage-{uuid.uuid4().hex[:12]}"
        self.settings = Settings.from_environment({"STAGE": "local", "RESOURCE_PREFIX": prefix, **environment})
        self.clock = ManualClock(START)
        _create_table(f"{prefix}-demo-banks")
        self.store = Store(partial(send, "dynamodb"), prefix)
        self.secrets = SimpleNamespace(get=lambda _: self.secret)
        self.secret: dict[str, Any] = {
            key: {"bic": p.bic, "api_key": f"key-{key}", "signing_key": BANK_PEMS[key], "storage_key": "ab" * 32}
            for key, p in BY_NAME.items()
            if key == name or not p.plays_faults
        }
        self.bank = runtime.DemoBank(self.profile, FORMATS[self.profile.version], self)
        self.hub = ScriptedHub(self.settings, list(SCOPES[self.profile.version]), clock=self.clock)
        self.hub.install(mock)
        self.app = _application()

    @property
    def domain(self) -> str:
        return self.profile.domain(self.settings.public_url)

    def request_url(self, **parameters: str) -> str:
        """An OAuth2 authorization URL as the service makes it."""
        query = {"response_type": "code", "client_id": "c", "redirect_uri": CALLBACK, "state": "x +&é%"} | parameters
        return f"{self.profile.authorization_url(self.settings.public_url)}?{urlencode(query)}"

    def call(self, method: str, url: str, body: bytes | None = None, headers: Mapping[str, str] | None = None) -> Reply:
        """One HTTP request, as API Gateway would hand it to the function."""
        parts = urlsplit(url)
        target = parts.path + (f"?{parts.query}" if parts.query else "")
        gateway = LocalGateway(self.app, Config())
        event = gateway.event_converter.create_lambda_event(method, target, dict(headers or {}), body)
        answer = self.app(event, None)
        json.dumps(answer)
        lowered = {name.lower(): value for name, value in answer["headers"].items()}
        return Reply(answer["statusCode"], lowered, answer["body"], url)

    def webhook(
        self,
        path: str,
        members: Any = None,
        *,
        token: str | None = None,
        raw: bytes | None = None,
        **headers: str | None,
    ) -> Reply:
        """A webhook of the service, signed; a header given as ``None`` is left out."""
        body = raw if raw is not None else jsontext.dumps(members or {}).encode()
        sent: dict[str, str | None] = {
            "content-type": "application/json",
            "x-api-key": self.secret[self.profile.name]["api_key"],
            "x-request-id": str(uuid.uuid4()),
            "x-signature": signatures.sign(HUB_KEY, body),
            "x-auth-token": token,
        }
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        present = {name: value for name, value in sent.items() if value is not None}
        return self.call("POST", self.domain + path, body, present)

    def browser(self) -> Browser:
        return Browser(self)

    def approve(
        self, customer: str, accounts: int = 99, scopes: list[str] | None = None, *, is_one_time: bool = False
    ) -> str:
        """A consent of a customer for the first accounts, as a journey leaves it; answers its token."""
        token = f"consent.{uuid.uuid4().hex}"
        found = find_customer(self.bank, customer)
        assert found is not None
        self.store.transact(
            consents.put_consent(
                self.bank,
                token,
                customer_id=customer,
                account_ids=[account.account_id for account in found.accounts[:accounts]],
                scopes=scopes or self.hub.scopes,
                tpp_name="Budget <Friend>",
                valid_until=self.clock.time() + 180 * 86400,
                is_one_time=is_one_time,
            )
        )
        return token


class Browser:
    """Opens pages, follows redirects within the bank, keeps cookies, and sends the forms that are on the page."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.cookies: dict[str, str] = {}
        self.page = Reply(0, {}, "")

    def open(self, url: str) -> Reply:
        return self._go("GET", urljoin(self.stage.domain, url), None)

    def submit(self, action: str, *, follow: bool = True, fields: list[tuple[str, str]] | None = None) -> Reply:
        """Send the page's first form for ``action`` with its hidden fields and ``fields``."""
        form = next(form for form in _forms(self.page.text) if form[0].endswith(action))
        body = urlencode([*form[1], *(fields or [])]).encode()
        return self._go("POST", urljoin(self.page.url, form[0]), body, follow)

    def sign_in(self, username: str, password: str | None = None) -> Reply:
        return self.submit("/sign-in", fields=[("username", username), ("password", password or f"sandbox-{username}")])

    def choose(self, count: int) -> Reply:
        return self.submit("/choose", fields=[("account", account) for account in self.offered()[:count]])

    def offered(self) -> list[str]:
        """The accounts that the page offers."""
        return _checkboxes(self.page.text)

    def key_code(self) -> str:
        return self.page.text.partition('id="sent">')[2][:6]

    def confirm(self, key_code: str | None = None, *, follow: bool = False) -> Reply:
        return self.submit("/confirm", follow=follow, fields=[("key_code", key_code or self.key_code())])

    def arrive(self, **parameters: str) -> Browser:
        self.open(self.stage.request_url(**parameters))
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
        reply = self.stage.call(method, url, body, headers)
        for name, morsel in SimpleCookie(reply.headers.get("set-cookie", "")).items():
            self.cookies[name] = morsel.value
        if reply.status != 303:
            self.page = reply
        elif follow and urljoin(url, reply.location).startswith(self.stage.domain):
            return self._go("GET", urljoin(url, reply.location), None)
        return reply


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.forms: list[tuple[str, list[tuple[str, str]]]] = []
        self.checkboxes: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        if tag == "form":
            self.forms.append((values["action"], []))
        elif tag == "input" and values["type"] == "hidden":
            self.forms[-1][1].append((values["name"], values["value"]))
        elif tag == "input" and values["type"] == "checkbox":
            self.checkboxes.append(values["value"])


def _forms(html: str) -> list[tuple[str, list[tuple[str, str]]]]:
    page = _Page()
    page.feed(html)
    return page.forms


def _checkboxes(html: str) -> list[str]:
    page = _Page()
    page.feed(html)
    return page.checkboxes


def query_of(url: str) -> dict[str, str]:
    return dict(parse_qsl(urlsplit(url).query))


@cache
def _client() -> Any:
    return boto3.client("dynamodb")


def _host() -> runtime.Services:
    """The stage that a test has installed."""
    return bootstrap.hub()


@cache
def _application() -> Application:
    application = Application(app_name="demo-banks", configure_logs=False)
    application.register_blueprint(build().bind(_host))
    return application


def _create_table(name: str) -> None:
    _client().create_table(
        TableName=name,
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[
            {"AttributeName": "bank", "AttributeType": "S"},
            {"AttributeName": "id", "AttributeType": "S"},
        ],
        KeySchema=[{"AttributeName": "bank", "KeyType": "HASH"}, {"AttributeName": "id", "KeyType": "RANGE"}],
    )


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)
