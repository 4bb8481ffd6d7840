"""Parsers of messages: requests as they come in, bodies of all calls, and banks' answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache

from chalicelib.cards.actions import ACTIONS, SIMULATOR_ACTIONS
from chalicelib.cards.protocol.status_codes import Refused
from chalicelib.cards.requests import envelope
from chalicelib.foundation import jsontext
from chalicelib.foundation.fields.field_types import Message
from chalicelib.foundation.fields.problems import InvalidMessage
from chalicelib.foundation.http.outbound import Reply
from chalicelib.foundation.http.pages import Visit
from chalicelib.foundation.http.web import FORM, Incoming, UnreadableBody
from chalicelib.foundation.jsontext import InvalidJson
from chalicelib.openbanking.api.credentials import _read_basic
from chalicelib.openbanking.bank_client.bank_answers import read_answer
from chalicelib.openbanking.bank_client.bank_failures import BankFailed
from chalicelib.openbanking.oauth.tpp_request import prefers_deferral
from chalicelib.openbanking.protocol import tpp_calls
from chalicelib.openbanking.protocol.errors import Refusal
from chalicelib.openbanking.protocol.psu_context import read_psu
from chalicelib.openbanking.protocol.version import Version
from chalicelib.openbanking.protocol.versions import VERSIONS
from chalicelib.openbanking.protocol.webhooks import Webhook
from tests.openbanking.examples import ROWS, Row
from tests.parsers.target import Target, text

_ACTIONS = {**ACTIONS, **SIMULATOR_ACTIONS}


def _split(content: bytes) -> tuple[bytes, bytes]:
    """The first line and the rest."""
    first, _, rest = content.partition(b"\n")
    return first, rest


def read_request(content: bytes) -> None:
    """A request: headers, one on a line, then an empty line and the body."""
    head, _, body = content.partition(b"\n\n")
    lines = (line.partition(":") for line in text(head).split("\n"))
    headers = {name.lower(): value.strip() for name, _, value in lines}
    query = tuple((name, value) for name, value in headers.items())
    incoming = Incoming("POST", "/tpp/token", headers | {"content-type": FORM}, query, body, {}, {})
    readers: list[Callable[[], object]] = [
        incoming.check_text,
        incoming.parameters,
        incoming.form,
        lambda: read_psu(incoming.headers, incoming.repeated_headers),
        lambda: prefers_deferral(incoming),
        lambda: incoming.visitor_address([]),
        lambda: _read_basic(headers.get("authorization", "")),
        lambda: Visit(incoming).cookie("session"),
        lambda: Visit(incoming).fields,
    ]
    for reader in readers:
        with suppress(UnreadableBody, Refusal):
            reader()


@cache
def _models() -> Mapping[str, type[Message]]:
    """The bodies of TPPs and banks by name."""
    bodies = [model for version in VERSIONS.values() for model in version.calls.values()]
    bodies += [webhook.request for version in VERSIONS.values() for webhook in version.webhooks]
    own = [each for each in vars(tpp_calls).values() if isinstance(each, type) and issubclass(each, Message)]
    return {model.__name__: model for model in (*own, *bodies)}


def read_message(content: bytes) -> None:
    """A body of a TPP or a bank; the first line names its model."""
    name, body = _split(content)
    value = jsontext.loads(body)
    models = _models()
    models.get(text(name), next(iter(models.values()))).read(value)


def read_card_request(content: bytes) -> None:
    """A request of the card API, whatever its action."""
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
    """A bank's answer; the first line has the path of the webhook."""
    name, body = _split(content)
    answers = _answers()
    version, row, webhook = answers.get(text(name), next(iter(answers.values())))
    read_answer(version, webhook, row.request, Reply(200, body, {}, 0))


TARGETS: Mapping[str, Target] = {
    "request": Target(read_request),
    "message": Target(read_message, (InvalidMessage, InvalidJson)),
    "card-request": Target(read_card_request, (Refused,)),
    "bank-answer": Target(read_bank_answer, (BankFailed,), most=4096),
}
