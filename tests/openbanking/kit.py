"""Test doubles for open banking: a TPP that calls the service, scripted banks, and the PSU."""

from __future__ import annotations

import base64
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey

from chalicelib.foundation import jsontext
from chalicelib.foundation.crypto import signatures
from chalicelib.foundation.http.outbound import NotReached, Reply
from chalicelib.openbanking.records import bank_record
from chalicelib.openbanking.records.client_record import Client

if TYPE_CHECKING:
    from tests.causeway import Answer, Causeway

VERSIONS = pytest.mark.parametrize("version", [1, 2])
IBAN = "GB33BUKB20201555555555"
"""The IBAN of the account that the PSU approves."""
LATER = {"prefer": "respond-async"}
UNREACHABLE = NotReached("no connection could be made")
TOKEN = {1: "access_token", 2: "accessToken"}
TOKENS = {1: "access_tokens", 2: "accessTokens"}
CONSENT_IDS = {1: "consent_ids", 2: "consentIds"}
URL = {1: "request_url", 2: "requestUrl"}


@dataclass
class ReceivedRequest:
    path: str
    headers: Mapping[str, str]
    body: bytes


@dataclass
class Bank:
    """A bank: its keys, the received webhooks, and the scripted responses (functions of the webhook, or exceptions)."""

    record: bank_record.Bank
    api_key: str
    key: RSAPrivateKey
    received: list[ReceivedRequest] = field(default_factory=list)
    answers: dict[str, Callable[[ReceivedRequest], Any]] = field(default_factory=dict)
    causeway: Causeway = field(init=False, repr=False)
    version: int = field(init=False)

    def __post_init__(self) -> None:
        self.version = self.record.api_version

    @property
    def bic(self) -> str:
        return self.record.bic

    @property
    def scopes(self) -> list[str]:
        return ["account.list", "account.details"] if self.version == 1 else ["accounts"]

    def answer(self, sent: ReceivedRequest) -> Reply:
        self.received.append(sent)
        answer = self.answers[sent.path](sent)
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, Reply):
            return answer
        return Reply(200, jsontext.dumps(answer).encode(), {}, 0.01)

    def call(
        self,
        path: str,
        json_body: Any = None,
        *,
        raw: bytes | None = None,
        headers: Mapping[str, str | None] | None = None,
        identity: Mapping[str, Any] | None = None,
    ) -> Answer:
        """Send a signed request to the service. ``None`` removes a header."""
        body = raw if raw is not None else jsontext.dumps(json_body).encode()
        sent: dict[str, str | None] = {
            "content-type": "application/json",
            "x-api-key": self.api_key,
            "x-request-id": str(uuid.uuid4()),
            "x-signature": signatures.sign(self.key, body),
        }
        sent |= headers or {}
        base = "/bank" if self.version == 1 else "/bank/v2"
        present = {name: value for name, value in sent.items() if value is not None}
        return self.causeway.call("POST", base + path, body, present, identity)

    def spell(self, name: str) -> str:
        """Return a member's name in snake case (version 1) or camel case (version 2), depending on the bank's API
        version.
        """
        return name if self.version == 1 else camel_case(name)

    def consent_body(self, url: str, **members: Any) -> dict[str, Any]:
        body = {"request_url": url, "scopes": self.scopes, "ibans": [IBAN]} | members
        return {self.spell(name): value for name, value in body.items()}


@dataclass
class Receiver:
    """The server at an Events URL: the received events, and the scripted responses or exceptions.

    Each call uses the next entry of ``answers``. If ``answers`` is empty, the server accepts the event.
    """

    url: str = "http://127.0.0.1:1/events"
    received: list[ReceivedRequest] = field(default_factory=list)
    answers: list[Reply | Exception] = field(default_factory=list)

    def answer(self, sent: ReceivedRequest) -> Reply:
        self.received.append(sent)
        answer = self.answers.pop(0) if self.answers else Reply(204, b"", {}, 0.01)
        if isinstance(answer, Exception):
            raise answer
        return answer

    @property
    def events(self) -> list[Any]:
        return [jsontext.loads(sent.body) for sent in self.received]


