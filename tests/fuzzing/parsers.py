"""The parsers of external input (credentials, messages, documents and text), each with its documented errors."""

from __future__ import annotations

import http.client
from base64 import b64decode, encodebytes
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from types import SimpleNamespace
from typing import Any, cast

from pydantic import TypeAdapter, ValidationError

from chalicelib.cards.actions import ACTIONS, SIMULATOR_ACTIONS
from chalicelib.cards.protocol import fields as card_fields
from chalicelib.cards.protocol.status_codes import Refused
from chalicelib.cards.requests import envelope
from chalicelib.delivery.recorded_exchange import record_answer
from chalicelib.foundation import jsontext
from chalicelib.foundation.context import CapturedHeaders
from chalicelib.foundation.crypto.certificates import InvalidCertificate
from chalicelib.foundation.crypto.distinguished_names import InvalidName, normalize_name
from chalicelib.foundation.crypto.signatures import InvalidKey
from chalicelib.foundation.crypto.signed_cursors import InvalidCursor
from chalicelib.foundation.crypto.signed_jwts import InvalidJwt, InvalidKeySet
from chalicelib.foundation.durations import InvalidDuration, read_duration
from chalicelib.foundation.fields.field_types import Message
from chalicelib.foundation.fields.problems import InvalidMessage
from chalicelib.foundation.fields.written_text import InvalidTitle, read_title
from chalicelib.foundation.http.addresses import InvalidAddress, check_address, check_query
from chalicelib.foundation.http.connection_pool import read_body
from chalicelib.foundation.http.deadline_connections import Connection, Exchange
from chalicelib.foundation.http.outbound import Reply
from chalicelib.foundation.http.pages import Visit, safe_origin
from chalicelib.foundation.http.web import FORM, Incoming, UnreadableBody
from chalicelib.foundation.jsontext import InvalidJson
from chalicelib.foundation.search_text import fold
from chalicelib.openbanking.api.credentials import read_credentials
from chalicelib.openbanking.bank_client.bank_answers import read_answer
from chalicelib.openbanking.bank_client.bank_failures import BankFailed
from chalicelib.openbanking.container import OpenBankingContainer
from chalicelib.openbanking.oauth.dpop import NonceNeeded
from chalicelib.openbanking.oauth.tpp_request import prefers_deferral
from chalicelib.openbanking.protocol import tpp_calls
from chalicelib.openbanking.protocol.errors import Refusal
from chalicelib.openbanking.protocol.fields import AN, Amount, Bic, Day, Iban, N, Name, PayeeName, Text, WebAddress
from chalicelib.openbanking.protocol.payment_enumerations import is_confirmation_url
from chalicelib.openbanking.protocol.psu_context import read_psu
from chalicelib.openbanking.protocol.version import Version
from chalicelib.openbanking.protocol.versions import VERSIONS
from chalicelib.openbanking.protocol.webhooks import Webhook
from chalicelib.openbanking.records.authorization_requests import AuthorizationRequest, with_query
from chalicelib.openbanking.records.bank_record import InvalidBank
from chalicelib.openbanking.records.logo_validation import read_logo
from chalicelib.statistics.days import days_of_quarter, parse_day
from chalicelib.website.cards.card_text import InvalidAmount, parse_amount
from chalicelib.website.events.event_filter import EventFilter
from chalicelib.website.form_fields import first_second, last_second
from chalicelib.website.pagination import clamp_page_number
from tests.fuzzing import credential_parsers as credentials
from tests.fuzzing.credential_parsers import CLOCK, text
from tests.openbanking.examples import ROWS, Row

ADDRESS_CHARACTERS = 2_048
_ACTIONS = {**ACTIONS, **SIMULATOR_ACTIONS}
_OPENBANKING = cast(
    OpenBankingContainer,
    SimpleNamespace(
        shared=SimpleNamespace(
            settings=SimpleNamespace(cloudfront_secrets=[], public_url="https://hub.example", mtls_url="")
        )
    ),
)


@dataclass(frozen=True)
class Armour:
    """A text encoding such as PEM around bytes. The fuzzer changes the encoded bytes."""

    unwrap: Callable[[bytes], bytes]
    wrap: Callable[[bytes], bytes]


