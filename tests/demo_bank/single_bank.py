"""A single demonstration bank: its routes, its table, and payments."""

import json
import uuid
from collections.abc import Mapping
from decimal import Decimal
from functools import cache, partial
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlencode, urlsplit

import boto3
import responses
from chalice.config import Config
from chalice.local import LocalGateway

from chalicelib import bootstrap
from chalicelib.application import Application
from chalicelib.demo_bank import consents, runtime
from chalicelib.demo_bank.banks import FORMATS
from chalicelib.demo_bank.customers import CUSTOMERS, CustomerAccount
from chalicelib.demo_bank.directory import find_customer
from chalicelib.demo_bank.profiles import BY_NAME, BankName, Profile
from chalicelib.demo_bank.routes import build
from chalicelib.foundation import jsontext
from chalicelib.foundation.aws.calls import send
from chalicelib.foundation.crypto import signatures
from chalicelib.foundation.dynamodb.store import Store
from chalicelib.foundation.settings import Settings
from tests.demo_bank.parties import BANK_PEMS, CALLBACK, HUB_KEY, SCOPES, START, Browser, Reply, ScriptedHub, query_of
from tests.kit.time import ManualClock

CUSTOMER: Mapping[BankName, str] = {"one": "ada", "two": "lena"}
OTHER: Mapping[BankName, str] = {"one": "bilal", "two": "mateusz"}
AWAY: Mapping[BankName, str] = {"one": "GB33BUKB20201555555555", "two": "FR1420041010050500013M02606"}
BACK = "https://tpp.example/payments?order=7"
INSTANT = {"one": "FPS", "two": "SCTI"}
SLOW = {"one": "BACS", "two": "SCT"}
CURRENCY = {"one": "GBP", "two": "EUR"}
PAID = Decimal("12.50")
SINGLE = {"one": "/payment_initiation", "two": "/v2_payment_single"}
BULK = {"one": "/bulk_payment_initiation", "two": "/v2_payment_bulk"}
DIRECT = {"one": "/direct_payment_initiation", "two": "/v2_payment_direct_single"}


