"""The whole service in one process, with a TPP client and banks with scripted responses."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

import boto3

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
from chalicelib.openbanking.records.bank_record import NewBank
from infra.programme import file, loading
from tests.kit.time import ManualClock
from tests.openbanking.kit import Bank, Psu, ReceivedRequest, Receiver, Tpp

START = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
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
"""The tables to which every test adds items."""


@dataclass(frozen=True)
class Answer:
    """An HTTP response: status, headers by lower-case name, and the body as text."""

    status: int
    headers: Mapping[str, str]
    text: str

    @property
    def body(self) -> Any:
        return jsontext.loads(self.text)


class ScriptedOutbound(Outbound):
    """Passes outbound calls to the scripted banks and the event receiver instead of the network."""

    def __init__(self, banks: Mapping[int, Bank], receiver: Receiver) -> None:
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
            return self._receiver.answer(ReceivedRequest(url, dict(headers), body))
        for bank in self._banks.values():
            domain = bank.record.domain
            if url.startswith(domain + "/"):
                return bank.answer(ReceivedRequest(url.removeprefix(domain), dict(headers), body))
        raise AssertionError(f"no bank at {url}")


@dataclass(frozen=True)
class Mailbox:
    mails: list[Mail]

    def send(self, mail: Mail, mail_id: str) -> None:
        assert mail_id
        self.mails.append(mail)


def _capture(sent: Mapping[str, str], received: Mapping[str, str] | None, body: bytes) -> None:
    captured = context.captured()
    captured.sent, captured.received, captured.beginning = sent, received, body[: context.CAPTURED_BYTES]


class Causeway:
    """The service, a TPP, a PSU, and one bank for each protocol version."""

    def __init__(self, hub: bootstrap.Hub, banks: dict[int, Bank]) -> None:
        self.hub = hub
        self.clock: ManualClock = hub.clock  # type: ignore[assignment]
        self.banks = banks
        for bank in banks.values():
            bank.causeway = self
        self.tpp, self.psu, self.receiver = Tpp(self), Psu(self), Receiver()
        self.card_secrets: Mapping[str, Mapping[str, str]] = {}
        hub.__dict__["outbound"] = ScriptedOutbound(banks, self.receiver)
        self.mails: list[Mail] = []
        hub.__dict__["mailer"] = Mailbox(self.mails)
        self._measures(not_before=sys.maxsize)  # no request's turn to write comes, unless ``writes_measurements``

    @classmethod
    def first(cls, clock: Clock | None = None) -> Causeway:
        """Create the keys, register the banks and load the demonstration programmes. The AWS resources must exist."""
        hub = bootstrap.Hub(Settings.from_environment({"STAGE": "local"}), clock or ManualClock(START))
        if "amazonaws" in endpoint("dynamodb").url:  # the emulator, where nothing gets better by waiting
            hub.store.pause = lambda seconds: None
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
            record, api_key = hub.openbanking.banks.add(new)
            banks[version] = Bank(record, api_key, key)
        causeway = cls(hub, banks)
        loaded = loading.load(hub, file.read_programmes(file.DEMO.read_text(encoding="utf-8"), "local"))
        causeway.card_secrets = {name: asdict(made) for plan in loaded for name, made in plan.secrets.items()}
        with causeway.installed():
            import app  # noqa: F401 - registers the routes of a local stage, whatever stage a test begins with
        return causeway

    @property
    def card_credentials(self) -> Mapping[str, str]:
        return self.card_secrets["full"]

    def again(self, settings: Settings | None = None) -> Causeway:
        """Return a new service with the same resources and banks, empty caches, the initial time and a new client."""
        banks = {version: Bank(bank.record, bank.api_key, bank.key) for version, bank in self.banks.items()}
        self.forget_journeys((*GROWING, "clients"))
        self._age_data_keys()
        causeway = Causeway(self.another_process(settings, ManualClock(START)), banks)
        created = causeway.hub.openbanking.clients.create(owner="tpp@example.com", title="Budget Friend")
        causeway.tpp.client, causeway.tpp.client_secret = created.client, created.secret
        causeway.card_secrets = self.card_secrets
        return causeway

    def forget_journeys(self, growing: Sequence[str] = GROWING) -> None:
        """Empty the tables and queues to which every test adds data.

        Index queries search all items of a table, and some tests read whole tables. A queued retry must not affect
        later tests.
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
        """Remove the creation times of data keys from earlier tests, so that the signing key does not change later."""
        state = self.hub.secrets.get(self.hub.settings.keys_secret)
        if any("created_at" in key for key in state["data_keys"]):
            aged = [{name: key[name] for name in ("id", "wrapped")} for key in state["data_keys"]]
            self.hub.secrets.put(self.hub.settings.keys_secret, {**state, "data_keys": aged})

    def another_process(self, settings: Settings | None = None, clock: Clock | None = None) -> bootstrap.Hub:
        """Return the parts of a second service process, which has the same resources and empty caches."""
        hub = bootstrap.Hub(settings or self.hub.settings, clock or self.clock)
        for name in ("store", "secrets", "kms"):
            hub.__dict__[name] = getattr(self.hub, name)
        return hub

    @contextlib.contextmanager
    def installed(self) -> Iterator[None]:
        bootstrap.use(self.hub)
        try:
            yield
        finally:
            bootstrap.use(None)

    def writes_measurements(self) -> None:
        """Write measurements with the next request and then once a minute, as a new instance does."""
        self._measures(not_before=0)

    def _measures(self, not_before: int) -> None:
        statistics = self.hub.statistics
        statistics.__dict__["measurements"] = statistics.new_measurements(not_before)

    # -- storage that is slow, lossy or gone

    @contextlib.contextmanager
    def replace_method(self, name: str, call: Callable[..., Any]) -> Iterator[None]:
        """Replace a method of the store with ``call``. The first argument of ``call`` is the real method."""
        store = self.hub.store
        real = getattr(store, name)
        setattr(store, name, lambda *arguments, **options: call(real, *arguments, **options))
        try:
            yield
        finally:
            vars(store).pop(name, None)

    def meanwhile(self, name: str, intrude: Callable[[], object]) -> contextlib.AbstractContextManager[None]:
        """Call ``intrude`` once, immediately before the next call of the store's method ``name``."""

        def call(real: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
            vars(self.hub.store).pop(name, None)
            intrude()
            return real(*arguments, **options)

        return self.replace_method(name, call)

    def answer_lost(self, name: str, *, applied: bool) -> contextlib.AbstractContextManager[None]:
        """Lose the response to the next call of the store's method ``name``.

        The call takes effect if ``applied`` is true.
        """

        def call(real: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
            vars(self.hub.store).pop(name, None)
            if applied:
                real(*arguments, **options)
            raise AnswerLost("the connection broke")

        return self.replace_method(name, call)

    def storage_gone(self, name: str) -> contextlib.AbstractContextManager[None]:

        def call(real: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
            raise StoreUnavailable("DynamoDB cannot be reached")

        return self.replace_method(name, call)

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
        """Send an HTTP request in the format that API Gateway passes to the function.

        ``several`` contains all values of repeated headers. ``headers`` contains only the last value of each header.
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

    # -- deliveries

    @contextlib.contextmanager
    def manager_wants_events(self, manager_id: int = 1) -> Iterator[str]:
        """Give a programme manager the Events URL of ``receiver`` and a first secret until the block ends."""
        table, key = head_key(manager_id)
        self.hub.store.update(table, key, set={"events_url": self.receiver.url})
        self.hub.cards.programmes.cache.pop(manager_id, None)
        secret, made = self.hub.cards.call(create_events_secret, manager_id)
        self.hub.store.transact([made])
        try:
            yield secret
        finally:
            self.hub.store.update(table, key, remove=["events_url"])
            self.hub.store.transact([Delete(*secrets_key(manager_id))])

    @contextlib.contextmanager
    def manager_delivers_values(self, public_pem: str, manager_id: int = 1) -> Iterator[None]:
        """Enable the delivery of encrypted 3-D Secure values for a programme manager until the block ends."""
        table, key = head_key(manager_id)
        members = {"events_encryption_key": public_pem, "delivers_validation_values": True}
        self.hub.store.update(table, key, set=members)
        self.hub.cards.programmes.cache.pop(manager_id, None)
        try:
            yield
        finally:
            self.hub.store.update(table, key, remove=[*members])
            self.hub.cards.programmes.cache.pop(manager_id, None)

    def recorded(self, kind: str = "") -> list[Delivery]:
        records = [Delivery.from_item(item) for item in self.hub.store.scan("deliveries") if item["part"] == RECORD]
        return sorted((each for each in records if kind in ("", each.kind)), key=lambda each: each.created_at)

    def delivery(self, delivery_id: str) -> Delivery:
        item = self.hub.store.get(*record_key(delivery_id))
        assert item is not None, f"there is no delivery {delivery_id}"
        return Delivery.from_item(item)

    def queued(self, queue: str = "deliveries") -> list[str]:
        """Remove the visible messages of a queue and return their ids.

        A delayed message remains in the queue, even after its delay has passed in real time.
        """
        from moto.core.models import DEFAULT_ACCOUNT_ID
        from moto.sqs.models import sqs_backends

        backend = sqs_backends[DEFAULT_ACCOUNT_ID][endpoint("sqs").region]
        kept = backend.get_queue(f"{self.hub.settings.prefix}-{queue}")
        visible = [message for message in kept.messages if not message.delayed_until]
        kept._messages = [message for message in kept._messages if message not in visible]
        return [message.body for message in visible]


def _empty(client: Any, table: str) -> None:
    keys = _key_attributes(client, table)
    names = {f"#{number}": key for number, key in enumerate(keys)}
    wanted = {"ProjectionExpression": ", ".join(names), "ExpressionAttributeNames": names}
    for page in client.get_paginator("scan").paginate(TableName=table, **wanted):
        for items in pieces(page["Items"], 25):
            client.batch_write_item(RequestItems={table: [{"DeleteRequest": {"Key": item}} for item in items]})


def _key_attributes(client: Any, table: str) -> list[str]:
    return [key["AttributeName"] for key in client.describe_table(TableName=table)["Table"]["KeySchema"]]
