"""The whole service in one process, TPPs that call it, and banks that give the answers that a test scripts."""

from __future__ import annotations

import base64
import contextlib
import json
import sys
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import boto3
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey

from chalicelib import bootstrap
from chalicelib.cards.events.event_secrets import create_events_secret, secrets_key
from chalicelib.cards.programs.programmes import head_key
from chalicelib.delivery.delivery_record import RECORD, Delivery, record_key
from chalicelib.foundation import context, jsontext
from chalicelib.foundation.aws.environment import endpoint
from chalicelib.foundation.clock import Clock
from chalicelib.foundation.crypto import signatures
from chalicelib.foundation.dynamodb.store import AnswerLost, Delete, StoreUnavailable
from chalicelib.foundation.http.deadline_connections import SlowCheck
from chalicelib.foundation.http.outbound import NotReached, Outbound, Reply
from chalicelib.foundation.mail import Mail
from chalicelib.foundation.parallel import pieces
from chalicelib.foundation.settings import Settings
from chalicelib.openbanking.records.bank_record import Bank, NewBank
from chalicelib.openbanking.records.client_record import Client
from infra.programme import file, loading
from tests.manual_clock import ManualClock

START = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
IBAN = "GB33BUKB20201555555555"
GROWING = (
    "authorizations",
    "consents",
    "payments",
    "statistics",
    "idempotency",
    "deliveries",
    "website",
    "cards",
    "ledger",
    "external-payments",
    "card-activity",
)
"""The tables that grow with every test."""


@dataclass(frozen=True)
class Answer:
    """What came back: status, headers by lower-case name, and the body as text."""

    status: int
    headers: Mapping[str, str]
    text: str

    @property
    def body(self) -> Any:
        return jsontext.loads(self.text)


@dataclass
class Sent:
    """A webhook that a bank received."""

    path: str
    headers: Mapping[str, str]
    body: bytes


@dataclass
class BankSide:
    """A bank: its keys, what it received, and what it answers (a function of the webhook, or an exception)."""

    bank: Bank
    api_key: str
    key: RSAPrivateKey
    received: list[Sent] = field(default_factory=list)
    answers: dict[str, Callable[[Sent], Any]] = field(default_factory=dict)

    def answer(self, sent: Sent) -> Reply:
        self.received.append(sent)
        made = self.answers[sent.path](sent)
        if isinstance(made, Exception):
            raise made
        if isinstance(made, Reply):
            return made
        return Reply(200, jsontext.dumps(made).encode(), {}, 0.01)


@dataclass
class Receiver:
    """The client's end of its Events URL: what it received, and what it answers next, or an exception.

    ``answers`` are used up one per call; when there are none left, it takes what it gets.
    """

    url: str = "http://127.0.0.1:1/events"
    received: list[Sent] = field(default_factory=list)
    answers: list[Reply | Exception] = field(default_factory=list)

    def answer(self, sent: Sent) -> Reply:
        self.received.append(sent)
        made = self.answers.pop(0) if self.answers else Reply(204, b"", {}, 0.01)
        if isinstance(made, Exception):
            raise made
        return made

    @property
    def events(self) -> list[Any]:
        """The bodies of what it received."""
        return [jsontext.loads(sent.body) for sent in self.received]


class ScriptedOutbound(Outbound):
    """Hands calls to the banks and the receiver of the service instead of the network."""

    def __init__(self, banks: Mapping[int, BankSide], receiver: Receiver) -> None:
        self._banks = banks
        self._receiver = receiver

    def post(
        self,
        url: str,
        body: bytes,
        headers: Mapping[str, str],
        *,
        repeat: bool,
        fresh: bool = False,
        slow_check: SlowCheck | None = None,
    ) -> Reply:
        try:
            reply = self._answer(url, body, headers)
            if slow_check is not None and reply.seconds >= slow_check.seconds:
                slow_check.check()
        except NotReached:
            raise
        except Exception:
            _capture(headers, None, b"")
            raise
        _capture(headers, reply.headers, reply.body)
        return reply

    def _answer(self, url: str, body: bytes, headers: Mapping[str, str]) -> Reply:
        if url == self._receiver.url:
            return self._receiver.answer(Sent(url, dict(headers), body))
        for side in self._banks.values():
            if url.startswith(side.bank.domain + "/"):
                return side.answer(Sent(url.removeprefix(side.bank.domain), dict(headers), body))
        raise AssertionError(f"no bank at {url}")