class SingleBank:
    """A demonstration bank with routes, table and scripted hub, and helpers that make and confirm payments."""

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
        self.runtime = runtime.DemoBank(self.profile, FORMATS[self.profile.version], self)
        self.hub = ScriptedHub(self.settings, list(SCOPES[self.profile.version]), clock=self.clock)
        self.hub.install(mock)
        self.app = _application()

    @property
    def customer(self) -> str:
        return CUSTOMER[self.profile.name]

    @property
    def currency(self) -> str:
        return CURRENCY[self.profile.name]

    @property
    def single_path(self) -> str:
        return SINGLE[self.profile.name]

    @property
    def domain(self) -> str:
        return self.profile.domain(self.settings.public_url)

    def request_url(self, **parameters: str) -> str:
        query = {"response_type": "code", "client_id": "c", "redirect_uri": CALLBACK, "state": "x +&é%"} | parameters
        return f"{self.profile.authorization_url(self.settings.public_url)}?{urlencode(query)}"

    def call(self, method: str, url: str, body: bytes | None = None, headers: Mapping[str, str] | None = None) -> Reply:
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
        """Send a signed webhook in the name of the service. Omit headers with the value ``None``."""
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
        """Store a customer's consent for the first accounts, as an authorization does. Return the consent's token."""
        token = f"consent.{uuid.uuid4().hex}"
        found = find_customer(self.runtime, customer)
        assert found is not None
        self.store.transact(
            consents.put_consent(
                self.runtime,
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

    # -- payments

    def account(self, customer: str = "", position: int = 0) -> CustomerAccount:
        name = self.profile.name
        return CUSTOMERS[name][customer or self.customer].accounts[position]

    def token(self, customer: str = "", **options: Any) -> str:
        return self.approve(customer or self.customer, scopes=list(self.profile.protocol.scopes), **options)

    def single(self, amount: Any = "12.50", *, sender: bool = True, **members: Any) -> dict[str, Any]:
        """Return a single payment from the customer's first account, with parameters valid in both versions."""
        name = self.profile.name
        scheme, to = members.pop("scheme", INSTANT[name]), members.pop("to", AWAY[name])
        reference = members.pop("reference", "Invoice 17")
        if self.profile.version == 1:
            body = {
                "amount": amount,
                "currency": self.currency,
                "reference": reference,
                "receiver_name": "Zoë O'Brien",
                "receiver_iban": to,
                "callback_url": BACK,
                "payment_scheme": scheme,
            }
            return body | ({"sender_iban": self.account().iban} if sender else {}) | members
        body = {
            "payment_scheme": scheme,
            "creditor_account": {"iban": to},
            "creditor_name": "Zoë O'Brien",
            "remittance_information_unstructured": reference,
            "instructed_amount": {"amount": amount, "currency": self.currency},
            "callback_url": BACK,
        }
        return body | ({"debtor_account": {"iban": self.account().iban}} if sender else {}) | members

    def bulk(self, amounts: list[str], **members: Any) -> dict[str, Any]:
        items = [self.single(amount, sender=False, **members) for amount in amounts]
        total = sum(map(Decimal, amounts))
        dropped = ("callback_url",) if self.profile.version == 1 else ("callback_url", "payment_scheme")
        scheme = items[0]["payment_scheme"]
        items = [{name: value for name, value in item.items() if name not in dropped} for item in items]
        currency = self.currency
        if self.profile.version == 1:
            totals = [{"currency": currency, "amount": total}]
            return {"sender_iban": self.account().iban, "callback_url": BACK, "totals": totals, "payments": items}
        return {
            "payment_scheme": scheme,
            "debtor_account": {"iban": self.account().iban},
            "callback_url": BACK,
            "instructed_totals": {"currency": currency, "amount": total},
            "payments": items,
        }

    def ask(self, path: str, members: Any, given: str | None, **headers: Any) -> Any:
        """Send a webhook, and validate the response with the protocol's model. Return the members of the response."""
        reply = self.webhook(path, members, token=given, **headers)
        assert reply.status == 200, reply
        webhook = next(row for row in self.profile.protocol.webhooks if row.path == path)
        body = dict(reply.body)
        if self.profile.version == 1:
            assert body.pop("status") == "success"
        webhook.answer.read(webhook.shape(body))
        return body

    def initiate(self, given: str | None = None, **options: Any) -> Any:
        return self.ask(self.single_path, self.single(**options), given or self.token())

    def at_confirmation(self, answer: Any, customer: str = "") -> Browser:
        browser = self.browser()
        browser.open(answer["confirmation_url"])
        browser.pay_as(customer or self.customer)
        assert 'id="sent"' in browser.page.text, browser.page.text
        return browser

    def pay(self, given: str | None = None, **options: Any) -> dict[str, str]:
        return outcome(self.at_confirmation(self.initiate(given, **options)).pay())

    def either(self, first: Any, second: Any) -> Any:
        """Return ``first`` for the version 1 bank and ``second`` for the version 2 bank."""
        return first if self.profile.version == 1 else second

    def payment_status(self, payment_id: str, given: str) -> Any:
        if self.profile.version == 1:
            return self.ask("/account_payment", {"payment_id": payment_id}, given)["payment"]["status"]
        return self.ask("/v2_payment_single_status", {"payment_id": payment_id}, given)["transaction_status"]

    def reported_statuses(self) -> list[Any]:
        member = "payment_status" if self.profile.version == 1 else "paymentStatus"
        return [body[member] for _, body, _ in self.hub.received("/payments/status")]

    def balances(self, given: str, whose: CustomerAccount | None = None) -> tuple[Decimal, Decimal]:
        """Return the booked and the available balance from the webhooks."""
        whose = whose or self.account()
        if self.profile.version == 1:
            (row,) = self.ask("/account_balance", {"account_id": whose.account_id}, given)["accounts"]
            amount = {"amount": "1", "currency": whose.currency}
            asked = {"account": {"account_id": whose.account_id}, "instructed_amount": amount}
            return row["balance"], self.ask("/funds_confirmations", asked, given)["balance"]
        rows = self.ask("/v2_account_balances", {"account_id": whose.account_id}, given)["balances"]
        found = {row["balance_type"]: row["balance_amount"]["amount"] for row in rows}
        return found["interimBooked"], found["interimAvailable"]

    def history(self, given: str, whose: CustomerAccount | None = None) -> list[tuple[str, bool, Decimal]]:
        """Return the id, the booked flag and the amount of each transaction on all pages."""
        whose = whose or self.account()
        if self.profile.version == 1:
            rows: list[Any] = []
            for page in range(1, 99):
                asked = {"account_id": whose.account_id, "current_page": page}
                found = self.ask("/account_payments", asked, given)["payments"]
                rows += found
                if len(found) < 100:
                    break
            return [(row["id"], row["status"] == 4, row["amount"]) for row in rows]
        asked, found = {"account_id": whose.account_id, "booking_status": "both"}, []
        while True:
            answer = self.ask("/v2_account_transactions", asked, given)
            for state, listed in answer["transactions"].items():
                found += [
                    (row["transaction_id"], state == "booked", row["transaction_amount"]["amount"]) for row in listed
                ]
            if "page_key" not in answer:
                return found
            asked["page_key"] = answer["page_key"]

    def sums(self, given: str, whose: CustomerAccount | None = None) -> tuple[Decimal, Decimal]:
        rows = self.history(given, whose)
        booked = (amount for _, is_booked, amount in rows if is_booked)
        return sum(booked, Decimal()), sum((amount for _, _, amount in rows), Decimal())


def outcome(reply: Reply) -> dict[str, str]:
    assert reply.status == 303, reply
    assert reply.location.startswith(f"{BACK}&status="), reply.location
    return query_of(reply.location)


def code(reply: Reply) -> tuple[int, Any]:
    return reply.status, reply.body.get("error_code", reply.body.get("code"))


@cache
def _client() -> Any:
    return boto3.client("dynamodb")


def _host() -> runtime.Services:
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