def pem(label: str) -> Armour:
    """Return the PEM encoding (RFC 7468) with this label."""
    begin, end = (f"-----{word} {label}-----\n".encode() for word in ("BEGIN", "END"))
    return Armour(
        unwrap=lambda content: b64decode(content.partition(begin)[2].partition(end)[0]),
        wrap=lambda content: begin + encodebytes(content) + end,
    )


@dataclass(frozen=True)
class Target:
    """A parser to fuzz.

    Attributes:
        parse: takes external input.
        errors: the errors that the parser may raise; any other error is a defect.
        max_bytes: the size of the largest input that the fuzzer generates.
        armour: the text encoding of binary input.
    """

    parse: Callable[[bytes], object]
    errors: tuple[type[Exception], ...] = ()
    max_bytes: int = 2048
    armour: Armour | None = None

    def run(self, content: bytes) -> None:
        with suppress(*self.errors):
            self.parse(content)


def _call_each(readers: Iterable[Callable[[], object]], *errors: type[Exception]) -> None:
    for reader in readers:
        with suppress(*errors):
            reader()


# -- messages


def read_request(content: bytes) -> None:
    """Read a request. The input has one header per line, then an empty line and the body."""
    head, _, body = content.partition(b"\n\n")
    lines = (line.partition(":") for line in text(head).split("\n"))
    headers = {name.lower(): value.strip() for name, _, value in lines}
    incoming = Incoming("POST", "/tpp/token", headers | {"content-type": FORM}, tuple(headers.items()), body, {}, {})
    readers: list[Callable[[], object]] = [
        incoming.check_text,
        incoming.parameters,
        incoming.form,
        lambda: read_psu(incoming.headers, incoming.repeated_headers),
        lambda: prefers_deferral(incoming),
        lambda: read_credentials(_OPENBANKING, incoming),
        lambda: Visit(incoming).cookie("session"),
        lambda: Visit(incoming).fields,
    ]
    _call_each(readers, UnreadableBody, Refusal)


@cache
def _models() -> Mapping[str, type[Message]]:
    bodies = [model for version in VERSIONS.values() for model in version.calls.values()]
    bodies += [webhook.request for version in VERSIONS.values() for webhook in version.webhooks]
    own = [each for each in vars(tpp_calls).values() if isinstance(each, type) and issubclass(each, Message)]
    return {model.__name__: model for model in (*own, *bodies)}


def read_message(content: bytes) -> None:
    """Read a body of a TPP or a bank. The first line is the name of the body's model."""
    name, _, body = content.partition(b"\n")
    value = jsontext.loads(body)
    models = _models()
    models.get(text(name), next(iter(models.values()))).read(value)


def read_card_request(content: bytes) -> None:
    members = envelope.parse(content)
    envelope.read_reference(members)
    action = _ACTIONS.get(str(members.get("action")))
    if action is not None:
        action.request.read_fields(members)


@cache
def _answers() -> Mapping[str, tuple[Version, Row, Webhook]]:
    webhooks = {webhook.path: (version, webhook) for version in VERSIONS.values() for webhook in version.webhooks}
    return {row.webhook: (webhooks[row.webhook][0], row, webhooks[row.webhook][1]) for row in ROWS}


def read_bank_answer(content: bytes) -> None:
    """Read a bank's response. The first line is the webhook's path, and the remaining lines are the response body."""
    name, _, body = content.partition(b"\n")
    answers = _answers()
    version, row, webhook = answers.get(text(name), next(iter(answers.values())))
    read_answer(version, webhook, row.request, Reply(200, body, {}, 0))


# -- documents


def read_json(content: bytes) -> None:
    value = jsontext.loads(content)
    assert jsontext.loads(jsontext.dumps(value)) == value


class ReceivedBytes:
    def __init__(self, content: bytes) -> None:
        self._content = memoryview(content)

    def settimeout(self, _: float) -> None: ...

    def sendall(self, _: bytes) -> None: ...

    def close(self) -> None: ...

    def makefile(self, _mode: str, buffering: int) -> ReceivedBytes:
        return self

    def recv_into(self, buffer: Any) -> int:
        piece = self._content[: len(buffer)]
        buffer[: len(piece)] = piece
        self._content = self._content[len(piece) :]
        return len(piece)


def read_response(content: bytes) -> None:
    connection = Connection("bank.example")
    connection.begin_exchange(Exchange(until=float("inf"), is_captured=False))
    connection.sock = ReceivedBytes(content)
    connection.request("POST", "/", b"{}")
    response = connection.getresponse()
    read_body(response, 5_000_000)
    Reply(response.status, b"", dict(response.headers.items()), 0).retry_after(CLOCK.time())