class Tpp:
    """The client of the service. The client has a secret or no secret."""

    def __init__(self, causeway: Causeway) -> None:
        self.causeway = causeway
        self.client: Client = None  # type: ignore[assignment]
        self.client_secret: str | None = None

    @property
    def client_id(self) -> str:
        return self.client.client_id

    def call(
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
        """Send a request. ``client_id`` overrides the id of the client. If ``client_id`` is empty, omit the header.

        A client with a secret authenticates by HTTP Basic if the call has no bearer. ``certificate`` is the client
        certificate of the connection in PEM.
        """
        sent = {"x-api-key": self.client_id if client_id is None else client_id}
        sent = {name: value for name, value in sent.items() if value}
        body = None
        if json_body is not None:
            sent["content-type"], body = "application/json", jsontext.dumps(json_body).encode()
        if form is not None:
            sent["content-type"], body = "application/x-www-form-urlencoded", urlencode(form).encode()
        if bearer:
            sent["authorization"] = f"Bearer {bearer}"
        elif client_id is None and self.client_secret:
            sent["authorization"] = basic(self.client_id, self.client_secret)
        identity = {"clientCert": {"clientCertPem": certificate}} if certificate else None
        return self.causeway.call(method, path, body, sent | dict(headers or {}), identity, several)

    def authorize(self, version: int, **members: Any) -> Any:
        bank = self.causeway.banks[version]
        answer = self.call("POST", "/tpp/authorize", {"bic": bank.bic, "scopes": bank.scopes} | members)
        assert answer.status == 200, answer
        return answer.body

    def redeem(self, code: str) -> Any:
        answer = self.call("POST", "/tpp/token", {"authorization_code": code})
        assert answer.status == 200, answer
        return answer.body

    def has_access(self, bearer: str) -> bool:
        return self.call("GET", "/tpp/consent", bearer=bearer).status == 200

    def tokens(self, version: int, **members: Any) -> Any:
        return self.redeem(self.causeway.psu.approve(version, **members).query["code"])

    def look_up(self, request_id: str, bearer: str | None = None, **options: Any) -> Answer:
        return self.call("GET", f"/tpp/requests/{request_id}", bearer=bearer, **options)

    def outcome(self, request_id: str, bearer: str | None) -> dict[str, Any]:
        answer = self.look_up(request_id, bearer)
        assert answer.status == 200, answer
        body: dict[str, Any] = answer.body
        return body

    def set_events_url(self) -> str:
        """Set the client's Events URL to the receiver. Return the secret that signs its events."""
        clients, url = self.causeway.hub.openbanking.clients, self.causeway.receiver.url
        update = clients.update(self.client_id, events_url=url)
        self.client = update.client
        assert update.events_secret is not None, "it had no Events URL before"
        return update.events_secret

    def poll_events(self, limit: int | None = None) -> Poller:
        clients = self.causeway.hub.openbanking.clients
        self.client_secret = clients.rotate_secret(self.client_id, 0).secret
        self.client = clients.update(self.client_id, events="poll").client
        return Poller(self, limit)

    def send_test_event(self) -> str:
        return self.causeway.hub.openbanking.tpp_events.send_test(self.client)


class Poller:
    """A client that fetches its events with the ``next`` cursor of the previous page."""

    def __init__(self, tpp: Tpp, limit: int | None = None) -> None:
        self.tpp = tpp
        self.after: str | None = None
        self.limit = limit

    def request(self, **query: object) -> Answer:
        return self.tpp.call("GET", f"/tpp/events?{urlencode(query)}")

    def page(self) -> Any:
        query = {"after": self.after, "limit": self.limit}
        answer = self.request(**{name: value for name, value in query.items() if value is not None})
        assert answer.status == 200, answer
        self.after = answer.body["next"]
        return answer.body

    def pages(self) -> Iterator[Any]:
        while True:
            page = self.page()
            yield page["events"]
            if not page["has_more"]:
                return

    def fetch(self) -> list[Any]:
        return [event for page in self.pages() for event in page]


@dataclass(frozen=True)
class Consented:
    """The data that a bank has about a saved consent. ``query`` is the query of the callback URL."""

    request_url: str
    callback_url: str
    query: Mapping[str, str]
    bank_token: str
    valid_until: str


@dataclass(frozen=True)
class Psu:
    causeway: Causeway

    def approve(self, version: int, **members: Any) -> Consented:
        """Approve a new authorization request at the bank."""
        url = self.causeway.tpp.authorize(version, **members)["redirect_url"]
        return self.approve_url(version, url)

    def approve_url(self, version: int, url: str) -> Consented:
        """Approve an authorization request at the bank, with the scopes in its URL."""
        bank = self.causeway.banks[version]
        answer = bank.call("/consent", bank.consent_body(url, scopes=scopes_in(url)))
        assert answer.status == 200, answer
        names = ("callback_url", "access_token", "valid_until")
        callback, token, until = (answer.body[bank.spell(name)] for name in names)
        query = {name: values[0] for name, values in parse_qs(urlsplit(callback).query).items()}
        return Consented(url, callback, query, token, until)


def scopes_in(url: str) -> list[str]:
    """Return the scopes in the URL of an authorization request."""
    return parse_qs(urlsplit(url).query)["scope"][0].split()


def always(answer: Any) -> Callable[[ReceivedRequest], Any]:
    return lambda sent: answer


def basic(client_id: str, secret: str) -> str:
    return "Basic " + base64.b64encode(f"{client_id}:{secret}".encode()).decode()


class WorkerKilled(BaseException):
    """The exception that simulates the death of a worker's process."""


def kill_worker(sent: ReceivedRequest) -> Any:
    raise WorkerKilled


def accepted_id(answer: Answer) -> str:
    """Check the form of a 202 response. Return the id of the accepted request."""
    assert answer.status == 202, answer
    request_id: str = answer.body["request_id"]
    assert answer.body == {"request_id": request_id, "state": "queued"}
    assert answer.headers["location"] == f"/tpp/requests/{request_id}"
    assert answer.headers["preference-applied"] == "respond-async"
    return request_id


def error_code(answer: Answer, version: int) -> tuple[int, Any]:
    """Return the HTTP status and the error code. In version 2, prefer the code of the additional error."""
    if version == 1:
        assert set(answer.body) == {"error_code", "message"}
        return answer.status, answer.body["error_code"]
    assert set(answer.body) - {"additionalErrors"} == {"code", "title", "timestamp", "requestId"}
    assert len(answer.body["timestamp"]) == 25
    additional = answer.body.get("additionalErrors")
    return answer.status, additional[0]["code"] if additional else answer.body["code"]


def event_ids(events: list[Any]) -> list[str]:
    return [event["id"] for event in events]


def camel_case(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def in_camel_case(value: Any) -> Any:
    if isinstance(value, dict):
        return {camel_case(name): in_camel_case(inner) for name, inner in value.items()}
    return [in_camel_case(inner) for inner in value] if isinstance(value, list) else value