@dataclass(frozen=True)
class Mailbox:
    """Keeps the mails of everybody."""

    mails: list[Mail]

    def send(self, mail: Mail, mail_id: str) -> None:
        assert mail_id
        self.mails.append(mail)


def _capture(sent: Mapping[str, str], received: Mapping[str, str] | None, body: bytes) -> None:
    """Record a call as ``Outbound`` does."""
    captured = context.captured()
    captured.sent, captured.received, captured.beginning = sent, received, body[: context.CAPTURED_BYTES]


class Causeway:
    """One client, its receiver of events, and one bank per version around the service."""

    def __init__(self, hub: bootstrap.Hub, banks: dict[int, BankSide]) -> None:
        self.hub = hub
        self.clock: ManualClock = hub.clock  # type: ignore[assignment]
        self.banks = banks
        self.receiver = Receiver()
        self.client: Client = None  # type: ignore[assignment]
        self.client_secret: str | None = None
        self.card_secrets: Mapping[str, Mapping[str, str]] = {}
        hub.__dict__["outbound"] = ScriptedOutbound(banks, self.receiver)
        self.mails: list[Mail] = []
        """What was handed to the mailer."""
        hub.__dict__["mailer"] = Mailbox(self.mails)
        self._measures(not_before=sys.maxsize)  # no request's turn to write comes, unless ``writes_measurements``

    @classmethod
    def first(cls, clock: Clock | None = None) -> Causeway:
        """Make the keys, register the banks and load the demonstration programmes; needs the resources."""
        hub = bootstrap.Hub(Settings.from_environment({"STAGE": "local"}), clock or ManualClock(START))
        if "amazonaws" in endpoint("dynamodb").url:  # the emulator, where nothing gets better by waiting
            hub.store._pause = lambda seconds: None
        hub.keyring.initialise()
        hub.cards.keys.initialise()
        banks = {}
        for version, bic, country in ((1, "ALPHGB21", "GB"), (2, "BETADEF1", "DE")):
            key = signatures.load_private_key(signatures.generate_private_pem())
            new = NewBank(
                bic=bic,
                name=f"Bank of version {version}",
                country=country,
                api_version=version,
                domain=f"http://127.0.0.1:1/bank-{version}",
                authorization_url=f"http://127.0.0.1:1/bank-{version}/authorize",
                public_keys=[signatures.public_pem(key.public_key())],
            )
            bank, api_key = hub.openbanking.banks.add(new)
            banks[version] = BankSide(bank, api_key, key)
        causeway = cls(hub, banks)
        loaded = loading.load(hub, file.read_programmes(file.DEMO.read_text(encoding="utf-8"), "local"))
        causeway.card_secrets = {name: asdict(made) for plan in loaded for name, made in plan.secrets.items()}
        with causeway.installed():
            import app  # noqa: F401 - registers the routes of a local stage, whatever stage a test begins with
        return causeway

    @property
    def card_credentials(self) -> Mapping[str, str]:
        """The members that a body of the card API carries its credential in: the one that may do everything."""
        return self.card_secrets["full"]

    def again(self, settings: Settings | None = None) -> Causeway:
        """The same resources and banks, with nothing remembered, the clock set back, and a new client."""
        banks = {version: BankSide(side.bank, side.api_key, side.key) for version, side in self.banks.items()}
        self.forget_journeys((*GROWING, "clients"))
        self._age_data_keys()
        causeway = Causeway(self.another_process(settings, ManualClock(START)), banks)
        made = causeway.hub.openbanking.clients.create(owner="tpp@example.com", title="Budget Friend")
        causeway.client, causeway.client_secret = made.client, made.secret
        causeway.card_secrets = self.card_secrets
        return causeway

    def forget_journeys(self, growing: Sequence[str] = GROWING) -> None:
        """Empty the tables that grow with every test: what an index holds is looked for among all of a table's items,
        and some tests read whole tables.

        And the queues: a retry of one test must not become visible in another.
        """
        from moto.dynamodb.models import dynamodb_backends
        from moto.sqs.models import sqs_backends

        url, region = endpoint("dynamodb")
        tables = dynamodb_backends["123456789012"][region].tables
        for name in (f"{self.hub.settings.prefix}-{each}" for each in growing):
            if found := tables.get(name):
                found.items.clear()
            elif "amazonaws" not in url:
                _empty(boto3.client("dynamodb"), name)
        for queue in sqs_backends["123456789012"][region].queues.values():
            queue._messages, queue._pending_messages = [], set()

    def _age_data_keys(self) -> None:
        """Data keys that another test has created are no new ones: which of them signs does not change meanwhile."""
        state = self.hub.secrets.get(self.hub.settings.keys_secret)
        if any("created_at" in key for key in state["data_keys"]):
            aged = [{name: key[name] for name in ("id", "wrapped")} for key in state["data_keys"]]
            self.hub.secrets.put(self.hub.settings.keys_secret, {**state, "data_keys": aged})

    def another_process(self, settings: Settings | None = None, clock: Clock | None = None) -> bootstrap.Hub:
        """The service's parts in another process: the same resources, with nothing remembered."""
        hub = bootstrap.Hub(settings or self.hub.settings, clock or self.clock)
        for name in ("store", "secrets"):
            hub.__dict__[name] = getattr(self.hub, name)
        hub.keyring._private, hub.keyring._kms = self.hub.keyring._private, self.hub.keyring._kms
        hub.cards.keys._kms = self.hub.cards.keys._kms
        return hub

    @contextlib.contextmanager
    def installed(self) -> Iterator[None]:
        bootstrap.use(self.hub)
        try:
            yield
        finally:
            bootstrap.use(None)

    def writes_measurements(self) -> None:
        """From now on measurements are written as by a new instance: by the next request, then each minute."""
        self._measures(not_before=0)

    def _measures(self, not_before: int) -> None:
        statistics = self.hub.statistics
        statistics.__dict__["measurements"] = statistics.new_measurements(not_before)

    # -- storage that is slow, lossy or gone

    @contextlib.contextmanager
    def _instead(self, name: str, call: Callable[..., Any]) -> Iterator[None]:
        store = self.hub.store
        real = getattr(store, name)
        setattr(store, name, lambda *arguments, **options: call(real, *arguments, **options))
        try:
            yield
        finally:
            vars(store).pop(name, None)

    def meanwhile(self, name: str, intrude: Callable[[], object]) -> contextlib.AbstractContextManager[None]:
        """Has ``intrude`` happen once, just before the next call of the store's method ``name``."""

        def call(real: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
            vars(self.hub.store).pop(name, None)
            intrude()
            return real(*arguments, **options)

        return self._instead(name, call)

    def answer_lost(self, name: str, *, applied: bool) -> contextlib.AbstractContextManager[None]:
        """Has the answer to the next call of the store's method ``name`` get lost, or the call itself."""

        def call(real: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
            vars(self.hub.store).pop(name, None)
            if applied:
                real(*arguments, **options)
            raise AnswerLost("the connection broke")

        return self._instead(name, call)

    def storage_gone(self, name: str) -> contextlib.AbstractContextManager[None]:
        """Has every call of the store's method ``name`` fail."""

        def call(real: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
            raise StoreUnavailable("DynamoDB cannot be reached")

        return self._instead(name, call)

    # -- calls

    def call(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        identity: Mapping[str, Any] | None = None,
        several: Mapping[str, Sequence[str]] | None = None,
    ) -> Answer:
        """One HTTP request, as API Gateway would hand it to the function; a header with several values has lines.

        ``several`` has the values of headers that are sent more than once; ``headers`` has the last.
        """
        from chalice.config import Config
        from chalice.local import LocalGateway

        import app

        gateway = LocalGateway(app.app, Config())
        event = gateway.event_converter.create_lambda_event(method, path, dict(headers or {}), body)
        event["requestContext"]["identity"].update(identity or {})
        event["multiValueHeaders"] = {name: [value] for name, value in event["headers"].items()} | dict(several or {})
        answer = app.app(event, None)
        json.dumps(answer)  # what the Lambda runtime does with it
        several = {name: "\n".join(values) for name, values in answer.get("multiValueHeaders", {}).items()}
        headers = {name.lower(): value for name, value in {**answer["headers"], **several}.items()}
        assert answer["statusCode"] != 401 or "www-authenticate" in headers, f"RFC 9110, 15.5.2: {method} {path}"
        return Answer(answer["statusCode"], headers, answer["body"])

    def tpp(
        self,
        method: str,
        path: str,
        json_body: Any = None,
        *,
        bearer: str | None = None,
        client_id: str | None = None,
        form: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        certificate: str | None = None,
        several: Mapping[str, Sequence[str]] | None = None,
    ) -> Answer:
        """A call of the TPP; ``client_id`` is the service's client unless given (empty: no header).

        The service's client shows its secret if it has one, in the place where a bearer would stand. ``certificate`` is
        that of the connection, in PEM.
        """
        sent = {"x-api-key": self.client.client_id if client_id is None else client_id}
        sent = {name: value for name, value in sent.items() if value}
        body = None
        if json_body is not None:
            sent["content-type"], body = "application/json", jsontext.dumps(json_body).encode()
        if form is not None:
            sent["content-type"], body = "application/x-www-form-urlencoded", urlencode(form).encode()
        if bearer:
            sent["authorization"] = f"Bearer {bearer}"
        elif client_id is None and self.client_secret:
            sent["authorization"] = basic(self.client.client_id, self.client_secret)
        identity = {"clientCert": {"clientCertPem": certificate}} if certificate else None
        return self.call(method, path, body, sent | dict(headers or {}), identity, several)

    def bank(
        self,
        version: int,
        path: str,
        json_body: Any = None,
        *,
        raw: bytes | None = None,
        headers: Mapping[str, str | None] | None = None,
        identity: Mapping[str, Any] | None = None,
    ) -> Answer:
        """A signed call of a bank; a header given as ``None`` is left out."""
        side = self.banks[version]
        body = raw if raw is not None else jsontext.dumps(json_body).encode()
        sent: dict[str, str | None] = {
            "content-type": "application/json",
            "x-api-key": side.api_key,
            "x-request-id": str(uuid.uuid4()),
            "x-signature": signatures.sign(side.key, body),
        }
        sent |= headers or {}
        base = "/bank" if version == 1 else "/bank/v2"
        present = {name: value for name, value in sent.items() if value is not None}
        return self.call("POST", base + path, body, present, identity)

    # -- the journey

    def scopes(self, version: int) -> list[str]:
        return ["account.list", "account.details"] if version == 1 else ["accounts"]

    def authorize(self, version: int, **members: Any) -> Any:
        """A new authorization request; answers the body."""
        bic = self.banks[version].bank.bic
        request = {"bic": bic, "scopes": self.scopes(version)} | members
        answer = self.tpp("POST", "/tpp/authorize", request)
        assert answer.status == 200, answer
        return answer.body

    def consent_body(self, version: int, url: str, **members: Any) -> dict[str, Any]:
        """What a bank sends to save a consent, in its version's spelling."""
        body = {"request_url": url, "scopes": self.scopes(version), "ibans": [IBAN]} | members
        return body if version == 1 else {_camel(name): value for name, value in body.items()}

    def approve(self, version: int, **members: Any) -> Consented:
        """An authorization request with the PSU's approval."""
        asked = self.authorize(version, **members)
        scopes = members.get("scopes", self.scopes(version))
        answer = self.bank(version, "/consent", self.consent_body(version, asked["redirect_url"], scopes=scopes))
        assert answer.status == 200, answer
        names = ("callback_url", "access_token", "valid_until")
        callback, token, until = (answer.body[name if version == 1 else _camel(name)] for name in names)
        query = {name: values[0] for name, values in parse_qs(urlsplit(callback).query).items()}
        return Consented(asked["redirect_url"], callback, query, token, until)

    def tokens(self, version: int, **members: Any) -> Any:
        """A whole journey to the first pair of tokens; answers the token endpoint's body."""
        code = self.approve(version, **members).query["code"]
        answer = self.tpp("POST", "/tpp/token", {"authorization_code": code})
        assert answer.status == 200, answer
        return answer.body

    # -- deliveries

    def wants_events(self) -> str:
        """Gives the client an Events URL, that of ``receiver``; answers the secret that its events are signed with."""
        made = self.hub.openbanking.clients.update(self.client.client_id, events_url=self.receiver.url)
        self.client = made.client
        assert made.events_secret is not None, "it had no Events URL before"
        return made.events_secret

    @contextlib.contextmanager
    def manager_wants_events(self, manager_id: int = 1) -> Iterator[str]:
        """Gives a programme manager an Events URL, that of ``receiver``, and its first secret, for a while."""
        table, key = head_key(manager_id)
        self.hub.store.update(table, key, set={"events_url": self.receiver.url})
        self.hub.cards.programmes._cache.pop(manager_id, None)
        secret, made = self.hub.cards.call(create_events_secret, manager_id)
        self.hub.store.transact([made])
        try:
            yield secret
        finally:
            self.hub.store.update(table, key, remove=["events_url"])
            self.hub.store.transact([Delete(*secrets_key(manager_id))])

    @contextlib.contextmanager
    def manager_delivers_values(self, public_pem: str, manager_id: int = 1) -> Iterator[None]:
        """Has a programme manager deliver the values of 3-D Secure, which it gets under its key, for a while."""
        table, key = head_key(manager_id)
        members = {"events_encryption_key": public_pem, "delivers_validation_values": True}
        self.hub.store.update(table, key, set=members)
        self.hub.cards.programmes._cache.pop(manager_id, None)
        try:
            yield
        finally:
            self.hub.store.update(table, key, remove=[*members])
            self.hub.cards.programmes._cache.pop(manager_id, None)

    def recorded(self, kind: str = "") -> list[Delivery]:
        """Every delivery as it stands, or those of a kind, oldest first."""
        records = [Delivery.from_item(item) for item in self.hub.store.scan("deliveries") if item["part"] == RECORD]
        return sorted((each for each in records if kind in ("", each.kind)), key=lambda each: each.created_at)

    def delivery(self, delivery_id: str) -> Delivery:
        """A delivery as it stands."""
        item = self.hub.store.get(*record_key(delivery_id))
        assert item is not None, f"there is no delivery {delivery_id}"
        return Delivery.from_item(item)

    def queued(self, queue: str = "deliveries") -> list[str]:
        """The ids of the deliveries that wait in a queue; they are taken out.

        A message that was sent with a delay stays there, however much real time the test takes.
        """
        from moto.core.models import DEFAULT_ACCOUNT_ID
        from moto.sqs.models import sqs_backends

        backend = sqs_backends[DEFAULT_ACCOUNT_ID][endpoint("sqs").region]
        kept = backend.get_queue(f"{self.hub.settings.prefix}-{queue}")
        visible = [message for message in kept.messages if not message.delayed_until]
        kept._messages = [message for message in kept._messages if message not in visible]
        return [message.body for message in visible]


@dataclass(frozen=True)
class Consented:
    """A saved consent as the bank sees it; ``query`` is that of the callback URL."""

    request_url: str
    callback_url: str
    query: Mapping[str, str]
    bank_token: str
    valid_until: str


def always(answer: Any) -> Callable[[Sent], Any]:
    """A bank's webhook that answers the same whatever it is sent."""
    return lambda sent: answer


def basic(client_id: str, secret: str) -> str:
    """HTTP Basic of a client."""
    return "Basic " + base64.b64encode(f"{client_id}:{secret}".encode()).decode()


def _empty(client: Any, table: str) -> None:
    """Delete all items of a table of a real engine."""
    keys = _key_attributes(client, table)
    names = {f"#{number}": key for number, key in enumerate(keys)}
    wanted = {"ProjectionExpression": ", ".join(names), "ExpressionAttributeNames": names}
    for page in client.get_paginator("scan").paginate(TableName=table, **wanted):
        for items in pieces(page["Items"], 25):
            client.batch_write_item(RequestItems={table: [{"DeleteRequest": {"Key": item}} for item in items]})


def _key_attributes(client: Any, table: str) -> list[str]:
    return [key["AttributeName"] for key in client.describe_table(TableName=table)["Table"]["KeySchema"]]


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)