def read_retry_after(content: bytes) -> None:
    Reply(429, b"", {"Retry-After": text(content)}, 0).retry_after(CLOCK.time())


def read_recorded_answer(content: bytes) -> None:
    captured = CapturedHeaders()
    captured.beginning = content
    record_answer(captured)


# -- text


def read_address(content: bytes) -> None:
    url = text(content)
    is_confirmation_url(url, local=False)
    safe_origin(url)
    credentials.read_proof_address(url)
    AuthorizationRequest.from_item({"scopes": [], "request_url": url}).has_request_url(url)
    with_query(url, {"code": "1"})
    with suppress(InvalidAddress):
        check_query(check_address(url, local=True), ("code",))
    check_address(url, local=False)


@cache
def _fields() -> list[TypeAdapter[object]]:
    kinds: list[Any] = [AN[18], Text[140], Name[40], PayeeName[40], N[20], Amount[10], Iban, Bic, Day, WebAddress]
    kinds += [card_fields.AN[1, 18], card_fields.ANS[1, 140], card_fields.AS[1, 40], card_fields.N[1, 20]]
    kinds += [card_fields.Iban, card_fields.Day, card_fields.Email, card_fields.Ipv4, card_fields.Pairs]
    return [TypeAdapter(kind) for kind in kinds]


def read_field(content: bytes) -> None:
    for field in _fields():
        with suppress(ValidationError):
            field.validate_python(text(content))


def read_time(content: bytes) -> None:
    written = text(content)
    read_filter(written)
    for reader in (read_day, days_of_quarter, read_duration):
        with suppress(ValueError):
            reader(written)
    clamp_page_number(written, 7)


def read_day(written: str) -> None:
    day = parse_day(written)
    first_second(day), last_second(day)


def read_filter(written: str) -> None:
    """Read the filter of the events page, which raises no error."""
    EventFilter.of(lambda _: written).search("client")


def read_amount(content: bytes) -> None:
    for currency in (978, 392, 48, 0):
        with suppress(InvalidAmount):
            parse_amount(text(content), currency)


def read_written_title(content: bytes) -> None:
    fold(text(content)[:ADDRESS_CHARACTERS])
    read_title(text(content), 100)


TARGETS: Mapping[str, Target] = {
    "request": Target(read_request),
    "message": Target(read_message, (InvalidMessage, InvalidJson)),
    "card-request": Target(read_card_request, (Refused,)),
    "bank-answer": Target(read_bank_answer, (BankFailed,), max_bytes=4096),
    "jwt": Target(credentials.read_jwt, (InvalidJwt,)),
    "assertion": Target(credentials.read_assertion, (InvalidJwt,)),
    "proof": Target(credentials.read_proof, (InvalidJwt, NonceNeeded)),
    "claims": Target(credentials.read_claims, (InvalidJwt,)),
    "key-set": Target(credentials.read_key_set, (InvalidKeySet, InvalidJson), max_bytes=8192),
    "key": Target(credentials.read_key, (InvalidKey,), max_bytes=4096, armour=pem("PUBLIC KEY")),
    "certificate": Target(
        credentials.read_client_certificate, (InvalidCertificate,), max_bytes=4096, armour=pem("CERTIFICATE")
    ),
    "pasted-key": Target(credentials.read_pasted_keys, (InvalidKey,), max_bytes=4096),
    "name": Target(lambda content: normalize_name(text(content)), (InvalidName,)),
    "signature": Target(credentials.read_bank_signature),
    "event": Target(credentials.read_event),
    "cursor": Target(credentials.read_cursor, (InvalidCursor,)),
    "opaque-token": Target(credentials.read_opaque),
    "json": Target(read_json, (InvalidJson,)),
    "logo": Target(read_logo, (InvalidBank,), max_bytes=8192),
    "http-response": Target(read_response, (OSError, ValueError, http.client.HTTPException)),
    "retry-after": Target(read_retry_after),
    "recorded-answer": Target(read_recorded_answer),
    "address": Target(read_address, (InvalidAddress,)),
    "field": Target(read_field),
    "time": Target(read_time, (InvalidDuration,)),
    "amount": Target(read_amount),
    "title": Target(read_written_title, (InvalidTitle,)),
}
